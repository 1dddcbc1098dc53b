"""Points of an assembly strike compliant ground y = 0, with stick-slip friction.

At the height d < 0, Fn = max(0, -d/eps - beta d') (Kaplan, Hovey & Heegaard); docs/mechanics.md
derives the energies. Where a point leaves faster than the ground follows (Fn = 0, d < 0), the
energy left in the spring is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.mechanics.chains.assembly import Assembly
from dynamics.mechanics.chains.parts import check_place
from dynamics.mechanics.contact import CompliantGround, ContactProblem, Located, StrikeResult
from dynamics.mechanics.planar import PointMotion, Pose
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
        check_place(f"contact point {self.name}: segment", self.segment)
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
        check_unique("contact points", [each.name for each in points], some=True)
        for each in points:
            check_in(f"contact point {each.name}: segment", ".".join(each.segment),
                     assembly.columns)  # fmt: skip
        self._assembly = assembly
        self.names = tuple(each.name for each in points)
        self._bodies = np.array([assembly.index(each.segment) for each in points], dtype=np.int64)
        self._places = np.array([complex(*np.asarray(each.position)) for each in points])
        self._normals = np.full(len(points), 1j)

    def at(self, position: FloatArray, velocity: FloatArray) -> PointMotion:
        """Return the motion of the points at free coordinates (F,) [rad, m] and their rates."""
        state = self._assembly.state(0.0, position, velocity)
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
) -> StrikeResult:
    """Return the motion of an assembly, such as two legs, above and on the ground, for a time [s].

    It starts from free coordinates and rates (F,) [m, rad]; `samples` is the number of equally
    spaced instants of the result.
    """
    check_number("duration", duration, above=0.0, unit="s")
    count = check_count("samples", samples, at_least=2)
    if not isinstance(ground, CompliantGround):
        raise InputError(f"ground: expected a CompliantGround, found {ground!r}")
    problem = ContactProblem(assembly, GroundContacts(assembly, points), ground)
    q, v = coordinates(assembly, position, velocity)
    times = np.linspace(0.0, duration, count)
    return problem.simulate(
        q, v, times, name="ground contact", atol=1e-10, rtol=1e-9, method="LSODA"
    )[0]


def coordinates(
    assembly: Assembly, position: ArrayLike, velocity: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return checked free coordinates and rates, (F,) each [rad, m]."""
    count = len(assembly.coordinate_names)
    q = check_array("position", position, (count,))
    return q, check_array("velocity", velocity, (count,))


def check_free(assembly: Assembly) -> None:
    """Raise an InputError unless impulses move every coordinate."""
    if len(assembly.coordinate_names) < assembly.tree.turning.shape[1]:
        raise InputError(
            "assembly: expected free chains on fixed or free bases under impulses, found "
            "prescribed angles or paths; simulate them with `simulate_strike`"
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
    _check_heights(names, at.position.imag, rests)
    rows = PointMotion(*(each[rests] for each in at)).rows()[2]
    to_velocity = np.linalg.solve(assembly.terms(0.0, q, v)[0], rows.T)
    # The points of one rigid foot have dependent rows: the shortest solution is that of all.
    impulse = np.linalg.lstsq(rows @ to_velocity, rows @ v)[0]
    return q, v - to_velocity @ impulse


def _check_heights(names: Sequence[str], heights: FloatArray, rests: NDArray[np.bool_]) -> None:
    """Raise `InputError` unless exactly the points at rest are in the ground."""
    for name, height, stands in zip(names, heights, rests, strict=True):
        if stands != (height < 0.0):
            where = "in the ground" if stands else "above the ground"
            raise InputError(
                f"position: expected {name} {where}, found {name} at a height of "
                f"{1e3 * height:.3g} mm; change the angles or the points in `standing`"
            )
