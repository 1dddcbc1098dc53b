"""Standard errors that a compartment's surrogate predicts, from those of its regressors.

The error of the height at a given load becomes an error of the loads at a given height by the
change of the loads with the height (error propagation of first order). Where a femur is expected to
be lifted by less than the error of the height of first contact, the errors are the loads of the
remaining depth; where the femur is lifted farther, zero. Formulations that predict no errors
("energy", "root" and the stiffnesses) take those of the domain, or NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray
from surrogates.compiled.compartments import POWER
from surrogates.formulations.at_load import Level, inputs_at, level_at, loads_of

if TYPE_CHECKING:
    from surrogates.formulations.compartment import CompartmentSurrogate

#: Fraction of the largest load at which the depth below first contact is measured, and the least
#: fall of the height there [m].
_SMALL_LOAD, _LEAST_FALL = 1e-3, 1e-9


def errors_at_load(
    part: CompartmentSurrogate, poses: ArrayLike, load: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return the standard errors of `at_load`: of heights (N,) [m] and loads (N, 12) [SI]."""
    level = level_at(part, poses, load)
    height, errors = _errors_beside_height(part, level)
    loads = loads_of(level, part.degree)
    by_height = _by_lever(part, loads) * height[:, None]
    return height, np.hypot(errors, by_height)


def errors_at_pose(part: CompartmentSurrogate, points: FloatArray) -> FloatArray:
    """Return the standard errors (N, 12) [SI] of the loads at poses (N, 6) [rad, m]."""
    loads, jacobian, x = part.evaluate_batch(points)
    if part.code == POWER:
        return _loads_error(part, points, loads) * part.domain.inflation
    if part.formulation != "inverted":
        return part.domain.standard_error(x)
    errors = np.zeros(loads.shape)
    touching = loads[:, 1] > 0.0
    if touching.any():
        chosen = points[touching], loads[touching], jacobian[touching]
        errors[touching] = _errors_in_contact(part, *chosen)
    if not touching.all():
        apart = np.flatnonzero(~touching)
        inputs = inputs_at(part, points[apart], np.zeros(len(apart)))
        # A forged file can have scales that no number of its variables survives.
        known = np.isfinite(inputs).all(axis=1)
        errors[apart[~known]] = np.nan
        if known.any():
            errors[apart[known]] = _errors_out_of_contact(part, points[apart[known]])
    return errors * part.domain.inflation


def _errors_in_contact(
    part: CompartmentSurrogate, points: FloatArray, loads: FloatArray, jacobian: FloatArray
) -> FloatArray:
    axial = np.minimum(loads[:, 1], part.largest)
    height, beside = _errors_beside_height(part, level_at(part, points, axial))
    by_height = np.empty((len(points), 12))
    by_height[:, :6] = jacobian[:, :, 4]
    # Smaller steps drown in the rounding of sums of large Kriging weights.
    step = 1e-3 * axial
    change = part.at_load(points, axial + step)[1] - part.at_load(points, axial - step)[1]
    by_height[:, 6:] = change[:, 6:] / (2.0 * step)[:, None] * by_height[:, 1:2]
    # The pose alone determines the point, whatever the error of the learnt height.
    by_height -= _by_lever(part, loads)
    return np.hypot(beside, by_height * height[:, None])


def _errors_out_of_contact(part: CompartmentSurrogate, points: FloatArray) -> FloatArray:
    """Return the loads of the depth by which the height of first contact may be too low."""
    none = np.zeros(len(points))
    touch, small = none, np.full(len(points), _SMALL_LOAD * part.largest)
    heights = [part.at_load(points, load)[0][:, 4] for load in (touch, small)]
    error, _ = _errors_beside_height(part, level_at(part, points, touch))
    depth = np.maximum(error - (points[:, 4] - heights[0]), 0.0)
    fall = np.maximum(heights[0] - heights[1], _LEAST_FALL)
    # The depth grows with the root of the load.
    share = np.minimum(_SMALL_LOAD * (depth / fall) ** part.degree, 1.0)
    known = np.isfinite(share)
    errors = np.full((len(points), 12), np.nan)
    if known.any():
        errors[known] = np.abs(part.at_load(points[known], share[known] * part.largest)[1])
        errors[known, 9:] = 0.0
    return errors


def _errors_beside_height(
    part: CompartmentSurrogate, level: Level
) -> tuple[FloatArray, FloatArray]:
    """Return the errors of the heights (N,) and, at exact heights, of the loads (N, 12)."""
    axial, root, lever = level.axial, level.root[:, None], level.lever
    error = np.column_stack([r.standard_error(level.inputs) for r in part.regressors[1:]])
    loads = np.zeros((len(axial), 12))
    loads[:, [0, 2]] = error[:, 1:3] * axial[:, None]
    # M = M about the point + lever x F, where F_y is exact.
    across = np.cross(lever, np.eye(3)[[0]]), np.cross(lever, np.eye(3)[[2]])
    moments = (error[:, 3:6] * axial[:, None]) ** 2
    moments += (across[0] * loads[:, [0]]) ** 2 + (across[1] * loads[:, [2]]) ** 2
    loads[:, 3:6] = np.sqrt(moments)
    loads[:, 6:7] = error[:, 6:7] * root
    loads[:, 7:9] = error[:, 7:9] * root ** (part.degree - 1.0)
    loads[:, 9:] = error[:, 9:]
    return error[:, 0], loads


def _by_lever(part: CompartmentSurrogate, loads: FloatArray) -> FloatArray:
    """Return how loads (N, 12) change as the condyle's point rises with them, (N, 12)."""
    change = np.zeros(loads.shape)
    if part.coordinates.about_point:
        change[:, 3], change[:, 5], change[:, 10] = loads[:, 2], -loads[:, 0], 1.0
    return change


def _loads_error(part: CompartmentSurrogate, poses: FloatArray, loads: FloatArray) -> FloatArray:
    """Return the standard errors (N, 12) where the loads themselves are learnt."""
    u, height, _ = part.coordinates.variables(part.space.held(poses))
    depth = (height - part.depth[0]) / part.depth[1]
    inputs = np.column_stack([u, depth])
    errors = np.column_stack([r.standard_error(inputs) for r in part.regressors[1:]])
    steepness = part.degree * np.abs(loads[:, :9]) ** (1.0 - 1.0 / part.degree)
    errors[:, :9] *= steepness
    return errors
