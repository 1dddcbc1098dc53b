"""Uniform cubic B-splines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray

#: Degree of the splines plus 1: grid values that each spline spans.
ORDER = 4


def spline_values(s: FloatArray, count: int) -> tuple[NDArray[np.int64], FloatArray]:
    """Return first splines (N,) and values (N, 4) [1] of cubic B-splines at s (N,) spacings [1]."""
    first, u, v = _in_cells(s, count)
    inner = [(3.0 * w**3 - 6.0 * w**2 + 4.0) / 6.0 for w in (u, v)]
    return first, np.column_stack([v**3 / 6.0, *inner, u**3 / 6.0])


def spline_derivatives(s: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Return first and second derivatives (N, 4) [1] of the splines of `spline_values`."""
    _, u, v = _in_cells(s, count)
    slopes = [-0.5 * v * v, (1.5 * u - 2.0) * u, (2.0 - 1.5 * v) * v, 0.5 * u * u]
    return np.column_stack(slopes), np.column_stack([v, 3.0 * u - 2.0, 3.0 * v - 2.0, u])


def _in_cells(s: FloatArray, count: int) -> tuple[NDArray[np.int64], FloatArray, FloatArray]:
    first = np.clip(np.floor(s).astype(np.int64), 0, count - ORDER)
    return first, s - first, 1.0 - (s - first)
