"""Walking cycle of a natural knee from the poses of a published solution."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dynamics.protocol import ContactModel
from dynamics.simulator.knee_simulator import AppliedLoads, KneeSimulator
from dynamics.simulator.waveforms import GaitCycle, lead_back
from foundation.base.checks import FloatArray, check_array, check_number
from foundation.base.errors import InputError
from foundation.base.pose import COORDINATES, Pose

#: Stride of the walking solution of Lenhart's knee, from one heel strike to the next [s]: that of
#: the cycle of Smith et al. (2019, J Biomech 82:124-133), from the same trial.
STRIDE = (1.26, 2.32)
_ROTATION, _ANTERIOR, _SUPERIOR = map(COORDINATES.index, ("rotation", "anterior", "superior"))


def cut_stride(
    time: FloatArray, poses: FloatArray, stride: tuple[float, float] = STRIDE
) -> tuple[FloatArray, FloatArray]:
    """Return the part of a motion between two instants [s].

    From and to instants (N,) [s] and poses (N, 6) [rad, m]; raises `InputError` if the motion has
    no rows at both instants, or fewer than three between them.
    """
    begin, end = (check_number("stride", t, unit="s") for t in stride)
    chosen = (time > begin - 1e-9) & (time < end + 1e-9)
    inside = time[chosen]
    if len(inside) < 5 or abs(inside[0] - begin) > 1e-6 or abs(inside[-1] - end) > 1e-6:
        raise InputError(
            f"stride: expected rows at {begin:g} s, {end:g} s and at least three between, found "
            f"{len(inside)} rows in a motion from {time[0]:g} to {time[-1]:g} s"
        )
    return inside, poses[chosen]


def balancing_loads(model: ContactModel, simulator: KneeSimulator, poses: ArrayLike) -> FloatArray:
    """Return the loads (N, 3) that hold a knee in poses (N, 6) [rad, m], by inverse statics.

    On the tibia, in the order of `dynamics.simulator.knee_simulator.APPLIED_COLUMNS` [N, N, N m].
    Axial force, AP force and torque balance the generalised forces of contact, ligaments and
    springs on height, AP position and rotation. The forces on adduction and ML position remain.
    """
    rows = check_array("poses", poses, (None, 6))
    loads = np.empty((len(rows), 3))
    for row, out in zip(rows, loads, strict=True):
        pose = Pose.from_array(row)
        force = simulator.force(pose, model.loads(pose).wrench, AppliedLoads())
        out[:] = force[_SUPERIOR], force[_ANTERIOR], -force[_ROTATION]
    return loads


def walking_cycle(
    model: ContactModel,
    simulator: KneeSimulator,
    time: ArrayLike,
    poses: ArrayLike,
    *,
    axial_only: bool = False,
) -> GaitCycle:
    """Return the inputs that make a knee walk in the poses of a stride.

    Flexion is that of the poses, and the loads are `balancing_loads`: those of muscles, menisci and
    body weight; each signal is closed by `lead_back`.

    Parameters
    ----------
    model : ContactModel
        Contact model.
    simulator : KneeSimulator
        Ligaments and springs.
    time, poses : (N,), (N, 6) array_like
        Increasing instants [s] of the stride, N >= 5, and poses [rad, m].
    axial_only : bool
        Whether AP force and torque are zero, so that ligaments, springs and contact determine AP
        position and rotation.

    Raises
    ------
    InputError
        If the shapes do not match, or `GaitCycle` rejects the signals.
    """
    instants = check_array("time", time, (None,))
    rows = check_array("poses", poses, (len(instants), 6))
    duration = float(instants[-1] - instants[0])
    part = (instants - instants[0]) / duration
    loads = balancing_loads(model, simulator, rows)
    if axial_only:
        loads[:, 1:] = 0.0
    flexion, axial, ap, torque = (lead_back(part, signal) for signal in (rows[:, 0], *loads.T))
    return GaitCycle(100.0 * part, flexion, axial, ap, torque, duration)
