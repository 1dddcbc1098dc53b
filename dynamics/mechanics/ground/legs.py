"""Legs of human proportions for heel strike, as double pendulums or with hinged ankles.

Masses, lengths and inertias are shares of mass and height of the body (Winter 2009, table 4.1).
Cadaver shares differ: de Leva (1996, J Biomech 29:1223-1230) has 0.142, 0.0433 and 0.0137 of the
body mass for thigh, shank and foot of a man.
"""
# Shank and foot are at right angles in the double pendulum, at equal angles of a hinged foot.

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from dynamics.csv_table import read_csv_table
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
from foundation.base.checks import FloatArray, check_array, check_in, check_number, check_unique

ANKLES = ("locked", "hinged")
#: The shipped shares.
_SEGMENTS = Path(__file__).parents[1] / "tables" / "segments.csv"
#: Heel from the ankle as shares of height: (-0.0488, -0.0420) m of the model of Delp et al. (1990)
#: as in OpenSim's gait2392 and gait10dof18musc, over its height of about 1.80 m.
HEEL_FRACTION = (-0.0271, -0.0233)
#: Standard acceleration of free fall, rounded [m/s²].
GRAVITY = 9.81


def striking_legs(
    body_mass: float = 75.0,
    height: float = 1.75,
    *,
    sides: Sequence[str] = ("stance", "swing"),
    anchor: ArrayLike | None = None,
    ankle: str = "locked",
    joint_stiffness: ArrayLike = 0.0,
    joint_damping: ArrayLike = 0.0,
    joint_rest: ArrayLike = 0.0,
) -> tuple[Assembly, tuple[ContactPoint, ...]]:
    """Return legs on one hip, with heels and balls of the feet as contact points.

    The rest of the body [kg, m] is a point mass at a free hip, or the hip is pinned at an anchor
    (2,) [m]. Every side is a chain of thigh, shank (and, where the ankle is "hinged", foot), with
    the points "stance heel", "stance ball" and so on. The free coordinates are the angles of the
    segments, 0 where a leg hangs upright, and x and y of a free hip. Stiffness, damping and rest of
    hip (against the upright trunk), knee (and ankle) are one number, (n,) or (sides, n) [N m/rad,
    N m s/rad, rad].
    """
    check_unique("sides", sides, some=True)
    limb, points = _limb(body_mass, height, check_in("ankle", ankle, ANKLES))
    rest = body_mass - len(sides) * sum(each.mass for each in limb)
    check_number("mass of the body less that of the legs", rest, at_least=0.0, unit="kg")
    laws = np.stack([
        _of_joints("joint_stiffness", joint_stiffness, len(sides), len(limb)),
        _of_joints("joint_damping", joint_damping, len(sides), len(limb)),
        _of_joints("joint_rest", joint_rest, len(sides), len(limb)),
    ], axis=-1)  # fmt: skip
    chains, hips = [], []
    for k, side in enumerate(sides):
        segments = limb
        base: FreeBase | Attachment | FloatArray = Attachment(sides[0], "thigh", np.zeros(2))
        if k == 0 and anchor is None:
            base, segments = FreeBase(), (_with_mass(limb[0], rest), *limb[1:])
        elif k == 0 and anchor is not None:
            base = check_array("anchor", anchor, (2,))
        joints = [Joint(*law.tolist()) for law in laws[k]]
        if k > 0:  # the hip turns against the upright trunk, not against the first leg
            stiffness, damping, neutral = laws[k, 0].tolist()
            joints[0], thigh = Joint(), (side, "thigh")
            hips.append(ViscoelasticLink(
                f"{side} hip", GROUND, np.zeros(2), thigh, np.zeros(2), 0.0, kind="bushing",
                rotational_stiffness=stiffness, rotational_damping=damping, rest_angle=neutral,
            ))  # fmt: skip
        chains.append(Chain(side, segments, base, tuple(joints)))
    contacts = (
        ContactPoint(f"{side} {name}", (side, limb[-1].name), place)
        for side in sides
        for name, place in points.items()
    )
    return Assembly(tuple(chains), tuple(hips), gravity=(0.0, -GRAVITY)), tuple(contacts)


def _of_joints(name: str, values: ArrayLike, sides: int, count: int) -> FloatArray:
    """Return a law (sides, n) of all joints."""
    rows = np.asarray(values)
    if rows.shape in ((), (count,)):
        rows = np.broadcast_to(rows, (sides, count))
    return check_array(name, rows, (sides, count), at_least=None if "rest" in name else 0.0)


def _with_mass(segment: ChainSegment, mass: float) -> ChainSegment:
    """Return a segment with a point mass [kg] at its proximal joint: the same motion."""
    whole = segment.mass + mass
    share = segment.mass * mass / whole * float(np.dot(segment.centre, segment.centre))
    centre = np.asarray(segment.centre) * segment.mass / whole
    return ChainSegment(segment.name, segment.length, whole, segment.inertia + share, centre)


def _limb(
    body_mass: float, height: float, ankle: str
) -> tuple[tuple[ChainSegment, ...], dict[str, FloatArray]]:
    """Return the segments of one leg, and the places [m] of heel and ball on the last of them."""
    thigh, shank, foot = leg_segments(body_mass, height)
    heel, ball = height * np.array(HEEL_FRACTION), np.asarray(foot.length)
    if ankle == "hinged":
        return (thigh, shank, foot), {"heel": heel, "ball": ball}
    # Shank and foot as one rigid segment.
    end, masses = np.asarray(shank.length), np.array([shank.mass, foot.mass])
    centres = np.array([shank.centre, end + foot.centre])
    centre = masses @ centres / masses.sum()
    inertia = shank.inertia + foot.inertia + masses @ ((centres - centre) ** 2).sum(axis=1)
    joined = ChainSegment("shank", end, float(masses.sum()), float(inertia), centre)
    return (thigh, joined), {"heel": end + heel, "ball": end + ball}


def leg_segments(mass: float, height: float) -> tuple[ChainSegment, ...]:
    """Return thigh, shank and foot of a body of a mass [kg] and height [m], by Winter's shares.

    A segment's frame has its origin at the proximal joint and the axes of the lab (x anterior, y
    superior) upright, sole level; the distal end of the foot is at the metatarsal heads.
    """
    body = check_number("mass", mass, above=0.0, unit="kg")
    tall = check_number("height", height, above=0.0, unit="m")
    segments = []
    for _, row in read_csv_table(_SEGMENTS).rows():
        name = row.pop("segment")
        share = {key.removesuffix("_fraction"): float(cell) for key, cell in row.items()}
        end = tall * np.array([share["end_x"], share["end_y"]])
        inertia = body * share["mass"] * (share["gyration"] * math.hypot(*end)) ** 2
        centre = share["centre_of_mass"] * end
        segments.append(ChainSegment(name, end, body * share["mass"], inertia, centre))
    return tuple(segments)
