"""The knee simulator's forces and equations of motion as expressions of CasADi, JAX or NumPy."""
# Vectors are sequences of scalars: numbers, SX and MX of CasADi, or traced values of JAX.

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dynamics.core.problem import (
    LINEAR,
    PRESCRIBED,
    QUADRATIC,
    LigamentArguments,
    Problem,
)
from foundation.base.checks import FloatArray, check_array
from surrogates.expressions.functions import Elementary, cross, plus, plus_integral
from surrogates.expressions.geometry import angle_axes, turned

__all__ = [
    "Elementary",
    "KneeExpressions",
    "ligament_forces",
    "ligament_tensions",
    "line_forces",
    "plus",
    "wrench_forces",
]

#: A number, or a symbol of CasADi or JAX.
Scalar: TypeAlias = Any
#: An array or a sequence of scalars.
Vector: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class KneeExpressions:
    """Forces and equations of motion of a `KneeSimulator.problem` in the functions of a package.

    M q'' + C q' = Q_contact + Q_applied + Q_restraint + Q_ligaments in the free coordinates; the
    caller supplies the contact wrench. `smoothing` rounds the kinks of ligaments and gaps: half
    width as a strain and as a share of the gap [1].
    """

    functions: Elementary
    problem: Problem
    smoothing: float = 0.0

    @property
    def free(self) -> tuple[int, ...]:
        """Indices of the free coordinates."""
        return tuple(k for k in range(6) if self.problem.roles[k] != PRESCRIBED)

    def inputs(self, times: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return coordinates, loads [rad, m, N, N m] at times (N,) [s], and rates, (N, 10)."""
        # Six coordinates, of which the prescribed ones count, and four loads [rad, m, N, N m, per
        # s].
        instants = check_array("times", times, (None,))
        return self.problem.inputs(instants)

    def pose(self, free: Vector, inputs: Vector) -> list[Scalar]:
        """Return pose coordinates [rad, m] of absolute free coordinates and a row of `inputs`."""
        pose = [inputs[k] for k in range(6)]
        for row, k in enumerate(self.free):
            pose[k] = free[row]
        return pose

    def contact_pose(self, pose: Vector) -> list[Scalar]:
        """Return the pose [rad, m] of six scalars at which the contact is evaluated."""
        return [pose[k] + float(offset) for k, offset in enumerate(self.problem.offset)]

    def forces(
        self, pose: Vector, applied: Vector, wrench: Vector, *, stiffness: Vector | None = None
    ) -> list[Scalar]:
        """Return six generalised forces of contact, applied loads, springs, ligaments [N m, N]."""
        # Loads are in the order of `APPLIED_COLUMNS` [N, N m]; the wrench on the femur is that at
        # `contact_pose` about the tibial origin [N, N m].
        f, problem, smoothing = self.functions, self.problem, self.smoothing
        factor = problem.factor
        parts = (
            wrench_forces(f, self.contact_pose(pose), [factor * wrench[k] for k in range(6)]),
            _applied_forces(f, pose, applied, problem),
            _restraint_forces(f, pose, problem, smoothing),
            ligament_forces(
                f, pose, problem.ligaments, smoothing=smoothing, stiffness=stiffness
            ),
        )  # fmt: skip
        return [sum(column[1:], column[0]) for column in zip(*parts, strict=True)]

    def accelerations(self, forces: Vector, rates: Vector) -> list[Scalar]:
        """Return (Q - C q') / M [rad/s², m/s²] of the free coordinates, in the order of `free`."""
        damping, inertia = self.problem.damping, self.problem.inertia
        return [
            (forces[k] - float(damping[k]) * rates[row]) / float(inertia[k])
            for row, k in enumerate(self.free)
        ]


# ---- wrenches, applied loads and springs


def wrench_forces(functions: Elementary, pose: Vector, wrench: Vector) -> list[Scalar]:
    """Return the six generalised forces [N m, N] of a wrench, as `pose.generalised_force`."""
    force = [wrench[0], wrench[1], wrench[2]]
    lever = cross([pose[3], pose[4], pose[5]], force)
    moment = [wrench[3 + k] - lever[k] for k in range(3)]
    return [*(_dot(axis, moment) for axis in angle_axes(functions, pose)), *force]


def _applied_forces(
    functions: Elementary, pose: Vector, applied: Vector, problem: Problem
) -> list[Scalar]:
    """Return the six generalised forces [N m, N] of the four applied loads [N, N m]."""
    axial, ap, torque, adduction = (applied[k] for k in range(4))
    medial, anterior = problem.line.tolist()
    none = 0.0 * axial
    wrench = [none, -axial, none, -medial * axial - adduction, -torque, -anterior * axial]
    force = wrench_forces(functions, pose, wrench)
    force[3] = force[3] - ap
    return force


def _restraint_forces(
    functions: Elementary, pose: Vector, problem: Problem, smoothing: float
) -> list[Scalar]:
    """Return the six generalised forces [N m, N] of the simulator's springs."""
    force = [0.0 * pose[0]] * 6
    for k in range(1, 6):
        stiffness, gap = float(problem.stiffness[k]), float(problem.gap[k])
        if stiffness == 0.0:
            continue
        away = pose[k] - _neutral(functions, pose[0], problem, k - 1)
        if gap > 0.0:
            width = smoothing * gap
            away = plus(functions, away - gap, width) - plus(functions, -away - gap, width)
        force[k] = -stiffness * away
    return force


def _neutral(functions: Elementary, flexion: Scalar, problem: Problem, column: int) -> Scalar:
    """Return a coordinate of the neutral path [rad or m] at a flexion [rad]."""
    breaks, pieces = problem.neutral_breaks.tolist(), problem.neutral_pieces[:, :, column].tolist()
    value: Scalar = None
    for piece, start in enumerate(breaks[:-1]):
        a, b, c, d = (row[piece] for row in pieces)
        t = flexion - start
        here = ((a * t + b) * t + c) * t + d
        value = here if piece == 0 else functions.where(flexion >= start, here, value)
    return value


def _dot(a: Vector, b: Vector) -> Scalar:
    """Return the scalar product of two vectors of three scalars."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


# ---- lines of action and ligaments


def line_forces(
    functions: Elementary, pose: Vector, femoral: Vector, tibial: Vector, tension: Scalar
) -> list[Scalar]:
    """Return the six generalised forces [N m, N] of a tension between two attachments [m]."""
    return [-tension * slope for slope in _line(functions, pose, femoral, tibial)[1]]


def _line(
    functions: Elementary, pose: Vector, femoral: Vector, tibial: Vector
) -> tuple[Scalar, list[Scalar]]:
    """Return the length [m] between attachments, and its derivatives by the pose [m/rad, 1]."""
    arm = turned(functions, pose, femoral)
    along = [arm[k] + pose[3 + k] - tibial[k] for k in range(3)]
    length = functions.sqrt(_dot(along, along))
    direction = [part / length for part in along]
    turning = cross(arm, direction)
    return length, [*(_dot(axis, turning) for axis in angle_axes(functions, pose)), *direction]


def ligament_forces(
    functions: Elementary,
    pose: Vector,
    ligaments: LigamentArguments,
    *,
    smoothing: float = 0.0,
    stiffness: Vector | None = None,
) -> list[Scalar]:
    """Return the six generalised forces [N m, N] of bundles at a pose [rad, m].

    The bundles are those of `dynamics.ligaments.bundles.pack`, and so is the stiffness (L,) by
    default [N/m, N/m² or N by law], else a column of CasADi or an array. `smoothing` is the strain
    by which a kink of a law is rounded to either side [1], at most half the transition strain: with
    more than 0 the tension is three times continuously differentiable.
    """
    total = [0.0 * pose[0]] * 6
    for rows, slopes, tension in _pulls(functions, pose, ligaments, smoothing, stiffness):
        for k, slope in enumerate(slopes):
            pull = -tension * slope
            summed = pull.sum() if functions.arrays else sum(pull[i] for i in range(len(rows)))
            total[k] = total[k] + summed
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
            tensions[row] = tension[k]
    return tensions


def _pulls(
    functions: Elementary,
    pose: Vector,
    ligaments: LigamentArguments,
    smoothing: float,
    stiffness: Vector | None,
) -> list[tuple[list[int], list[Scalar], Scalar]]:
    """Return indices, slopes of the lengths and tensions of all bundles of each law."""
    pulls = []
    for kind in np.unique(ligaments.kind):
        rows = np.flatnonzero(ligaments.kind == kind).tolist()
        femoral, tibial = ligaments.femoral[rows].T, ligaments.tibial[rows].T
        length, slopes = _line(functions, pose, femoral, tibial)
        rest, transition = ligaments.rest_length[rows], ligaments.transition[rows]
        factor = ligaments.stiffness if stiffness is None else stiffness
        law = _law(functions, kind, length, rest, transition, smoothing)
        pulls.append((rows, slopes, factor[np.array(rows) if functions.arrays else rows] * law))
    return pulls


def _law(
    functions: Elementary,
    kind: int,
    length: Vector,
    rest: FloatArray,
    transition: FloatArray,
    width: float,
) -> Vector:
    """Return tensions over the stiffness from lengths and rest lengths (n,) [m]."""
    if kind in (LINEAR, QUADRATIC):
        stretch = plus(functions, length - rest, width * rest)
        return stretch if kind == LINEAR else stretch * stretch
    # The slope of the law rises linearly from zero to one over the transition.
    strain = length / rest - 1.0
    rise = plus_integral(functions, strain, width)
    return (rise - plus_integral(functions, strain - transition, width)) / transition
