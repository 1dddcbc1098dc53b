"""A stride of one leg from files of another laboratory, with what was recognised as sentences.

`recognise` finds columns, sign and unit of the angles (`dynamics.walking.conventions`), the plates
under the foot (`dynamics.walking.plates`), the heel strikes and the lateral position of the pelvis.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynamics.mechanics.segments import LegSegments
from dynamics.walking.columns import (
    GROUND_COLUMNS,
    GROUND_QUANTITIES,
    OPENSIM_COLUMNS,
    OTHER_SIDE,
    TRIAL_COORDINATES,
)
from dynamics.walking.conventions import LegMotion, leg_motion
from dynamics.walking.knee_mechanism import rotated
from dynamics.walking.motion_tables import MotionTable
from dynamics.walking.plates import (
    Contact,
    Plate,
    contacts,
    find_plates,
    leg_force,
    named_side,
    without_points,
)
from dynamics.walking.strikes import (
    CONTACT_THRESHOLD,
    SHORTEST_STRIDE,
    find_stride,
    foot_events,
    kinematic_strikes,
    same_posture,
)
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

#: A heel strike from the motion belongs to one from the force within this time [s].
_LAG = 0.15


@dataclass(frozen=True, eq=False)
class Recognition:
    """Arguments of `dynamics.walking.gait_trial` that were recognised.

    Parameters
    ----------
    motion, ground : MotionTable
        Motion [m, rad] and ground force [N, m, N m] of the leg, with the quantities as columns.
    columns : mapping
        Columns of these tables by quantity.
    stride : (start, end)
        Instants of heel strike [s].
    pelvis_z : float
        Lateral position of the pelvis without a column for it [m].
    facts : mapping
        What was recognised, by topic: sentences without a full stop.
    warnings : tuple of str
        Statements of the files that their values contradict.
    """

    motion: MotionTable
    ground: MotionTable
    columns: Mapping[str, str]
    stride: tuple[float, float]
    pelvis_z: float
    facts: Mapping[str, str]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Feet:
    """Motions of the known legs, and forward position of the middle of each foot (N,) [m]."""

    legs: Mapping[str, LegMotion]
    middle: Mapping[str, tuple[FloatArray, FloatArray]]

    def strikes(self, side: str) -> FloatArray:
        """Return heel strikes of a leg from the motion [s]."""
        if side not in self.legs:
            return np.empty(0)
        table = self.legs[side].table
        return kinematic_strikes(table, self.middle[side][1], table.column("pelvis_x"))


def recognise(
    motion: MotionTable,
    ground: MotionTable,
    side: str,
    segments: LegSegments,
    *,
    columns: Mapping[str, str] | None = None,
    in_degrees: bool | None = None,
    stride: tuple[float, float] | None = None,
    pelvis_z: float | None = None,
) -> Recognition:
    """Return the arguments of `gait_trial` for a leg, recognised where they are not stated.

    Parameters
    ----------
    motion, ground : MotionTable
        Motion and ground force, with any of the names that the module knows.
    side : {"right", "left"}
        Measured leg.
    segments : LegSegments
        Lengths of the leg, for the position of the feet.
    columns : mapping, optional
        Stated columns, as of `gait_trial`.
    in_degrees : bool, optional
        Stated unit of the angles.
    stride : (start, end), optional
        Stated instants of heel strike [s].
    pelvis_z : float, optional
        Stated lateral position of the pelvis, to the right [m].

    Raises
    ------
    InputError
        If a column, the sign of the knee angle, a plate under the foot or the end of the stride is
        not evident; the message names the key of a walk's file to set, and its value.
    """
    stated = dict(columns or {})
    feet = _feet(motion, side, segments, stated, in_degrees)
    leg = feet.legs[side]
    ours, theirs, plate_fact = _forces(ground, side, stated, feet, backward=leg.backward)
    ours, extension = _lengthened(ours, leg.table)
    if stride is None:
        stride, stride_fact = _stride(ours, leg.table, feet, side)
    else:
        stride_fact = "stated"
    facts = {"motion": "; ".join(leg.notes), "plates": plate_fact + extension}
    facts["stride"] = stride_fact
    facts["pelvis"], place = _pelvis(leg, ours, theirs, segments, side, pelvis_z)
    kept = leg.table
    if pelvis_z is not None and "pelvis_z" not in stated:
        kept = _without(kept, "pelvis_z")
    names = {name: name for name in kept.names} | {name: f"{name}_" for name in GROUND_QUANTITIES}
    return Recognition(kept, ours, names, stride, place, facts, leg.warnings)


def _feet(
    motion: MotionTable,
    side: str,
    segments: LegSegments,
    stated: Mapping[str, str],
    in_degrees: bool | None,
) -> _Feet:
    """Return the motion of the leg, and of the other leg where the table has it."""
    own = {name: column for name, column in stated.items() if name in TRIAL_COORDINATES}
    legs = {side: leg_motion(motion, side, own, in_degrees=in_degrees)}
    shared = {name: column for name, column in own.items() if name.startswith("pelvis")}
    try:
        other = leg_motion(motion, OTHER_SIDE[side], shared, in_degrees=in_degrees)
    except InputError:
        pass
    else:
        legs[OTHER_SIDE[side]] = other
    middle = {
        name: (leg.table.time, _middle_of_foot(leg.table, segments)) for name, leg in legs.items()
    }
    return _Feet(legs, middle)


def _middle_of_foot(table: MotionTable, segments: LegSegments) -> FloatArray:
    """Return the forward position of the middle between heel and metatarsal heads, (N,) [m]."""
    tilt, hip, knee, ankle = (table.column(name) for name in TRIAL_COORDINATES[3:])
    sole = 0.5 * (segments.heel + segments.foot.end)
    chain = (segments.hip[:2], segments.thigh.end, segments.shank.end, sole)
    angles = np.cumsum([tilt, hip, -knee, ankle], axis=0)
    position = table.column("pelvis_x")
    for vector, angle in zip(chain, angles, strict=True):
        position = position + rotated(angle, np.broadcast_to(vector, (len(angle), 2)))[:, 0]
    return position


def _forces(
    ground: MotionTable, side: str, stated: Mapping[str, str], feet: _Feet, *, backward: bool
) -> tuple[MotionTable, MotionTable | None, str]:
    """Return ground forces of the leg and, where known, of the other leg, and how."""
    turn = np.tile([-1.0, 1.0, -1.0], 3) if backward else np.ones(9)
    if set(GROUND_QUANTITIES) & set(stated):
        names = OPENSIM_COLUMNS[side] | dict(stated)
        rows = [ground.signed(names[each] + axis) for each in GROUND_QUANTITIES for axis in "xyz"]
        table = replace(ground, names=GROUND_COLUMNS, values=turn * np.column_stack(rows))
        return table, None, f"columns {names['force']}x, y, z as stated"
    plates = find_plates(ground)
    if backward:
        plates = tuple(
            type(p)(p.name, p.force * turn[:3], p.point * turn[:3], p.torque * turn[:3])
            for p in plates
        )
    steps = contacts(ground, plates, feet.middle)
    if not steps:
        raise InputError(_no_contact(ground, plates))
    how = "by the position of the foot at the contact"
    if not any(step.side for step in steps):
        steps = tuple(Contact(s.plate, s.begin, s.end, named_side(s.plate) or side) for s in steps)
        how = "by name: no centre of pressure is within reach of a foot"
    mine = [step for step in steps if step.side == side]
    if not mine:
        raise InputError(_not_mine(ground, steps, side))
    used = ", ".join(dict.fromkeys(f"{step.plate.replace('*', 'x')}" for step in mine))
    others = any(step.side == OTHER_SIDE[side] for step in steps)
    other = leg_force(ground, plates, steps, OTHER_SIDE[side]) if others else None
    return (
        leg_force(ground, plates, steps, side),
        other,
        f"{counted_contacts(len(mine))} with {used}, {how}",
    )


def _not_mine(ground: MotionTable, steps: Sequence[Contact], side: str) -> str:
    text = (
        f"{ground.source}: expected a contact of the {side} foot with a plate, found "
        f"{counted_contacts(len(steps))}, but no contact under the {side} foot"
    )
    pointless = without_points(ground)
    if pointless:
        head, _, tail = pointless[0].partition("*")
        return (
            f"{text}, and columns {', '.join(pointless)} without those of the point of application "
            f"such as {head[:-1]}px{tail}; add these columns"
        )
    return (
        f'{text}; set subject.side to "{OTHER_SIDE[side]}", or measured.columns.force, point and '
        "torque to the columns of the plate without their last letter"
    )


def _no_contact(ground: MotionTable, plates: Sequence[Plate]) -> str:
    low = min(float(plate.force[:, 1].min()) for plate in plates)
    high = max(float(plate.force[:, 1].max()) for plate in plates)
    text = (
        f"{ground.source}: expected a vertical force of the ground on a foot of more than "
        f"{CONTACT_THRESHOLD:g} N along y (up), found {low:.3g} to {high:.3g} N; "
    )
    force = plates[0].name.replace("*", "")
    if low < -CONTACT_THRESHOLD:
        torque = force.replace("force_v", "torque_")
        return f'{text}set measured.columns.force to "-{force}" and torque to "-{torque}"'
    return f"{text}convert the forces to newtons, or turn the axes so that y is up"


def counted_contacts(count: int) -> str:
    """Return a number of contacts in words."""
    return f"{count} contact{'' if count == 1 else 's'}"


def _lengthened(ground: MotionTable, motion: MotionTable) -> tuple[MotionTable, str]:
    """Return the force, extended by zeros to the end of the motion if the foot is off its plate."""
    vertical = ground.column("force_y")
    step = float(np.median(np.diff(ground.time)))
    missing = motion.time[-1] - ground.time[-1]
    if missing < step or vertical[-1] > CONTACT_THRESHOLD or len(ground.time) < 2:
        return ground, ""
    later = ground.time[-1] + step * np.arange(1, 1 + int(missing / step + 1e-6))
    rows = np.tile(ground.values[-1], (len(later), 1))
    rows[:, :3] = 0.0
    rows[:, 6:] = 0.0
    time, values = np.concatenate([ground.time, later]), np.vstack([ground.values, rows])
    table = replace(ground, time=time, values=values)
    return table, f"; zero after the last row at {ground.time[-1]:.3f} s"


def _stride(
    ground: MotionTable, motion: MotionTable, feet: _Feet, side: str
) -> tuple[tuple[float, float], str]:
    """Return start and end of the stride [s] and how they were found."""
    vertical = ground.column("force_y")
    strikes, offs = foot_events(ground.time, vertical)
    first, last = max(motion.time[0], ground.time[0]), min(motion.time[-1], ground.time[-1])
    inside = strikes[(strikes >= first) & (strikes <= last)]
    steps = feet.strikes(side)
    if len(inside) > 1:
        between = (steps > inside[0] + _LAG) & (steps < inside[1] - 2.0 * _LAG)
        if not between.any():
            pair = (float(inside[0]), float(inside[1]))
            return pair, "from heel strike to heel strike, both in the ground force"
    for strike in inside:
        found = _end_from_motion(float(strike), steps, feet.strikes(OTHER_SIDE[side]), last)
        if found is not None:
            return (float(strike), found[0]), found[1]
    if len(strikes) and len(offs) > 1:
        with contextlib.suppress(InputError):
            pair = find_stride(ground.time, vertical)
            if first <= pair[0] and pair[1] <= last:
                return pair, "a heel strike in the ground force, as long as from toe-off to toe-off"
    angles = np.column_stack([motion.column(name) for name in TRIAL_COORDINATES[4:]])
    for strike in inside:
        other = same_posture(motion, angles, float(strike), first, last)
        if other is not None:
            return _closed(float(strike), other)
    raise InputError(_no_stride(ground, motion, inside, side))


def _closed(strike: float, other: float) -> tuple[tuple[float, float], str]:
    """Return a stride between a strike and the instant of the same posture [s], and how."""
    if other > strike:
        text = "the start in the ground force, the end where the joint angles are the same again"
        return (strike, other), text
    text = "the end in the ground force, the start where the joint angles were the same"
    return (other, strike), text


def _end_from_motion(
    strike: float, steps: FloatArray, others: FloatArray, last: float
) -> tuple[float, str] | None:
    """Return the end of a stride [s] that begins at a strike, and how; None without an end."""
    own = steps[np.abs(steps - strike) <= _LAG]
    lag = float(own[0]) - strike if len(own) else 0.0
    later = steps[steps > strike + lag + SHORTEST_STRIDE]
    if len(later) and later[0] - lag <= last:
        text = "the start in the ground force, the end where the foot is as far ahead of the pelvis"
        text += " again (the next heel strike is off the plates)"
        return float(later[0]) - lag, text
    if len(others) > 1 and strike + others[1] - others[0] <= last:
        end = strike + float(others[1] - others[0])
        return end, "the start in the ground force, as long as a stride of the other foot"
    return None


def _no_stride(ground: MotionTable, motion: MotionTable, strikes: FloatArray, side: str) -> str:
    first, last = max(motion.time[0], ground.time[0]), min(motion.time[-1], ground.time[-1])
    begin = f"{strikes[0]:.3f}" if len(strikes) else f"{first:.3f}"
    count = "one heel strike" if len(strikes) == 1 else f"{len(strikes)} heel strikes"
    return (
        f"{ground.source}: expected a stride of the {side} foot between {first:.3f} and {last:.3f} "
        f"s, found {count} in the ground force and no next heel strike in the motion; set "
        f"measured.stride_s to the instants of two heel strikes, such as [{begin}, {last:.3f}]"
    )


def _pelvis(
    leg: LegMotion,
    ours: MotionTable,
    theirs: MotionTable | None,
    segments: LegSegments,
    side: str,
    stated: float | None,
) -> tuple[str, float]:
    """Return how the lateral position of the pelvis was found, and the position [m]."""
    if stated is not None:
        return f"{stated:g} m to the right, as stated", stated
    if "pelvis_z" in leg.columns:
        return f"column {leg.columns['pelvis_z']}", 0.0
    own = _lateral(ours)
    if theirs is not None:
        place = 0.5 * (own + _lateral(theirs))
        return f"{place:.3f} m to the right, midway between the forces of both feet", place
    place = own - segments.hip[2] * (1.0 if side == "right" else -1.0)
    return f"{place:.3f} m to the right, so that the hip is above the force of the foot", place


def _lateral(ground: MotionTable) -> float:
    """Return the mean lateral position of a force, weighted by its vertical component [m]."""
    weights = np.maximum(ground.column("force_y"), 0.0)
    return float(np.average(ground.column("point_z"), weights=weights))


def _without(table: MotionTable, name: str) -> MotionTable:
    kept = [k for k, each in enumerate(table.names) if each != name]
    names = tuple(table.names[k] for k in kept)
    return replace(table, names=names, values=table.values[:, kept])
