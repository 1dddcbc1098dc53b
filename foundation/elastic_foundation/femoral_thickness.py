"""Springs whose last layer is as thick as the femoral layer is where the spring meets the femur."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, check_array
from foundation.base.errors import InputError
from foundation.surfaces.triangle_mesh import TriangleMesh


def corner_values(mesh: TriangleMesh, values: ArrayLike, *, curved: bool) -> FloatArray:
    """Return values at corners, (F, 3) [any unit], from one per triangle or vertex."""
    # On curved surfaces, corners at a vertex share the mean over its triangles by area, so that
    # loads are continuous in the pose; otherwise corners of a triangle share one value.
    given, faces = check_array("femur_excess", values, (None,)), mesh.faces
    if len(given) not in (len(faces), len(mesh.vertices)):
        raise InputError(
            f"femur_excess: expected one per femoral triangle ({len(faces)}) or vertex "
            f"({len(mesh.vertices)}), found {len(given)}"
        )
    by_facet = len(given) == len(faces)
    if not curved:
        own = given if by_facet else given[faces].mean(axis=1)
        return np.repeat(own[:, None], 3, axis=1)
    if by_facet:
        count, places = len(mesh.vertices), faces.ravel()
        areas = np.repeat(mesh.areas, 3)
        total = np.bincount(places, weights=areas, minlength=count)
        weighted = np.bincount(places, weights=areas * np.repeat(given, 3), minlength=count)
        given = weighted / np.where(total > 0.0, total, 1.0)
    return given[faces]
