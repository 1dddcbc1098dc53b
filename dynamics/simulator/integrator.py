"""Simulation of the knee over gait cycles.

Time stepping: the Rosenbrock methods Rodas5P (Steinebach 2023, BIT 63:27) and Rodas4P (Steinebach
1995) of `dynamics.core`, or the methods of `scipy.integrate.solve_ivp`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from dynamics.core import rosenbrock
from dynamics.core.tableaus import TABLEAUS
from dynamics.protocol import ContactModel, describe_pose
from dynamics.simulator.equations import KneeEquations, SimulationError
from dynamics.simulator.equilibrium import settle
from dynamics.simulator.knee_simulator import FREE_COORDINATES, KneeSimulator
from dynamics.simulator.result import SimulationResult, Statistics
from dynamics.simulator.result_assembly import reported
from dynamics.simulator.waveforms import GaitCycle
from foundation.base.checks import FloatArray, check_array, check_count, check_in, check_number
from foundation.base.errors import InputError
from foundation.base.pose import Pose

#: Compiled Rosenbrock methods, then SciPy's methods for comparison.
METHODS = (*TABLEAUS, "Radau", "BDF", "LSODA")
DEFAULT_RTOL = 1e-4
#: Absolute tolerances for `DEFAULT_RTOL` of the displacements, in the order of
#: `dynamics.simulator.knee_simulator.FREE_COORDINATES` [rad, rad, m, m, m]. On an implant ten
#: nanometres of height correspond to some tenths of a newton.
DEFAULT_ATOL = (1e-6, 1e-6, 1e-7, 1e-8, 1e-7)
#: Absolute tolerances of the rates [rad/s, rad/s, m/s, m/s, m/s].
DEFAULT_RATE_ATOL = (1e-3, 1e-3, 1e-4, 1e-5, 1e-4)
#: Largest step as a share of a cycle.
LARGEST_STEP = 0.01
# Displacement from the start beyond which a knee counts as dislocated [rad, rad, m, m, m].
_DISLOCATED = (0.8, 1.2, 0.05, 0.03, 0.05)
_MOST_STEPS = 100_000  # per cycle
_DISLOCATION = (
    "the knee dislocated {at}: nothing balances the applied loads; add restraint springs to the "
    "simulator or check the signs of the inputs"
)
_ENDED = {
    rosenbrock.STEP_TOO_SMALL: "the step collapsed to {step:.3g} s after {steps} steps",
    rosenbrock.TOO_MANY_STEPS: "the end of the cycle is not reached after {steps} steps",
}

#: Steps, rejected ones, derivatives, Jacobians and evaluations of `Statistics`.
Counts = tuple[int, int, int, int, int]


def simulate(
    model: ContactModel,
    simulator: KneeSimulator,
    cycle: GaitCycle,
    *,
    cycles: int = 1,
    samples: int = 201,
    rtol: float = DEFAULT_RTOL,
    atol: ArrayLike | None = None,
    method: Literal["Rodas5P", "Rodas4P", "Radau", "BDF", "LSODA"] = "Rodas5P",
    initial: Pose | None = None,
    start: Pose | None = None,
    max_step: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> SimulationResult:
    """Simulate the knee over whole gait cycles and return the last cycle.

    Contact makes the equations stiff and lightly damped; an L-stable method with the analytic
    Jacobian can take steps longer than the contact oscillation. The Rosenbrock methods (Hairer &
    Wanner 1996, section IV.7) need one Jacobian and no iteration per step, and also solve for
    quasi-static coordinates without damping; with a `ContactSurrogate` they run fully compiled. The
    multistep methods BDF and LSODA are unstable near the imaginary axis and take smaller steps.

    Parameters
    ----------
    model : ContactModel
        Contact of femur and tibia.
    simulator : KneeSimulator
        Moving parts, restraints, line of action.
    cycle : GaitCycle
        Prescribed motion and applied loads.
    cycles : int
        Number of gait cycles, >= 1.
    samples : int
        Number of reported instants over the last cycle, both ends included; >= 2.
    rtol : float
        Relative tolerance of each step [1], relative to the displacements from the initial pose.
    atol : (n,) array_like, optional
        Absolute tolerances of the state [rad, m, s] (`KneeEquations`); by default `DEFAULT_ATOL`
        and `DEFAULT_RATE_ATOL` in proportion to `rtol`.
    method : {"Rodas5P", "Rodas4P", "Radau", "BDF", "LSODA"}
        Integrator; the last three are those of `scipy.integrate.solve_ivp`.
    initial : Pose, optional
        Exact pose at the start, at rest; prescribed coordinates must equal those of the cycle. By
        default the static equilibrium under the loads at the start, moving as the inputs change.
    start : Pose, optional
        Start of the search for the equilibrium; by default the neutral pose of the simulator.
    max_step : float, optional
        Largest step [s]; by default a hundredth of the period, so that no step skips a feature of
        the waveforms and values between steps are as accurate as those at the steps.
    progress : callable, optional
        Called after every step with the completed share of the simulation, 0 to 1; for a compiled
        integration only at the end.

    Returns
    -------
    SimulationResult
        Motion, loads, cost and flags.

    Raises
    ------
    EquilibriumError
        If no static equilibrium exists under the loads at the start.
    SimulationError
        If the integrator or the contact model fails, the motion leaves the trained domain of the
        surrogate (`outside` "error"), or the knee dislocates; the message states time and pose.
    """
    if max_step is None:
        max_step = LARGEST_STEP * cycle.period
    _check_arguments(method, cycles, samples, rtol, max_step)
    first = _initial_pose(model, simulator, cycle, initial, start)
    end = cycles * cycle.period
    report = None if progress is None else lambda now: progress(now / end)
    equations = KneeEquations(model, simulator, cycle, first, report)
    state = np.zeros(equations.size)
    if initial is None:
        rates = dict(zip(equations.free, equations.resting_rates(0.0, state), strict=True))
        state[len(equations.free) :] = [rates[name] for name in equations.inertial]
    percent = np.linspace(0.0, 100.0, samples)
    times = np.minimum(end, (cycles - 1 + 1e-2 * percent) * cycle.period)
    limits = _limits(equations, rtol, atol, max_step, cycles)
    advance = _rosenbrock if method in TABLEAUS else _scipy
    started = time.perf_counter()
    states, counts = advance(equations, method, state, times, limits)
    elapsed = time.perf_counter() - started
    if progress is not None:
        progress(1.0)
    return SimulationResult(
        time=times,
        gait_percent=percent,
        applied=cycle.applied(times),
        statistics=Statistics(*counts, elapsed),
        **reported(equations, times, states)._asdict(),
    )


def _check_arguments(method: str, cycles: int, samples: int, rtol: float, max_step: float) -> None:
    """Check the arguments of `simulate`."""
    check_in("method", method, METHODS)
    check_count("cycles", cycles)
    check_count("samples", samples, at_least=2)
    check_number("rtol", rtol, at_least=1e-13, at_most=0.1)
    check_number("max_step", max_step, above=0.0, unit="s")


def _limits(
    equations: KneeEquations, rtol: float, atol: ArrayLike | None, max_step: float, cycles: int
) -> rosenbrock.Limits:
    """Return tolerances and bounds of an integration."""

    def chosen(values: tuple[float, ...], names: tuple[str, ...]) -> list[float]:
        return [v for v, name in zip(values, FREE_COORDINATES, strict=True) if name in names]

    if atol is None:
        default = chosen(DEFAULT_ATOL, equations.free)
        default += chosen(DEFAULT_RATE_ATOL, equations.inertial)
        atol = np.array(default) * rtol / DEFAULT_RTOL
    tolerances = check_array("atol", atol, (equations.size,), above=0.0)
    size = np.array(chosen(_DISLOCATED, equations.free))
    return rosenbrock.Limits(float(rtol), tolerances, size, float(max_step), _MOST_STEPS * cycles)


def _initial_pose(
    model: ContactModel,
    simulator: KneeSimulator,
    cycle: GaitCycle,
    initial: Pose | None,
    start: Pose | None,
) -> Pose:
    """Return the pose at the start, with the prescribed coordinates of the cycle."""
    flexion, applied = cycle.at(0.0)
    neutral = simulator.neutral_at(flexion)
    held = {
        name: float(getattr(neutral, name) + cycle.motion(name, 0.0)[0])
        for name in cycle.prescribed[1:]
    }
    prescribed = {"flexion": flexion, **held}
    if initial is not None:
        for name, value in prescribed.items():
            if abs(getattr(initial, name) - value) > 1e-9:
                raise InputError(
                    f"initial: expected the {name} that the cycle prescribes at its start, "
                    f"{value:.9g} (rad or m), found {getattr(initial, name):.9g}"
                )
        return initial
    return settle(
        model,
        simulator,
        flexion=flexion,
        axial_force=applied.axial_force,
        ap_force=applied.ap_force,
        internal_torque=applied.internal_torque,
        adduction_torque=applied.adduction_torque,
        start=replace(neutral if start is None else start, **prescribed),
        held=tuple(held),
    )


def _rosenbrock(
    equations: KneeEquations,
    method: str,
    state: FloatArray,
    times: FloatArray,
    limits: rosenbrock.Limits,
) -> tuple[FloatArray, Counts]:
    """Return states (N, n) at times and the counts of `Statistics`."""
    done = equations.integrate(TABLEAUS[method], limits, state, times)
    if done.ended != rosenbrock.DONE:
        _failed(equations, done)
    steps, rejected, derivatives, jacobians = done.counts.tolist()
    return done.states, (steps, rejected, derivatives, jacobians, equations.evaluations)


def _failed(equations: KneeEquations, done: rosenbrock.Integration) -> NoReturn:
    """Raise the error that stopped an integration early."""
    now, ended = done.time, done.ended
    if ended == rosenbrock.STOPPED:
        equations.contact(now, done.state)  # raises the message of the model
    pose = Pose.from_array(equations.coordinates(now, done.state))
    at = f"at {now:.6g} s, {describe_pose(pose)}"
    if ended == rosenbrock.DISLOCATED:
        raise SimulationError(_DISLOCATION.format(at=at))
    why = _ENDED[ended].format(step=done.step, steps=done.counts[:2].sum())
    raise SimulationError(
        f"the integrator stopped {at}: {why}; the equations may have no solution beyond this state "
        "(nothing holds a coordinate), or the contact is not smooth enough for the tolerance"
    )


def _scipy(
    equations: KneeEquations,
    method: Any,
    state: FloatArray,
    times: FloatArray,
    limits: rosenbrock.Limits,
) -> tuple[FloatArray, Counts]:
    """As `_rosenbrock`, with `scipy.integrate.solve_ivp`."""
    if not equations.problem.mass.all():
        raise InputError(
            f"method: expected {' or '.join(TABLEAUS)} with quasi-static coordinates without "
            f"damping, found {method}"
        )
    from scipy.integrate import solve_ivp  # slow to import; the default method does not need it

    watch = _Watch(limits.size)
    solution = solve_ivp(
        equations.derivative,
        (0.0, float(times[-1])),
        state,
        method=method,
        t_eval=times,
        events=watch,
        jac=equations.jacobian,
        rtol=limits.rtol,
        atol=limits.atol,
        max_step=limits.max_step,
    )
    pose = Pose.from_array(equations.coordinates(watch.time, watch.state))
    at = f"at {watch.time:.6g} s, {describe_pose(pose)}"
    if solution.status == 1:
        raise SimulationError(_DISLOCATION.format(at=at))
    if solution.status != 0:
        raise SimulationError(f"the integrator stopped {at}: {solution.message}")
    if not np.isfinite(solution.y).all():
        raise SimulationError(f"the state is not finite; the last finite state was {at}")
    counts = watch.steps, -1, int(solution.nfev), int(solution.njev), equations.evaluations
    return np.ascontiguousarray(solution.y.T), counts


class _Watch:
    """Event that counts accepted steps and ends the integration at a dislocation."""

    terminal = True

    def __init__(self, size: FloatArray) -> None:
        self._size = size
        self.steps = -1
        self.time = 0.0
        self.state: FloatArray = np.zeros(10)

    def __call__(self, now: float, state: FloatArray) -> float:
        # The root search of the event also calls this between steps.
        if self.steps < 0 or now > self.time:
            self.steps += 1
            self.time, self.state = now, np.array(state)
        return float(1.0 - np.abs(state[: len(self._size)] / self._size).max())
