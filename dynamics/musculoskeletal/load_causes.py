"""Likely causes of external loads that do not fit a motion: which change makes them fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynamics.motion.plates import Plate, unit_fault
from dynamics.musculoskeletal.external_loads import AppliedForce
from dynamics.musculoskeletal.ground_balance import (
    LARGEST_FORCE,
    LARGEST_MOMENT,
    USUAL_SHARE,
    GroundBalance,
)
from dynamics.musculoskeletal.load_changes import each_plate, load_changes, moved, plates_at
from dynamics.musculoskeletal.misplaced_forces import BEARS, misplaced
from foundation.base.checks import FloatArray

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
        before = self.balance
        applied = self._wrench(self._plates(before.time))
        found = self._wrench(plates)
        changed = replace(
            before,
            residual=before.residual + applied - found,
            external=before.external + found[:, :3] - applied[:, :3],
        )
        force, moment = changed.parts
        return max(force / LARGEST_FORCE, moment / LARGEST_MOMENT)

    def _wrench(self, plates: Sequence[Plate]) -> FloatArray:
        wrench = np.zeros((len(self.origins), 6))
        for plate in plates:
            wrench[:, :3] += plate.force
            wrench[:, 3:] += np.cross(plate.point - self.origins, plate.force) + plate.torque
        return wrench

    def _plates(self, time: FloatArray) -> list[Plate]:
        return plates_at(self.forces, time)

    def flags(self) -> tuple[str, ...]:
        """Return flags on residuals, with likely causes, and on misplaced forces."""
        faults = self.balance.faults
        told = [f"{faults[0]}; {self.cause()}", *faults[1:]] if faults else self._within_limits()
        return (*told, *misplaced(self.forces, self.balance, self.feet))

    def cause(self) -> str:
        """Return the likely cause of the residual, or what to check."""
        before, plates = self.balance, self._plates(self.balance.time)
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
        if np.ptp(self.balance.time) < _LEAST_TIME or not self._steady:
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

    @property
    def _steady(self) -> bool:
        """Whether forces and points are those of the ground, which changes suppose."""
        return bool(self.forces) and all(force.in_ground for force in self.forces)

    def _telling(self) -> tuple[str, float, float]:
        """Return the mean residual moment over the score, infinity if it tells no cause."""
        time = self.balance.time
        force, now = self._mean_parts(self._plates(time))
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
        before = self.balance
        left = before.residual + self._wrench(self._plates(before.time)) - self._wrench(plates)
        force, moment = (float(np.sqrt((each**2).sum(1).mean())) for each in np.hsplit(left, 2))
        return force / before.force_scale, moment / before.moment_scale

    def _offset(self) -> tuple[FloatArray, str]:
        """Return a change that moves the points of all forces by the same distance, if any."""
        level = np.linalg.svd(self.balance.up[None])[2][1:]
        total = self._wrench(self._plates(self.balance.time))[:, :3]
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
