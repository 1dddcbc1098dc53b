"""Planar profiles of articular surfaces as polar splines ρ(θ) about the origin of their frame.

A profile is star-shaped about the origin and counterclockwise, as in Machado et al. (2010,
Nonlinear Dyn 60:459-478); docs/mechanics.md states tangent, outward normal, curvature (positive
where the body is convex), and the conditions of contact points. Splines are "cubic", "akima" (Akima
1970, J ACM 17:589-602), or "pchip", without extrema between the samples (Fritsch & Butland 1984,
SIAM J Sci Stat Comput 5:300-304). The conditions are regular at the touch, and Newton's method has
their Jacobian; the separation is a minimum if κ_f + κ_t + κ_f κ_t gap is positive. Points and
vectors of the plane are complex numbers x + i y.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import Akima1DInterpolator, CubicSpline, PchipInterpolator, PPoly
from scipy.ndimage import minimum_filter

from dynamics.mechanics.planar import ComplexArray
from dynamics.simulator.equations import SimulationError
from foundation.base.checks import (
    FloatArray,
    check_array,
    check_fields,
    check_in,
    check_number,
    check_numbers,
)
from foundation.base.errors import InputError

_LOCAL: dict[str, Callable[[FloatArray, FloatArray], PPoly]] = {
    "akima": Akima1DInterpolator,
    "pchip": PchipInterpolator,
}
#: Kinds of splines.
PROFILE_KINDS = ("cubic", *_LOCAL)
#: Samples at either side of an interval that a local spline uses, plus one.
_OVERLAP = 4
_LEAST_SAMPLES = 5


class ProfilePoints(NamedTuple):
    """Points of a profile, every field of any shape, that of their angles [rad]."""

    #: [m].
    position: ComplexArray
    #: Unit tangents [1]; the outward normals are -i times these.
    tangent: ComplexArray
    #: [1/m].
    curvature: FloatArray
    #: |r'| [m/rad].
    speed: FloatArray


@dataclass(frozen=True, eq=False)
class PolarProfile:
    """Star-shaped profile through samples, closed or an open arc."""

    #: Angles θ of the samples (n,) [rad], strictly increasing over less than 2π; n >= 5. A closed
    #: profile continues from the last sample to the first.
    angle: FloatArray
    #: Radii ρ of the samples (n,) [m], > 0.
    radius: FloatArray
    #: Spline between the samples: "cubic", "akima" or "pchip".
    kind: str = "cubic"
    #: Whether the profile is closed.
    closed: bool = False

    def __post_init__(self) -> None:
        check_fields(self, "profile ", angle=(None,), radius=(np.size(self.angle),))
        check_in("profile kind", self.kind, PROFILE_KINDS)
        steps, whole = np.diff(self.angle), 2.0 * np.pi
        if len(steps) < _LEAST_SAMPLES - 1 or steps.min() <= 0.0 or steps.sum() >= whole:
            raise InputError(
                f"profile angle: expected {_LEAST_SAMPLES} or more strictly increasing angles over "
                "less than 2 pi (samples counterclockwise, star-shaped about the origin), found "
                f"{self.angle.tolist()}"
            )
        places = np.linspace(self.angle[0], self.angle[-1], 16 * len(self.angle))
        low = self._spline(places)[:, 0].min()
        check_number("profile radius: the least, also between samples", low, above=0.0, unit="m")

    @classmethod
    def from_points(cls, points: ArrayLike, kind: str = "cubic", *, closed: bool = False) -> Self:
        """Return the profile through points (n, 2) [m], counterclockwise about the origin."""
        x, y = check_array("profile points", points, (None, 2)).T
        return cls(np.unwrap(np.arctan2(y, x)), np.hypot(x, y), kind, closed)

    @classmethod
    def circle(cls, radius: float, samples: int = 72, kind: str = "cubic") -> Self:
        """Return a circle of a radius [m] about the origin."""
        angle = 2.0 * np.pi * np.arange(samples) / samples
        return cls(angle, np.full(samples, float(radius)), kind, closed=True)

    @classmethod
    def line(
        cls, distance: float, half_angle: float, samples: int = 81, kind: str = "cubic"
    ) -> Self:
        """Return the line ξ = distance [m] between angles ± half_angle [rad], 0 to π/2."""
        angle = np.linspace(-half_angle, half_angle, samples)
        return cls(angle, distance / np.cos(angle), kind)

    @cached_property
    def _spline(self) -> PPoly:
        """ρ, ρ' and ρ'' over θ."""
        angle, radius = self.angle, self.radius
        if self.closed:
            lap = _OVERLAP if self.kind in _LOCAL else 0
            before, after = slice(len(angle) - lap, None), slice(lap + 1)
            turn = 2.0 * np.pi
            angle = np.concatenate((angle[before] - turn, angle, angle[after] + turn))
            radius = np.concatenate((radius[before], radius, radius[after]))
        if self.kind in _LOCAL:
            spline = _LOCAL[self.kind](angle, radius)
        else:
            spline = CubicSpline(angle, radius, bc_type="periodic" if self.closed else "not-a-knot")
        parts = [spline.c, *(spline.derivative(order).c for order in (1, 2))]
        padded = [np.pad(part, ((4 - len(part), 0), (0, 0))) for part in parts]
        return PPoly(np.stack(padded, axis=-1), spline.x)

    def wrapped(self, angle: Any) -> Any:
        """Return angles [rad], of a closed profile reduced to the range of the samples."""
        low = self.angle[0]
        return low + (angle - low) % (2.0 * np.pi) if self.closed else angle

    def contains(self, angle: float) -> bool:
        """Return whether the profile has a point at this angle [rad]."""
        return self.closed or bool(self.angle[0] <= angle <= self.angle[-1])

    def at(self, angle: ArrayLike) -> ProfilePoints:
        """Return the points at angles [rad] of any shape."""
        values, unit = self._spline(self.wrapped(angle)), np.exp(1j * np.asarray(angle))
        rho, first, second = values[..., 0], values[..., 1], values[..., 2]
        along = (first + 1j * rho) * unit
        speed = np.abs(along)
        curvature = (rho * rho + 2.0 * first * first - rho * second) / speed**3
        return ProfilePoints(rho * unit, along / speed, curvature, speed)


#: Tolerance of both conditions, the second relative to the size of the femur.
TOLERANCE = 1e-12
_ITERATIONS = 40
_LARGEST_STEP = 0.3
_HALVINGS = 6
#: Samples of each profile and largest number of starts in a search without a start.
_GRID = 181
_STARTS = 16

Angles = tuple[float, float]


@dataclass(frozen=True, eq=False)
class ContactLocation:
    """Point where two bodies touch or are closest, global frame."""

    #: Distance along the normal [m]; minus the indentation of overlapping bodies.
    gap: float
    #: On the femur [m].
    point: complex
    #: Outward normal of the femur [1].
    normal: complex
    #: θ on femur and tibia [rad], start of the next search.
    angles: Angles | None = None

    @property
    def on_tibia(self) -> complex:
        """The point on the tibia [m]."""
        return self.point + self.gap * self.normal


class ContactGeometry(Protocol):
    """Geometry of a joint as `dynamics.mechanics.planar_knee` uses it."""

    def contact(
        self, place: complex, turn: complex, start: Angles | None = None
    ) -> ContactLocation:
        """Return the contact point for the tibia at a place [m], turned by exp(i φ) [1]."""
        ...


class _Conditions(NamedTuple):
    """Both conditions at angles on femur and tibia."""

    #: Sine and cosine between the tangents, distances along the femur's and its normal [1, m].
    across: Any
    cosine: Any
    along: Any
    gap: Any
    femur: ProfilePoints
    tibia: ProfilePoints
    #: Size of the femur, which the distance along the tangent is relative to [m].
    scale: float

    @property
    def size(self) -> float:
        return abs(complex(self.across, self.along / self.scale))

    @property
    def least(self) -> bool:
        """Whether the separation is a minimum where both conditions hold."""
        femur, tibia = self.femur.curvature, self.tibia.curvature
        return bool(self.cosine < 0.0 and femur + tibia + femur * tibia * self.gap > 0.0)

    def step(self) -> Angles:
        """Return Newton's step of both angles, shortened to the largest allowed."""
        f, t = self.femur, self.tibia
        a, b = -f.curvature * self.cosine * f.speed, t.curvature * self.cosine * t.speed
        c, d = -(1.0 + f.curvature * self.gap) * f.speed, self.cosine * t.speed
        determinant = a * d - b * c or math.inf
        femur = (b * self.along - d * self.across) / determinant
        tibia = (c * self.across - a * self.along) / determinant
        factor = _LARGEST_STEP / max(abs(femur), abs(tibia), _LARGEST_STEP)
        return factor * femur, factor * tibia


@dataclass(frozen=True, eq=False)
class ProfileContact:
    """Free contact of profiles: femur in the fixed frame, tibia in that of its centre of mass."""

    femur: PolarProfile
    tibia: PolarProfile

    def contact(
        self, place: complex, turn: complex, start: Angles | None = None
    ) -> ContactLocation:
        """Return the contact point of a tibia at a place [m], turned by exp(i φ), from `start`."""
        # Without a start, or if that fails, the search covers all common normals and takes the
        # least gap; concave profiles may have several. `SimulationError` if there is none, as
        # beyond an open end.
        followed = None if start is None else self._newton(place, turn, start)
        if followed is not None:
            return followed
        femur, tibia = _grid(self.femur), _grid(self.tibia)
        at = self._conditions(place, turn, femur[:, None], tibia)
        miss = (at.along / at.scale) ** 2 + 2.0 * (
            1.0 + at.cosine
        )  # -1 where the normals are opposed
        least = (miss == minimum_filter(miss, 3, mode="nearest")) & (at.cosine < 0.0)
        rows, columns = np.nonzero(least)
        best = np.argsort(miss[rows, columns], kind="stable")[:_STARTS]
        starts = zip(femur[rows[best]], tibia[columns[best]], strict=True)
        found = [self._newton(place, turn, each) for each in starts]
        contact = min((e for e in found if e is not None), key=lambda e: e.gap, default=None)
        if contact is None:
            raise SimulationError(
                f"femur and tibia at ({place.real:g} m, {place.imag:g} m, {np.angle(turn):g} rad): "
                "expected a common normal of the profiles, found none; extend an open profile"
            )
        return contact

    def _newton(self, place: complex, turn: complex, angles: Angles) -> ContactLocation | None:
        """Return the contact point by Newton's method with step halving, or None."""
        now = self._conditions(place, turn, *angles)
        for _ in range(_ITERATIONS):
            if now.size < TOLERANCE:
                wrapped = self.femur.wrapped(angles[0]), self.tibia.wrapped(angles[1])
                point, normal = complex(now.femur.position), complex(-1j * now.femur.tangent)
                found = ContactLocation(float(now.gap), point, normal, wrapped)
                return found if now.least else None
            step = now.step()
            for halving in range(_HALVINGS):
                tried = angles[0] + 0.5**halving * step[0], angles[1] + 0.5**halving * step[1]
                if self.femur.contains(tried[0]) and self.tibia.contains(tried[1]):
                    then = self._conditions(place, turn, *tried)
                    if then.size < now.size:
                        break
            else:
                return None
            angles, now = tried, then
        return None

    def _conditions(self, place: complex, turn: complex, femur: Any, tibia: Any) -> _Conditions:
        """Return the conditions at angles [rad], of shapes that broadcast, on femur and tibia."""
        f, t = self.femur.at(femur), self.tibia.at(tibia)
        back = f.tangent.conjugate()
        apart = back * (place + turn * t.position - f.position)
        # Cross and scalar product of the normals equal those of the tangents.
        other = back * turn * t.tangent
        scale = float(self.femur.radius[0])
        return _Conditions(other.imag, other.real, apart.real, -apart.imag, f, t, scale)


def _grid(profile: PolarProfile) -> FloatArray:
    low = profile.angle[0]
    high = low + 2.0 * np.pi if profile.closed else profile.angle[-1]
    return np.linspace(low, high, _GRID, endpoint=not profile.closed)


@dataclass(frozen=True, eq=False)
class ClearanceJoint:
    """Revolute joint with clearance: journal of the femur in a larger socket of the tibia.

    With the eccentricity e = socket's centre - journal's centre and the clearance c, the gap is
    c - |e|, and the journal touches the wall on the side of -e (Flores & Ambrósio 2004, Comput
    Struct 82:1359-1369). As the clearance grows, a socket through a fixed point becomes a plane.
    """

    #: Radius of the journal about the origin of the femur [m], > 0.
    journal_radius: float
    #: Radius of the socket minus that of the journal [m], > 0.
    clearance: float
    #: Centre of the socket in the frame of the tibia's centre of mass [m].
    socket_centre: complex

    def __post_init__(self) -> None:
        check_numbers(self, above=0.0, journal_radius="m", clearance="m")

    def contact(
        self, place: complex, turn: complex, start: Angles | None = None
    ) -> ContactLocation:
        """Return the contact point for the tibia at a place [m], turned; `start` is ignored."""
        apart = place + turn * self.socket_centre
        offset = abs(apart)
        normal = -apart / offset if offset > 0.0 else 1.0 + 0j
        return ContactLocation(self.clearance - offset, self.journal_radius * normal, normal)
