"""Tension-only ligament bundles as expressions; the laws are those of `dynamics.ligaments`."""

from __future__ import annotations

from collections.abc import Callable

from dynamics.expressions.elementary import (
    Elementary,
    Scalar,
    Vector,
    added,
    plus,
    plus_integral,
)
from dynamics.expressions.forces import Line, line_at
from dynamics.kernels.ligaments import LINEAR, QUADRATIC, LigamentArguments


def ligament_forces(
    functions: Elementary,
    pose: Vector,
    ligaments: LigamentArguments,
    *,
    smoothing: float = 0.0,
    stiffness: Vector | None = None,
) -> list[Scalar]:
    """Return the generalised forces of bundles.

    Parameters
    ----------
    functions : Elementary
        Elementary functions.
    pose : six scalars
        Pose coordinates [rad, m].
    ligaments : LigamentArguments
        The bundles (`dynamics.ligaments.bundles.pack`).
    smoothing : float
        Strain by which a kink of a law is rounded to either side [1], at most half the transition
        strain: with more than 0 the tension is three times continuously differentiable.
    stiffness : sequence of scalars, optional
        Stiffness of each bundle [N/m, N/m² or N by law], by default that of the bundles.

    Returns
    -------
    list of six scalars
        Generalised forces [N m, N].
    """
    total = [0.0 * pose[0]] * 6
    for line, tension in _pulls(functions, pose, ligaments, smoothing, stiffness):
        total = added(total, [-tension * each for each in line.gradient])
    return total


def ligament_tensions(
    functions: Elementary,
    pose: Vector,
    ligaments: LigamentArguments,
    *,
    smoothing: float = 0.0,
    stiffness: Vector | None = None,
) -> list[Scalar]:
    """Return the tension of every bundle [N]; parameters as of `ligament_forces`.

    Parameters
    ----------
    functions, pose, ligaments, smoothing, stiffness
        As of `ligament_forces`.

    Returns
    -------
    list of scalars
        Tensions [N], >= 0.
    """
    return [tension for _, tension in _pulls(functions, pose, ligaments, smoothing, stiffness)]


def _pulls(
    functions: Elementary,
    pose: Vector,
    ligaments: LigamentArguments,
    smoothing: float,
    stiffness: Vector | None,
) -> list[tuple[Line, Scalar]]:
    """Return line and tension of each bundle."""
    pulls = []
    for k, rest in enumerate(ligaments.rest_length.tolist()):
        femoral, tibial = ligaments.femoral[k].tolist(), ligaments.tibial[k].tolist()
        line = line_at(functions, pose, femoral, tibial)
        law = _law(functions, int(ligaments.kind[k]), float(ligaments.transition[k]), smoothing)
        chosen = float(ligaments.stiffness[k]) if stiffness is None else stiffness[k]
        pulls.append((line, chosen * law(line.length, rest)))
    return pulls


def _law(
    functions: Elementary, kind: int, transition: float, width: float
) -> Callable[[Scalar, float], Scalar]:
    """Return the tension over the stiffness as a function of length and rest length [m]."""

    def linear(length: Scalar, rest: float) -> Scalar:
        return plus(functions, length - rest, width * rest)

    def quadratic(length: Scalar, rest: float) -> Scalar:
        stretch = plus(functions, length - rest, width * rest)
        return stretch * stretch

    def toe(length: Scalar, rest: float) -> Scalar:
        # The slope of the law rises linearly from zero to one over the transition.
        strain = length / rest - 1.0
        rise = plus_integral(functions, strain, width)
        return (rise - plus_integral(functions, strain - transition, width)) / transition

    return {LINEAR: linear, QUADRATIC: quadratic}.get(kind, toe)
