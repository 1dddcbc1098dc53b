"""A plant by OpenSim: a model along a motion of its coordinates."""

from __future__ import annotations

import numpy as np

from dynamics.musculoskeletal.ground_balance import GroundBalance
from dynamics.musculoskeletal.opensim_system import OpenSimSystem, PathGroup
from dynamics.musculoskeletal.plant import Contractions, CoordinateMotion, PlantForces
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

#: Step of the derivatives with respect to secondary coordinates [rad, m].
_STEP = 1e-6
#: Least moment arm, or force per newton, of a muscle that crosses a joint [m, 1].
_CROSSING = 1e-9


class OpenSimPlant:
    """The plant of a model along a motion of all coordinates.

    Muscles and contact must give the accelerations of primary and secondary coordinates.
    """

    def __init__(
        self,
        system: OpenSimSystem,
        motion: CoordinateMotion,
        primary: tuple[str, ...],
        secondary: tuple[str, ...],
        balance: GroundBalance | None = None,
    ) -> None:
        both = set(primary) & set(secondary)
        if both:
            raise InputError(
                "coordinates: expected either primary or secondary, found both for "
                f"{', '.join(sorted(both))}"
            )
        #: Motion of all coordinates; the values of secondary coordinates are a first guess.
        self.motion = motion
        self.system, self.balance, self.secondary = system, balance, secondary
        self.muscles, self.ligaments = system.muscles, system.ligaments
        chosen = set(motion.index((*primary, *secondary)))
        #: Names of the F primary and secondary coordinates, in the order of the model.
        self.free = tuple(n for k, n in enumerate(motion.names) if k in chosen)
        self._free, self._secondary = motion.index(self.free), motion.index(secondary)
        self._groups: list[tuple[PathGroup, list[int]]] = []
        self._accelerations = motion.accelerations.copy()
        #: What the free coordinates move: themselves, and without secondary coordinates those that
        #: the model couples to them.
        self._moved = system.moved_by(self.free) if not secondary else None
        # The secondary motion is slow and overdamped (Smith et al. 2018).
        self._accelerations[:, self._secondary] = 0.0

    def forces(self, frame: int, values: FloatArray, speeds: FloatArray) -> PlantForces:
        """Return the forces at an instant, for secondary values and speeds (S,) [rad, m; per s]."""
        needed = self._needed(frame, values, speeds)
        arms = self._on_free(frame, self.system.arms())
        return PlantForces(needed + arms @ self.system.tensions, arms)

    def _on_free(self, frame: int, forces: FloatArray) -> FloatArray:
        """Return forces on the free coordinates (F, ...) of those (n, ...) on all [N m, N]."""
        if self._moved is None:
            return forces[self._free]
        return self._moved(self.motion.values[frame]).T @ forces

    def columns(
        self, frame: int, values: FloatArray, speeds: FloatArray, tensions: FloatArray
    ) -> FloatArray:
        """Return the derivative (F, S) of arms @ tensions (M,) - needed by the values [N m, N].

        By forward differences.
        """
        groups = self._path_groups(frame, values, speeds)
        self.system.set_tensions(tensions)
        columns = np.empty((len(self.free), len(self.secondary)))
        for group, places in groups:
            base = self._needed(frame, values, speeds, group)
            for k in places:
                moved = values.copy()
                moved[k] += _STEP
                columns[:, k] = (base - self._needed(frame, moved, speeds, group)) / _STEP
        return columns

    def _path_groups(
        self, frame: int, values: FloatArray, speeds: FloatArray
    ) -> list[tuple[PathGroup, list[int]]]:
        """Return, by joint, the muscles and ligaments that cross it and its secondary coordinates.

        The others add nothing to differences by these coordinates.
        """
        if not self._groups:
            self._set(frame, values, speeds)
            muscles = np.abs(self.system.arms()[self._secondary]) > _CROSSING
            ligaments = np.abs(self.system.ligament_paths()[2][self._secondary]) > _CROSSING
            joints = np.array(self.system.joints())[self._secondary]
            for joint in np.unique(joints):
                rows = np.flatnonzero(joints == joint)
                crossing = (np.any(crosses[rows], axis=0) for crosses in (muscles, ligaments))
                self._groups.append((self.system.group(*crossing), rows.tolist()))
        return self._groups

    def place(self, frame: int) -> None:
        """Set the system to the motion at an instant, with the first guess of the secondary."""
        motion = self.motion
        self.system.set(float(motion.time[frame]), motion.values[frame], motion.speeds[frame])

    def mass(self, frame: int, values: FloatArray) -> FloatArray:
        """Return the mass matrix (F, F) of the free coordinates [kg m², kg m, kg]."""
        self._set(frame, values, np.zeros(len(self.secondary)))
        mass = self.system.mass()
        if self._moved is None:
            return mass[np.ix_(self._free, self._free)]
        return self._on_free(frame, self._on_free(frame, mass).T)

    def contractions(self, frame: int, values: FloatArray, speeds: FloatArray) -> Contractions:
        """Return forces (M,) [N] by the fibres of muscles with rigid tendons at an instant."""
        return self.system.contractions(*self._coordinates(frame, values, speeds))

    def ligament_tensions(self, frame: int, values: FloatArray, speeds: FloatArray) -> FloatArray:
        """Return the tensions (L,) [N] of the ligaments at an instant."""
        self._set(frame, values, speeds)
        lengths, rates, _ = self.system.ligament_paths()
        return self.ligaments.tensions(lengths, rates).tension

    def _set(
        self,
        frame: int,
        values: FloatArray,
        speeds: FloatArray,
        group: PathGroup | None = None,
    ) -> None:
        self.system.set(*self._coordinates(frame, values, speeds), group)

    def _coordinates(
        self, frame: int, values: FloatArray, speeds: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return the instant [s], and values and speeds (n,) of all coordinates."""
        q, u = self.motion.values[frame].copy(), self.motion.speeds[frame].copy()
        q[self._secondary], u[self._secondary] = values, speeds
        return float(self.motion.time[frame]), q, u

    def _needed(
        self,
        frame: int,
        values: FloatArray,
        speeds: FloatArray,
        group: PathGroup | None = None,
    ) -> FloatArray:
        """Return the forces (F,) on the free coordinates that the motion needs [N m, N]."""
        self._set(frame, values, speeds, group)
        needed = self.system.needed_forces(self._accelerations[frame], group)
        return self._on_free(frame, needed)
