"""The equations of motion with a trained knee's contact, compiled from end to end."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dynamics.kernels.equations import (
    INERTIAL,
    INPUTS,
    PRESCRIBED,
    SCRATCH,
    Problem,
    assemble,
    coordinates_of,
    inputs_at,
)
from dynamics.kernels.linear import factorise, solve
from dynamics.kernels.rosenbrock import integrate_inline
from foundation.checks import FloatArray
from foundation.compiling import entry, kernel, part
from surrogates.compiled.knee import (
    CompartmentArguments,
    both_loads,
    both_wrenches,
    has_wrench,
)

#: Time over which the rates of quasi-static coordinates are taken, as a share of the period.
_RATE_TIME = 1e-4


class KneeArguments(NamedTuple):
    """What `knee_derivative` works on: a surrogate, a simulation, and arrays to work in.

    `quick` says whether the surrogate's wrench can be had alone (`has_wrench`), `stop_outside`
    whether a step may end outside its trained domain.
    """

    medial: CompartmentArguments
    lateral: CompartmentArguments
    problem: Problem
    stop_outside: bool
    quick: bool
    pose: FloatArray
    loads: FloatArray
    jacobian: FloatArray
    variables: FloatArray
    wrench: FloatArray
    by_pose: FloatArray
    scratch: FloatArray
    work: FloatArray


def knee_arguments(
    medial: CompartmentArguments,
    lateral: CompartmentArguments,
    problem: Problem,
    work: FloatArray,
    *,
    stop_outside: bool,
) -> KneeArguments:
    """Return the arguments of `knee_derivative`; `work` is the surrogate's scratch."""
    return KneeArguments(
        medial, lateral, problem, stop_outside, bool(has_wrench(medial, lateral)), np.empty(6),
        np.empty((2, 12)), np.empty((2, 6, 6)), np.empty((2, 7)), np.empty(6), np.empty((6, 6)),
        np.empty(SCRATCH), work,
    )  # fmt: skip


@kernel
def pose_at(time, state, problem, pose, scratch):
    """Fill the pose coordinates (6,) of a state."""
    inputs, rates = scratch[0:INPUTS], scratch[INPUTS : 2 * INPUTS]
    inputs_at(time, problem, inputs, rates)
    coordinates_of(state, inputs, problem, pose)


@part
def knee_derivative(arguments, time, state, wanted, f, by_state, by_time):
    """Fill f, J and df/dt of a state; return whether it may be gone on from there."""
    a = arguments
    pose_at(time, state, a.problem, a.pose, a.scratch)
    for k in range(6):
        a.pose[k] += a.problem.offset[k]
    if wanted or not a.quick:
        outside = both_loads(a.pose, a.medial, a.lateral, a.loads, a.jacobian, a.variables, a.work)
    else:
        outside = both_wrenches(a.pose, a.medial, a.lateral, a.loads, a.variables, a.work)
    for k in range(6):
        a.wrench[k] = a.loads[0, k] + a.loads[1, k]
        for j in range(6):
            a.by_pose[k, j] = a.jacobian[0, k, j] + a.jacobian[1, k, j]
    assemble(time, state, a.wrench, a.by_pose, a.problem, f, by_state, by_time, a.scratch)
    return not (wanted and outside and a.stop_outside)


@kernel
def rates_of(state, mass, problem, period, f, by_state, by_time, factors, order, rates):
    """Fill the rates (n,) of a state from its equations, taken over a short time implicitly.

    Quasi-static coordinates follow the others so stiffly that f alone is all rounding; where
    nothing is stiff this is f.
    """
    width = _RATE_TIME * period
    n = state.size
    for i in range(n):
        for j in range(n):
            factors[i, j] = -width * by_state[i, j]
        factors[i, i] += mass[i]
        f[i] += width * by_time[i]
    if factorise(factors, order):
        solve(factors, order, f, rates)
    else:
        rates[:] = 0.0
    # The rates of coordinates with inertia are part of the state.
    row, rate = 0, 0
    for k in range(6):
        rate += problem.roles[k] != PRESCRIBED
    for k in range(6):
        if problem.roles[k] == INERTIAL:
            rates[row] = state[rate]
            rate += 1
        row += problem.roles[k] != PRESCRIBED


@entry
def integrate_knee(arguments, tableau, mass, state, times, limits, counts, where, states):
    """`dynamics.kernels.rosenbrock.integrate` of a trained knee."""
    return integrate_inline(
        knee_derivative, arguments, tableau, mass, state, times, limits, counts, where, states
    )


@entry
def rates_of_all(problem, mass, times, states, wrenches, by_pose, rates):
    """Fill rates (N, n) at states (N, n), of wrenches (N, 6) and their derivatives (N, 6, 6)."""
    n, period = mass.size, problem.breaks[-1]
    f, by_time, order = np.empty(n), np.empty(n), np.empty(n, dtype=np.int64)
    by_state, factors, scratch = np.empty((n, n)), np.empty((n, n)), np.empty(SCRATCH)
    for i in range(times.size):
        assemble(times[i], states[i], wrenches[i], by_pose[i], problem, f, by_state, by_time,
                 scratch)  # fmt: skip
        rates_of(states[i], mass, problem, period, f, by_state, by_time, factors, order, rates[i])
