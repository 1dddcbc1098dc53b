"""Part of a closed body that is taken as its bearing surface, with what is left out in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from foundation.anatomy.bearing_surface import BEARINGS
from foundation.anatomy.walls import large_pieces, on_columns, outer_walls
from foundation.base.findings import Finding
from foundation.base.wording import counted
from foundation.surfaces.mesh_checks import check_mesh, hole_findings
from foundation.surfaces.mesh_topology import label_pieces
from foundation.surfaces.surface_shape import selected
from foundation.surfaces.triangle_mesh import TriangleMesh


class _Left(NamedTuple):
    """Number of triangles and area [m²] of what is left out."""

    triangles: int
    area: float


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
        share = taken.areas.sum() / whole.areas.sum()
        large = large_pieces(whole)
        outer = outer_walls(whole)
        loose = _Left(int((~large).sum()), float(whole.areas[~large].sum()))
        inner = _Left(
            len(whole.faces) - loose.triangles - len(outer.faces),
            float(whole.areas[large].sum() - outer.areas.sum()),
        )
        edge = _Left(0, 0.0)
        if self.edge is not None:
            edge = _Left(len(self.edge.faces), float(self.edge.areas.sum()))
        rest = _Left(
            len(outer.faces) - len(taken.faces) - edge.triangles,
            float(outer.areas.sum() - taken.areas.sum()) - edge.area,
        )
        pieces = len(label_pieces(selected(whole, ~large))[1]) if loose.triangles else 0
        left = [
            f"{_mm2(part.area)} in {part.triangles:,} triangles {what}"
            for part, what in (
                (rest, "that face elsewhere or are further away"),
                (edge, "of the rounded edge, with no inner wall opposite"),
                (inner, "of an inner wall"),
                (loose, f"in {counted(pieces, 'loose piece')}"),
            )
            if part.triangles
        ]
        text = (
            f"bearing surface: {_mm2(taken.areas.sum())} in {len(taken.faces):,} of "
            f"{len(whole.faces):,} triangles ({share:.0%} of the area) are used"
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


def _mm2(area: float) -> str:
    return f"{1e6 * area:,.0f} mm²"
