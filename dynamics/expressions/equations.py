"""The knee simulator's equations of motion as expressions."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from dynamics.core.problem import INERTIAL, PRESCRIBED, Problem
from dynamics.expressions.elementary import Elementary, Scalar, Vector, added
from dynamics.expressions.forces import applied_forces, restraint_forces, wrench_forces
from dynamics.expressions.ligaments import ligament_forces
from foundation.base.checks import FloatArray, check_array


@dataclass(frozen=True, eq=False)
class KneeExpressions:
    """Forces and equations of motion of a simulation in the functions of a package.

    M q'' + C q' = Q_contact + Q_applied + Q_restraint + Q_ligaments in the free coordinates, as of
    `dynamics/core/equations.c`; the caller supplies the contact wrench, in the same package. The
    simulation is a `dynamics.KneeSimulator.problem`. `smoothing` rounds the kinks of ligaments and
    gaps: half width as a strain and as a share of the gap [1]. At 0 the forces are those of the
    simulator.
    """

    functions: Elementary
    problem: Problem
    smoothing: float = 0.0

    @property
    def free(self) -> tuple[int, ...]:
        """Indices of the free coordinates."""
        return tuple(k for k in range(6) if self.problem.roles[k] != PRESCRIBED)

    def inputs(self, times: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return prescribed coordinates and applied loads at instants (N,) [s], and their rates.

        Each is (N, 10): six coordinates, of which the prescribed ones count, and four applied loads
        [rad, m, N, N m, and per s].
        """
        instants = check_array("times", times, (None,))
        return self.problem.inputs(instants)

    def pose(self, free: Vector, inputs: Vector) -> list[Scalar]:
        """Return the six pose coordinates [rad, m] of free coordinates and a row of `inputs`.

        The free coordinates are in the order of `free`, not relative to the reference [rad, m].
        """
        pose = [inputs[k] for k in range(6)]
        for row, k in enumerate(self.free):
            pose[k] = free[row]
        return pose

    def contact_pose(self, pose: Vector) -> list[Scalar]:
        """Return the pose [rad, m] of six scalars at which the contact is evaluated."""
        return [pose[k] + float(offset) for k, offset in enumerate(self.problem.offset)]

    def forces(
        self, pose: Vector, applied: Vector, wrench: Vector, *, stiffness: Vector | None = None
    ) -> list[Scalar]:
        """Return the six generalised forces of contact, applied loads, springs, ligaments [N m, N].

        Of six pose coordinates [rad, m], four loads in the order of
        `dynamics.simulator.knee_simulator.APPLIED_COLUMNS` [N, N m], the contact wrench on the
        femur at `contact_pose` about the tibial origin [N, N m], and stiffness as of
        `ligament_forces`.
        """
        functions, problem = self.functions, self.problem
        factor = problem.factor
        loads = [factor * wrench[k] for k in range(6)]
        total = wrench_forces(functions, self.contact_pose(pose), loads)
        total = added(total, applied_forces(functions, pose, applied, problem))
        total = added(total, restraint_forces(functions, pose, problem, self.smoothing))
        pulls = ligament_forces(
            functions, pose, problem.ligaments, smoothing=self.smoothing, stiffness=stiffness
        )
        return added(total, pulls)

    def residual(self, forces: Vector, rates: Vector, accelerations: Vector) -> list[Scalar]:
        """Return M q'' + C q' - Q of the free coordinates [N m, N].

        Of six generalised forces [N m, N], and rates and accelerations of the free coordinates in
        the order of `free` [rad, m, s]. The accelerations of quasi-static coordinates have no
        influence.
        """
        left = []
        for row, k in enumerate(self.free):
            value = float(self.problem.damping[k]) * rates[row] - forces[k]
            if self.problem.roles[k] == INERTIAL:
                value = value + float(self.problem.inertia[k]) * accelerations[row]
            left.append(value)
        return left

    def accelerations(self, forces: Vector, rates: Vector) -> list[Scalar]:
        """Return (Q - C q') / M [rad/s², m/s²] of those free coordinates that have inertia.

        Of six generalised forces [N m, N], and rates of the free coordinates in the order of `free`
        [rad/s, m/s].
        """
        roles, damping, inertia = self.problem.roles, self.problem.damping, self.problem.inertia
        return [
            (forces[k] - float(damping[k]) * rates[row]) / float(inertia[k])
            for row, k in enumerate(self.free)
            if roles[k] == INERTIAL
        ]
