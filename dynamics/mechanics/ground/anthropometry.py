"""A leg of human proportions for heel strike, as a double pendulum or with a hinged ankle.

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
from foundation.checks import check_in

ANKLES = ("locked", "hinged")


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
    check_in("ankle", ankle, ANKLES)
    body = leg_segments(body_mass, height)
    heel, ball = np.asarray(body.heel), np.asarray(body.foot.end)
    segments = {"thigh": body.thigh, "shank": body.shank, "foot": body.foot}
    holder = "foot"
    if ankle == "locked":
        heel, ball = body.shank.end + heel, body.shank.end + ball
        segments = {"thigh": body.thigh, "shank": _joined(body.shank, body.foot)}
        holder = "shank"
    if hip_mass is None:
        rest_of_body = body_mass - sum(each.mass for each in segments.values())
        hip_mass = rest_of_body if anchor is None else 0.0
    leg = Leg(segments, hip_mass, anchor, joint_stiffness, joint_damping, joint_rest)
    return leg, (ContactPoint("heel", holder, heel), ContactPoint("ball", holder, ball))


def _joined(shank: Segment, foot: Segment) -> Segment:
    """Shank and foot as one rigid segment."""
    masses = np.array([shank.mass, foot.mass])
    centers = np.array([shank.centre_of_mass, shank.end + foot.centre_of_mass])
    center = masses @ centers / masses.sum()
    inertia = shank.inertia + foot.inertia + masses @ ((centers - center) ** 2).sum(axis=1)
    return Segment(float(masses.sum()), shank.end, center, float(inertia))
