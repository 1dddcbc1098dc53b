"""Ground force of one leg from the force plates of a table.

The columns of a plate are recognised by the names that programs write (`ground_force_vx`,
`1_ground_force_vx`, `ground_force_1_vx`, `ground_force_r_vx`, `ground_force_vx_r`, `FP1_Fx`). A
contact belongs to the leg whose foot is at the centre of pressure; the name of the plate does not
matter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynamics.walking.columns import GROUND_COLUMNS
from dynamics.walking.motion_tables import MotionTable
from dynamics.walking.strikes import CONTACT_THRESHOLD, foot_events
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

#: Largest mean distance of a centre of pressure from the middle of the foot above [m].
FARTHEST = 0.35
#: A point this far outside the points of a loaded plate is a stray [m].
_STRAY = 1.0
#: Points farther from the origin of the lab are in millimetres [m]; a force larger than noise [N].
_FARTHEST_PLATE, _SOME_WEIGHT = 50.0, 100.0
_FORCE = re.compile(r"(.*?)([vVfF])([xyz]|[XYZ])(_[A-Za-z0-9]+)?")
_TORQUES = (("force", "torque"), ("force", "moment"), ("Force", "Torque"), ("Force", "Moment"))
_HINTS = {"right": {"r", "right"}, "left": {"l", "left"}}


@dataclass(frozen=True, eq=False)
class Plate:
    """Force, point and torque of one plate, (N, 3) each [N, m, N m], and its force columns."""

    name: str
    force: FloatArray
    point: FloatArray
    torque: FloatArray


@dataclass(frozen=True)
class Contact:
    """A contact of a foot with a plate.

    Parameters
    ----------
    plate : str
        Name of the plate.
    begin, end : int
        First row, and the row after the last, up to the middle of the gaps to other contacts.
    side : str or None
        Leg whose foot is at the centre of pressure; None if no foot is.
    """

    plate: str
    begin: int
    end: int
    side: str | None


def find_plates(ground: MotionTable) -> tuple[Plate, ...]:
    """Return the plates whose columns a table has, in the order of the table.

    Raises
    ------
    InputError
        If the table has no plate with force and point of application, or lacks a column of a plate.
    """
    plates: list[Plate] = []
    for head, letter, axes, tail in _forces(ground):
        forces = [f"{head}{letter}{axis}{tail}" for axis in axes]
        points = _points(ground, _choices(head, axes, tail))
        if points is None:
            continue
        plate = f"{head}{letter}*{tail}"
        _check_complete(ground, plate, [*forces, *points])
        torques = _torque_columns(ground, head, axes, tail)
        force, point = (np.column_stack([ground.column(n) for n in c]) for c in (forces, points))
        torque = np.column_stack([_or_zero(ground, n) for n in torques])
        plates.append(_without_strays(Plate(plate, force, point, torque)))
    for each in plates:
        _check_units(each, ground.source)
    if not plates:
        raise InputError(
            f"{ground.source}: expected columns of force and point such as ground_force_vx and "
            f"ground_force_px, found {', '.join(ground.names)}; set measured.columns.force, point "
            "and torque to the names without the last letter x, y, z"
        )
    return tuple(plates)


def _forces(ground: MotionTable) -> list[tuple[str, str, str, str]]:
    """Return what the columns of forces begin with, their letter, axes and ending, by plate."""
    found: dict[tuple[str, str, str, str], None] = {}
    for name in ground.names:
        match = _FORCE.fullmatch(name)
        if match is not None:
            axes = "xyz" if match[3].islower() else "XYZ"
            found[match[1], match[2], axes, match[4] or ""] = None
    return list(found)


def without_points(ground: MotionTable) -> tuple[str, ...]:
    """Return the names of the plates of which a table has force, but no point of application."""
    return tuple(
        f"{head}{letter}*{tail}"
        for head, letter, axes, tail in _forces(ground)
        if {f"{head}{letter}{axis}{tail}" for axis in axes} <= set(ground.names)
        and _points(ground, _choices(head, axes, tail)) is None
    )


def _choices(head: str, axes: str, tail: str) -> list[list[str]]:
    """Return what the columns of the point of a plate may be named."""
    return [[f"{head}{p}{axis}{tail}" for axis in axes] for p in ("p", "P", "COP")]


def _points(ground: MotionTable, choices: Sequence[list[str]]) -> list[str] | None:
    """Return the names of which a table has most; None if it has none."""
    best = max(choices, key=lambda names: len(set(names) & set(ground.names)))
    return best if set(best) & set(ground.names) else None


def _check_complete(ground: MotionTable, plate: str, names: Sequence[str]) -> None:
    """Raise an `InputError` if a table lacks one of the columns of force and point of a plate."""
    absent = [name for name in names if name not in ground.names]
    if absent:
        raise InputError(
            f"{ground.source}: expected force and point of each plate along x, y and z, found a "
            f"plate that has columns {plate} but no {', '.join(absent)}; add the columns, or set "
            "measured.columns.force, point and torque to the columns of the plate under the foot "
            "without their last letter"
        )


def _check_units(plate: Plate, source: str) -> None:
    """Raise an `InputError` if axes or unit of a plate are wrong."""
    fault = unit_fault(plate)
    if fault:
        raise InputError(f"{source}, plate {plate.name.replace('*', 'x')}: {fault}")


def unit_fault(plate: Plate) -> str:
    """Return what is wrong with axes or unit of length of a plate; empty if nothing is."""
    up, across = plate.force[:, 1].max(), np.abs(plate.force[:, 2]).max()
    if across > max(2.0 * up, _SOME_WEIGHT):
        return (
            "expected the largest force along y (up), found the largest along z "
            f"({across:.0f} N); turn the axes so that y is up"
        )
    loaded = plate.force[:, 1] > CONTACT_THRESHOLD
    far = float(np.median(np.abs(plate.point[loaded]).max(axis=1))) if loaded.any() else 0.0
    if far > _FARTHEST_PLATE:
        return (
            f"expected points of application in metres, found {far:.0f} in the median; convert "
            "the points to metres, and torques to newton metres"
        )
    return ""


def _without_strays(plate: Plate) -> Plate:
    """Return a plate without load where the point of an unloaded plate is far off.

    The point is the quotient of moment and force; without a foot on the plate it is noise, and some
    files have values of hundreds of metres there.
    """
    loaded = plate.force[:, 1] > CONTACT_THRESHOLD
    if not loaded.any():
        return plate
    low, high = plate.point[loaded].min(axis=0) - _STRAY, plate.point[loaded].max(axis=0) + _STRAY
    strays = ((plate.point < low) | (plate.point > high)).any(axis=1)
    if not strays.any():
        return plate
    kept, rows = np.flatnonzero(~strays), np.arange(len(strays))
    point = np.column_stack([np.interp(rows, kept, p) for p in plate.point[kept].T])
    force, torque = (np.where(strays[:, None], 0.0, v) for v in (plate.force, plate.torque))
    return Plate(plate.name, force, point, torque)


def _torque_columns(ground: MotionTable, head: str, axes: str, tail: str) -> list[str]:
    """Return the names of the torques; columns that the table lacks are zero."""
    heads = [head.replace(old, new) for old, new in _TORQUES if old in head]
    stems = [each + letter for each in heads for letter in ("", "m", "t")]
    stems += [head + letter for letter in "mMtT"]
    for stem in stems:
        names = [f"{stem}{axis}{tail}" for axis in axes]
        if names[1] in ground.names:
            return names
    return [f"{head}m{axis}{tail}" for axis in axes]


def _or_zero(ground: MotionTable, name: str) -> FloatArray:
    return ground.column(name) if name in ground.names else np.zeros(len(ground.time))


def contacts(
    ground: MotionTable, plates: Sequence[Plate], feet: Mapping[str, tuple[FloatArray, FloatArray]]
) -> tuple[Contact, ...]:
    """Return the contacts of all plates with the leg of each.

    Parameters
    ----------
    ground : MotionTable
        Table of the plates, for the instants.
    plates : sequence of Plate
        Plates of the table.
    feet : mapping
        Of each known leg the instants (N,) [s] and the forward position of the middle of the foot
        (N,) [m].
    """
    found = []
    for plate in plates:
        strikes, offs = foot_events(ground.time, plate.force[:, 1])
        events = np.searchsorted(ground.time, np.sort(np.concatenate([strikes, offs])))
        if not len(events):
            continue
        if len(offs) and not (len(strikes) and strikes[0] < offs[0]):
            events = np.insert(events, 0, 0)
        if len(events) % 2:
            events = np.append(events, len(ground.time))
        spans = events.reshape(-1, 2)
        middles = (spans[:-1, 1] + spans[1:, 0]) // 2
        begins, ends = np.insert(middles, 0, 0), np.append(middles, len(ground.time))
        for (on, off), begin, end in zip(spans, begins, ends, strict=True):
            rows = slice(int(on), int(off))
            owner = _owner(ground.time[rows], plate.point[rows, 0], feet)
            found.append(Contact(plate.name, int(begin), int(end), owner))
    return tuple(found)


def _owner(
    time: FloatArray, centre: FloatArray, feet: Mapping[str, tuple[FloatArray, FloatArray]]
) -> str | None:
    """Return the leg whose foot is nearest to the centre of pressure (N,) [m] in the mean."""
    distances = {}
    for side, (instants, position) in feet.items():
        covered = (time >= instants[0]) & (time <= instants[-1])
        if covered.sum() > 2:
            foot = np.interp(time[covered], instants, position)
            distances[side] = float(np.abs(centre[covered] - foot).mean())
    nearest = [side for side, far in distances.items() if far <= FARTHEST]
    return min(nearest, key=distances.__getitem__, default=None)


def named_side(plate: str) -> str | None:
    """Return the leg that the name of a plate tells: r, l, none (right) or 1_ (left)."""
    if plate in ("ground_force_v*", "1_ground_force_v*"):
        return "left" if plate.startswith("1_") else "right"
    parts = set(re.split(r"[_*\d]+", plate.lower()))
    return next((side for side, hints in _HINTS.items() if hints & parts), None)


def leg_force(
    ground: MotionTable, plates: Sequence[Plate], steps: Sequence[Contact], side: str
) -> MotionTable:
    """Return force, point and torque of one leg: the sum of its contacts.

    Parameters
    ----------
    ground : MotionTable
        Table of the plates.
    plates, steps : sequences of Plate and Contact
        Plates and all contacts.
    side : {"right", "left"}
        Leg.

    Returns
    -------
    MotionTable
        Columns `force_x` to `torque_z` [N, m, N m].
    """
    count = len(ground.time)
    owned = {plate.name: np.zeros(count, dtype=bool) for plate in plates}
    for step in steps:
        if step.side == side:
            owned[step.plate][step.begin : step.end] = True
    used = [plate for plate in plates if owned[plate.name].any()]
    force, moment = np.zeros((count, 3)), np.zeros((count, 3))
    weighted, weight = np.zeros((count, 3)), np.zeros(count)
    for plate in used:
        rows = owned[plate.name][:, None]
        force += np.where(rows, plate.force, 0.0)
        about_origin = plate.torque + np.cross(plate.point, plate.force)
        moment += np.where(rows, about_origin, 0.0)
        share = np.where(rows[:, 0], np.maximum(plate.force[:, 1], 0.0), 0.0)
        weighted += share[:, None] * plate.point
        weight += share
    bears = weight > CONTACT_THRESHOLD
    if len(used) == 1:
        point = used[0].point
    else:
        rows_of = np.flatnonzero(bears)
        places = weighted[rows_of] / weight[rows_of, None]
        point = np.column_stack([np.interp(np.arange(count), rows_of, p) for p in places.T])
    torque = moment - np.cross(point, force)
    return replace(ground, names=GROUND_COLUMNS, values=np.hstack([force, point, torque]))
