"""Segments, joints and bases of chains, and the links and pins between chains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BSpline, make_interp_spline

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
        check_members(f"{of} segments", self.segments, ChainSegment)
        check_members(f"{of} joints", self.joints, Joint, SlidingJoint)
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
        for end in ("first", "second"):
            check_place(f"{self.label}: {end}", getattr(self, end))
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


def check_place(name: str, where: object) -> None:
    """Raise an InputError that calls it by a name unless this is (chain, segment)."""
    if not (isinstance(where, tuple) and [type(each) for each in where] == [str, str]):
        raise InputError(f"{name}: expected (chain, segment), found {where!r}")


def check_members(name: str, members: object, *kinds: type) -> None:
    """Raise an InputError that calls the members by a name unless they are a tuple of the kinds."""
    if isinstance(members, tuple | list) and all(isinstance(each, kinds) for each in members):
        return
    expected = " or ".join(kind.__name__ for kind in kinds)
    raise InputError(
        f"{name}: expected a tuple of {expected}, (one,) for a single one, found {members!r:.80}"
    )
