"""What a forward simulation consists of: model, prescribed motion, muscles, loads, contacts."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dynamics.musculoskeletal import (
    BodyForce,
    Course,
    ForwardFiles,
    ForwardResult,
    ForwardSettings,
    MuscleDrive,
    OpenSimPlant,
    OpenSimSystem,
    OsimModel,
    PlantContacts,
    drive_muscles,
    instants,
    prescribe_motion,
    read_forward_settings,
    read_muscle_inputs,
    read_prescribed,
    simulate_forward,
    write_external_loads,
)
from dynamics.musculoskeletal.external_loads import check_loads_cover
from dynamics.musculoskeletal.model_checks import model_notes
from dynamics.musculoskeletal.motion_input import angle_unit_notes
from dynamics.musculoskeletal.prescribed_motion import read_course_table
from dynamics.musculoskeletal.tool_checks import forward_file_notes
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError, PoseError
from pipeline.config.data_folder import data_file
from pipeline.originals.articular_contacts import articular_contacts
from pipeline.originals.contact_facing import check_facing
from pipeline.progress import bar
from pipeline.studies.forward_motions.schema import ForwardConfig, LoadConfig
from pipeline.studies.muscle_walks.sides import side_notes

#: Slack of the ends of a table, relative to the time step.
_SLACK = 1e-6
#: Fields of the settings by keys of [forward].
_FIELDS = {
    "secondary": "secondary",
    "start_s": "start",
    "stop_s": "stop",
    "step_s": "step",
    "activation": "activation",
    "fibre_forces": "fibre_forces",
}


@dataclass(frozen=True, eq=False)
class ForwardSetup:
    """A forward simulation, ready to be carried out.

    Parameters
    ----------
    model : OsimModel
        The model.
    settings : ForwardSettings
        Settings.
    contacts : PlantContacts
        The multibody system along the prescribed motion, with its contacts.
    drive : MuscleDrive
        Activations and forces of the muscles.
    kind : {"dynamic", "equilibrium"}
        Kind of the simulation.
    warnings : tuple of str
        Settings without effect, and tables that end before the simulation.
    """

    model: OsimModel
    settings: ForwardSettings
    contacts: PlantContacts
    drive: MuscleDrive
    kind: str
    warnings: tuple[str, ...]

    @property
    def plant(self) -> OpenSimPlant:
        """The multibody system along the prescribed motion."""
        plant = self.contacts.plant
        assert isinstance(plant, OpenSimPlant)
        return plant

    def run(self) -> ForwardResult:
        """Simulate the motion.

        Raises
        ------
        InputError
            If no balance of forces is found at an instant.
        """
        motion = self.plant.motion
        start = motion.values[0, motion.index(self.settings.secondary)]
        try:
            with bar(len(motion.time), "instant", "forward") as shown:
                return simulate_forward(
                    self.contacts,
                    self.drive,
                    start,
                    kind=self.kind,
                    progress=lambda _: shown.update(1),
                )
        except PoseError as error:
            raise InputError(
                f"{error}; check prescribed coordinates, loads and the defaults of the secondary "
                "coordinates, or choose a smaller forward.step_s"
            ) from error


def prepare_forward(forward: ForwardConfig) -> ForwardSetup:
    """Return a forward simulation, ready to be carried out.

    Raises
    ------
    ConfigError, InputError
        If a file is missing or cannot be used, OpenSim is not installed, settings and model do not
        agree, a coordinate is both prescribed and secondary, loads end before the simulation, or
        the surfaces of a contact do not face each other.
    """
    model = OsimModel(data_file(forward.model))
    _check_bodies(forward, model)
    meshes = {name: data_file(path) for name, path in forward.meshes.items()}
    settings, files, warnings = _settings(forward)
    text = model.without_contact(single_wraps_slide=forward.single_wraps_slide)
    muscles = {} if files.muscles is None else read_muscle_inputs(files.muscles)
    loads = {name: _load(load, settings.step) for name, load in forward.loads.items()}
    forces = [course for load in loads.values() for course in load.force]
    system = OpenSimSystem(text)  # Names of coordinates, before loads that need the time.
    prescribed: dict[str, Course] = {}
    if files.prescribed is not None:
        table = read_course_table(files.prescribed)
        prescribed = read_prescribed(table, system)
        warnings += angle_unit_notes(table, system, unstated=True)
    check_not_secondary(str(files.prescribed), prescribed, settings.secondary)
    courses = prescribed | _courses(forward, settings, system)
    time = instants(
        [*courses.values(), *muscles.values(), *forces],
        settings.step,
        settings.start,
        settings.stop,
    )
    if loads or files.external_loads is not None:
        system = _loaded(text, loads, files.external_loads, time)
    motion = prescribe_motion(system, courses, time)
    if forward.over is not None:
        motion.index((forward.over,))  # Checked before the simulation.
    if forward.kind == "equilibrium":
        motion = motion.resting
    plant = OpenSimPlant(system, motion, (), settings.secondary)
    contacts = articular_contacts(model, meshes=meshes, surface=forward.surface)
    check_facing(contacts, model, motion)
    warnings += side_notes(model, contacts)
    drive = drive_muscles(
        system.muscles, muscles, settings.activation, time, fibre_forces=settings.fibre_forces
    )
    warnings += model_notes(model, settings.secondary)
    if forward.settings is not None:
        warnings += forward_file_notes(data_file(forward.settings))
    warnings += _model_dynamics(model, files, muscles)
    warnings += held_constant(files.prescribed, prescribed, time)
    warnings += held_constant(files.muscles, muscles, time)
    return ForwardSetup(
        model, settings, PlantContacts(plant, contacts), drive, forward.kind, warnings
    )


def _model_dynamics(
    model: OsimModel, files: ForwardFiles, inputs: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return notes on muscles of the file of actuators that have dynamics in the model.

    OpenSim-JAM's flags of tendons and activation hold for muscles that the file does not list.
    """
    names = [key.rsplit("/", 1)[-1].rpartition("_") for key in inputs]
    pulled = {name for name, _, kind in names if kind != "force"}
    controlled = {name for name, _, kind in names if kind == "control"}
    notes = []
    for flag, listed, ours in (
        ("ignore_tendon_compliance", pulled, "tendons are rigid"),
        ("ignore_activation_dynamics", controlled, "activations follow their controls at once"),
    ):
        found = [name for name in model.muscles_with_dynamics(flag) if name in listed]
        if found:
            notes.append(
                f"{files.muscles}: expected {flag} = true in the model for the muscles of this "
                f"file, found false for {', '.join(found)}: OpenSim-JAM's settings hold for "
                f"muscles that the file does not list, and here {ours} for all; set {flag} to true "
                "in the model to compare both"
            )
    return tuple(notes)


def check_not_secondary(
    where: str, courses: Mapping[str, Course], secondary: tuple[str, ...]
) -> None:
    """Raise an `InputError` if a coordinate with a course, given by `where`, is secondary."""
    both = [name for name in courses if name in secondary]
    if both:
        raise InputError(
            f"{where}: expected courses of coordinates that are not secondary, found "
            f"{', '.join(both)}; leave out the course, or leave the coordinate out of "
            "forward.secondary (unconstrained_coordinates of the settings)"
        )


def held_constant(
    file: Path | None, courses: Mapping[str, Course], time: FloatArray
) -> tuple[str, ...]:
    """Return a warning if the courses of a file over time do not cover instants (N,) [s]."""
    spans = [course.time[[0, -1]] for course in courses.values() if len(course.time) > 1]
    if not spans:
        return ()
    (first, last), slack = spans[0], _SLACK * (time[1] - time[0])
    if first <= time[0] + slack and last >= time[-1] - slack:
        return ()
    return (
        f"{file}: expected rows from {time[0]:g} to {time[-1]:g} s, found {first:g} to {last:g} s; "
        "the values are held constant outside",
    )


def _check_bodies(forward: ForwardConfig, model: OsimModel) -> None:
    """Raise an `InputError` if a load of the configuration acts on no body of the model."""
    for name, load in forward.loads.items():
        if load.body not in model.bodies:
            raise InputError(
                f"forward.loads.{name}.body: expected a body of the model, found {load.body!r}; "
                f"the model has {', '.join(model.bodies)}"
            )


def _settings(forward: ForwardConfig) -> tuple[ForwardSettings, ForwardFiles, tuple[str, ...]]:
    """Return settings and files, and which settings have no effect."""
    stated = forward.model_dump(exclude_none=True)
    changes: dict[str, Any] = {_FIELDS[key]: stated[key] for key in _FIELDS if key in stated}
    named = {
        key: data_file(stated[key])
        for key in ("prescribed", "muscles", "external_loads")
        if key in stated
    }
    if forward.settings is None:
        files = ForwardFiles(data_file(forward.model), None, None, None)
        return ForwardSettings(**changes), replace(files, **named), ()
    settings, files, warnings = read_forward_settings(data_file(forward.settings))
    if forward.loads:
        files = replace(files, external_loads=None)
    return replace(settings, **changes), replace(files, **named), warnings


def _courses(
    forward: ForwardConfig, settings: ForwardSettings, system: OpenSimSystem
) -> dict[str, Course]:
    """Return the courses of coordinates [rad, m] that the configuration states."""
    courses = {}
    for name, course in forward.coordinates.items():
        where = f"forward.coordinates.{name}"
        if name not in system.coordinates:
            raise InputError(
                f"{where}: expected a coordinate of the model, found none of that name; the model "
                f"has {', '.join(system.coordinates)}"
            )
        angle = system.rotational[system.coordinates.index(name)]
        values = course.deg if angle else course.m
        if values is None:
            wanted, found = ("deg", "m") if angle else ("m", "deg")
            raise InputError(f"{where}: expected values in {wanted}, found {found}")
        points = np.radians(values) if angle else np.array(values)
        courses[name] = Course.through(np.array(course.at_s), points, settings.step)
    check_not_secondary("forward.coordinates", courses, settings.secondary)
    return courses


def _load(load: LoadConfig, step: float) -> BodyForce:
    at, force = np.array(load.at_s), np.array(load.force_N)
    x, y, z = (Course.through(at, force[:, k], step) for k in range(3))
    return BodyForce(load.body, np.array(load.point_m), (x, y, z))


def _loaded(
    text: str, loads: dict[str, BodyForce], file: Path | None, time: FloatArray
) -> OpenSimSystem:
    """Return the model with forces on bodies, those of a file or of the configuration."""
    if file is not None:
        if not file.is_file():
            raise InputError(f"{file}: no such file; check forward.external_loads")
        system = OpenSimSystem(text, file)
        assert system.load_table is not None
        start, stop = float(time[0]), float(time[-1])
        check_loads_cover(file, system.load_table, start, stop, section="forward")
        return system
    with tempfile.TemporaryDirectory() as folder:
        return OpenSimSystem(text, write_external_loads(Path(folder), loads, time))
