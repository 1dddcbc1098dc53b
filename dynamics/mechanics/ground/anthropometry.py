"""Legs of human proportions for heel strike, as double pendulums or with hinged ankles.

Masses, lengths, inertias, heel and metatarsal heads are those of `dynamics.mechanics.segments`,
with their sources. The foot touches the ground with the heel and the ball (metatarsal heads). Shank
and foot are at right angles in the double pendulum, and at equal angles of a hinged foot and its
shank.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dynamics.mechanics.ground.contact import ContactPoint
from dynamics.mechanics.ground.leg import Leg
from dynamics.mechanics.segments import Segment, leg_segments
from foundation.base.checks import FloatArray, check_array, check_in

ANKLES = ("locked", "hinged")
#: Names of the two legs of `striking_legs`.
SIDES = ("stance", "swing")


def striking_leg(
    body_mass: float = 75.0,
    height: float = 1.75,
    *,
    hip_mass: float | None = None,
    anchor: ArrayLike | None = None,
    ankle: str = "locked",
    joint_stiffness: ArrayLike | None = None,
    joint_damping: ArrayLike | None = None,
    joint_rest: ArrayLike | None = None,
) -> tuple[Leg, tuple[ContactPoint, ContactPoint]]:
    """Return a leg with heel and ball of the foot as contact points.

    Parameters
    ----------
    body_mass, height : float
        Mass [kg] and height [m] of the body, > 0.
    hip_mass : float, optional
        Point mass at the hip [kg]; by default the rest of the body for a free hip, else 0.
    anchor : (2,) array_like, optional
        Position of a pinned hip [m]; by default the hip is free.
    ankle : {"locked", "hinged"}
        Two segments, thigh and shank with foot, or three.
    joint_stiffness, joint_damping, joint_rest : (2,) or (3,) array_like, optional
        Joint laws of hip, knee (and ankle) [N m/rad, N m s/rad, rad]; see `Leg`.
    """
    segments, contacts = _limb(body_mass, height, ankle)
    if hip_mass is None:
        hip_mass = _rest(body_mass, segments) if anchor is None else 0.0
    leg = Leg(segments, hip_mass, anchor, joint_stiffness, joint_damping, joint_rest)
    return leg, contacts


def striking_legs(
    body_mass: float = 75.0,
    height: float = 1.75,
    *,
    hip_mass: float | None = None,
    anchor: ArrayLike | None = None,
    ankle: str = "locked",
    joint_stiffness: ArrayLike | None = None,
    joint_damping: ArrayLike | None = None,
    joint_rest: ArrayLike | None = None,
) -> tuple[Leg, tuple[ContactPoint, ...]]:
    """Return two legs on one hip, with heels and balls of the feet as contact points.

    The first leg is the "stance" leg, the second the "swing" leg; the names of segments and points
    begin with these words: "stance thigh", "swing heel". The coordinates are the hip, the segments
    of the stance leg and those of the swing leg.

    Parameters
    ----------
    body_mass, height, hip_mass, anchor, ankle
        As of `striking_leg`; the mass at a free hip is by default the body without both legs.
    joint_stiffness, joint_damping, joint_rest : (n,) or (2, n) array_like, optional
        Joint laws of each leg, n = 2 or 3 segments [N m/rad, N m s/rad, rad]: one row for both, or
        a row for the stance and one for the swing leg.

    Raises
    ------
    InputError
        If the joint laws have another shape.
    """
    limb, contacts = _limb(body_mass, height, ankle)
    segments: dict[str, Segment] = {}
    parents: dict[str, str | None] = {}
    points: list[ContactPoint] = []
    for side in SIDES:
        above: str | None = None
        for name, segment in limb.items():
            segments[f"{side} {name}"] = segment
            parents[f"{side} {name}"] = above
            above = f"{side} {name}"
        points += [
            ContactPoint(f"{side} {each.name}", f"{side} {each.segment}", each.position)
            for each in contacts
        ]
    if hip_mass is None:
        hip_mass = _rest(body_mass, segments) if anchor is None else 0.0
    laws = (
        _both("joint_stiffness", joint_stiffness, len(limb)),
        _both("joint_damping", joint_damping, len(limb)),
        _both("joint_rest", joint_rest, len(limb)),
    )
    return Leg(segments, hip_mass, anchor, *laws, parents=parents), tuple(points)


def _both(name: str, values: ArrayLike | None, count: int) -> FloatArray | None:
    """Return the joint laws of both legs in one row."""
    if values is None:
        return None
    rows = np.asarray(values)
    if rows.ndim == 1:
        rows = np.stack([rows, rows])
    return check_array(name, rows, (len(SIDES), count)).ravel()


def _limb(
    body_mass: float, height: float, ankle: str
) -> tuple[dict[str, Segment], tuple[ContactPoint, ContactPoint]]:
    """Return the segments of one leg, and heel and ball."""
    check_in("ankle", ankle, ANKLES)
    body = leg_segments(body_mass, height)
    heel, ball = np.asarray(body.heel), np.asarray(body.foot.end)
    segments = {"thigh": body.thigh, "shank": body.shank, "foot": body.foot}
    holder = "foot"
    if ankle == "locked":
        heel, ball = body.shank.end + heel, body.shank.end + ball
        segments = {"thigh": body.thigh, "shank": _joined(body.shank, body.foot)}
        holder = "shank"
    return segments, (ContactPoint("heel", holder, heel), ContactPoint("ball", holder, ball))


def _rest(body_mass: float, segments: dict[str, Segment]) -> float:
    """Return the mass [kg] of the body without the segments."""
    return body_mass - sum(each.mass for each in segments.values())


def _joined(shank: Segment, foot: Segment) -> Segment:
    """Shank and foot as one rigid segment."""
    masses = np.array([shank.mass, foot.mass])
    centers = np.array([shank.centre_of_mass, shank.end + foot.centre_of_mass])
    center = masses @ centers / masses.sum()
    inertia = shank.inertia + foot.inertia + masses @ ((centers - center) ** 2).sum(axis=1)
    return Segment(float(masses.sum()), shank.end, center, float(inertia))
