"""Points of an assembly strike compliant ground y = 0, with stick-slip friction.

At the height d < 0, Fn = max(0, -d/eps - beta d') (Kaplan, Hovey & Heegaard); docs/mechanics.md
derives the energies. Where a point leaves faster than the ground follows (Fn = 0, d < 0), the
energy left in the spring is lost.

Impacts on rigid ground are those of rigid bodies with Coulomb friction: at every point with normal
and tangential velocities vn, vt and impulses Ln, Lt,

    vn+ + e vn- >= 0,  Ln >= 0,  at least one of them 0        (Newton's restitution)
    |Lt| <= mu Ln;  vt+ = 0 or Lt = -mu Ln sign(vt+)           (Coulomb, on impulses)

as in Moreau (1988, in Nonsmooth Mechanics and Applications, CISM 302), one complementarity problem
(Glocker & Pfeiffer 1995, Nonlinear Dyn 7:471-497). The result need not be unique for several
points. Kinetic energy can grow where sliding reverses (Kane 1984; docs/mechanics.md).

Legs are double pendulums, or have hinged ankles. Masses, lengths and inertias are shares of mass
and height of the body (Winter 2009, table 4.1). Cadaver shares differ: de Leva (1996, J Biomech
29:1223-1230) has 0.142, 0.0433 and 0.0137 of the body mass for thigh, shank and foot of a man.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from dynamics.csv_table import read_csv_table
from dynamics.mechanics.chain_parts import (
    GROUND,
    Attachment,
    Chain,
    ChainSegment,
    FreeBase,
    Joint,
    ViscoelasticLink,
)
from dynamics.mechanics.chains import Assembly
from dynamics.mechanics.complementarity import ComplementarityError, solve_complementarity
from dynamics.mechanics.contact import CompliantGround, ContactMotion, ContactProblem, Located
from dynamics.mechanics.planar import PointMotion, Pose
from dynamics.simulator.equations import SimulationError
from foundation.base.checks import (
    FloatArray,
    check_array,
    check_count,
    check_fields,
    check_in,
    check_number,
    check_unique,
)
from foundation.base.errors import InputError
from foundation.contact_laws.normal import CompliantFriction, SpringDashpotLaw


@dataclass(frozen=True, eq=False)
class ContactPoint:
    """A point of a segment that may touch the ground."""

    #: Name, such as "heel".
    name: str
    #: Chain and segment of the point.
    segment: tuple[str, str]
    #: Position in the frame of the segment (2,) [m].
    position: ArrayLike

    def __post_init__(self) -> None:
        check_fields(self, f"contact point {self.name}: ", position=(2,))


def penalty_ground(
    compliance: float = 1e-5,
    damping: float = 500.0,
    friction: CompliantFriction | None = None,
) -> CompliantGround:
    """Return ground of compliance ε [m/N], damping β [N s/m] and friction, by default of 0.8.

    The defaults are not measured: a body of 75 kg at rest on one point sinks 7.4 mm.
    """
    check_number("compliance", compliance, above=0.0, unit="m/N")
    check_number("damping", damping, at_least=0.0, unit="N s/m")
    law = SpringDashpotLaw(1.0 / compliance, damping)
    return CompliantGround(
        law, CompliantFriction(1e5, 200.0, 0.8) if friction is None else friction
    )


class GroundContacts:
    """Points of an assembly above ground at y = 0."""

    #: Above zero [m]: rounding at the instant of arrival is no departure.
    release = 1e-10

    def __init__(self, assembly: Assembly, points: Sequence[ContactPoint]) -> None:
        self.names = tuple(each.name for each in points)
        check_unique("contact points", self.names, some=True)
        bodies = [assembly.index(f"contact point {each.name}", each.segment) for each in points]
        self._assembly, self._bodies = assembly, np.array(bodies, dtype=np.int64)
        self._places = np.array([complex(*np.asarray(each.position)) for each in points])
        self._normals = np.full(len(points), 1j)

    def at(self, position: FloatArray, velocity: FloatArray) -> PointMotion:
        """Return the motion of the points at free coordinates (F,) [rad, m] and their rates."""
        state = self._assembly.complete(0.0, position, velocity)
        return self._assembly.tree.at(state[0], state[1]).points(self._bodies, self._places)

    def locate(self, pose: Pose) -> Located:
        """Return the contacts at a pose of the tree."""
        height = pose.points(self._bodies, self._places).position.imag
        return Located(height, self._bodies, self._places, self._normals)


def simulate_strike(
    assembly: Assembly,
    points: Sequence[ContactPoint],
    ground: CompliantGround,
    position: ArrayLike,
    velocity: ArrayLike,
    duration: float,
    *,
    samples: int = 1001,
) -> ContactMotion:
    """Return the motion of an assembly, such as two legs, above and on the ground, for a time [s].

    It starts from free coordinates and rates (F,) [m, rad]; `samples` is the number of equally
    spaced instants of the result.
    """
    check_number("duration", duration, above=0.0, unit="s")
    times = np.linspace(0.0, duration, check_count("samples", samples, at_least=2))
    start = coordinates(assembly, position, velocity)
    problem = ContactProblem(assembly, GroundContacts(assembly, points), ground)
    return problem.simulate(*start, times, atol=1e-10, rtol=1e-9, method="LSODA")


def coordinates(
    assembly: Assembly, position: ArrayLike, velocity: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return checked free coordinates and rates, (F,) each [rad, m]."""
    count = len(assembly.coordinate_names)
    q = check_array("position", position, (count,))
    return q, check_array("velocity", velocity, (count,))


def check_free(assembly: Assembly) -> None:
    """Raise an InputError unless impulses move every coordinate."""
    if assembly.closures or not assembly.free.all():
        raise InputError(
            "assembly: expected free chains without closures under impulses, found closures or "
            "prescribed angles; simulate them with `simulate_strike`"
        )


def standing_start(
    assembly: Assembly,
    points: Sequence[ContactPoint],
    ground: CompliantGround,
    position: ArrayLike,
    velocity: ArrayLike,
    standing: str | Sequence[str],
) -> tuple[FloatArray, FloatArray]:
    """Return position and rates (F,) [m, rad] with points at rest on the ground under the weight.

    The height of the free base becomes that at which the points bear the weight in statics. The
    rates become those after impulses that stop the points, v - M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁺ J v: of all rates
    with the points at rest the nearest in kinetic energy.
    """
    q, v = coordinates(assembly, position, velocity)
    check_free(assembly)
    if not assembly.coordinate_names[-1].endswith(" base y"):
        raise InputError("assembly: expected a free hip, found a pinned one; leave out `anchor`")
    names = [each.name for each in points]
    wanted = [standing] if isinstance(standing, str) else list(standing)
    if not wanted:
        raise InputError("standing: expected at least one point, found none")
    rests = np.isin(names, [check_in("standing", each, names) for each in wanted])
    contacts = GroundContacts(assembly, points)
    share = assembly.weight / rests.sum() / ground.normal.stiffness
    depth = share ** (1.0 / ground.normal.exponent)
    q[-1] -= contacts.at(q, v).position.imag[rests].mean() + depth
    at = contacts.at(q, v)
    heights = at.position.imag
    if ((heights < 0.0) != rests).any():
        raise InputError(
            f"position: expected the points of `standing` alone in the ground, found heights of "
            f"{np.round(1e3 * heights, 3).tolist()} mm of {names}; change the angles or `standing`"
        )
    rows = at.part(rests).rows()[2]
    to_velocity = np.linalg.solve(assembly.terms(0.0, q, v)[0], rows.T)
    # The points of one rigid foot have dependent rows: the shortest solution is that of all.
    impulse = np.linalg.lstsq(rows @ to_velocity, rows @ v)[0]
    return q, v - to_velocity @ impulse


@dataclass(frozen=True, eq=False)
class RigidImpact:
    """Velocity jump of an impact of P points, tangential values first."""

    #: Rates of the free coordinates after impact (F,) [m/s, rad/s].
    velocity: FloatArray
    #: (P, 2) [N s].
    impulse: FloatArray
    #: before, after (P, 2) [m/s].
    before: FloatArray
    after: FloatArray
    #: Of the kinetic energy, Σ L (v- + v+)/2 [J].
    energy_change: float


def newton_impact(
    assembly: Assembly,
    points: Sequence[ContactPoint],
    position: ArrayLike,
    velocity: ArrayLike,
    *,
    restitution: float,
    friction: float,
) -> RigidImpact:
    """Return the impact of points on the ground, at coordinates and rates (F,) [m, rad].

    `restitution` is Newton's e, `friction` Coulomb's μ [1]. A `SimulationError` tells that the laws
    have no solution.
    """
    check_number("restitution", restitution, at_least=0.0, at_most=1.0)
    check_number("friction", friction, at_least=0.0)
    check_free(assembly)
    q, v = coordinates(assembly, position, velocity)
    rows = GroundContacts(assembly, points).at(q, v).rows()[2]
    to_velocity = np.asarray(np.linalg.solve(assembly.terms(0.0, q, v)[0], rows.T), np.float64)
    return jump(rows, to_velocity, v, v, restitution, friction)


def jump(
    rows: FloatArray,
    to_velocity: FloatArray,
    velocity: FloatArray,
    free: FloatArray,
    restitution: float,
    friction: float,
) -> RigidImpact:
    """Return the jump by J (2 P, F) [1, m] and M⁻¹ Jᵀ (F, 2 P) of rates (F,) [m/s, rad/s]."""
    # `velocity` is that before the impact, `free` that at its end without impulses.
    count = len(rows) // 2
    compliance, before, released = rows @ to_velocity, rows @ velocity, rows @ free
    t, n = slice(count), slice(count, None)
    one, zero, mu = np.eye(count), np.zeros((count, count)), friction * np.eye(count)
    # Unknowns Ln, Lt + μ Ln and λ, the slip against x; rows vn + e vn-, vt + λ and μ Ln - Lt.
    a = np.block([
        [compliance[n, n] - friction * compliance[n, t], compliance[n, t], zero],
        [compliance[t, n] - friction * compliance[t, t], compliance[t, t], one],
        [2.0 * mu, -one, zero],
    ])  # fmt: skip
    b = np.concatenate([released[n] + restitution * before[n], released[t], np.zeros(count)])
    try:
        x = solve_complementarity(a, b).x
    except ComplementarityError as error:
        raise SimulationError(
            f"impact: no impulses satisfy Newton's and Coulomb's laws with restitution "
            f"{restitution:g} and friction {friction:g} at velocities {released}"
        ) from error
    impulse = np.concatenate([x[count : 2 * count] - friction * x[:count], x[:count]])
    moved = free + to_velocity @ impulse
    after = rows @ moved
    work = 0.5 * impulse @ (released + after)
    pairs = [each.reshape(2, -1).T for each in (impulse, before, after)]
    return RigidImpact(moved, pairs[0], pairs[1], pairs[2], float(work))


ANKLES = ("locked", "hinged")
#: The shipped shares.
_SEGMENTS = Path(__file__).with_name("tables") / "segments.csv"
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
