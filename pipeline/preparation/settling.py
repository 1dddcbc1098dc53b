"""How a knee of two meshes settles: neutral position, AP spring and sampled domain of a study."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from dynamics.simulator.result import SimulationResult
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError, PoseError
from foundation.base.loads import AXIAL_FORCE, PEAK_PRESSURE
from foundation.base.pose import FLEXION
from pipeline.config.schema import Config
from pipeline.originals.candidates import OFFSET_UNITS
from pipeline.originals.knee import KneeInputs
from pipeline.originals.layer_checks import strength_of
from pipeline.originals.reference_path import neutral_position, reference_path
from pipeline.preparation.peaks import check_peaks, peak_words
from pipeline.preparation.swing import TooLong, swing
from pipeline.progress import say
from pipeline.stages.fitting import largest_of
from surrogates.sampling.space import OFFSET_COORDINATES, ReferencePath

#: Factors on the AP stiffness of the material that are tried in turn.
_STIFFER = (1.0, 2.0, 4.0)
#: Half widths of the sampled domain over the largest offset in gait.
_ROOM = 1.2
#: Part of the largest axial load of a compartment above which the ratios of its forces count.
_CARRIES = 0.05


@dataclass
class Settled:
    """What a study needs so that its knee settles and swings."""

    #: Keys by section, of [simulation], [space], [feasibility], that replace those of the material.
    keys: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: Comments of the configuration by dotted key.
    notes: dict[str, str] = field(default_factory=dict)
    #: Sentences for the user.
    reasons: list[str] = field(default_factory=list)
    #: None if the knee does not settle, which `check` reports.
    path: ReferencePath | None = None

    def set(self, section: str, key: str, value: float, reason: str) -> None:
        """Set a key of a section, with the reason."""
        self.keys.setdefault(section, {})[key] = value
        self.notes[f"{section}.{key}"] = f"{reason[0].upper()}{reason[1:]}."
        self.reasons.append(f"{section}.{key} = {value:g}: {reason}")


def settle_study(config: Config, inputs: KneeInputs) -> Settled:
    """Return what the configuration of two meshes needs so that the knee settles.

    The neutral position of the AP spring is written where the femur does not rest by itself. The
    spring becomes stiffer until the knee settles over the range of flexion and completes the gait
    cycle of linear springs; the domain becomes as wide, and the bounds of feasible loads as large,
    as that cycle needs. `config` has the values of the material. Raises `PeakError` if a peak
    pressure of gait is that of a fault, see `check_peaks`.
    """
    settled = Settled()
    say("settling the knee over the range of flexion")
    try:
        neutral, reason = neutral_position(config, inputs.springs, inputs.start)
    except (EquilibriumError, InputError, PoseError):  # reported by `check`
        return settled
    if reason:
        settled.set("simulation", "neutral_anterior_mm", round(1e3 * neutral.anterior, 1), reason)
    stiffness = config.simulation.ap_stiffness_N_per_mm
    trial = with_keys(config, settled.keys)
    for factor in _STIFFER:
        spring = {"simulation": {"ap_stiffness_N_per_mm": factor * stiffness}}
        try:
            if (cycle := _swung(with_keys(trial, spring), inputs, settled)) is None:
                continue
        except TooLong:  # told by `check`
            break
        if factor > 1.0:
            reason = (
                f"with the AP spring of the material, {stiffness:g} N/mm, the knee does not settle "
                "over the range of flexion and the gait cycle"
            )
            settled.set("simulation", "ap_stiffness_N_per_mm", factor * stiffness, reason)
        assert settled.path is not None
        model, loads = inputs.springs, inputs.springs.loads(cycle.poses).values
        check_peaks(model, cycle.poses, loads, strength_of(config.contact))
        _widen(settled, config, offsets_of(cycle, settled.path))
        _raise_bounds(settled, config, loads, cycle.poses[:, FLEXION])
        break
    return settled


def with_keys(config: Config, keys: dict[str, dict[str, Any]]) -> Config:
    """Return a configuration with other values of some keys by section."""
    sections = {
        name: getattr(config, name).model_copy(update=values) for name, values in keys.items()
    }
    return config.model_copy(update=sections)


def offsets_of(cycle: SimulationResult, path: ReferencePath) -> FloatArray:
    """Return the largest offsets of a cycle from the reference path, (4,) [deg, deg, mm, mm].

    The order is that of `OFFSET_UNITS`.
    """
    away = (cycle.poses - path.poses(cycle.poses[:, FLEXION]))[:, OFFSET_COORDINATES]
    largest: FloatArray = np.array(list(OFFSET_UNITS.values())) * np.abs(away).max(axis=0)
    return largest


def _swung(config: Config, inputs: KneeInputs, settled: Settled) -> SimulationResult | None:
    """Find the reference path of a study; return its gait cycle, or None if the knee fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `check` gives the same warnings
        try:
            settled.path = reference_path(config, inputs.springs, inputs.start)
            return swing(config.simulation, settled.path, inputs.springs)
        except (EquilibriumError, SimulationError, InputError, PoseError):
            return None


def _widen(settled: Settled, config: Config, largest: FloatArray) -> None:
    """Widen the domain where gait needs more than the values of the material."""
    for name, offset in zip(OFFSET_UNITS, largest.tolist(), strict=True):
        if offset > getattr(config.space, name):
            unit = name.rpartition("_")[2]
            wide = math.ceil(10.0 * _ROOM * offset) / 10.0
            reason = f"gait deviates up to {offset:.2g} {unit} from the reference path"
            settled.set("space", name, wide, reason)


def _raise_bounds(settled: Settled, config: Config, loads: FloatArray, flexion: FloatArray) -> None:
    """Raise bounds of feasible loads that the loads (N, C, 12) at flexions (N,) of gait exceed."""
    carried = loads[..., AXIAL_FORCE] > _CARRIES * loads[..., AXIAL_FORCE].max()
    row, side = np.unravel_index(
        int(np.argmax(np.where(carried, loads[..., PEAK_PRESSURE], 0.0))), carried.shape
    )
    name = config.knee.compartments[side]
    words = {
        "ap_ratio": "the AP force reaches {:.2g} of the axial load in gait",
        "ml_ratio": "the ML force reaches {:.2g} of the axial load in gait",
        "peak_pressure_MPa": peak_words(loads[row, side], name, flexion[row]),
    }
    for key, largest in largest_of(loads[carried]).items():
        if largest > getattr(config.feasibility, key):
            bound = float(f"{config.feasibility.gait_factor * largest:.2g}")
            settled.set("feasibility", key, bound, words[key].format(largest))
