"""A plant by OpenSim's own multibody code, from the stock `opensim` wheel.

OpenSim (Seth et al. 2018, PLoS Comput Biol 14:e1006223) gives the generalised forces that a motion
needs by inverse dynamics, the moment arms of muscles by their paths, and the mass matrix.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics.musculoskeletal.ligament_set import LigamentSet
from dynamics.musculoskeletal.plant import CoordinateMotion, MuscleSet, PlantForces
from dynamics.musculoskeletal.wheel import opensim
from foundation.checks import FloatArray
from foundation.errors import InputError

#: Step of the derivatives by secondary coordinates [rad, m].
_STEP = 1e-6
#: Step of the derivatives by their speeds [rad/s, m/s].
_SPEED_STEP = 1e-4
#: Step of the derivatives of arms [rad, m].
_ARM_STEP = 1e-4
_LIGAMENT = "Blankevoort1991Ligament"
#: Least moment arm, or force per newton, of a muscle that crosses a joint [m, 1].
_CROSSING = 1e-9


class OpenSimSystem:
    """A model in OpenSim, with its state: coordinates by name, paths of muscles, inverse dynamics.

    Parameters
    ----------
    model : str
        XML text of a model that OpenSim loads.
    external_loads : str or Path, optional
        OpenSim's ExternalLoads file with the forces on the feet.

    Raises
    ------
    InputError
        If `opensim` is not installed, or OpenSim cannot load a file; its message is repeated.
    """

    def __init__(self, model: str, external_loads: str | Path | None = None) -> None:
        osim = opensim()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.osim"
            path.write_text(model, encoding="utf-8")
            try:
                self._model = osim.Model(str(path))
                self._loads: list[Any] = []
                if external_loads is not None:
                    loads = osim.ExternalLoads(str(Path(external_loads).resolve()), True)
                    self._model.addModelComponent(loads)
                    self._loads = [loads.get(k) for k in range(loads.getSize())]
                state = self._model.initSystem()
                self._read(state)
                # The plant has the muscles alone: reserves belong to the problem of a frame.
                for actuator in self._actuators():
                    actuator.set_appliesForce(actuator.getName() in self._applied)
                for muscle in self._all_muscles():
                    # Fibres follow from the path: no state of their own has to be solved for.
                    if muscle.hasProperty("ignore_tendon_compliance"):
                        muscle.set_ignore_tendon_compliance(True)
                self._state = self._model.initSystem()
            except RuntimeError as error:
                raise InputError(f"OpenSim cannot load the model: {error}") from error
        self._muscles = [m for m in self._all_muscles() if m.getName() in self._applied]
        self._paths = [m.getGeometryPath() for m in self._muscles]
        self._contracting = osim.State(self._state)
        for muscle in self._muscles:
            muscle.overrideActuation(self._state, True)
        #: A state in which some muscles do not pull, and which muscles pull in this state.
        self._partial, self._pulling = self._state, np.ones(len(self._muscles), dtype=np.bool_)
        self.set_tensions(np.zeros(len(self._muscles)))
        self._ligaments = self._find_ligaments()
        self.ligaments = _ligament_set(self._ligaments)
        self._solver = osim.InverseDynamicsSolver(self._model)
        self._matter = self._model.getMatterSubsystem()
        self._bodies = self._model.getNumBodies() + 1
        self._order = self._speed_order()

    @contextmanager
    def unloaded(self) -> Iterator[None]:
        """Let no external load act within the context."""
        try:
            self._apply_loads(False)
            yield
        finally:
            self._apply_loads(True)

    def _apply_loads(self, apply: bool) -> None:
        for load in self._loads:
            load.setAppliesForce(self._state, apply)

    def _read(self, state: Any) -> None:
        """Read names and data that the model has before its actuators are switched off."""
        coordinates = self._coordinates()
        self.coordinates = tuple(c.getName() for c in coordinates)
        self.rotational = tuple(int(c.getMotionType()) == 1 for c in coordinates)
        muscles = [m for m in self._all_muscles() if m.appliesForce(state)]
        self._applied = {m.getName() for m in muscles}
        self.muscles = MuscleSet(
            tuple(m.getName() for m in muscles),
            np.array([m.getMaxIsometricForce() for m in muscles]),
            np.array([m.getOptimalFiberLength() for m in muscles]),
            np.array([[m.getMinControl(), m.getMaxControl()] for m in muscles]).T,
        )

    def _coordinates(self) -> list[Any]:
        found = self._model.getCoordinateSet()
        return [found.get(k) for k in range(found.getSize())]

    def _all_muscles(self) -> list[Any]:
        found = self._model.getMuscles()
        return [found.get(k) for k in range(found.getSize())]

    def _actuators(self) -> list[Any]:
        found = self._model.getActuators()
        return [found.get(k) for k in range(found.getSize())]

    def _find_ligaments(self) -> list[Any]:
        found, kind = self._model.getForceSet(), opensim().Blankevoort1991Ligament
        forces = [found.get(k) for k in range(found.getSize())]
        return [
            kind.safeDownCast(force)
            for force in forces
            if force.getConcreteClassName() == _LIGAMENT and force.appliesForce(self._state)
        ]

    def _speed_order(self) -> list[int]:
        """Return the place of each coordinate among the speeds of the state."""
        order = []
        for coordinate in self._coordinates():
            coordinate.setSpeedValue(self._state, 1.0)
            order.append(int(np.argmax(self._state.getU().to_numpy())))
            coordinate.setSpeedValue(self._state, 0.0)
        return order

    def _vector(self, values: FloatArray) -> Any:
        ordered = np.empty(len(values))
        ordered[self._order] = values
        return opensim().Vector.createFromMat(ordered)

    def set(
        self, time: float, values: FloatArray, speeds: FloatArray, *, partial: bool = False
    ) -> None:
        """Set time [s], coordinates (n,) [rad, m] and speeds (n,), of the partial state if so."""
        state = self._partial if partial else self._state
        state.setTime(time)
        state.setQ(self._vector(values))
        state.setU(self._vector(speeds))

    def set_tensions(self, tensions: FloatArray) -> None:
        """Set the forces (M,) [N] of the muscles."""
        self.tensions = tensions.copy()
        for muscle, tension in zip(self._muscles, tensions.tolist(), strict=True):
            muscle.setOverrideActuation(self._state, tension)
            if self._partial is not self._state:
                muscle.setOverrideActuation(self._partial, tension)

    def contractions(
        self, time: float, values: FloatArray, speeds: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return what muscles with a rigid tendon give at full activation and without activation.

        At an instant [s], coordinates (n,) [rad, m] and speeds (n,); by force, length and velocity
        of the fibres (Millard et al. 2013, J Biomech Eng 135:021005).

        Returns
        -------
        active, passive : (M,) float64
            Force per unit of activation, and passive force [N].
        """
        state = self._contracting
        state.setTime(time)
        state.setQ(self._vector(values))
        state.setU(self._vector(speeds))
        forces = []
        for activation in (0.5, 1.0):
            for muscle in self._muscles:
                muscle.setActivation(state, activation)
            self._model.realizeDynamics(state)
            forces.append(np.array([m.getActuation(state) for m in self._muscles]))
        active = 2.0 * (forces[1] - forces[0])
        return active, forces[1] - active

    def keep_pulling(self, pulling: NDArray[np.bool_]) -> None:
        """Let only some muscles (M,) [1] pull where `set` and `needed_forces` are partial.

        Differences of forces by coordinates that the other muscles do not cross are the same, at
        less cost.
        """
        self._partial, self._pulling = opensim().State(self._state), pulling.copy()
        for muscle, pulls in zip(self._muscles, pulling.tolist(), strict=True):
            muscle.setAppliesForce(self._partial, pulls)

    def needed_forces(self, accelerations: FloatArray, *, partial: bool = False) -> FloatArray:
        """Return the generalised forces (n,) [N m, N] that accelerations (n,) [per s²] need.

        Beyond the forces of the muscles and of all else in the model.
        """
        state = self._partial if partial else self._state
        forces = self._solver.solve(state, self._vector(accelerations))
        return np.asarray(forces.to_numpy())[self._order]

    def arms(self) -> FloatArray:
        """Return the generalised forces (n, M) per newton of each muscle [m, 1]."""
        return self._path_arms(self._paths)

    def changing_arms(self) -> tuple[FloatArray, FloatArray]:
        """Return the arms (n, M) of muscles and (n, L) of ligaments, per newton [m, 1].

        Those of muscles that do not pull in the partial state (`keep_pulling`) are zero.
        """
        muscles = np.zeros((len(self.coordinates), len(self._paths)))
        chosen = np.flatnonzero(self._pulling).tolist()
        muscles[:, chosen] = self._path_arms([self._paths[k] for k in chosen])
        return muscles, self._path_arms([lig.getGeometryPath() for lig in self._ligaments])

    def _path_arms(self, paths: list[Any]) -> FloatArray:
        osim = opensim()
        self._model.realizePosition(self._state)
        count = len(self.coordinates)
        zero = osim.SpatialVec(osim.Vec3(0.0), osim.Vec3(0.0))
        forces, arms = osim.Vector(), np.empty((count, len(paths)))
        for k, path in enumerate(paths):
            on_bodies = osim.VectorOfSpatialVec(self._bodies, zero)
            on_coordinates = osim.Vector(count, 0.0)
            path.addInEquivalentForces(self._state, 1.0, on_bodies, on_coordinates)
            self._matter.multiplyBySystemJacobianTranspose(self._state, on_bodies, forces)
            arms[:, k] = forces.to_numpy() + on_coordinates.to_numpy()
        return arms[self._order]

    def ligament_paths(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return lengths (L,) [m], their rates (L,) [m/s], and arms (n, L) [m, 1] of ligaments."""
        self._model.realizeVelocity(self._state)
        lengths = np.array([ligament.getLength(self._state) for ligament in self._ligaments])
        rates = np.array([found.getLengtheningSpeed(self._state) for found in self._ligaments])
        return lengths, rates, self._path_arms([lig.getGeometryPath() for lig in self._ligaments])

    def mass(self) -> FloatArray:
        """Return the mass matrix (n, n) [kg m², kg m, kg]."""
        self._model.realizePosition(self._state)
        mass = opensim().Matrix()
        self._matter.calcM(self._state, mass)
        return np.asarray(mass.to_numpy())[np.ix_(self._order, self._order)]


class OpenSimPlant:
    """The plant of a model along a motion; see `dynamics.musculoskeletal.plant.Plant`.

    Parameters
    ----------
    system : OpenSimSystem
        The model.
    motion : CoordinateMotion
        Motion of all its coordinates.
    primary, secondary : tuple of str
        Names of the coordinates whose accelerations muscles and contact must give.

    Raises
    ------
    InputError
        If a name is no coordinate of the model, or both primary and secondary.
    """

    def __init__(
        self,
        system: OpenSimSystem,
        motion: CoordinateMotion,
        primary: tuple[str, ...],
        secondary: tuple[str, ...],
    ) -> None:
        both = set(primary) & set(secondary)
        if both:
            raise InputError(
                "coordinates: expected either primary or secondary, found both for "
                f"{', '.join(sorted(both))}"
            )
        self.system, self.motion = system, motion
        self.secondary, self.muscles = secondary, system.muscles
        self.ligaments = system.ligaments
        chosen = set(motion.index((*primary, *secondary)))
        self.free = tuple(n for k, n in enumerate(motion.names) if k in chosen)
        self._free, self._secondary = motion.index(self.free), motion.index(secondary)
        self._partial = False
        self._accelerations = motion.accelerations.copy()
        # What keeps the surfaces together is a slow, overdamped motion (Smith et al. 2018).
        self._accelerations[:, self._secondary] = 0.0

    def forces(self, frame: int, values: FloatArray, speeds: FloatArray) -> PlantForces:
        """Return forces and arms at an instant; see `Plant.forces`."""
        needed = self._needed(frame, values, speeds)
        arms = self.system.arms()[self._free]
        return PlantForces(needed + arms @ self.system.tensions, arms)

    def columns(
        self, frame: int, values: FloatArray, speeds: FloatArray, tensions: FloatArray
    ) -> FloatArray:
        """Return derivatives by secondary coordinates, by forward differences; see `Plant`."""
        self._leave_out(frame, values, speeds)
        self.system.set_tensions(tensions)
        base = self._needed(frame, values, speeds, partial=True)
        columns = np.empty((len(self.free), len(self.secondary)))
        for k in range(len(self.secondary)):
            moved = values.copy()
            moved[k] += _STEP
            columns[:, k] = (base - self._needed(frame, moved, speeds, partial=True)) / _STEP
        return columns

    def _leave_out(self, frame: int, values: FloatArray, speeds: FloatArray) -> None:
        """Leave muscles that do not cross the joints out of differences, to which they add 0."""
        if not self._partial:
            arms = self.forces(frame, values, speeds).arms
            places = [self.free.index(name) for name in self.secondary]
            self.system.keep_pulling(np.abs(arms[places]).max(axis=0) > _CROSSING)
            self._partial = True

    def outside(self, values: FloatArray) -> NDArray[np.bool_]:
        """Return False (N, S): the model holds for all values (N, S) [rad, m]."""
        return np.zeros(values.shape, dtype=np.bool_)

    def mass(self, frame: int, values: FloatArray) -> FloatArray:
        """Return the mass matrix (F, F) [kg m², kg m, kg]; see `Plant.mass`."""
        self._set(frame, values, np.zeros(len(self.secondary)))
        return self.system.mass()[np.ix_(self._free, self._free)]

    def ligament_paths(
        self, frame: int, values: FloatArray, speeds: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return lengths (L,) [m], rates (L,) [m/s], and arms (F, L) [m, 1] of the ligaments.

        At an instant, for secondary values and speeds (S,) [rad, m; per s].
        """
        self._set(frame, values, speeds)
        lengths, rates, arms = self.system.ligament_paths()
        return lengths, rates, arms[self._free]

    def ligament_tensions(self, frame: int, values: FloatArray, speeds: FloatArray) -> FloatArray:
        """Return the tensions (L,) [N] of the ligaments; see `Plant.ligament_tensions`."""
        lengths, rates, _ = self.ligament_paths(frame, values, speeds)
        return self.ligaments.tensions(lengths, rates).tension

    def arm_columns(
        self, frame: int, values: FloatArray, speeds: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of the arms by the secondary values, by central differences.

        At an instant and secondary values and speeds (S,) [rad, m; per s].

        Returns
        -------
        (F, M, S) float64
            Of the arms of the muscles [m, 1 per rad, m].
        (F, L, S) float64
            Of the arms of the ligaments.
        """
        self._leave_out(frame, values, speeds)
        rows = []
        for k in range(len(self.secondary)):
            ends = []
            for sign in (-1.0, 1.0):
                moved = values.copy()
                moved[k] += sign * _ARM_STEP
                self._set(frame, moved, speeds)
                ends.append(self.system.changing_arms())
            low, high = ends
            rows.append([(b - a)[self._free] for a, b in zip(low, high, strict=True)])
        of_muscles, of_ligaments = (np.stack(arms, axis=-1) for arms in zip(*rows, strict=True))
        return of_muscles / (2.0 * _ARM_STEP), of_ligaments / (2.0 * _ARM_STEP)

    def speed_columns(self, frame: int, values: FloatArray, speeds: FloatArray) -> FloatArray:
        """Return the derivative (F, S) of the needed forces by the secondary speeds.

        By forward differences, at an instant and secondary values and speeds (S,) [rad, m; per s].
        """
        base = self._needed(frame, values, speeds)
        columns = np.empty((len(self.free), len(self.secondary)))
        for k in range(len(self.secondary)):
            moved = speeds.copy()
            moved[k] += _SPEED_STEP
            columns[:, k] = (self._needed(frame, values, moved) - base) / _SPEED_STEP
        return columns

    def _set(
        self, frame: int, values: FloatArray, speeds: FloatArray, *, partial: bool = False
    ) -> None:
        q, u = self.motion.values[frame].copy(), self.motion.speeds[frame].copy()
        q[self._secondary], u[self._secondary] = values, speeds
        self.system.set(float(self.motion.time[frame]), q, u, partial=partial)

    def _needed(
        self, frame: int, values: FloatArray, speeds: FloatArray, *, partial: bool = False
    ) -> FloatArray:
        self._set(frame, values, speeds, partial=partial)
        needed = self.system.needed_forces(self._accelerations[frame], partial=partial)
        return needed[self._free]


def _ligament_set(ligaments: list[Any]) -> LigamentSet:
    return LigamentSet(
        tuple(found.getName() for found in ligaments),
        np.array([found.get_linear_stiffness() for found in ligaments]),
        np.array([found.get_slack_length() for found in ligaments]),
        np.array([found.get_transition_strain() for found in ligaments]),
        np.array([found.get_damping_coefficient() for found in ligaments]),
    )
