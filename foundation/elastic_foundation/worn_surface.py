"""Contact of a worn insert: the tibial surface lowered by the depth of wear."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, check_array
from foundation.base.errors import InputError
from foundation.elastic_foundation.laws import SeriesLaw, SpringLaw
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.surfaces.mesh import TriangleMesh
from foundation.surfaces.thickness import spring_normals


def vertex_depths(tibia: TriangleMesh, depth: ArrayLike) -> FloatArray:
    """Return depths at vertices (V,) [m] of the same volume as triangle depths (F,) [m]."""
    # The mean around each vertex, weighted by area, preserves the integral over the surface.
    depths = check_array("depth", depth, (len(tibia.faces),), at_least=0.0, unit="m")
    corners, count = tibia.faces.reshape(-1), len(tibia.vertices)
    areas = np.bincount(corners, np.repeat(tibia.areas, 3), count)
    worn = np.bincount(corners, np.repeat(tibia.areas * depths, 3), count)
    return np.divide(worn, areas, out=np.zeros(count), where=areas > 0.0)


def worn_model(model: ElasticFoundation, depth: ArrayLike) -> ElasticFoundation:
    """Return the contact with the tibial triangles lowered by `depth` (F,) [m], >= 0."""
    # Thicknesses per triangle or vertex decrease by the depth; a single one is nominal and remains.
    tibia = model.tibia
    lowered = vertex_depths(tibia, depth)
    normals = spring_normals(tibia)
    moved = TriangleMesh(tibia.vertices - lowered[:, None] * normals, tibia.faces, tibia.name)
    if tibia.vertex_normals is not None:
        # Known normals turn by as much as the normals estimated from the triangles.
        before = replace(tibia, vertex_normals=None)
        turned = normals + spring_normals(moved) - spring_normals(before)
        length = np.linalg.norm(turned, axis=1, keepdims=True)
        moved = replace(moved, vertex_normals=turned / length)
    return ElasticFoundation(
        model.femur,
        moved,
        _thinned(model.law, np.asarray(depth, dtype=np.float64), lowered),
        surface=model.surface,
        conservative=model.conservative,
        dissipation=model.dissipation,
        compartments=model.compartments,
        compartment_names=model.compartment_names,
        search_depth=model.search_depth,
    )


def _thinned(law: SpringLaw, by_triangle: FloatArray, by_vertex: FloatArray) -> SpringLaw:
    """Return the law with a smaller tibial thickness."""
    if isinstance(law, SeriesLaw):
        return replace(law, first=_thinned(law.first, by_triangle, by_vertex))
    thickness = np.asarray(getattr(law, "thickness", np.inf))
    depths = by_triangle if len(by_triangle) == thickness.size else by_vertex
    if (depths >= thickness).any():
        k = int(np.argmax(depths - thickness))
        raise InputError(
            f"depth: expected less than the thickness, found {1e3 * depths[k]:.3g} mm of "
            f"{1e3 * float(np.broadcast_to(thickness, depths.shape)[k]):.3g} mm"
        )
    return law.mapped(lambda before: before - depths)
