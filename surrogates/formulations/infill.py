"""Choice of the next samples: poses with the largest expected error of the load."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_array, check_in
from surrogates.families.cross_validation import CrossCheck
from surrogates.families.kriging import local_error, spread_picks
from surrogates.formulations.compartment import CompartmentSurrogate

_STEP = 1e-4  # of the scaled root of the load, for the slope of the height


def largest_errors(
    surrogate: CompartmentSurrogate,
    check: CrossCheck,
    poses: ArrayLike,
    load: ArrayLike,
    count: int,
) -> NDArray[np.int64]:
    """Return candidates (count,) to evaluate next, by the expected error of the load [N]."""
    # An error of the height causes an error of the load in proportion to the slope of the load. The
    # standard error of the height is that of Kriging, times the ratio of actual to expected
    # leave-one-out errors nearby; each choice lowers it as if the sample had been taken. Candidates
    # are poses (m, 6) [rad, m], whose height is not read, and axial loads (m,) [N].
    check_in("formulation", surrogate.formulation, ("inverted",))
    height = surrogate.regressors[0]
    inputs = surrogate.inputs_at_load(poses, load)
    weights = load_per_height(surrogate, inputs) * local_error(height, check, inputs)
    return spread_picks(height, inputs, weights, count)


def load_error(surrogate: CompartmentSurrogate, check: CrossCheck, inputs: FloatArray) -> float:
    """Return the RMS error of the axial load over the largest load [1], from inputs (N, 6) [1]."""
    at = inputs[check.rows]
    return float(np.sqrt(np.mean((load_per_height(surrogate, at) * check.residuals[:, 0]) ** 2)))


def load_per_height(surrogate: CompartmentSurrogate, inputs: FloatArray) -> FloatArray:
    """Return |dF/dy| over the largest load at inputs (m, 6) [1/m]."""
    points = check_array("inputs", inputs, (None, 6))
    height = surrogate.regressors[0]
    ahead, behind = points.copy(), points.copy()
    ahead[:, 5] += _STEP
    behind[:, 5] -= _STEP
    fall = np.abs(height.predict(ahead)[:, 0] - height.predict(behind)[:, 0]) / (2.0 * _STEP)
    root = 0.5 * (points[:, 5] + 1.0)
    steepness = 0.5 * surrogate.degree * np.maximum(root, 0.0) ** (surrogate.degree - 1.0)
    return steepness / np.maximum(fall, 1e-3 * np.median(fall))
