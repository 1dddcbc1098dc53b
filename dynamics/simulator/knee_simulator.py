"""Force-controlled knee simulator in the manner of ISO 14243-1 (docs/theory.md).

Flexion is prescribed; AP position and rotation may be prescribed instead of their loads, in the
manner of ISO 14243-3 (`dynamics.simulator.waveforms.GaitCycle`). The applied loads are

- an axial force, which presses the femur onto the tibia along a line fixed in the tibial frame,
  parallel to the superior axis and offset medially;
- an AP force on the tibia, anterior positive. The opposite force on the femur acts through the
  femoral origin, so that the force is conjugate to the coordinate `anterior` alone;
- an internal torque on the tibia, which is the generalised force of the coordinate `rotation`;
- an adduction torque on the tibia about the anterior axis of the tibial frame, positive where it
  loads the medial compartment.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from dynamics.core.problem import INERTIAL, INPUTS, PRESCRIBED, Problem
from dynamics.ligaments.bundles import Ligament, pack
from foundation.base.checks import FloatArray, check_number
from foundation.base.errors import InputError
from foundation.base.pose import COORDINATES, Pose
from surrogates.sampling.space import ReferencePath

#: Coordinates that the simulator leaves free, in the order of the equations of motion.
FREE_COORDINATES = COORDINATES[1:]
#: Slice of the free coordinates in a pose.
FREE = slice(1, 6)
#: Names of the applied loads with units, in order.
APPLIED_COLUMNS = ("axial_force_N", "ap_force_N", "internal_torque_Nm", "adduction_torque_Nm")
_INERTIAS = (
    "adduction_inertia", "rotation_inertia", "anterior_mass", "superior_mass", "lateral_mass",
)  # fmt: skip


@dataclass(frozen=True)
class AppliedLoads:
    """Loads that the simulator applies at one instant.

    Parameters
    ----------
    axial_force : float
        Force that presses the femur onto the tibia, compression positive [N].
    ap_force : float
        Force on the tibia, anterior positive [N].
    internal_torque : float
        Torque on the tibia, internal positive [N m].
    adduction_torque : float
        Torque on the tibia about the anterior axis, positive where it loads the medial
        compartment [N m].
    """

    axial_force: float = 0.0
    ap_force: float = 0.0
    internal_torque: float = 0.0
    adduction_torque: float = 0.0

    @property
    def array(self) -> FloatArray:
        """The loads in the order of `APPLIED_COLUMNS`, (4,) [N, N m]."""
        return np.array(
            [self.axial_force, self.ap_force, self.internal_torque, self.adduction_torque]
        )


@dataclass(frozen=True)
class KneeSimulator:
    """Moving parts, damping, restraints and line of action of a knee simulator.

    The default masses are those of a light tibial carriage. The default damping attenuates the
    oscillation on the contact (10-30 N/um) within some hundredths of a second; at walking speed it
    exerts some newtons (5 N at 25 mm/s of height), and it does not affect the quasi-static result.
    The default restraints, 30 N/mm and 0.6 N m/deg without a gap, are common values for
    force-controlled simulators; ISO 14243 states the values for a specific implant.

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
        Springs about the neutral angle [N m/rad], >= 0. Simulators of implants have no lateral and
        adduction springs; a natural knee needs them instead of its ligaments.
    anterior_gap : float
        Displacement to either side of neutral before the AP spring acts [m], >= 0.
    rotation_gap : float
        Rotation to either side of neutral before the rotational spring acts [rad], >= 0.
    medial_offset : float
        Axial line of action medial of the tibial origin [m]; usually 0.07 of the width of the
        tibial component (5 mm at 71 mm).
    anterior_offset : float
        Axial line of action anterior of the tibial origin [m].
    neutral : Pose or ReferencePath
        Pose at which the springs are slack: fixed, as in a simulator of implants, or following the
        passive motion of a natural knee over flexion.
    ligaments : tuple of Ligament
        Tension-only bundles between femur and tibia.
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
    neutral: Pose | ReferencePath = field(default_factory=Pose)
    ligaments: tuple[Ligament, ...] = ()

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name.endswith(("_mass", "_inertia")):
                check_number(name, value, above=0.0)
            elif name.endswith("_offset"):
                check_number(name, value, at_least=-0.1, at_most=0.1, unit="m")
            elif name.endswith(("_damping", "_stiffness", "_gap")):
                check_number(name, value, at_least=0.0)
        for each in self.ligaments:
            if not isinstance(each, Ligament):
                raise InputError(f"ligaments: expected Ligament values, found {each!r}")

    @property
    def inertia(self) -> FloatArray:
        """Diagonal of M in the order of `FREE_COORDINATES`, (5,) [kg m², kg]."""
        return np.array([getattr(self, name) for name in _INERTIAS])

    @property
    def damping(self) -> FloatArray:
        """Diagonal of C in the order of `FREE_COORDINATES`, (5,) [N m s/rad, N s/m]."""
        return np.array([getattr(self, f"{name}_damping") for name in FREE_COORDINATES])

    def neutral_at(self, flexion: float) -> Pose:
        """Return the pose at which the springs are slack at a flexion [rad]."""
        if isinstance(self.neutral, Pose):
            return self.neutral
        return Pose.from_array(self.neutral.poses([flexion])[0])

    def problem(
        self,
        breaks: FloatArray | None = None,
        pieces: FloatArray | None = None,
        prescribed: tuple[str, ...] = ("flexion",),
        reference: FloatArray | None = None,
        offset: FloatArray | None = None,
        factor: float = 1.0,
    ) -> Problem:
        """Return the simulator as a problem of the library.

        Parameters
        ----------
        breaks, pieces
            Inputs over time, (B,) and (4, B - 1, 10); see `dynamics.core.problem.Problem`. By
            default no loads, for a second.
        prescribed : tuple of str
            Prescribed coordinates, including flexion.
        reference : (6,) float64, optional
            Pose from which displacements count [rad, m].
        offset : (6,) float64, optional
            Offset of the pose at which the contact is evaluated [rad, m].
        factor : float
            Factor on the contact loads [1].
        """
        roles = [PRESCRIBED if name in prescribed else INERTIAL for name in COORDINATES]
        return replace(
            self._at_rest,
            breaks=self._at_rest.breaks if breaks is None else breaks,
            pieces=self._at_rest.pieces if pieces is None else pieces,
            roles=np.array(roles, dtype=np.int64),
            reference=np.zeros(6) if reference is None else np.ascontiguousarray(reference),
            offset=np.zeros(6) if offset is None else np.ascontiguousarray(offset),
            factor=factor,
        )

    @cached_property
    def _at_rest(self) -> Problem:
        """The simulator without inputs, with all coordinates prescribed."""
        path = self.neutral
        if isinstance(path, Pose):
            path = ReferencePath.constant(path.flexion, path.array[1:])
        stiffness = [getattr(self, f"{name}_stiffness", 0.0) for name in COORDINATES]
        return Problem(
            breaks=np.array([0.0, 1.0]),
            pieces=np.zeros((4, 1, INPUTS)),
            roles=np.full(6, PRESCRIBED, dtype=np.int64),
            inertia=np.concatenate(([0.0], self.inertia)),
            damping=np.concatenate(([0.0], self.damping)),
            stiffness=np.array(stiffness),
            gap=np.array([getattr(self, f"{name}_gap", 0.0) for name in COORDINATES]),
            neutral_breaks=np.array(path.flexion),
            neutral_pieces=np.ascontiguousarray(path.pieces),
            line=np.array([self.medial_offset, self.anterior_offset]),
            reference=np.zeros(6),
            offset=np.zeros(6),
            factor=1.0,
            ligaments=pack(self.ligaments),
        )

    def forces(
        self,
        pose: Pose,
        contact_wrench: FloatArray,
        contact_jacobian: FloatArray,
        applied: AppliedLoads,
    ) -> tuple[FloatArray, FloatArray]:
        """Return Q_contact + Q_applied + Q_restraint and their derivatives.

        Parameters
        ----------
        pose : Pose
            Pose of the femur relative to the tibia.
        contact_wrench : (6,) float64
            Contact wrench on the femur, tibial frame, about the tibial origin [N, N m].
        contact_jacobian : (6, 6) float64
            d(contact wrench)/d(pose coordinates) [N, N m per rad, m].
        applied : AppliedLoads
            Applied loads.

        Returns
        -------
        force : (6,) float64
            Generalised forces [N m, N]. The first component is balanced by the flexion drive and
            does not enter the equations of motion.
        jacobian : (6, 6) float64
            d(force)/d(pose coordinates) [N m, N per rad, m].
        """
        wrench, by_pose = (
            np.ascontiguousarray(each, float) for each in (contact_wrench, contact_jacobian)
        )
        return self._at_rest.forces(pose.array, applied.array, wrench, by_pose)

    def force(self, pose: Pose, contact_wrench: FloatArray, applied: AppliedLoads) -> FloatArray:
        """Return the generalised forces (6,) [N m, N] of `forces` without derivatives."""
        return self.forces(pose, contact_wrench, np.zeros((6, 6)), applied)[0]
