"""The linear problem of one iteration of COMAK: activations and steps of secondary coordinates.

With muscle forces R a, reserves r, steps s of the secondary coordinates and C = d(forces)/ds, the
accelerations of the motion need R a + r + C s = b. The cost (Smith et al. 2018)

    sum_i w_i (a_i - d_i)² + sum_k v_k r_k² + g . s

is least where r = b - R a - C s; the steps are free, so that what is left is a bounded linear
least-squares problem in the activations, with the residuals outside the range of C.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import qr
from scipy.optimize import lsq_linear

from foundation.base.checks import FloatArray

#: Accuracy of the bounded least-squares problem, relative to its cost.
_TOLERANCE = 1e-12
#: Least weight of an activation, relative to the largest one.
_LEAST_WEIGHT = 1e-9


class FrameProblem(NamedTuple):
    """Data of the problem, with forces (F,) [N m, N] of free coordinates, M muscles, S steps."""

    #: R (F, M): generalised force per unit of activation of each muscle [N m, N].
    arms: FloatArray
    #: C (F, S): force per unit of each secondary coordinate [N m, N per rad, m].
    columns: FloatArray
    #: b (F,): what muscles, reserves and steps must give [N m, N].
    needed: FloatArray
    #: w (M,): weights of the squared activations [cost].
    activation_weights: FloatArray
    #: v (F,): weights of the squared reserves [cost / (N m)², cost / N²].
    reserve_weights: FloatArray
    #: g (S,): cost per unit of each secondary coordinate [cost / rad, cost / m].
    energy_gradient: FloatArray
    #: Least and largest activations (2, M) [1].
    bounds: FloatArray
    #: Largest steps of the secondary coordinates (S,) [rad, m].
    largest_steps: FloatArray
    #: d (M,): activations that cost nothing [1].
    desired: FloatArray


class FrameSolution(NamedTuple):
    """Activations (M,) [1], reserves (F,) [N m, N], steps (S,) [rad, m] that solve the problem."""

    activations: FloatArray
    reserves: FloatArray
    steps: FloatArray


def solve_frame(problem: FrameProblem) -> FrameSolution:
    """Return the activations and steps, within their bounds, of one iteration's linear problem."""
    root = np.sqrt(problem.reserve_weights)
    columns, needed = root[:, None] * problem.columns, root * problem.needed
    arms, weights = root[:, None] * problem.arms, np.sqrt(_positive(problem.activation_weights))
    # A cost of the steps moves the goal of the residuals, by what their range can follow.
    shift = np.linalg.lstsq(columns.T, -0.5 * problem.energy_gradient, rcond=None)[0]
    wanted = weights * problem.desired - (arms.T @ shift) / weights
    basis, _ = qr(columns, mode="full")
    outside = basis[:, columns.shape[1] :]
    found = lsq_linear(
        np.vstack([np.diag(weights), outside.T @ arms]),
        np.concatenate([wanted, outside.T @ needed]),
        bounds=tuple(problem.bounds),
        method="bvls",
        tol=_TOLERANCE,
    ).x
    left = needed + shift - arms @ found
    steps: FloatArray = np.linalg.lstsq(columns, left, rcond=None)[0].astype(np.float64)
    if (np.abs(steps) > problem.largest_steps).any():
        found, steps = _bounded_steps(problem, arms, columns, needed + shift, weights, wanted)
    reserves = problem.needed - problem.arms @ found - problem.columns @ steps
    return FrameSolution(found, reserves, steps)


def _positive(weights: FloatArray) -> FloatArray:
    """Return weights [cost], none of them zero, so that they determine the activations."""
    return np.maximum(weights, _LEAST_WEIGHT * max(float(weights.max(initial=0.0)), 1.0))


def _bounded_steps(
    problem: FrameProblem,
    arms: FloatArray,
    columns: FloatArray,
    needed: FloatArray,
    weights: FloatArray,
    wanted: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return activations and steps where a bound of a step is active."""
    count, steps = len(weights), columns.shape[1]
    matrix = np.block([[np.diag(weights), np.zeros((count, steps))], [arms, columns]])
    low, high = problem.bounds
    limits = problem.largest_steps
    found = lsq_linear(
        matrix,
        np.concatenate([wanted, needed]),
        bounds=(np.concatenate([low, -limits]), np.concatenate([high, limits])),
        method="bvls",
        tol=_TOLERANCE,
    ).x
    return found[:count], found[count:]
