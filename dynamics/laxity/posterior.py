"""Ligaments from measured laxity: the optimum, and draws of the posterior.

A measured displacement is that of the model plus two normal errors, of the measurement and of the
model itself. The standard deviation of the latter, one for each direction, is learnt; its prior is
half-normal. With the model linear about the optimum, the parameters integrate out of the posterior
of these deviations, which an affine-invariant ensemble samples (Goodman & Weare 2010, Commun Appl
Math Comput Sci 5:65-80; Foreman-Mackey et al. 2013, Publ Astron Soc Pac 125:306-312). Draws of the
parameters then are randomised maximum likelihood (Oliver et al. 1996, in: Proc 5th Eur Conf Math
Oil Recov; Chen & Oliver 2012, Math Geosci 44:1-26): each is the optimum for measurements and prior
means to which errors were added, found with the laxity model itself. For a linear model they are
draws of the posterior; otherwise they approach them.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import emcee
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
#: Walkers per dimension, steps of a turn, most turns; steps over the autocorrelation time.
_WALKERS, _TURN, _TURNS, _LENGTHS = 8, 1000, 10, 50


class Measured(NamedTuple):
    """Measured displacements of N states from the first state of their test."""

    #: Displacements and standard deviations of their errors (N,) [mm or deg].
    values: FloatArray
    errors: FloatArray
    #: Number of the direction of each (N,), of K directions.
    kinds: NDArray[np.int64]
    #: Scales of the half-normal priors of the deviations of the model's errors (K,) [mm or deg].
    scales: FloatArray

    def spread(self, model_errors: FloatArray) -> FloatArray:
        """Return total standard deviations (..., N) [mm, deg] for the model's errors (..., K)."""
        return np.hypot(self.errors, model_errors[..., self.kinds])


class Fit(NamedTuple):
    """Most probable parameters."""

    #: Displacements there, with parameters and derivatives.
    answer: Answer
    #: Standard deviations of the model's errors (K,) [mm or deg].
    model_errors: FloatArray
    #: Covariance of the parameters (P, P) [1], for a linear model.
    covariance: FloatArray
    #: Sum of squares of the residuals, each over its spread [1].
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
    #: Steps of the sampler, its walkers, and its integrated autocorrelation time [steps].
    steps: int
    walkers: int
    autocorrelation: float


def fit(model: LaxityModel, measured: Measured) -> Fit:
    """Return the most probable parameters, with the deviations of the model's errors learnt.

    Raises `EquilibriumError` if the knee has no states at the means of the prior.
    """
    errors, answer, count = measured.scales, model.base, 0
    zero = np.zeros(len(answer.z))
    for _ in range(_ROUNDS):
        spread = measured.spread(errors)
        answer, used = _nearest(model, measured.values, spread, zero, answer)
        errors = _sampled(measured, answer, np.random.default_rng(0), _TURN)[0]
        errors = np.exp(np.log(errors).mean(axis=0))
        count += used
    spread = measured.spread(errors)
    answer, used = _nearest(model, measured.values, spread, zero, answer)
    misfit = float(np.sum(((answer.values - measured.values) / spread) ** 2))
    covariance = linear_covariance(answer.jacobian, spread)
    return Fit(answer, errors, covariance, misfit, count + used)


def linear_covariance(jacobian: FloatArray, spread: FloatArray) -> FloatArray:
    """Return the covariance (P, P) [1] of the parameters for derivatives (N, P), spreads (N,)."""
    scaled = jacobian / spread[:, None]
    inner = scaled @ scaled.T + np.eye(len(scaled))
    covariance: FloatArray = np.eye(scaled.shape[1]) - scaled.T @ np.linalg.solve(inner, scaled)
    return covariance


def draw(
    model: LaxityModel, measured: Measured, found: Fit, count: int, rng: np.random.Generator
) -> Draws:
    """Return `count` draws of the posterior about a fit.

    Raises `EquilibriumError` if most have no optimum.
    """
    chain, steps, walkers, time = _sampled(measured, found.answer, rng, _TURNS * _TURN)
    errors = chain[rng.choice(len(chain), count)]
    answers, kept = [], []
    for row in errors:
        spread = measured.spread(row)
        target = measured.values + spread * rng.standard_normal(len(spread))
        centre = rng.standard_normal(len(found.answer.z))
        answer, used = _nearest(model, target, spread, centre, found.answer)
        if used < _EVALUATIONS:
            answers.append(answer)
            kept.append(row)
    if len(kept) < 0.5 * count:
        raise EquilibriumError(
            f"{len(kept)} of {count} draws of the ligaments hold the knee in all tests: narrow the "
            "prior, or take out the tests of the largest loads"
        )
    return Draws(tuple(answers), np.array(kept), count - len(kept), steps, walkers, time)


def _nearest(
    model: LaxityModel,
    target: FloatArray,
    spread: FloatArray,
    centre: FloatArray,
    start: Answer,
) -> tuple[Answer, int]:
    """Return the answer that is nearest to targets (N,) and centre (P,), and the evaluations.

    That with the least sum of squares of (f(z) - target) / spread and of z - centre; the
    evaluations are `_EVALUATIONS` if the search does not end.
    """
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
        return np.concatenate([misfit / spread, z - centre])

    def jacobian(z: FloatArray) -> FloatArray:
        return np.vstack([found_at[z.tobytes()].jacobian / spread[:, None], identity])

    found = least_squares(
        residuals, start.z, jac=jacobian, xtol=_CLOSE, ftol=_CLOSE, max_nfev=_EVALUATIONS
    )
    return found_at[found.x.tobytes()], int(found.nfev)


def _sampled(
    measured: Measured, answer: Answer, rng: np.random.Generator, most: int
) -> tuple[FloatArray, int, int, float]:
    """Return draws (M, K) of the deviations of the model's errors, and the convergence."""
    slope, kinds = answer.jacobian, len(measured.scales)
    residual = measured.values - answer.values + slope @ answer.z
    gram = slope @ slope.T

    def log_posterior(logs: FloatArray) -> FloatArray:
        errors = np.exp(np.clip(logs, -10.0, 10.0))
        matrix = gram + measured.spread(errors)[:, None, :] ** 2 * np.eye(len(gram))
        weighted = np.linalg.solve(
            matrix, np.broadcast_to(residual, (len(logs), len(gram)))[..., None]
        )
        found = -0.5 * (weighted[..., 0] @ residual) - 0.5 * np.linalg.slogdet(matrix)[1]
        # A flat density of the deviation is exp(logs) of its logarithm.
        found += np.sum(logs - 0.5 * (errors / measured.scales) ** 2, axis=1)
        return np.where((np.abs(logs) < 10.0).all(axis=1), found, -np.inf)

    walkers = _WALKERS * kinds
    at = np.log(measured.scales) + 0.3 * rng.standard_normal((walkers, kinds))
    sampler = emcee.EnsembleSampler(walkers, kinds, log_posterior, vectorize=True)
    sampler._random.seed(int(rng.integers(2**31)))
    time = np.inf
    while sampler.iteration < most and sampler.iteration < _LENGTHS * time:
        at = sampler.run_mcmc(at, _TURN)
        time = float(np.max(sampler.get_autocorr_time(tol=0)))
    chain = sampler.get_chain(discard=sampler.iteration // 4, flat=True)
    return np.exp(chain), sampler.iteration, walkers, time
