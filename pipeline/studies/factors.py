"""Named inputs of a simulated cycle that a study varies: the registry, and what each changes."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from foundation.checks import FloatArray
from foundation.errors import InputError
from foundation.pose import COORDINATES
from pipeline.studies.inputs import Draft, Inputs

_DEGREE = np.pi / 180.0
#: Highest harmonic of a smooth perturbation.
HARMONICS = 9
#: End of a name -> unit for people, and what it is in SI.
_UNITS = {
    "Nm_per_deg": ("N m/deg", 1.0 / _DEGREE),
    "Nms_per_rad": ("N m s/rad", 1.0),
    "N_per_mm": ("N/mm", 1e3),
    "Ns_per_m": ("N s/m", 1.0),
    "kg_m2": ("kg m²", 1.0),
    "kg": ("kg", 1.0),
    "Nm": ("N m", 1.0),
    "N": ("N", 1.0),
    "deg": ("deg", _DEGREE),
    "mm": ("mm", 1e-3),
}


@dataclass(frozen=True, eq=False)
class Factor:
    """A named input.

    Parameters
    ----------
    unit : str
        Unit of its values, which is part of its name; "" if it is a factor.
    text : str
        What it is, in a line.
    change : callable
        Takes a draft and a value, and enters the change.
    lowest : float
        Least value.
    positive : bool
        Whether the least value itself is refused.
    """

    unit: str
    text: str
    change: Callable[[Draft, float], None]
    lowest: float = -np.inf
    positive: bool = False

    def allows(self, values: FloatArray) -> Any:
        """Return which values (N,) may be taken."""
        return values > self.lowest if self.positive else values >= self.lowest


def _set(name: str, unit: float) -> Callable[[Draft, float], None]:
    """Set an attribute of the draft, or a field of the simulator."""

    def change(draft: Draft, value: float) -> None:
        if name in vars(draft):
            setattr(draft, name, unit * value)
        else:
            draft.simulator[name] = unit * value

    return change


def _neutral(coordinate: str, unit: float) -> Callable[[Draft, float], None]:
    def change(draft: Draft, value: float) -> None:
        draft.neutral[coordinate] = unit * value

    return change


def _aligned(coordinate: str, unit: float) -> Callable[[Draft, float], None]:
    def change(draft: Draft, value: float) -> None:
        draft.offset[COORDINATES.index(coordinate)] += unit * value

    return change


def _scaled(signal: str) -> Callable[[Draft, float], None]:
    def change(draft: Draft, value: float) -> None:
        draft.waveform(signal).scale *= value

    return change


def _shifted(signal: str) -> Callable[[Draft, float], None]:
    def change(draft: Draft, value: float) -> None:
        draft.waveform(signal).shift += value

    return change


def _raised(signal: str, unit: float) -> Callable[[Draft, float], None]:
    def change(draft: Draft, value: float) -> None:
        waveform = draft.waveform(signal)
        waveform.added = waveform.added + unit * value

    return change


def _harmonic(
    signal: str, wave: Callable[[FloatArray], FloatArray], number: int, unit: float
) -> Callable[[Draft, float], None]:
    def change(draft: Draft, value: float) -> None:
        angle = 2e-2 * np.pi * number * draft.nominal.cycle.percent
        waveform = draft.waveform(signal)
        waveform.added = waveform.added + unit * value * wave(angle)

    return change


#: Signals of a cycle: their names in scales, offsets and shifts and in harmonics, the signal, text,
#: unit. A cycle has a load or a prescribed motion of AP and of rotation.
_SIGNALS = (
    ("flexion", "flexion", "flexion", "flexion", "deg"),
    ("axial", "axial_force", "axial_force", "axial force", "N"),
    ("ap", "ap_force", "ap_force", "AP force", "N"),
    ("torque", "internal_torque", "internal_torque", "internal torque", "Nm"),
    *(
        (f"{name}_motion", f"{name}_motion", name, f"prescribed {name} motion", token)
        for name, token in (("anterior", "mm"), ("rotation", "deg"))
    ),
)


def _waveform_factors() -> dict[str, Factor]:
    """Scales, offsets, shifts and harmonics of the signals."""
    found = {}
    for short, long, signal, text, token in _SIGNALS:
        unit, si = _UNITS[token]
        # The axial force only presses; of the others a change of sign is another gait.
        presses = short == "axial"
        lowest = 0.0 if presses else -np.inf
        found[f"{short}_scale"] = Factor(
            "", f"factor on the {text}", _scaled(signal), lowest, presses
        )
        found[f"{short}_offset_{token}"] = Factor(unit, f"added to the {text}", _raised(signal, si))
        if short != "flexion":
            found[f"{short}_shift_percent"] = Factor(
                "% of the cycle", f"delay of the {text} against flexion", _shifted(signal)
            )
        for wave, function in (("cosine", np.cos), ("sine", np.sin)):
            for number in range(1, HARMONICS + 1):
                found[f"{long}_{wave[:3]}{number}_{token}"] = Factor(
                    unit,
                    f"amplitude of the {wave}, harmonic {number}, added to the {text}",
                    _harmonic(signal, function, number, si),
                )
    return found


#: Line of action, restraints, moving parts: name, field of the simulator, text; what bounds it.
_SIMULATOR = (
    ("medial_offset_mm", "medial_offset", "axial line of action medial of the origin", None),
    ("anterior_offset_mm", "anterior_offset", "axial line of action anterior of it", None),
    ("ap_stiffness_N_per_mm", "anterior_stiffness", "AP restraint", ">="),
    ("rotation_stiffness_Nm_per_deg", "rotation_stiffness", "rotational restraint", ">="),
    ("lateral_stiffness_N_per_mm", "lateral_stiffness", "ML restraint", ">="),
    ("adduction_stiffness_Nm_per_deg", "adduction_stiffness", "coronal restraint", ">="),
    ("ap_gap_mm", "anterior_gap", "AP travel before the restraint acts", ">="),
    ("rotation_gap_deg", "rotation_gap", "turn before the restraint acts", ">="),
    ("anterior_mass_kg", "anterior_mass", "moving mass, anterior", ">"),
    ("superior_mass_kg", "superior_mass", "moving mass, superior", ">"),
    ("lateral_mass_kg", "lateral_mass", "moving mass, lateral", ">"),
    ("adduction_inertia_kg_m2", "adduction_inertia", "moving inertia, adduction", ">"),
    ("rotation_inertia_kg_m2", "rotation_inertia", "moving inertia, rotation", ">"),
    ("anterior_damping_Ns_per_m", "anterior_damping", "viscous damping, anterior", ">="),
    ("superior_damping_Ns_per_m", "superior_damping", "viscous damping, superior", ">="),
    ("lateral_damping_Ns_per_m", "lateral_damping", "viscous damping, lateral", ">="),
    ("adduction_damping_Nms_per_rad", "adduction_damping", "viscous damping, adduction", ">="),
    ("rotation_damping_Nms_per_rad", "rotation_damping", "viscous damping, rotation", ">="),
)


def _simulator_factors() -> dict[str, Factor]:
    found = {}
    for name, attribute, text, bound in _SIMULATOR:
        unit, si = next(_UNITS[token] for token in _UNITS if name.endswith("_" + token))
        lowest = -np.inf if bound is None else 0.0
        found[name] = Factor(unit, text, _set(attribute, si), lowest, bound == ">")
    return found


def _placed_factors() -> dict[str, Factor]:
    """Alignment of the components, and where the springs are slack."""
    found = {}
    for coordinate in COORDINATES[1:]:
        turned = coordinate in ("adduction", "rotation")
        unit, si = ("deg", _DEGREE) if turned else ("mm", 1e-3)
        text = f"femoral component out of line, {coordinate}: added to the contact's pose"
        found[f"alignment_{coordinate}_{unit}"] = Factor(unit, text, _aligned(coordinate, si))
        if coordinate != "superior":
            text = f"where the restraint of {coordinate} is slack"
            found[f"neutral_{coordinate}_{unit}"] = Factor(unit, text, _neutral(coordinate, si))
    return found


#: Every named input.
FACTORS: dict[str, Factor] = {
    **_waveform_factors(),
    "period_s": Factor("s", "duration of the cycle", _set("period", 1.0), 0.0, True),
    **_placed_factors(),
    **_simulator_factors(),
    "modulus_scale": Factor(
        "",
        "factor on Young's modulus; loads and pressures are linear in it at a pose",
        _set("stiffness", 1.0), 0.0, True,
    ),
    "wear_factor_mm3_per_Nm": Factor(
        "mm³/(N m)", "Archard's wear factor", _set("wear_factor", 1e-9), 0.0
    ),
}  # fmt: skip


def check_factor(name: str) -> str:
    """Return the name of a factor.

    Raises
    ------
    InputError
        If there is none of that name; the message lists what is near.
    """
    if name in FACTORS:
        return name
    near = difflib.get_close_matches(name, FACTORS, n=4, cutoff=0.5)
    hint = f"; near are {', '.join(near)}" if near else ""
    raise InputError(
        f"expected a named input (`python -m pipeline study --factors` lists them){hint}"
    )


def varied(nominal: Inputs, values: Mapping[str, float]) -> Inputs:
    """Return the inputs with factors set.

    Parameters
    ----------
    nominal : Inputs
        What holds where no factor changes it.
    values : mapping
        Name of a factor -> its value, in the unit of its name.

    Raises
    ------
    InputError
        If the cycle or the simulator refuses what they amount to.
    """
    draft = Draft(nominal)
    for name, value in values.items():
        FACTORS[name].change(draft, value)
    return draft.inputs()


def check_applicable(nominal: Inputs, names: Iterable[str]) -> None:
    """Check that factors change something that the inputs have.

    Raises
    ------
    InputError
        If one would not, such as the scale of a load where a motion is prescribed.
    """
    for name in names:
        try:
            varied(nominal, {name: 1.0 if FACTORS[name].positive else 0.0})
        except InputError as error:
            raise InputError(f"study.factor: {name}: {error}") from error


def describe_factors() -> str:
    """Return a line per named input; harmonics 1 to 9 of a signal share one."""
    shown = {}
    for name, factor in FACTORS.items():
        head, _, unit = name.rpartition("_")
        if head[-4:-1] in ("cos", "sin"):
            text = factor.text.replace(f"harmonic {head[-1]}", f"harmonic K (1 to {HARMONICS})")
            shown[f"{head[:-1]}K_{unit}"] = (factor.unit, text)
        else:
            shown[name] = (factor.unit or "factor", factor.text)
    width = max(map(len, shown))
    return "\n".join(f"{name:{width}}  [{unit}] {text}" for name, (unit, text) in shown.items())
