"""Inputs of a simulated cycle, and the changes that the factors of a study make to them.

A waveform becomes `scale * nominal(t - shift) + additions`, whatever the order of the factors.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from dynamics.simulator.knee_simulator import KneeSimulator
from dynamics.simulator.waveforms import GaitCycle
from foundation.checks import FloatArray
from foundation.errors import InputError
from foundation.pose import Pose


@dataclass(frozen=True, eq=False)
class Inputs:
    """What one simulation takes besides its contact model.

    Parameters
    ----------
    cycle : GaitCycle
        Motion and loads that are applied.
    simulator : KneeSimulator
        Moving parts, restraints, line of action.
    offset : (6,) float64
        Added to the pose at which the contact is taken [rad, m].
    stiffness : float
        Factor on contact loads and pressures.
    wear_factor : float
        Archard's factor [1/Pa].
    """

    cycle: GaitCycle
    simulator: KneeSimulator
    offset: FloatArray = field(default_factory=lambda: np.zeros(6))
    stiffness: float = 1.0
    wear_factor: float = 1e-16


@dataclass(eq=False)
class _Waveform:
    """What becomes of one signal of the cycle."""

    scale: float = 1.0
    shift: float = 0.0
    added: Any = 0.0

    def of(self, percent: FloatArray, signal: FloatArray) -> FloatArray:
        if self.shift:
            # The table has its own rows; between them runs the spline that the simulation uses.
            spline = CubicSpline(percent, signal, bc_type="periodic")
            signal = spline(np.mod(percent - self.shift, 100.0))
        values: FloatArray = self.scale * signal + self.added
        return values


class Draft:
    """Changes gathered from the factors of one run."""

    def __init__(self, nominal: Inputs) -> None:
        self.nominal = nominal
        self.waveforms: dict[str, _Waveform] = {}
        self.period = nominal.cycle.period
        self.simulator: dict[str, Any] = {}
        self.neutral: dict[str, float] = {}
        self.offset = np.array(nominal.offset)
        self.stiffness = nominal.stiffness
        self.wear_factor = nominal.wear_factor

    def waveform(self, signal: str) -> _Waveform:
        """Return what becomes of a signal, to be changed."""
        return self.waveforms.setdefault(signal, _Waveform())

    def inputs(self) -> Inputs:
        """Return the inputs that the changes amount to."""
        cycle, simulator = self.nominal.cycle, self.nominal.simulator
        if self.waveforms or self.period != cycle.period:
            changed: dict[str, Any] = {
                name: waveform.of(cycle.percent, _signal(cycle, name))
                for name, waveform in self.waveforms.items()
            }
            cycle = replace(cycle, period=self.period, **changed)
        if self.neutral:
            if not isinstance(simulator.neutral, Pose):
                raise InputError(
                    f"neutral_{next(iter(self.neutral))}: the springs of this run are slack along "
                    'its path, expected simulation.restraint_about = "pose"'
                )
            self.simulator["neutral"] = replace(simulator.neutral, **self.neutral)
        if self.simulator:
            simulator = replace(simulator, **self.simulator)
        return Inputs(cycle, simulator, self.offset, self.stiffness, self.wear_factor)


def _signal(cycle: GaitCycle, name: str) -> FloatArray:
    signal: FloatArray | None = getattr(cycle, name)
    if signal is None:
        raise InputError(
            f"{name}: expected a signal of the cycle to vary, found a cycle without; it is driven "
            f"by {', '.join(cycle.signals)}"
        )
    return signal
