"""The simulator's equations of motion as a first-order system with analytic Jacobian."""

from __future__ import annotations

import numpy as np

from dynamics.protocol import ContactModel, describe_pose
from dynamics.simulator import FREE, KneeSimulator
from dynamics.waveforms import GaitCycle
from foundation.checks import FloatArray
from foundation.pose import Pose


class SimulationError(RuntimeError):
    """A simulation could not go on; the message says when and in what pose."""


class KneeEquations:
    """x' = v, v' = M^-1 (Q(t, x) - C v) for the five free coordinates.

    The state (10,) holds the displacements x from a reference pose, then their rates v. An
    integrator's relative tolerance then refers to the excursions of the knee, not to where
    somebody has put the origin of a bone.

    The contact at the last pose is remembered, so that the derivative and the Jacobian at one
    state share one evaluation of the model.

    Parameters
    ----------
    model : ContactModel
        The contact.
    simulator : KneeSimulator
        Inertia, damping and restraints.
    cycle : GaitCycle
        Flexion and applied loads over time.
    reference : Pose
        Pose from which the displacements count.
    """

    def __init__(
        self, model: ContactModel, simulator: KneeSimulator, cycle: GaitCycle, reference: Pose
    ) -> None:
        self._model = model
        self._simulator = simulator
        self._cycle = cycle
        self._reference = reference.array[FREE]
        self._inertia = simulator.inertia
        self._damping_rate = simulator.damping / self._inertia
        self._key = b""
        self._contact: tuple[Pose, FloatArray, FloatArray]
        self.evaluations = 0

    def coordinates(self, time: float, state: FloatArray) -> FloatArray:
        """Return the pose coordinates (6,) of a state."""
        return np.concatenate(([self._cycle.at(time)[0]], self._reference + state[:5]))

    def derivative(self, time: float, state: FloatArray) -> FloatArray:
        """Return the time derivative of the state, (10,)."""
        flexion, applied = self._cycle.at(time)
        pose, wrench, _ = self._at(time, flexion, state)
        force = self._simulator.force(pose, wrench, applied)[FREE]
        rates = state[5:]
        return np.concatenate((rates, force / self._inertia - self._damping_rate * rates))

    def jacobian(self, time: float, state: FloatArray) -> FloatArray:
        """Return d(`derivative`)/d(state), (10, 10)."""
        flexion, applied = self._cycle.at(time)
        pose, wrench, by_pose = self._at(time, flexion, state)
        stiffness = self._simulator.force_jacobian(pose, wrench, by_pose, applied)[FREE, FREE]
        matrix = np.zeros((10, 10))
        matrix[:5, 5:] = np.eye(5)
        matrix[5:, :5] = stiffness / self._inertia[:, None]
        matrix[5:, 5:] = np.diag(-self._damping_rate)
        return matrix

    def resting_rates(self, time: float, state: FloatArray) -> FloatArray:
        """Return the rates (5,) at which an equilibrium follows the inputs.

        Beginning with them instead of from standstill spares the simulation a knock. They come
        from differentiating Q(t, q) = 0 by time.
        """
        flexion, applied = self._cycle.at(time)
        flexion_rate, applied_rate = self._cycle.rates(time)
        pose, wrench, by_pose = self._at(time, flexion, state)
        simulator = self._simulator
        jacobian = simulator.force_jacobian(pose, wrench, by_pose, applied)
        nothing = np.zeros(6)
        # The springs do not depend on time, and the applied forces are linear in the loads.
        change = simulator.force(pose, nothing, applied_rate) - simulator.restraint(pose)[0]
        right = change[FREE] + jacobian[FREE, 0] * flexion_rate
        root = np.sqrt(self._inertia)
        balanced = jacobian[FREE, FREE] / root / root[:, None]
        # What nothing restrains has no equilibrium to follow and stays at rest.
        solution = np.linalg.lstsq(balanced, -right / root, rcond=1e-9)[0] / root
        return np.asarray(solution, dtype=np.float64)

    def _at(
        self, time: float, flexion: float, state: FloatArray
    ) -> tuple[Pose, FloatArray, FloatArray]:
        """Return pose, contact wrench and its Jacobian."""
        coordinates = np.concatenate(([flexion], self._reference + state[:5]))
        key = coordinates.tobytes()
        if key != self._key:
            self._contact = self._evaluate(time, coordinates)
            self._key = key
        return self._contact

    def _evaluate(
        self, time: float, coordinates: FloatArray
    ) -> tuple[Pose, FloatArray, FloatArray]:
        if not np.isfinite(coordinates).all():
            raise SimulationError(f"the state is not finite at {time:.6g} s: {coordinates}")
        pose = Pose(*coordinates.tolist())
        self.evaluations += 1
        try:
            loads, jacobian = self._model.loads_and_jacobian(pose)
        except Exception as error:
            raise SimulationError(
                f"the contact model failed at {time:.6g} s, {describe_pose(pose)}: {error}"
            ) from error
        wrench = loads.wrench
        if not (np.isfinite(wrench).all() and np.isfinite(jacobian).all()):
            raise SimulationError(
                f"the contact model gave loads or a Jacobian that are not finite at {time:.6g} s, "
                f"{describe_pose(pose)}"
            )
        return pose, wrench, jacobian
