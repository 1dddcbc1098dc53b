"""Where to sample next: the poses at which the load errs most by what the surrogate expects."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.checks import FloatArray, check_array, check_in
from surrogates.families.cross_validation import CrossCheck
from surrogates.families.kriging import local_error, spread_picks
from surrogates.formulations.compartment import CompartmentSurrogate

_STEP = 1e-4  # of the scaled root of the load, for the fall of the height with it


def largest_errors(
    surrogate: CompartmentSurrogate,
    check: CrossCheck,
    poses: ArrayLike,
    load: ArrayLike,
    count: int,
) -> NDArray[np.int64]:
    """Return the candidates to evaluate next, those of the largest error of the load first.

    An error of the height is one of the load, at a given pose, times the load's change with the
    height. The height's standard error is Kriging's, times how much larger than expected the
    leave-one-out errors of the nearby samples are; it falls with every choice as if the sample
    were taken.

    Parameters
    ----------
    surrogate : CompartmentSurrogate
        Of the formulation "inverted", by Kriging.
    check : CrossCheck
        Leave-one-out residuals of its height.
    poses : (m, 6) float64
        Candidates [rad, m]; the height is not read.
    load : (m,) float64
        Their axial loads [N].
    count : int
        How many, 1 to m.

    Returns
    -------
    (count,) int64
        Rows of `poses`.

    Raises
    ------
    InputError
        If the surrogate is of another formulation or family, or an argument is malformed.
    """
    check_in("formulation", surrogate.formulation, ("inverted",))
    height = surrogate.regressors[1]
    inputs = surrogate.inputs_at_load(poses, load)
    weights = _load_per_height(surrogate, inputs) * local_error(height, check, inputs)
    return spread_picks(height, inputs, weights, count)


def load_error(surrogate: CompartmentSurrogate, check: CrossCheck, inputs: FloatArray) -> float:
    """Return the RMS error of the axial load at a given pose over the largest load [-].

    Parameters
    ----------
    surrogate : CompartmentSurrogate
        Of the formulation "inverted".
    check : CrossCheck
        Out-of-sample residuals of its outputs, the height first.
    inputs : (N, 6) float64
        Inputs that the height was fitted to.
    """
    at = inputs[check.rows]
    return float(np.sqrt(np.mean((_load_per_height(surrogate, at) * check.residuals[:, 0]) ** 2)))


def _load_per_height(surrogate: CompartmentSurrogate, inputs: FloatArray) -> FloatArray:
    """Return |dF/dy| over the largest load at inputs (m, 6) [1/m]."""
    points = check_array("inputs", inputs, (None, 6))
    height = surrogate.regressors[1]
    ahead, behind = points.copy(), points.copy()
    ahead[:, 5] += _STEP
    behind[:, 5] -= _STEP
    fall = np.abs(height.predict(ahead)[:, 0] - height.predict(behind)[:, 0]) / (2.0 * _STEP)
    root = 0.5 * (points[:, 5] + 1.0)
    steepness = 0.5 * surrogate.degree * np.maximum(root, 0.0) ** (surrogate.degree - 1.0)
    return steepness / np.maximum(fall, 1e-3 * np.median(fall))
