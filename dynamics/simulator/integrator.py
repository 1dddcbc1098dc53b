"""Simulation of the knee over gait cycles."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from dynamics.kernels import rosenbrock
from dynamics.kernels.knee import integrate_knee
from dynamics.kernels.tableaus import TABLEAUS
from dynamics.protocol import ContactModel, describe_pose
from dynamics.simulator.equations import KneeEquations, SimulationError
from dynamics.simulator.equilibrium import settle
from dynamics.simulator.knee_simulator import FREE_COORDINATES, KneeSimulator
from dynamics.simulator.result import SimulationResult, Statistics
from dynamics.simulator.result_assembly import reported
from dynamics.simulator.waveforms import GaitCycle
from foundation.checks import FloatArray, check_array, check_in, check_number
from foundation.errors import InputError
from foundation.pose import Pose

#: Rosenbrock methods, compiled; then scipy's, as oracles.
METHODS = (*TABLEAUS, "Radau", "BDF", "LSODA")
DEFAULT_RTOL = 1e-4
#: Absolute tolerances that go with `DEFAULT_RTOL`: of the displacements of the coordinates that
#: may be free, in the order of `dynamics.simulator.knee_simulator.FREE_COORDINATES` [rad, rad, m,
#: m, m]. Ten nanometres of height are some tenths of a newton on an implant's contact.
DEFAULT_ATOL = (1e-6, 1e-6, 1e-7, 1e-8, 1e-7)
#: The same of their rates.
DEFAULT_RATE_ATOL = (1e-3, 1e-3, 1e-4, 1e-5, 1e-4)
#: A step takes at most this share of a cycle.
LARGEST_STEP = 0.01
# Displacement from the start at which a knee counts as dislocated [rad, rad, m, m, m].
_DISLOCATED = (0.8, 1.2, 0.05, 0.03, 0.05)
_MOST_STEPS = 100_000  # per cycle
_DISLOCATION = (
    "the knee dislocated {at}: nothing holds it against the applied loads; add restraint springs "
    "to the simulator or check the signs of the inputs"
)
_ENDED = {
    rosenbrock.STEP_TOO_SMALL: "the step collapsed to {step:.3g} s after {steps} steps",
    rosenbrock.TOO_MANY_STEPS: "the end is not reached after {steps} steps",
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
    """Simulate the knee over whole cycles and return the last one.

    Contact makes the equations stiff and lightly damped: an L-stable method with the analytic
    Jacobian strides over the contact oscillation. The Rosenbrock methods (Hairer & Wanner 1996,
    section IV.7) take one Jacobian and no iteration a step, and the quasi-static coordinates
    without damping as well; with a `KneeSurrogate` they run compiled from end to end. Radau IIA is
    their oracle. The multistep methods BDF and LSODA lose their stability near the imaginary axis
    and take smaller steps.

    Parameters
    ----------
    model : ContactModel
        The contact.
    simulator : KneeSimulator
        Moving parts, restraints, line of action.
    cycle : GaitCycle
        Inputs.
    cycles : int
        Number of cycles, >= 1.
    samples : int
        Instants reported over the last cycle, both ends included; >= 2.
    rtol : float
        Relative tolerance of each step, of the displacements from the initial pose.
    atol : (n,) array_like, optional
        Absolute tolerances of the state (`KneeEquations`); by default `DEFAULT_ATOL` and
        `DEFAULT_RATE_ATOL` in proportion to `rtol`, so that one figure sets the accuracy.
    method : {"Rodas5P", "Rodas4P", "Radau", "BDF", "LSODA"}
        Integrator; the last three are those of `scipy.integrate.solve_ivp`.
    initial : Pose, optional
        Exact pose at the start, at rest; what the cycle prescribes must be that of the cycle. By
        default the static equilibrium under the loads at the start, moving as the inputs change.
    start : Pose, optional
        Where the search for that equilibrium begins; by default the simulator's neutral pose.
    max_step : float, optional
        Largest step [s]; by default a hundredth of the period, so that no feature of the
        waveforms is jumped and values between steps are as accurate as those at the steps.
    progress : callable, optional
        Called after every step with the share of the simulation that is done, 0 to 1; of a
        compiled integration at its end alone.

    Returns
    -------
    SimulationResult
        Motion, loads, cost and flags.

    Raises
    ------
    InputError
        If an argument is out of its range.
    EquilibriumError
        If the knee cannot rest under the loads at the start.
    SimulationError
        If the integrator or the contact model fails, the surrogate's trained domain is left (where
        its `outside` is "error"), or the knee dislocates; the message says when and in what pose.
    """
    if max_step is None:
        max_step = LARGEST_STEP * cycle.period
    _check_arguments(method, cycles, samples, rtol, max_step)
    first = _initial_pose(model, simulator, cycle, initial, start)
    end = cycles * cycle.period
    told = None if progress is None else lambda now: progress(now / end)
    equations = KneeEquations(model, simulator, cycle, first, told)
    state = np.zeros(equations.size)
    if initial is None:
        rates = dict(zip(equations.free, equations.resting_rates(0.0, state), strict=True))
        state[len(equations.free) :] = [rates[name] for name in equations.inertial]
    percent = np.linspace(0.0, 100.0, samples)
    times = np.minimum(end, (cycles - 1 + 1e-2 * percent) * cycle.period)
    limits = _limits(equations, rtol, atol, max_step, cycles)
    advance = _rosenbrock if method in TABLEAUS else _scipy
    begun = time.perf_counter()
    states, counts = advance(equations, method, state, times, limits)
    elapsed = time.perf_counter() - begun
    if progress is not None:
        progress(1.0)
    motion = reported(equations, times, states)
    return SimulationResult(
        time=times,
        gait_percent=percent,
        poses=motion.poses,
        rates=motion.rates,
        compartment_loads=motion.compartment_loads,
        loads=motion.loads,
        applied=cycle.applied(times),
        statistics=Statistics(*counts, elapsed),
        flags=motion.flags,
    )


def _check_arguments(method: str, cycles: int, samples: int, rtol: float, max_step: float) -> None:
    """Check the arguments of `simulate`."""
    check_in("method", method, METHODS)
    for name, count, least in (("cycles", cycles, 1), ("samples", samples, 2)):
        if int(count) != count or count < least:
            raise InputError(f"{name}: expected a whole number >= {least}, found {count!r}")
    check_number("rtol", rtol, at_least=1e-13, at_most=0.1)
    check_number("max_step", max_step, above=0.0, unit="s")


def _limits(
    equations: KneeEquations, rtol: float, atol: ArrayLike | None, max_step: float, cycles: int
) -> rosenbrock.Limits:
    """Return the tolerances and bounds of an integration."""

    def chosen(values: tuple[float, ...], names: tuple[str, ...]) -> list[float]:
        return [v for v, name in zip(values, FREE_COORDINATES, strict=True) if name in names]

    if atol is None:
        usual = chosen(DEFAULT_ATOL, equations.free)
        usual += chosen(DEFAULT_RATE_ATOL, equations.inertial)
        atol = np.array(usual) * rtol / DEFAULT_RTOL
    tolerances = check_array("atol", atol, (equations.size,))
    if (tolerances <= 0.0).any():
        raise InputError(f"atol: expected positive tolerances, found {tolerances.min():g}")
    size = np.array(chosen(_DISLOCATED, equations.free))
    return rosenbrock.Limits(float(rtol), tolerances, size, float(max_step), _MOST_STEPS * cycles)


def _initial_pose(
    model: ContactModel,
    simulator: KneeSimulator,
    cycle: GaitCycle,
    initial: Pose | None,
    start: Pose | None,
) -> Pose:
    """Return the pose at the start, with all that is prescribed as prescribed."""
    flexion, applied = cycle.at(0.0)
    neutral = simulator.neutral_at(flexion)
    moved = {
        name: float(getattr(neutral, name) + cycle.motion(name, 0.0)[0])
        for name in cycle.prescribed[1:]
    }
    wanted = {"flexion": flexion, **moved}
    if initial is not None:
        for name, value in wanted.items():
            if abs(getattr(initial, name) - value) > 1e-9:
                raise InputError(
                    f"initial: expected the {name} that the cycle prescribes at its start, "
                    f"{value:.9g} (rad or m), found {getattr(initial, name):.9g}"
                )
        return initial
    begin = neutral if start is None else start
    return settle(
        model,
        simulator,
        flexion=flexion,
        axial_force=applied.axial_force,
        ap_force=applied.ap_force,
        internal_torque=applied.internal_torque,
        start=replace(begin, **wanted),
        held=tuple(moved),
    )


def _rosenbrock(
    equations: KneeEquations,
    method: str,
    state: FloatArray,
    times: FloatArray,
    limits: rosenbrock.Limits,
) -> tuple[FloatArray, Counts]:
    """Return states (N, n) at times and the counts of `Statistics`."""
    counts, where = np.zeros(4, dtype=np.int64), np.zeros(2)
    states = np.empty((len(times), equations.size))
    given = TABLEAUS[method], equations.mass, state, times, limits, counts, where, states
    arguments = equations.compiled
    if arguments is None:
        ended = rosenbrock.integrate(equations.fill, None, *given)
    else:
        ended = integrate_knee(arguments, *given)
        equations.evaluations += int(counts[rosenbrock.EVALUATIONS])
    if ended != rosenbrock.DONE:
        _failed(equations, ended, where, state, int(counts[:2].sum()))
    steps, rejected, derivatives, jacobians = counts.tolist()
    return states, (steps, rejected, derivatives, jacobians, equations.evaluations)


def _failed(
    equations: KneeEquations, ended: int, where: FloatArray, state: FloatArray, steps: int
) -> NoReturn:
    """Raise what ended an integration before its end."""
    now, step = where.tolist()
    if ended == rosenbrock.OUTSIDE:
        equations.contact(now, state)  # says itself what it does not like
    pose = Pose.from_array(equations.coordinates(now, state))
    at = f"at {now:.6g} s, {describe_pose(pose)}"
    if ended == rosenbrock.DISLOCATED:
        raise SimulationError(_DISLOCATION.format(at=at))
    why = _ENDED[ended].format(step=step, steps=steps)
    raise SimulationError(
        f"the integrator stopped {at}: {why}; the equations may have no solution from here "
        "(nothing holds a coordinate), or the contact is not smooth enough for the tolerance"
    )


def _scipy(
    equations: KneeEquations,
    method: Any,
    state: FloatArray,
    times: FloatArray,
    limits: rosenbrock.Limits,
) -> tuple[FloatArray, Counts]:
    """As `_rosenbrock`, by `scipy.integrate.solve_ivp`."""
    if not equations.mass.all():
        raise InputError(
            f"method: {method} cannot take quasi-static coordinates without damping, expected "
            f"{' or '.join(TABLEAUS)}"
        )
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
        raise SimulationError(f"the state is not finite; last seen finite {at}")
    counts = watch.steps, -1, int(solution.nfev), int(solution.njev), equations.evaluations
    return solution.y.T, counts


class _Watch:
    """Watches the accepted steps: an event that ends the run when the knee has dislocated."""

    terminal = True

    def __init__(self, size: FloatArray) -> None:
        self._size = size
        self.steps = -1
        self.time = 0.0
        self.state: FloatArray = np.zeros(10)

    def __call__(self, now: float, state: FloatArray) -> float:
        # The search for the root of the event calls this between steps, too.
        if self.steps < 0 or now > self.time:
            self.steps += 1
            self.time, self.state = now, np.array(state)
        return float(1.0 - np.abs(state[: len(self._size)] / self._size).max())
