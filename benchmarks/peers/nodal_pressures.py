"""Peak pressure and contact area from the pressures at the nodes of a surface of quadrilaterals."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from foundation.base.checks import FloatArray, IntArray

#: Loaded nodes that the pressure is continued from to a node beyond the edge.
_NEIGHBOURS = 6
#: Nodes of the four faces at a node. Fewer may lie in a row, which does not determine a quadratic.
_AROUND = 9


def nodal_areas(points: FloatArray, faces: IntArray) -> FloatArray:
    """Return a quarter of the area of the faces (Q, 4) around each of the points, (C,) [m²]."""
    across = points[faces[:, 2:]] - points[faces[:, :2]]
    sizes = 0.5 * np.linalg.norm(np.cross(across[:, 0], across[:, 1]), axis=1)
    return np.bincount(faces.ravel(), np.repeat(0.25 * sizes, 4), len(points))


def peak_pressure(points: FloatArray, faces: IntArray, pressures: FloatArray) -> float:
    """Return the largest pressure of a quadratic fitted round the node of the largest pressure.

    The fit takes the nodes of the four faces at this node. If a node bears no load, or the fit has
    no maximum among the nodes, as at an edge load, the largest nodal pressure is returned.

    Parameters
    ----------
    points : (C, 3) float64
        Nodes [m].
    faces : (Q, 4) int64
        Nodes of each face, in order around the face.
    pressures : (C,) float64
        At the nodes, 0 out of contact [Pa].

    Returns
    -------
    float
        Peak pressure [Pa].
    """
    top = int(np.argmax(pressures))
    around = np.unique(faces[(faces == top).any(axis=1)])
    around = around[pressures[around] > 0.0]
    largest = float(pressures[top])
    if len(around) < _AROUND:
        return largest
    aside = points[around] - points[top]
    scale = np.abs(aside).max()
    axes = np.linalg.svd(aside)[2]
    x, y = (aside @ axes[:2].T / scale).T
    terms = np.stack([np.ones_like(x), x, y, 0.5 * x**2, x * y, 0.5 * y**2], axis=1)
    level, *slopes_and_bends = np.linalg.lstsq(terms, pressures[around], rcond=None)[0]
    slope, (xx, xy, yy) = np.array(slopes_and_bends[:2]), slopes_and_bends[2:]
    bend = np.array([[xx, xy], [xy, yy]])
    if np.linalg.eigvalsh(bend)[1] >= 0.0:
        return largest
    at = -np.linalg.solve(bend, slope)
    if np.abs(at).max() > 1.0:
        return largest
    return float(level + 0.5 * slope @ at)


def contact_area(points: FloatArray, faces: IntArray, pressures: FloatArray) -> float:
    """Return the area inside the edge of the contact, with the edge found between the nodes.

    Next to the edge of a smooth contact the square of the pressure falls linearly to zero. It is
    continued linearly to the unloaded nodes next to the edge, and its zero line bounds the area.
    The faces are cut into four triangles at their middles.

    Parameters
    ----------
    points : (C, 3) float64
        Nodes [m].
    faces : (Q, 4) int64
        Nodes of each face, in order around the face.
    pressures : (C,) float64
        At the nodes, 0 out of contact [Pa].

    Returns
    -------
    float
        Area [m²].
    """
    loaded = pressures > 0.0
    if not loaded.any():
        return 0.0
    faces = faces[loaded[faces].any(axis=1)]
    level = _continued(points, pressures / pressures.max(), np.setdiff1d(faces, loaded.nonzero()))
    corners = points[faces]
    middle, value = corners.mean(axis=1), level[faces].mean(axis=1)
    total = 0.0
    for k in range(4):
        a, b = corners[:, k], corners[:, (k + 1) % 4]
        size = 0.5 * np.linalg.norm(np.cross(a - middle, b - middle), axis=1)
        ends = level[faces[:, k]], level[faces[:, (k + 1) % 4]]
        total += float(size @ _positive_share(np.stack([*ends, value], axis=1)))
    return total


def _continued(points: FloatArray, pressures: FloatArray, beyond: IntArray) -> FloatArray:
    """Return the squares of the pressures, continued to the nodes beyond the edge, not above 0."""
    squares = pressures**2
    loaded = np.flatnonzero(pressures > 0.0)
    count = min(_NEIGHBOURS, len(loaded))
    near = cKDTree(points[loaded]).query(points[beyond], k=[*range(1, count + 1)])[1]
    for node, rows in zip(beyond, near, strict=True):
        aside = points[loaded[rows]] - points[node]
        # The shortest gradient: the nodes do not determine the slope across the surface.
        terms = np.column_stack([np.ones(count), aside / np.abs(aside).max()])
        fit = np.linalg.lstsq(terms, squares[loaded[rows]], rcond=1e-2)[0]
        squares[node] = min(fit[0], 0.0)
    return squares


def _positive_share(values: FloatArray) -> FloatArray:
    """Return the share of each triangle where the linear interpolant of its corners is above 0."""
    low, mid, high = np.sort(values, axis=1).T
    with np.errstate(divide="ignore", invalid="ignore"):
        tip = high**2 / ((high - low) * (high - mid))
        rest = 1.0 - low**2 / ((mid - low) * (high - low))
    share = np.where(mid > 0.0, rest, tip)
    return np.where(low >= 0.0, 1.0, np.where(high <= 0.0, 0.0, share))
