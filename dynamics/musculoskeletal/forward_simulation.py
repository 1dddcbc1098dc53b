"""Forward simulation of the secondary coordinates while all others follow a motion.

Muscles pull with constant activations; ligaments, springs, contact and external loads move the
secondary coordinates (OpenSim-JAM's ForsimTool: passive flexion, laxity tests). Implicit Euler
steps follow the slow, damped motion; integrators of higher order need thousands of steps, since the
forces of plane triangles and slack ligaments have kinks. Without inertia and speeds, each frame is
an equilibrium of its own.

Newton's method with derivatives that several iterations share solves a step. A spring whose line
meets an edge or a border of the other surface gains or loses its whole force within an arbitrarily
small step. Where such a jump leads from a surplus of force to a lack of it, no position balances
the forces, and Newton's method steps back and forth across the jump. Steps are then shortened
(natural monotonicity test: Deuflhard 2004, Newton Methods for Nonlinear Problems, section 3.3), and
the jump itself is the solution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dynamics.musculoskeletal.joint_contact import PlantContacts
from dynamics.musculoskeletal.opensim_plant import OpenSimPlant
from dynamics.musculoskeletal.plant import SimulatedFrames, length_derivatives
from foundation.base.checks import FloatArray, check_array, check_in, check_number
from foundation.base.errors import InputError, PoseError

#: Most iterations with shared derivatives, iterations that share them, and iterations without a
#: smaller change after which steps are shortened.
_ITERATIONS, _REUSES, _STALLED = 60, 6, 18
#: Most iterations with shortened steps.
_SHORTENED = 40
#: Change of an iteration below which a step has converged, and largest change [rad, m].
_CONVERGED, _LARGEST = 1e-9, 0.02
#: Distance between the two sides of a jump of forces [rad, m].
_JUMP = 1e-7
#: Step of the derivatives with respect to speeds [rad/s, m/s].
_SPEED_STEP = 1e-4
#: Parts of a step in time that finds no balance.
_PARTS = 4
#: Muscle forces (M,) [N], or a function that returns them at secondary values and speeds (S,).
Tensions = FloatArray | Callable[[FloatArray, FloatArray], FloatArray]


def _evaluated(tensions: Tensions, values: FloatArray, speeds: FloatArray) -> FloatArray:
    return tensions(values, speeds) if callable(tensions) else tensions


class SecondaryStep(NamedTuple):
    """Secondary coordinates and their speeds (S,) [rad, m; per s] after a step."""

    values: FloatArray
    speeds: FloatArray
    #: What is left (S,) where forces jump from a surplus to a lack [N m, N]; else zero.
    imbalance: FloatArray


class _Problem(NamedTuple):
    """A step: frame, muscle forces, values and speeds before, and length [s]; None at rest."""

    frame: int
    tensions: Tensions
    before: FloatArray
    speeds: FloatArray
    length: float | None

    def speeds_at(self, values: FloatArray) -> FloatArray:
        """Return the speeds (S,) with which values (S,) are reached."""
        if self.length is None:
            return np.zeros_like(values)
        return (values - self.before) / self.length


class SecondaryMotion:
    """Implicit Euler steps of the secondary coordinates of a length [s]; of equilibria if None."""

    def __init__(self, contacts: PlantContacts, length: float | None) -> None:
        self._contacts, self._plant, self._length = contacts, contacts.plant, length
        self._places = [self._plant.free.index(name) for name in self._plant.secondary]
        self._derivatives: tuple[FloatArray, FloatArray] | None = None

    def step(
        self, frame: int, tensions: Tensions, before: FloatArray, speeds: FloatArray
    ) -> SecondaryStep:
        """Return the step to a frame from values and speeds (S,) [rad, m; per s]."""
        try:
            return self._solve(_Problem(frame, tensions, before, speeds, self._length))
        except PoseError:
            self._derivatives = None
            if self._length is None:
                raise
        part = self._length / _PARTS
        found = SecondaryStep(before, speeds, np.zeros_like(before))
        for _ in range(_PARTS):
            found = self._solve(_Problem(frame, tensions, found.values, found.speeds, part))
        self._derivatives = None
        return found

    def _solve(self, problem: _Problem) -> SecondaryStep:
        """Return the solution of a step by Newton's method, with shortened steps where needed."""
        values = problem.before + (problem.length or 0.0) * problem.speeds
        best, nearest, since = np.inf, values, 0
        for iteration in range(_ITERATIONS):
            if iteration and iteration % _REUSES == 0:
                self._derivatives = None
            change, _ = self._change(problem, values)
            largest = float(np.abs(change).max())
            if largest < best:
                best, nearest = largest, values
                since = 0
            # A step of the largest length is on its way, however far the solution is.
            since = 0 if largest > _LARGEST else since + 1
            if since > _STALLED:
                break
            values = values + change * min(1.0, _LARGEST / max(1e-30, largest))
            if largest < _CONVERGED:
                return self._found(problem, values, np.zeros_like(values))
        return self._shortened(problem, nearest)

    def _shortened(self, problem: _Problem, values: FloatArray) -> SecondaryStep:
        """Return the solution of a step with shortened steps from values (S,)."""
        change = np.full_like(values, np.nan)
        for _ in range(_SHORTENED):
            self._derivatives = None
            change, surplus = self._change(problem, values)
            largest = float(np.abs(change).max())
            if largest < _CONVERGED:
                return self._found(problem, values + change, np.zeros_like(values))
            part = min(1.0, _LARGEST / largest)
            while True:
                moved = values + part * change
                following, left = self._change(problem, moved)
                if _size(following, change) < (1.0 - 0.25 * part):
                    break
                if part * largest < _JUMP:
                    # Forces that do work along the change on one side, and against it on the other.
                    if not left @ change < 0.0 < surplus @ change:
                        raise self._unbalanced(change)
                    nearer = _size(following, change) < 1.0
                    return self._found(
                        problem, moved if nearer else values, left if nearer else surplus
                    )
                part *= 0.5
            values = moved
        raise self._unbalanced(change)

    def _found(self, problem: _Problem, values: FloatArray, left: FloatArray) -> SecondaryStep:
        return SecondaryStep(values, problem.speeds_at(values), left)

    def _unbalanced(self, change: FloatArray) -> PoseError:
        name = self._plant.secondary[int(np.abs(change).argmax())]
        return PoseError(
            f"no balance of inertia, ligaments and contact found; {name} still changes"
        )

    def _change(self, problem: _Problem, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the change of values (S,) by Newton's method, and the surplus of forces (S,)."""
        places, plant, frame = self._places, self._plant, problem.frame
        tensions, now = problem.tensions, problem.speeds_at(values)
        contact = self._contacts.at(frame, values)
        forces = plant.forces(frame, values, now)
        pulls = _evaluated(tensions, values, now)
        surplus = (forces.arms @ pulls + contact.forces - forces.needed)[places]
        if self._derivatives is None:
            self._derivatives = self._plant_derivatives(problem, values, now)
        by_values, by_speeds = self._derivatives
        stiffness = by_values + contact.columns[places]
        if problem.length is None:
            return _solved(-stiffness, surplus), surplus
        inertia = plant.mass(frame, values)[np.ix_(places, places)] / problem.length
        matrix = inertia / problem.length - stiffness - by_speeds / problem.length
        surplus = surplus - inertia @ (now - problem.speeds)
        return _solved(matrix, surplus), surplus

    def _plant_derivatives(
        self, problem: _Problem, values: FloatArray, speeds: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives (S, S) of the plant's forces by values and by speeds."""
        places, plant, frame, tensions = self._places, self._plant, problem.frame, problem.tensions
        pulls = _evaluated(tensions, values, speeds)
        by_values = plant.columns(frame, values, speeds, pulls)[places]
        by_speeds = np.zeros_like(by_values)
        if callable(tensions):
            arms = plant.forces(frame, values, speeds).arms[places]
            fibres = length_derivatives(tensions, arms, values, speeds)
            by_values = by_values + fibres.columns(arms, arms)
            by_speeds = fibres.speed_columns(arms, arms)
        if problem.length is None:
            return by_values, by_speeds
        needed = plant.forces(frame, values, speeds).needed[places]
        for k in range(len(values)):
            moved = speeds.copy()
            moved[k] += _SPEED_STEP
            changed = plant.forces(frame, values, moved).needed[places]
            by_speeds[:, k] += (needed - changed) / _SPEED_STEP
        return by_values, by_speeds


def _solved(matrix: FloatArray, surplus: FloatArray) -> FloatArray:
    """Return the solution (S,) of linear equations (S, S)."""
    try:
        return np.linalg.solve(matrix, surplus).astype(np.float64)
    except np.linalg.LinAlgError as error:
        raise PoseError(
            "no balance of inertia, ligaments and contact found; nothing holds some of the "
            "secondary coordinates"
        ) from error


def _size(change: FloatArray, of: FloatArray) -> float:
    """Return the largest change relative to the largest one of another change (S,) [1]."""
    return float(np.abs(change).max() / np.abs(of).max())


#: Activation of the muscles, step of the simulation [s], and most steps.
_ACTIVATION, _STEP, _STEPS = 0.02, 0.01, 1000


def settle(
    contacts: PlantContacts,
    start: FloatArray,
    *,
    threshold: float = 1e-5,
    activation: float = _ACTIVATION,
) -> FloatArray:
    """Return secondary coordinates (S,) [rad, m] that settle from a start, or raise `InputError`.

    At the first frame of a plant without external loads, at rest, while muscles pull with a part
    of their largest forces; the threshold is that of the changes within 0.01 s [rad, m].
    """
    plant = contacts.plant
    check_number("threshold", threshold, above=0.0)
    values = check_array("start", start, (len(plant.secondary),))
    motion, tensions = SecondaryMotion(contacts, _STEP), activation * plant.muscles.max_force
    speeds, changes = np.zeros_like(values), np.zeros_like(values)
    for _ in range(_STEPS):
        before = values
        try:
            values, speeds, _ = motion.step(0, tensions, values, speeds)
        except PoseError as error:
            raise InputError(
                f"secondary coordinates do not settle: {error}; give first values at which the "
                "surfaces just touch, or leave out the settling (comak.settle=false)"
            ) from error
        changes = np.abs(values - before)
        if changes.max() < threshold:
            return values
    raise InputError(
        f"secondary coordinates: expected changes below {threshold:g} (settle_threshold) within "
        f"{_STEPS * _STEP:g} s, found {changes.max():.3g} of "
        f"{plant.secondary[int(changes.argmax())]}; check ligaments, contacts and the first values "
        "of the secondary coordinates"
    )


KINDS = ("dynamic", "equilibrium")
#: Step in time with which an equilibrium is found that Newton's method does not find [s], most
#: steps, and change of a step below which the coordinates rest [rad, m].
_REST_STEP, _REST_STEPS, _AT_REST = 0.01, 500, 1e-6


@dataclass(frozen=True, eq=False, kw_only=True)
class ForwardFrames(SimulatedFrames):
    """Frames of a simulation, with what jumps leave (N, S) [N m, N] and why it ended early."""

    imbalance: FloatArray
    #: Instant and reason of the first frame without a balance; None for a whole simulation.
    failure: str | None = None


def simulate_forward(
    contacts: PlantContacts,
    activations: FloatArray,
    start: FloatArray,
    *,
    fibre_forces: bool = False,
    kind: str = "dynamic",
    progress: Callable[[int], object] | None = None,
) -> ForwardFrames:
    """Simulate the secondary coordinates along the motion of a plant, from values (S,) [rad, m].

    Muscles pull by constant activations (M,) [1], in proportion to their largest forces or to the
    forces of their fibres. An "equilibrium" at each frame has no speeds
    (`CoordinateMotion.resting`); one that is lost, such as that of a patella that tilts over, goes
    on as a motion at rest of all other coordinates, which ends in another equilibrium.
    The frames end where no balance is found; a `PoseError` names the first frame without one.
    """
    check_in("kind", kind, KINDS)
    plant = contacts.plant
    motion = plant.motion
    used = check_array("activations", activations, (len(plant.muscles.names),), at_least=0.0)
    solver = _Stepper(contacts, kind)
    start = check_array("start", start, (len(plant.secondary),))
    found = SecondaryStep(start, np.zeros_like(start), np.zeros_like(start))
    rows, loads, failure = [], [], None
    for frame in range(len(motion.time)):
        pulls: Tensions = used * plant.muscles.max_force
        if fibre_forces:
            pulls = _fibre_pull(plant, frame, used)
        if frame or kind == "equilibrium":
            try:
                found = solver.step(frame, pulls, found)
            except PoseError as error:
                failure = f"{motion.time[frame]:g} s: {error}"
                if not frame:
                    raise PoseError(failure) from error
                break
        rows.append((*found, _evaluated(pulls, found.values, found.speeds)))
        loads.append(contacts.at(frame, found.values).loads)
        if progress is not None:
            progress(frame + 1)
    values, speeds, imbalance, forces = (np.array(column) for column in zip(*rows, strict=True))
    count = len(values)
    return ForwardFrames(
        time=motion.time[:count],
        secondary=plant.secondary,
        muscles=plant.muscles.names,
        contacts=contacts.names,
        values=values,
        speeds=speeds,
        activations=np.tile(used, (count, 1)),
        muscle_forces=forces,
        loads=tuple(loads),
        imbalance=imbalance,
        failure=failure,
    )


class _Stepper:
    """Steps of a kind of simulation."""

    def __init__(self, contacts: PlantContacts, kind: str) -> None:
        motion = contacts.plant.motion
        self._equilibria = kind == "equilibrium"
        self._solver = SecondaryMotion(contacts, None if self._equilibria else motion.step)
        self._resting = SecondaryMotion(contacts, _REST_STEP)

    def step(self, frame: int, tensions: Tensions, last: SecondaryStep) -> SecondaryStep:
        """Return the secondary coordinates at a frame; a `PoseError` if no balance is found."""
        try:
            return self._solver.step(frame, tensions, last.values, last.speeds)
        except PoseError:
            if not self._equilibria:
                raise
        rested = self._rest(frame, tensions, last.values)
        try:
            return self._solver.step(frame, tensions, rested.values, np.zeros_like(rested.values))
        except PoseError:
            return rested._replace(speeds=np.zeros_like(rested.values))

    def _rest(self, frame: int, tensions: Tensions, values: FloatArray) -> SecondaryStep:
        """Return where the coordinates come to rest at a frame from values (S,)."""
        found = SecondaryStep(values, np.zeros_like(values), np.zeros_like(values))
        for _ in range(_REST_STEPS):
            before = found.values
            found = self._resting.step(frame, tensions, before, found.speeds)
            if np.abs(found.values - before).max() < _AT_REST:
                return found
        raise PoseError(
            f"no equilibrium found; the coordinates do not come to rest within "
            f"{_REST_STEP * _REST_STEPS:g} s"
        )


def _fibre_pull(plant: OpenSimPlant, frame: int, activations: FloatArray) -> Tensions:
    """Return the forces (M,) [N] of fibres by secondary values and speeds (S,); none pushes."""

    def tensions(values: FloatArray, speeds: FloatArray) -> FloatArray:
        active, passive, damping = plant.contractions(frame, values, speeds)
        return np.maximum(activations * active + passive + damping, 0.0)

    return tensions
