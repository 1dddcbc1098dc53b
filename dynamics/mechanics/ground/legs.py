"""Legs of human proportions for heel strike, as double pendulums or with hinged ankles."""
# Shank and foot are at right angles in the double pendulum, at equal angles of a hinged foot.

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dynamics.mechanics.chains import (
    GROUND,
    Assembly,
    Attachment,
    Chain,
    ChainSegment,
    FreeBase,
    Joint,
    ViscoelasticLink,
)
from dynamics.mechanics.ground.strike import ContactPoint
from dynamics.mechanics.segments import Segment, leg_segments
from foundation.base.checks import FloatArray, check_array, check_in, check_number, check_unique

ANKLES = ("locked", "hinged")
#: Standard acceleration of free fall, rounded [m/s²].
GRAVITY = 9.81


def striking_legs(
    body_mass: float = 75.0,
    height: float = 1.75,
    *,
    sides: Sequence[str] = ("stance", "swing"),
    hip_mass: float | None = None,
    anchor: ArrayLike | None = None,
    ankle: str = "locked",
    joint_stiffness: ArrayLike = 0.0,
    joint_damping: ArrayLike = 0.0,
    joint_rest: ArrayLike = 0.0,
) -> tuple[Assembly, tuple[ContactPoint, ...]]:
    """Return legs on one hip, with heels and balls of the feet as contact points.

    Every side is a chain of thigh, shank (and foot), with the points "stance heel", "stance ball"
    and so on. The free coordinates are the angles of the segments, 0 where a leg hangs upright, and
    x and y of a free hip.

    Parameters
    ----------
    body_mass, height : float
        Mass [kg] and height [m] of the body, > 0.
    sides : sequence of str
        Names of the legs, one or more.
    hip_mass : float, optional
        Point mass at the hip [kg]; by default the rest of the body for a free hip, else 0.
    anchor : (2,) array_like, optional
        Position of a pinned hip [m]; by default the hip is free.
    ankle : {"locked", "hinged"}
        Two segments a leg, thigh and shank with foot, or three.
    joint_stiffness, joint_damping, joint_rest : float, (n,) or (sides, n) array_like
        Laws of hip (against the upright trunk), knee (and ankle) [N m/rad, N m s/rad, rad].
    """
    check_unique("sides", sides, some=True)
    limb, points = _limb(body_mass, height, ankle)
    rest = body_mass - len(sides) * sum(each.mass for each in limb.values())
    at_hip = (0.0 if anchor is not None else rest) if hip_mass is None else hip_mass
    check_number("hip_mass", at_hip, at_least=0.0, unit="kg")
    laws = np.stack([
        _of_joints("joint_stiffness", joint_stiffness, len(sides), len(limb)),
        _of_joints("joint_damping", joint_damping, len(sides), len(limb)),
        _of_joints("joint_rest", joint_rest, len(sides), len(limb)),
    ], axis=-1)  # fmt: skip
    chains, hips = [], []
    for k, side in enumerate(sides):
        segments = [
            ChainSegment(name, each.end, each.mass, each.inertia, each.centre_of_mass)
            for name, each in limb.items()
        ]
        base: FreeBase | Attachment | FloatArray = Attachment(sides[0], "thigh", np.zeros(2))
        if k == 0:
            base = FreeBase() if anchor is None else check_array("anchor", anchor, (2,))
            segments[0] = _with_mass(segments[0], at_hip)
        joints = [Joint(*law.tolist()) for law in laws[k]]
        if k > 0:  # the hip turns against the upright trunk, not against the first leg
            stiffness, damping, neutral = laws[k, 0].tolist()
            joints[0], thigh = Joint(), (side, "thigh")
            hips.append(ViscoelasticLink(
                f"{side} hip", GROUND, np.zeros(2), thigh, np.zeros(2), 0.0, kind="bushing",
                rotational_stiffness=stiffness, rotational_damping=damping, rest_angle=neutral,
            ))  # fmt: skip
        chains.append(Chain(side, tuple(segments), base, tuple(joints)))
    contacts = (
        ContactPoint(f"{side} {name}", (side, segment), place)
        for side in sides
        for name, segment, place in points
    )
    return Assembly(tuple(chains), tuple(hips), gravity=(0.0, -GRAVITY)), tuple(contacts)


def _of_joints(name: str, values: ArrayLike, sides: int, count: int) -> FloatArray:
    """Return a law (sides, n) of all joints."""
    rows = np.asarray(values)
    if rows.ndim < 2:
        rows = np.stack([rows if rows.ndim else np.full(count, rows)] * sides)
    return check_array(name, rows, (sides, count), at_least=None if "rest" in name else 0.0)


def _with_mass(segment: ChainSegment, mass: float) -> ChainSegment:
    """Return a segment with a point mass [kg] at its proximal joint: the same motion."""
    whole = segment.mass + mass
    share = segment.mass * mass / whole * float(np.dot(segment.centre, segment.centre))
    centre = np.asarray(segment.centre) * segment.mass / whole
    return ChainSegment(segment.name, segment.length, whole, segment.inertia + share, centre)


def _limb(
    body_mass: float, height: float, ankle: str
) -> tuple[dict[str, Segment], list[tuple[str, str, FloatArray]]]:
    """Return the segments of one leg; name, segment and place [m] of heel and ball."""
    check_in("ankle", ankle, ANKLES)
    body = leg_segments(body_mass, height)
    heel, ball = np.asarray(body.heel), np.asarray(body.foot.end)
    if ankle == "hinged":
        segments = {"thigh": body.thigh, "shank": body.shank, "foot": body.foot}
        return segments, [("heel", "foot", heel), ("ball", "foot", ball)]
    end = np.asarray(body.shank.end)
    segments = {"thigh": body.thigh, "shank": _joined(body.shank, body.foot)}
    return segments, [("heel", "shank", end + heel), ("ball", "shank", end + ball)]


def _joined(shank: Segment, foot: Segment) -> Segment:
    """Shank and foot as one rigid segment."""
    masses = np.array([shank.mass, foot.mass])
    centers = np.array([shank.centre_of_mass, shank.end + foot.centre_of_mass])
    center = masses @ centers / masses.sum()
    inertia = shank.inertia + foot.inertia + masses @ ((centers - center) ** 2).sum(axis=1)
    return Segment(float(masses.sum()), shank.end, center, float(inertia))
