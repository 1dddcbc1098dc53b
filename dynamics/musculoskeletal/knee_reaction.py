"""Loads of the knee of a model without articular contact, from the reaction of its joint.

The joint stands for contact and ligaments of the knee. Its reaction, with the muscles pulling, is
what these tissues exert on the tibia; the opposite is the load that they bear, in the signs of ISO
14243 and of `GaitCycle`: axial force that compresses, force on the tibia to the front, torque on
the tibia in internal rotation, and adduction moment that loads the medial side.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dynamics.motion.plates import find_stride
from dynamics.musculoskeletal.comak import ComakResult
from dynamics.musculoskeletal.external_loads import AppliedForce
from dynamics.musculoskeletal.leg_sides import Part, leg_side
from dynamics.musculoskeletal.opensim_plant import OpenSimPlant
from dynamics.musculoskeletal.osim_joints import OsimJoint
from dynamics.musculoskeletal.osim_model import OsimModel
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

_THIGH, _SHANK = re.compile("femur|thigh", re.I), re.compile("tibia|shank", re.I)


@dataclass(frozen=True, eq=False)
class KneeLoads:
    """Loads (N,) [N, N m] that contact and ligaments of a knee bear, as those of a right knee."""

    joint: str
    #: "right", "left", or empty if it is unknown.
    leg: str
    #: Instants (N,) [s].
    time: FloatArray
    #: Flexion (N,) [rad].
    flexion: FloatArray
    #: Compression along the tibia (N,) [N].
    axial_force: FloatArray
    #: Force on the tibia, anterior positive (N,) [N].
    ap_force: FloatArray
    #: Torque on the tibia about its axis, internal positive (N,) [N m].
    internal_torque: FloatArray
    #: Moment on the tibia that loads the medial side (N,) [N m].
    adduction_moment: FloatArray


class Knee(NamedTuple):
    """Joint of a knee, and start and end of a cycle [s]."""

    joint: OsimJoint
    start: float
    stop: float


def knee_cycle(
    model: OsimModel,
    forces: Sequence[AppliedForce],
    span: tuple[float, float],
    *,
    name: str | None = None,
    cycle: tuple[float, float] | None = None,
) -> Knee:
    """Return the knee, by default that with more load, and its cycle, by default a stride."""
    knees: list[tuple[float, Knee]] = []
    faults: list[InputError] = []
    for joint in _knees(model, name):
        time, vertical = _carried(model, joint, forces, span)
        try:
            knee = Knee(joint, *(cycle or _stride(joint, time, vertical)))
        except InputError as fault:
            faults.append(fault)
        else:
            knees.append((float(vertical.sum()), knee))
    if not knees:
        raise faults[0]
    return max(knees, key=lambda item: item[0])[1]


def _knees(model: OsimModel, stated: str | None) -> list[OsimJoint]:
    """Return the stated joint of a model, or all joints of a femur with a tibia."""
    joints = {joint.name: joint for joint in model.joints}
    if stated in joints:
        return [joints[stated]]
    if stated is not None:
        raise InputError(
            f"walk.knee: expected a joint of {model.path.name}, found {stated}; the model has "
            f"{', '.join(joints)}"
        )
    knees = [j for j in joints.values() if _THIGH.search(j.parent) and _SHANK.search(j.child)]
    if not knees:
        raise InputError(
            f"walk.knee: expected the name of the knee joint of {model.path.name}, as no joint "
            f"connects a femur with a tibia; the model has {', '.join(joints)}"
        )
    return knees


def _stride(joint: OsimJoint, time: FloatArray, vertical: FloatArray) -> tuple[float, float]:
    """Return start and end [s] of a stride of the leg below a knee."""
    if not len(time):
        raise InputError(
            "comak.start_s and comak.stop_s: expected the heel strikes of a stride, as no "
            f"external load acts on the leg below {joint.name}"
        )
    return find_stride(time, vertical, name=f"vertical force on the leg below {joint.name}")


def _carried(
    model: OsimModel,
    joint: OsimJoint,
    forces: Iterable[AppliedForce],
    span: tuple[float, float],
) -> tuple[FloatArray, FloatArray]:
    """Return instants (N,) of a span [s], and the vertical force (N,) [N] below a joint."""
    below = {joint.child}
    while more := {j.child for j in model.joints if j.parent in below} - below:
        below |= more
    feet = [force for force in forces if force.body in below and force.in_ground]
    if not feet:
        return np.empty(0), np.empty(0)
    up, time = -model.gravity / np.linalg.norm(model.gravity), feet[0].time
    time = time[(time >= span[0]) & (time <= span[1])]
    return time, np.sum([force.at(time).force @ up for force in feet], axis=0)


def knee_loads(
    model: OsimModel, joint: OsimJoint, plant: OpenSimPlant, result: ComakResult
) -> KneeLoads:
    """Return the loads of a knee with the muscle forces of a result."""
    side = leg_side(model, Part(joint.name, joint.child))
    thigh = leg_side(model, Part(joint.name, joint.parent)).axes
    shank, system, rows = side.axes, plant.system, []
    for frame, tensions in enumerate(result.muscle_forces):
        plant.place(frame)
        system.set_tensions(tensions)
        reaction = system.reaction(joint.name, plant.motion.accelerations[frame])
        force, moment, parent, child = reaction
        turn = thigh @ parent.T @ child @ shank.T
        flexion = np.arctan2(turn[0, 1], turn[1, 1])
        rows.append([flexion, *(shank @ child.T @ force), *(shank @ child.T @ moment)])
    flexion, forward, up, _, about_forward, about_up, _ = np.transpose(rows)
    mirror = -1.0 if side.leg == "left" else 1.0
    return KneeLoads(
        joint.name,
        side.leg,
        result.time,
        flexion,
        axial_force=-up,
        ap_force=-forward,
        internal_torque=-mirror * about_up,
        adduction_moment=-mirror * about_forward,
    )
