"""A walking cycle of a natural knee from the poses of a published solution."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dynamics.protocol import ContactModel
from dynamics.simulator.knee_simulator import AppliedLoads, KneeSimulator
from dynamics.simulator.waveforms import GaitCycle, lead_back
from foundation.checks import FloatArray, check_array, check_number
from foundation.errors import InputError
from foundation.pose import Pose

#: Stride of the walking solution of Lenhart's knee, before one heel strike to before the next [s]:
#: that of the cycle of Smith et al. (2019, J Biomech 82:124-133), which the same trial gave.
STRIDE = (1.26, 2.32)


def cut_stride(
    time: FloatArray, poses: FloatArray, stride: tuple[float, float] = STRIDE
) -> tuple[FloatArray, FloatArray]:
    """Return the instants and poses of a motion from the first time to the second [s].

    Raises
    ------
    InputError
        If fewer than five instants are between them, or the motion does not reach them.
    """
    begin, end = (check_number("stride", t, unit="s") for t in stride)
    chosen = (time > begin - 1e-9) & (time < end + 1e-9)
    found = time[chosen]
    if len(found) < 5 or abs(found[0] - begin) > 1e-6 or abs(found[-1] - end) > 1e-6:
        raise InputError(
            f"stride: expected rows at {begin:g} s, {end:g} s and at least three between, found "
            f"{len(found)} rows in a motion from {time[0]:g} to {time[-1]:g} s"
        )
    return found, poses[chosen]


def balancing_loads(model: ContactModel, simulator: KneeSimulator, poses: ArrayLike) -> FloatArray:
    """Return the applied loads that hold a knee in given poses.

    Inverse statics: contact, ligaments and springs give the height, the AP position and the
    rotation of each pose a generalised force, which the axial force, the AP force and the torque
    take up. Those on adduction and on ML position no applied load takes up, and stay.

    Parameters
    ----------
    model : ContactModel
        The contact.
    simulator : KneeSimulator
        Ligaments and springs.
    poses : (N, 6) array_like
        Where [rad, m].

    Returns
    -------
    (N, 3) float64
        In the order of `dynamics.simulator.knee_simulator.APPLIED_COLUMNS` [N, N, N m].
    """
    rows = check_array("poses", poses, (None, 6))
    loads = np.empty((len(rows), 3))
    for row, out in zip(rows, loads, strict=True):
        pose = Pose.from_array(row)
        force = simulator.force(pose, model.loads(pose).wrench, AppliedLoads())
        out[:] = force[4], force[3], -force[2]
    return loads


def walking_cycle(
    model: ContactModel,
    simulator: KneeSimulator,
    time: ArrayLike,
    poses: ArrayLike,
    *,
    axial_only: bool = False,
) -> GaitCycle:
    """Return the inputs under which a knee walks as in the poses of a stride.

    The flexion is that of the poses, the loads are those of `balancing_loads`: what in the body
    muscles, menisci and the weight exert. A stride does not end quite as it began: over its last
    15 % every signal is led to where it began.

    Parameters
    ----------
    model : ContactModel
        The contact.
    simulator : KneeSimulator
        Ligaments and springs.
    time : (N,) array_like
        Instants of the stride [s], increasing; N >= 5.
    poses : (N, 6) array_like
        Poses of the stride [rad, m].
    axial_only : bool
        Whether AP force and torque are left out, so that AP position and rotation are up to
        ligaments, springs and contact.

    Returns
    -------
    GaitCycle
        Of the stride's duration.

    Raises
    ------
    InputError
        If the shapes do not match, or the signals are none that `GaitCycle` takes.
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
