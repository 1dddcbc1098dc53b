"""Ligaments from measured laxity: the optimum, draws of the posterior, and predictions.

A measured displacement is that of the model plus two normal errors, of the measurement and of the
model itself. The latter is a Gaussian process for each direction (Kennedy & O'Hagan 2001, J R Stat
Soc B 63:425-464), with a squared exponential over flexion and load: near fitted tests it is known
from their residuals, and far from them it is as large as its standard deviation, which is learnt
with a half-normal prior. With the model linear about the optimum, the parameters integrate out of
the posterior of these three deviations, which is evaluated on a grid.
Draws of the parameters then are randomised maximum likelihood (Oliver et al. 1996, in: Proc 5th Eur
Conf Math Oil Recov; Chen & Oliver 2012, Math Geosci 44:1-26): each is the optimum for measurements
and prior means to which errors were added, found with the laxity model itself. For a linear model
they are draws of the posterior; otherwise they approach them.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from dynamics.laxity.parameters import Answer, LaxityModel
from dynamics.simulator.equilibrium import EquilibriumError
from foundation.base.checks import FloatArray

#: Most evaluations of a search, its end [1], and misfit where the knee has no state [mm or deg].
_EVALUATIONS, _CLOSE, _NO_STATE = 100, 1e-3, 1e3
#: Fits with deviations of the model's errors learnt in between.
_ROUNDS = 3
#: Deviations of the model's errors that have a part in the posterior, over the scales of their
#: priors; points of the grid along each, half its width in standard deviations, and passes.
_BOUNDS, _POINTS, _WIDTH, _PASSES = np.array([0.02, 4.0]), 13, 3.0, 2
#: Draws of the deviations of the model's errors that stand for all.
_DRAWN = 100


@dataclass(frozen=True, eq=False)
class Measured:
    """Measured displacements of N states from the first state of their test."""

    #: Displacements and standard deviations of their errors (N,) [mm or deg].
    values: FloatArray
    errors: FloatArray
    #: Number of the direction of each (N,), of K directions.
    kinds: NDArray[np.int64]
    #: Scales of the half-normal priors of the deviations of the model's errors (K,) [mm or deg].
    scales: FloatArray
    #: Flexion and load of each over the lengths of the model's errors (N, 2) [1].
    places: FloatArray

    def rows(self, chosen: NDArray[Any]) -> Measured:
        """Return the displacements [mm or deg] that are chosen, (N,) bool."""
        by_row = ("values", "errors", "kinds", "places")
        return replace(self, **{name: getattr(self, name)[chosen] for name in by_row})

    @cached_property
    def _alike(self) -> FloatArray:
        """Correlations of the model's errors (N, N) [1]."""
        apart = self.places[:, None] - self.places
        same: FloatArray = np.exp(-0.5 * np.sum(apart**2, axis=2))
        return same * (self.kinds[:, None] == self.kinds)

    def covariance(self, model_errors: FloatArray) -> FloatArray:
        """Return the covariance (..., N, N) [mm, deg] of both errors.

        For the deviations of the model's errors (..., K) [mm or deg].
        """
        sizes = model_errors[..., self.kinds]
        covariance: FloatArray = sizes[..., :, None] * sizes[..., None, :] * self._alike
        return covariance + np.diag(self.errors**2)


class Fit(NamedTuple):
    """Most probable parameters."""

    #: Displacements there, with parameters and derivatives.
    answer: Answer
    #: Standard deviations of the model's errors (K,) [mm or deg], and some draws of them (M, K).
    model_errors: FloatArray
    drawn_errors: FloatArray
    #: Covariance of the parameters (P, P) [1], for a linear model.
    covariance: FloatArray
    #: Sum of squares of the uncorrelated residuals, each over its standard deviation [1].
    misfit: float
    #: Evaluations of the laxity tests.
    evaluations: int


class Draws(NamedTuple):
    """M draws of the posterior."""

    answers: tuple[Answer, ...]
    #: Standard deviations of the model's errors (M, K) [mm or deg].
    model_errors: FloatArray
    #: Draws without an optimum, which are left out.
    failed: int


def fit(model: LaxityModel, measured: Measured) -> Fit:
    """Return the most probable parameters, with the deviations of the model's errors learnt.

    Raises `EquilibriumError` if the knee has no states at the means of the prior.
    """
    errors, answer, count = measured.scales, model.base, 0
    zero = np.zeros(len(answer.z))
    for _ in range(_ROUNDS):
        covariance = measured.covariance(errors)
        answer, used = _nearest(model, measured.values, covariance, zero, answer)
        drawn = _drawn_errors(measured, answer, _DRAWN)
        errors = np.exp(np.log(drawn).mean(axis=0))
        count += used
    covariance = measured.covariance(errors)
    answer, used = _nearest(model, measured.values, covariance, zero, answer)
    residual = measured.values - answer.values
    misfit = float(residual @ np.linalg.solve(covariance, residual))
    slope = answer.jacobian
    # Both the parameters and their covariance depend on the errors.
    means, parts = [], []
    for row in drawn:
        covariance = measured.covariance(row)
        gram = slope @ slope.T + covariance
        means.append(slope.T @ np.linalg.solve(gram, residual + slope @ answer.z))
        parts.append(linear_covariance(slope, covariance))
    spread = np.mean(parts, axis=0) + np.cov(means, rowvar=False)
    return Fit(answer, errors, drawn, spread, misfit, count + used)


def linear_covariance(jacobian: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return the covariance (P, P) [1] of the parameters.

    For derivatives (N, P) of displacements and the covariance (N, N) of their errors.
    """
    gram = jacobian @ jacobian.T + covariance
    taught: FloatArray = jacobian.T @ np.linalg.solve(gram, jacobian)
    return np.eye(jacobian.shape[1]) - taught


def predict(
    measured: Measured,
    known: NDArray[np.bool_],
    errors: FloatArray,
    values: FloatArray,
    slope: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation (N,) [mm or deg] of measurements like those of all tests.

    The `known` ones (N,) were fitted. For M draws of the deviations of the model's errors (M, K)
    and of the displacements of the model (M, N), or for displacements (N,) at the means of the
    prior and derivatives (N, P) of a linear model.
    """
    gram = np.zeros((len(known), len(known))) if slope is None else slope @ slope.T
    means, variances = [], []
    for row, centre in zip(errors, np.broadcast_to(values, (len(errors), len(known))), strict=True):
        both = gram + measured.covariance(row)
        # A new measurement has an error of its own.
        cross = both - np.diag(measured.errors**2)
        weights = np.linalg.solve(both[np.ix_(known, known)], cross[known]).T
        means.append(centre + weights @ (measured.values - centre)[known])
        variances.append(np.diag(both) - np.sum(weights * cross[known].T, axis=1))
    spread = np.mean(variances, axis=0) + np.var(means, axis=0)
    return np.mean(means, axis=0), np.sqrt(spread)


def draw(
    model: LaxityModel, measured: Measured, found: Fit, count: int, rng: np.random.Generator
) -> Draws:
    """Return `count` draws of the posterior about a fit.

    Raises `EquilibriumError` if most have no optimum.
    """
    answers, errors = [], []
    for row in _drawn_errors(measured, found.answer, count):
        covariance = measured.covariance(row)
        target = rng.multivariate_normal(measured.values, covariance, method="cholesky")
        centre = rng.standard_normal(len(found.answer.z))
        answer, used = _nearest(model, target, covariance, centre, found.answer)
        if used < _EVALUATIONS:
            answers.append(answer)
            errors.append(row)
    if len(errors) < 0.5 * count:
        raise EquilibriumError(
            f"{len(errors)} of {count} draws of the ligaments hold the knee in all tests: narrow "
            "the prior, or take out the tests of the largest loads"
        )
    return Draws(tuple(answers), np.array(errors), count - len(errors))


def _nearest(
    model: LaxityModel,
    target: FloatArray,
    covariance: FloatArray,
    centre: FloatArray,
    start: Answer,
) -> tuple[Answer, int]:
    """Return the answer that is nearest to targets (N,) and centre (P,), and the evaluations.

    That with the least sum of squares of f(z) - target, in the metric of their covariance (N, N),
    and of z - centre; the evaluations are `_EVALUATIONS` if the search does not end.
    """
    weights = np.linalg.inv(np.linalg.cholesky(covariance))
    found_at = {start.z.tobytes(): start}
    last, identity = start, np.eye(len(centre))

    def residuals(z: FloatArray) -> FloatArray:
        nonlocal last
        key, misfit = z.tobytes(), np.full(len(target), _NO_STATE)
        with suppress(EquilibriumError):
            if key not in found_at:
                found_at[key] = model(z, last)
            last = found_at[key]
            misfit = last.values - target
        return np.concatenate([weights @ misfit, z - centre])

    def jacobian(z: FloatArray) -> FloatArray:
        return np.vstack([weights @ found_at[z.tobytes()].jacobian, identity])

    solution = least_squares(
        residuals, start.z, jac=jacobian, xtol=_CLOSE, ftol=_CLOSE, max_nfev=_EVALUATIONS
    )
    return found_at[solution.x.tobytes()], int(solution.nfev)


def _drawn_errors(measured: Measured, answer: Answer, count: int) -> FloatArray:
    """Return draws (M, K) of the posterior of the deviations of the model's errors."""
    slope = answer.jacobian
    residual = measured.values - answer.values + slope @ answer.z
    gram = slope @ slope.T

    def log_posterior(logs: FloatArray) -> FloatArray:
        errors = np.exp(logs)
        matrix = gram + measured.covariance(errors)
        repeated = np.broadcast_to(residual, (len(logs), len(gram)))[..., None]
        weighted = np.linalg.solve(matrix, repeated)[..., 0]
        log_density = -0.5 * (weighted @ residual) - 0.5 * np.linalg.slogdet(matrix)[1]
        # A flat density of the deviation is exp(logs) of its logarithm.
        return log_density + np.sum(logs - 0.5 * (errors / measured.scales) ** 2, axis=1)

    low, high = np.log(measured.scales * _BOUNDS[:, None])
    for _ in range(_PASSES):
        axes = np.linspace(low, high, _POINTS).T
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(low))
        density = np.concatenate([log_posterior(rows) for rows in np.array_split(grid, _POINTS)])
        share = np.exp(density - density.max())
        share /= share.sum()
        middle = share @ grid
        half = _WIDTH * np.sqrt(share @ (grid - middle) ** 2)
        low, high = np.maximum(low, middle - half), np.minimum(high, middle + half)
    # At even parts of the probability, so that the draws do not depend on a seed.
    indices = np.cumsum(share).searchsorted((np.arange(count) + 0.5) / count)
    drawn: FloatArray = np.exp(grid[indices])
    return drawn
