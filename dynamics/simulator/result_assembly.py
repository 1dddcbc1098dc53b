"""Motion and loads at the reported instants of a simulation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dynamics.kernels.equations import INPUTS, inputs_of_all
from dynamics.kernels.knee import rates_of_all
from dynamics.protocol import CompiledContact, compiled_contact
from dynamics.simulator.equations import KneeEquations
from dynamics.simulator.result import Flag
from dynamics.simulator.variation import scaled_loads
from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS, total_loads
from foundation.base.pose import COORDINATES
from surrogates.formulations.outside import beyond

_NUMBER = re.compile(r"[-+]?\d[\d.]*(?:e[-+]?\d+)?")


class ReportedMotion(NamedTuple):
    """Fields of `SimulationResult` at the reported instants, such as poses (N, 6) [rad, m]."""

    poses: FloatArray
    rates: FloatArray
    compartment_loads: FloatArray
    loads: FloatArray
    flags: tuple[Flag, ...]
    compartments: tuple[str, ...] = COMPARTMENTS
    flagged: int = 0


def reported(equations: KneeEquations, times: FloatArray, states: FloatArray) -> ReportedMotion:
    """Return motion and loads at the reported states.

    Parameters
    ----------
    equations : KneeEquations
        The equations of motion, with the contact model.
    times : (N,) float64
        Reported instants [s].
    states : (N, n) float64
        States at these instants [rad, m, s].

    Raises
    ------
    SimulationError
        If the contact model fails.
    """
    values, rates = np.empty((len(times), INPUTS)), np.empty((len(times), INPUTS))
    inputs_of_all(times, equations.problem, values, rates)
    poses, prescribed = values[:, :6].copy(), rates[:, :6].copy()
    columns = [COORDINATES.index(name) for name in equations.free]
    poses[:, columns] = equations.problem.reference[columns] + states[:, : len(columns)]
    knee = compiled_contact(equations.model)
    if knee is not None:
        names: tuple[str, ...] = COMPARTMENTS
        values, rates, messages = _compiled(equations, knee, times, states, poses)
    else:
        names, values, rates, messages = _called(equations, times, states)
    parts = scaled_loads(values, float(equations.problem.factor[0]))
    prescribed[:, columns] = rates[:, : len(columns)]
    by_part = np.moveaxis(parts, 1, 0)
    flags, flagged = counted_flags(messages), len({time for time, _ in messages})
    return ReportedMotion(poses, prescribed, by_part, total_loads(parts), flags, names, flagged)


def _compiled(
    equations: KneeEquations,
    knee: CompiledContact,
    times: FloatArray,
    states: FloatArray,
    poses: FloatArray,
) -> tuple[FloatArray, FloatArray, list[tuple[float, str]]]:
    """Return loads (N, 2, 12) of a compiled contact at poses (N, 6), rates (N, n), and messages."""
    loads, jacobian, x = knee.fill(poses + equations.problem.offset)
    rates = np.empty_like(states)
    rates_of_all(
        equations.problem, equations.mass, times, states, loads[:, 0, :6] + loads[:, 1, :6],
        jacobian[:, 0] + jacobian[:, 1], rates,
    )  # fmt: skip
    messages = [
        (float(times[k]), message)
        for k in np.flatnonzero(beyond(x).any(axis=(1, 2)))
        for message in equations.contact(times[k], states[k]).flags
    ]
    return loads, rates, messages


def _called(
    equations: KneeEquations, times: FloatArray, states: FloatArray
) -> tuple[tuple[str, ...], FloatArray, FloatArray, list[tuple[float, str]]]:
    """As `_compiled`, for a model in Python; the names of its compartments come first."""
    names: tuple[str, ...] = COMPARTMENTS
    values, rates = [], np.empty_like(states)
    messages: list[tuple[float, str]] = []
    for k, (now, state) in enumerate(zip(times.tolist(), states, strict=True)):
        loads = equations.contact(now, state)
        rates[k] = equations.rates(now, state)
        values.append(loads.values)
        names = loads.compartments
        messages += [(now, message) for message in loads.flags]
    return names, np.array(values), rates, messages


def counted_flags(messages: Iterable[tuple[float, str]]) -> tuple[Flag, ...]:
    """Return flags of pairs (time [s], message), one flag where only numbers differ."""
    flags: dict[str, Flag] = {}
    for time, message in messages:
        kind = _NUMBER.sub("#", message)
        known = flags.get(kind, Flag(message, time, 0))
        flags[kind] = replace(known, samples=known.samples + 1)
    return tuple(flags.values())
