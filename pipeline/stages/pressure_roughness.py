"""How well a mesh resolves a pressure field: triangles across the contact, and ridges."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from foundation.base.checks import FloatArray

#: Triangles about the highest pressure that a quadratic surface is fitted to.
_FITTED = 20
_TERMS = 6


class Resolution(NamedTuple):
    """Resolution of the pressure by the tibial mesh, where the pressure is highest."""

    #: Edges of triangles across the contact patch [1].
    across: float
    #: RMS deviation of nearby pressures from a smooth surface, over the highest pressure [%].
    roughness_percent: float


def resolution(vertices: FloatArray, faces: Any, pressure: FloatArray) -> Resolution | None:
    """Return the resolution of a pressure field by a mesh, None with too few triangles to tell.

    The mesh has vertices (V, 3) in the tibial frame [m]; the pressures (F,) on the triangles [Pa]
    are 0 outside the contact. The smooth surface is the quadratic polynomial in the anterior and
    lateral position that fits the pressures of the 20 triangles nearest to the highest pressure
    best. Pressures of a resolved field deviate from it by a small part of a per cent; ridges of a
    mesh let them jump.
    """
    corners = vertices[faces]
    areas = 0.5 * np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    loaded = pressure > 0.0
    if loaded.sum() <= _TERMS:
        return None
    plane = corners[loaded].mean(axis=1)[:, [0, 2]]
    values = pressure[loaded]
    top = int(values.argmax())
    near = np.asarray(cKDTree(plane).query(plane[top], k=min(_FITTED, len(values)))[1])
    apart = plane[near] - plane[top]
    x, z = (apart / np.abs(apart).max()).T
    terms = np.column_stack([np.ones_like(x), x, z, x * x, x * z, z * z])
    left = values[near] - terms @ np.linalg.lstsq(terms, values[near], rcond=None)[0]
    deviation = np.sqrt((left**2).sum() / max(1, len(near) - _TERMS))
    # The edge of an equilateral triangle of the mean area.
    edge = np.sqrt(areas[loaded].mean() * 4.0 / np.sqrt(3.0))
    across = np.sqrt(areas[loaded].sum() * 4.0 / np.pi) / edge
    return Resolution(float(across), float(100.0 * deviation / values[top]))
