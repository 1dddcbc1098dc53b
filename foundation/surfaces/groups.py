"""Groups of elements of a bed: discs around them, and their corners side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from foundation.base.checks import FloatArray, IntArray
from foundation.core.library import LANES, Record


def enclosing_discs(
    points: FloatArray,
    normals: FloatArray,
    elements: IntArray,
    first: IntArray,
    count: IntArray,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return centres (G, 3), radii, half thicknesses (G,) [m], normals (G, 3) of discs."""
    centre, direction = np.empty((len(first), 3)), np.empty((len(first), 3))
    radius, thickness = np.empty(len(first)), np.empty(len(first))
    for t, (begin, size) in enumerate(zip(first, count, strict=True)):
        nodes = elements[begin : begin + size].reshape(-1)
        mean = normals[nodes].sum(axis=0)
        direction[t] = mean / max(float(np.linalg.norm(mean)), 1e-300)
        at = points[nodes]
        height = at @ direction[t]
        middle = 0.5 * (at.min(axis=0) + at.max(axis=0))
        level = 0.5 * (height.min() + height.max())
        centre[t] = middle + (level - middle @ direction[t]) * direction[t]
        radius[t] = np.linalg.norm(at - centre[t], axis=1).max()
        thickness[t] = 0.5 * (height.max() - height.min())
    return centre, radius, thickness, direction


def group_corners(corners: FloatArray, first: IntArray, count: IntArray) -> FloatArray:
    """Return corners (F, C, 3) as (G, C, 3, LANES) [m]; free places repeat the last element."""
    place = np.minimum(np.arange(LANES), count[:, None] - 1)
    return np.ascontiguousarray(np.moveaxis(corners[first[:, None] + place], 1, 3))


def node_groups(
    points: FloatArray,
    normals: FloatArray,
    elements: IntArray,
    first: IntArray,
    count: IntArray,
    *,
    bulge: FloatArray,
    margin: float = 0.0,
    **others: Any,
) -> Record:
    """Return the struct `bed` of elements (F, n) of nodes (N, 3) [m] in groups (G,)."""
    # Elements up to `bulge` (F,) [m] outside the femur are found, and groups within the `margin`
    # [m].
    centre, radius, thickness, direction = enclosing_discs(points, normals, elements, first, count)
    return Record(
        "bed",
        count_nodes=len(points),
        count_elements=len(elements),
        nodes=elements.shape[1],
        points=points,
        normals=normals,
        elements=elements,
        centre=centre.T,
        direction=direction.T,
        radius=radius + margin,
        thickness=thickness,
        bulge=np.maximum.reduceat(bulge, first),
        first=first,
        count=count,
        corners=group_corners(points[elements[:, :3]], first, count),
        **others,
    )
