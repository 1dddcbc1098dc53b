"""External loads that do not fit a motion: residuals, likely causes, and misplaced forces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.constants import g as STANDARD_GRAVITY
from scipy.constants import kilogram_force, pound_force

from dynamics.motion.plates import FARTHEST, Plate, unit_fault
from dynamics.musculoskeletal.external_loads import AppliedForce
from dynamics.musculoskeletal.ground_balance import (
    LARGEST_FORCE,
    LARGEST_MOMENT,
    USUAL_SHARE,
    GroundBalance,
)
from dynamics.musculoskeletal.leg_sides import counterpart
from dynamics.musculoskeletal.opensim_system import OpenSimSystem
from dynamics.musculoskeletal.plant import CoordinateMotion
from foundation.base.checks import FloatArray

#: Largest shift of time, that up to which steps are fine, and the steps [s].
_LATEST, _NEAR, _STEP, _COARSE = 10.0, 1.5, 0.01, 0.05
#: Units of force by the newtons that they stand for, and the opposite sign.
_SCALES = {
    "the forces look like kilonewtons: convert them to newtons": 1000.0,
    "the forces look like kilograms-force: convert them to newtons": kilogram_force,
    "the forces look like pounds-force: convert them to newtons": pound_force,
    "the forces look reversed: they must act on the feet, upwards": -1.0,
}
_LENGTHS = {"millimetres": 1e-3, "centimetres": 1e-2}
_UP, _LEVEL = (
    f"the {axes} look exchanged: turn the axes so that x is forward, y up and z right"
    for axes in ("vertical and the lateral axis", "fore-aft and the lateral axis")
)
#: Matrices that put axes right: exchanged ones, of either sense, and reversed ones.
_TURNED = (
    *((_UP, np.array([[1, 0, 0], [0, 0, s], [0, t, 0]])) for s in (1, -1) for t in (1, -1)),
    *((_LEVEL, np.array([[0, 0, s], [0, 1, 0], [t, 0, 0]])) for s in (1, -1) for t in (1, -1)),
    ("the fore-aft forces look reversed", np.diag([-1, 1, 1])),
    ("the lateral forces look reversed", np.diag([1, 1, -1])),
    ("the horizontal axes look reversed", np.diag([-1, 1, -1])),
    *(
        ("the vertical forces look reversed", np.diag([x, -1, z]))
        for x, z in ((1, 1), (-1, 1), (1, -1))
    ),
)

Change = Callable[[FloatArray], list[Plate]]


def load_changes(
    forces: Sequence[AppliedForce], mass: float, latest: float = _LATEST
) -> Iterator[tuple[str, Change]]:
    """Yield changes of loads that put a mistake right, for a mass [kg] and shifts of time [s]."""
    of_mass = {
        "the forces look divided by the mass: multiply them by the mass": mass,
        "the forces look like body weights: convert them to newtons": mass * STANDARD_GRAVITY,
    }
    for text, factor in (_SCALES | of_mass).items():
        # Some files have forces in another unit than torques.
        for turn in (factor, 1.0):
            yield text, each_plate(forces, _scaled(factor, turn=turn))
    for unit, factor in _LENGTHS.items():
        text = f"the points of application look like {unit}: convert them to metres"
        yield text, each_plate(forces, _scaled(1.0, point=factor))
    for text, matrix in _TURNED:
        yield text, each_plate(forces, _turned(matrix))
        yield text, each_plate(forces, _turned(matrix, force_only=True))
    for one, other in combinations(range(len(forces)), 2):
        names = f"{forces[one].plate.name} and {forces[other].plate.name}"
        text = f"the forces of {names} look exchanged, without their points"
        yield text, _swapped(forces, one, other)
    for shift in _shifts(min(latest, float(np.ptp(forces[0].time))) if forces else 0.0):
        when = "early" if shift < 0.0 else "late"
        text = (
            f"the forces look {abs(shift):.2f} s {when} against the motion: check the times of "
            "both files"
        )
        yield text, partial(_later, forces, shift)


def plates_at(forces: Sequence[AppliedForce], time: FloatArray) -> list[Plate]:
    """Return the plates of external loads at instants (N,) [s]."""
    return [force.at(time) for force in forces]


def each_plate(forces: Sequence[AppliedForce], change: Callable[[Plate], Plate]) -> Change:
    """Return the change of each plate by a function."""
    return lambda time: [change(plate) for plate in plates_at(forces, time)]


def moved(offset: FloatArray) -> Callable[[Plate], Plate]:
    """Return the shift of a plate by an offset (3,) [m]."""
    return lambda plate: replace(plate, point=plate.point + offset)


def _later(forces: Sequence[AppliedForce], shift: float, time: FloatArray) -> list[Plate]:
    return plates_at(forces, time + shift)


def _swapped(forces: Sequence[AppliedForce], one: int, other: int) -> Change:
    def change(time: FloatArray) -> list[Plate]:
        plates = plates_at(forces, time)
        a, b = plates[one], plates[other]
        plates[one], plates[other] = replace(a, force=b.force), replace(b, force=a.force)
        return plates

    return change


def _scaled(force: float, *, point: float = 1.0, turn: float = 1.0) -> Callable[[Plate], Plate]:
    return lambda p: replace(
        p, force=force * p.force, point=point * p.point, torque=turn * p.torque
    )


def _turned(matrix: NDArray[Any], *, force_only: bool = False) -> Callable[[Plate], Plate]:
    if force_only:
        return lambda p: replace(p, force=p.force @ matrix.T)
    return lambda p: replace(
        p, force=p.force @ matrix.T, point=p.point @ matrix.T, torque=p.torque @ matrix.T
    )


def _shifts(latest: float) -> FloatArray:
    """Return shifts of time up to the latest [s], the smallest first."""
    steps = _STEP * np.arange(2.0, round(min(latest, _NEAR) / _STEP) + 1.0)
    steps = np.concatenate([steps, np.arange(_NEAR + _COARSE, latest, _COARSE)])
    return np.column_stack([steps, -steps]).ravel()


#: A plate carries a foot above this part of the weight [1].
BEARS = 0.2
#: A centre of pressure is nearer to another body by more than this distance [m], and farther from
#: its own than toes are from a heel [m].
_NEARER, _OFF_FOOT = 0.1, 0.25


def misplaced(
    forces: Sequence[AppliedForce], balance: GroundBalance, feet: Mapping[str, FloatArray]
) -> Iterator[str]:
    """Yield a flag for each force that is not under its body, by centres of mass (N, 3) [m]."""
    for force in forces:
        plate = force.at(balance.time)
        up, known = balance.up, force.body in feet
        bears = np.maximum(plate.force @ up - BEARS * balance.weight, 0.0)
        if not force.in_ground or not known or not bears.any():
            continue
        away = {
            body: float(np.average(np.linalg.norm(plate.point - place, axis=1), weights=bears))
            for body, place in feet.items()
        }
        own, nearest = away[force.body], min(away, key=away.__getitem__)
        other = counterpart(force.body)
        across = _across(plate.point - feet[force.body], up)
        beside = float(np.average(across, weights=bears))
        said = f"{plate.name}: expected a centre of pressure under {force.body}, found a mean "
        if away.get(other, np.inf) <= min(own - _NEARER, FARTHEST):
            yield (
                f"{said}distance of {own:.2f} m, and {away[other]:.2f} m from {other}; "
                "the forces, or applied_to_body of the external loads, look exchanged"
            )
        elif own > _OFF_FOOT and away[nearest] <= min(own - _NEARER, FARTHEST):
            yield (
                f"{said}distance of {own:.2f} m, and {away[nearest]:.2f} m from {nearest}; "
                "check applied_to_body of the external loads"
            )
        elif beside > FARTHEST:
            yield f"{said}distance of {beside:.2f} m; check time, unit and axes of the points"


def _across(vectors: FloatArray, up: FloatArray) -> FloatArray:
    """Return the horizontal lengths (N,) of vectors (N, 3) [m]."""
    return np.linalg.norm(vectors - (vectors @ up)[:, None] * up, axis=1)


#: A change is a cause if it leaves at most this part of the limits, and of the score before.
_FITS, _BETTER = 0.9, 0.6
#: Loads within the limits are flagged if a change leaves this part of the mean residual moment,
#: which is at least this part of its scale, over at least a time [s]. No change of the right loads
#: of three walks leaves as little (`docs/muscle_walks.md`).
_TELLING, _LEAST_MOMENT, _LEAST_TIME = 0.6, 0.035, 0.4
#: Least shift of all points of application that is flagged [m].
_LEAST_OFFSET = 0.05
#: Largest shift of time that is flagged for loads within the limits [s].
_SLIGHT = 0.2
#: Largest free torque of a person over the mass [N m/kg].
_LARGEST_TORQUE = 2.0


@dataclass(frozen=True, eq=False)
class LoadedMotion:
    """A motion with its external loads, and places (N, 3) [m] of the bodies that may bear them."""

    balance: GroundBalance
    origins: FloatArray
    forces: Sequence[AppliedForce]
    #: Centres of mass of bodies that may bear a force (N, 3), axes of the ground [m].
    feet: dict[str, FloatArray]

    def score(self, plates: Sequence[Plate]) -> float:
        """Return the residual with other loads, 1 at the limit of force or moment."""
        force, moment = self._changed(plates).parts
        return max(force / LARGEST_FORCE, moment / LARGEST_MOMENT)

    @cached_property
    def _applied(self) -> FloatArray:
        """Wrench of the loads (N, 6) [N, N m]."""
        return self._wrench(plates_at(self.forces, self.balance.time))

    def _changed(self, plates: Sequence[Plate]) -> GroundBalance:
        """Return the balance with other loads."""
        before, found = self.balance, self._wrench(plates)
        return replace(
            before,
            residual=before.residual + self._applied - found,
            external=before.external + found[:, :3] - self._applied[:, :3],
        )

    def _wrench(self, plates: Sequence[Plate]) -> FloatArray:
        wrench = np.zeros((len(self.origins), 6))
        for plate in plates:
            wrench[:, :3] += plate.force
            wrench[:, 3:] += np.cross(plate.point - self.origins, plate.force) + plate.torque
        return wrench

    def flags(self) -> tuple[str, ...]:
        """Return flags on residuals, with likely causes, and on misplaced forces."""
        faults = self.balance.faults
        told = [f"{faults[0]}; {self.cause()}", *faults[1:]] if faults else self._within_limits()
        return (*told, *misplaced(self.forces, self.balance, self.feet))

    def cause(self) -> str:
        """Return the likely cause of the residual, or what to check."""
        before, plates = self.balance, plates_at(self.forces, self.balance.time)
        if not self.forces:
            return "no external loads are stated: set walk.external_loads"
        if not all(force.in_ground for force in self.forces):
            return "check unit, sign, time and bodies of the external loads"
        for force, plate in zip(self.forces, plates, strict=True):
            fault = unit_fault(_upright(force.plate)) or self._torque_fault(plate)
            if fault:
                return f"{plate.name}: {fault}"
        now = self.score(plates)
        scored = [
            (self.score(change(before.time)), text)
            for text, change in load_changes(self.forces, before.mass)
        ]
        best, text = min(scored, key=lambda pair: pair[0])
        if best <= min(_FITS, _BETTER * now):
            return text
        return (
            self._missing()
            or self._telling()[0]
            or self._light()
            or (
                "check unit, sign, axes, time and bodies of the external loads, and mass and motion"
            )
        )

    def _within_limits(self) -> list[str]:
        """Return no or one sentence on a change that makes residuals within the limits smaller."""
        # Changes suppose forces and points in the axes of the ground.
        steady = bool(self.forces) and all(force.in_ground for force in self.forces)
        if np.ptp(self.balance.time) < _LEAST_TIME or not steady:
            return []
        cause, now, then = self._telling()
        if not cause or now < _LEAST_MOMENT:
            return []
        return [
            f"residual moment on {self.balance.body}: expected loads that no simple change makes "
            f"fit much better, found a root mean square of {100.0 * now:.1f} % of the largest "
            "external force times the height of the centre of mass, and "
            f"{100.0 * then:.1f} % after a change; {cause}"
        ]

    def _telling(self) -> tuple[str, float, float]:
        """Return the mean residual moment over the score, infinity if it tells no cause."""
        time = self.balance.time
        force, now = self._mean_parts(plates_at(self.forces, time))
        offset, far = self._offset()
        changes = [
            *load_changes(self.forces, self.balance.mass, _SLIGHT),
            *([(far, each_plate(self.forces, moved(offset)))] if far else []),
        ]
        parts = [(self._mean_parts(change(time)), text, change) for text, change in changes]
        parts = [each for each in parts if each[0][0] <= 1.05 * force]
        for (_, then), text, change in sorted(parts, key=lambda part: part[0][1]):
            if then > _TELLING * now:
                break
            if self.score(change(time)) <= 1.0:
                return text, now, then
        return "", now, now

    def _mean_parts(self, plates: Sequence[Plate]) -> tuple[float, float]:
        """Return root mean squares of residual force and moment over their scales with loads."""
        before, left = self.balance, self._changed(plates).residual
        force, moment = (float(np.sqrt((each**2).sum(1).mean())) for each in np.hsplit(left, 2))
        return force / before.force_scale, moment / before.moment_scale

    def _offset(self) -> tuple[FloatArray, str]:
        """Return a change that moves the points of all forces by the same distance, if any."""
        level = np.linalg.svd(self.balance.up[None])[2][1:]
        total = self._applied[:, :3]
        columns = np.stack([np.cross(axis, total).ravel() for axis in level], axis=1)
        found = np.linalg.lstsq(columns, self.balance.residual[:, 3:].ravel(), rcond=None)[0]
        offset = np.asarray(found @ level)
        if np.linalg.norm(offset) < _LEAST_OFFSET:
            return offset, ""
        x, y, z = (round(float(each), 2) + 0.0 for each in -offset)
        return offset, (
            f"the points of application look {np.linalg.norm(offset):.2f} m off, by {x:g}, {y:g}, "
            f"{z:g} m: check that both files have the same origin"
        )

    def _torque_fault(self, plate: Plate) -> str:
        largest, mass = float(np.linalg.norm(plate.torque, axis=1).max()), self.balance.mass
        limit = _LARGEST_TORQUE * mass
        if largest <= limit:
            return ""
        return (
            f"expected a free torque below {limit:.0f} N m, found {largest:.0f} N m; check its "
            "unit and point"
        )

    def _missing(self) -> str:
        """Return that a foot is without a force in some frames, or nothing."""
        before = self.balance
        given = before.external @ before.up
        needed = given + before.residual[:, :3] @ before.up
        bare = (needed > BEARS * before.weight) & (given < 0.5 * needed)
        if not bare.any():
            return ""
        bodies = " and ".join(dict.fromkeys(force.body for force in self.forces))
        return (
            f"the forces carry less than half of what the motion needs in {bare.sum()} of "
            f"{len(bare)} frames: a foot is without its plate (forces act on {bodies})"
        )

    def _light(self) -> str:
        low, high = USUAL_SHARE
        share, mass = self.balance.share, self.balance.mass
        if low <= share <= high:
            return ""
        return (
            f"the forces carry {share * mass:.1f} kg: check the mass of the model, {mass:.1f} kg, "
            "and the unit of the forces"
        )


def _upright(plate: Plate) -> Plate:
    """Return a plate with the vertical force mostly upwards: its sign is judged elsewhere."""
    vertical = plate.force[:, 1]
    sign = -1.0 if -vertical.min() > vertical.max() else 1.0
    return replace(plate, force=sign * plate.force)


#: Least height of a centre of mass, for models that lie [m].
_LEAST_HEIGHT = 0.1


def ground_balance(system: OpenSimSystem, motion: CoordinateMotion) -> GroundBalance | None:
    """Return the residual of a motion, with flags; None for a model that no coordinates move."""
    body, places = system.root
    mass = system.body_mass
    if not places or not mass > 0.0:
        return None
    forces = () if system.external_loads is None else system.external_loads.forces
    up, known = system.up, system.bodies
    feet: dict[str, list[FloatArray]] = {name: [] for name in known} if forces else {}
    wrenches, origins, heights = [], [], []
    for time, values, speeds, accelerations in zip(
        motion.time.tolist(), motion.values, motion.speeds, motion.accelerations, strict=True
    ):
        system.set(time, values, speeds)
        loaded = system.needed_forces(accelerations)
        with system.unloaded():
            bare = system.needed_forces(accelerations)
        wrenches.append(system.wrench_on(body, places, np.array([loaded, bare])))
        origins.append(system.origin(body))
        heights.append(float(system.mass_centre() @ up))
        for name, path in feet.items():
            path.append(system.mass_centre(name))
    system.set(float(motion.time[0]), motion.values[0], motion.speeds[0])
    lowest = min(float(system.origin(name) @ up) for name in known)
    residual, needed = np.array(wrenches).transpose(1, 0, 2)
    found = GroundBalance(
        body,
        motion.time,
        residual,
        (needed - residual)[:, :3],
        np.maximum(np.array(heights) - lowest, _LEAST_HEIGHT),
        up,
        mass,
    )
    paths = {name: np.array(path) for name, path in feet.items()}
    loads = LoadedMotion(found, np.array(origins), forces, paths)
    return replace(found, flags=loads.flags())
