"""Generalised forces of wrenches, lines of action, applied loads and springs as expressions.

The formulas are those of `dynamics.kernels.virtual_work` and `dynamics.kernels.equations`.
"""

from __future__ import annotations

from typing import NamedTuple

from dynamics.expressions.elementary import Elementary, Scalar, Vector, cross, dot, plus
from dynamics.kernels.equations import Problem


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
    """Return the generalised forces of a wrench on the femur.

    Parameters
    ----------
    functions : Elementary
        Elementary functions.
    pose : six scalars
        Pose coordinates [rad, m].
    wrench : six scalars
        Force and moment about the tibial origin, tibial frame [N, N m].

    Returns
    -------
    list of six scalars
        Generalised forces [N m, N]: `foundation.base.pose.generalised_force`.
    """
    force = [wrench[0], wrench[1], wrench[2]]
    lever = cross([pose[3], pose[4], pose[5]], force)
    moment = [wrench[3 + k] - lever[k] for k in range(3)]
    return [*(dot(axis, moment) for axis in angle_axes(functions, pose)), *force]


def line_at(functions: Elementary, pose: Vector, femoral: Vector, tibial: Vector) -> Line:
    """Return the line between two attachments at a pose.

    Parameters
    ----------
    functions : Elementary
        Elementary functions.
    pose : six scalars
        Pose coordinates [rad, m].
    femoral, tibial : three scalars
        Attachments in the femoral and the tibial frame [m]; they must not coincide.
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
    """Return the generalised forces [N m, N] of a tension along a line, as of a muscle.

    Parameters
    ----------
    functions, pose, femoral, tibial
        As of `line_at`.
    tension : scalar
        Force that pulls the attachments together [N].

    Returns
    -------
    list of six scalars
        Generalised forces [N m, N].
    """
    gradient = line_at(functions, pose, femoral, tibial).gradient
    return [-tension * each for each in gradient]


def applied_forces(
    functions: Elementary, pose: Vector, applied: Vector, problem: Problem
) -> list[Scalar]:
    """Return the generalised forces [N m, N] of the simulator's applied loads.

    Parameters
    ----------
    functions, pose
        As of `wrench_forces`.
    applied : four scalars
        Loads in the order of `dynamics.simulator.knee_simulator.APPLIED_COLUMNS` [N, N m].
    problem : Problem
        The simulation, of which the line of action is used.

    Returns
    -------
    list of six scalars
        Generalised forces [N m, N].
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
    """Return the generalised forces [N m, N] of the simulator's springs.

    Parameters
    ----------
    functions, pose
        As of `wrench_forces`.
    problem : Problem
        The simulation, of which stiffness, gap and neutral path are used.
    smoothing : float
        Half width of the rounded kinks at the ends of a gap, as a share of the gap [1].

    Returns
    -------
    list of six scalars
        Generalised forces [N m, N].
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
