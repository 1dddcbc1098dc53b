"""Generalised forces of wrenches, lines of action, applied loads and springs as expressions.

The formulas are those of `dynamics/core/equations.c`.
"""

from __future__ import annotations

from typing import NamedTuple

from dynamics.core.problem import Problem
from dynamics.expressions.elementary import Elementary, Scalar, Vector, cross, dot, plus


class Line(NamedTuple):
    """A straight line from tibia to femur at a pose.

    `length` [m]; its derivatives `gradient` (6,) with respect to the pose coordinates [m/rad, 1].
    """

    length: Scalar
    gradient: list[Scalar]


def angle_axes(functions: Elementary, pose: Vector) -> list[list[Scalar]]:
    """Return the axes of flexion, adduction and rotation in the tibial frame, three scalars each.

    Of `foundation.base.pose.rotation_axes`, at a pose of six scalars [rad, m].
    """
    ca, sa = functions.cos(pose[1]), functions.sin(pose[1])
    cr, sr = functions.cos(pose[2]), functions.sin(pose[2])
    return [[-sr * ca, sa, cr * ca], [-cr, 0.0 * cr, -sr], [0.0 * cr, -1.0 + 0.0 * cr, 0.0 * cr]]


def wrench_forces(functions: Elementary, pose: Vector, wrench: Vector) -> list[Scalar]:
    """Return the six generalised forces [N m, N] of a wrench on the femur at a pose [rad, m].

    As `foundation.base.pose.generalised_force`. The wrench is force and moment about the tibial
    origin, tibial frame [N, N m].
    """
    force = [wrench[0], wrench[1], wrench[2]]
    lever = cross([pose[3], pose[4], pose[5]], force)
    moment = [wrench[3 + k] - lever[k] for k in range(3)]
    return [*(dot(axis, moment) for axis in angle_axes(functions, pose)), *force]


def line_at(functions: Elementary, pose: Vector, femoral: Vector, tibial: Vector) -> Line:
    """Return the line between two attachments at a pose of six scalars [rad, m].

    The attachments are in the femoral and the tibial frame [m]; they must not coincide.
    """
    cf, sf = functions.cos(pose[0]), functions.sin(pose[0])
    ca, sa = functions.cos(pose[1]), functions.sin(pose[1])
    cr, sr = functions.cos(pose[2]), functions.sin(pose[2])
    rows = [
        [cr * cf + sr * sa * sf, sr * sa * cf - cr * sf, -sr * ca],
        [ca * sf, ca * cf, sa],
        [sr * cf - cr * sa * sf, -sr * sf - cr * sa * cf, cr * ca],
    ]
    arm = [dot(row, femoral) for row in rows]
    along = [arm[k] + pose[3 + k] - tibial[k] for k in range(3)]
    length = functions.sqrt(dot(along, along))
    direction = [each / length for each in along]
    turning = cross(arm, direction)
    axes = angle_axes(functions, pose)
    return Line(length, [*(dot(axis, turning) for axis in axes), *direction])


def line_forces(
    functions: Elementary, pose: Vector, femoral: Vector, tibial: Vector, tension: Scalar
) -> list[Scalar]:
    """Return the six generalised forces [N m, N] of a tension along a line, as of a muscle.

    The tension pulls the attachments of `line_at` together [N].
    """
    gradient = line_at(functions, pose, femoral, tibial).gradient
    return [-tension * each for each in gradient]


def applied_forces(
    functions: Elementary, pose: Vector, applied: Vector, problem: Problem
) -> list[Scalar]:
    """Return the six generalised forces [N m, N] of the simulator's applied loads.

    The four loads are in the order of `dynamics.simulator.knee_simulator.APPLIED_COLUMNS` [N, N m];
    the line of action is that of the problem.
    """
    axial, ap, torque, adduction = (applied[k] for k in range(4))
    medial, anterior = problem.line.tolist()
    none = 0.0 * axial
    wrench = [none, -axial, none, -medial * axial - adduction, -torque, -anterior * axial]
    force = wrench_forces(functions, pose, wrench)
    force[3] = force[3] - ap
    return force


def restraint_forces(
    functions: Elementary, pose: Vector, problem: Problem, smoothing: float = 0.0
) -> list[Scalar]:
    """Return the six generalised forces [N m, N] of the simulator's springs.

    Stiffness, gap and neutral path are those of the problem; `smoothing` is the half width of the
    rounded kinks at the ends of a gap, as a share of the gap [1].
    """
    force = [0.0 * pose[0]] * 6
    for k in range(1, 6):
        stiffness, gap = float(problem.stiffness[k]), float(problem.gap[k])
        if stiffness == 0.0:
            continue
        away = pose[k] - _neutral(functions, pose[0], problem, k - 1)
        if gap == 0.0:
            force[k] = -stiffness * away
            continue
        width = smoothing * gap
        beyond = plus(functions, away - gap, width) - plus(functions, -away - gap, width)
        force[k] = -stiffness * beyond
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
