"""Fit of a compartment's domain to samples of the whole box, unseen by the surrogate."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from foundation.base.checks import FloatArray, check_array
from surrogates.families.cross_validation import Fitted
from surrogates.families.polynomial import PolynomialSettings, fit_polynomial
from surrogates.families.regressor import Regressor
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.design_fit import OverDesigns
from surrogates.formulations.domain import Domain

#: Accepted error of the force over the largest load, as the 95 % quantile of the errors at a pose,
#: and the most that is accepted where feasible samples have larger errors.
ACCEPTED_ERROR, MOST_ACCEPTED = 0.05, 0.13
#: Fewest samples for a fit; with fewer, the predicted loads alone define the domain.
LEAST_SAMPLES = 100
#: Cap on the shares of the limits: a femur on a rim is outside at any distance.
_LARGEST_SHARE = 3.0
#: Floor of the errors, over the largest load.
_LEAST_ERROR = 1e-4
#: Fraction of the feasible samples that each learnt criterion may leave outside.
_LEFT_OUT = 0.004
#: A force is wrong if its error exceeds this part of the largest load and this many standard
#: errors; it is far off if its error exceeds the last part of the largest load.
WRONG, ERRORS, FAR = 0.02, 3.0, 0.1
#: Largest part of the samples without a flag that may be wrong or far off, judged by folds; with
#: more, the border of the error is lowered. Too few samples below a border to judge this part, and
#: nothing is trusted.
_MAX_UNFLAGGED, _FOLDS = 0.005, 5
#: Largest factor on standard errors that takes the place of a lower border.
_MAX_INFLATION = 2.0
#: Probabilities at which intervals are calibrated: in the middle, and in the tail.
_PROBABILITIES = (0.95, 0.9973)
#: A condyle is certainly lifted by this factor times the widest gap that is predicted for a sample
#: in contact, and by at least this gap [m].
_GAP_FACTOR, _LEAST_GAP = 2.0, 3e-4
#: Logarithm of a factor on the errors with which every pose, or none, is outside.
_NOWHERE = 50.0
_SURFACE = PolynomialSettings(
    basis="total_degree", degree=(2, 3, 4, 5), ridge=(1e-8, 1e-6, 1e-4, 1e-2)
)
#: The same with the parameters of designs as further inputs, of which there are many products.
_SURFACE_OVER_DESIGNS = PolynomialSettings(
    basis="total_degree", degree=(2, 3), ridge=(1e-6, 1e-4, 1e-2)
)
_ERRORS = PolynomialSettings(basis="total_degree", degree=(1, 2), ridge=(1e-6, 1e-4, 1e-2))


class SeenSamples(NamedTuple):
    """Fitted samples along gait, which tell the loads, but not the surrogate's errors."""

    #: In contact (M, 6) [rad, m].
    poses: FloatArray
    #: True (M, 12) [SI].
    loads: FloatArray


class DomainSamples(NamedTuple):
    """Samples over the whole box of a compartment."""

    #: In contact (N, 6) [rad, m].
    poses: FloatArray
    #: True (N, 12) [SI].
    loads: FloatArray
    #: Whether the loads satisfy the bounds of feasibility, without the margin (N,).
    feasible: NDArray[np.bool_]
    #: Whether the surrogate was fitted to part of the samples, which then show no errors.
    fitted: bool = False
    #: Samples along gait, so that the expected loads are closest to the truth there.
    seen: SeenSamples | None = None


#: Surrogate of a compartment of a knee, or of the designs that its samples are of.
Predictor: TypeAlias = CompartmentSurrogate | OverDesigns


def fit_domain(
    surrogate: Predictor, samples: DomainSamples, limits: FloatArray, margin: float
) -> Domain:
    """Return the domain of a surrogate from samples of its box, with limits (3,) [1, 1, Pa]."""
    # `limits` bound F_x / F_y, F_z / F_y and the peak pressure; half of the slack `margin` of the
    # fitted samples [1] counts as trained.
    slack = 1.0 + 0.5 * margin
    poses = check_array("poses", samples.poses, (None, 6))
    loads = check_array("loads", samples.loads, (len(poses), 12))
    if len(poses) < LEAST_SAMPLES:
        return Domain.within(slack * limits)
    prediction = surrogate.loads(poses, order=1)
    predicted, variables = prediction.array, prediction.variables
    residuals = loads - predicted
    targets = _targets(loads, residuals, limits, surrogate.largest_load)
    if samples.fitted:
        targets[:, 2] = np.log(_LEAST_ERROR / ACCEPTED_ERROR)
    x = _variables_at(surrogate, variables, loads)
    inputs = surrogate.domain_inputs(variables)
    fitted = fit_polynomial(x, targets, _surface(x))
    if samples.seen is not None and len(samples.seen.poses):
        fitted = _fit_with_seen(surrogate, samples.seen, limits, x, targets, fitted)
    rows = fitted.check.rows
    sampled = rows < len(poses)
    rows, misses = rows[sampled], fitted.check.residuals[sampled]
    left_out = targets[rows] - misses  # leave-one-out predictions
    tail = np.quantile(misses[:, 2], _PROBABILITIES[0])
    left_out[:, 2] += tail
    borders = _borders(left_out[samples.feasible[rows]], slack)
    domain = Domain.within(slack * limits)
    borders[2] -= tail
    domain = replace(domain, regressor=_bordered(fitted.regressor, borders))
    if samples.fitted:
        return domain
    gaps = surrogate.gaps(poses)
    if surrogate.learns_heights:
        # All samples are in contact: predictions of lifted condyles are errors.
        domain = replace(domain, lifted=max(_GAP_FACTOR * float(gaps.max()), _LEAST_GAP))
    inside = (np.abs(variables[:, :6]) <= 1.0).all(axis=1)
    inside &= domain.extrapolation(inputs, predicted, gaps) <= 1.0
    inside |= inside.sum() < LEAST_SAMPLES  # of too few, all
    errors = surrogate.standard_error(poses)
    domain, errors = _with_errors(domain, errors, residuals, inputs, inside)
    largest = surrogate.largest_load
    far = is_far_off(residuals, largest)
    wrong = is_wrong(residuals, errors, largest) | far
    if not wrong.any():
        return domain
    passed = _lowered(domain, -_NOWHERE).extrapolation(inputs, predicted, gaps) <= 1.0
    passed &= (np.abs(variables[:, :6]) <= 1.0).all(axis=1)
    excess = _unseen_errors(x, targets, inputs) - borders[2]
    if not domain.errors.outputs:
        trusted = passed & (excess <= 0.0)
        factor = _error_inflation(residuals[trusted], errors[trusted], far[trusted], largest)
        inflation = domain.inflation.copy()
        inflation[:3] *= factor
        domain, errors = replace(domain, inflation=inflation), errors * inflation / domain.inflation
        wrong = is_wrong(residuals, errors, largest) | far
    lower = _lowering(excess, wrong, passed)
    return _lowered(domain, lower) if lower > 0.0 else domain


def _with_errors(
    domain: Domain,
    errors: FloatArray,
    residuals: FloatArray,
    inputs: FloatArray,
    inside: NDArray[np.bool_],
) -> tuple[Domain, FloatArray]:
    """Return a domain with standard errors calibrated by samples inside, and these (N, 12) [SI]."""
    if np.isnan(errors[:, :6]).any():
        domain = replace(domain, errors=_fit_errors(np.clip(inputs, -1.0, 1.0), residuals, inside))
        return domain, domain.standard_error(inputs)
    domain = replace(domain, inflation=_inflation(residuals[inside], errors[inside]))
    return domain, errors * domain.inflation


def is_wrong(residuals: FloatArray, errors: FloatArray, largest: float) -> NDArray[np.bool_]:
    """Return where (N,) a force is wrong: residuals (N, 12) [SI] beyond `errors` and `WRONG`."""
    size = np.abs(residuals[:, :3])
    wrong: NDArray[np.bool_] = (size > WRONG * largest) & ~(size <= ERRORS * errors[:, :3])
    return np.asarray(wrong.any(axis=1))


def is_far_off(residuals: FloatArray, largest: float) -> NDArray[np.bool_]:
    """Return where (N,) a force of residuals (N, 12) exceeds `FAR` of the largest load [SI]."""
    return np.asarray((np.abs(residuals[:, :3]) > FAR * largest).any(axis=1))


def _error_inflation(
    residuals: FloatArray, errors: FloatArray, far: NDArray[np.bool_], largest: float
) -> float:
    """Return the least factor on the errors (N, 12) of forces that leaves few forces wrong."""
    # Few are `_MAX_UNFLAGGED` of the samples, with those that are `far` (N,) off. 1 if no factor up
    # to `_MAX_INFLATION` suffices: then the border of the error is to be lowered.
    size = np.abs(residuals[:, :3])
    over = np.where(size > WRONG * largest, size, 0.0) / np.maximum(errors[:, :3], 1e-300)
    sizes = np.sort(over.max(axis=1)[~far] / ERRORS)[::-1]
    allowed = int(_MAX_UNFLAGGED * len(residuals)) - int(far.sum())
    if not 0 <= allowed < len(sizes):
        return 1.0
    factor = float(max(1.0, sizes[allowed]))
    return factor if factor <= _MAX_INFLATION else 1.0


def _surface(x: FloatArray) -> PolynomialSettings:
    """Return the settings of fits over inputs x (N, 6), or (N, 6 + P) over designs [1]."""
    return _SURFACE if x.shape[1] == 6 else _SURFACE_OVER_DESIGNS


def _unseen_errors(x: FloatArray, targets: FloatArray, inputs: FloatArray) -> FloatArray:
    """Return the third target (N,) at inputs (N, d), each by a fit without its fold."""
    # Fits are to x (N, d) at the true loads; a user's pose has `inputs` of predicted loads alone.
    predicted = np.empty(len(x))
    clipped = np.clip(inputs, -1.0, 1.0)
    for fold in range(_FOLDS):
        out = np.arange(len(x)) % _FOLDS == fold
        fitted = fit_polynomial(x[~out], targets[~out], _surface(x))
        predicted[out] = fitted.regressor.predict(clipped[out])[:, 2]
    return predicted


def _lowered(domain: Domain, lower: float) -> Domain:
    """Return the domain with the border of the error lowered, by the logarithm of a factor."""
    return replace(domain, regressor=_bordered(domain.regressor, np.array([1.0, 1.0, -lower])))


def _lowering(excess: FloatArray, wrong: NDArray[np.bool_], others: NDArray[np.bool_]) -> float:
    """Return by how much the border of the error is to be lowered, 0 where that is not needed."""
    # `excess` (N,) are logarithms of errors over the border; `others`: other criteria give no flag.
    chosen = np.flatnonzero(others & (excess <= 0.0))
    order = chosen[np.argsort(excess[chosen], kind="stable")]
    count, bad = np.arange(1, len(order) + 1), np.cumsum(wrong[order])
    if not len(order) or bad[-1] <= _MAX_UNFLAGGED * len(order):
        return 0.0
    accepted = order[(bad <= _MAX_UNFLAGGED * count) & (_MAX_UNFLAGGED * count >= 1.0)]
    return -float(excess[accepted[-1]]) if len(accepted) else _NOWHERE


def _variables_at(surrogate: Predictor, variables: FloatArray, loads: FloatArray) -> FloatArray:
    """Return the inputs of a domain (N, d) [1], held in the box, at the true loads (N, 12)."""
    x: FloatArray = np.clip(variables[:, :6], -1.0, 1.0)
    root = np.sqrt(loads[:, 1] / surrogate.largest_load)
    x[:, 5] = np.clip(2.0 * root - 1.0, -1.0, 1.0)
    return surrogate.domain_inputs(x)


def _fit_with_seen(
    surrogate: Predictor,
    seen: SeenSamples,
    limits: FloatArray,
    x: FloatArray,
    targets: FloatArray,
    fitted: Fitted,
) -> Fitted:
    """Return a fit to samples along gait besides those at x (N, 6) with targets (N, 3)."""
    # Fitted samples say nothing of errors: theirs are expected by the `fitted` surface of the
    # others.
    poses = check_array("seen poses", seen.poses, (None, 6))
    loads = check_array("seen loads", seen.loads, (len(poses), 12))
    along = _variables_at(surrogate, surrogate.loads(poses, order=1).variables, loads)
    seen_targets = _targets(loads, np.zeros_like(loads), limits, surrogate.largest_load)
    seen_targets[:, 2] = fitted.regressor.predict(along)[:, 2]
    return fit_polynomial(
        np.concatenate([x, along]), np.concatenate([targets, seen_targets]), _SURFACE
    )


def _targets(
    loads: FloatArray, residuals: FloatArray, limits: FloatArray, largest: float
) -> FloatArray:
    """Return the targets (N, 3) of the fit: shares of two limits, log of the error."""
    shares = loads[:, [0, 2]] / loads[:, 1:2] / limits[:2]
    error = np.abs(residuals[:, :3]).max(axis=1) / largest
    return np.column_stack(
        [
            np.clip(shares, -_LARGEST_SHARE, _LARGEST_SHARE),
            np.log(np.maximum(error, _LEAST_ERROR) / ACCEPTED_ERROR),
        ]
    )


def _borders(feasible: FloatArray, slack: float) -> FloatArray:
    """Return the value (3,) of each criterion above which a pose is outside."""
    least = np.array([slack, slack, 0.0])
    if not len(feasible):
        return least
    values = np.column_stack([np.abs(feasible[:, :2]), feasible[:, 2]])
    borders = np.maximum(np.quantile(values, 1.0 - _LEFT_OUT, axis=0), least)
    borders[2] = min(borders[2], np.log(MOST_ACCEPTED / ACCEPTED_ERROR))
    return borders


def _bordered(regressor: Regressor, borders: FloatArray) -> Regressor:
    """Return the regressor with outputs whose borders are 1, 1 and 0."""
    scale = np.array([1.0 / borders[0], 1.0 / borders[1], 1.0])
    shift = np.array([0.0, 0.0, borders[2]])
    return replace(
        regressor,
        y_offset=regressor.y_offset * scale - shift,
        y_scale=regressor.y_scale * scale,
        spread=np.empty((len(scale), 0)),
    )


def _inflation(residuals: FloatArray, errors: FloatArray) -> FloatArray:
    """Return factors (12,), at least 1, on standard errors (N, 12), so that intervals hold."""
    factors = np.ones(residuals.shape[1])
    for k in range(len(factors)):
        known = np.isfinite(residuals[:, k]) & (errors[:, k] > 0.0)
        if known.sum() >= LEAST_SAMPLES:
            factors[k] = _too_large(np.abs(residuals[known, k]) / errors[known, k])
    return np.maximum(factors, 1.0)


def _too_large(sizes: FloatArray) -> float:
    """Return the largest ratio of quantiles of sizes (N,) >= 0 to standard normal quantiles."""
    normal = ndtri(0.5 + 0.5 * np.array(_PROBABILITIES))
    return float((np.quantile(sizes, _PROBABILITIES) / normal).max())


def _fit_errors(
    variables: FloatArray, residuals: FloatArray, inside: NDArray[np.bool_]
) -> Regressor:
    """Return the logarithms of standard errors (12,) over the variables, from residuals (N, 12)."""
    # A missing centre of pressure, out of contact, counts as exact.
    sizes = np.abs(np.nan_to_num(residuals[inside]))
    logs = np.log(np.maximum(sizes, _LEAST_ERROR * sizes.max(axis=0) + np.finfo(float).tiny))
    fitted = fit_polynomial(variables[inside], logs, _ERRORS)
    levels = np.exp(logs - fitted.regressor.predict(variables[inside]))
    above = np.log([_too_large(level) for level in levels.T])
    return replace(
        fitted.regressor,
        y_offset=fitted.regressor.y_offset + above,
        spread=np.empty((len(above), 0)),
    )
