"""A leg of human proportions for heel strike, as a double pendulum or with a hinged ankle.

Masses, lengths and inertias, the heel and the metatarsal heads are those of
`dynamics.walking.segments`, which names their sources. The foot touches the ground with the heel
and the ball (metatarsal heads). Shank and foot are at right angles in the double pendulum, and
where the angles of a hinged foot and of its shank are the same.
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
    """Return a leg, and the heel and the ball of its foot.

    Parameters
    ----------
    body_mass : float
        [kg], > 0.
    height : float
        Body height [m], > 0.
    hip_mass : float, optional
        Point mass at the hip [kg]; by default the rest of the body where the hip is free.
    anchor : (2,) array_like, optional
        Where the hip is pinned [m]; by default it is free.
    ankle : str
        "locked": two segments, thigh and shank with foot; "hinged": three.
    joint_stiffness, joint_damping, joint_rest : (2,) or (3,) array_like, optional
        Of hip, knee (and ankle); see `Leg`.

    Raises
    ------
    InputError
        If an argument is out of its range.
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
