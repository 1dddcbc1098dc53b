"""Equations of motion with the contact of a surrogate, fully compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dynamics.kernels.equations import (
    INERTIAL,
    PRESCRIBED,
    SCRATCH,
    Problem,
    assemble,
    pose_at,
)
from dynamics.kernels.linear import factorise, solve
from dynamics.kernels.rosenbrock import integrate_inline
from foundation.base.checks import FloatArray
from foundation.base.compiling import entry, kernel, part
from surrogates.core.in_numba import knee_loads, knee_wrench
from surrogates.core.packing import PackedContact

#: Time of the implicit rates of quasi-static coordinates, as a share of the period.
_RATE_TIME = 1e-4


class KneeArguments(NamedTuple):
    """Arguments of `knee_derivative`: a surrogate, a simulation, and scratch arrays (n,) [SI].

    `contact` is the address of a `PackedContact`, which must outlive the arguments; `stop_outside`
    states whether a step outside the trained domain stops the integration.
    """

    contact: int
    problem: Problem
    stop_outside: bool
    pose: FloatArray
    loads: FloatArray
    jacobian: FloatArray
    variables: FloatArray
    wrench: FloatArray
    by_pose: FloatArray
    scratch: FloatArray
    work: FloatArray


def knee_arguments(
    contact: PackedContact, problem: Problem, *, stop_outside: bool
) -> KneeArguments:
    """Return the arguments of `knee_derivative`."""
    return KneeArguments(
        contact.address, problem, stop_outside, np.empty(6), np.empty((2, 12)),
        np.empty((2, 6, 6)), np.empty((2, 7)), np.empty(6), np.empty((6, 6)), np.empty(SCRATCH),
        contact.work(),
    )  # fmt: skip


@part
def knee_derivative(arguments, time, state, wanted, f, by_state, by_time):
    """Fill f and, if wanted, J and df/dt of a state; return whether to continue."""
    a = arguments
    pose_at(time, state, a.problem, a.pose, a.scratch)
    for k in range(6):
        a.pose[k] += a.problem.offset[k]
    if wanted:
        outside = knee_loads(a.pose, a.contact, a.loads, a.jacobian, a.variables, a.work)
        for k in range(6):
            for j in range(6):
                a.by_pose[k, j] = a.jacobian[0, k, j] + a.jacobian[1, k, j]
    else:
        outside = knee_wrench(a.pose, a.contact, a.loads, a.variables, a.work)
    for k in range(6):
        a.wrench[k] = a.loads[0, k] + a.loads[1, k]
    assemble(state, a.wrench, a.by_pose, a.problem, wanted, f, by_state, by_time, a.scratch)
    return not (wanted and outside and a.stop_outside)


@kernel
def rates_of(state, mass, problem, period, f, by_state, by_time, factors, order, rates):
    """Fill the rates (n,) of a state by an implicit step over a short time.

    Rounding dominates f of stiff quasi-static coordinates; without stiffness the result is f.
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
    """Integrate the equations with a surrogate; see `dynamics.kernels.rosenbrock.integrate`."""
    return integrate_inline(
        knee_derivative, arguments, tableau, mass, state, times, limits, counts, where, states
    )


@entry
def rates_of_all(problem, mass, times, states, wrenches, by_pose, rates):
    """Fill rates (N, n) at states (N, n) with wrenches (N, 6) and derivatives (N, 6, 6)."""
    n, period = mass.size, problem.breaks[-1]
    f, by_time, order = np.empty(n), np.empty(n), np.empty(n, dtype=np.int64)
    by_state, factors, scratch = np.empty((n, n)), np.empty((n, n)), np.empty(SCRATCH)
    pose = np.empty(6)
    for i in range(times.size):
        pose_at(times[i], states[i], problem, pose, scratch)
        assemble(states[i], wrenches[i], by_pose[i], problem, np.bool_(True), f, by_state,
                 by_time, scratch)  # fmt: skip
        rates_of(states[i], mass, problem, period, f, by_state, by_time, factors, order, rates[i])
