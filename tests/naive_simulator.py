"""The simulator's forces as they are written in a textbook, in plain NumPy."""

import numpy as np

from foundation.base.pose import generalised_force


def applied_wrench(simulator, pose, applied):
    """Axial force on its line, AP force through the femoral origin, torque: on the femur."""
    down = np.array([0.0, -applied.axial_force, 0.0])
    back = np.array([-applied.ap_force, 0.0, 0.0])
    line = np.array([simulator.anterior_offset, 0.0, -simulator.medial_offset])
    moment = np.cross(line, down) + np.cross(pose.translation, back)
    moment[1] -= applied.internal_torque
    moment[0] -= applied.adduction_torque
    return np.concatenate([down + back, moment])


def restraint(simulator, pose):
    """Generalised forces (6,) of the springs."""
    names = ("adduction", "rotation", "anterior", "superior", "lateral")
    neutral, force = simulator.neutral_at(pose.flexion), np.zeros(6)
    for k, name in enumerate(names, 1):
        stiffness = getattr(simulator, f"{name}_stiffness", 0.0)
        gap = getattr(simulator, f"{name}_gap", 0.0)
        away = getattr(pose, name) - getattr(neutral, name)
        if away > gap:
            force[k] = -stiffness * (away - gap)
        elif away < -gap:
            force[k] = -stiffness * (away + gap)
    return force


def restraint_energy(simulator, pose):
    """Energy stored in the springs [J]: half the force times the stretch of each."""
    force, energy = restraint(simulator, pose), 0.0
    for name, pull in zip(("rotation", "anterior", "lateral", "adduction"), force[[2, 3, 5, 1]],
                          strict=True):  # fmt: skip
        stiffness = getattr(simulator, f"{name}_stiffness")
        energy += 0.5 * pull**2 / stiffness if stiffness > 0.0 else 0.0
    return energy


def tension(ligament, length):
    """Tension of a linear or quadratic bundle [N]."""
    stretch = max(length - ligament.rest_length, 0.0)
    return ligament.stiffness * (stretch if ligament.kind == "linear" else stretch**2)


def ligament_energy(ligament, length):
    """Energy of a linear or quadratic bundle [J]."""
    stretch = max(length - ligament.rest_length, 0.0)
    power = 2 if ligament.kind == "linear" else 3
    return ligament.stiffness * stretch**power / power


def line(ligament, pose):
    """Femoral end of a bundle in the tibial frame, and the way from there to its tibial end."""
    end = pose.translation + pose.rotation_matrix @ ligament.femoral
    return end, ligament.tibial - end


def ligament_wrench(ligament, pose):
    """What a bundle does to the femur, about the tibial origin."""
    end, way = line(ligament, pose)
    length = float(np.linalg.norm(way))
    pull = tension(ligament, length) * way / length
    return np.concatenate([pull, np.cross(end, pull)])


def force(simulator, pose, contact_wrench, applied):
    """Q (6,) of contact, applied loads, springs and ligaments."""
    wrench = contact_wrench + applied_wrench(simulator, pose, applied)
    for each in simulator.ligaments:
        wrench = wrench + ligament_wrench(each, pose)
    return generalised_force(pose, wrench) + restraint(simulator, pose)


def stored_energy(simulator, pose):
    """Energy of springs and ligaments [J]."""
    bundles = (
        ligament_energy(each, float(np.linalg.norm(line(each, pose)[1])))
        for each in simulator.ligaments
    )
    return restraint_energy(simulator, pose) + sum(bundles)


def load_energy(pose, applied):
    """Potential of constant AP force and torque [J].

    The axial force has none: it is fixed to its line in the tibia, and its moment about a femur
    that has moved sideways does work in adduction.
    """
    assert applied.axial_force == 0.0
    return applied.ap_force * pose.anterior - applied.internal_torque * pose.rotation
