"""How well nodes or triangles resolve a typical contact."""

from __future__ import annotations

import numpy as np

from foundation.base.findings import Finding
from foundation.surfaces.triangle_mesh import TriangleMesh, edge_length

#: Least triangles across a contact patch by the surface of the springs, a rule of thumb.
TRIANGLES_ACROSS = {"curved": 6.0, "flat": 20.0}


def resolution_finding(about: str, text: str, across: float, least: float, remedy: str) -> Finding:
    """Return a warning if a typical contact is resolved too coarsely, else a note.

    Parameters
    ----------
    about : str
        Section of the configuration.
    text : str
        Width of the contact, and nodes or triangles across, in words.
    across, least : float
        Nodes or triangles across the contact, and the least number that suffices.
    remedy : str
        What gives more nodes or triangles.
    """
    if across >= least:
        return Finding("note", about, text)
    return Finding(
        "warning",
        about,
        f"{text} (expected at least {least:g}); peak pressures will be inaccurate: {remedy}",
    )


def check_triangles(tibia: TriangleMesh, area: float, surface: str) -> Finding:
    """Compare the triangles of the tibia with the area of a typical contact [m²].

    `surface` is "curved" or "flat", as of `contact.surface`.
    """
    radius = float(np.sqrt(area / np.pi))
    across, least = 2.0 * radius / edge_length(tibia), TRIANGLES_ACROSS[surface]
    return resolution_finding(
        "[knee.tibia]",
        f"a typical contact is {2e3 * radius:.0f} mm across, which is {across:.1f} triangles of "
        "the tibia",
        across,
        least,
        f"use a mesh with edges of {2e3 * radius / least:.1g} mm",
    )
