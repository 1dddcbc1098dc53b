"""Measures of differences, and poses at a load."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq


def rms(values: ArrayLike) -> float:
    """Return the root of the mean square."""
    return float(np.sqrt(np.mean(np.square(values))))


def max_abs(values: ArrayLike) -> float:
    """Return the largest absolute value: how far values are from those they should be."""
    return float(np.abs(values).max())


def height_at(force: Callable[[float], float], wanted: float, start: float, step: float) -> float:
    """Return the height [m] at which a femur that is lowered in steps [m] carries a force [N].

    `force` is the axial force [N] at a height; it grows as the femur sinks from `start` [m].
    """
    high = start
    while force(high) < wanted:
        high -= step
    return float(brentq(lambda height: force(height) - wanted, high, high + step, xtol=1e-9))
