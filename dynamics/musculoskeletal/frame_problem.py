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
    """Data of the problem.

    Parameters
    ----------
    arms : (F, M) float64
        Generalised force per unit of activation of each muscle, R [N m, N].
    columns : (F, S) float64
        Generalised force per unit of each secondary coordinate, C [N m, N per rad, m].
    needed : (F,) float64
        Generalised forces that muscles, reserves and steps must give, b [N m, N].
    activation_weights : (M,) float64
        Weights of the squared activations, w [cost].
    reserve_weights : (F,) float64
        Weights of the squared reserves, v [cost / (N m)², cost / N²].
    energy_gradient : (S,) float64
        Cost per unit of each secondary coordinate, g [cost / rad, cost / m].
    bounds : (2, M) float64
        Least and largest activations [1].
    largest_steps : (S,) float64
        Largest steps of the secondary coordinates [rad, m].
    desired : (M,) float64
        Activations that cost nothing, d [1].
    """

    arms: FloatArray
    columns: FloatArray
    needed: FloatArray
    activation_weights: FloatArray
    reserve_weights: FloatArray
    energy_gradient: FloatArray
    bounds: FloatArray
    largest_steps: FloatArray
    desired: FloatArray


class FrameSolution(NamedTuple):
    """Solution of the problem.

    Parameters
    ----------
    activations : (M,) float64
        Activations [1].
    reserves : (F,) float64
        Generalised forces of the reserves [N m, N].
    steps : (S,) float64
        Steps of the secondary coordinates [rad, m].
    """

    activations: FloatArray
    reserves: FloatArray
    steps: FloatArray


def solve_frame(problem: FrameProblem) -> FrameSolution:
    """Solve the linear problem of one iteration.

    Parameters
    ----------
    problem : FrameProblem
        Data of the problem.

    Returns
    -------
    FrameSolution
        Activations and steps within their bounds.
    """
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
    """Return weights [cost] of which those of zero are a small part of the largest one.

    A muscle that costs nothing leaves the activations undetermined.
    """
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
