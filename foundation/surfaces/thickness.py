"""Thickness of an elastic layer, measured on the closed solid that the contact surface bounds.

The thickness at a point of the contact surface is the distance along minus its normal, the line
of its spring, to where the solid is left through its underside. A designer quotes the vertical
thickness instead, which is smaller by the cosine of the slope.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from foundation.checks import FloatArray, check_number
from foundation.kernels import line_exits
from foundation.surfaces.femur_patches import control_points, polynomial
from foundation.surfaces.mesh_topology import find_edges
from foundation.surfaces.smooth_surface import flat_surface, smooth_surface
from foundation.surfaces.tree import BoxTree, build_tree
from foundation.surfaces.triangle_mesh import MeshError, MeshWarning, TriangleMesh

#: A facet is part of the underside if it faces away from the surface within this angle: its
#: outward normal and minus the mean normal of the surface [rad]. Steeper ones are side walls.
UNDERSIDE_ANGLE = np.radians(60.0)
#: Part of the inner vertices that may lie off the solid before it counts as another body.
OFF_SOLID = 0.05
#: Part of the vertices that may have no underside before the solid counts as no layer.
NO_UNDERSIDE = 0.5
#: Ratio of the two boxes' diagonals from which on their units are taken to differ.
UNIT_RATIO = 5.0

_FACETS_PER_LEAF = 4


def measured_thickness(
    surface: TriangleMesh, solid: TriangleMesh, *, tolerance: float = 0.5e-3
) -> FloatArray:
    """Return the thickness of a solid under each vertex of its contact surface.

    Surface and solid may be two triangulations of one shape, so the surface is neither exactly on
    the solid nor always inside or outside: from each vertex a line goes `tolerance` down along
    minus the vertex normal, and from there on, where it must be inside, to the nearest facet
    through which it leaves. What lies within `tolerance` is the solid's own upper side.

    The error is of second order in the edge lengths where both shapes are smooth. Where the line
    leaves through a side wall or an undercut of one (at the rim), or is not inside to begin with
    (the layer is thinner than `tolerance`, or the vertex lies beside the solid), the thickness is
    ill defined; it is that of the nearest vertex where it is not, and a warning gives their
    number. A step of the underside is a step of the thickness.

    Parameters
    ----------
    surface : TriangleMesh
        Contact surface of the tibial side [m], without folds: its normals lie about a mean.
    solid : TriangleMesh
        Closed body below the surface, in the same frame and unit, normals outwards [m].
    tolerance : float
        Largest distance between surface and solid [m], > 0; below the least thickness.

    Returns
    -------
    (V,) float64
        Thickness under each vertex of `surface` [m], > `tolerance`.

    Raises
    ------
    MeshError
        If the solid is not closed or inside out, differs in size as one in another unit does, more
        than 5 % of the inner vertices of the surface lie farther than `tolerance` from it, or half
        of all have no underside below them.
    InputError
        If `tolerance` is not positive.

    Warns
    -----
    MeshWarning
        If some vertices got the thickness of a neighbour.
    """
    check_number("tolerance", tolerance, above=0.0, unit="m")
    _check_closed(solid)
    _check_unit(surface, solid)
    normals = spring_normals(surface)
    starts = surface.vertices - tolerance * normals
    facets = _Facets.of(solid)
    inside = facets.leave(starts, normals, 2.0 * tolerance)[1] >= 0
    _check_place(surface, solid, ~inside, tolerance)
    reach = float(np.linalg.norm(np.ptp(solid.vertices, axis=0)))
    distance, facet = facets.leave(starts, -normals, reach)
    mean = surface.area_vectors.sum(axis=0)
    facing = -solid.normals @ mean / np.linalg.norm(mean)
    valid = inside & (facet >= 0) & (facing[facet] >= np.cos(UNDERSIDE_ANGLE))
    return _filled(surface, solid, tolerance + distance, valid)


def spring_normals(mesh: TriangleMesh) -> FloatArray:
    """Return the unit normal of the springs at each vertex, (V, 3); a mean one on a crease."""
    if mesh.vertex_normals is not None:
        return mesh.vertex_normals
    total = np.zeros_like(mesh.vertices)
    np.add.at(total, mesh.faces, smooth_surface(mesh).normals)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    # A vertex without a triangle has no normal; its ray hits nothing.
    return total / np.where(length > 0.0, length, 1.0)


@dataclass(frozen=True, eq=False)
class _Facets:
    """Facets of a solid as `foundation.kernels.line_exits` takes them, and their order."""

    patch: FloatArray
    tree: BoxTree

    @classmethod
    def of(cls, solid: TriangleMesh) -> _Facets:
        surface = flat_surface(solid)
        control = control_points(surface)
        tree = build_tree(control.min(axis=1), control.max(axis=1), _FACETS_PER_LEAF)
        return cls(np.ascontiguousarray(polynomial(surface)[tree.order]), tree)

    def leave(
        self, starts: FloatArray, directions: FloatArray, reach: float
    ) -> tuple[FloatArray, NDArray[np.int64]]:
        """Return distance (N,) [m] and facet (N,), -1 where none, at which rays leave the solid."""
        tree = self.tree
        distance, facet = np.zeros(len(starts)), np.full(len(starts), -1)
        boxes = (tree.low, tree.high, tree.next, tree.first, tree.count)
        lines = (np.ascontiguousarray(starts), np.ascontiguousarray(directions))
        line_exits(self.patch, False, *boxes, reach, *lines, distance, facet)
        return distance, np.where(facet >= 0, tree.order[facet], -1)


def _check_closed(solid: TriangleMesh) -> None:
    edges = find_edges(solid.faces, len(solid.vertices))
    # Every edge of a closed body is run along as often upwards as downwards.
    unpaired = int((edges.balance != 0).sum())
    if unpaired:
        boundary = int((edges.count == 1).sum())
        raise MeshError(
            f"{solid.name}: not watertight, {unpaired} edges do not join two triangles that agree "
            f"({boundary} of them are open); the thickness is measured on a closed solid: close "
            "it in a mesh editor"
        )
    middle = solid.vertices.mean(axis=0)
    if float(np.sum((solid.centroids - middle) * solid.area_vectors)) <= 0.0:
        raise MeshError(
            f"{solid.name}: the normals of this solid point inwards, expected outwards; "
            "the winding is inverted: flip the normals"
        )


def _check_unit(surface: TriangleMesh, solid: TriangleMesh) -> None:
    sizes = [float(np.linalg.norm(np.ptp(mesh.vertices, axis=0))) for mesh in (surface, solid)]
    if not 1.0 / UNIT_RATIO < sizes[1] / sizes[0] < UNIT_RATIO:
        raise MeshError(
            f"{solid.name}: its box has a diagonal of {sizes[1]:.4g} m, that of the surface "
            f"{surface.name} {sizes[0]:.4g} m; they differ in their units"
        )


def _check_place(
    surface: TriangleMesh, solid: TriangleMesh, off: NDArray[np.bool_], tolerance: float
) -> None:
    edges = find_edges(surface.faces, len(surface.vertices))
    inner = np.ones(len(surface.vertices), dtype=np.bool_)
    # At the rim a vertex may lie beside the solid by less than its distance from it elsewhere.
    inner[edges.ends[edges.count == 1]] = False
    if not inner.any():
        inner[:] = True
    if off[inner].mean() <= OFF_SOLID:
        return
    apart = 1e3 * (_middle(solid) - _middle(surface))
    raise MeshError(
        f"{surface.name}: {int(off[inner].sum())} of {int(inner.sum())} vertices inside its rim "
        f"are farther than {1e3 * tolerance:g} mm from the solid {solid.name}, expected one and "
        "the same surface; the middles of their boxes are "
        f"({apart[0]:.1f}, {apart[1]:.1f}, {apart[2]:.1f}) mm apart: give both in one frame"
    )


def _middle(mesh: TriangleMesh) -> FloatArray:
    return 0.5 * (mesh.vertices.min(axis=0) + mesh.vertices.max(axis=0))


def _filled(
    surface: TriangleMesh, solid: TriangleMesh, thickness: FloatArray, valid: NDArray[np.bool_]
) -> FloatArray:
    """Return the thickness with that of the nearest valid vertex where it is not valid."""
    count = int((~valid).sum())
    if count == 0:
        return thickness
    if count > NO_UNDERSIDE * len(valid):
        raise MeshError(
            f"{solid.name}: under {count} of {len(valid)} vertices of {surface.name} it is left "
            "through no underside; expected the layer below that surface"
        )
    warnings.warn(
        f"{solid.name}: under {count} of {len(valid)} vertices of {surface.name} (as at its rim) "
        "the solid is left through a side wall or is thinner than the tolerance; they have the "
        "thickness of the nearest other vertex",
        MeshWarning,
        stacklevel=3,
    )
    nearest = KDTree(surface.vertices[valid]).query(surface.vertices[~valid])[1]
    filled = thickness.copy()
    filled[~valid] = thickness[valid][nearest]
    return filled
