"""Numbers of single muscles, constant or over time: weights and activations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import factorial
from typing import Any

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline

from dynamics.musculoskeletal.osim_functions import NATURAL, PIECEWISE, SPLINE
from foundation.base.checks import FloatArray, check_in
from foundation.base.errors import InputError

#: Degrees of OpenSim's GCVSpline that have an end condition here.
_DEGREES = (3, 5, 7)
#: Quantities of a muscle that are activations it can have.
_AT_MOST_ONE = ("desired activation", "largest activation")


@dataclass(frozen=True)
class MuscleWeight:
    """Weight of a muscle in the cost, or another number of a muscle, constant or over time."""

    #: Name of the muscle.
    name: str
    #: Instants [s] and the weights there [1]. A single weight is constant.
    times: tuple[float, ...]
    weights: tuple[float, ...]
    #: Function of OpenSim through the numbers. PiecewiseLinearFunction: linear between the
    #: instants; outside, the first and the last segment are extended. SimmSpline: cubic, with
    #: straight lines outside. GCVSpline: the natural spline of a degree.
    kind: str = PIECEWISE
    #: Degree of a GCVSpline.
    degree: int = 5
    #: Quantity of the numbers.
    quantity: str = "weight"

    def __post_init__(self) -> None:
        check_in(f"{self.name}, function", self.kind, (PIECEWISE, SPLINE, NATURAL))
        if self.degree not in _DEGREES:
            raise InputError(
                f"{self.name}, degree of the {NATURAL}: expected one of {_DEGREES}, found "
                f"{self.degree}; state half_order 2, 3 or 4"
            )
        fit = self.times and len(self.times) == len(self.weights)
        fit = fit and bool(np.isfinite([*self.times, *self.weights]).all())
        if not fit or (self._weighs and min(self.weights) < 0.0):
            raise InputError(
                f"{self.name}: expected one {self.quantity}{' >= 0' * self._weighs} per instant, "
                f"found times {self.times} and {self.quantity}s {self.weights}"
            )
        if self.quantity in _AT_MOST_ONE and max(self.weights) > 1.0:
            raise InputError(
                f"{self.name}: expected a {self.quantity} of at most 1, found {max(self.weights):g}"
            )
        if (np.diff(self.times) <= 0.0).any():
            raise InputError(f"{self.name}: expected increasing times, found {self.times}")
        if self.kind == NATURAL and len(self.times) <= self.degree:
            raise InputError(
                f"{self.name}: expected at least {self.degree + 1} points of a {NATURAL} of degree "
                f"{self.degree}, found {len(self.times)}; state a {PIECEWISE} through the points"
            )

    @property
    def _weighs(self) -> bool:
        """Whether the numbers cannot be negative, unlike activations that are desired."""
        return self.quantity == "weight"

    def at(self, time: float) -> float:
        """Return the weight [1] at an instant [s]; refuse one below 0 beyond the points."""
        if len(self.times) == 1:
            return self.weights[0]
        end = int(np.clip(np.searchsorted(self.times, time, side="right"), 1, len(self.times) - 1))
        (begin, stop), (first, last) = (
            each[end - 1 : end + 1] for each in (self.times, self.weights)
        )
        weight = first + (time - begin) / (stop - begin) * (last - first)
        if self.kind != PIECEWISE:
            inside = float(np.clip(time, self.times[0], self.times[-1]))
            # Outside, the lower half of the derivatives at the end goes on.
            orders = range(2 if self.kind == SPLINE else (self.degree + 1) // 2)
            weight = sum(
                float(self._spline(inside, k)) * (time - inside) ** k / factorial(k) for k in orders
            )
            # A spline through small numbers swings below zero between them.
            if self._weighs and self.times[0] <= time <= self.times[-1]:
                weight = max(weight, 0.0)
        if self._weighs and weight < 0.0:
            raise InputError(
                f"{self.name}: expected a {self.quantity} >= 0 at {time:g} s, found {weight:g}: "
                f"the line through the {self.quantity}s {first:g} at {begin:g} s and {last:g} at "
                f"{stop:g} s is extended linearly as in OpenSim; add points at the first and the "
                "last instant of the walk"
            )
        return weight

    @cached_property
    def _spline(self) -> BSpline:
        """The spline through the numbers, with OpenSim's conditions at its ends."""
        x, y = np.array(self.times), np.array(self.weights)
        if self.kind == NATURAL:
            free: Any = [(k, 0.0) for k in range((self.degree + 1) // 2, self.degree)]
            return make_interp_spline(x, y, k=self.degree, bc_type=(free, free))
        if len(x) < 4:
            return make_interp_spline(x, y, k=len(x) - 1)
        ends = [6.0 * np.polyfit(u - u[0], v, 3)[0] for u, v in ((x[:4], y[:4]), (x[-4:], y[-4:]))]
        conditions: Any = ([(3, ends[0])], [(3, ends[1])])
        return make_interp_spline(x, y, k=3, bc_type=conditions)


def at_instant(
    courses: tuple[MuscleWeight, ...], names: tuple[str, ...], time: float, default: FloatArray
) -> FloatArray:
    """Return numbers of muscles (M,) at an instant [s], those of `default` where none is stated."""
    stated = {course.name: course.at(time) for course in courses}
    return np.array([stated.get(name, own) for name, own in zip(names, default, strict=True)])
