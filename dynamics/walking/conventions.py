"""Recognition of the names, signs and units of a motion of OpenSim's gait models.

gait2392 and gait10dof18musc name the knee angle `knee_angle_r` and have negative angles in flexion,
the models of Rajagopal et al. (2016, IEEE Trans Biomed Eng 63:2068-2079) have the same name and
positive angles, and those of OpenSim-JAM the name `knee_flex_r`. Names alone do not tell the sign;
the swing does: a knee flexes in swing by far more than a knee extends beyond straight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dynamics.walking.columns import HEADINGS, STEMS, TRIAL_COORDINATES, unit_in_name
from dynamics.walking.motion_tables import MotionTable
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

_OF_PELVIS = TRIAL_COORDINATES[:4]
#: Least flexion in swing that tells the sign of a knee angle [deg].
LEAST_SWING = 20.0
#: Least range of an angle over a stride [deg]; a smaller number is a range in radians.
_LEAST_RANGES = {"hip_flexion": 3.0, "knee_flexion": 3.0, "ankle_dorsiflexion": 1.6}


@dataclass(frozen=True, eq=False)
class LegMotion:
    """The motion of one leg with the names, signs and units of `TRIAL_COORDINATES`.

    Parameters
    ----------
    table : MotionTable
        Coordinates of `TRIAL_COORDINATES` as columns [m, rad]; without `pelvis_z` if the motion
        has no such column.
    columns : mapping
        Column of each coordinate in the motion; a minus before the name for an inverted sign.
    backward : bool
        Whether the pelvis faces against the x axis; the table is turned by a half turn about y.
    notes : tuple of str
        What was recognised, as sentences without a full stop.
    warnings : tuple of str
        Units that the header states and the range of motion contradicts.
    """

    table: MotionTable
    columns: Mapping[str, str]
    backward: bool
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def leg_motion(
    motion: MotionTable,
    side: str,
    columns: Mapping[str, str] | None = None,
    *,
    in_degrees: bool | None = None,
) -> LegMotion:
    """Return the motion of a leg, with names, sign of flexion, units and heading recognised.

    Parameters
    ----------
    motion : MotionTable
        Motion of a gait model of OpenSim.
    side : {"right", "left"}
        Leg.
    columns : mapping, optional
        Stated columns by coordinate; their signs are not changed.
    in_degrees : bool, optional
        Stated unit of the angles; by default the header, unless the ranges contradict the header.

    Raises
    ------
    InputError
        If a column is missing, or the knee hardly flexes, so that its sign is not evident; the
        message names the key to state.
    """
    stated = dict(columns or {})
    found = {
        name: stated.get(name) or _column(motion, name, side)
        for name in TRIAL_COORDINATES
        if name != "pelvis_z" or name in stated or _known(motion, name, side)
    }
    notes: list[str] = []
    values = {}
    radians = _columns_in_radians(motion, found, in_degrees)
    for name, column in found.items():
        bare = column.removeprefix("-")
        values[name] = motion.column(bare)
        if name not in TRIAL_COORDINATES[:3]:
            values[name] = np.radians(values[name]) if not radians[name] else values[name]
        if bare != column:
            values[name] = -values[name]
    if "knee_flexion" not in stated and _negative_in_flexion(motion, found, values):
        values["knee_flexion"] = -values["knee_flexion"]
        found["knee_flexion"] = f"-{found['knee_flexion']}"
    notes.append(_knee_note(found["knee_flexion"], stated=bool(stated.get("knee_flexion"))))
    notes += _unit_notes(motion, found, radians)
    backward = _faces_backward(motion, _flexion_in_radians(radians))
    if backward:
        notes.append("the subject faces against the x axis: motion and force are turned about y")
        for name in {"pelvis_x", "pelvis_z"} & set(values):
            values[name] = -values[name]
    rows = np.column_stack(list(values.values()))
    table = MotionTable(tuple(values), motion.time, rows, False, motion.source)
    told = () if in_degrees is not None else _contradictions(motion, found, radians)
    return LegMotion(table, found, backward, tuple(notes), told)


def _known(motion: MotionTable, name: str, side: str) -> str | None:
    """Return the column of a coordinate by `STEMS`, or None."""
    short = {_short(column): column for column in reversed(motion.names)}
    for stem in STEMS[name]:
        sides = (side[0], side)
        forms = [f"{stem}_{s}" for s in sides] + [f"{s}_{stem}" for s in sides]
        for form in (stem,) if name in _OF_PELVIS else forms:
            if form in short:
                return short[form]
    return None


def _short(column: str) -> str:
    """Return the name of a coordinate in lower case, also of a path of OpenSim's states files."""
    parts = column.lower().split("/")
    return parts[-2] if len(parts) > 1 and parts[-1] == "value" else parts[-1]


def _column(motion: MotionTable, name: str, side: str) -> str:
    column = _known(motion, name, side)
    if column is None:
        end = "" if name in _OF_PELVIS else f"_{side[0]}"
        names = " or ".join(f"{stem}{end}" for stem in STEMS[name])
        raise InputError(
            f"{motion.source}: expected a column {names} for the {side} leg, found "
            f"{', '.join(motion.names)}; set measured.columns.{name} to the name of the column"
        )
    return column


def _columns_in_radians(
    motion: MotionTable, found: Mapping[str, str], in_degrees: bool | None
) -> dict[str, bool]:
    """Return whether each angle is in radians, by name, statement, range and header."""
    header = motion.in_degrees if in_degrees is None else in_degrees
    radians = {}
    for name, least in _LEAST_RANGES.items():
        bare = found[name].removeprefix("-")
        span = float(np.ptp(motion.column(bare)))
        unit = unit_in_name(bare)
        if unit is not None:
            radians[name] = unit == "rad"
        elif in_degrees is not None:
            radians[name] = not in_degrees
        elif span > 0.0 and span < least:
            radians[name] = True
        else:
            # A joint turns by less than half a turn: more is a range in degrees.
            radians[name] = header is False and span < np.pi
    unit = unit_in_name(found["pelvis_tilt"])
    radians["pelvis_tilt"] = _flexion_in_radians(radians) if unit is None else unit == "rad"
    return radians


def _flexion_in_radians(radians: Mapping[str, bool]) -> bool:
    """Return whether hip and knee are in radians, whose ranges tell the unit, unlike a pelvis'."""
    return all(radians[name] for name in ("hip_flexion", "knee_flexion"))


def _unit_notes(
    motion: MotionTable, found: Mapping[str, str], radians: Mapping[str, bool]
) -> list[str]:
    units = {True: "radians", False: "degrees"}
    others = [
        f"{found[name].removeprefix('-')} in {units[each]}"
        for name, each in radians.items()
        if motion.in_degrees is None or each == motion.in_degrees
    ]
    if not others or any(unit_in_name(name) for name in found.values()):
        return []
    said = {None: "does not state the unit", True: "says degrees", False: "says radians"}
    header = said[motion.in_degrees]
    return [f"read by the range of motion: {', '.join(others)} (the header {header})"]


def _negative_in_flexion(
    motion: MotionTable, found: Mapping[str, str], values: Mapping[str, FloatArray]
) -> bool:
    """Return whether a knee angle [rad] is negative in flexion."""
    low, high = np.degrees([values["knee_flexion"].min(), values["knee_flexion"].max()])
    if max(high, -low) < LEAST_SWING or 2.0 * min(high, -low) > max(high, -low):
        column = found["knee_flexion"].removeprefix("-")
        raise InputError(
            f"{motion.source}, column {column}: expected a flexion in swing of more than "
            f"{LEAST_SWING:g} deg, which tells the sign, found {low:.1f} to {high:.1f} deg; set "
            f'measured.columns.knee_flexion to "{column}", or to "-{column}" if the angle is '
            "negative in flexion"
        )
    return bool(-low > high)


def _knee_note(column: str, *, stated: bool) -> str:
    bare = column.removeprefix("-")
    short = _short(bare)
    sign = "negative" if column != bare else "positive"
    if stated:
        return f"{bare} is stated as {sign} in flexion"
    if "knee_flex" in short:
        model = "OpenSim-JAM"
    else:
        model = "gait2392 and gait10dof18musc" if column != bare else "Rajagopal 2016"
    return f"{bare} is {sign} in flexion, as in models like {model}"


def _contradictions(
    motion: MotionTable, found: Mapping[str, str], radians: Mapping[str, bool]
) -> tuple[str, ...]:
    """Return a warning if joint angles are not in the unit that the header states."""
    others = [
        found[name].removeprefix("-")
        for name in _LEAST_RANGES
        if radians[name] == motion.in_degrees and unit_in_name(found[name]) is None
    ]
    if not others:
        return ()
    stated, unit = ("yes", "radians") if motion.in_degrees else ("no", "degrees")
    return (
        f"{motion.source}: the header states inDegrees={stated}, but the ranges of "
        f"{', '.join(others)} are typical of {unit}, and the angles are read in {unit}; correct "
        "the header, or state the unit (measured.in_degrees)",
    )


def _faces_backward(motion: MotionTable, in_radians: bool) -> bool:
    """Return whether the pelvis is turned by more than a quarter turn about the vertical.

    `in_radians` is the unit of the other angles, since headers are wrong and a heading has no range
    that tells the unit.
    """
    for column in motion.names:
        short = _short(column)
        unit = unit_in_name(short)
        stem = short if unit is None else short.removesuffix(f"_{unit}")
        if stem in HEADINGS:
            values = motion.column(column)
            radians = unit == "rad" if unit else in_radians and np.abs(values).max() <= 7.0
            turn = values if radians else np.radians(values)
            return bool(np.median(np.cos(turn)) < 0.0)
    return False
