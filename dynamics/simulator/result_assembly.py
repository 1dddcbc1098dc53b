"""Motion and loads at the reported instants of a simulation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dynamics.protocol import in_library
from dynamics.simulator.equations import KneeEquations
from dynamics.simulator.result import CountedFlag
from dynamics.simulator.variation import scaled_loads
from foundation.base.checks import FloatArray
from foundation.base.flags import Flag, FlagKind
from foundation.base.loads import COMPARTMENTS, WRENCH, total_loads
from foundation.base.pose import COORDINATES
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.outside import beyond


class ReportedMotion(NamedTuple):
    """Fields of `SimulationResult` at the reported instants, such as poses (N, 6) [rad, m]."""

    poses: FloatArray
    rates: FloatArray
    compartment_loads: FloatArray
    loads: FloatArray
    flags: tuple[CountedFlag, ...]
    compartments: tuple[str, ...] = COMPARTMENTS
    flagged: int = 0


def reported(equations: KneeEquations, times: FloatArray, states: FloatArray) -> ReportedMotion:
    """Return motion and loads at states (N, n) [rad, m, s] and instants (N,) [s]."""
    values, rates = equations.problem.inputs(times)
    poses, prescribed = values[:, :6].copy(), rates[:, :6].copy()
    columns = [COORDINATES.index(name) for name in equations.free]
    poses[:, columns] = equations.problem.reference[columns] + states[:, : len(columns)]
    knee = in_library(equations.model)
    if knee is not None:
        names: tuple[str, ...] = COMPARTMENTS
        values, rates, flags = _compiled(equations, knee, times, states, poses)
    else:
        names, values, rates, flags = _called(equations, times, states)
    parts = scaled_loads(values, equations.problem.factor)
    prescribed[:, columns] = rates[:, : len(columns)]
    by_part = np.moveaxis(parts, 1, 0)
    counted, flagged = counted_flags(flags), len({time for time, _ in flags})
    return ReportedMotion(poses, prescribed, by_part, total_loads(parts), counted, names, flagged)


def _compiled(
    equations: KneeEquations,
    knee: ContactSurrogate,
    times: FloatArray,
    states: FloatArray,
    poses: FloatArray,
) -> tuple[FloatArray, FloatArray, list[tuple[float, Flag]]]:
    """Return loads (N, 2, 12) of a surrogate at poses (N, 6), rates (N, F), and flags."""
    problem, free = equations.problem, len(equations.free)
    moving = states.shape[1] == 2 * free  # the states of full dynamics end with the rates
    _, (x, loads, *slopes) = knee.packed.loads(poses + problem.offset, 0 if moving else 1)
    rates = states[:, free:]
    if slopes:
        wrenches, (by_part,) = loads[:, 0, WRENCH] + loads[:, 1, WRENCH], slopes
        rates = problem.rates(times, states, wrenches, by_part[:, 0] + by_part[:, 1])
    rows = np.flatnonzero(beyond(x).any(axis=(1, 2)))
    if knee.outside == "clamp":
        of_rows = knee.flags_of(x[rows], loads[rows])
    else:  # the model warns or raises
        of_rows = [equations.contact(times[k], states[k]).flags for k in rows]
    pairs = zip(times[rows].tolist(), of_rows, strict=True)
    return loads, rates, [(time, flag) for time, own in pairs for flag in own]


def _called(
    equations: KneeEquations, times: FloatArray, states: FloatArray
) -> tuple[tuple[str, ...], FloatArray, FloatArray, list[tuple[float, Flag]]]:
    """As `_compiled`, for a model in Python; the names of its compartments come first."""
    names: tuple[str, ...] = COMPARTMENTS
    values, rates = [], np.empty_like(states)
    flags: list[tuple[float, Flag]] = []
    for k, (now, state) in enumerate(zip(times.tolist(), states, strict=True)):
        loads = equations.contact(now, state)
        rates[k] = equations.rates(now, state)
        values.append(loads.values)
        names = loads.compartments
        flags += [(now, flag) for flag in loads.flags]
    return names, np.array(values), rates, flags


def counted_flags(flags: Sequence[tuple[float, Flag]]) -> tuple[CountedFlag, ...]:
    """Return the flags of pairs (time [s], flag), one for each cause."""
    first: dict[tuple[FlagKind, str], tuple[Flag, float]] = {}
    for time, flag in flags:
        first.setdefault(flag.cause, (flag, time))
    samples = Counter(flag.cause for _, flag in flags)
    return tuple(CountedFlag(*known, samples[cause]) for cause, known in first.items())
