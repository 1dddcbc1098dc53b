"""Segments, joints and bases of chains, links and pins between chains, and their laws."""

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
        check_fields(self, "motion: ", time=(None,), values=(np.size(self.time), None))
        if len(self.time) <= DEGREE or np.diff(self.time).min() <= 0.0:
            raise InputError(
                f"motion: time: expected at least {DEGREE + 1} increasing instants, found "
                f"{self.time.tolist()}"
            )

    def at(self, time: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return quantities, rates and accelerations (K,) [rad or m; s] at a time in the table."""
        start, end = self.time[0], self.time[-1]
        slack = _SLACK * (end - start)
        check_number("time", time, at_least=start - slack, at_most=end + slack, unit="s")
        value, rate, acceleration = (spline(time) for spline in self._splines)
        return value, rate, acceleration

    @cached_property
    def _splines(self) -> tuple[BSpline, BSpline, BSpline]:
        spline = make_interp_spline(self.time, self.values, k=DEGREE)
        return spline, spline.derivative(1), spline.derivative(2)


#: (time [s], coordinates (n,) [rad or m], rates (n,) of a chain) -> torques or forces at its joints
#: (n,) [N m or N].
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
    """Joint of a segment with the proximal one: a pin or, with an axis, a slide that cannot turn.

    A pin has the torque -k (θ - θ0) - d dθ/dt on the distal segment. θ is the angle of the distal
    segment from the proximal one or that of an `Attachment`, else from the x axis. A slide has the
    force -k (s - s0) - d ds/dt along its axis at the displacement s.
    """

    #: k [N m/rad or N/m] and d [N m s/rad or N s/m], >= 0.
    stiffness: float = 0.0
    damping: float = 0.0
    #: θ0 [rad] or s0 [m].
    neutral: float = 0.0
    #: Of a slide: angles of its axis and of the distal segment from the proximal segment [rad].
    axis: float | None = None
    angle: float = 0.0

    def __post_init__(self) -> None:
        check_numbers(self, "joint: ", at_least=0.0, stiffness="", damping="")


@dataclass(frozen=True)
class FreeBase:
    """Base of a chain that floats: no force acts on its first joint."""


@dataclass(frozen=True, eq=False)
class Attachment:
    """Base of a chain on a segment of an earlier chain: the chains form a tree."""

    #: The segment that carries the chain.
    chain: str
    segment: str
    #: Base in the frame of this segment (2,) [m].
    point: FloatArray

    def __post_init__(self) -> None:
        check_fields(self, f"attachment to {self.chain}.{self.segment}: ", point=(2,))


@dataclass(frozen=True, eq=False)
class Chain:
    """Segments in a row, from the base outwards."""

    name: str
    #: At least one, with unique names.
    segments: tuple[ChainSegment, ...]
    #: Base: a fixed point (2,) [m], free, or on another chain.
    base: FreeBase | Attachment | ArrayLike = (0.0, 0.0)
    #: The joint proximal of each segment; by default pins without torque.
    joints: tuple[Joint, ...] = ()
    #: Absolute angles [rad], or displacements [m] of slides, one column a segment: the chain then
    #: is prescribed.
    angles: PrescribedMotion | None = None
    #: Of a free chain: torques or forces at its joints over time and state.
    drive: Drive | None = None

    def __post_init__(self) -> None:
        of, count = f"chain {self.name}:", len(self.segments)
        check_unique(f"{of} segments", [each.name for each in self.segments], some=True)
        if not self.joints:
            object.__setattr__(self, "joints", (Joint(),) * count)
        if len(self.joints) != count:
            raise InputError(f"{of} joints: expected {count}, found {len(self.joints)}")
        if self.angles is not None and self.angles.values.shape[1] != count:
            raise InputError(
                f"{of} angles: expected {count} columns, found {self.angles.values.shape[1]}"
            )
        if isinstance(self.base, FreeBase):
            if self.joints[0].axis is not None or self.segments[0].inertia == 0.0:
                raise InputError(
                    f"{of} base: expected a fixed base of a chain that begins with a slide or a "
                    "point mass, found a free one"
                )
        elif not isinstance(self.base, Attachment):
            check_fields(self, f"{of} ", base=(2,))


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
        check_fields(self, f"{self.called} {self.name}: ", first_point=(2,), second_point=(2,))

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

    A line only pulls, by the tension k (l - l0)ⁿ + c dl/dt at lengths l > l0; with damping, its
    tension jumps where it becomes taut. A bushing has the force k d + c dd/dt between its points,
    apart by d. Both have the torque k' (ψ - ψ0) + c' dψ/dt.
    """

    #: k [N/mⁿ], >= 0.
    stiffness: float
    #: c [N s/m], >= 0.
    damping: float = 0.0
    #: l0 [m], >= 0, of a line.
    rest_length: float = 0.0
    #: The law: "line" or "bushing".
    kind: str = "line"
    #: k' [N m/rad] and c' [N m s/rad], >= 0.
    rotational_stiffness: float = 0.0
    rotational_damping: float = 0.0
    #: ψ0, the angle of the second segment from the first without torque [rad]. Angles are not
    #: reduced to one turn.
    rest_angle: float = 0.0
    #: n [1] of a line, > 0.
    exponent: float = 1.0
    called: ClassVar[str] = "link"

    def __post_init__(self) -> None:
        super().__post_init__()
        of = f"link {self.name}:"
        check_in(f"{of} kind", self.kind, LINK_KINDS)
        check_numbers(
            self, f"{of} ", at_least=0.0, stiffness="N/m^n", damping="N s/m", rest_length="m",
            rotational_stiffness="N m/rad", rotational_damping="N m s/rad",
        )  # fmt: skip
        check_numbers(self, f"{of} ", above=0.0, exponent="")

    def force(self, vector: complex, velocity: complex = 0.0) -> complex:
        """Return the force [N] on the second point at the vector [m] from the first point."""
        if self.kind == "bushing":
            return -self.stiffness * vector - self.damping * velocity
        length = abs(vector)
        if length <= self.rest_length:
            return 0j
        direction = vector / length
        tension = self.stiffness * (length - self.rest_length) ** self.exponent
        tension += self.damping * (direction.conjugate() * velocity).real
        return -max(tension, 0.0) * direction

    def torque(self, angle: float, rate: float) -> float:
        """Return the torque [N m] on the second segment at an angle [rad] and its rate [rad/s]."""
        turned = self.rotational_stiffness * (angle - self.rest_angle)
        return -turned - self.rotational_damping * rate

    def energy(self, vector: complex, angle: float) -> float:
        """Return the energy [J] stored at a vector [m] and an angle [rad]."""
        stretch, power = abs(vector), 2.0
        if self.kind == "line":
            stretch, power = max(stretch - self.rest_length, 0.0), self.exponent + 1.0
        turned = 0.5 * self.rotational_stiffness * (angle - self.rest_angle) ** 2
        return self.stiffness / power * stretch**power + turned

    def dissipation(self, vector: complex, velocity: complex, spin: float) -> float:
        """Return the power [W] lost at a vector [m], its rate [m/s] and that of the angle."""
        viscous = self.force(vector) - self.force(vector, velocity)
        return (viscous.conjugate() * velocity).real + self.rotational_damping * spin**2
