"""How well nodes or triangles resolve a typical contact."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foundation.surfaces.triangle_mesh import TriangleMesh

#: Least triangles across a contact patch by the surface of the springs, a rule of thumb.
TRIANGLES_ACROSS = {"curved": 6.0, "flat": 20.0}


class PatchResolution(NamedTuple):
    """Resolution of a typical contact.

    `about`: section of the configuration; `text`: the finding in words; `across`: nodes or
    triangles across the contact [1]; `least`: least number that suffices [1]; `remedy`: what gives
    more.
    """

    about: str
    text: str
    across: float
    least: float
    remedy: str


def triangles_across(tibia: TriangleMesh, area: float, surface: str) -> PatchResolution:
    """Return how well the triangles of the tibia resolve a contact of an area [m²].

    `surface` is "curved" or "flat", as of `contact.surface`.
    """
    radius = float(np.sqrt(area / np.pi))
    across, least = 2.0 * radius / edge_length(tibia), TRIANGLES_ACROSS[surface]
    return PatchResolution(
        "[knee.tibia]",
        f"a typical contact is {2e3 * radius:.0f} mm across, which is {across:.1f} triangles of "
        "the tibia",
        across,
        least,
        f"use a mesh with edges of {2e3 * radius / least:.1g} mm",
    )


def edge_length(mesh: TriangleMesh) -> float:
    """Return the median edge length of a mesh [m]."""
    corners = mesh.vertices[mesh.faces]
    return float(np.median(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)))
