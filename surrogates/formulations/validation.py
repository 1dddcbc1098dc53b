"""Errors of a surrogate at held-out samples of the original model."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, check_array
from foundation.base.errors import InputError
from foundation.base.loads import LOAD_COLUMNS
from surrogates.formulations.compartment import CompartmentSurrogate

#: Quantities with errors relative to their range; errors of the others are relative to the peak.
_POSITIONS = frozenset({"cop_x_m", "cop_y_m", "cop_z_m", "superior_m"})
#: Further quantities at a given axial load: shear forces over the axial force, and the distance
#: between the true and the predicted centre of pressure.
AT_LOAD_COLUMNS = ("force_x_over_axial", "force_z_over_axial", "cop_distance_m")


@dataclass(frozen=True)
class ErrorFigures:
    """Errors of one quantity, in its unit: root mean square, mean absolute and largest absolute."""

    rmse: float
    mae: float
    maximum: float
    #: RMSE over the largest absolute true value (over the range for positions) [1].
    nrmse: float
    #: 1 - (sum of squared errors) / (sum of squares about the mean) [1].
    q2: float
    #: Number of held-out samples.
    points: int

    def to_dict(self) -> dict[str, float]:
        """Return the figures by name."""
        return asdict(self)


def error_figures(
    truth: ArrayLike, prediction: ArrayLike, *, by_range: bool = False
) -> ErrorFigures:
    """Return the errors of a prediction (N,) [any unit] of true values; NaN is left out."""
    # With `by_range`, `nrmse` is relative to the range instead of the peak of the truth.
    true = check_array("truth", truth, (None,))
    guess = check_array("prediction", prediction, true.shape, allow_nan=True)
    return _figures_of(true[:, None], guess[:, None], by_range)


def distance_figures(truth: ArrayLike, prediction: ArrayLike) -> ErrorFigures:
    """Return distances of points (N, 3) [m] as errors, `nrmse` over the box's diagonal."""
    true = check_array("truth", truth, (None, 3))
    guess = check_array("prediction", prediction, true.shape, allow_nan=True)
    return _figures_of(true, guess, by_range=True)


def _figures_of(true: FloatArray, guess: FloatArray, by_range: bool) -> ErrorFigures:
    """Return the errors of values (N, m), without rows that contain NaN."""
    known = ~np.isnan(guess).any(axis=1)
    true, guess = true[known], guess[known]
    if len(true) < 2:
        raise InputError(f"prediction: expected at least 2 known values, found {len(true)}")
    error = np.linalg.norm(guess - true, axis=1)
    scale = np.linalg.norm(np.ptp(true, axis=0)) if by_range else np.abs(true).max()
    about_mean = float(np.sum((true - true.mean(axis=0)) ** 2))
    square = float(np.sum(error**2))
    rmse = float(np.sqrt(square / len(true)))
    return ErrorFigures(
        rmse=rmse,
        mae=float(error.mean()),
        maximum=float(error.max()),
        # A constant truth has no scale: any error is infinitely large.
        nrmse=rmse / float(scale) if scale > 0.0 else (0.0 if rmse == 0.0 else np.inf),
        q2=1.0 - square / about_mean if about_mean > 0.0 else (1.0 if square == 0.0 else -np.inf),
        points=len(true),
    )


def predict_at_pose(surrogate: CompartmentSurrogate, poses: ArrayLike) -> np.ndarray:
    """Return the predicted loads (N, 12) [SI] at poses (N, 6) [rad, m]."""
    return surrogate.loads(poses, order=1).array


def errors_at_pose(
    surrogate: CompartmentSurrogate, poses: ArrayLike, loads: ArrayLike
) -> dict[str, ErrorFigures]:
    """Return the errors of every load and quantity at given poses, by name.

    Parameters
    ----------
    surrogate : CompartmentSurrogate
        Surrogate of the compartment.
    poses, loads : (N, 6), (N, 12) float64
        Held-out samples of the compartment [rad, m], `foundation.base.loads.LOAD_COLUMNS` [SI].
    """
    return _figures(check_array("loads", loads, (None, 12)), predict_at_pose(surrogate, poses))


def errors_at_load(
    surrogate: CompartmentSurrogate, poses: ArrayLike, loads: ArrayLike
) -> dict[str, ErrorFigures]:
    """Return the errors of the height and of loads (N, 12) [SI] at given axial loads, by name."""
    # `AT_LOAD_COLUMNS` follow: AP and ML force over the axial force [1], and the distance of the
    # centre of pressure [m].
    points = check_array("poses", poses, (None, 6))
    truth = check_array("loads", loads, (None, 12))
    predicted, prediction = surrogate.at_load(points, truth[:, 1])
    figures = {"superior_m": error_figures(points[:, 4], predicted[:, 4], by_range=True)}
    figures |= _figures(truth, prediction)
    axial = truth[:, 1]
    shear = {
        name: error_figures(truth[:, k] / axial, prediction[:, k] / axial)
        for name, k in zip(AT_LOAD_COLUMNS, (0, 2), strict=False)
    }
    centre = distance_figures(truth[:, 9:], prediction[:, 9:])
    return figures | shear | {AT_LOAD_COLUMNS[2]: centre}


def _figures(truth: FloatArray, prediction: FloatArray) -> dict[str, ErrorFigures]:
    """Return the errors of loads (N, 12) by name, NaN where fewer than 2 predictions are known."""
    figures = {}
    for name, true, guess in zip(LOAD_COLUMNS, truth.T, prediction.T, strict=True):
        known = int((~np.isnan(guess)).sum())
        if len(true) >= 2 > known:
            figures[name] = ErrorFigures(np.nan, np.nan, np.nan, np.nan, np.nan, known)
        else:
            figures[name] = error_figures(true, guess, by_range=name in _POSITIONS)
    return figures
