"""Standard errors that a compartment's surrogate predicts, from those of its regressors.

The error of the height at a given load becomes an error of the loads at a given height by the
change of the loads with the height (error propagation of first order). Where a femur is expected to
be lifted by less than the error of the height of first contact, the errors are the loads of the
remaining depth; where the femur is lifted farther, zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray
from surrogates.formulations.at_load import LoadLevels

#: Fraction of the largest load at which the depth below first contact is measured, and the least
#: fall of the height there [m].
_SMALL_LOAD, _LEAST_FALL = 1e-3, 1e-9


def errors_at_load(
    levels: LoadLevels, poses: ArrayLike, load: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return the standard errors at axial loads (N,) [N]: of heights (N,) [m] and loads (N, 12)."""
    level = levels.at(poses, load)
    height, errors = levels.errors(level)
    by_height = levels.by_lever(levels.loads(level)) * height[:, None]
    return height, np.hypot(errors, by_height)


def errors_at_pose(
    levels: LoadLevels, points: FloatArray, loads: FloatArray, jacobian: FloatArray
) -> FloatArray:
    """Return the standard errors (N, 12) [SI] of the loads at poses (N, 6) [rad, m].

    `loads` (N, 12) and `jacobian` (N, 6, 6) [SI] are what the surrogate predicts there.
    """
    errors = np.zeros(loads.shape)
    touching = loads[:, 1] > 0.0
    if touching.any():
        chosen = points[touching], loads[touching], jacobian[touching]
        errors[touching] = _errors_in_contact(levels, *chosen)
    if not touching.all():
        apart = np.flatnonzero(~touching)
        inputs = levels.inputs(points[apart], np.zeros(len(apart)))
        # A forged file can have scales that no number of its variables survives.
        known = np.isfinite(inputs).all(axis=1)
        errors[apart[~known]] = np.nan
        if known.any():
            errors[apart[known]] = _errors_out_of_contact(levels, points[apart[known]])
    return errors


def _errors_in_contact(
    levels: LoadLevels, points: FloatArray, loads: FloatArray, jacobian: FloatArray
) -> FloatArray:
    axial = np.minimum(loads[:, 1], levels.largest)
    height, beside = levels.errors(levels.at(points, axial))
    by_height = np.empty((len(points), 12))
    by_height[:, :6] = jacobian[:, :, 4]
    # Smaller steps drown in the rounding of sums of large Kriging weights.
    step = 1e-3 * axial
    more, less = (levels.poses_and_loads(points, axial + by)[1] for by in (step, -step))
    by_height[:, 6:] = (more - less)[:, 6:] / (2.0 * step)[:, None] * by_height[:, 1:2]
    # The pose alone determines the point, whatever the error of the learnt height.
    by_height -= levels.by_lever(loads)
    return np.hypot(beside, by_height * height[:, None])


def _errors_out_of_contact(levels: LoadLevels, points: FloatArray) -> FloatArray:
    """Return the loads of the depth by which the height of first contact may be too low."""
    none = np.zeros(len(points))
    touch, small = none, np.full(len(points), _SMALL_LOAD * levels.largest)
    heights = [levels.poses_and_loads(points, load)[0][:, 4] for load in (touch, small)]
    error, _ = levels.errors(levels.at(points, touch))
    depth = np.maximum(error - (points[:, 4] - heights[0]), 0.0)
    fall = np.maximum(heights[0] - heights[1], _LEAST_FALL)
    # The depth grows with the root of the load.
    share = np.minimum(_SMALL_LOAD * (depth / fall) ** levels.degree, 1.0)
    known = np.isfinite(share)
    errors = np.full((len(points), 12), np.nan)
    if known.any():
        loads = levels.poses_and_loads(points[known], share[known] * levels.largest)[1]
        errors[known] = np.abs(loads)
        errors[known, 9:] = 0.0
    return errors
