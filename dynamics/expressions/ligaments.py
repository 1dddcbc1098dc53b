"""Tension-only ligament bundles as expressions; the laws are those of `dynamics.ligaments`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dynamics.core.problem import LINEAR, QUADRATIC, LigamentArguments
from dynamics.expressions.elementary import (
    Elementary,
    Scalar,
    Vector,
    added,
    plus,
    plus_integral,
)
from dynamics.expressions.forces import Line, line_at


def ligament_forces(
    functions: Elementary,
    pose: Vector,
    ligaments: LigamentArguments,
    *,
    smoothing: float = 0.0,
    stiffness: Vector | None = None,
) -> list[Scalar]:
    """Return the six generalised forces [N m, N] of bundles at a pose [rad, m].

    The bundles are those of `dynamics.ligaments.bundles.pack`, and so is the stiffness by default
    [N/m, N/m² or N by law]. `smoothing` is the strain by which a kink of a law is rounded to either
    side [1], at most half the transition strain: with more than 0 the tension is three times
    continuously differentiable.
    """
    total = [0.0 * pose[0]] * 6
    for _, line, tension in _pulls(functions, pose, ligaments, smoothing, stiffness):
        pull = [-tension * each for each in line.gradient]
        total = added(total, [each.sum() for each in pull] if functions.arrays else pull)
    return total


def ligament_tensions(
    functions: Elementary,
    pose: Vector,
    ligaments: LigamentArguments,
    *,
    smoothing: float = 0.0,
    stiffness: Vector | None = None,
) -> list[Scalar]:
    """Return the tension of every bundle [N], >= 0; parameters as of `ligament_forces`."""
    tensions: list[Scalar] = [0.0] * len(ligaments.rest_length)
    for rows, _, tension in _pulls(functions, pose, ligaments, smoothing, stiffness):
        for k, row in enumerate(rows):
            tensions[row] = tension[k] if functions.arrays else tension
    return tensions


def _pulls(
    functions: Elementary,
    pose: Vector,
    ligaments: LigamentArguments,
    smoothing: float,
    stiffness: Vector | None,
) -> list[tuple[list[int], Line, Scalar]]:
    """Return indices, line and tension of each bundle, or as arrays of all bundles of a law."""
    pulls = []
    for rows in _together(functions, ligaments):
        data: list[Scalar] = [
            *(ligaments.femoral[rows].T, ligaments.tibial[rows].T),
            *(ligaments.rest_length[rows], ligaments.transition[rows], ligaments.stiffness[rows]),
        ]
        if not functions.arrays:
            data = [each[..., 0].tolist() for each in data]
        femoral, tibial, rest, transition, chosen = data
        if stiffness is not None:
            chosen = stiffness[np.array(rows)] if functions.arrays else stiffness[rows[0]]
        line = line_at(functions, pose, femoral, tibial)
        law = _law(functions, int(ligaments.kind[rows[0]]), transition, smoothing)
        pulls.append((rows, line, chosen * law(line.length, rest)))
    return pulls


def _together(functions: Elementary, ligaments: LigamentArguments) -> list[list[int]]:
    """Return the indices of bundles that are evaluated at once."""
    if not functions.arrays:
        return [[k] for k in range(len(ligaments.rest_length))]
    kinds = ligaments.kind
    return [np.flatnonzero(kinds == kind).tolist() for kind in np.unique(kinds)]


def _law(
    functions: Elementary, kind: int, transition: Scalar, width: float
) -> Callable[[Scalar, Scalar], Scalar]:
    """Return the tension over the stiffness as a function of length and rest length [m]."""

    def linear(length: Scalar, rest: Scalar) -> Scalar:
        return plus(functions, length - rest, width * rest)

    def quadratic(length: Scalar, rest: Scalar) -> Scalar:
        stretch = plus(functions, length - rest, width * rest)
        return stretch * stretch

    def toe(length: Scalar, rest: Scalar) -> Scalar:
        # The slope of the law rises linearly from zero to one over the transition.
        strain = length / rest - 1.0
        rise = plus_integral(functions, strain, width)
        return (rise - plus_integral(functions, strain - transition, width)) / transition

    return {LINEAR: linear, QUADRATIC: quadratic}.get(kind, toe)
