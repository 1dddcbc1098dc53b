"""States of a knee in laxity tests: equilibria under given flexion and loads, by continuation.

A test loads the tibia in one direction while flexion is prescribed and all other coordinates are
free. Contact, ligaments and an AP spring for the menisci balance the loads. The spring is slack
where the knee rests without it and without the load of the test.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dynamics.ligaments.bundles import Ligament
from dynamics.protocol import ContactModel, describe_pose
from dynamics.simulator.equilibrium import EquilibriumError, settle
from dynamics.simulator.knee_simulator import FREE, FREE_COORDINATES, AppliedLoads, KneeSimulator
from foundation.base.checks import FloatArray, check_array, check_in, check_number
from foundation.base.errors import InputError, PoseError
from foundation.base.pose import ANTERIOR, COORDINATES, Pose

_AP = FREE_COORDINATES.index("anterior")
# Lever arm that converts moments to forces [m], and largest move of a step [rad, rad, m, m, m].
_WEIGHTS = np.array([50.0, 50.0, 1.0, 1.0, 1.0])
_LARGEST_MOVE = np.array([0.02, 0.04, 2e-3, 0.4e-3, 1e-3])
#: Largest residual, moments over 20 mm [N], and the part of the largest move that is no move: where
#: springs enter or leave contact at edges of a surface, the residual jumps.
_RESIDUAL, _STILL = 1e-5, 1e-8
_STEPS, _HALVINGS = 25, 7
#: Least axial force under which the search for contact begins [N].
_SETTLING = 20.0
#: Difference of poses of one rest [rad, m].
_SAME = np.array([*[np.radians(0.1)] * 3, *[1e-4] * 3])


class Direction(NamedTuple):
    """Direction of a test: its load, and the displacement of the tibia along it."""

    #: Field of `AppliedLoads`.
    load: str
    coordinate: str
    #: Displacement of the tibia per coordinate of the pose, in the unit for people [mm/m, deg/rad].
    factor: float
    #: Unit of the displacement and of the load.
    unit: str
    load_unit: str


_DEGREES = 180.0 / np.pi
#: Directions of loads on the tibia, by name.
DIRECTIONS = {
    "anterior": Direction("ap_force", "anterior", -1e3, "mm", "N"),
    "internal": Direction("internal_torque", "rotation", _DEGREES, "deg", "N m"),
    "varus": Direction("adduction_torque", "adduction", _DEGREES, "deg", "N m"),
}


@dataclass(frozen=True, eq=False)
class LaxityTest:
    """A laxity test: S states with increasing loads in one of `DIRECTIONS`.

    Raises `InputError` for fewer than two loads, loads that do not increase, and other shapes.
    """

    direction: str
    #: Prescribed flexion, one or (S,) [rad].
    flexion: FloatArray
    #: Loads on the tibia, positive along the direction (S,) [N or N m].
    loads: FloatArray
    #: Force that presses the femur onto the tibia, one or (S,) [N], >= 0.
    axial_force: FloatArray
    name: str = ""

    def __post_init__(self) -> None:
        check_in("direction", self.direction, DIRECTIONS)
        loads = check_array("loads", self.loads)
        if loads.ndim != 1 or len(loads) < 2 or (np.diff(loads) <= 0.0).any():
            raise InputError(f"loads: expected two or more increasing loads, found {self.loads}")
        object.__setattr__(self, "loads", loads)
        for name in ("flexion", "axial_force"):
            values = np.broadcast_to(check_array(name, getattr(self, name)), loads.shape)
            object.__setattr__(self, name, values)
        check_array("axial_force", self.axial_force, at_least=0.0)

    @property
    def applied(self) -> FloatArray:
        """Loads of rest and states in the order of `AppliedLoads`, (1 + S, 4) [N, N m].

        The knee rests at the mean flexion under the mean axial force.
        """
        load = DIRECTIONS[self.direction].load
        rows = [AppliedLoads(float(self.axial_force.mean())).array]
        for axial, size in zip(self.axial_force, self.loads, strict=True):
            rows.append(AppliedLoads(float(axial), **{load: float(size)}).array)
        return np.array(rows)

    @property
    def flexions(self) -> FloatArray:
        """Flexion of rest and states, (1 + S,) [rad]."""
        return np.concatenate([[self.flexion.mean()], self.flexion])


@dataclass(frozen=True, eq=False)
class LaxityStates:
    """States of a test."""

    test: LaxityTest
    #: Pose at rest, where the menisci are slack, and poses of the states (1 + S, 6) [rad, m].
    poses: FloatArray

    @property
    def displacement(self) -> FloatArray:
        """Displacement of the tibia in each state from the first state, (S,) [mm or deg]."""
        direction = DIRECTIONS[self.test.direction]
        along = direction.factor * self.poses[1:, COORDINATES.index(direction.coordinate)]
        return along - along[0]

    @property
    def laxity(self) -> float:
        """Displacement of the tibia from the first to the last state [mm or deg]."""
        return float(self.displacement[-1])


@dataclass(frozen=True, eq=False)
class LaxityKnee:
    """A knee in laxity tests; raises `InputError` without ligaments."""

    contact: ContactModel
    ligaments: tuple[Ligament, ...]
    #: Stiffness of the AP restraint of the menisci [N/m], >= 0.
    menisci: float = 0.0
    #: Line of action of the axial force, from the tibial origin [m].
    medial_offset: float = 0.0
    anterior_offset: float = 0.0

    def __post_init__(self) -> None:
        check_number("menisci", self.menisci, at_least=0.0, unit="N/m")
        if not self.ligaments:
            raise InputError("ligaments: expected bundles that hold the knee, found none")

    @cached_property
    def simulator(self) -> KneeSimulator:
        """The knee simulator without springs."""
        return KneeSimulator(
            ligaments=self.ligaments,
            medial_offset=self.medial_offset,
            anterior_offset=self.anterior_offset,
            anterior_stiffness=0.0,
            rotation_stiffness=0.0,
        )

    @cached_property
    def _forces(self) -> Callable[..., tuple[FloatArray, FloatArray]]:
        return self.simulator.problem().forces

    def balance(
        self, pose: FloatArray, applied: FloatArray, centre: float | None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the forces (5,) [N m, N] on the free coordinates and their slopes (5, 5).

        At a pose (6,) [rad, m] under loads (4,) [N, N m]; the spring of the menisci is slack at the
        AP position `centre` [m], and absent for None. Raises `EquilibriumError` if the contact
        model fails.
        """
        try:
            loads = self.contact.loads(Pose(*pose.tolist()), order=1)
        except (InputError, PoseError, ArithmeticError) as error:
            place = describe_pose(Pose(*pose.tolist()))
            raise EquilibriumError(f"the contact model failed at {place}: {error}") from error
        wrench, by_pose = (
            np.ascontiguousarray(each) for each in (loads.wrench, loads.total_jacobian)
        )
        force, slopes = self._forces(pose, applied, wrench, by_pose)
        force, slopes = force[FREE].copy(), slopes[FREE, FREE].copy()
        if centre is not None:
            force[_AP] -= self.menisci * (pose[1 + _AP] - centre)
            slopes[_AP, _AP] -= self.menisci
        return force, slopes

    def states(self, test: LaxityTest, start: Pose) -> LaxityStates:
        """Return the states of a test: the knee settles from `start`, then the loads grow in steps.

        Raises `EquilibriumError` if the knee does not settle, or a state is not found.
        """
        flexions, applied = test.flexions, test.applied
        rest = self.rest(test, start)
        poses = np.empty((len(applied), 6))
        poses[0] = rest
        begin = rest, applied[0]
        low = int(np.searchsorted(test.loads, 0.0))
        for way in (range(low, len(test.loads)), range(low - 1, -1, -1)):
            pose, loads = begin
            for k in way:
                pose = self._continued(pose, loads, flexions[1 + k], applied[1 + k], rest[ANTERIOR])
                poses[1 + k], loads = pose, applied[1 + k]
        return LaxityStates(test, poses)

    def rest(self, test: LaxityTest, start: Pose) -> FloatArray:
        """Return the pose (6,) [rad, m] in which the knee rests without the load of a test."""
        flexion, loads = float(test.flexions[0]), test.applied[0]
        pressed = AppliedLoads(max(float(loads[0]), _SETTLING)).array
        rest = settle(
            self.contact,
            self.simulator,
            flexion=flexion,
            axial_force=float(pressed[0]),
            start=start,
        )
        return self._continued(rest.array, pressed, flexion, loads, None)

    def other_rests(self, states: LaxityStates) -> FloatArray:
        """Return other poses (R, 6) [rad, m] in which the knee rests, released from its end states.

        Poses within 0.1 mm and 0.1 degrees of the rest of the states are the same.
        """
        found = []
        for end in (1, -1):
            with suppress(EquilibriumError):
                rest = self.rest(states.test, Pose(*states.poses[end].tolist()))
                if (np.abs(rest - states.poses[0]) > _SAME).any():
                    found.append(rest)
        return np.array(found).reshape(-1, 6)

    def stiffness(self, states: LaxityStates, k: int) -> float:
        """Return the load over displacement [N/mm or N m/deg] of small changes at state k."""
        test = states.test
        direction, row = DIRECTIONS[test.direction], k % len(test.loads)
        pose, loads = states.poses[1 + row], test.applied[1 + row]
        unit = AppliedLoads(**{direction.load: 1.0}).array
        force, slopes = self.balance(pose, loads, float(states.poses[0, ANTERIOR]))
        more, _ = self.balance(pose, loads + unit, float(states.poses[0, ANTERIOR]))
        moved = np.linalg.solve(-slopes, more - force)
        along = direction.factor * moved[FREE_COORDINATES.index(direction.coordinate)]
        return float(1.0 / along)

    def refined(self, states: LaxityStates, between: int) -> LaxityStates:
        """Return the states of a test with further loads between each two, followed from its own.

        Raises `EquilibriumError` if a state is not found.
        """
        test, count = states.test, len(states.test.loads)
        at = np.linspace(0.0, count - 1.0, (count - 1) * (between + 1) + 1)

        def fine(values: FloatArray) -> FloatArray:
            return np.interp(at, np.arange(count), values)

        flexion, loads, axial = fine(test.flexion), fine(test.loads), fine(test.axial_force)
        finer = replace(test, flexion=flexion, loads=loads, axial_force=axial)
        return self.states(finer, Pose(*states.poses[0].tolist()))

    def near(self, test: LaxityTest, poses: FloatArray) -> LaxityStates | None:
        """Return the states near poses (1 + S, 6) [rad, m], None if there are none."""
        found = np.array(poses)
        found[:, 0] = test.flexions
        centre = None
        for row, applied in zip(found, test.applied, strict=True):
            rest = self._newton(row, applied, centre)
            if rest is None:
                return None
            row[:] = rest
            centre = found[0, ANTERIOR]
        return LaxityStates(test, found)

    def _continued(
        self,
        pose: FloatArray,
        before: FloatArray,
        flexion: float,
        after: FloatArray,
        centre: float | None,
    ) -> FloatArray:
        """Return the pose (6,) that follows a pose while flexion [rad] and loads (4,) change."""
        at, step = 0.0, 0.25
        begin = pose
        while at < 1.0:
            step = min(step, 1.0 - at)
            aim = at + step
            loads = before + aim * (after - before)
            guess = pose.copy()
            guess[0] = begin[0] + aim * (flexion - begin[0])
            found = self._newton(guess, loads, centre)
            if found is not None:
                pose, at, step = found, aim, 1.5 * step
            elif step < 0.5**_HALVINGS:
                raise EquilibriumError(
                    f"no equilibrium follows {describe_pose(Pose(*pose.tolist()))} beyond "
                    f"{100 * at:.0f} % of the step to loads {after.round(3).tolist()} N, N m: "
                    "nothing holds the knee there; check ligaments and loads"
                )
            else:
                step *= 0.5
        return pose

    def _newton(
        self, pose: FloatArray, applied: FloatArray, centre: float | None
    ) -> FloatArray | None:
        """Return the stable equilibrium (6,) near a pose, or None."""
        pose = pose.copy()
        force, slopes = self.balance(pose, applied, centre)
        size = np.abs(_WEIGHTS * force).max()
        for _ in range(_STEPS):
            if size <= _RESIDUAL:
                break
            scale = _LARGEST_MOVE
            try:
                move = scale * np.linalg.solve(-slopes * scale * scale[:, None], force * scale)
            except np.linalg.LinAlgError:
                return None
            length = np.abs(move / scale).max()
            move /= max(1.0, length)
            for _ in range(6):
                trial = pose.copy()
                trial[FREE] += move
                found = self.balance(trial, applied, centre)
                trial_size = np.abs(_WEIGHTS * found[0]).max()
                if trial_size < size or length < _STILL:
                    break
                move *= 0.5
            else:
                return None
            pose, (force, slopes), size = trial, found, trial_size
            if length < _STILL:
                break
        else:
            return None
        scaled = slopes * _LARGEST_MOVE * _LARGEST_MOVE[:, None]
        stable = np.linalg.eigvals(scaled).real.max() < 0.0
        return pose if stable else None
