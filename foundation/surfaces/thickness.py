"""Thickness of a layer along minus the normal to the exit through the underside of its solid."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from foundation.base.checks import FloatArray, check_number
from foundation.surfaces.femur_patches import LineTracer
from foundation.surfaces.mesh_topology import find_edges
from foundation.surfaces.smooth_surface import flat_surface, smooth_surface
from foundation.surfaces.triangle_mesh import MeshError, MeshWarning, TriangleMesh

#: Largest angle between the outward normal of a facet of the underside and minus the mean normal of
#: the surface [rad]. Steeper facets are side walls.
UNDERSIDE_ANGLE = np.radians(60.0)
#: Largest fraction of inner vertices off the solid.
OFF_SOLID = 0.05
#: Largest fraction of vertices without an underside.
NO_UNDERSIDE = 0.5
#: Ratio of the diagonals of the bounding boxes above which the units differ.
UNIT_RATIO = 5.0


def measured_thickness(
    surface: TriangleMesh, solid: TriangleMesh, *, tolerance: float = 0.5e-3
) -> FloatArray:
    """Return the thickness (V,) [m] of a closed solid under each vertex of its contact surface.

    From a vertex, a line runs `tolerance` [m] along minus the normal to a point that must be
    inside, and on to the first facet where it leaves the solid. Where it leaves through a wall or
    undercut, or does not start inside, the thickness is that of the nearest other vertex, with a
    `MeshWarning`. Raises `MeshError` if the solid is open, inside out or in another unit, more than
    5 % of the inner vertices are off it, or most vertices have no underside below them.
    """
    check_number("tolerance", tolerance, above=0.0, unit="m")
    check_solid(surface, solid)
    normals = spring_normals(surface)
    starts = surface.vertices - tolerance * normals
    tracer = LineTracer(flat_surface(solid), curved=False)
    inside = tracer.exits(starts, normals, 2.0 * tolerance).facet >= 0
    check_place(surface, solid, ~inside[_inner_vertices(surface)], tolerance)
    reach = float(np.linalg.norm(np.ptp(solid.vertices, axis=0)))
    distance, facet, _ = tracer.exits(starts, -normals, reach)
    mean = surface.area_vectors.sum(axis=0)
    facing = -solid.normals @ mean / np.linalg.norm(mean)
    valid = inside & (facet >= 0) & (facing[facet] >= np.cos(UNDERSIDE_ANGLE))
    return _filled(surface, solid, tolerance + distance, valid)


def spring_normals(mesh: TriangleMesh) -> FloatArray:
    """Return the unit normal of the springs at each vertex, (V, 3) [1]; the mean on a crease."""
    if mesh.vertex_normals is not None:
        return mesh.vertex_normals
    total = np.zeros_like(mesh.vertices)
    np.add.at(total, mesh.faces, smooth_surface(mesh).normals)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    # A vertex without a triangle has no normal and no hit.
    return total / np.where(length > 0.0, length, 1.0)


def check_solid(surface: TriangleMesh, solid: TriangleMesh) -> None:
    """Raise `MeshError` if a solid is open, inside out or in another unit than its surface."""
    _check_closed(solid)
    _check_unit(surface, solid)


def _check_closed(solid: TriangleMesh) -> None:
    edges = find_edges(solid.faces, len(solid.vertices))
    # The triangles of a closed body traverse every edge equally often in both directions.
    unpaired = int((edges.balance != 0).sum())
    if unpaired:
        boundary = int((edges.count == 1).sum())
        raise MeshError(
            f"{solid.name}: not watertight, {unpaired} edges do not join two triangles of the same "
            f"winding ({boundary} edges are open); the thickness needs a closed solid: close the "
            "solid in a mesh editor"
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
            f"{solid.name}: bounding box has a diagonal of {sizes[1]:.4g} m, the surface "
            f"{surface.name} {sizes[0]:.4g} m; check the units of both files"
        )


def _inner_vertices(surface: TriangleMesh) -> NDArray[np.bool_]:
    """Return the vertices (V,) inside the rim; a vertex of the rim may be beside the solid."""
    edges = find_edges(surface.faces, len(surface.vertices))
    inner = np.ones(len(surface.vertices), dtype=np.bool_)
    inner[edges.ends[edges.count == 1]] = False
    return inner if inner.any() else ~inner


def check_place(
    surface: TriangleMesh, solid: TriangleMesh, off: NDArray[np.bool_], tolerance: float
) -> None:
    """Raise `MeshError` if over 5 % of points, `off` (N,), are farther than `tolerance` [m] off."""
    if off.mean() <= OFF_SOLID:
        return
    boxes = [mesh.vertices.min(axis=0) + mesh.vertices.max(axis=0) for mesh in (solid, surface)]
    apart = 0.5e3 * (boxes[0] - boxes[1])
    raise MeshError(
        f"{surface.name}: {int(off.sum())} of {len(off)} points inside the rim are farther than "
        f"{1e3 * tolerance:g} mm from the solid {solid.name}, expected the same surface; the "
        f"centres of the bounding boxes differ by ({apart[0]:.1f}, {apart[1]:.1f}, {apart[2]:.1f}) "
        "mm: export both meshes in the same frame"
    )


def _filled(
    surface: TriangleMesh, solid: TriangleMesh, thickness: FloatArray, valid: NDArray[np.bool_]
) -> FloatArray:
    """Return the thickness, where it is not valid that of the nearest valid vertex."""
    count = int((~valid).sum())
    if count == 0:
        return thickness
    if count > NO_UNDERSIDE * len(valid):
        raise MeshError(
            f"{solid.name}: no underside under {count} of {len(valid)} vertices of "
            f"{surface.name}; expected the layer below that surface"
        )
    warnings.warn(
        f"{solid.name}: no underside under {count} of {len(valid)} vertices of {surface.name}, "
        "where the solid ends at a side wall or is thinner than the tolerance; these vertices get "
        "the thickness of the nearest other vertex",
        MeshWarning,
        stacklevel=3,
    )
    return filled_from_nearest(surface.vertices, thickness, valid)


def filled_from_nearest(
    points: FloatArray, values: FloatArray, valid: NDArray[np.bool_]
) -> FloatArray:
    """Return values (N,) [m] at points (N, 3) [m], those not valid (N,) from the nearest valid."""
    if valid.all():
        return values
    nearest = KDTree(points[valid]).query(points[~valid])[1]
    filled = values.copy()
    filled[~valid] = values[valid][nearest]
    return filled
