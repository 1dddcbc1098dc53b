"""Error figures of a surrogate against held-out samples of the original model."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from foundation.checks import FloatArray, check_array
from foundation.errors import InputError
from foundation.loads import LOAD_COLUMNS
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.whole_knee import AnyCompartment

#: Quantities whose error is judged against their range; the others against their peak.
_POSITIONS = frozenset({"cop_x_m", "cop_y_m", "cop_z_m", "superior_m"})
#: What a user judges a surrogate by where the load is given: shear forces over the axial one, and
#: the distance between the centres of pressure.
AT_LOAD_COLUMNS = ("force_x_over_axial", "force_z_over_axial", "cop_distance_m")


@dataclass(frozen=True)
class ErrorFigures:
    """Errors of one quantity.

    Parameters
    ----------
    rmse, mae, maximum : float
        Root mean square, mean absolute and largest absolute error, in the quantity's unit.
    nrmse : float
        RMSE over the largest absolute true value (over the range for positions) [-].
    q2 : float
        1 - (sum of squared errors) / (sum of squares about the mean) [-].
    points : int
        Number of held-out samples.
    """

    rmse: float
    mae: float
    maximum: float
    nrmse: float
    q2: float
    points: int

    def to_dict(self) -> dict[str, float]:
        """Return the figures by name."""
        return asdict(self)


def error_figures(
    truth: ArrayLike, prediction: ArrayLike, *, by_range: bool = False
) -> ErrorFigures:
    """Return the errors of a prediction.

    Parameters
    ----------
    truth, prediction : (N,) float64
        True and predicted values, N >= 2. A prediction that is NaN (a centre of pressure where the
        surrogate sees no contact) is left out and shows in `points`.
    by_range : bool
        Whether nrmse is by the range instead of the peak of the truth.

    Raises
    ------
    InputError
        If fewer than two values can be compared.
    """
    true = check_array("truth", truth, (None,))
    guess = check_array("prediction", prediction, true.shape, allow_nan=True)
    return _figures_of(true[:, None], guess[:, None], by_range)


def distance_figures(truth: ArrayLike, prediction: ArrayLike) -> ErrorFigures:
    """Return the errors of predicted points: distances from the true ones.

    Parameters
    ----------
    truth, prediction : (N, 3) float64
        True and predicted points, N >= 2; a prediction with a NaN is left out. `nrmse` is by the
        diagonal of the box of the true points.

    Raises
    ------
    InputError
        If fewer than two points can be compared.
    """
    true = check_array("truth", truth, (None, 3))
    guess = check_array("prediction", prediction, true.shape, allow_nan=True)
    return _figures_of(true, guess, by_range=True)


def _figures_of(true: FloatArray, guess: FloatArray, by_range: bool) -> ErrorFigures:
    """Return the errors of values (N, m), of which all m are known or the row is left out."""
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
        # A truth that never changes has no scale: any error is then infinitely large.
        nrmse=rmse / float(scale) if scale > 0.0 else (0.0 if rmse == 0.0 else np.inf),
        q2=1.0 - square / about_mean if about_mean > 0.0 else (1.0 if square == 0.0 else -np.inf),
        points=len(true),
    )


def predict_at_pose(surrogate: AnyCompartment, poses: ArrayLike) -> np.ndarray:
    """Return the loads (N, 12) that a surrogate gives at poses (N, 6) [rad, m]."""
    return surrogate.evaluate_batch(poses)[0]


def errors_at_pose(
    surrogate: AnyCompartment, poses: ArrayLike, loads: ArrayLike
) -> dict[str, ErrorFigures]:
    """Return the errors of every load and quantity where the pose is given.

    Parameters
    ----------
    surrogate : CompartmentSurrogate or CompartmentView
        What is judged.
    poses, loads : (N, 6), (N, 12) float64
        Held-out samples of its compartment [rad, m], `foundation.loads.LOAD_COLUMNS`.
    """
    truth = check_array("loads", loads, (None, 12))
    prediction = predict_at_pose(surrogate, poses)
    return _figures(LOAD_COLUMNS, truth, prediction)


def errors_at_load(
    surrogate: CompartmentSurrogate, poses: ArrayLike, loads: ArrayLike
) -> dict[str, ErrorFigures]:
    """Return the errors of the height and of every load where the axial load is given.

    Parameters as in `errors_at_pose`.

    Returns
    -------
    dict
        `superior_m` [m], `foundation.loads.LOAD_COLUMNS` and `AT_LOAD_COLUMNS`: the AP and ML
        force over the axial one [-], and the distance of the centre of pressure [m].
    """
    points = check_array("poses", poses, (None, 6))
    truth = check_array("loads", loads, (None, 12))
    found, prediction = surrogate.at_load(points, truth[:, 1])
    figures = {"superior_m": error_figures(points[:, 4], found[:, 4], by_range=True)}
    figures |= _figures(LOAD_COLUMNS, truth, prediction)
    axial = truth[:, 1]
    shear = {
        name: error_figures(truth[:, k] / axial, prediction[:, k] / axial)
        for name, k in zip(AT_LOAD_COLUMNS, (0, 2), strict=False)
    }
    centre = distance_figures(truth[:, 9:], prediction[:, 9:])
    return figures | shear | {AT_LOAD_COLUMNS[2]: centre}


def _figures(
    names: tuple[str, ...], truth: np.ndarray, prediction: np.ndarray
) -> dict[str, ErrorFigures]:
    return {
        name: _figures_if_known(truth[:, k], prediction[:, k], name in _POSITIONS)
        for k, name in enumerate(names)
    }


def _figures_if_known(truth: FloatArray, prediction: FloatArray, by_range: bool) -> ErrorFigures:
    """Return the errors, NaN where the surrogate hardly ever sees contact (centre of pressure)."""
    known = int((~np.isnan(prediction)).sum())
    if len(truth) >= 2 > known:
        return ErrorFigures(np.nan, np.nan, np.nan, np.nan, np.nan, known)
    return error_figures(truth, prediction, by_range=by_range)
