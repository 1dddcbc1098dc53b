"""Force plates of a table, and the contacts, heel strikes and toe-offs on them."""
# Names that programs write are `ground_force_vx`, `1_ground_force_vx`, `ground_force_1_vx`,
# `ground_force_r_vx`, `ground_force_vx_r` and `FP1_Fx`.

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dynamics.motion.motion_tables import MotionTable
from foundation.base.checks import FloatArray, check_array, check_number
from foundation.base.errors import InputError

#: Vertical force above which a foot is on the ground [N].
CONTACT_THRESHOLD = 20.0
#: Shorter contacts and gaps count as noise [s].
SHORTEST = 0.1
#: Largest mean distance of a centre of pressure from the middle of the foot above [m].
FARTHEST = 0.35
#: A point this far outside the points of a loaded plate is a stray [m].
_STRAY = 1.0
_FORCE = re.compile(r"(.*?)([vVfF])([xyz]|[XYZ])(_[A-Za-z0-9]+)?")
_TORQUES = (("force", "torque"), ("force", "moment"), ("Force", "Torque"), ("Force", "Moment"))


@dataclass(frozen=True, eq=False)
class Plate:
    """Force, point and torque of one plate, (N, 3) each [N, m, N m], and its force columns."""

    name: str
    force: FloatArray
    point: FloatArray
    torque: FloatArray


@dataclass(frozen=True)
class Contact:
    """A contact of a foot with a plate."""

    plate: str
    #: First row, and the row after the last, up to the middle of the gaps to other contacts.
    begin: int
    end: int


def find_plates(ground: MotionTable) -> tuple[Plate, ...]:
    """Return the plates whose columns a table has, in the order of the table, at least one."""
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
    if not plates:
        raise InputError(
            f"{ground.source}: expected columns of force and point such as ground_force_vx and "
            f"ground_force_px, found {', '.join(ground.names)}; rename the columns, or give "
            "ExternalLoads (.xml), which name them"
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
            f"plate that has columns {plate} but no {', '.join(absent)}; add the columns, or give "
            "ExternalLoads (.xml), which name those of the plate under the foot"
        )


def _without_strays(plate: Plate) -> Plate:
    """Return a plate without load where the point of an unloaded plate is far off."""
    # The point is the quotient of moment and force: noise, hundreds of metres away in some files.
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


def contacts(ground: MotionTable, plates: Sequence[Plate]) -> tuple[Contact, ...]:
    """Return the contacts of feet with all plates of a table."""
    found = []
    for plate in plates:
        strikes, offs = foot_events(ground.time, plate.force[:, 1])
        events = np.searchsorted(ground.time, np.sort(np.concatenate([strikes, offs])))
        if plate.force[0, 1] > CONTACT_THRESHOLD:
            events = np.insert(events, 0, 0)
        if not len(events):
            continue
        if len(events) % 2:
            events = np.append(events, len(ground.time))
        spans = events.reshape(-1, 2)
        middles = (spans[:-1, 1] + spans[1:, 0]) // 2
        begins, ends = np.insert(middles, 0, 0), np.append(middles, len(ground.time))
        found += [
            Contact(plate.name, int(begin), int(end))
            for begin, end in zip(begins, ends, strict=True)
        ]
    return tuple(found)


def foot_events(
    time: ArrayLike, vertical: ArrayLike, *, threshold: float = CONTACT_THRESHOLD
) -> tuple[FloatArray, FloatArray]:
    """Return heel strikes (s,), toe-offs (o,) [s], where force (N,) [N] crosses a threshold."""
    # A contact at the start or end of the record has no strike or no toe-off. Gaps and contacts
    # shorter than 0.1 s do not count.
    instants = check_array("time", time, (None,))
    force = check_array("vertical force", vertical, (len(instants),))
    force = force - check_number("threshold", threshold, above=0.0, unit="N")
    above = force > 0.0
    changes = np.flatnonzero(above[1:] != above[:-1])
    share = force[changes] / (force[changes] - force[changes + 1])
    crossings = instants[changes] + share * (instants[changes + 1] - instants[changes])
    rising = above[changes + 1]
    # Remove gaps within a contact first, then short contacts: a foot that bounces strikes once.
    for first_rises in (False, True):
        short = (np.diff(crossings) < SHORTEST) & (rising[:-1] == first_rises)
        stays = ~(np.append(short, False) | np.insert(short, 0, False))[: len(crossings)]
        crossings, rising = crossings[stays], rising[stays]
    return crossings[rising], crossings[~rising]


def find_stride(
    time: ArrayLike,
    vertical: ArrayLike,
    *,
    threshold: float = CONTACT_THRESHOLD,
    name: str = "vertical force",
) -> tuple[float, float]:
    """Return start and end [s] of a stride (N,) [s], [N]: the first two heel strikes of a foot."""
    # In a record with one strike and two toe-offs, the toe-offs yield the duration of the stride,
    # which starts or, if the record is too short, ends with the strike.
    strikes, offs = foot_events(time, vertical, threshold=threshold)
    if len(strikes) > 1:
        return float(strikes[0]), float(strikes[1])
    instants = np.asarray(time, dtype=np.float64)
    if len(strikes) == 1 and len(offs) > 1:
        strike, period = float(strikes[0]), float(offs[1] - offs[0])
        for start in (strike, strike - period):
            if start >= instants[0] and start + period <= instants[-1]:
                return start, start + period
    raise InputError(
        f"{name}: expected two heel strikes (or one, and two toe-offs) between "
        f"{instants[0]:g} and {instants[-1]:g} s, found {len(strikes)} strikes and {len(offs)} "
        f"toe-offs at {threshold:g} N in a force of {np.min(vertical):g} to {np.max(vertical):g} "
        "N; check unit, sign and column, or set comak.start_s and comak.stop_s"
    )
