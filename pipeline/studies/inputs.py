"""Inputs of a simulated gait cycle, and the changes that the factors of a study make to them.

A waveform becomes `scale * nominal(t - shift) + additions`, in any order of the factors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from dynamics.simulator.knee_simulator import KneeSimulator
from dynamics.simulator.waveforms import GaitCycle
from foundation.checks import FloatArray
from foundation.errors import InputError
from foundation.pose import COORDINATES, Pose


@dataclass(frozen=True, eq=False)
class Inputs:
    """Inputs of one simulation besides its contact model.

    Parameters
    ----------
    cycle : GaitCycle
        Motion and loads.
    simulator : KneeSimulator
        Moving parts, restraints, line of action.
    offset : (6,) float64
        Added to the pose of the contact [rad, m].
    stiffness : float
        Factor on contact loads and pressures.
    wear_factor : float
        Archard's wear factor [1/Pa].
    """

    cycle: GaitCycle
    simulator: KneeSimulator
    offset: FloatArray = field(default_factory=lambda: np.zeros(6))
    stiffness: float = 1.0
    wear_factor: float = 1e-16


def changed_inputs(nominal: Inputs, changes: Mapping[str, Mapping[Any, float]]) -> Inputs:
    """Return inputs with changes.

    Parameters
    ----------
    nominal : Inputs
        Inputs without changes.
    changes : mapping
        Values in SI units, by kind and target: "scale", "shift" [% of the cycle] and "add" of a
        signal of the cycle (see `_changed_cycle`), "cycle" and "simulator" and "input" of a field
        of `GaitCycle`, `KneeSimulator` and `Inputs`, "neutral" of a coordinate in which the
        restraints are slack, and "align" of a coordinate of the contact.

    Raises
    ------
    InputError
        If the inputs do not have what is changed, or reject a value.
    """
    simulator = nominal.simulator
    fields: dict[str, Any] = dict(changes.get("simulator", {}))
    if neutral := changes.get("neutral", {}):
        if not isinstance(simulator.neutral, Pose):
            raise InputError(
                f"neutral_{next(iter(neutral))}: the springs of this run are slack along its path; "
                'expected simulation.restraint_about = "pose"'
            )
        fields["neutral"] = replace(simulator.neutral, **neutral)
    if fields:
        simulator = replace(simulator, **fields)
    offset = np.array(nominal.offset)
    for coordinate, value in changes.get("align", {}).items():
        offset[COORDINATES.index(coordinate)] += value
    own: Mapping[str, Any] = changes.get("input", {})
    cycle = _changed_cycle(nominal.cycle, changes)
    return replace(nominal, cycle=cycle, simulator=simulator, offset=offset, **own)


def _changed_cycle(cycle: GaitCycle, changes: Mapping[str, Mapping[Any, float]]) -> GaitCycle:
    """Return a cycle with changed waveforms.

    Additions are keyed by signal, function of the phase angle (None: a constant) and harmonic.
    """
    scales, shifts, added = (changes.get(kind, {}) for kind in ("scale", "shift", "add"))
    fields: dict[str, Any] = dict(changes.get("cycle", {}))
    for name in dict.fromkeys((*scales, *shifts, *(signal for signal, _, _ in added))):
        signal = getattr(cycle, name)
        if signal is None:
            raise InputError(
                f"{name}: expected a signal of the cycle; this cycle is driven by "
                f"{', '.join(cycle.signals)}"
            )
        if shift := shifts.get(name, 0.0):
            # Between the rows of the table, the spline of the simulation.
            spline = CubicSpline(cycle.percent, signal, bc_type="periodic")
            signal = spline(np.mod(cycle.percent - shift, 100.0))
        addition: Any = 0.0
        for (target, wave, number), value in added.items():
            if target == name and wave is None:
                addition = addition + value
            elif target == name:
                addition = addition + value * wave(2e-2 * np.pi * number * cycle.percent)
        fields[name] = scales.get(name, 1.0) * signal + addition
    return replace(cycle, **fields) if fields else cycle
