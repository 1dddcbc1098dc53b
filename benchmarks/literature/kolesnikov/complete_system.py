"""The complete system of equations, with bodies, nodes and members: eq. 30 to 37."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.literature.kolesnikov.examples import muscle_forces, two_joint_muscles
from benchmarks.literature.kolesnikov.structures import wrench
from benchmarks.literature.statements import Statement, misprint
from benchmarks.measures import max_abs
from dynamics.mechanics.unilateral import PlanarStructure, solve_structure
from foundation.base.checks import FloatArray

_ROUNDING = 1e-9


class Coefficients(NamedTuple):
    """Matrices of eq. 34 for a planar structure; the rows of a body are force, and moment.

    Parameters
    ----------
    body_members : (3 b, m) float64
        C(bΦ) [1, m].
    node_members : (2 k, m) float64
        C(kΦ) [1].
    body_joints : (3 b, r) float64
        C(bp) [1, m].
    """

    body_members: FloatArray
    node_members: FloatArray
    body_joints: FloatArray


def coefficients(structure: PlanarStructure) -> Coefficients:
    """Return the coefficients of eq. 34, moments about the joint of each segment."""
    bodies, nodes = [segment.name for segment in structure.segments], list(structure.nodes)
    joints = [segment.joint for segment in structure.segments]
    body = np.zeros((3 * len(bodies), len(structure.members)))
    node = np.zeros((2 * len(nodes), len(structure.members)))
    joint = np.zeros((3 * len(bodies), 2 * len(bodies)))
    for column, member in enumerate(structure.members):
        for name, point, pull in (
            (member.start_body, member.start, member.pull),
            (member.end_body, member.end, -member.pull),
        ):
            if name in bodies:
                row = bodies.index(name)
                body[3 * row : 3 * row + 3, column] += wrench(point - joints[row], pull)
            elif name in nodes:
                row = nodes.index(name)
                node[2 * row : 2 * row + 2, column] += pull
    for i, segment in enumerate(structure.segments):
        for axis in range(2):
            joint[3 * i : 3 * i + 3, 2 * i + axis] = wrench(np.zeros(2), np.eye(2)[axis])
            if segment.parent in bodies:
                parent = bodies.index(segment.parent)
                arm = segment.joint - joints[parent]
                joint[3 * parent : 3 * parent + 3, 2 * i + axis] = wrench(arm, -np.eye(2)[axis])
    return Coefficients(body, node, joint)


def assembled(parts: Coefficients, stiffness: FloatArray) -> FloatArray:
    """Return the square matrix of eq. 37 (m + r + 2 k + 3 b) of Φ, p, U(k), U(b)."""
    m, r = stiffness.size, parts.body_joints.shape[1]
    node, body = parts.node_members, parts.body_members
    k, b = len(node), len(body)
    return np.block(
        [
            [np.diag(1.0 / stiffness), np.zeros((m, r)), node.T, body.T],
            [np.zeros((r, m + r + k)), parts.body_joints.T],
            [-node, np.zeros((k, r + k + b))],
            [-body, -parts.body_joints, np.zeros((b, k + b))],
        ]
    )


class Solution(NamedTuple):
    """Φ (m,) [N], p (r,) [N], U(k) (2 k,) [m] and U(b) (3 b,) [m, rad] of eq. 37."""

    forces: FloatArray
    reactions: FloatArray
    nodes: FloatArray
    bodies: FloatArray


def second_step() -> Solution:
    """Return the solution of eq. 37 for fig. 13 with muscle 5 off: step 2 of the document."""
    structure = two_joint_muscles()
    parts, on = coefficients(structure), [0, 1, 2, 3]
    kept = Coefficients(parts.body_members[:, on], parts.node_members[:, on], parts.body_joints)
    matrix = assembled(kept, structure.stiffness[on])
    right = np.zeros(len(matrix))
    # A moment of 10, clockwise on the shank.
    right[-1] = -10.0
    found = np.linalg.solve(matrix, right)
    ends = np.cumsum([len(on), parts.body_joints.shape[1], len(parts.node_members)])
    forces, reactions, nodes, bodies = np.split(found, ends)
    return Solution(np.append(forces, 0.0), reactions, nodes, bodies)


def _mixed_method() -> Statement:
    rng = np.random.default_rng(12)
    worst = 0.0
    for _ in range(20):
        c, s, load = rng.normal(size=(3, 6)), rng.uniform(1.0, 4.0, 6), rng.normal(size=3)
        initial = rng.normal(size=6)
        matrix = np.block([[np.diag(1.0 / s), c.T], [-c, np.zeros((3, 3))]])
        forces, shift = np.split(np.linalg.solve(matrix, np.concatenate([initial, load])), [6])
        stiffness = c * s @ c.T
        by_displacements = np.linalg.solve(stiffness, load + c @ (s * initial))
        ours = solve_structure(c, s, -load, pretension=initial, two_sided=np.arange(6))
        worst = max(
            worst,
            max_abs(forces - ours.forces),
            max_abs(shift - ours.displacement),
            max_abs(shift - by_displacements),
        )
    return Statement(
        "eq. 30–33",
        "C N + P = 0, Cᵀ U = D₀ - D and S D = N give the mixed method (S⁻¹ Cᵀ; -C 0) (N; U) = "
        "(D₀; P), with the stiffness matrix R = C S Cᵀ",
        "20 structures of 6 members and 3 degrees of freedom: N and U of the mixed method, of R "
        f"and of our solver with D₀ as pretension agree to {worst:.0e}",
        worst < 1e-8,
    )


def _two_subsystems() -> Statement:
    structure = two_joint_muscles()
    parts = coefficients(structure)
    matrix = assembled(parts, structure.stiffness)
    rank, statics = (int(np.linalg.matrix_rank(each)) for each in (matrix, structure.balance))
    solution, ours = second_step(), muscle_forces()
    error = max_abs(solution.forces - ours.forces)
    # Two more contact reactions, along muscles 1 and 2, make C(bp) square.
    square = np.hstack([parts.body_joints, parts.body_members[:, :2]])
    held = coefficients_held(parts, square)
    right = np.zeros(len(held))
    right[-1] = -10.0
    motion = max_abs(np.linalg.solve(held, right)[-6:])
    return Statement(
        "eq. 34–37",
        "with bodies, joints and nodes the complete system determines forces, reactions and "
        "displacements; a regular square matrix C(bp) means U(b) = 0, a structure without motion",
        f"fig. 13: {len(matrix)} equations of rank {rank}, while {statics} equations of statics "
        f"stand against {len(structure.members)} forces; with muscle 5 off the forces are those of "
        f"our solver to {error:.0e}; with two more contacts, C(bp) is 6 × 6 and U(b) {motion:.0e}",
        rank == len(matrix)
        and statics < len(structure.members)
        and error < _ROUNDING
        and np.linalg.matrix_rank(square) == len(square) == square.shape[1]
        and motion < _ROUNDING,
    )


def coefficients_held(parts: Coefficients, joints: FloatArray) -> FloatArray:
    """Return the matrix of eq. 37 for muscles 3, 4 and 5 and these joints (6, 6) [1, m]."""
    rest = Coefficients(parts.body_members[:, 2:], parts.node_members[:, 2:], joints)
    return assembled(rest, two_joint_muscles().stiffness[2:])


def _number_of_unknowns() -> Statement:
    structure = two_joint_muscles()
    parts = coefficients(structure)
    matrix = assembled(parts, structure.stiffness)
    m, b, k = len(structure.members), len(structure.segments), len(structure.nodes)
    r = parts.body_joints.shape[1]
    # In the plane a body has 3 degrees of freedom and a node 2.
    printed, right = m + 2 * 3 * b + 2 * k, m + r + 3 * b + 2 * k
    return misprint(
        "after eq. 37",
        "m members, b bodies and k nodes in space have n = m + 12 b + 3 k equations",
        "n = m + r + 6 b + 3 k with r contact reactions; r = 6 b is the square C(bp) of a "
        "structure without motion",
        f"fig. 13 in the plane, m + 6 b + 2 k: {m} muscles, {b} bodies, {k} node and {r} reactions "
        f"give {len(matrix)} equations, not {printed}",
        len(matrix) == right != printed and int(np.linalg.matrix_rank(matrix)) == right,
    )


STATEMENTS = (
    _mixed_method,
    _two_subsystems,
    _number_of_unknowns,
)
