"""Walking cycle of a natural knee from the poses of a published solution."""

import numpy as np

from dynamics import AppliedLoads, GaitCycle
from dynamics.simulator.waveforms import lead_back
from foundation.base.pose import COORDINATES, Pose

#: Stride of the walking solution of Lenhart's knee, from one heel strike to the next [s]: that of
#: the cycle of Smith et al. (2019, J Biomech 82:124-133), from the same trial.
STRIDE = (1.26, 2.32)
_ROTATION, _ANTERIOR, _SUPERIOR = map(COORDINATES.index, ("rotation", "anterior", "superior"))


def cut_stride(time, poses):
    """Return the part of a motion, instants (N,) [s] and poses (N, 6) [rad, m], in `STRIDE`."""
    chosen = (time > STRIDE[0] - 1e-9) & (time < STRIDE[1] + 1e-9)
    inside = time[chosen]
    np.testing.assert_allclose(inside[[0, -1]], STRIDE, rtol=0.0, atol=1e-6)
    return inside, poses[chosen]


def balancing_loads(model, simulator, poses):
    """Return the loads (N, 3) that hold a knee in poses (N, 6) [rad, m], by inverse statics.

    On the tibia, in the order of `dynamics.simulator.knee_simulator.APPLIED_COLUMNS` [N, N, N m].
    Axial force, AP force and torque balance the generalised forces of contact, ligaments and
    springs on height, AP position and rotation. The forces on adduction and ML position remain.
    """
    loads = np.empty((len(poses), 3))
    for row, out in zip(poses, loads, strict=True):
        pose = Pose.from_array(row)
        force = simulator.force(pose, model.loads(pose).wrench, AppliedLoads())
        out[:] = force[_SUPERIOR], force[_ANTERIOR], -force[_ROTATION]
    return loads


def walking_cycle(model, simulator, time, poses, *, axial_only=False):
    """Return the inputs that make a knee walk in the poses (N, 6) [rad, m] of a stride (N,) [s].

    Flexion is that of the poses. The loads are `balancing_loads`: those of muscles, menisci and
    body weight. With `axial_only`, AP force and torque are zero, so that ligaments, springs and
    contact determine AP position and rotation.
    """
    duration = float(time[-1] - time[0])
    part = (time - time[0]) / duration
    loads = balancing_loads(model, simulator, poses)
    if axial_only:
        loads[:, 1:] = 0.0
    flexion, axial, ap, torque = (lead_back(part, signal) for signal in (poses[:, 0], *loads.T))
    return GaitCycle(100.0 * part, flexion, axial, ap, torque, duration)
