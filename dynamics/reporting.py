"""Motion and loads at the reported instants of a simulation."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from dynamics.equations import KneeEquations
from dynamics.kernels.equations import INPUTS, inputs_of_all
from dynamics.kernels.knee import report_knee
from dynamics.result import Flag
from dynamics.variation import scaled_loads
from foundation.checks import FloatArray
from foundation.loads import ContactLoads, total_loads
from foundation.pose import COORDINATES


class Motion(NamedTuple):
    """What `reported` gives; the fields are those of `dynamics.result.SimulationResult`."""

    poses: FloatArray
    rates: FloatArray
    compartment_loads: FloatArray
    loads: FloatArray
    flags: tuple[Flag, ...]


def reported(equations: KneeEquations, times: FloatArray, states: FloatArray) -> Motion:
    """Evaluate the contact at the reported states and return what a result holds of them.

    Parameters
    ----------
    equations : KneeEquations
        The equations of motion, with the contact model.
    times : (N,) float64
        When [s].
    states : (N, n) float64
        States.

    Raises
    ------
    SimulationError
        If the contact model fails.
    """
    factor = float(equations.problem.factor[0])
    values, rates, flags = (_compiled if equations.compiled else _called)(equations, times, states)
    parts = scaled_loads(values, factor)
    poses, prescribed = _prescribed(equations, times)
    columns = [COORDINATES.index(name) for name in equations.free]
    poses[:, columns] = equations.problem.reference[columns] + states[:, : len(columns)]
    prescribed[:, columns] = rates[:, : len(columns)]
    return Motion(poses, prescribed, np.moveaxis(parts, 1, 0), total_loads(parts), flags)


def _prescribed(equations: KneeEquations, times: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the prescribed coordinates (N, 6) and their rates."""
    values, rates = np.empty((len(times), INPUTS)), np.empty((len(times), INPUTS))
    inputs_of_all(times, equations.problem, values, rates)
    return values[:, :6].copy(), rates[:, :6].copy()


def _compiled(
    equations: KneeEquations, times: FloatArray, states: FloatArray
) -> tuple[FloatArray, FloatArray, tuple[Flag, ...]]:
    """Return the loads (N, 2, 12) of a trained knee, rates (N, n), and flags."""
    loads, rates = np.empty((len(times), 2, 12)), np.empty_like(states)
    outside = np.empty(len(times), dtype=np.bool_)
    report_knee(equations.compiled, equations.mass, times, states, loads, rates, outside)
    flags: dict[str, Flag] = {}
    for k in np.flatnonzero(outside):
        _collect(flags, equations.contact(times[k], states[k]), float(times[k]))
    return loads, rates, tuple(flags.values())


def _called(
    equations: KneeEquations, times: FloatArray, states: FloatArray
) -> tuple[FloatArray, FloatArray, tuple[Flag, ...]]:
    """As `_compiled`, of a model of Python."""
    values, rates = np.empty((len(times), 2, 12)), np.empty_like(states)
    flags: dict[str, Flag] = {}
    for k, (now, state) in enumerate(zip(times.tolist(), states, strict=True)):
        loads = equations.contact(now, state)
        rates[k] = equations.rates(now, state)
        values[k] = loads.medial.array, loads.lateral.array
        _collect(flags, loads, now)
    return values, rates, tuple(flags.values())


def _collect(flags: dict[str, Flag], loads: ContactLoads, now: float) -> None:
    """Count flags whose words are the same but for figures as one."""
    for message in loads.flags:
        kind = re.sub(r"[-+]?\d[\d.]*(?:e[-+]?\d+)?", "#", message)
        known = flags.get(kind)
        if known is None:
            flags[kind] = Flag(message, now, 1)
        else:
            flags[kind] = Flag(known.message, known.time, known.samples + 1)
