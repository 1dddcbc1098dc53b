"""COMAK: concurrent optimisation of muscle activations and kinematics.

At each instant of a motion, muscle activations, reserves and secondary coordinates (those in which
the joint surfaces touch) are found that give the measured accelerations of the primary coordinates
and none of the secondary ones, at the least cost (Smith, Brandon, Thelen 2019, J Biomech
82:124-133; Smith, Vignos, Lenhart, Kaiser, Thelen 2016, J Biomech Eng 138:021017). The speed of a
secondary coordinate is its change since the previous instant.

In an iteration, with muscle forces R a, reserves r, steps s of the secondary coordinates and
C = d(forces)/ds, the accelerations of the motion need R a + r + C s = b. The cost (Smith et al.
2018)

    sum_i w_i a_i² + sum_k v_k r_k² + g . s

is least where r = b - R a - C s; the steps are free, so that what is left is a bounded linear
least-squares problem in the activations, with the residuals outside the range of C.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.optimize import lsq_linear

from dynamics.musculoskeletal.comak_settings import ComakSettings
from dynamics.musculoskeletal.joint_contact import ContactForces, JointContact, PlantContacts
from dynamics.musculoskeletal.opensim_plant import OpenSimPlant
from dynamics.musculoskeletal.plant import (
    Contractions,
    PlantForces,
    SimulatedFrames,
    length_derivatives,
)
from foundation.base.checks import FloatArray, IntArray, check_array
from foundation.base.errors import InputError, PoseError
from foundation.base.loads import ContactLoads

_UNKNOWN = np.zeros(0)


class Solution(NamedTuple):
    """State of a frame: S secondary coordinates (S,) [rad, m], M muscles, F free coordinates."""

    #: Secondary coordinates and their rates (S,) [rad, m; per s].
    values: FloatArray
    speeds: FloatArray
    #: Activations (M,) [1].
    activations: FloatArray
    #: Forces of the reserves (F,) [N m, N].
    reserves: FloatArray
    #: Largest error of acceleration [rad/s², m/s²].
    error: float
    iterations: int
    loads: tuple[ContactLoads, ...]
    #: Muscle forces (M,) [N].
    tensions: FloatArray = _UNKNOWN
    #: Accelerations of the free coordinates beyond the wanted ones (F,) [rad/s², m/s²].
    surplus: FloatArray = _UNKNOWN
    #: Forces that a jump of the contact forces leaves (F,) [N m, N]; empty without one.
    imbalance: FloatArray = _UNKNOWN


@dataclass(frozen=True, eq=False, kw_only=True)
class ComakResult(SimulatedFrames):
    """Result of a COMAK simulation of N frames; further fields are those of `SimulatedFrames`."""

    #: Names of the F free coordinates.
    free: tuple[str, ...]
    #: Forces of the reserves on the free coordinates (N, F) [N m, N].
    reserves: FloatArray
    #: Accelerations of the free coordinates beyond the wanted ones (N, F) [rad/s², m/s²]; NaN where
    #: the solution of the previous frame is kept.
    surplus: FloatArray
    #: Largest error of acceleration of each frame (N,) [rad/s², m/s²].
    errors: FloatArray
    #: Whether the error is below the tolerance, or the frame is at a jump of the contact forces,
    #: (N,).
    converged: NDArray[np.bool_]
    #: Generalised forces on the free coordinates that jumps of the contact forces leave (N, F) [N
    #: m, N]; zero where the forces balance.
    imbalance: FloatArray
    #: Iterations of each frame, (N,).
    iterations: IntArray
    #: Cost of muscles and reserves, (N,).
    costs: FloatArray
    #: A flag for each frame that did not converge.
    flags: tuple[str, ...]

    def solution(self, frame: int) -> Solution:
        """Return the solution of a frame, after which `Comak.solve` can solve another."""
        return Solution(
            self.values[frame],
            self.speeds[frame],
            self.activations[frame],
            self.reserves[frame],
            float(self.errors[frame]),
            int(self.iterations[frame]),
            self.loads[frame],
            self.muscle_forces[frame],
            self.surplus[frame],
        )


def halfway(at: Solution, wanted: Solution) -> Solution:
    """Return the mean of two solutions: iterations that go to and fro between kinks end there."""
    return wanted._replace(
        values=0.5 * (at.values + wanted.values),
        activations=0.5 * (at.activations + wanted.activations),
        reserves=0.5 * (at.reserves + wanted.reserves),
    )


#: Accuracy of the bounded least-squares problem, relative to its cost.
_TOLERANCE = 1e-12
#: Least weight of an activation, relative to the largest one.
_LEAST_WEIGHT = 1e-9


class FrameProblem(NamedTuple):
    """Data of the problem, with forces (F,) [N m, N] of free coordinates, M muscles, S steps."""

    #: R (F, M): generalised force per unit of activation of each muscle [N m, N].
    arms: FloatArray
    #: C (F, S): force per unit of each secondary coordinate [N m, N per rad, m].
    columns: FloatArray
    #: b (F,): what muscles, reserves and steps must give [N m, N].
    needed: FloatArray
    #: w (M,): weights of the squared activations [cost].
    activation_weights: FloatArray
    #: v (F,): weights of the squared reserves [cost / (N m)², cost / N²].
    reserve_weights: FloatArray
    #: g (S,): cost per unit of each secondary coordinate [cost / rad, cost / m].
    energy_gradient: FloatArray
    #: Least and largest activations (2, M) [1].
    bounds: FloatArray
    #: Largest steps of the secondary coordinates (S,) [rad, m].
    largest_steps: FloatArray


class FrameSolution(NamedTuple):
    """Activations (M,) [1], reserves (F,) [N m, N], steps (S,) [rad, m] that solve the problem."""

    activations: FloatArray
    reserves: FloatArray
    steps: FloatArray


def solve_frame(problem: FrameProblem) -> FrameSolution:
    """Return the activations and steps, within their bounds, of one iteration's linear problem."""
    root = np.sqrt(problem.reserve_weights)
    columns, needed = root[:, None] * problem.columns, root * problem.needed
    arms, weights = root[:, None] * problem.arms, np.sqrt(_positive(problem.activation_weights))
    # Completing the square, the linear cost of the steps shifts the target of the residuals.
    shift = np.linalg.lstsq(columns.T, -0.5 * problem.energy_gradient, rcond=None)[0]
    wanted = -(arms.T @ shift) / weights
    basis, _ = qr(columns, mode="full")
    outside = basis[:, columns.shape[1] :]
    activations = lsq_linear(
        np.vstack([np.diag(weights), outside.T @ arms]),
        np.concatenate([wanted, outside.T @ needed]),
        bounds=tuple(problem.bounds),
        method="bvls",
        tol=_TOLERANCE,
    ).x
    remainder = needed + shift - arms @ activations
    steps: FloatArray = np.linalg.lstsq(columns, remainder, rcond=None)[0].astype(np.float64)
    if (np.abs(steps) > problem.largest_steps).any():
        activations, steps = _bounded_steps(problem, arms, columns, needed + shift, weights, wanted)
    reserves = problem.needed - problem.arms @ activations - problem.columns @ steps
    return FrameSolution(activations, reserves, steps)


def _positive(weights: FloatArray) -> FloatArray:
    """Return weights [cost], none of them zero, so that they determine the activations."""
    return np.maximum(weights, _LEAST_WEIGHT * max(float(weights.max(initial=0.0)), 1.0))


def _bounded_steps(
    problem: FrameProblem,
    arms: FloatArray,
    columns: FloatArray,
    needed: FloatArray,
    weights: FloatArray,
    wanted: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return activations and steps where a bound of a step is active."""
    count, steps = len(weights), columns.shape[1]
    matrix = np.block([[np.diag(weights), np.zeros((count, steps))], [arms, columns]])
    low, high = problem.bounds
    limits = problem.largest_steps
    unknowns = lsq_linear(
        matrix,
        np.concatenate([wanted, needed]),
        bounds=(np.concatenate([low, -limits]), np.concatenate([high, limits])),
        method="bvls",
        tol=_TOLERANCE,
    ).x
    return unknowns[:count], unknowns[count:]


#: Steps are trusted up to these lengths [rad, m], shortened while the error of acceleration grows
#: more than by a factor, and never below a part of the trusted length.
_TRUSTED_ANGLE, _TRUSTED_LENGTH, _MOST_GROWTH, _LEAST_PART = 0.1, 0.006, 2.0, 0.1
#: Iterations with whole steps; later steps that do not halve the error may be halved themselves,
#: which ends iterations to and fro.
_PATIENCE, _FALLS = 12, 0.5
#: A later iteration is at a jump of the contact forces if Newton's method would move the secondary
#: coordinates by less than this [rad, m], and if the forces balance up to these [N m, N]: springs
#: that meet an edge or a border of a surface gain or lose their whole force. Light bodies, such as
#: menisci, are then far off the wanted accelerations.
_JUMP_ANGLE, _JUMP_LENGTH, _JUMP_MOMENT, _JUMP_FORCE = 1e-4, 1e-6, 0.02, 1.0
#: Activation of all muscles before the first frame.
_FIRST_ACTIVATION = 0.02


class _State(NamedTuple):
    """Forces at a solution; `fibres` is None where muscles pull in proportion to activations."""

    plant: PlantForces
    contact: ContactForces
    fibres: Contractions | None


class Comak:
    """A COMAK simulation: a plant along a motion, with contacts of joint surfaces."""

    def __init__(
        self, plant: OpenSimPlant, contacts: Sequence[JointContact], settings: ComakSettings
    ) -> None:
        names = tuple(s.name for s in settings.secondary)
        if names != plant.secondary:
            raise InputError(
                "secondary coordinates: expected the secondary coordinates of the plant, "
                f"{', '.join(plant.secondary)}, found {', '.join(names)}"
            )
        _check_reserves(plant, settings)
        self.plant, self.settings = plant, settings
        self._costs = settings.activation_costs(plant.muscles)
        self.contacts = PlantContacts(plant, contacts)
        self._free = plant.motion.index(plant.free)
        self._secondary = plant.motion.index(plant.secondary)
        self._among_free = [plant.free.index(name) for name in plant.secondary]
        damping = np.array([s.damping for s in settings.secondary])
        self._damping = np.zeros((len(plant.free), len(names)))
        self._damping[self._among_free, np.arange(len(names))] = damping / plant.motion.step
        rotational = np.array(plant.motion.rotational)[self._secondary]
        self._trusted = np.where(rotational, _TRUSTED_ANGLE, _TRUSTED_LENGTH)
        self._jumps = np.where(rotational, _JUMP_ANGLE, _JUMP_LENGTH)
        rotational = np.array(plant.motion.rotational)[self._free]
        self._left = np.where(rotational, _JUMP_MOMENT, _JUMP_FORCE)
        self._largest = np.array([s.largest_step for s in settings.secondary])

    def run(
        self, start: FloatArray, *, progress: Callable[[int], object] | None = None
    ) -> ComakResult:
        """Solve all frames from secondary coordinates (S,) [rad, m] before the first one.

        A frame that did not converge has a flag; `progress` takes the number of frames that are
        done.
        """
        values = check_array("start", start, (len(self.plant.secondary),))
        motion, muscles = self.plant.motion, self.plant.muscles
        activations = np.full(len(muscles.names), _FIRST_ACTIVATION)
        solution = Solution(
            values, np.zeros_like(values), activations, np.zeros(len(self._free)), 0.0, 0, ()
        )
        solution = solution._replace(tensions=self._tensions(solution, None))
        solutions, flags = [], []
        for frame in range(len(motion.time)):
            solution, flag = self.solve(frame, solution)
            solutions.append(solution)
            flags.extend([flag] if flag else [])
            if progress is not None:
                progress(frame + 1)
        return self._result(solutions, tuple(flags))

    def solve(
        self, frame: int, previous: Solution, *, start: FloatArray | None = None
    ) -> tuple[Solution, str]:
        """Return the solution of a frame after the previous one, and a flag or an empty text.

        The first iteration is at secondary coordinates `start` (S,) [rad, m], by default those
        that follow from the previous values and speeds.
        """
        values = previous.values + self.plant.motion.step * previous.speeds
        if start is not None:
            values = check_array("start", start, (len(self._secondary),))
        speeds = np.zeros_like(values)
        trial = previous._replace(values=values, speeds=speeds, error=np.inf, imbalance=np.zeros(0))
        state = best = at_jump = None
        for iteration in range(1, self.settings.iterations + 1):
            try:
                if state is None:
                    state = self._state(frame, trial)
                    # Without an error at the start, the first step would never be shortened.
                    trial = self._judged(frame, trial, state)
                wanted = self._stepped(frame, trial, state, previous)
                late = iteration > _PATIENCE
                near = late and self._is_short(wanted.values - trial.values)
                if near and (at_jump is None or trial.error < at_jump.error):
                    at_jump = trial
                trial, state = self._advanced(frame, trial, wanted, previous, late=late)
            except PoseError as error:
                return self._failed(frame, previous, best, str(error))
            tensions = self._tensions(trial, state.fibres)
            trial = trial._replace(
                iterations=iteration, loads=state.contact.loads, tensions=tensions
            )
            if trial.error < self.settings.tolerance:
                return trial, ""
            if best is None or trial.error < best.error:
                best = trial
        if at_jump is not None:
            imbalance = self.plant.mass(frame, at_jump.values) @ at_jump.surplus
            if (np.abs(imbalance) < self._left).all():
                return at_jump._replace(imbalance=imbalance), ""
        return self._failed(frame, previous, best, "")

    def _is_short(self, step: FloatArray) -> bool:
        return bool((np.abs(step) < self._jumps).all())

    def _advanced(
        self, frame: int, at: Solution, wanted: Solution, previous: Solution, *, late: bool
    ) -> tuple[Solution, _State]:
        """Return the next solution; a late one goes half the step if that leaves less error."""
        whole = self._shortened(frame, at, wanted, previous)
        if not late or whole[0].error <= _FALLS * at.error:
            return whole
        half = self._shortened(frame, at, halfway(at, wanted), previous)
        return half if half[0].error < whole[0].error else whole

    def _shortened(
        self, frame: int, at: Solution, wanted: Solution, previous: Solution
    ) -> tuple[Solution, _State]:
        """Return the wanted solution, or one with a shorter step where accelerations grow."""
        step = wanted.values - at.values
        length = float(np.abs(step / self._trusted).max(initial=0.0))
        fraction = 1.0 / max(1.0, length)
        while True:
            values = at.values + fraction * step
            speeds = (values - previous.values) / self.plant.motion.step
            tried = wanted._replace(values=values, speeds=speeds)
            state = self._state(frame, tried)
            tried = self._judged(frame, tried, state)
            if tried.error <= _MOST_GROWTH * at.error or fraction * length < _LEAST_PART:
                return tried, state
            fraction *= 0.5

    def _state(self, frame: int, at: Solution) -> _State:
        plant, fibres = self.plant, self.settings.fibre_forces
        return _State(
            plant.forces(frame, at.values, at.speeds),
            self.contacts.at(frame, at.values),
            plant.contractions(frame, at.values, at.speeds) if fibres else None,
        )

    def _tensions(self, at: Solution, fibres: Contractions | None) -> FloatArray:
        """Return the muscle forces (M,) [N] of a solution."""
        if fibres is None:
            return at.activations * self.plant.muscles.max_force
        return at.activations * fibres.active + fibres.passive

    def _fibre_columns(self, frame: int, at: Solution, arms: FloatArray) -> FloatArray:
        """Return the derivative (F, S) of the pull of the muscles by their lengths and rates."""

        def tensions(values: FloatArray, speeds: FloatArray) -> FloatArray:
            return self._tensions(at, self.plant.contractions(frame, values, speeds))

        secondary = arms[self._among_free]
        derivatives = length_derivatives(tensions, secondary, at.values, at.speeds)
        return derivatives.columns(arms, secondary, 1.0 / self.plant.motion.step)

    def _stepped(self, frame: int, at: Solution, state: _State, previous: Solution) -> Solution:
        """Return the solution of the problem that is linear about a state."""
        plant, contact, fibres = state
        muscles, settings = self.plant.muscles, self.settings
        tensions = self._tensions(at, fibres)
        columns = self.plant.columns(frame, at.values, at.speeds, tensions)
        strength, needed = muscles.max_force, plant.needed - contact.forces
        if fibres is not None:
            strength, needed = fibres.active, needed - plant.arms @ fibres.passive
            columns = columns + self._fibre_columns(frame, at, plant.arms)
        problem = FrameProblem(
            plant.arms * strength,
            columns + contact.columns - self._damping,
            needed,
            self._costs,
            settings.reserve_weights(self.plant.free),
            # The forces of a contact are minus the gradient of its energy, within 1.5 %.
            -settings.contact_energy_weight * contact.forces[self._among_free],
            muscles.bounds,
            self._largest,
        )
        solved = solve_frame(problem)
        values = at.values + solved.steps
        speeds = (values - previous.values) / self.plant.motion.step
        return at._replace(
            values=values, speeds=speeds, activations=solved.activations, reserves=solved.reserves
        )

    def _judged(self, frame: int, at: Solution, state: _State) -> Solution:
        """Return a solution with the errors of its accelerations [rad/s², m/s²]."""
        plant, contact, fibres = state
        tensions = self._tensions(at, fibres)
        surplus = plant.arms @ tensions + at.reserves + contact.forces - plant.needed
        away = np.linalg.solve(self.plant.mass(frame, at.values), surplus).astype(np.float64)
        return at._replace(surplus=away, error=float(np.abs(away).max()))

    def _failed(
        self, frame: int, previous: Solution, best: Solution | None, why: str
    ) -> tuple[Solution, str]:
        """Return the best iteration, or the previous frame if all are too far off."""
        time = float(self.plant.motion.time[frame])
        flag = f"{time:g} s: not converged in {self.settings.iterations} iterations"
        if why:
            flag = f"{time:g} s: not converged, {why}"
        if best is not None and best.error < self.settings.worst_tolerance:
            return best, f"{flag}; error of acceleration {best.error:.3g} (rad/s², m/s²)"
        solution = previous._replace(
            speeds=np.zeros_like(previous.speeds),
            error=np.inf if best is None else best.error,
            surplus=np.full(len(self._free), np.nan),
            loads=previous.loads or self.contacts.at(frame, previous.values).loads,
        )
        return solution, f"{flag}; the solution of the previous frame is kept"

    def _result(self, solutions: list[Solution], flags: tuple[str, ...]) -> ComakResult:
        plant, settings = self.plant, self.settings
        activations = np.array([s.activations for s in solutions])
        reserves = np.array([s.reserves for s in solutions])
        costs = (self._costs * activations**2).sum(axis=1)
        costs += reserves**2 @ settings.reserve_weights(plant.free)
        return ComakResult(
            time=plant.motion.time,
            free=plant.free,
            secondary=plant.secondary,
            muscles=plant.muscles.names,
            contacts=self.contacts.names,
            values=np.array([s.values for s in solutions]),
            speeds=np.array([s.speeds for s in solutions]),
            activations=activations,
            muscle_forces=np.array([s.tensions for s in solutions]),
            reserves=reserves,
            surplus=np.array([s.surplus for s in solutions]),
            errors=(errors := np.array([s.error for s in solutions])),
            converged=(errors < settings.tolerance)
            | np.array([s.imbalance.size > 0 for s in solutions]),
            imbalance=np.array(
                [s.imbalance if s.imbalance.size else np.zeros(len(self._free)) for s in solutions]
            ),
            iterations=np.array([s.iterations for s in solutions]),
            costs=costs,
            loads=tuple(s.loads for s in solutions),
            flags=flags,
        )


def _check_reserves(plant: OpenSimPlant, settings: ComakSettings) -> None:
    """Raise an `InputError` unless every free coordinate has a reserve."""
    known = {name for name, _ in settings.reserve_forces}
    missing = [name for name in plant.free if known and name not in known]
    if missing:
        raise InputError(
            "reserves: expected an actuator of each primary and secondary coordinate, found none "
            f"of {', '.join(missing)}; add them to force_set_file"
        )
