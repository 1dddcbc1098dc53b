"""Adaptive Rosenbrock methods for M y' = f(t, y) with a diagonal, possibly singular M.

Hairer & Wanner (1996, section IV.7). `integrate` takes f as a function; with a compiled f it runs
compiled, with a Python function as Python code that uses the compiled functions of this module.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics.kernels.linear import factorise, solve
from foundation.base.checks import FloatArray
from foundation.base.compiling import inlined, inlined_kernel, kernel, pasted

#: Outcomes of an integration.
DONE, STEP_TOO_SMALL, TOO_MANY_STEPS, DISLOCATED, OUTSIDE = range(5)
#: Counts: accepted and rejected steps, evaluations of f, and of its Jacobian.
STEPS, REJECTED, EVALUATIONS, JACOBIANS = range(4)
_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 5.0
_FIRST_STEP = 0.02  # of the largest
_SMALLEST_STEP = 1e-10  # of the largest
_BEYOND = 2.0  # limit of the stages relative to the limit of the result


class Limits(NamedTuple):
    """Tolerances and bounds of the steps.

    Parameters
    ----------
    rtol, atol : float, (n,) float64
        Relative and absolute tolerances of a step.
    size : (m,) float64
        Largest magnitudes of the first m components of the state, beyond which the integration
        stops.
    max_step, max_steps : float, int
        Largest step [s], and largest number of steps tried.
    """

    rtol: float
    atol: FloatArray
    size: FloatArray
    max_step: float
    max_steps: int


class Work(NamedTuple):
    """Arrays of a step of a state (n,) [any unit]: f, J, df/dt at its start, factors, stages."""

    begun: FloatArray
    by_state: FloatArray
    by_time: FloatArray
    factors: FloatArray
    order: NDArray[np.int64]
    increments: FloatArray
    f: FloatArray
    trial: FloatArray
    right: FloatArray
    after: FloatArray
    unused: FloatArray


@inlined_kernel
def copy(values, out):
    """Fill `out` (n,) with values (n,)."""
    # `out[:] = values` would compile an error message and number formatting into the code.
    for i in range(values.size):
        out[i] = values[i]


@inlined_kernel
def begin_step(step, mass, tableau, work):
    """Fill f of the first stage and the factors of M / (g h) - J; return whether they exist."""
    n = mass.size
    for i in range(n):
        for j in range(n):
            work.factors[i, j] = -work.by_state[i, j]
        work.factors[i, i] += mass[i] / (step * tableau.shift[0])
        work.f[i] = work.begun[i]
    return factorise(work.factors, work.order)


@inlined_kernel
def stage_state(stage, state, increments, tableau, out):
    """Fill the state (n,) at which a stage evaluates f."""
    for i in range(state.size):
        value = state[i]
        for j in range(stage):
            value += tableau.stages[stage, j] * increments[j, i]
        out[i] = value


@inlined_kernel
def stage_increment(stage, step, mass, tableau, work):
    """Fill `work.increments[stage]`."""
    for i in range(mass.size):
        coupled = 0.0
        for j in range(stage):
            coupled += tableau.couplings[stage, j] * work.increments[j, i]
        slope = step * tableau.slopes[stage] * work.by_time[i]
        work.right[i] = work.f[i] + mass[i] * coupled / step + slope
    solve(work.factors, work.order, work.right, work.increments[stage])


@inlined_kernel
def scaled_error(state, after, error, rtol, atol):
    """Return the error over the tolerance, RMS over the state; infinite if it is not finite."""
    total = 0.0
    for i in range(state.size):
        allowed = atol[i] + rtol * max(abs(state[i]), abs(after[i]))
        total += (error[i] / allowed) ** 2
    size = math.sqrt(total / state.size)
    return size if size < np.inf else np.inf


@inlined
def between(part, state, after, increments, tableau, out):
    """Fill the state (n,) at a part of the step, 0 to 1."""
    for i in range(state.size):
        value = 0.0
        for row in range(tableau.dense.shape[0] - 1, -1, -1):
            value *= part
            for j in range(increments.shape[0]):
                value += tableau.dense[row, j] * increments[j, i]
        out[i] = (1.0 - part) * state[i] + part * (after[i] + (1.0 - part) * value)


@inlined_kernel
def next_factor(error, before, order):
    """Return the factor of the next step by a PI controller (Gustafsson 1991, TOMS 17:533)."""
    error = max(error, 1e-6)
    power = 1.0 / (order + 1.0)
    factor = _SAFETY * error ** (-0.7 * power) * before ** (0.4 * power)
    return min(max(factor, _SHRINK), _GROW)


@inlined_kernel
def furthest(state, limits):
    """Return the largest displacement over its limit; infinite if one is not finite."""
    most = 0.0
    for i in range(limits.size):
        if not abs(state[i]) < np.inf:
            return np.inf
        most = max(most, abs(state[i]) / limits[i])
    return most


@kernel
def new_work(size, stages):
    """Return the arrays of a step of `size` components."""
    return Work(
        np.empty(size), np.empty((size, size)), np.empty(size), np.empty((size, size)),
        np.empty(size, dtype=np.int64), np.empty((stages, size)), np.empty(size), np.empty(size),
        np.empty(size), np.empty(size), np.empty((size, size)),
    )  # fmt: skip


@kernel
def choose_step(time, step, end, max_step):
    """Return the next step; a negligible remainder is added to the last step."""
    step = min(step, max_step)
    return end - time if time + 1.0001 * step >= end else step


@inlined_kernel
def report_between(reported, times, time, after, state, tableau, work, states):
    """Fill the states at times up to the end of a step; return the number of filled states."""
    while reported < times.size and times[reported] <= after:
        part = (times[reported] - time) / (after - time)
        between(part, state, work.after, work.increments, tableau, states[reported])
        reported += 1
    return reported


def integrate(derivative, arguments, tableau, mass, state, times, limits, counts, where, states):
    """Integrate from time 0 to `times[-1]` [s] and return the outcome.

    `derivative(arguments, time, state, wanted, f, by_state, by_time)` fills f (n,) and, if the
    Jacobian is wanted, by_state (n, n) and by_time (n,); returns whether the integration may
    continue. `mass` (n,) is the diagonal of M, 1 or 0. The other arguments are filled: `state` (n,)
    at time 0 with the last state reached; `counts` (4,) with `STEPS`, `REJECTED`, `EVALUATIONS`,
    `JACOBIANS`; `where` (2,) with the last time reached and the last step tried; and `states` (N,
    n) with the states at the increasing `times` (N,), the last at the end.
    """
    work = new_work(state.size, tableau.nodes.size)
    last = work.increments[tableau.nodes.size - 1]
    end, time, reported, before, rejected = times[-1], 0.0, 0, 1.0, False
    step = _FIRST_STEP * limits.max_step
    # Not the literals, which would compile the derivative anew for each value.
    wanted, unwanted = np.bool_(True), np.bool_(False)
    counts[:] = 0
    if times[0] <= 0.0:
        copy(state, states[0])
        reported = 1
    while True:
        where[0], where[1] = time, step
        if furthest(state, limits.size) > 1.0:
            return DISLOCATED
        if not derivative(arguments, time, state, wanted, work.begun, work.by_state, work.by_time):
            return OUTSIDE
        counts[EVALUATIONS] += 1
        counts[JACOBIANS] += 1
        if time >= end:
            return DONE
        error = np.inf
        while not error <= 1.0:
            step = choose_step(time, step, end, limits.max_step)
            where[1] = step
            if step < min(_SMALLEST_STEP * limits.max_step, end - time):
                return STEP_TOO_SMALL
            if counts[STEPS] + counts[REJECTED] >= limits.max_steps:
                return TOO_MANY_STEPS
            usable = begin_step(step, mass, tableau, work)
            for stage in range(tableau.nodes.size):
                if stage > 0:
                    stage_state(stage, state, work.increments, tableau, work.trial)
                    usable = usable and furthest(work.trial, limits.size) <= _BEYOND
                if not usable:
                    break
                if stage > 0:
                    at = time + tableau.nodes[stage] * step
                    derivative(arguments, at, work.trial, unwanted, work.f, work.unused, work.right)
                    counts[EVALUATIONS] += 1
                stage_increment(stage, step, mass, tableau, work)
            error = np.inf
            if usable:
                for i in range(state.size):
                    work.after[i] = work.trial[i] + last[i]
                error = scaled_error(state, work.after, last, limits.rtol, limits.atol)
            if not error <= 1.0:
                counts[REJECTED] += 1
                rejected = True
                step *= next_factor(error, 1.0, tableau.order[1]) if error < np.inf else 0.1
        after = end if step == end - time else time + step
        reported = report_between(reported, times, time, after, state, tableau, work, states)
        time = after
        copy(work.after, state)
        counts[STEPS] += 1
        factor = next_factor(error, before, tableau.order[1])
        step *= min(factor, 1.0) if rejected else factor
        before, rejected = max(error, 1e-4), False


#: `integrate` for kernels, with a compiled function.
integrate_inline = pasted(integrate)
