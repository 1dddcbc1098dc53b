"""Force-controlled knee simulator in the manner of ISO 14243-1.

Flexion is prescribed. The other five coordinates of the pose move freely under the contact, the
applied loads, the restraint springs (which stand for the soft tissue) and viscous damping,

    M q'' = Q_contact(q) + Q_applied(t, q) + Q_restraint(q) - C q',

with constant diagonal M and C in the pose coordinates. The applied loads are

- an axial force, which presses the femur onto the tibia along a line fixed in the tibial frame,
  parallel to the superior axis and offset medially;
- an AP force on the tibia, anterior positive. On the femur it is the negative, and it acts through
  the femoral origin, so that it is conjugate to the coordinate `anterior` alone;
- an internal torque on the tibia, which is the generalised force of the coordinate `rotation`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields

import numpy as np

from foundation.checks import FloatArray, check_number
from foundation.pose import (
    COORDINATES,
    Pose,
    generalised_force,
    generalised_force_jacobian,
)

#: The coordinates that the simulator leaves free, in the order of the equations of motion.
FREE_COORDINATES = COORDINATES[1:]
#: Where they stand in a pose.
FREE = slice(1, 6)
#: Names of the applied loads, with their units, in order.
APPLIED_COLUMNS = ("axial_force_N", "ap_force_N", "internal_torque_Nm")


@dataclass(frozen=True)
class AppliedLoads:
    """Loads that the simulator applies at one instant.

    Parameters
    ----------
    axial_force : float
        Presses the femur onto the tibia [N]; compression positive.
    ap_force : float
        On the tibia, anterior positive [N].
    internal_torque : float
        On the tibia, internal positive [N m].
    """

    axial_force: float = 0.0
    ap_force: float = 0.0
    internal_torque: float = 0.0

    @property
    def array(self) -> FloatArray:
        """The loads in the order of `APPLIED_COLUMNS`, (3,)."""
        return np.array([self.axial_force, self.ap_force, self.internal_torque])


@dataclass(frozen=True)
class KneeSimulator:
    """Moving parts, damping, restraints and line of action of a knee simulator.

    The default masses are those of a light tibial carriage. The default damping lets the
    oscillation on the contact (10-30 N/um) die out within some hundredths of a second, while at
    the speeds of walking it takes some newtons (5 N at 25 mm/s of height); it does not matter to
    the quasi-static answer. The default restraints, 30 N/mm and 0.6 N m/deg without a gap, are
    values in common use for force-controlled simulators; the parts of ISO 14243 in force for a
    given implant state their own.

    Parameters
    ----------
    adduction_inertia, rotation_inertia : float
        Moving inertias [kg m²], > 0.
    anterior_mass, superior_mass, lateral_mass : float
        Moving masses [kg], > 0.
    adduction_damping, rotation_damping : float
        Viscous damping [N m s/rad], >= 0.
    anterior_damping, superior_damping, lateral_damping : float
        Viscous damping [N s/m], >= 0.
    anterior_stiffness, lateral_stiffness : float
        Springs about the neutral position [N/m], >= 0.
    rotation_stiffness, adduction_stiffness : float
        Springs about the neutral angle [N m/rad], >= 0. Lateral and adduction springs are absent
        in a simulator of implants; a natural knee needs them in place of its ligaments.
    anterior_gap : float
        Travel to either side of neutral before the AP spring acts [m], >= 0.
    rotation_gap : float
        Turn to either side of neutral before the rotational spring acts [rad], >= 0.
    medial_offset : float
        Axial line of action medial of the tibial origin [m]; customarily 0.07 of the width of
        the tibial component (5 mm at 71 mm).
    anterior_offset : float
        Axial line of action anterior of the tibial origin [m].
    neutral : Pose, or callable from flexion [rad] to Pose
        Where the springs are slack: fixed, as in a simulator of implants, or following the passive
        motion of a natural knee, whose ligaments hold it about another pose at each flexion.

    Raises
    ------
    ValueError
        If a parameter is out of its range.
    """

    adduction_inertia: float = 0.03
    rotation_inertia: float = 0.01
    anterior_mass: float = 3.0
    superior_mass: float = 3.0
    lateral_mass: float = 3.0
    adduction_damping: float = 2.0
    rotation_damping: float = 0.2
    anterior_damping: float = 200.0
    superior_damping: float = 200.0
    lateral_damping: float = 200.0
    anterior_stiffness: float = 30e3
    anterior_gap: float = 0.0
    rotation_stiffness: float = 0.6 * 180.0 / np.pi
    rotation_gap: float = 0.0
    lateral_stiffness: float = 0.0
    adduction_stiffness: float = 0.0
    medial_offset: float = 5e-3
    anterior_offset: float = 0.0
    neutral: Pose | Callable[[float], Pose] = field(default_factory=Pose)

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name == "neutral":
                continue
            if each.name.endswith(("_mass", "_inertia")):
                check_number(each.name, value, above=0.0)
            elif each.name.endswith("_offset"):
                check_number(each.name, value, at_least=-0.1, at_most=0.1, unit="m")
            else:
                check_number(each.name, value, at_least=0.0)

    @property
    def inertia(self) -> FloatArray:
        """Diagonal of M in the order of `FREE_COORDINATES`, (5,) [kg m², kg]."""
        return np.array(
            [
                self.adduction_inertia,
                self.rotation_inertia,
                self.anterior_mass,
                self.superior_mass,
                self.lateral_mass,
            ]
        )

    @property
    def damping(self) -> FloatArray:
        """Diagonal of C in the order of `FREE_COORDINATES`, (5,) [N m s/rad, N s/m]."""
        return np.array(
            [
                self.adduction_damping,
                self.rotation_damping,
                self.anterior_damping,
                self.superior_damping,
                self.lateral_damping,
            ]
        )

    def applied_wrench(self, pose: Pose, applied: AppliedLoads) -> FloatArray:
        """Return the applied loads as a wrench on the femur.

        Returns
        -------
        (6,) float64
            (force; moment about the tibial origin), tibial frame [N, N m].
        """
        axial, ap = applied.axial_force, applied.ap_force
        return np.array(
            [
                -ap,
                -axial,
                0.0,
                -self.medial_offset * axial,
                -pose.lateral * ap - applied.internal_torque,
                pose.superior * ap - self.anterior_offset * axial,
            ]
        )

    def neutral_at(self, flexion: float) -> Pose:
        """Return where the springs are slack at a flexion [rad]."""
        return self.neutral(flexion) if callable(self.neutral) else self.neutral

    def restraint(self, pose: Pose) -> tuple[FloatArray, FloatArray]:
        """Return the generalised forces of the springs and their derivatives.

        Flexion is prescribed: a neutral pose that follows it is held in the derivatives.

        Returns
        -------
        force : (6,) float64
            Conjugate to the pose coordinates [N m, N].
        slope : (6,) float64
            Derivative of each by its own coordinate; 0 within the gap.
        """
        stiffness = np.array(
            [
                0.0,
                self.adduction_stiffness,
                self.rotation_stiffness,
                self.anterior_stiffness,
                0.0,
                self.lateral_stiffness,
            ]
        )
        gap = np.array([0.0, 0.0, self.rotation_gap, self.anterior_gap, 0.0, 0.0])
        away = pose.array - self.neutral_at(pose.flexion).array
        stretch = away - np.minimum(np.maximum(away, -gap), gap)
        return -stiffness * stretch, -stiffness * (np.abs(away) >= gap)

    def force(self, pose: Pose, contact_wrench: FloatArray, applied: AppliedLoads) -> FloatArray:
        """Return Q_contact + Q_applied + Q_restraint.

        Parameters
        ----------
        pose : Pose
            Where the forces act.
        contact_wrench : (6,) float64
            Contact on the femur [N, N m].
        applied : AppliedLoads
            What the simulator applies.

        Returns
        -------
        (6,) float64
            Conjugate to the pose coordinates [N m, N]. The first, minus which the flexion drive
            must supply, does not enter the equations of motion.
        """
        wrench = contact_wrench + self.applied_wrench(pose, applied)
        return generalised_force(pose, wrench) + self.restraint(pose)[0]

    def force_jacobian(
        self,
        pose: Pose,
        contact_wrench: FloatArray,
        contact_jacobian: FloatArray,
        applied: AppliedLoads,
    ) -> FloatArray:
        """Return d(`force`)/d(pose coordinates), (6, 6).

        Parameters
        ----------
        pose, contact_wrench, applied
            As in `force`.
        contact_jacobian : (6, 6) float64
            d(contact wrench)/d(pose coordinates).
        """
        jacobian = np.array(contact_jacobian, dtype=np.float64)
        jacobian[5, 4] += applied.ap_force
        jacobian[4, 5] -= applied.ap_force
        wrench = contact_wrench + self.applied_wrench(pose, applied)
        total = generalised_force_jacobian(pose, wrench, jacobian)
        total[np.diag_indices(6)] += self.restraint(pose)[1]
        return total
