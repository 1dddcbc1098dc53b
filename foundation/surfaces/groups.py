"""Groups of elements of a bed: the discs around the groups, and the corners side by side."""

from __future__ import annotations

import numpy as np

from foundation import kernels
from foundation.base.checks import FloatArray, IntArray


def enclosing_discs(
    points: FloatArray,
    normals: FloatArray,
    elements: IntArray,
    first: IntArray,
    count: IntArray,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the disc around the nodes of each group of elements.

    Centre (G, 3) [m], radius of the enclosing ball and half thickness (G,) [m], normal (G, 3) [1].
    """
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
    """Return the corners (F, C, 3) of each group's elements side by side, (G, C, 3, LANES) [m].

    Free places of a group repeat its last element.
    """
    place = np.minimum(np.arange(kernels.LANES), count[:, None] - 1)
    return np.ascontiguousarray(np.moveaxis(corners[first[:, None] + place], 1, 3))
