"""Segments, joints and bases of chains, links and pins between chains, and their laws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import BSpline, make_interp_spline

from dynamics.mechanics.planar import ComplexArray, PointMotion
from dynamics.simulator.equations import SimulationError
from foundation.base.checks import (
    FloatArray,
    check_array,
    check_fields,
    check_in,
    check_number,
    check_numbers,
    check_unique,
)
from foundation.base.errors import InputError

#: Degree of the spline; its second derivative is then a cubic spline, accurate to fourth order.
DEGREE = 5
# Share of the table's span by which rounding may carry a time beyond its ends.
_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class PrescribedMotion:
    """Quantities prescribed over time, with first and second derivatives.

    The quintic spline interpolates every row (ends "not-a-knot"). The second derivative amplifies
    noise: smooth measured data first.
    """

    #: Strictly increasing (T,) [s], T >= 6.
    time: FloatArray
    #: The quantities, one in each column (T, K) [rad or m].
    values: FloatArray

    def __post_init__(self) -> None:
        time = check_array("motion: time", self.time, (None,))
        if len(time) <= DEGREE:
            raise InputError(
                f"motion: time: expected at least {DEGREE + 1} rows, found {len(time)}"
            )
        steps = np.diff(time)
        if steps.min() <= 0.0:
            row = int(np.argmin(steps > 0.0)) + 1
            raise InputError(
                f"motion: time: expected increasing times, found {time[row]:g} s in row {row} "
                f"after {time[row - 1]:g} s"
            )
        check_fields(self, "motion: ", time=(None,), values=(len(time), None))

    @property
    def columns(self) -> int:
        """Number of quantities, K."""
        return self.values.shape[1]

    def at(self, time: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return quantities, rates and accelerations (K,) [rad or m; s] at a time in the table."""
        start, end = self.time[0], self.time[-1]
        slack = _SLACK * (end - start)
        if not start - slack <= time <= end + slack:
            raise InputError(
                f"time: expected {start:g} to {end:g} s, which the table covers, found {time:g}"
            )
        value, rate, acceleration = (spline(time) for spline in self._splines)
        return value, rate, acceleration

    @cached_property
    def _splines(self) -> tuple[BSpline, BSpline, BSpline]:
        spline = make_interp_spline(self.time, self.values, k=DEGREE)
        return spline, spline.derivative(1), spline.derivative(2)


#: (time [s], angles (n,) [rad], rates (n,) [rad/s]) of a chain -> torques at its joints (n,) [N m].
#: A sliding joint has its displacement [m] and speed [m/s] there, and takes a force [N].
Drive: TypeAlias = Callable[[float, FloatArray, FloatArray], ArrayLike]
#: Laws of a link.
LINK_KINDS = ("line", "bushing")
#: End of a link or closure on the ground; its point is stated in the global frame.
GROUND = ("", "")


@dataclass(frozen=True, eq=False)
class ChainSegment:
    """One rigid segment of a chain."""

    name: str
    #: Distal joint: its distance along x, > 0, or its place in the frame of the segment (2,) [m].
    length: ArrayLike
    #: Mass [kg], > 0.
    mass: float
    #: Moment of inertia about the centre of mass [kg m²], >= 0; zero for a point mass off the
    #: proximal joint.
    inertia: float
    #: Centre of mass in the frame of the segment, whose origin is the proximal joint (2,) [m].
    centre: FloatArray

    def __post_init__(self) -> None:
        of = f"segment {self.name}:"
        if np.ndim(self.length):
            check_fields(self, f"{of} ", length=(2,))
        else:
            check_numbers(self, f"{of} ", above=0.0, length="m")
        check_numbers(self, f"{of} ", above=0.0, mass="kg")
        check_numbers(self, f"{of} ", at_least=0.0, inertia="kg m²")
        check_fields(self, f"{of} ", centre=(2,))
        if self.inertia == 0.0 and not self.centre.any():
            raise InputError(f"{of} inertia: expected > 0 kg m² about the proximal joint, found 0")

    @property
    def end(self) -> complex:
        """Distal joint in the frame of the segment [m]."""
        return complex(*np.atleast_1d(self.length))


@dataclass(frozen=True)
class Joint:
    """Passive torque of a pin joint, -k (θ - θ0) - d dθ/dt on the distal segment.

    θ is the angle of the distal segment from the proximal one. At the base it is the angle from the
    segment of an `Attachment`, else from the x axis.
    """

    #: k [N m/rad] and d [N m s/rad], >= 0.
    stiffness: float = 0.0
    damping: float = 0.0
    #: θ0 [rad].
    neutral: float = 0.0

    def __post_init__(self) -> None:
        check_numbers(self, "joint: ", at_least=0.0, stiffness="N m/rad", damping="N m s/rad")
        check_numbers(self, "joint: ", neutral="rad")


@dataclass(frozen=True)
class SlidingJoint:
    """Sliding pair: the distal segment moves by s along an axis and cannot turn.

    The passive force along the axis on the distal segment is -k (s - s0) - d ds/dt. Angles are
    those from the proximal segment or the segment of an `Attachment`, else from the x axis.
    """

    #: Angle of the axis [rad].
    axis: float = 0.0
    #: Angle of the distal segment, constant [rad].
    angle: float = 0.0
    #: k [N/m] and d [N s/m], >= 0.
    stiffness: float = 0.0
    damping: float = 0.0
    #: s0 [m].
    neutral: float = 0.0

    def __post_init__(self) -> None:
        check_numbers(self, "sliding joint: ", axis="rad", angle="rad", neutral="m")
        check_numbers(self, "sliding joint: ", at_least=0.0, stiffness="N/m", damping="N s/m")


@dataclass(frozen=True)
class FreeBase:
    """Base of a chain that floats: no force acts on its first joint."""


@dataclass(frozen=True, eq=False)
class Attachment:
    """Base of a chain on a segment of another chain: the chains form a tree."""

    #: The segment that carries the chain.
    chain: str
    segment: str
    #: Base in the frame of this segment (2,) [m].
    point: FloatArray
    #: Whether the prescribed angles of the chain are those from this segment, as they must be on a
    #: free segment; else, and for free chains, they are absolute.
    relative: bool = False

    def __post_init__(self) -> None:
        check_fields(self, f"attachment to {self.chain}.{self.segment}: ", point=(2,))


@dataclass(frozen=True, eq=False)
class Chain:
    """Segments in a row, from the base outwards."""

    name: str
    #: At least one, with unique names.
    segments: tuple[ChainSegment, ...]
    #: Base: a fixed point (2,) [m], the path of a point with columns x and y [m], free, or on
    #: another chain. The ground carries fixed points and paths: a base that moves with a segment
    #: needs an `Attachment`.
    base: PrescribedMotion | FreeBase | Attachment | ArrayLike = (0.0, 0.0)
    #: The joint proximal of each segment; by default pins without torque.
    joints: tuple[Joint | SlidingJoint, ...] = ()
    #: Absolute angles [rad], or displacements [m] of sliding joints, one column a segment: the
    #: chain then is prescribed.
    angles: PrescribedMotion | None = None
    #: Of a free chain: (time [s], angles or displacements (n,) [rad or m], their rates) to torques
    #: or forces (n,) at its joints [N m or N].
    drive: Drive | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("chain: name: expected a name, found '', the name of the ground")
        of = f"chain {self.name}:"
        count = len(self.segments)
        check_unique(f"{of} segments", self.segment_names, some=True)
        if self.joints and len(self.joints) != count:
            raise InputError(f"{of} joints: expected {count}, found {len(self.joints)}")
        if self.angles is not None and self.angles.columns != count:
            raise InputError(f"{of} angles: expected {count} columns, found {self.angles.columns}")
        if self.angles is not None and self.drive is not None:
            raise InputError(
                f"{of} drive: expected none with prescribed angles, found a drive; leave out one "
                "of both"
            )
        self._check_base(of)

    def _check_base(self, of: str) -> None:
        """Raise an InputError unless base, first joint and first segment suit each other."""
        if isinstance(self.base, PrescribedMotion):
            if self.base.columns != 2:
                raise InputError(f"{of} base: expected 2 columns, found {self.base.columns}")
        elif isinstance(self.base, FreeBase):
            if isinstance(self.all_joints[0], SlidingJoint):
                raise InputError(
                    f"{of} joints: expected a pin joint first with a free base, which already "
                    "moves, found a sliding joint"
                )
            if self.segments[0].inertia == 0.0:
                raise InputError(
                    f"{of} segments: expected a first segment of inertia > 0 kg m² with a free "
                    "base, found 0"
                )
        elif isinstance(self.base, Attachment):
            if self.base.relative and self.angles is None:
                raise InputError(
                    f"{of} base: expected prescribed angles with a relative attachment, found none"
                )
        else:
            check_fields(self, f"{of} ", base=(2,))

    @property
    def segment_names(self) -> tuple[str, ...]:
        """Names of the segments, from the base outwards."""
        return tuple(each.name for each in self.segments)

    @property
    def all_joints(self) -> tuple[Joint | SlidingJoint, ...]:
        """The joint proximal of each segment, n of them, also if none are stated."""
        return self.joints or (Joint(),) * len(self.segments)


@dataclass(frozen=True, eq=False)
class Connection:
    """Connection of points (2,) [m] of two segments, (chain, segment), or of one and the ground."""

    name: str
    first: tuple[str, str]
    first_point: FloatArray
    second: tuple[str, str]
    second_point: FloatArray
    #: Kind of the connection in messages.
    called: ClassVar[str]

    def __post_init__(self) -> None:
        check_fields(self, f"{self.label}: ", first_point=(2,), second_point=(2,))
        if self.first == self.second:
            raise InputError(
                f"{self.label}: second: expected a segment other than {self.first}, found the same"
            )

    @property
    def label(self) -> str:
        """Kind and name, for messages."""
        return f"{self.called} {self.name}"

    @property
    def ends(self) -> tuple[tuple[float, tuple[str, str], FloatArray], ...]:
        """Sign in the vector from the first point [1], (chain, segment) and point (2,) [m]."""
        return (-1.0, self.first, self.first_point), (1.0, self.second, self.second_point)


@dataclass(frozen=True, eq=False)
class PinClosure(Connection):
    """A pin that holds points of two segments together and so closes a structure."""

    called: ClassVar[str] = "closure"


@dataclass(frozen=True, eq=False)
class ViscoelasticLink(Connection):
    """A visco-elastic link between two segments, or a segment and the ground.

    A line has the tension k (l - l0)ⁿ + c dl/dt, a bushing the force k d + c dd/dt between its
    points, apart by d. Both have the torque k' (ψ - ψ0) + c' dψ/dt.
    """

    #: k [N/mⁿ], >= 0.
    stiffness: float
    #: c [N s/m], >= 0.
    damping: float = 0.0
    #: l0 [m], >= 0; zero for a bushing.
    rest_length: float = 0.0
    #: The law: "line" or "bushing".
    kind: str = "line"
    #: k' [N m/rad] and c' [N m s/rad], >= 0.
    rotational_stiffness: float = 0.0
    rotational_damping: float = 0.0
    #: ψ0, the angle of the second segment from the first without torque [rad]. Angles are not
    #: reduced to one turn.
    rest_angle: float = 0.0
    #: Whether a line only pulls. With damping, its tension jumps from 0 to c dl/dt where the line
    #: becomes taut.
    pull_only: bool = False
    #: n [1], > 0; 1 for a bushing.
    exponent: float = 1.0
    called: ClassVar[str] = "link"

    def __post_init__(self) -> None:
        super().__post_init__()
        of = f"{self.label}:"
        check_in(f"{of} kind", self.kind, LINK_KINDS)
        check_numbers(
            self, f"{of} ", at_least=0.0, damping="N s/m",
            stiffness="N/m" if self.exponent == 1.0 else "N/m^n",
            rotational_stiffness="N m/rad", rotational_damping="N m s/rad",
        )  # fmt: skip
        check_numbers(self, f"{of} ", rest_angle="rad")
        check_numbers(self, f"{of} ", above=0.0, exponent="")
        longest = 0.0 if self.kind == "bushing" else None
        check_number(f"{of} rest_length", self.rest_length, at_least=0.0, at_most=longest, unit="m")
        if self.kind == "bushing" and (self.pull_only or self.exponent != 1.0):
            name = "pull_only" if self.pull_only else "exponent"
            raise InputError(f"{of} {name}: expected the kind 'line', found {self.kind!r}")


#: Distance under which two points count as one, so that a line has no direction [m].
SHORTEST_LINE = 1e-9


class LinkLaws(NamedTuple):
    """Laws of L links; every field (L,) has one entry per link [N/m, N s/m, m]."""

    names: tuple[str, ...]
    is_line: np.ndarray
    pulls_only: np.ndarray
    #: k [N/mⁿ], c [N s/m], l0 [m], n [1].
    stiffness: FloatArray
    damping: FloatArray
    rest_length: FloatArray
    exponent: FloatArray
    #: k' [N m/rad], c' [N m s/rad], ψ0 [rad].
    turning_stiffness: FloatArray
    turning_damping: FloatArray
    rest_angle: FloatArray

    @classmethod
    def of(cls, links: Sequence[ViscoelasticLink]) -> LinkLaws:
        """Return the laws of a possibly empty sequence of links."""
        fields = ("stiffness", "damping", "rest_length", "exponent", "rotational_stiffness",
                  "rotational_damping", "rest_angle")  # fmt: skip
        return cls(
            tuple(each.name for each in links),
            np.array([each.kind == "line" for each in links], dtype=np.bool_),
            np.array([each.pull_only for each in links], dtype=np.bool_),
            *(np.array([getattr(each, name) for each in links], dtype=float) for name in fields),
        )

    def forces(self, vector: ComplexArray, velocity: ComplexArray) -> ComplexArray:
        """Return the force (L,) [N] on the second point of links with vectors (L,) [m]."""
        length = np.abs(vector)
        idle = self.pulls_only & (length <= self.rest_length)
        acts = self.is_line & ~idle & ((self.stiffness > 0.0) | (self.damping > 0.0))
        if (coinciding := acts & (length < SHORTEST_LINE)).any():
            raise SimulationError(
                f"link {self.names[int(np.argmax(coinciding))]}: the points of a line coincide and "
                "define no direction; use the kind 'bushing' for points held together"
            )
        direction = vector / np.where(length > 0.0, length, 1.0)
        tension = self._elastic(length) + self.damping * (direction.conj() * velocity).real
        tension = np.where(idle | (self.pulls_only & (tension <= 0.0)), 0.0, tension)
        held = self.stiffness * vector + self.damping * velocity
        return -np.where(self.is_line, tension * direction, held)

    def _elastic(self, length: FloatArray) -> FloatArray:
        """Return the elastic tension (L,) [N] of lines."""
        stretch = length - self.rest_length
        return self.stiffness * np.sign(stretch) * np.abs(stretch) ** self.exponent

    def torques(self, angle: FloatArray, rate: FloatArray) -> FloatArray:
        """Return the torque (L,) [N m] on the second segments at angles and rates (L,) [rad]."""
        return -self.turning_stiffness * (angle - self.rest_angle) - self.turning_damping * rate

    def energy(self, vector: ComplexArray, angle: FloatArray) -> float:
        """Return the energy [J] stored in links with vectors (L,) [m] and angles (L,) [rad]."""
        stretch = np.abs(vector) - self.rest_length
        stretch = np.where(self.pulls_only, np.maximum(stretch, 0.0), np.abs(stretch))
        power = self.exponent + 1.0
        turn = self.turning_stiffness @ (angle - self.rest_angle) ** 2
        return float((self.stiffness / power) @ stretch**power + 0.5 * turn)

    def dissipation(
        self, vector: ComplexArray, velocity: ComplexArray, turning: FloatArray
    ) -> float:
        """Return the power lost [W] with vectors (L,) [m] and rates of them and of the angles."""
        if not (self.damping.any() or self.turning_damping.any()):
            return 0.0
        taken = -(self.forces(vector, velocity).conj() * velocity).real
        length = np.abs(vector)
        along = (vector.conj() * velocity).real
        slack = self.pulls_only & (length <= self.rest_length)
        line = np.where(slack, 0.0, self._elastic(length)) / np.where(length > 0.0, length, 1.0)
        stored = np.where(self.is_line, line, self.stiffness) * along
        return float((taken - stored).sum() + self.turning_damping @ turning**2)


#: Ratio of singular values under which closures count as dependent.
DEPENDENT = 1e-9
#: Gap [m] and its rate [m/s] of a closed structure, and of a state in which forces are evaluated.
CLOSED, LARGEST_GAP = 1e-13, 1e-6
#: Most Newton steps to a closed structure, and longest change of a coordinate in one [rad or m].
STEPS, LONGEST_STEP = 50, 0.5


class Terms(NamedTuple):
    """M (n, n) [kg m²], b, Q (n,) [N m], and the motion of centres, links and closures."""

    mass: FloatArray
    bias: FloatArray
    force: FloatArray
    centres: PointMotion
    links: PointMotion
    closures: PointMotion


def close_state(
    state: FloatArray,
    free: NDArray[np.bool_],
    at: Callable[[FloatArray], Terms],
    reach: float,
) -> None:
    """Close the state (2, n) [rad or m; s] in place, by changes of the free coordinates (n,)."""
    # Rounding grows with the distance from the origin.
    scale = max(1.0, reach, np.abs(state[0]).max())
    for _ in range(STEPS):
        terms, weighted = _weighted(state, free, at)
        gap = terms.closures.rows()[0]
        if np.abs(gap).max() <= CLOSED * scale:
            break
        change = weighted @ gap
        state[0, free] -= change / max(1.0, np.abs(change).max() / LONGEST_STEP)
    else:
        raise InputError(
            f"closures: expected a closed structure near the stated one, found gaps of "
            f"{np.abs(gap).max():.3g} m after {STEPS} Newton steps: start closer"
        )
    for _ in range(2):  # the second step takes the rounding of the first
        terms, weighted = _weighted(state, free, at)
        state[1, free] -= weighted @ terms.closures.rows()[1]


def _weighted(
    state: FloatArray, free: NDArray[np.bool_], at: Callable[[FloatArray], Terms]
) -> tuple[Terms, FloatArray]:
    """Return the terms and M⁻¹ Gᵀ (G M⁻¹ Gᵀ)⁻¹ of the free coordinates, (F, 2 C)."""
    terms = at(state)
    rows = terms.closures.rows()[2][:, free]
    if not independent(rows):
        raise InputError(
            "closures: expected independent closures of free segments, found dependent "
            "closures or closures of fixed segments: remove closures, or start away from the "
            "dead point"
        )
    spread = np.linalg.solve(terms.mass[np.ix_(free, free)], rows.T)
    return terms, np.linalg.solve((rows @ spread).T, spread.T).T


def independent(rows: FloatArray) -> bool:
    """Return whether the rows of a Jacobian (m, F) [m or 1] are independent."""
    if rows.shape[0] > rows.shape[1]:
        return False
    values = np.linalg.svd(rows, compute_uv=False)
    return bool(values[-1] > DEPENDENT * values[0])


def check_closed(gap: float, speed: float) -> None:
    """Raise an InputError if a largest gap [m] or its rate [m/s] is too large."""
    if max(gap, speed) > LARGEST_GAP:
        raise InputError(
            f"position, velocity: expected a state that leaves closures open by at most "
            f"{LARGEST_GAP:g} m and opening by at most {LARGEST_GAP:g} m/s, found {gap:.3g} m and "
            f"{speed:.3g} m/s: take the nearest closed state from Assembly.close"
        )


@dataclass(frozen=True, eq=False)
class Instant:
    """State and forces at one time, of N segments, K chains, L links, C closures, M sliding joints.

    Forces and positions are in the global frame.
    """

    #: Absolute, of the segments (N,) [rad, rad/s, rad/s²].
    angles: FloatArray
    rates: FloatArray
    accelerations: FloatArray
    #: Driving torque (of a sliding joint force) at the joint proximal of each segment, positive on
    #: that segment (N,) [N m or N]: prescribed chains need it, free chains have it from their
    #: drive; without the passive torques.
    torques: FloatArray
    #: Force on the second point (L, 2), (C, 2) [N]; the opposite acts on the first.
    link_forces: FloatArray
    #: Kinetic energy, and potential energy of gravity, joints and links [J].
    kinetic: Any
    potential: Any
    #: Torque on the second segment of each link (L,) [N m].
    link_torques: FloatArray
    closure_forces: FloatArray
    #: Force and moment on each segment at its proximal joint (N, 2), (N,) [N, N m]; the moment is
    #: passive torque and drive of a pin, that of the guide of a sliding joint.
    joint_forces: FloatArray
    joint_moments: FloatArray
    #: Linear (2,) [kg m/s], and angular about the origin [kg m²/s].
    momentum: FloatArray
    angular_momentum: Any
    #: Proximal joints of the segments (N, 2) [m].
    joints: FloatArray
    #: Displacements of the sliding joints (M,) [m, m/s, m/s²].
    slides: FloatArray
    slide_rates: FloatArray
    slide_accelerations: FloatArray
    #: Bases of the chains (K, 2) [m, m/s, m/s²].
    bases: FloatArray
    base_rates: FloatArray
    base_accelerations: FloatArray
    #: Force on the first segment of each chain at its base (K, 2) [N]; zero of a free base.
    base_forces: FloatArray


@dataclass(frozen=True, eq=False)
class ChainsResult(Instant):
    """Motion and forces of an assembly at T instants.

    Every field of `Instant` has the instants along a new first axis, such as `angles`, (T, N)
    [rad], and `kinetic`, (T,) [J].
    """

    #: Instants (T,) [s].
    time: FloatArray
    #: Largest gap of a closure in the integration, before it was closed (T,) [m].
    drift: FloatArray

    @property
    def energy(self) -> FloatArray:
        """Kinetic and potential energy together, (T,) [J]."""
        return self.kinetic + self.potential
