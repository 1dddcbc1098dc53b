"""Equations of motion of the knee simulator with a contact model, for integrators."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from dynamics.kernels.equations import (
    INPUTS,
    PRESCRIBED,
    QUASI_STATIC,
    SCRATCH,
    assemble,
    forces_at,
    forces_by_time,
    inputs_at,
    mass_of,
    pose_at,
)
from dynamics.kernels.knee import KneeArguments, knee_arguments, rates_of
from dynamics.protocol import ContactModel, compiled_contact, describe_pose
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
    """M y' = f(t, y) of the knee in the simulator; see `dynamics.kernels.equations`.

    The state consists of displacements from a reference pose and rates [rad, m, s], so that a
    relative tolerance refers to the excursions of the knee, not to the origins of the bones. The
    derivative and the Jacobian at one state share one evaluation of the contact model. `progress`
    is called with the time [s] of every step.
    """

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
        self._scratch = np.empty(SCRATCH)
        self._key = (b"", False)
        self._contact: tuple[ContactLoads, FloatArray, FloatArray]
        self.mass = np.empty(self.size)
        mass_of(self.problem, self.mass)

    @property
    def free(self) -> tuple[str, ...]:
        """Free coordinates, in the order of the state."""
        roles = self.problem.roles
        return tuple(n for n, role in zip(COORDINATES, roles, strict=True) if role != PRESCRIBED)

    @property
    def inertial(self) -> tuple[str, ...]:
        """Free coordinates with a rate in the state, in the order of the state."""
        roles = dict(zip(COORDINATES, self.problem.roles, strict=True))
        return tuple(name for name in self.free if roles[name] != QUASI_STATIC)

    @property
    def size(self) -> int:
        """Number of components of the state."""
        return len(self.free) + len(self.inertial)

    def coordinates(self, time: float, state: FloatArray) -> FloatArray:
        """Return the pose coordinates (6,) [rad, m] of a state (n,)."""
        pose = np.empty(6)
        pose_at(time, state, self.problem, pose, self._scratch)
        return pose

    @cached_property
    def compiled(self) -> KneeArguments | None:
        """Arguments of the compiled equations, or None if the model has no compiled contact."""
        knee = compiled_contact(self.model)
        if knee is None:
            return None
        return knee_arguments(knee.packed, self.problem, stop_outside=knee.outside == "error")

    def fill(
        self,
        arguments: Any,
        time: float,
        state: FloatArray,
        wanted: bool,
        f: FloatArray,
        by_state: FloatArray,
        by_time: FloatArray,
    ) -> bool:
        """Fill f (n,) and, if wanted, d(f)/d(state) and df/dt [rad, m, s]; return True.

        As `dynamics.kernels.knee.knee_derivative`, with a model in Python.
        """
        del arguments
        _, wrench, by_pose = self._at(time, state, wanted)
        assemble(state, wrench, by_pose, self.problem, wanted, f, by_state, by_time, self._scratch)
        if wanted and self._progress is not None:
            self._progress(time)
        return True

    def derivative(self, time: float, state: FloatArray) -> FloatArray:
        """Return f, (n,) [rad, m, s], at a state (n,)."""
        return self._filled(time, state)[0]

    def jacobian(self, time: float, state: FloatArray) -> FloatArray:
        """Return d(f)/d(state), (n, n) [rad, m, s], at a state (n,)."""
        return self._filled(time, state)[1]

    def _filled(self, time: float, state: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        n = self.size
        filled = np.empty(n), np.empty((n, n)), np.empty(n)
        _, wrench, by_pose = self._at(time, state, True)
        assemble(state, wrench, by_pose, self.problem, True, *filled, self._scratch)
        return filled

    def rates(self, time: float, state: FloatArray) -> FloatArray:
        """Return the rates (n,) [rad, m, s] at a state (n,), implicitly where quasi-static."""
        f, by_state, by_time = self._filled(time, state)
        rates, factors = np.empty(self.size), np.empty_like(by_state)
        order = np.empty(self.size, dtype=np.int64)
        period = float(self.problem.breaks[-1])
        rates_of(
            state, self.mass, self.problem, period, f, by_state, by_time, factors, order, rates
        )
        return rates

    def resting_rates(self, time: float, state: FloatArray) -> FloatArray:
        """Return the rates (F,) [rad/s, m/s] at which an equilibrium follows the inputs.

        The time derivative of Q(t, q) = 0 yields these rates; a simulation that starts with them
        starts without a jolt.
        """
        inputs, rates = np.empty(INPUTS), np.empty(INPUTS)
        inputs_at(time, self.problem, inputs, rates)
        pose = self.coordinates(time, state)
        _, wrench, by_pose = self._at(time, state, True)
        force, jacobian, change = np.empty(6), np.empty((6, 6)), np.empty(6)
        scratch = self._scratch
        forces_at(pose, inputs, wrench, by_pose, self.problem, True, force, jacobian, scratch)
        forces_by_time(pose, rates, self.problem, jacobian, change, scratch)
        rows = [COORDINATES.index(name) for name in self.free]
        root = np.sqrt(self.problem.inertia[rows])
        balanced = jacobian[np.ix_(rows, rows)] / root / root[:, None]
        # Coordinates without restraint have no equilibrium to follow and stay at rest.
        solution = np.linalg.lstsq(balanced, -change[rows] / root, rcond=1e-9)[0] / root
        return np.asarray(solution, dtype=np.float64)

    def contact(self, time: float, state: FloatArray) -> ContactLoads:
        """Return the contact loads [N, N m] at a state (n,), without the variation of the model."""
        return self._at(time, state, True)[0]

    def _at(
        self, time: float, state: FloatArray, wanted: bool
    ) -> tuple[ContactLoads, FloatArray, FloatArray]:
        """Return loads, wrench and, if wanted, its Jacobian."""
        coordinates = self.coordinates(time, state) + self.problem.offset
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
            if wanted:
                loads, jacobian = self.model.loads_and_jacobian(pose)
            else:
                loads, jacobian = self.model.loads(pose), np.zeros((6, 6))
        except (InputError, PoseError, ArithmeticError) as error:
            raise SimulationError(
                f"the contact model failed at {time:.6g} s, {describe_pose(pose)}: {error}"
            ) from error
        wrench = np.ascontiguousarray(loads.wrench)
        jacobian = np.ascontiguousarray(jacobian)
        if not (np.isfinite(wrench).all() and np.isfinite(jacobian).all()):
            raise SimulationError(
                f"the contact model returned loads or a Jacobian that are not finite at "
                f"{time:.6g} s, {describe_pose(pose)}"
            )
        return loads, wrench, jacobian
