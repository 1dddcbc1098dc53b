"""Simulation of chains: integration of the free coordinates, with closed structures."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from dynamics.mechanics.chains.assembly import DECAY, Assembly
from dynamics.mechanics.chains.links import ChainsResult, Instant, check_closed
from dynamics.simulator.equations import SimulationError
from foundation.base.checks import FloatArray, check_array, check_in, check_number
from foundation.base.errors import InputError

#: Fixed step, then scipy's adaptive ones: explicit of order 8, and implicit for stiff links.
METHODS = ("RK4", "DOP853", "Radau")
#: Gap that the integration may leave until it is closed [m].
LARGEST_DRIFT = 1e-5
#: Coordinates and rates above which an integration has diverged [rad, m; per s].
_DIVERGED = 1e9
_Method: TypeAlias = Literal["RK4", "DOP853", "Radau"]


def simulate_chains(
    assembly: Assembly,
    times: ArrayLike,
    position: ArrayLike = (),
    velocity: ArrayLike = (),
    *,
    method: _Method = "DOP853",
    step: float = 1e-3,
    rtol: float = 1e-9,
    atol: float = 1e-11,
) -> ChainsResult:
    """Simulate an assembly from free coordinates (F,) [rad, m]; return it at instants (T,) [s].

    `step` is the longest of "RK4" [s]; `rtol` and `atol` are those of the adaptive integrators.
    """
    # The integrators resolve every vibration, so that the cost grows with the highest frequency
    # √(k/m), that of the stiffest link; k = 1e4 to 1e6 N/m suffices for an almost rigid link.
    instants = check_array("times", times, (None,))
    if len(instants) < 2 or np.diff(instants).min() <= 0.0:
        raise InputError(f"times: expected at least two increasing instants, found {times!r}")
    check_in("method", method, METHODS)
    check_number("step", step, above=0.0, unit="s")
    check_number("rtol", rtol, above=0.0)
    check_number("atol", atol, above=0.0)
    check_closed(*assembly.gaps(instants[0], position, velocity))
    closed = np.concatenate(assembly.close(instants[0], position, velocity))
    return _evaluated(
        assembly, instants, _integrate(assembly, closed, instants, method, step, rtol, atol)
    )


def _evaluated(assembly: Assembly, instants: FloatArray, states: FloatArray) -> ChainsResult:
    """Return motion and forces in the states (T, 2 F) [rad, m], closed first."""
    half = states.shape[1] // 2
    drift, evaluated = [], []
    for time, state in zip(instants, states, strict=True):
        drift.append(assembly.gaps(time, state[:half], state[half:])[0])
        if drift[-1] > LARGEST_DRIFT:
            raise SimulationError(
                f"closures: expected gaps of at most {LARGEST_DRIFT:g} m from the integration, "
                f"found {drift[-1]:.3g} m at {time:g} s: reduce the step or the tolerances, and "
                "avoid dead points"
            )
        closed = assembly.close(time, state[:half], state[half:])
        evaluated.append(assembly.evaluate(time, *closed))
    columns = {
        field.name: np.array([getattr(each, field.name) for each in evaluated])
        for field in fields(Instant)
    }
    return ChainsResult(**columns, time=instants, drift=np.array(drift))


def _integrate(
    assembly: Assembly,
    start: FloatArray,
    instants: FloatArray,
    method: _Method,
    step: float,
    rtol: float,
    atol: float,
) -> FloatArray:
    """Return the free coordinates and their rates at the instants, (T, 2 F)."""
    half = len(start) // 2
    if half == 0:
        return np.empty((len(instants), 0))

    def derivative(time: float, state: FloatArray) -> FloatArray:
        # NaN is not below the limit either.
        if not (np.abs(state) < _DIVERGED).all():
            raise SimulationError(
                f"{method} failed before {time:g} s: the state grows beyond all limits; reduce the "
                "step or the tolerances"
            )
        at, rates = state[:half], state[half:]
        return np.concatenate([rates, assembly.accelerations(time, at, rates, decay=DECAY)])

    with np.errstate(over="ignore", invalid="ignore"):
        if method == "RK4":
            states = _rk4(derivative, start, instants, step)
            derivative(instants[-1], states[-1])  # checks the last state
            return states
        span = (instants[0], instants[-1])
        solution = solve_ivp(derivative, span, start, method, t_eval=instants, rtol=rtol, atol=atol)
    if not solution.success:
        raise SimulationError(f"{method} failed at {solution.t[-1]:g} s: {solution.message}")
    return solution.y.T


def _rk4(
    derivative: Callable[[float, FloatArray], FloatArray],
    state: FloatArray,
    times: FloatArray,
    step: float,
) -> FloatArray:
    """Return states (T, n) by the classical Runge-Kutta method in equal steps of at most `step`."""
    states = [state]
    for start, end in pairwise(times):
        count = math.ceil((end - start) / step * (1.0 - 1e-12))
        h = (end - start) / count
        for i in range(count):
            t = start + i * h
            k1 = derivative(t, state)
            k2 = derivative(t + 0.5 * h, state + 0.5 * h * k1)
            k3 = derivative(t + 0.5 * h, state + 0.5 * h * k2)
            k4 = derivative(t + h, state + h * k3)
            state = state + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        states.append(state)
    return np.array(states)
