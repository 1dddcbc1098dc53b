"""Planar profiles of articular surfaces as polar splines ρ(θ) about the origin of their frame.

A profile is star-shaped about the origin and counterclockwise; docs/mechanics.md states tangent,
outward normal and curvature (positive where the body is convex). The splines of Machado et al.
(2010, Nonlinear Dyn 60:459-478) are

- "cubic": twice continuously differentiable (scipy CubicSpline, not-a-knot or periodic);
- "akima": once continuously differentiable, local (Akima 1970, J ACM 17:589-602);
- "pchip": once continuously differentiable, without extrema between the samples (Fritsch &
  Butland 1984, SIAM J Sci Stat Comput 5:300-304).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import Akima1DInterpolator, CubicSpline, PchipInterpolator, PPoly

from foundation.base.checks import FloatArray, check_array, check_in, check_number, frozen
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
    """Star-shaped profile through samples, closed or an open arc.

    Parameters
    ----------
    angle : (n,) float64
        Angles θ of the samples [rad], strictly increasing over less than 2π; n >= 5. A closed
        profile continues from the last sample to the first.
    radius : (n,) float64
        Radii ρ of the samples [m], > 0.
    kind : {"cubic", "akima", "pchip"}
        Spline between the samples.
    closed : bool
        Whether the profile is closed.

    Raises
    ------
    InputError
        If the samples do not form a star-shaped profile, or an argument is out of its range.
    """

    angle: FloatArray
    radius: FloatArray
    kind: str = "cubic"
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
        """Return (x, y, t_x, t_y, κ, |r'|) at an angle [rad] of the profile, without check.

        Point [m], unit tangent [1], curvature [1/m] and derivative of the arc length [m/rad].
        """
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
