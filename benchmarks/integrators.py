"""Integrators that were not chosen, with fixed steps, for the work-precision comparison.

Both solve their implicit equations by Newton's method with the analytic Jacobian at each iterate,
so that one evaluation is one call of the contact model.
"""

from __future__ import annotations

import numpy as np

from dynamics.simulator.equations import KneeEquations
from foundation.base.checks import FloatArray

_ITERATIONS = 12
#: Change of a Newton iterate, over the tolerance of the state, at which it has converged.
_CONVERGED = 1e-2

#: SDIRK of order 4, five stages, L-stable (Hairer & Wanner 1996, table IV.6.5).
_A = np.array(
    [
        [1 / 4, 0, 0, 0, 0],
        [1 / 2, 1 / 4, 0, 0, 0],
        [17 / 50, -1 / 25, 1 / 4, 0, 0],
        [371 / 1360, -137 / 2720, 15 / 544, 1 / 4, 0],
        [25 / 24, -49 / 48, 125 / 16, -85 / 12, 1 / 4],
    ]
)
_C = _A.sum(axis=1)


def sdirk(
    equations: KneeEquations, state: FloatArray, end: float, steps: int, atol: FloatArray
) -> FloatArray:
    """Return the state (n,) at the end."""
    h = end / steps
    for step in range(steps):
        slopes: list[FloatArray] = []
        for i in range(5):
            time = (step + _C[i]) * h
            base = state + h * sum((a * k for a, k in zip(_A[i], slopes, strict=False)), start=0.0)
            guess = slopes[-1] if slopes else np.zeros_like(state)
            slopes.append(_stage(equations, time, base, guess, 0.25 * h, atol))
        # The last stage is the result.
        state = state + h * (_A[4] @ np.array(slopes))
    return state


def _stage(
    equations: KneeEquations,
    time: float,
    base: FloatArray,
    slope: FloatArray,
    width: float,
    atol: FloatArray,
) -> FloatArray:
    for _ in range(_ITERATIONS):
        state = base + width * slope
        residual = slope - equations.derivative(time, state)
        matrix = np.eye(len(base)) - width * equations.jacobian(time, state)
        change = np.linalg.solve(matrix, -residual)
        slope = slope + change
        if np.abs(width * change / atol).max() < _CONVERGED:
            return slope
    raise RuntimeError(f"Newton's method did not converge at {time:.6g} s")


def generalised_alpha(
    equations: KneeEquations,
    state: FloatArray,
    end: float,
    steps: int,
    atol: FloatArray,
    radius: float = 0.6,
) -> FloatArray:
    """Return the state (n,) at the end, by the generalised-alpha method of order 2.

    Chung & Hulbert (1993, J Appl Mech 60:371-375), `radius` being that of its spectrum at infinite
    frequency. Of full dynamics only: the state is (x, v).
    """
    m = (2.0 * radius - 1.0) / (radius + 1.0)
    f = radius / (radius + 1.0)
    gamma, beta = 0.5 - m + f, 0.25 * (1.0 - m + f) ** 2
    h, n = end / steps, len(state) // 2
    x, v = state[:n], state[n:]
    a = equations.derivative(0.0, state)[n:]
    for step in range(steps):
        time = (step + 1.0 - f) * h
        new = a.copy()
        for _ in range(_ITERATIONS):
            x1 = x + h * v + h * h * ((0.5 - beta) * a + beta * new)
            v1 = v + h * ((1.0 - gamma) * a + gamma * new)
            middle = np.concatenate(((1.0 - f) * x1 + f * x, (1.0 - f) * v1 + f * v))
            jacobian = equations.jacobian(time, middle)[n:]
            residual = (1.0 - m) * new + m * a - equations.derivative(time, middle)[n:]
            by_x, by_v = jacobian[:, :n], jacobian[:, n:]
            matrix = (1.0 - m) * np.eye(n) - (1.0 - f) * (beta * h * h * by_x + gamma * h * by_v)
            change = np.linalg.solve(matrix, -residual)
            new += change
            if np.abs(beta * h * h * change / atol[:n]).max() < _CONVERGED:
                break
        else:
            raise RuntimeError(f"Newton's method did not converge at {time:.6g} s")
        x = x + h * v + h * h * ((0.5 - beta) * a + beta * new)
        v = v + h * ((1.0 - gamma) * a + gamma * new)
        a = new
    return np.concatenate((x, v))
