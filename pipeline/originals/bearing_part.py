"""Part of a closed body that is taken as its bearing surface, with what is left out in words."""

from __future__ import annotations

from dataclasses import dataclass

from foundation.anatomy.bearing_surface import BEARINGS
from foundation.anatomy.walls import large_pieces, on_columns, outer_walls
from foundation.base.findings import Finding
from foundation.surfaces.mesh_checks import check_mesh, hole_findings
from foundation.surfaces.surface_shape import selected
from foundation.surfaces.triangle_mesh import TriangleMesh


@dataclass(frozen=True, eq=False)
class BearingPart:
    """Bearing surface of a closed body, and the body; meshes in [m]."""

    mesh: TriangleMesh
    #: The repaired mesh of the file.
    whole: TriangleMesh
    #: Rounded edge of a tibial shell, which faces the femur and does not bear; None without.
    edge: TriangleMesh | None = None

    @property
    def words(self) -> str:
        """What is taken and left out, in triangles and areas."""
        taken, whole = self.mesh, self.whole
        used, body = float(taken.areas.sum()), float(whole.areas.sum())
        edge, bent = (
            (0.0, 0) if self.edge is None else (float(self.edge.areas.sum()), len(self.edge.faces))
        )
        rest = len(whole.faces) - len(taken.faces) - bent
        left = [
            f"{1e6 * area:,.0f} mm² in {count:,} triangles {what}"
            for area, count, what in (
                (body - used - edge, rest, "that face elsewhere or are further away"),
                (edge, bent, "of the rounded edge, with no inner wall opposite"),
            )
            if count
        ]
        text = (
            f"bearing surface: {1e6 * used:,.0f} mm² in {len(taken.faces):,} of "
            f"{len(whole.faces):,} triangles ({used / body:.0%} of the area) are used"
        )
        return f"{text}; left out: {', '.join(left)}" if left else text


def bearing_findings(whole: TriangleMesh) -> tuple[Finding, ...]:
    """Return errors and warnings about the outer walls of a body [m].

    The size and holes are those of the bearing surface (`part_findings`): a shaft may be long and
    open, and loose pieces and inner walls are left out.
    """
    return tuple(
        found for found in check_mesh(outer_walls(whole)) if found.code not in ("scale", "hole")
    )


def bearing_part(whole: TriangleMesh, body: str) -> BearingPart:
    """Return the bearing surface of a "femur" or "tibia" in its frame.

    Raises `MeshError` if the body has no bearing surface.
    """
    wall = BEARINGS[body](whole)
    if body != "tibia":
        return BearingPart(wall, whole)
    bears = large_pieces(wall, on_columns(outer_walls(whole), wall))
    edge = None if bears.all() else selected(wall, ~bears)
    return BearingPart(selected(wall, bears), whole, edge)


def part_findings(part: BearingPart) -> tuple[Finding, ...]:
    """Return errors and warnings about size and holes of a bearing surface."""
    scale = [found for found in check_mesh(part.mesh) if found.code == "scale"]
    return (*scale, *hole_findings(part.whole, part.mesh))
