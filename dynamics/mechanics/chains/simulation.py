"""Simulation of chains: the free ones forward, the prescribed ones inverse."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from dynamics.mechanics.chains.assembly import Assembly
from dynamics.mechanics.chains.motion import PrescribedMotion
from dynamics.simulator.equations import SimulationError
from foundation.checks import FloatArray, check_array, check_in, check_number
from foundation.errors import InputError

#: Fixed step, then scipy's adaptive ones: explicit of order 8, and implicit for stiff links.
METHODS = ("RK4", "DOP853", "Radau")
_Method: TypeAlias = Literal["RK4", "DOP853", "Radau"]

#: (time [s], state (n,)) -> rate of the state (n,).
Derivative: TypeAlias = Callable[[float, FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class ChainsResult:
    """Motion and forces of an assembly at T instants, of N segments and L links.

    Parameters
    ----------
    columns : tuple of str
        Segments in the order of the arrays, chain.segment, N.
    link_names : tuple of str
        Links in the order of the arrays, L.
    time : (T,) float64
        Instants [s].
    angles, rates, accelerations : (T, N) float64
        Absolute, of the segments [rad, rad/s, rad/s²].
    torques : (T, N) float64
        Driving torques at the joint proximal of each segment, positive on that segment [N m]: of
        inverse dynamics for prescribed chains, of the drive for free chains; without the passive
        torques of the joints.
    link_forces : (T, L, 2) float64
        Force on the second point of each link, global frame [N]; the opposite acts on the first.
    kinetic, potential : (T,) float64
        Energies [J].
    """

    columns: tuple[str, ...]
    link_names: tuple[str, ...]
    time: FloatArray
    angles: FloatArray
    rates: FloatArray
    accelerations: FloatArray
    torques: FloatArray
    link_forces: FloatArray
    kinetic: FloatArray
    potential: FloatArray

    @property
    def energy(self) -> FloatArray:
        """Kinetic and potential energy together, (T,) [J]."""
        return self.kinetic + self.potential


def rk4(derivative: Derivative, state: FloatArray, times: FloatArray, step: float) -> FloatArray:
    """Integrate by the classical Runge-Kutta method, of order 4, in equal steps.

    Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I, section II.1.

    Parameters
    ----------
    derivative : callable
        (time, state) -> rate of the state.
    state : (n,) float64
        State at the first instant, in any unit [1].
    times : (T,) float64
        Instants of the result, increasing [s].
    step : float
        Longest step [s]; each interval is divided into equal steps of at most this length.

    Returns
    -------
    states : (T, n) float64
        States at the instants; not finite where the steps exceed the stability limit of the method.
    """
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


def simulate_chains(
    assembly: Assembly,
    times: ArrayLike,
    angles: ArrayLike = (),
    rates: ArrayLike = (),
    *,
    method: _Method = "DOP853",
    step: float = 1e-3,
    rtol: float = 1e-9,
    atol: float = 1e-11,
) -> ChainsResult:
    """Simulate an assembly of chains.

    The integrators resolve every vibration, so that the cost grows with the highest frequency
    √(k/m), that of the stiffest link; k = 1e4 to 1e6 N/m suffices for an almost rigid link.

    Parameters
    ----------
    assembly : Assembly
        Chains and links.
    times : (T,) float64
        Instants of the result, increasing [s]; the motion starts at the first.
    angles, rates : (F,) float64
        Absolute angles of the free segments at the start and their rates [rad, rad/s]; empty where
        all chains are prescribed.
    method : {"RK4", "DOP853", "Radau"}
        Integrator.
    step : float
        Longest step of "RK4" [s], > 0.
    rtol, atol : float
        Tolerances of the adaptive integrators on angles and rates [-; rad, rad/s], > 0.

    Returns
    -------
    ChainsResult
        Motion of all segments, driving torques, forces in the links and energies.

    Raises
    ------
    InputError
        If an argument is out of its range, or a prescribed motion does not cover the times.
    SimulationError
        If the integration fails.
    """
    instants = check_array("times", times, (None,))
    if len(instants) < 2 or np.diff(instants).min() <= 0.0:
        raise InputError(f"times: expected at least two increasing instants, found {times!r}")
    check_in("method", method, METHODS)
    check_number("step", step, above=0.0, unit="s")
    check_number("rtol", rtol, above=0.0)
    check_number("atol", atol, above=0.0)
    _check_tables(assembly, instants)
    first = assembly.complete(instants[0], angles, rates)
    start = np.concatenate([each[assembly.free] for each in first[:2]])
    states = _integrate(assembly, start, instants, method, step, rtol, atol)
    half = len(start) // 2
    evaluated = [
        assembly.evaluate(time, state[:half], state[half:])
        for time, state in zip(instants, states, strict=True)
    ]
    names = tuple(link.name for link in assembly.links)
    arrays = (np.array(each) for each in zip(*evaluated, strict=True))
    return ChainsResult(assembly.columns, names, instants, *arrays)


def _check_tables(assembly: Assembly, instants: FloatArray) -> None:
    """Raise an InputError unless every prescribed motion covers the instants."""
    for chain in assembly.chains:
        for name, motion in (("angles", chain.angles), ("base", chain.base)):
            if isinstance(motion, PrescribedMotion):
                for time in (instants[0], instants[-1]):
                    motion.check_covers(f"chain {chain.name}: {name}: time", float(time))


def _integrate(
    assembly: Assembly,
    start: FloatArray,
    instants: FloatArray,
    method: _Method,
    step: float,
    rtol: float,
    atol: float,
) -> FloatArray:
    """Return angles and rates of the free segments at the instants, (T, 2 F)."""
    half = len(start) // 2
    if half == 0:
        return np.empty((len(instants), 0))

    def derivative(time: float, state: FloatArray) -> FloatArray:
        if not np.isfinite(state).all():
            raise SimulationError(
                f"{method} failed before {time:g} s: the state is not finite; reduce the step "
                "or the tolerances"
            )
        angles, rates = state[:half], state[half:]
        return np.concatenate([rates, assembly.accelerations(time, angles, rates)])

    with np.errstate(over="ignore", invalid="ignore"):
        if method == "RK4":
            states = rk4(derivative, start, instants, step)
            derivative(instants[-1], states[-1])  # checks the last state
            return states
        span = (instants[0], instants[-1])
        solution = solve_ivp(derivative, span, start, method, t_eval=instants, rtol=rtol, atol=atol)
    if not solution.success:
        raise SimulationError(f"{method} failed at {solution.t[-1]:g} s: {solution.message}")
    return solution.y.T
