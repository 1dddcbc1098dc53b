"""Simulation of the knee over gait cycles, by Rodas5P (Steinebach 2023, BIT 63:27)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from dynamics.core import rosenbrock
from dynamics.protocol import ContactModel, describe_pose, in_library
from dynamics.simulator.equations import KneeEquations, SimulationError
from dynamics.simulator.equilibrium import settle
from dynamics.simulator.knee_simulator import FREE_COORDINATES, KneeSimulator
from dynamics.simulator.result import CountedFlag, SimulationResult, Statistics
from dynamics.simulator.variation import scaled_loads
from dynamics.simulator.waveform_tables import LEVEL_WALKING, load_gait_cycle
from dynamics.simulator.waveforms import GaitCycle
from foundation.base.checks import FloatArray, check_count, check_number
from foundation.base.errors import InputError
from foundation.base.flags import Flag, FlagKind
from foundation.base.loads import COMPARTMENTS, total_loads
from foundation.base.pose import COORDINATES, Pose
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.domain import beyond


def reported(equations: KneeEquations, times: FloatArray, states: FloatArray) -> dict[str, Any]:
    """Return fields of `SimulationResult` at states (N, n) [rad, m, s] and instants (N,) [s]."""
    values, rates = equations.problem.inputs(times)
    poses, prescribed = values[:, :6].copy(), rates[:, :6].copy()
    columns = [COORDINATES.index(name) for name in equations.free]
    poses[:, columns] = equations.problem.reference[columns] + states[:, : len(columns)]
    knee = in_library(equations.model)
    if knee is not None:
        names: tuple[str, ...] = COMPARTMENTS
        values, flags = _compiled(equations, knee, times, states, poses)
    else:
        names, values, flags = _called(equations, times, states)
    parts = scaled_loads(values, equations.problem.factor)
    prescribed[:, columns] = states[:, len(columns) :]
    return {
        "poses": poses,
        "rates": prescribed,
        "compartment_loads": np.moveaxis(parts, 1, 0),
        "loads": total_loads(parts),
        "flags": counted_flags(flags),
        "compartments": names,
        "flagged": len({time for time, _ in flags}),
    }


def _compiled(
    equations: KneeEquations,
    knee: ContactSurrogate,
    times: FloatArray,
    states: FloatArray,
    poses: FloatArray,
) -> tuple[FloatArray, list[tuple[float, Flag]]]:
    """Return loads (N, 2, 12) of a surrogate at poses (N, 6), and flags."""
    _, (x, loads) = knee.packed.loads(poses + equations.problem.offset, 0)
    rows = np.flatnonzero(beyond(x).any(axis=(1, 2)))
    if knee.outside == "clamp":
        of_rows = knee.flags_of(x[rows], loads[rows])
    else:  # the model warns or raises
        of_rows = [equations.contact(times[k], states[k]).flags for k in rows]
    pairs = zip(times[rows].tolist(), of_rows, strict=True)
    return loads, [(time, flag) for time, own in pairs for flag in own]


def _called(
    equations: KneeEquations, times: FloatArray, states: FloatArray
) -> tuple[tuple[str, ...], FloatArray, list[tuple[float, Flag]]]:
    """As `_compiled`, for a model in Python; the names of its compartments come first."""
    names: tuple[str, ...] = COMPARTMENTS
    values = []
    flags: list[tuple[float, Flag]] = []
    for now, state in zip(times.tolist(), states, strict=True):
        loads = equations.contact(now, state)
        values.append(loads.values)
        names = loads.compartments
        flags += [(now, flag) for flag in loads.flags]
    return names, np.array(values), flags


def counted_flags(flags: Sequence[tuple[float, Flag]]) -> tuple[CountedFlag, ...]:
    """Return the flags of pairs (time [s], flag), one for each cause."""
    first: dict[tuple[FlagKind, str], tuple[Flag, float]] = {}
    for instant, flag in flags:
        first.setdefault(flag.cause, (flag, instant))
    samples = Counter(flag.cause for _, flag in flags)
    return tuple(CountedFlag(*known, samples[cause]) for cause, known in first.items())


DEFAULT_RTOL = 1e-4
#: Absolute tolerances for `DEFAULT_RTOL` of the displacements, in the order of
#: `dynamics.simulator.knee_simulator.FREE_COORDINATES` [rad, rad, m, m, m]. On an implant ten
#: nanometres of height correspond to some tenths of a newton.
DEFAULT_ATOL = (1e-6, 1e-6, 1e-7, 1e-8, 1e-7)
#: Absolute tolerances of the rates [rad/s, rad/s, m/s, m/s, m/s].
DEFAULT_RATE_ATOL = (1e-3, 1e-3, 1e-4, 1e-5, 1e-4)
#: Largest step as a share of a cycle, so that no step skips a feature of the waveforms and values
#: between steps are as accurate as those at the steps.
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


def simulate(
    model: ContactModel,
    simulator: KneeSimulator,
    cycle: GaitCycle,
    *,
    cycles: int = 1,
    samples: int = 201,
    rtol: float = DEFAULT_RTOL,
    initial: Pose | None = None,
    start: Pose | None = None,
    progress: Callable[[float], None] | None = None,
) -> SimulationResult:
    """Simulate the knee over whole gait cycles and return the last cycle.

    Contact makes the equations stiff and lightly damped; an L-stable method with the analytic
    Jacobian can take steps longer than the contact oscillation. The Rosenbrock method (Hairer &
    Wanner 1996, section IV.7) needs one Jacobian and no iteration per step; with a
    `ContactSurrogate` it runs in C alone.
    Multistep methods are unstable near the imaginary axis and take smaller steps.

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
        Relative tolerance of each step [1], relative to the displacements from the initial pose;
        the absolute ones are `DEFAULT_ATOL` and `DEFAULT_RATE_ATOL` in proportion.
    initial : Pose, optional
        Exact pose at the start, at rest; prescribed coordinates must equal those of the cycle. By
        default the static equilibrium under the loads at the start, moving as the inputs change.
    start : Pose, optional
        Start of the search for the equilibrium; by default the neutral pose of the simulator.
    progress : callable, optional
        Called after every step with the completed share of the simulation, 0 to 1; for an
        integration in C only at the end.

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
    end = cycles * cycle.period
    report = None if progress is None else lambda now: progress(now / end)
    ready = prepared(
        model, simulator, cycle, cycles=cycles, samples=samples, rtol=rtol, initial=initial,
        start=start, progress=report,
    )  # fmt: skip
    equations, limits, state, times, percent = ready
    started = time.perf_counter()
    done = equations.integrate(limits, state, times)
    elapsed = time.perf_counter() - started
    if done.ended != rosenbrock.DONE:
        _failed(equations, done)
    steps, rejected, derivatives, jacobians = done.counts.tolist()
    evaluations = equations.evaluations
    statistics = Statistics(steps, rejected, derivatives, jacobians, evaluations, elapsed)
    if progress is not None:
        progress(1.0)
    return SimulationResult(
        time=times,
        gait_percent=percent,
        applied=cycle.applied(times),
        statistics=statistics,
        **reported(equations, times, done.states),
    )


class Prepared(NamedTuple):
    """A simulation before its integration: state (n,) [rad, m, s], times (N,) [s], instants [%]."""

    equations: KneeEquations
    limits: rosenbrock.Limits
    state: FloatArray
    times: FloatArray
    percent: FloatArray


def prepared(
    model: ContactModel,
    simulator: KneeSimulator,
    cycle: GaitCycle,
    *,
    cycles: int = 1,
    samples: int = 201,
    rtol: float = DEFAULT_RTOL,
    initial: Pose | None = None,
    start: Pose | None = None,
    progress: Callable[[float], None] | None = None,
) -> Prepared:
    """Return what `simulate` integrates, from the same arguments."""
    check_count("cycles", cycles)
    check_count("samples", samples, at_least=2)
    check_number("rtol", rtol, at_least=1e-13, at_most=0.1)
    first = _initial_pose(model, simulator, cycle, initial, start)
    equations = KneeEquations(model, simulator, cycle, first, progress)
    state = np.zeros(equations.size)
    if initial is None:
        state[len(equations.free) :] = equations.resting_rates(0.0, state)
    percent = np.linspace(0.0, 100.0, samples)
    times = np.minimum(cycles * cycle.period, (cycles - 1 + 1e-2 * percent) * cycle.period)
    limits = _limits(equations, rtol, LARGEST_STEP * cycle.period, cycles)
    return Prepared(equations, limits, state, times, percent)


def gait(
    model: ContactModel,
    waveforms: str | Path = LEVEL_WALKING,
    *,
    period_s: float = 1.0,
    simulator: KneeSimulator | None = None,
    **options: Any,
) -> SimulationResult:
    """Simulate gait cycles of a table with the default knee simulator.

    Parameters
    ----------
    model : ContactModel
        Contact of femur and tibia.
    waveforms : str or Path
        Table of `load_gait_cycle`; by default the shipped level walking.
    period_s : float
        Duration of the cycle [s].
    simulator : KneeSimulator, optional
        Moving parts and restraints; by default those of `KneeSimulator`, with springs slack in the
        model's reference pose at zero flexion.
    **options
        Further arguments of `simulate`.

    Raises
    ------
    InputError
        If the table cannot be used, or a model without a reference path comes without simulator.
    EquilibriumError, SimulationError
        As of `simulate`.
    """
    if simulator is None:
        if not hasattr(model, "reference_pose"):
            raise InputError(
                f"simulator: expected one for a {type(model).__name__}, which has no reference "
                "path, found None; for example KneeSimulator(neutral=pose), pose near contact"
            )
        neutral = model.reference_pose(0.0)
        simulator = KneeSimulator(neutral=replace(neutral, adduction=0.0, rotation=0.0))
    return simulate(model, simulator, load_gait_cycle(waveforms, period_s), **options)


def _limits(
    equations: KneeEquations, rtol: float, max_step: float, cycles: int
) -> rosenbrock.Limits:
    """Return tolerances and bounds of an integration."""

    def chosen(values: tuple[float, ...]) -> FloatArray:
        free = equations.free
        return np.array([v for v, n in zip(values, FREE_COORDINATES, strict=True) if n in free])

    atol = np.concatenate([chosen(DEFAULT_ATOL), chosen(DEFAULT_RATE_ATOL)]) * rtol / DEFAULT_RTOL
    most = _MOST_STEPS * cycles
    return rosenbrock.Limits(float(rtol), atol, chosen(_DISLOCATED), max_step, most)


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
