"""The knee simulator's equations of motion for one state (docs/theory.md).

A state (n,) consists of the displacements of the free coordinates from a reference pose, then the
rates of the coordinates with inertia.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics.kernels.ligaments import LIGAMENT_WORK, LigamentArguments, add_ligaments
from dynamics.kernels.virtual_work import add_wrench
from foundation.base.checks import FloatArray
from foundation.base.compiling import inlined, inlined_kernel, kernel

#: Roles of a coordinate.
PRESCRIBED, INERTIAL, QUASI_STATIC = 0, 1, 2
#: Number of inputs over time: six prescribed coordinates, then the applied loads.
INPUTS = 10
AXIAL, AP, TORQUE, ADDUCTION = 6, 7, 8, 9
# Offsets in the scratch array: inputs and their rates; pose; force, its rate and its derivative
# with respect to the pose; the pose of the contact; the wrench of the applied loads and its
# derivative, which is zero; and the scratch of the ligaments.
_INPUTS, _RATES = 0, INPUTS
_POSE, _FORCE, _CHANGE, _JACOBIAN = 20, 26, 32, 38
_SHIFTED, _APPLIED, _CONSTANT, _LIGAMENTS = 74, 80, 86, 122
#: Numbers in the scratch array of the functions of this module.
SCRATCH = _LIGAMENTS + LIGAMENT_WORK


class Problem(NamedTuple):
    """Simulation without contact, as argument of the kernels.

    Parameters
    ----------
    breaks : (B,) float64
        Knots of the inputs [s], from 0 to the period, after which they repeat.
    pieces : (4, B - 1, 10) float64
        Cubic pieces of the inputs (`INPUTS`) in falling powers [rad, m, N, N m].
    roles : (6,) int64
        `PRESCRIBED`, `INERTIAL` or `QUASI_STATIC`.
    inertia, damping, stiffness, gap : (6,) float64
        M [kg m², kg], C [N m s/rad, N s/m], stiffness [N m/rad, N/m] and gap
        [rad, m] of the restraint of each coordinate.
    neutral_breaks, neutral_pieces : (K,), (4, K - 1, 5) float64
        Neutral pose over flexion [rad, m] (`surrogates.sampling.space.ReferencePath`).
    line : (2,) float64
        Medial and anterior offset of the axial force's line of action [m].
    reference : (6,) float64
        Pose from which displacements count [rad, m].
    offset : (6,) float64
        Offset of the contact pose [rad, m] (`dynamics.simulator.variation.VariedContact`).
    factor : (1,) float64
        Factor on the contact loads [1].
    ligaments : LigamentArguments
        Bundles between femur and tibia.
    """

    breaks: FloatArray
    pieces: FloatArray
    roles: NDArray[np.int64]
    inertia: FloatArray
    damping: FloatArray
    stiffness: FloatArray
    gap: FloatArray
    neutral_breaks: FloatArray
    neutral_pieces: FloatArray
    line: FloatArray
    reference: FloatArray
    offset: FloatArray
    factor: FloatArray
    ligaments: LigamentArguments


@inlined_kernel
def inputs_at(time, problem, values, rates):
    """Fill values and rates (10,) of the inputs at a time."""
    breaks, pieces = problem.breaks, problem.pieces
    within = time % breaks[-1]
    piece = min(max(np.searchsorted(breaks, within, side="right") - 1, 0), breaks.size - 2)
    t = within - breaks[piece]
    for k in range(values.size):
        a, b, c = pieces[0, piece, k], pieces[1, piece, k], pieces[2, piece, k]
        values[k] = ((a * t + b) * t + c) * t + pieces[3, piece, k]
        rates[k] = (3.0 * a * t + 2.0 * b) * t + c


@kernel
def inputs_of_all(times, problem, values, rates):
    """Fill values and rates (N, 10) of the inputs at times (N,)."""
    for i in range(times.size):
        inputs_at(times[i], problem, values[i], rates[i])


@inlined_kernel
def pose_at(time, state, problem, pose, scratch):
    """Fill the pose coordinates (6,) of a state; `scratch` keeps inputs and pose for `assemble`."""
    inputs, rates = scratch[_INPUTS:_RATES], scratch[_RATES:_POSE]
    inputs_at(time, problem, inputs, rates)
    row = 0
    for k in range(6):
        if problem.roles[k] == PRESCRIBED:
            pose[k] = inputs[k]
        else:
            pose[k] = problem.reference[k] + state[row]
            row += 1
        scratch[_POSE + k] = pose[k]


@inlined
def add_restraint(pose, problem, force, jacobian):
    """Add generalised forces and derivatives of the springs; return the stored energy [J]."""
    breaks, pieces = problem.neutral_breaks, problem.neutral_pieces
    piece = min(max(np.searchsorted(breaks, pose[0], side="right") - 1, 0), breaks.size - 2)
    t = pose[0] - breaks[piece]
    energy = 0.0
    for k in range(1, 6):
        stiffness, gap = problem.stiffness[k], problem.gap[k]
        if stiffness == 0.0:
            continue
        a, b, c = pieces[0, piece, k - 1], pieces[1, piece, k - 1], pieces[2, piece, k - 1]
        away = pose[k] - (((a * t + b) * t + c) * t + pieces[3, piece, k - 1])
        if abs(away) < gap:
            continue
        stretch = away - gap if away > 0.0 else away + gap
        force[k] -= stiffness * stretch
        jacobian[k, k] -= stiffness
        jacobian[k, 0] += stiffness * ((3.0 * a * t + 2.0 * b) * t + c)
        energy += 0.5 * stiffness * stretch * stretch
    return energy


@inlined
def add_applied(pose, inputs, problem, wanted, force, jacobian, scratch):
    """Add the generalised forces (6,) of the applied loads and, if wanted, derivatives (6, 6).

    The forces are linear in the loads: rates of the loads in `inputs` (10,) give rates of forces.
    """
    applied, constant = scratch[_APPLIED:_CONSTANT], scratch[_CONSTANT:_LIGAMENTS].reshape(6, 6)
    if wanted:
        constant[:, :] = 0.0
    axial = inputs[AXIAL]
    applied[0] = 0.0
    applied[1] = -axial
    applied[2] = 0.0
    applied[3] = -problem.line[0] * axial - inputs[ADDUCTION]
    applied[4] = -inputs[TORQUE]
    applied[5] = -problem.line[1] * axial
    add_wrench(pose, applied, constant, 1.0, wanted, force, jacobian)
    force[3] -= inputs[AP]


@inlined_kernel
def forces_at(pose, inputs, wrench, by_pose, problem, wanted, force, jacobian, scratch):
    """Fill Q (6,) and, if wanted, dQ/dq (6, 6): contact, applied loads and restraints.

    `wrench` (6,) and `by_pose` (6, 6) are those of the contact of both compartments at the pose
    plus the offset. Returns the energy [J] stored in the restraints.
    """
    force[:] = 0.0
    if wanted:
        jacobian[:, :] = 0.0
    shifted = scratch[_SHIFTED:_APPLIED]
    for k in range(6):
        shifted[k] = pose[k] + problem.offset[k]
    add_wrench(shifted, wrench, by_pose, problem.factor[0], wanted, force, jacobian)
    add_applied(pose, inputs, problem, wanted, force, jacobian, scratch)
    energy = add_restraint(pose, problem, force, jacobian)
    if problem.ligaments.rest_length.size == 0:
        return energy
    work = scratch[_LIGAMENTS:]
    return energy + add_ligaments(pose, problem.ligaments, wanted, force, jacobian, work)


@inlined_kernel
def forces_by_time(pose, rates, problem, jacobian, change, scratch):
    """Fill the time derivative of Q (6,) at constant state: prescribed motion and loads."""
    change[:] = 0.0
    add_applied(pose, rates, problem, np.bool_(False), change, jacobian, scratch)
    for k in range(6):
        for j in range(6):
            if problem.roles[j] == PRESCRIBED:
                change[k] += jacobian[k, j] * rates[j]


@inlined_kernel
def assemble(state, wrench, by_pose, problem, wanted, f, by_state, by_time, scratch):
    """Fill f (n,) of M y' = f(t, y) and, if wanted, its derivatives.

    At the time and state of the last call of `pose_at` with the same scratch array. The derivatives
    are by_state (n, n) and by_time (n,). M is diagonal: 1, or 0 for a quasi-static coordinate
    without damping (`mass_of`).
    """
    inputs, rates = scratch[_INPUTS:_RATES], scratch[_RATES:_POSE]
    pose, force = scratch[_POSE:_FORCE], scratch[_FORCE:_CHANGE]
    jacobian = scratch[_JACOBIAN:_SHIFTED].reshape(6, 6)
    forces_at(pose, inputs, wrench, by_pose, problem, wanted, force, jacobian, scratch)
    row, rate = 0, _free(problem)
    for k in range(6):
        role, damping = problem.roles[k], problem.damping[k]
        if role == INERTIAL:
            f[row] = state[rate]
            f[rate] = (force[k] - damping * state[rate]) / problem.inertia[k]
            rate += 1
        elif role == QUASI_STATIC:
            f[row] = force[k] / (damping if damping > 0.0 else 1.0)
        row += role != PRESCRIBED
    if wanted:
        change = scratch[_CHANGE:_JACOBIAN]
        forces_by_time(pose, rates, problem, jacobian, change, scratch)
        _fill_derivatives(problem, jacobian, change, by_state, by_time)


@inlined
def _free(problem):
    """Return the number of free coordinates."""
    free = 0
    for k in range(6):
        free += problem.roles[k] != PRESCRIBED
    return free


@inlined
def _fill_derivatives(problem, jacobian, change, by_state, by_time):
    """Fill the derivatives of `assemble` from those of Q by pose (6, 6) and by time (6,)."""
    by_state[:, :] = 0.0
    row, rate = 0, _free(problem)
    for k in range(6):
        role, damping = problem.roles[k], problem.damping[k]
        if role == PRESCRIBED:
            continue
        if role == INERTIAL:
            by_time[row] = 0.0
            by_state[row, rate] = 1.0
            target, divisor = rate, problem.inertia[k]
            by_state[rate, rate] = -damping / divisor
            rate += 1
        else:
            target, divisor = row, damping if damping > 0.0 else 1.0
        by_time[target] = change[k] / divisor
        column = 0
        for j in range(6):
            if problem.roles[j] != PRESCRIBED:
                by_state[target, column] = jacobian[k, j] / divisor
                column += 1
        row += 1


@kernel
def mass_of(problem, mass):
    """Fill the diagonal of M (n,)."""
    row = 0
    for k in range(6):
        if problem.roles[k] != PRESCRIBED:
            massless = problem.roles[k] == QUASI_STATIC and problem.damping[k] == 0.0
            mass[row] = 0.0 if massless else 1.0
            row += 1
    mass[row:] = 1.0
