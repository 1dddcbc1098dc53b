"""Planar profiles of articular surfaces as polar splines ρ(θ) about the origin of their frame.

A profile is star-shaped about the origin and counterclockwise, as in Machado et al. (2010,
Nonlinear Dyn 60:459-478); docs/mechanics.md states tangent, outward normal, curvature (positive
where the body is convex), and the conditions of contact points. Splines are "cubic", "akima" (Akima
1970, J ACM 17:589-602), or "pchip", without extrema between the samples (Fritsch & Butland 1984,
SIAM J Sci Stat Comput 5:300-304). The conditions are regular at the touch, and Newton's method has
their Jacobian; the separation is a minimum if κ_f + κ_t + κ_f κ_t gap is positive.
"""

from __future__ import annotations

import cmath
import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import Akima1DInterpolator, CubicSpline, PchipInterpolator, PPoly
from scipy.ndimage import minimum_filter

from dynamics.simulator.equations import SimulationError
from foundation.base.checks import (
    FloatArray,
    check_array,
    check_fields,
    check_in,
    check_number,
    check_numbers,
    frozen,
)
from foundation.base.errors import InputError

#: Kinds of splines.
PROFILE_KINDS = ("cubic", "akima", "pchip")
_LOCAL: dict[str, Callable[[FloatArray, FloatArray], PPoly]] = {
    "akima": Akima1DInterpolator,
    "pchip": PchipInterpolator,
}
#: Samples at either side of an interval that a local spline uses, plus one.
_OVERLAP = 4
_LEAST_SAMPLES = 5


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
        angle = check_array("profile angle", self.angle, (None,))
        radius = check_array("profile radius", self.radius, (len(angle),), above=0.0, unit="m")
        check_in("profile kind", self.kind, PROFILE_KINDS)
        if len(angle) < _LEAST_SAMPLES:
            raise InputError(f"profile: expected >= {_LEAST_SAMPLES} samples, found {len(angle)}")
        steps = np.diff(angle)
        if steps.min() <= 0.0 or angle[-1] - angle[0] >= 2.0 * np.pi:
            raise InputError(
                "profile angle: expected strictly increasing angles over less than 2 pi (samples "
                "counterclockwise, star-shaped about the origin), found steps from "
                f"{steps.min():g} rad and {angle[-1] - angle[0]:g} rad in all"
            )
        object.__setattr__(self, "angle", frozen(angle))
        object.__setattr__(self, "radius", frozen(radius))
        places = np.linspace(self._spline.x[0], self._spline.x[-1], 16 * len(self._spline.x))
        low = float(self._spline(places).min())
        if low <= 0.0:
            raise InputError(f"profile radius: expected > 0 m, found {low:g} between the samples")

    @classmethod
    def from_points(cls, points: ArrayLike, kind: str = "cubic", *, closed: bool = False) -> Self:
        """Return the profile through points (n, 2) [m], counterclockwise about the origin."""
        x, y = check_array("profile points", points, (None, 2)).T
        return cls(np.unwrap(np.arctan2(y, x)), np.hypot(x, y), kind, closed)

    @classmethod
    def circle(cls, radius: float, samples: int = 72, kind: str = "cubic") -> Self:
        """Return a circle of a radius [m] about the origin."""
        check_number("circle radius", radius, above=0.0, unit="m")
        angle = 2.0 * np.pi * np.arange(samples) / samples
        return cls(angle, np.full(samples, float(radius)), kind, closed=True)

    @classmethod
    def line(
        cls, distance: float, half_angle: float, samples: int = 81, kind: str = "cubic"
    ) -> Self:
        """Return the line ξ = distance [m] between angles ± half_angle [rad], 0 to π/2."""
        check_number("line distance", distance, above=0.0, unit="m")
        check_number("line half_angle", half_angle, above=0.0, below=0.5 * np.pi, unit="rad")
        angle = np.linspace(-half_angle, half_angle, samples)
        return cls(angle, distance / np.cos(angle), kind)

    @cached_property
    def _spline(self) -> PPoly:
        """ρ over θ."""
        angle, radius = self.angle, self.radius
        if self.closed:
            turn = 2.0 * np.pi
            lap = _OVERLAP if self.kind in _LOCAL else 0
            before, after = angle[len(angle) - lap :] - turn, angle[: lap + 1] + turn
            angle = np.concatenate((before, angle, after))
            radius = np.concatenate((radius[len(radius) - lap :], radius, radius[: lap + 1]))
        if self.kind in _LOCAL:
            spline = _LOCAL[self.kind](angle, radius)
        else:
            spline = CubicSpline(angle, radius, bc_type="periodic" if self.closed else "not-a-knot")
        return spline

    @cached_property
    def _cubics(self) -> tuple[list[float], list[list[float]]]:
        """Ends of the pieces [rad] and coefficients of ρ, as lists: numbers one by one are fast."""
        spline = self._spline
        return spline.x.tolist(), spline.c.T.tolist()

    def wrapped(self, angle: float) -> float:
        """Return the angle [rad], of a closed profile reduced to the range of the samples."""
        if not self.closed:
            return angle
        low = float(self.angle[0])
        return low + (angle - low) % (2.0 * math.pi)

    def contains(self, angle: float) -> bool:
        """Return whether the profile has a point at this angle [rad]."""
        return self.closed or bool(self.angle[0] <= angle <= self.angle[-1])

    def frame(self, angle: float) -> tuple[float, float, float, float, float, float]:
        """Return x, y [m], unit tangent [1], curvature [1/m] and |r'| [m/rad] at an angle [rad]."""
        ends, cubics = self._cubics
        place = self.wrapped(angle)
        piece = min(max(bisect_right(ends, place) - 1, 0), len(cubics) - 1)
        x = place - ends[piece]
        c3, c2, c1, c0 = cubics[piece]
        rho = ((c3 * x + c2) * x + c1) * x + c0
        first, second = (3.0 * c3 * x + 2.0 * c2) * x + c1, 6.0 * c3 * x + 2.0 * c2
        c, s = math.cos(angle), math.sin(angle)
        speed = math.hypot(rho, first)
        curvature = (rho * rho + 2.0 * first * first - rho * second) / speed**3
        t_x, t_y = (first * c - rho * s) / speed, (first * s + rho * c) / speed
        return rho * c, rho * s, t_x, t_y, curvature, speed

    def frames(self, angles: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return points, normals (m, 2) [m, 1] and curvatures (m,) [1/m] at angles (m,) [rad]."""
        checked = check_array("angles", angles, (None,))
        for each in checked:
            if not self.contains(each):
                raise InputError(
                    f"angles: expected within {self.angle[0]:g} to {self.angle[-1]:g} rad, "
                    f"found {each:g}"
                )
        rows = np.array([self.frame(each) for each in checked]).reshape(-1, 6)
        normals = np.column_stack((rows[:, 3], -rows[:, 2]))
        return rows[:, :2].copy(), normals, rows[:, 4].copy()


#: Tolerance of both conditions, the second relative to the size of the femur.
TOLERANCE = 1e-12
_ITERATIONS = 40
_LARGEST_STEP = 0.3
_HALVINGS = 6
#: Samples of each profile and largest number of starts in a search without a start.
_GRID = 181
_STARTS = 16

Angles = tuple[float, float]
Place = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class ContactLocation:
    """Point where two bodies touch or are closest, global frame."""

    #: Distance along the normal [m]; minus the indentation of overlapping bodies.
    gap: float
    #: On the femur (2,) [m].
    point: FloatArray
    #: Outward normal of the femur (2,) [1].
    normal: FloatArray
    #: θ on femur and tibia [rad], start of the next search.
    angles: Angles | None = None

    def on_tibia(self, place: Place) -> FloatArray:
        """Return the point on the tibia, (2,) [m], in the frame of the tibia at (x, y, φ)."""
        c, s = math.cos(place[2]), math.sin(place[2])
        x, y = (self.point + self.gap * self.normal).tolist()
        x, y = x - place[0], y - place[1]
        return np.array([c * x + s * y, c * y - s * x])


class ContactGeometry(Protocol):
    """Geometry of a joint as `dynamics.mechanics.planar_knee` uses it."""

    def contact(self, place: Place, start: Angles | None = None) -> ContactLocation:
        """Return the contact point for the tibia at (x, y, φ) [m, m, rad]."""
        ...


@dataclass(frozen=True, eq=False)
class ProfileContact:
    """Free contact of profiles: femur in the fixed frame, tibia in that of its centre of mass."""

    femur: PolarProfile
    tibia: PolarProfile

    def contact(self, place: Place, start: Angles | None = None) -> ContactLocation:
        """Return the contact point of a tibia at (x, y, φ) [m, m, rad], followed from `start`."""
        # Without a start, or if that fails, the search covers all common normals and takes the
        # least gap; concave profiles may have several. `SimulationError` if there is none, as
        # beyond an open end.
        if start is not None:
            followed = _newton(self.femur, self.tibia, place, start)
            if followed is not None:
                return followed
        contact = _search(self.femur, self.tibia, place)
        if contact is None:
            x, y, angle = check_array("place", place, (3,))
            raise SimulationError(
                f"femur and tibia at ({x:g} m, {y:g} m, {angle:g} rad): expected a common normal "
                "of the profiles, found none; extend an open profile"
            )
        return contact


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
    #: Centre of the socket in the frame of the tibia's centre of mass (2,) [m].
    socket_centre: FloatArray

    def __post_init__(self) -> None:
        check_numbers(self, above=0.0, journal_radius="m", clearance="m")
        check_fields(self, socket_centre=(2,))

    def contact(self, place: Place, start: Angles | None = None) -> ContactLocation:
        """Return the contact point for the tibia at (x, y, φ) [m, m, rad]; `start` is ignored."""
        c, s = math.cos(place[2]), math.sin(place[2])
        x, y = self.socket_centre.tolist()
        e_x, e_y = place[0] + c * x - s * y, place[1] + s * x + c * y
        offset = math.hypot(e_x, e_y)
        normal = np.array([-e_x, -e_y]) / offset if offset > 0.0 else np.array([1.0, 0.0])
        return ContactLocation(self.clearance - offset, self.journal_radius * normal, normal)


def _newton(
    femur: PolarProfile, tibia: PolarProfile, place: Place, start: Angles
) -> ContactLocation | None:
    """Return the contact point by Newton's method with step halving, or None."""
    angles = start
    if not (femur.contains(angles[0]) and tibia.contains(angles[1])):
        return None
    now = _conditions(femur, tibia, place, angles)
    for _ in range(_ITERATIONS):
        size, step = now.size, now.step
        if size < TOLERANCE:
            wrapped = femur.wrapped(angles[0]), tibia.wrapped(angles[1])
            return ContactLocation(now.gap, now.point, now.normal, wrapped) if now.least else None
        for _ in range(_HALVINGS):
            tried = angles[0] + step[0], angles[1] + step[1]
            if femur.contains(tried[0]) and tibia.contains(tried[1]):
                now = _conditions(femur, tibia, place, tried)
                if now.size < size:
                    break
            step = 0.5 * step[0], 0.5 * step[1]
        else:
            return None
        angles = tried
    return None


class _Conditions(NamedTuple):
    """Both conditions at two angles, and the Newton step of the angles."""

    across: float
    along: float
    #: Size of the femur, which the second condition is relative to [m].
    scale: float
    #: Row by row, by the angles on femur and tibia.
    jacobian: tuple[float, float, float, float]
    at: complex
    tangent: complex
    gap: float
    #: Whether the separation is a minimum where both conditions hold.
    least: bool

    @property
    def size(self) -> float:
        return math.hypot(self.across, self.along / self.scale)

    @property
    def point(self) -> FloatArray:
        return np.array([self.at.real, self.at.imag])

    @property
    def normal(self) -> FloatArray:
        return np.array([self.tangent.imag, -self.tangent.real])

    @property
    def step(self) -> tuple[float, float]:
        """The step, shortened to the largest allowed."""
        a, b, c, d = self.jacobian
        determinant = a * d - b * c or math.inf
        femur = (b * self.along - d * self.across) / determinant
        tibia = (c * self.across - a * self.along) / determinant
        factor = min(1.0, _LARGEST_STEP / max(abs(femur), abs(tibia), 1e-300))
        return factor * femur, factor * tibia


def _conditions(
    femur: PolarProfile, tibia: PolarProfile, place: Place, angles: Angles
) -> _Conditions:
    f_x, f_y, ft_x, ft_y, f_curve, f_speed = femur.frame(angles[0])
    x, y, u_x, u_y, t_curve, t_speed = tibia.frame(angles[1])
    turn, at, tangent = cmath.rect(1.0, place[2]), complex(f_x, f_y), complex(ft_x, ft_y)
    apart = tangent.conjugate() * (complex(*place[:2]) + turn * complex(x, y) - at)
    # Cross and scalar product of the normals equal those of the tangents.
    other = tangent.conjugate() * turn * complex(u_x, u_y)
    cosine, gap = other.real, -apart.imag
    jacobian = (
        -f_curve * cosine * f_speed,
        t_curve * cosine * t_speed,
        -(1.0 + f_curve * gap) * f_speed,
        cosine * t_speed,
    )
    least = cosine < 0.0 and f_curve + t_curve + f_curve * t_curve * gap > 0.0
    scale = float(femur.radius[0])
    return _Conditions(other.imag, apart.real, scale, jacobian, at, tangent, gap, least)


def _search(femur: PolarProfile, tibia: PolarProfile, place: Place) -> ContactLocation | None:
    """Return the contact with the least gap, by Newton's method from the best grid points."""
    f_angles, t_angles = _grid(femur), _grid(tibia)
    f_points, f_normals, _ = femur.frames(f_angles)
    t_points, t_normals, _ = tibia.frames(t_angles)
    c, s = math.cos(place[2]), math.sin(place[2])
    turn = np.array([[c, -s], [s, c]])
    t_points, t_normals = t_points @ turn.T + np.array(place[:2]), t_normals @ turn.T
    tangents = np.column_stack((-f_normals[:, 1], f_normals[:, 0]))
    along = (tangents @ t_points.T - (tangents * f_points).sum(axis=1)[:, None]) / femur.radius[0]
    # Minus one where the normals are opposed.
    cosine = f_normals @ t_normals.T
    miss = along**2 + 2.0 * (1.0 + cosine)
    least = (miss == minimum_filter(miss, 3, mode="nearest")) & (cosine < 0.0)
    rows, columns = np.nonzero(least)
    order = np.argsort(miss[rows, columns], kind="stable")[:_STARTS]
    contacts = [
        _newton(femur, tibia, place, (float(f_angles[i]), float(t_angles[j])))
        for i, j in zip(rows[order], columns[order], strict=True)
    ]
    return min((each for each in contacts if each is not None), key=lambda e: e.gap, default=None)


def _grid(profile: PolarProfile) -> FloatArray:
    low = profile.angle[0]
    high = low + 2.0 * np.pi if profile.closed else profile.angle[-1]
    return np.linspace(low, high, _GRID, endpoint=not profile.closed)
