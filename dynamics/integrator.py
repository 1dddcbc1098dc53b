"""Simulation of the knee over gait cycles."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from dynamics.equations import KneeEquations, SimulationError
from dynamics.equilibrium import settle
from dynamics.protocol import ContactModel, describe_pose
from dynamics.result import Flag, SimulationResult, Statistics
from dynamics.simulator import FREE, KneeSimulator
from dynamics.waveforms import GaitCycle
from foundation.checks import FloatArray, check_array, check_in, check_number
from foundation.loads import ContactLoads
from foundation.pose import Pose

METHODS = ("Radau", "BDF", "LSODA")
DEFAULT_RTOL = 1e-4
#: Absolute tolerances that go with `DEFAULT_RTOL`: displacements of the free coordinates
#: [rad, rad, m, m, m], then their rates. Ten nanometres of height are some tenths of a newton on
#: an implant's contact.
DEFAULT_ATOL = (1e-6, 1e-6, 1e-7, 1e-8, 1e-7, 1e-3, 1e-3, 1e-4, 1e-5, 1e-4)
#: A step takes at most this share of a cycle.
LARGEST_STEP = 0.01
# Displacement from the start at which a knee counts as dislocated [rad, rad, m, m, m].
_DISLOCATED = np.array([0.8, 1.2, 0.05, 0.03, 0.05])


def simulate(
    model: ContactModel,
    simulator: KneeSimulator,
    cycle: GaitCycle,
    *,
    cycles: int = 1,
    samples: int = 201,
    rtol: float = DEFAULT_RTOL,
    atol: ArrayLike | None = None,
    method: Literal["Radau", "BDF", "LSODA"] = "Radau",
    initial: Pose | None = None,
    start: Pose | None = None,
    max_step: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> SimulationResult:
    """Simulate the force-controlled knee over whole cycles and return the last one.

    Contact makes the equations stiff and lightly damped: an L-stable method with the analytic
    Jacobian (Radau IIA of order 5, Hairer & Wanner 1996) strides over the contact oscillation,
    while the multistep methods BDF and LSODA lose their stability near the imaginary axis and
    take smaller steps; they are the oracle.

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
    atol : (10,) array_like, optional
        Absolute tolerances of the state; by default `DEFAULT_ATOL` in proportion to `rtol`, so
        that one figure sets the accuracy.
    method : {"Radau", "BDF", "LSODA"}
        Integrator of `scipy.integrate.solve_ivp`.
    initial : Pose, optional
        Exact pose at the start, at rest; its flexion must be that of the cycle. By default the
        static equilibrium under the loads at the start, moving as the inputs change.
    start : Pose, optional
        Where the search for that equilibrium begins; by default the simulator's neutral pose.
    max_step : float, optional
        Largest step [s]; by default a hundredth of the period, so that no feature of the
        waveforms is jumped and values between steps are as accurate as those at the steps.
    progress : callable, optional
        Called after every step with the share of the simulation that is done, 0 to 1.

    Returns
    -------
    SimulationResult
        Motion, loads, cost and flags.

    Raises
    ------
    ValueError
        If an argument is out of its range.
    EquilibriumError
        If the knee cannot rest under the loads at the start.
    SimulationError
        If the integrator or the contact model fails, or the knee dislocates; the message says
        when and in what pose.
    """
    if max_step is None:
        max_step = LARGEST_STEP * cycle.period
    tolerances = _check_arguments(method, cycles, samples, rtol, atol, max_step)
    first, rates = _initial_state(model, simulator, cycle, initial, start)
    equations = KneeEquations(model, simulator, cycle, first)
    monitor = _Monitor(cycles * cycle.period, progress)
    percent = np.linspace(0.0, 100.0, samples)
    times = np.minimum(monitor.end, (cycles - 1 + 1e-2 * percent) * cycle.period)
    begun = time.perf_counter()
    solution = solve_ivp(
        equations.derivative,
        (0.0, monitor.end),
        np.concatenate((np.zeros(5), rates)),
        method=method,
        t_eval=times,
        events=monitor,
        jac=equations.jacobian,
        rtol=rtol,
        atol=tolerances,
        max_step=max_step,
    )
    elapsed = time.perf_counter() - begun
    _check(solution, monitor, equations)
    statistics = Statistics(
        monitor.steps, int(solution.nfev), int(solution.njev), equations.evaluations, elapsed
    )
    states = solution.y.T
    flexion, flexion_rate, _ = cycle.flexion_motion(times)
    poses = np.column_stack((flexion, first.array[FREE] + states[:, :5]))
    loads, flags = _loads(model, times, poses)
    return SimulationResult(
        time=times,
        gait_percent=percent,
        poses=poses,
        rates=np.column_stack((flexion_rate, states[:, 5:])),
        compartment_loads=loads[:2],
        loads=loads[2],
        applied=cycle.applied(times),
        statistics=statistics,
        flags=flags,
    )


def _check_arguments(
    method: str, cycles: int, samples: int, rtol: float, atol: ArrayLike | None, max_step: float
) -> FloatArray:
    """Check the arguments of `simulate` and return the absolute tolerances."""
    check_in("method", method, METHODS)
    for name, count, least in (("cycles", cycles, 1), ("samples", samples, 2)):
        if int(count) != count or count < least:
            raise ValueError(f"{name}: expected a whole number >= {least}, found {count!r}")
    check_number("rtol", rtol, at_least=1e-12, at_most=0.1)
    check_number("max_step", max_step, above=0.0, unit="s")
    if atol is None:
        atol = np.array(DEFAULT_ATOL) * rtol / DEFAULT_RTOL
    tolerances = check_array("atol", atol, (10,))
    if (tolerances <= 0.0).any():
        raise ValueError(f"atol: expected positive tolerances, found {tolerances.min():g}")
    return tolerances


class _Monitor:
    """Watches the accepted steps: an event that ends the run when the knee has dislocated."""

    terminal = True

    def __init__(self, end: float, progress: Callable[[float], None] | None) -> None:
        self.end = end
        self._progress = progress
        self.steps = -1
        self.time = 0.0
        self.state: FloatArray = np.zeros(10)

    def __call__(self, now: float, state: FloatArray) -> float:
        # The search for the root of the event calls this between steps, too.
        if self.steps < 0 or now > self.time:
            self.steps += 1
            self.time, self.state = now, np.array(state)
            if self._progress is not None:
                self._progress(now / self.end)
        return float(1.0 - np.abs(state[:5] / _DISLOCATED).max())


def _initial_state(
    model: ContactModel,
    simulator: KneeSimulator,
    cycle: GaitCycle,
    initial: Pose | None,
    start: Pose | None,
) -> tuple[Pose, FloatArray]:
    """Return the pose and the rates (5,) at the start."""
    flexion, applied = cycle.at(0.0)
    if initial is not None:
        if abs(initial.flexion - flexion) > 1e-9:
            raise ValueError(
                f"initial: expected the flexion of the cycle at its start, "
                f"{np.degrees(flexion):.6g} deg, found {np.degrees(initial.flexion):.6g} deg"
            )
        return initial, np.zeros(5)
    rest = settle(
        model,
        simulator,
        flexion=flexion,
        axial_force=applied.axial_force,
        ap_force=applied.ap_force,
        internal_torque=applied.internal_torque,
        start=simulator.neutral_at(flexion) if start is None else start,
    )
    equations = KneeEquations(model, simulator, cycle, rest)
    return rest, equations.resting_rates(0.0, np.zeros(10))


def _check(solution: Any, monitor: _Monitor, equations: KneeEquations) -> None:
    """Raise unless the integrator has reached the end with a finite state."""
    pose = Pose.from_array(equations.coordinates(monitor.time, monitor.state))
    where = f"at {monitor.time:.6g} s, {describe_pose(pose)}"
    status, message = solution.status, solution.message
    if status == 1:
        raise SimulationError(
            f"the knee dislocated {where}: nothing holds it against the applied loads; add "
            "restraint springs to the simulator or check the signs of the inputs"
        )
    if status != 0:
        raise SimulationError(f"the integrator stopped {where}: {message}")
    if not np.isfinite(solution.y).all():
        raise SimulationError(f"the state is not finite; last seen finite {where}")


def _loads(
    model: ContactModel, times: FloatArray, poses: FloatArray
) -> tuple[FloatArray, tuple[Flag, ...]]:
    """Return the loads (3, N, 12), medial, lateral, total, and the flags."""
    values = np.empty((3, len(poses), 12))
    flags: dict[str, Flag] = {}
    for k, (now, coordinates) in enumerate(zip(times.tolist(), poses, strict=True)):
        pose = Pose.from_array(coordinates)
        try:
            loads = model.loads(pose)
        except Exception as error:
            raise SimulationError(
                f"the contact model failed at {now:.6g} s, {describe_pose(pose)}: {error}"
            ) from error
        for part, of in enumerate((loads.medial, loads.lateral, loads.total)):
            values[part, k] = of.array
        _collect(flags, loads, now)
    return values, tuple(flags.values())


def _collect(flags: dict[str, Flag], loads: ContactLoads, now: float) -> None:
    """Count flags whose words are the same but for figures as one."""
    for message in loads.flags:
        kind = re.sub(r"[-+]?\d[\d.]*(?:e[-+]?\d+)?", "#", message)
        known = flags.get(kind)
        if known is None:
            flags[kind] = Flag(message, now, 1)
        else:
            flags[kind] = Flag(known.message, known.time, known.samples + 1)
