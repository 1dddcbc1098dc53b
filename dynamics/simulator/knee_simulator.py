"""Force-controlled knee simulator in the manner of ISO 14243-1.

Flexion is prescribed. The other five coordinates of the pose move freely under the contact, the
applied loads, the restraint springs (which stand for the soft tissue) and viscous damping,

    M q'' = Q_contact(q) + Q_applied(t, q) + Q_restraint(q) - C q',

with constant diagonal M and C in the pose coordinates. Coordinates may be taken as quasi-static,
without their inertia (docs/theory.md says how far from full dynamics that is). AP position
and rotation may be prescribed in place of their loads, in the manner of ISO 14243-3
(`dynamics.simulator.waveforms.GaitCycle`). The applied loads are

- an axial force, which presses the femur onto the tibia along a line fixed in the tibial frame,
  parallel to the superior axis and offset medially;
- an AP force on the tibia, anterior positive. On the femur it is the negative, and it acts through
  the femoral origin, so that it is conjugate to the coordinate `anterior` alone;
- an internal torque on the tibia, which is the generalised force of the coordinate `rotation`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dynamics.kernels.equations import (
    INERTIAL,
    INPUTS,
    PRESCRIBED,
    QUASI_STATIC,
    SCRATCH,
    Problem,
    forces_at,
)
from dynamics.ligaments.bundles import Ligament, pack
from foundation.checks import FloatArray, check_number
from foundation.errors import InputError
from foundation.pose import COORDINATES, Pose
from surrogates.sampling.space import ReferencePath

#: The coordinates that the simulator leaves free, in the order of the equations of motion.
FREE_COORDINATES = COORDINATES[1:]
#: Where they stand in a pose.
FREE = slice(1, 6)
#: Names of the applied loads, with their units, in order.
APPLIED_COLUMNS = ("axial_force_N", "ap_force_N", "internal_torque_Nm")

#: The coordinates that contact holds, quasi-static in reduced dynamics.
REDUCED = ("adduction", "superior", "lateral")


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
    neutral : Pose or ReferencePath
        Where the springs are slack: fixed, as in a simulator of implants, or following the passive
        motion of a natural knee, whose ligaments hold it about another pose at each flexion.
    ligaments : tuple of Ligament
        Tension-only bundles between femur and tibia.
    quasi_static : tuple of str
        Free coordinates that move without inertia; their damping remains. By default none, full
        dynamics; `REDUCED` leaves inertia to AP translation and rotation alone.

    Raises
    ------
    InputError
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
    neutral: Pose | ReferencePath = field(default_factory=Pose)
    ligaments: tuple[Ligament, ...] = ()
    quasi_static: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name.endswith(("_mass", "_inertia")):
                check_number(name, value, above=0.0)
            elif name.endswith("_offset"):
                check_number(name, value, at_least=-0.1, at_most=0.1, unit="m")
            elif name.endswith(("_damping", "_stiffness", "_gap")):
                check_number(name, value, at_least=0.0)
        unknown = [name for name in self.quasi_static if name not in FREE_COORDINATES]
        if unknown:
            raise InputError(
                f"quasi_static: expected free coordinates, {', '.join(FREE_COORDINATES)}, found "
                f"{unknown[0]!r}"
            )
        for each in self.ligaments:
            if not isinstance(each, Ligament):
                raise InputError(f"ligaments: expected Ligament values, found {each!r}")

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

    def neutral_at(self, flexion: float) -> Pose:
        """Return where the springs are slack at a flexion [rad]."""
        if isinstance(self.neutral, Pose):
            return self.neutral
        return Pose.from_array(self.neutral.poses([flexion])[0])

    def problem(
        self,
        breaks: FloatArray,
        pieces: FloatArray,
        prescribed: tuple[str, ...] = ("flexion",),
        reference: FloatArray | None = None,
        offset: FloatArray | None = None,
        factor: float = 1.0,
    ) -> Problem:
        """Return the simulator as the kernels take it; see `dynamics.kernels.equations.Problem`.

        Parameters
        ----------
        breaks, pieces
            Inputs over time.
        prescribed : tuple of str
            Coordinates that follow their input, flexion among them.
        reference : (6,) float64, optional
            Pose from which displacements count.
        offset : (6,) float64, optional
            Added to the pose where the contact is taken.
        factor : float
            Factor on the contact's loads.
        """
        free = [QUASI_STATIC if n in self.quasi_static else INERTIAL for n in COORDINATES]
        roles = [
            PRESCRIBED if n in prescribed else r for n, r in zip(COORDINATES, free, strict=True)
        ]
        return self._at_rest._replace(
            breaks=breaks,
            pieces=pieces,
            roles=np.array(roles, dtype=np.int64),
            reference=np.zeros(6) if reference is None else np.ascontiguousarray(reference),
            offset=np.zeros(6) if offset is None else np.ascontiguousarray(offset),
            factor=np.array([factor]),
        )

    @cached_property
    def _at_rest(self) -> Problem:
        """The simulator with no inputs, all coordinates prescribed."""
        path = self.neutral
        if isinstance(path, Pose):
            path = ReferencePath.constant(path.flexion, path.array[1:])
        stiffness = [
            0.0,
            self.adduction_stiffness,
            self.rotation_stiffness,
            self.anterior_stiffness,
            0.0,
            self.lateral_stiffness,
        ]
        return Problem(
            breaks=np.array([0.0, 1.0]),
            pieces=np.zeros((4, 1, INPUTS)),
            roles=np.full(6, PRESCRIBED, dtype=np.int64),
            inertia=np.concatenate(([0.0], self.inertia)),
            damping=np.concatenate(([0.0], self.damping)),
            stiffness=np.array(stiffness),
            gap=np.array([0.0, 0.0, self.rotation_gap, self.anterior_gap, 0.0, 0.0]),
            neutral_breaks=np.array(path.flexion),
            neutral_pieces=np.ascontiguousarray(path.pieces),
            line=np.array([self.medial_offset, self.anterior_offset]),
            reference=np.zeros(6),
            offset=np.zeros(6),
            factor=np.ones(1),
            ligaments=pack(self.ligaments),
        )

    def forces(
        self,
        pose: Pose,
        contact_wrench: FloatArray,
        contact_jacobian: FloatArray,
        applied: AppliedLoads,
        *,
        offset: FloatArray | None = None,
        factor: float = 1.0,
    ) -> tuple[FloatArray, FloatArray]:
        """Return Q_contact + Q_applied + Q_restraint and their derivatives.

        Parameters
        ----------
        pose : Pose
            Where the forces act.
        contact_wrench : (6,) float64
            Contact on the femur [N, N m].
        contact_jacobian : (6, 6) float64
            d(contact wrench)/d(pose coordinates).
        applied : AppliedLoads
            What the simulator applies.
        offset, factor
            Of the contact, as in `problem`: its wrench is that at the pose plus the offset.

        Returns
        -------
        force : (6,) float64
            Conjugate to the pose coordinates [N m, N]. The first, minus which the flexion drive
            must supply, does not enter the equations of motion.
        jacobian : (6, 6) float64
            d(force)/d(pose coordinates).
        """
        force, jacobian = np.empty(6), np.empty((6, 6))
        inputs = np.concatenate((np.zeros(6), applied.array))
        problem = self._at_rest
        if offset is not None:
            problem = problem._replace(offset=np.ascontiguousarray(offset))
        if factor != 1.0:
            problem = problem._replace(factor=np.array([factor]))
        forces_at(
            pose.array, inputs, np.ascontiguousarray(contact_wrench),
            np.ascontiguousarray(contact_jacobian), problem, force, jacobian,
            np.empty(SCRATCH),
        )  # fmt: skip
        return force, jacobian

    def force(self, pose: Pose, contact_wrench: FloatArray, applied: AppliedLoads) -> FloatArray:
        """Return the forces (6,) alone; see `forces`."""
        return self.forces(pose, contact_wrench, np.zeros((6, 6)), applied)[0]
