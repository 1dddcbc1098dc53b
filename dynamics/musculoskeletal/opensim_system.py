"""A model in OpenSim's own multibody code, from the stock `opensim` wheel, imported where needed.

OpenSim (Seth et al. 2018, PLoS Comput Biol 14:e1006223) gives the generalised forces that a motion
needs by inverse dynamics, the moment arms of muscles by their paths, and the mass matrix.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics.musculoskeletal.external_loads import ExternalLoads, read_external_loads
from dynamics.musculoskeletal.plant import Contractions, LigamentSet, MuscleSet
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError


@cache
def opensim() -> Any:
    """Return the module `opensim`, which writes no log file; an error tells how to install it."""
    try:
        module = importlib.import_module("opensim")
    except ImportError as error:
        if "casadi" in sys.modules:
            raise InputError(
                "opensim: expected a process without CasADi, found CasADi imported, but OpenSim "
                "has another version of CasADi; use OpenSim in a separate process"
            ) from error
        if not (isinstance(error, ModuleNotFoundError) and error.name == "opensim"):
            raise InputError(
                f"opensim: expected a package that Python imports, found an error: {error}; "
                'install OpenSim again with pip install --force-reinstall "knee-contact[opensim]"'
            ) from error
        raise InputError(
            "models in .osim files need OpenSim, which is not installed: install OpenSim with pip "
            'install "knee-contact[opensim]"'
        ) from error
    module.Logger.removeFileSink()
    module.Logger.setLevelString("Error")
    return module


@contextmanager
def without_output() -> Iterator[None]:
    """Keep what OpenSim's tools write past Python and past its log from the standard output."""
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


#: Values (N,) of a coordinate at instants (N,) [s] and values (N,) of other coordinates by name.
HeldCourse = Callable[[FloatArray, Mapping[str, FloatArray]], FloatArray]


def lock_notes(locked: Collection[str], moved: Iterable[str]) -> tuple[str, ...]:
    """Return a note on locked coordinates that settings or courses would move."""
    kept = [name for name in dict.fromkeys(moved) if name in locked]
    if not kept:
        return ()
    return (
        f"locked coordinates of the model keep their default values: {', '.join(kept)}; set locked "
        "to false in the model for coordinates that move",
    )


def held_courses(model: Any, state: Any) -> dict[str, HeldCourse]:
    """Return the course [rad, m] of each coordinate that a model holds; followers come last."""
    coordinates = model.getCoordinateSet()
    found: dict[str, HeldCourse] = {}
    for coordinate in (coordinates.get(k) for k in range(coordinates.getSize())):
        if coordinate.getLocked(state):
            found[coordinate.getName()] = _constant(coordinate.getDefaultValue())
        elif coordinate.isPrescribed(state):
            found[coordinate.getName()] = _over_time(coordinate.getPrescribedFunction())
    constraints = model.getConstraintSet()
    for each in (constraints.get(k) for k in range(constraints.getSize())):
        coupler = opensim().CoordinateCouplerConstraint.safeDownCast(each)
        if coupler is not None and coupler.isEnforced(state):
            dependent = coupler.getPropertyByName("dependent_coordinate_name")
            found[opensim().PropertyHelper.getValueString(dependent)] = _coupled(coupler)
    return found


def _constant(value: float) -> HeldCourse:
    return lambda time, _: np.full(len(time), value)


def _over_time(function: Any) -> HeldCourse:
    return lambda time, _: np.array(list(_values(function, time[:, None])))


def _coupled(coupler: Any) -> HeldCourse:
    names = coupler.getIndependentCoordinateNames()
    independent = [names.get(k) for k in range(names.getSize())]
    factor = coupler.getPropertyByName("scale_factor")
    function, scale = coupler.getFunction(), opensim().PropertyHelper.getValueDouble(factor)

    def course(time: FloatArray, known: Mapping[str, FloatArray]) -> FloatArray:
        rows = np.column_stack([known[name] for name in independent])
        return scale * np.array(list(_values(function, rows)))

    return course


def _values(function: Any, rows: FloatArray) -> Iterator[float]:
    for row in rows:
        yield float(function.calcValue(opensim().Vector.createFromMat(row)))


_LIGAMENT = "Blankevoort1991Ligament"
#: Muscles that OpenSim does not give a rigid tendon.
_ELASTIC = "Thelen2003Muscle"
#: Step of the derivatives of coupled coordinates [rad, m].
_STEP = 1e-5


class PathGroup(NamedTuple):
    """Those that cross a joint; differences in a state without the others cost less."""

    state: Any
    #: Indices of those that cross the joint.
    muscles: list[int]
    ligaments: list[int]


class OpenSimSystem:
    """A model (XML text) in OpenSim with its state; `reactions` prepares calls of `reaction`."""

    def __init__(
        self, model: str, external_loads: str | Path | None = None, *, reactions: bool = False
    ) -> None:
        osim = opensim()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.osim"
            path.write_text(model, encoding="utf-8")
            try:
                self._model = osim.Model(str(path))
                self._loads: list[Any] = []
                self._elastic: list[str] = []
                #: The external loads; None without external loads.
                self.external_loads: ExternalLoads | None = None
                if external_loads is not None:
                    self.external_loads = read_external_loads(external_loads, self.bodies)
                    loads = osim.ExternalLoads(str(Path(external_loads).resolve()), True)
                    loads.setDataFileName(str(self.external_loads.data_file))
                    self._model.addModelComponent(loads)
                    self._loads = _members(loads)
                state = self._model.initSystem()
                self._read(state)
                self.with_reactions = reactions
                self._drives = [self._drive(name) for name in self.coordinates if reactions]
                # The plant has the muscles alone: reserves belong to the problem of a frame.
                for actuator in _members(self._model.getActuators()):
                    actuator.set_appliesForce(actuator.getName() in self._applied)
                for muscle in _members(self._model.getMuscles()):
                    # Fibres follow from the path: no state of their own has to be solved for.
                    if muscle.getConcreteClassName() == _ELASTIC:
                        self._elastic.append(muscle.getName())
                    elif muscle.hasProperty("ignore_tendon_compliance"):
                        muscle.set_ignore_tendon_compliance(True)
                self._state = self._model.initSystem()
            except RuntimeError as error:
                raise InputError(f"OpenSim cannot load the model: {error}") from error
        self._muscles = [
            m for m in _members(self._model.getMuscles()) if m.getName() in self._applied
        ]
        self._paths = [m.getGeometryPath() for m in self._muscles]
        self._contracting = osim.State(self._state)
        kind = osim.Millard2012EquilibriumMuscle
        #: Muscles with viscous fibres, None for others.
        self._damped = [kind.safeDownCast(muscle) for muscle in self._muscles]
        for muscle in self._muscles:
            muscle.overrideActuation(self._state, True)
        self._groups: list[PathGroup] = []
        self.set_tensions(np.zeros(len(self._muscles)))
        self._ligaments = self._find_ligaments()
        self.ligaments = _ligament_set(self._ligaments)
        self._solver = osim.InverseDynamicsSolver(self._model)
        self._matter = self._model.getMatterSubsystem()
        self._bodies = self._model.getNumBodies() + 1
        self._order = self._speed_order()
        self._places = self._value_order()

    def _drive(self, coordinate: str) -> Any:
        """Return a new actuator of a coordinate, which `reaction` switches on."""
        drive = opensim().CoordinateActuator(coordinate)
        drive.setName(f"drive_of_{coordinate}")
        self._model.addForce(drive)
        return drive

    @property
    def root(self) -> tuple[str, list[int]]:
        """Body with the most coordinates of a joint with the ground, and their places."""
        found: dict[str, list[int]] = {}
        for k, coordinate in enumerate(_members(self._model.getCoordinateSet())):
            joint = coordinate.getJoint()
            if joint.getParentFrame().findBaseFrame().getName() == "ground":
                found.setdefault(joint.getChildFrame().findBaseFrame().getName(), []).append(k)
        return max(found.items(), key=lambda item: len(item[1]), default=("", []))

    def wrench_on(self, body: str, places: list[int], forces: FloatArray) -> FloatArray:
        """Return force and moment (K, 6) about a body's origin, of forces (K, n) [N m, N]."""
        found, state = self._model.getBodySet().get(body), self._state
        rows = np.empty((len(places), 6))
        for row, place in zip(rows, places, strict=True):
            speeds = np.zeros(len(self.coordinates))
            speeds[place] = 1.0
            state.setU(self._vector(speeds))
            self._model.realizeVelocity(state)
            velocity = found.getVelocityInGround(state)
            row[:] = [*velocity.get(1).to_numpy(), *velocity.get(0).to_numpy()]
        wrench = np.linalg.lstsq(rows, forces[:, places].T, rcond=None)[0].T
        return wrench.astype(np.float64)

    def origin(self, body: str) -> FloatArray:
        """Return the origin (3,) of a body in the ground [m], in the position that is set."""
        self._model.realizePosition(self._state)
        found = self._model.getBodySet().get(body).getPositionInGround(self._state)
        return np.asarray(found.to_numpy())

    def mass_centre(self, body: str | None = None) -> FloatArray:
        """Return the centre of mass (3,) of a body, or of the model, in the ground [m]."""
        self._model.realizePosition(self._state)
        if body is None:
            return np.asarray(self._model.calcMassCenterPosition(self._state).to_numpy())
        found = self._model.getBodySet().get(body)
        return np.asarray(
            found.findStationLocationInGround(self._state, found.getMassCenter()).to_numpy()
        )

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of the bodies, without the ground."""
        return tuple(body.getName() for body in _members(self._model.getBodySet()))

    @property
    def body_mass(self) -> float:
        """Mass of all bodies [kg]."""
        return float(self._model.getTotalMass(self._state))

    @property
    def up(self) -> FloatArray:
        """Unit vector (3,) against gravity, axes of the ground [1]; y without gravity."""
        gravity = np.asarray(self._model.getGravity().to_numpy())
        length = float(np.linalg.norm(gravity))
        return -gravity / length if length else np.array([0.0, 1.0, 0.0])

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
        coordinates = _members(self._model.getCoordinateSet())
        self.coordinates = tuple(c.getName() for c in coordinates)
        self.rotational = tuple(int(c.getMotionType()) == 1 for c in coordinates)
        #: Default values (n,) of the coordinates [rad, m].
        self.defaults = np.array([c.getDefaultValue() for c in coordinates])
        muscles = [m for m in _members(self._model.getMuscles()) if m.appliesForce(state)]
        self._applied = {m.getName() for m in muscles}
        self.muscles = MuscleSet(
            tuple(m.getName() for m in muscles),
            np.array([m.getMaxIsometricForce() for m in muscles]),
            np.array([m.getOptimalFiberLength() for m in muscles]),
            np.array([[m.getMinControl(), m.getMaxControl()] for m in muscles]).reshape(-1, 2).T,
        )

    @cached_property
    def locked(self) -> tuple[str, ...]:
        """Names of the coordinates that stay at their default values."""
        found = _members(self._model.getCoordinateSet())
        return tuple(each.getName() for each in found if each.getLocked(self._state))

    @cached_property
    def held(self) -> dict[str, HeldCourse]:
        """Courses of the coordinates that the model holds, by name; see `held_courses`."""
        return held_courses(self._model, self._state)

    def moved_by(self, free: tuple[str, ...]) -> Callable[[FloatArray], FloatArray]:
        """Return how free coordinates move all (n, F) at values (n,) [rad, m]."""
        names = self.coordinates
        held = {name: c for name, c in self.held.items() if name not in (*self.locked, *free)}
        own = np.eye(len(names))[:, [names.index(name) for name in free]]
        if not held:
            return lambda values: own

        def moved(values: FloatArray) -> FloatArray:
            columns = np.empty_like(own)
            for k, chosen in enumerate(free):
                ends = []
                for step in (-_STEP, _STEP):
                    known = {name: values[[j]] for j, name in enumerate(names)}
                    known[chosen] = known[chosen] + step
                    for name, course in held.items():
                        known[name] = course(np.zeros(1), known)
                    ends.append(np.concatenate([known[name] for name in names]))
                columns[:, k] = (ends[1] - ends[0]) / (2.0 * _STEP)
            return columns

        return moved

    def ligament_lengths(self) -> dict[str, float]:
        """Return the length of the path of each ligament in the default pose [m], by name."""
        self._model.realizePosition(self._state)
        return {each.getName(): each.getLength(self._state) for each in self._ligaments}

    def _find_ligaments(self) -> list[Any]:
        kind = opensim().Blankevoort1991Ligament
        return [
            kind.safeDownCast(force)
            for force in _members(self._model.getForceSet())
            if force.getConcreteClassName() == _LIGAMENT and force.appliesForce(self._state)
        ]

    def _speed_order(self) -> list[int]:
        """Return the place of each coordinate among the speeds of the state."""
        order = []
        for coordinate in _members(self._model.getCoordinateSet()):
            coordinate.setSpeedValue(self._state, 1.0)
            order.append(int(np.argmax(self._state.getU().to_numpy())))
            coordinate.setSpeedValue(self._state, 0.0)
        return order

    def _value_order(self) -> list[int]:
        """Return the place of each coordinate among the positions of the state."""
        order, state = [], opensim().State(self._state)
        for coordinate in _members(self._model.getCoordinateSet()):
            coordinate.setLocked(state, False)
            coordinate.setClamped(state, False)
            before = state.getQ().to_numpy().copy()
            coordinate.setValue(state, coordinate.getValue(state) + 0.5, False)
            order.append(int(np.abs(state.getQ().to_numpy() - before).argmax()))
        return order

    def _positions(self, values: FloatArray) -> Any:
        ordered = np.zeros(self._state.getNQ())
        ordered[self._places] = values
        return opensim().Vector.createFromMat(ordered)

    def _vector(self, values: FloatArray) -> Any:
        ordered = np.empty(len(values))
        ordered[self._order] = values
        return opensim().Vector.createFromMat(ordered)

    def set(
        self,
        time: float,
        values: FloatArray,
        speeds: FloatArray,
        group: PathGroup | None = None,
    ) -> None:
        """Set time [s], coordinates (n,) [rad, m] and speeds (n,); in a group's state if given."""
        state = self._state if group is None else group.state
        state.setTime(time)
        state.setQ(self._positions(values))
        state.setU(self._vector(speeds))

    def set_tensions(self, tensions: FloatArray) -> None:
        """Set the forces (M,) [N] of the muscles, in the states of all groups too."""
        self.tensions = tensions.copy()
        for muscle, tension in zip(self._muscles, tensions.tolist(), strict=True):
            muscle.setOverrideActuation(self._state, tension)
        for group in self._groups:
            for k in group.muscles:
                self._muscles[k].setOverrideActuation(group.state, float(tensions[k]))

    def contractions(self, time: float, values: FloatArray, speeds: FloatArray) -> Contractions:
        """Return forces of fibres [N] with rigid tendons, at values and speeds (n,)."""
        if self._elastic:
            raise InputError(
                f"comak.fibre_forces: expected muscles with a rigid tendon, found {_ELASTIC} "
                f"({', '.join(self._elastic[:3])}), whose tendon OpenSim stretches; take a model "
                "with Millard2012EquilibriumMuscle, or set comak.fibre_forces = false"
            )
        state, damped = self._contracting, self._damped
        state.setTime(time)
        state.setQ(self._positions(values))
        state.setU(self._vector(speeds))
        forces = []
        for activation in (0.5, 1.0):
            for muscle in self._muscles:
                muscle.setActivation(state, activation)
            self._model.realizeDynamics(state)
            forces.append(np.array([m.getActuation(state) for m in self._muscles]))
        active = 2.0 * (forces[1] - forces[0])
        damping = np.array(
            [0.0 if m is None else m.getPassiveFiberDampingForceAlongTendon(state) for m in damped]
        )
        return Contractions(active, forces[1] - active - damping, damping)

    def group(self, muscles: NDArray[np.bool_], ligaments: NDArray[np.bool_]) -> PathGroup:
        """Return the group of some muscles (M,) and ligaments (L,) [1]."""
        state = opensim().State(self._state)
        for found, chosen in ((self._muscles, muscles), (self._ligaments, ligaments)):
            for force, pulls in zip(found, chosen.tolist(), strict=True):
                force.setAppliesForce(state, pulls)
        group = PathGroup(
            state, np.flatnonzero(muscles).tolist(), np.flatnonzero(ligaments).tolist()
        )
        self._groups.append(group)
        return group

    def joints(self) -> tuple[str, ...]:
        """Return the name of the joint of each coordinate."""
        return tuple(
            found.getJoint().getName() for found in _members(self._model.getCoordinateSet())
        )

    def needed_forces(
        self, accelerations: FloatArray, group: PathGroup | None = None
    ) -> FloatArray:
        """Return the forces (n,) [N m, N] of accelerations beyond those of muscles, or a group."""
        state = self._state if group is None else group.state
        forces = self._solver.solve(state, self._vector(accelerations))
        return np.asarray(forces.to_numpy())[self._order]

    def reaction(self, joint: str, accelerations: FloatArray) -> tuple[FloatArray, ...]:
        """Return force and moment (3,) on a joint's child [N, N m], and turns of both bodies."""
        osim = opensim()
        state = osim.State(self._state)
        # What drives a coordinate accelerates it as wanted: nothing is left to constraints.
        for constraint in _members(self._model.getConstraintSet()):
            constraint.setIsEnforced(state, False)
        for coordinate in _members(self._model.getCoordinateSet()):
            coordinate.setLocked(state, False)
            coordinate.setIsPrescribed(state, False)
        needed = self.needed_forces(accelerations)
        for drive, force in zip(self._drives, needed.tolist(), strict=True):
            drive.setAppliesForce(state, True)
            drive.overrideActuation(state, True)
            drive.setOverrideActuation(state, force)
        self._model.realizeAcceleration(state)
        found = self._model.getJointSet().get(joint)
        wrench = found.calcReactionOnChildExpressedInGround(state)
        frames = (found.getParentFrame().findBaseFrame(), found.getChildFrame().findBaseFrame())
        axes = [osim.Vec3(*row) for row in np.eye(3).tolist()]
        parent, child = (
            np.column_stack([f.expressVectorInGround(state, axis).to_numpy() for axis in axes])
            for f in frames
        )
        return wrench.get(1).to_numpy(), wrench.get(0).to_numpy(), parent, child

    def arms(self) -> FloatArray:
        """Return the generalised forces (n, M) per newton of each muscle [m, 1]."""
        return self._path_arms(self._paths)

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


def _members(found: Any) -> list[Any]:
    """Return the members of a set of OpenSim."""
    return [found.get(k) for k in range(found.getSize())]


def _ligament_set(ligaments: list[Any]) -> LigamentSet:
    return LigamentSet(
        tuple(found.getName() for found in ligaments),
        np.array([found.get_linear_stiffness() for found in ligaments]),
        np.array([found.get_slack_length() for found in ligaments]),
        np.array([found.get_transition_strain() for found in ligaments]),
        np.array([found.get_damping_coefficient() for found in ligaments]),
    )
