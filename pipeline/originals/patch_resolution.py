"""How well nodes or triangles resolve a typical contact."""

from __future__ import annotations

import numpy as np

from foundation.base.findings import Finding
from foundation.surfaces.triangle_mesh import TriangleMesh, edge_length

#: Least triangles across a contact patch by the surface of the springs, a rule of thumb.
TRIANGLES_ACROSS = {"curved": 6.0, "flat": 20.0}


def contact_width(area: float) -> float:
    """Return the diameter [m] of a round contact of an area [m²]."""
    return 2.0 * float(np.sqrt(area / np.pi))


def resolution_finding(
    about: str, width: float, across: float, noun: str, least: float, remedy: str
) -> Finding:
    """Return a warning if a typical contact is resolved too coarsely, else a note.

    `about` is the section of the configuration, `width` that of the contact [m], `across` the nodes
    or triangles across the contact, which `noun` names and of which `least` suffice. `remedy` gives
    more.
    """
    text = f"a typical contact is {1e3 * width:.0f} mm across, which is {across:.1f} {noun}"
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
    width, least = contact_width(area), TRIANGLES_ACROSS[surface]
    return resolution_finding(
        "[knee.tibia]",
        width,
        width / edge_length(tibia),
        "triangles of the tibia",
        least,
        f"use a mesh with edges of at most {_rounded_down(1e3 * width / least):g} mm",
    )


def _rounded_down(value: float) -> float:
    """Return a value with two significant digits, not above the value."""
    unit = 10.0 ** (np.floor(np.log10(value)) - 1.0)
    return float(f"{np.floor(value / unit) * unit:.2g}")
