"""Coordinates that a model itself holds: locked, prescribed by a function, or coupled to others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np

from dynamics.musculoskeletal.wheel import opensim
from foundation.base.checks import FloatArray

#: Differences from a locked value that are those of rounding [rad, m].
_SAME = (1e-3, 1e-4)
#: Values (N,) of a coordinate at instants (N,) [s] and values (N,) of other coordinates by name.
HeldCourse = Callable[[FloatArray, Mapping[str, FloatArray]], FloatArray]


def lock_notes(
    locked: Mapping[str, float],
    angles: Collection[str],
    solved: Collection[str],
    courses: Mapping[str, FloatArray],
) -> tuple[str, ...]:
    """Return a note on locked coordinates that settings or courses (N,) [rad, m] would move."""
    kept = []
    for name, at in locked.items():
        angle, values = name in angles, courses.get(name, np.array([at]))
        far = float(values[np.abs(values - at).argmax()])
        moved = bool(abs(far - at) > _SAME[0 if angle else 1])
        if name in solved or moved:
            why = ["the settings solve for it"] * (name in solved)
            why += [f"the motion has {_shown(far, angle)}"] * moved
            kept.append(f"{name} at {_shown(at, angle)} ({'; '.join(why)})")
    if not kept:
        return ()
    return (
        f"locked coordinates of the model keep their default values: {', '.join(kept)}; set locked "
        "to false in the model for coordinates that move",
    )


def _shown(value: float, angle: bool) -> str:
    return f"{np.degrees(value):.4g} deg" if angle else f"{1e3 * value:.4g} mm"


def held_courses(model: Any, state: Any) -> dict[str, HeldCourse]:
    """Return the course [rad, m] of each coordinate that a model holds; followers come last."""
    coordinates = model.getCoordinateSet()
    found: dict[str, HeldCourse] = {}
    for coordinate in (coordinates.get(k) for k in range(coordinates.getSize())):
        if coordinate.getLocked(state):
            found[coordinate.getName()] = _constant(coordinate.getDefaultValue())
        elif coordinate.isPrescribed(state):
            found[coordinate.getName()] = _over_time(coordinate.getPrescribedFunction())
    constraints = model.getConstraintSet()
    for each in (constraints.get(k) for k in range(constraints.getSize())):
        coupler = opensim().CoordinateCouplerConstraint.safeDownCast(each)
        if coupler is not None and coupler.isEnforced(state):
            dependent = coupler.getPropertyByName("dependent_coordinate_name")
            found[opensim().PropertyHelper.getValueString(dependent)] = _coupled(coupler)
    return found


def _constant(value: float) -> HeldCourse:
    return lambda time, _: np.full(len(time), value)


def _over_time(function: Any) -> HeldCourse:
    return lambda time, _: np.array(list(_values(function, time[:, None])))


def _coupled(coupler: Any) -> HeldCourse:
    names = coupler.getIndependentCoordinateNames()
    independent = [names.get(k) for k in range(names.getSize())]
    factor = coupler.getPropertyByName("scale_factor")
    function, scale = coupler.getFunction(), opensim().PropertyHelper.getValueDouble(factor)

    def course(time: FloatArray, known: Mapping[str, FloatArray]) -> FloatArray:
        rows = np.column_stack([known[name] for name in independent])
        return scale * np.array(list(_values(function, rows)))

    return course


def _values(function: Any, rows: FloatArray) -> Iterator[float]:
    for row in rows:
        yield float(function.calcValue(opensim().Vector.createFromMat(row)))
