"""Equations of motion of the knee simulator with a contact model, for integrators."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dynamics.core.problem import AXIAL, PRESCRIBED
from dynamics.core.rosenbrock import (
    EVALUATIONS,
    Integration,
    Limits,
    integrate_called,
    integrate_trained,
)
from dynamics.protocol import ContactModel, describe_pose, in_library
from dynamics.simulator.knee_simulator import KneeSimulator
from dynamics.simulator.variation import without_variation
from dynamics.simulator.waveforms import GaitCycle
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError, PoseError
from foundation.base.loads import ContactLoads
from foundation.base.pose import COORDINATES, Pose


class SimulationError(RuntimeError):
    """A simulation failed; the message states the time and the pose."""


class KneeEquations:
    """y' = f(t, y) of the knee in the simulator; in C in `dynamics.core`."""

    # The state has displacements from a reference pose and rates [rad, m, s], so that a relative
    # tolerance refers to the excursions of the knee. `progress` is called with the time [s] of
    # every step.

    def __init__(
        self,
        model: ContactModel,
        simulator: KneeSimulator,
        cycle: GaitCycle,
        reference: Pose,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        self.model, offset, factor = without_variation(model)
        neutral = simulator.neutral_at(cycle.at(0.0)[0])
        self.problem = simulator.problem(
            *cycle.pieces(neutral), cycle.prescribed, reference.array, offset, factor
        )
        self.evaluations = 0
        self._progress = progress
        self._key = (b"", False)
        self._contact: tuple[ContactLoads, FloatArray, FloatArray]

    @property
    def free(self) -> tuple[str, ...]:
        """Free coordinates, in the order of the state."""
        roles = self.problem.roles
        return tuple(n for n, role in zip(COORDINATES, roles, strict=True) if role != PRESCRIBED)

    @property
    def size(self) -> int:
        """Number of components of the state."""
        return 2 * len(self.free)

    def coordinates(self, time: float, state: FloatArray) -> FloatArray:
        """Return the pose coordinates (6,) [rad, m] of a state (n,)."""
        return self.problem.pose(time, state)

    def integrate(self, limits: Limits, state: FloatArray, times: FloatArray) -> Integration:
        """Integrate from a state (n,) to the times (N,) [s]; raise `SimulationError` of a model."""
        options = limits, state, times
        knee = in_library(self.model)
        if knee is None:
            return integrate_called(self.problem, self._called, *options)
        done = integrate_trained(self.problem, knee.packed, knee.outside == "error", *options)
        self.evaluations += int(done.counts[EVALUATIONS])
        return done

    def _called(self, time: float, pose: FloatArray, wanted: bool) -> tuple[FloatArray, FloatArray]:
        """Return the wrench (6,) and its Jacobian (6, 6) at a pose (6,) of the contact."""
        _, wrench, by_pose = self._at(time, pose, wanted)
        if wanted and self._progress is not None:
            self._progress(time)
        return wrench, by_pose

    def filled(self, time: float, state: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return f (n,) and its derivatives by state (n, n) and time (n,) [rad, m, s]."""
        state = np.ascontiguousarray(state)
        return self.problem.equations(time, state, *self._at_state(time, state)[1:])

    def resting_rates(self, time: float, state: FloatArray) -> FloatArray:
        """Return the rates (F,) [rad/s, m/s] at which an equilibrium follows the inputs."""
        inputs, rates = self.problem.inputs(np.array([time]))
        pose = self.coordinates(time, state)
        _, wrench, by_pose = self._at_state(time, state)
        _, jacobian = self.problem.forces(pose, inputs[0, AXIAL:], wrench, by_pose)
        change = self.problem.forces_by_time(pose, rates[0], jacobian)
        rows = [COORDINATES.index(name) for name in self.free]
        root = np.sqrt(self.problem.inertia[rows])
        balanced = jacobian[np.ix_(rows, rows)] / root / root[:, None]
        # Coordinates without restraint have no equilibrium to follow and stay at rest.
        solution = np.linalg.lstsq(balanced, -change[rows] / root, rcond=1e-9)[0] / root
        return np.asarray(solution, dtype=np.float64)

    def contact(self, time: float, state: FloatArray) -> ContactLoads:
        """Return the contact loads [N, N m] at a state (n,), without the variation of the model."""
        return self._at_state(time, state)[0]

    def _at_state(
        self, time: float, state: FloatArray
    ) -> tuple[ContactLoads, FloatArray, FloatArray]:
        """Return loads, wrench and its Jacobian at a state (n,)."""
        return self._at(time, self.coordinates(time, state) + self.problem.offset, True)

    def _at(
        self, time: float, coordinates: FloatArray, wanted: bool
    ) -> tuple[ContactLoads, FloatArray, FloatArray]:
        """Return loads, wrench and, if wanted, its Jacobian at a pose (6,) of the contact."""
        key = (coordinates.tobytes(), wanted)
        if key != self._key:
            self._contact = self._evaluate(time, coordinates, wanted)
            self._key = key
        return self._contact

    def _evaluate(
        self, time: float, coordinates: FloatArray, wanted: bool
    ) -> tuple[ContactLoads, FloatArray, FloatArray]:
        try:
            pose = Pose(*coordinates.tolist())
        except InputError as error:
            raise SimulationError(
                f"the state at {time:.6g} s is no pose of a knee: {error}"
            ) from error
        self.evaluations += 1
        try:
            loads = self.model.loads(pose, int(wanted))
        except (InputError, PoseError, ArithmeticError) as error:
            raise SimulationError(
                f"the contact model failed at {time:.6g} s, {describe_pose(pose)}: {error}"
            ) from error
        wrench = np.ascontiguousarray(loads.wrench)
        jacobian = np.ascontiguousarray(loads.total_jacobian) if wanted else np.zeros((6, 6))
        if not (np.isfinite(wrench).all() and np.isfinite(jacobian).all()):
            raise SimulationError(
                f"the contact model returned loads or a Jacobian that are not finite at "
                f"{time:.6g} s, {describe_pose(pose)}"
            )
        return loads, wrench, jacobian
