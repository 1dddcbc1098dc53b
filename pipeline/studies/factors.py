"""Inputs of a simulated gait cycle, the factors by which a study varies them, and outputs.

A waveform becomes `scale * nominal(t - shift) + additions`, in any order of the factors.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from dynamics.ligaments.bundle_tables import LigamentDraw
from dynamics.simulator.knee_simulator import KneeSimulator
from dynamics.simulator.waveforms import GaitCycle
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.pose import COORDINATES, Pose

#: Highest harmonic of a smooth perturbation, and its waves.
HARMONICS = 9
_WAVES = (("cosine", np.cos), ("sine", np.sin))
_DEGREE = np.pi / 180.0
#: End of a name -> unit in words ("" for a dimensionless factor), and the unit in SI.
_UNITS = {
    "mm3_per_Nm": ("mm³/(N m)", 1e-9),
    "Nm_per_deg": ("N m/deg", 1.0 / _DEGREE),
    "Nms_per_rad": ("N m s/rad", 1.0),
    "N_per_mm": ("N/mm", 1e3),
    "Ns_per_m": ("N s/m", 1.0),
    "MPa": ("MPa", 1e6),
    "kg_m2": ("kg m²", 1.0),
    "kg": ("kg", 1.0),
    "Nm": ("N m", 1.0),
    "N": ("N", 1.0),
    "deg": ("deg", _DEGREE),
    "mm": ("mm", 1e-3),
    "s": ("s", 1.0),
    "percent": ("% of the cycle", 1.0),
    "scale": ("", 1.0),
}


#: Name of the factor that takes ligaments from a table of draws.
LIGAMENT_DRAW = "ligament_draw"
#: Beginning of the names of parameters of the design (`pipeline.studies.study`).
DESIGN = "design_"


def unit_of(name: str) -> tuple[str, float]:
    """Return the unit at the end of a name, in words and in SI; ("", 1) without a unit."""
    return next((_UNITS[token] for token in _UNITS if name.endswith(f"_{token}")), ("", 1.0))


@dataclass(frozen=True, eq=False)
class Inputs:
    """Inputs of one simulation besides its contact model; its pose has an offset (6,) [rad, m]."""

    cycle: GaitCycle
    simulator: KneeSimulator
    #: Added to the pose of the contact, (6,) [rad, m].
    offset: FloatArray = field(default_factory=lambda: np.zeros(6))
    #: Factor on contact loads and pressures.
    stiffness: float = 1.0
    #: Archard's wear factor [1/Pa], None for a law of contact area and distance.
    wear_factor: float | None = 1e-16
    #: Ligaments that the factor `LIGAMENT_DRAW` takes.
    draws: tuple[LigamentDraw, ...] = ()


class Factor(NamedTuple):
    """A named input.

    Kinds and their targets: "scale", "shift" and "add" of a signal of the cycle (for "add" with the
    function of the phase angle, or None, and the harmonic), "cycle", "simulator" and "input" of a
    field of `GaitCycle`, `KneeSimulator` and `Inputs`, "neutral" of a coordinate in which the
    restraints are slack, "align" of a coordinate of the contact, "draw" of ligaments,
    "design" of a parameter.
    """

    #: Unit of the values, which is part of the name, "" if dimensionless.
    unit: str
    #: This unit in SI units.
    si: float
    kind: str
    target: Any
    #: Description in one line.
    text: str
    #: Relation of the values to zero: ">=", ">", or "" if any value is allowed.
    bound: str = ""

    def allows(self, values: FloatArray) -> Any:
        """Return whether each of the values (N,) in `unit` [1] is allowed, (N,) bool."""
        if not self.bound:
            return np.full(len(values), True)
        return values > 0.0 if self.bound == ">" else values >= 0.0


#: Signals of a cycle: name in scales, offsets and shifts, name in harmonics, signal, text, unit.
#: AP and rotation have either a load or a prescribed motion.
_SIGNALS = (
    ("flexion", "flexion", "flexion", "flexion", "deg"),
    ("axial", "axial_force", "axial_force", "axial force", "N"),
    ("ap", "ap_force", "ap_force", "AP force", "N"),
    ("torque", "internal_torque", "internal_torque", "internal torque", "Nm"),
    ("anterior_motion", "anterior_motion", "anterior", "prescribed anterior motion", "mm"),
    ("rotation_motion", "rotation_motion", "rotation", "prescribed rotation motion", "deg"),
)
#: Line of action, restraints, moving parts: name, field of the simulator, text, bound.
_SIMULATOR = (
    ("medial_offset_mm", "medial_offset", "axial line of action medial of the origin", ""),
    ("anterior_offset_mm", "anterior_offset", "axial line of action anterior of the origin", ""),
    ("ap_stiffness_N_per_mm", "anterior_stiffness", "AP restraint", ">="),
    ("rotation_stiffness_Nm_per_deg", "rotation_stiffness", "rotational restraint", ">="),
    ("lateral_stiffness_N_per_mm", "lateral_stiffness", "ML restraint", ">="),
    ("adduction_stiffness_Nm_per_deg", "adduction_stiffness", "coronal restraint", ">="),
    ("ap_gap_mm", "anterior_gap", "AP travel before the restraint acts", ">="),
    ("rotation_gap_deg", "rotation_gap", "rotation before the restraint acts", ">="),
)
#: Moving axes: units of mass or inertia, and of damping.
_AXES = {
    **dict.fromkeys(("anterior", "superior", "lateral"), ("mass", "kg", "Ns_per_m")),
    **dict.fromkeys(("adduction", "rotation"), ("inertia", "kg_m2", "Nms_per_rad")),
}


def _entries() -> Iterator[tuple[str, str, Any, str, str]]:
    """Yield name, kind, target, text and bound of each factor."""
    for short, long, signal, text, unit in _SIGNALS:
        # A change of sign is another gait for the other signals; the axial force only compresses.
        bound = ">" if short == "axial" else ""
        yield f"{short}_scale", "scale", signal, f"factor on the {text}", bound
        yield f"{short}_offset_{unit}", "add", (signal, None, 0), f"added to the {text}", ""
        if short != "flexion":
            words = f"delay of the {text} relative to flexion"
            yield f"{short}_shift_percent", "shift", signal, words, ""
        for (wave, function), number in product(_WAVES, range(1, HARMONICS + 1)):
            words = f"amplitude of the {wave}, harmonic {number}, added to the {text}"
            name = f"{long}_{wave[:3]}{number}_{unit}"
            yield name, "add", (signal, function, number), words, ""
    yield "period_s", "cycle", "period", "duration of the cycle", ">"
    for coordinate in COORDINATES[1:]:
        unit = "deg" if coordinate in ("adduction", "rotation") else "mm"
        text = f"misalignment of the femoral component, {coordinate}: added to the contact's pose"
        yield f"alignment_{coordinate}_{unit}", "align", coordinate, text, ""
        if coordinate != "superior":
            text = f"{coordinate} at which the restraint is slack"
            yield f"neutral_{coordinate}_{unit}", "neutral", coordinate, text, ""
    for name, attribute, text, bound in _SIMULATOR:
        yield name, "simulator", attribute, text, bound
    for axis, (quantity, unit, _) in _AXES.items():
        text = f"moving {quantity}, {axis}"
        yield f"{axis}_{quantity}_{unit}", "simulator", f"{axis}_{quantity}", text, ">"
    for axis, (_, _, unit) in _AXES.items():
        text = f"viscous damping, {axis}"
        yield f"{axis}_damping_{unit}", "simulator", f"{axis}_damping", text, ">="
    text = "factor on Young's modulus; loads and pressures are linear in the modulus at a pose"
    yield "modulus_scale", "input", "stiffness", text, ">"
    yield "wear_factor_mm3_per_Nm", "input", "wear_factor", "Archard's wear factor", ">="
    text = "ligaments and AP restraint: number of a draw in a table of [laxity]"
    yield LIGAMENT_DRAW, "draw", "ligaments", text, ">="


#: Every factor by name.
FACTORS = {name: Factor(*unit_of(name), *entry) for name, *entry in _entries()}


def check_factor(name: str) -> str:
    """Return the name of a factor; an InputError for an unknown name lists similar names."""
    if name in FACTORS or name.startswith(DESIGN):
        return name
    near = difflib.get_close_matches(name, FACTORS, n=4, cutoff=0.5)
    hint = f"; similar names are {', '.join(near)}" if near else ""
    raise InputError(f"expected a named input (`knee-contact factors` lists them){hint}")


def varied(nominal: Inputs, values: Mapping[str, float]) -> Inputs:
    """Return the nominal inputs with factors set to values in the units of their names."""
    # Values in SI units by kind and target of the factors.
    changes: dict[str, dict[Any, float]] = {}
    for name, value in values.items():
        factor = FACTORS[name]
        changes.setdefault(factor.kind, {})[factor.target] = factor.si * value
    simulator = nominal.simulator
    fields: dict[str, Any] = _drawn(nominal, changes) | changes.get("simulator", {})
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
    own: dict[str, Any] = changes.get("input", {})
    if "wear_factor" in own and nominal.wear_factor is None:
        raise InputError(
            'expected simulation.wear_law = "factor", found "coefficient", by which this factor '
            "changes nothing; leave it out"
        )
    cycle = _changed_cycle(nominal.cycle, changes)
    return replace(nominal, cycle=cycle, simulator=simulator, offset=offset, **own)


def _drawn(nominal: Inputs, changes: Mapping[str, Mapping[Any, float]]) -> dict[str, Any]:
    """Return the fields of the simulator with the ligaments of a draw."""
    if "draw" not in changes:
        return {}
    if not nominal.draws:
        raise InputError("expected a factor of [study], which has a table of draws, found none")
    draw = nominal.draws[int(changes["draw"]["ligaments"])]
    restraint = {} if draw.menisci is None else {"anterior_stiffness": draw.menisci}
    return {"ligaments": draw.ligaments, **restraint}


def _changed_cycle(cycle: GaitCycle, changes: Mapping[str, Mapping[Any, float]]) -> GaitCycle:
    """Return a cycle with changed waveforms and duration."""
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
            signal = cycle.delayed(name, shift)
        addition: Any = 0.0
        for (target, wave, number), value in added.items():
            if target == name and wave is None:
                addition = addition + value
            elif target == name:
                addition = addition + value * wave(2e-2 * np.pi * number * cycle.percent)
        fields[name] = scales.get(name, 1.0) * signal + addition
    return replace(cycle, **fields) if fields else cycle


def check_applicable(nominal: Inputs, names: Iterable[str]) -> None:
    """Raise an InputError unless the inputs have what each factor changes, such as a load."""
    for name in names:
        try:
            varied(nominal, {name: 1.0 if FACTORS[name].bound == ">" else 0.0})
        except InputError as error:
            raise InputError(f"study.factor: {name}: {error}") from error


def describe_factors() -> str:
    """Return a line per factor; the harmonics of a signal share a line."""
    rows = {}
    for name, factor in FACTORS.items():
        head, _, unit = name.rpartition("_")
        if head[-4:-1] in ("cos", "sin"):
            text = factor.text.replace(f"harmonic {head[-1]}", f"harmonic K (1 to {HARMONICS})")
            rows[f"{head[:-1]}K_{unit}"] = (factor.unit, text)
        else:
            rows[name] = (factor.unit or "factor", factor.text)
    rows[f"{DESIGN}PARAMETER"] = ("its unit", "parameter of a run with [design_space]")
    width = max(map(len, rows))
    return "\n".join(f"{name:{width}}  [{unit}] {text}" for name, (unit, text) in rows.items())
