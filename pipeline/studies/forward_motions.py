"""Forward simulations: what ligaments, contact and passive muscles do while a joint is moved."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from dynamics.musculoskeletal.forward_simulation import ForwardFrames, simulate_forward
from dynamics.musculoskeletal.joint_contact import PlantContacts
from dynamics.musculoskeletal.opensim_plant import OpenSimPlant
from dynamics.musculoskeletal.opensim_system import OpenSimSystem, lock_notes
from dynamics.musculoskeletal.osim_model import OsimModel
from dynamics.musculoskeletal.plant import SimulatedFrames
from dynamics.musculoskeletal.prescribed_motion import (
    BodyForce,
    Course,
    ForwardFiles,
    ForwardSettings,
    instants,
    prescribe_motion,
    read_forward_settings,
    read_prescribed,
    write_external_loads,
)
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError, PoseError
from pipeline.config.data_folder import data_file
from pipeline.config.schema_base import (
    File,
    Finite,
    Positive,
    Section,
    name_field,
)
from pipeline.files import write_text
from pipeline.originals.articular_contacts import articular_contacts, material_notes
from pipeline.progress import bar
from pipeline.store.job import Job, JobKind
from pipeline.studies.conduct import Outcome, Study
from pipeline.studies.muscle_walks.frames import (
    FrameCharts,
    FrameSummary,
    contact_flags,
    for_people,
    frame_figures,
    jump_flags,
    ligament_forces,
    sign_of,
    write_tables,
)
from pipeline.studies.muscle_walks.schema import (
    ArticularModelConfig,
    stated_fields,
    stated_files,
)
from pipeline.studies.muscle_walks.setup import side_notes

_Vector = tuple[Finite, Finite, Finite]


class CourseConfig(Section):
    """Course in [forward.coordinates.NAME]: smooth between instants and constant outside."""

    at_s: tuple[Finite, ...] = Field((0.0,), min_length=1, description="instants, increasing")
    deg: tuple[Finite, ...] | None = Field(None, description="values of an angle at the instants")
    m: tuple[Finite, ...] | None = Field(None, description="values of a length at the instants")

    @model_validator(mode="after")
    def _matches(self) -> Self:
        stated = [values for values in (self.deg, self.m) if values is not None]
        if len(stated) != 1 or len(stated[0]) != len(self.at_s):
            raise InputError("expected either deg or m, with a value for each instant in at_s")
        return self


class LoadConfig(Section):
    """A force on a body in [forward.loads.NAME]: smooth between instants and constant outside."""

    body: str = Field(description="body that the force acts on")
    point_m: _Vector = Field((0.0, 0.0, 0.0), description="point of the force, frame of the body")
    at_s: tuple[Finite, ...] = Field((0.0,), min_length=1, description="instants, increasing")
    force_N: tuple[_Vector, ...] = Field(
        min_length=1, description="force at the instants, frame of the body"
    )

    @model_validator(mode="after")
    def _matches(self) -> Self:
        if len(self.force_N) != len(self.at_s):
            raise InputError("expected a force for each instant in at_s")
        return self


class ForwardConfig(ArticularModelConfig):
    """The model, the prescribed coordinates and forces, and the contact."""

    name: str = name_field("forward", "simulation")
    model: File = Field(description="model with articular contact (.osim)")
    settings: File | None = Field(
        None, description="settings of OpenSim-JAM's ForsimTool (.xml), which the keys change"
    )
    secondary: tuple[str, ...] | None = Field(
        None,
        description="coordinates that forces move; required without settings. All other "
        "coordinates that are not prescribed keep the default of the model",
    )
    kind: Literal["dynamic", "equilibrium"] = Field(
        "dynamic", description="motion with inertia and damping, or an equilibrium at each instant"
    )
    prescribed: File | None = Field(
        None,
        description=(
            "values of coordinates over time (.sto, .mot); by default the values of the settings"
        ),
    )
    external_loads: File | None = Field(
        None, description="forces on bodies (.xml); by default the forces of the settings"
    )
    activation: Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)] | None = Field(
        None,
        description=(
            "activation of all muscles; by default the activation of the settings, or 0.02"
        ),
    )
    fibre_forces: bool | None = Field(
        None,
        description="whether length and velocity of the fibres limit the forces of muscles; "
        "otherwise, forces are activation times largest force; by default as in the settings, "
        "or true",
    )
    start_s: Finite | None = Field(None, description="first instant")
    stop_s: Finite | None = Field(None, description="last instant")
    step_s: Positive | None = Field(
        None, description="time step; by default the time step of the settings, or 0.01"
    )
    over: str | None = Field(
        None, description="coordinate along the horizontal axes of the page; by default the time"
    )
    coordinates: dict[str, CourseConfig] = Field(
        default_factory=dict,
        description="[forward.coordinates.NAME]: courses of prescribed coordinates",
    )
    loads: dict[str, LoadConfig] = Field(
        default_factory=dict, description="[forward.loads.NAME]: forces on bodies"
    )

    @model_validator(mode="after")
    def _enough(self) -> Self:
        if self.settings is None and self.secondary is None:
            raise InputError("forward.settings: expected a file of settings, or forward.secondary")
        if self.loads and self.external_loads is not None:
            raise InputError("expected either external_loads or loads, found both")
        return self


class ForwardFile(Section):
    """Forward simulation of a joint of an OpenSim model."""

    forward: ForwardConfig


#: Fields of the settings by keys of [forward].
_FIELDS = {
    "secondary": "secondary",
    "start_s": "start",
    "stop_s": "stop",
    "step_s": "step",
    "activation": "activation",
    "fibre_forces": "fibre_forces",
}
#: Files by keys of [forward].
_FILES = {key: key for key in ("prescribed", "external_loads")}


@dataclass(frozen=True, eq=False)
class ForwardSetup:
    """A forward simulation, ready to be carried out."""

    model: OsimModel
    settings: ForwardSettings
    #: The multibody system along the prescribed motion, with its contacts.
    contacts: PlantContacts
    #: "dynamic" or "equilibrium".
    kind: str
    #: Courses without effect, and what is doubtful.
    warnings: tuple[str, ...]

    @property
    def plant(self) -> OpenSimPlant:
        """The multibody system along the prescribed motion."""
        return self.contacts.plant

    @property
    def remedy(self) -> str:
        """What to change where no balance of forces is found."""
        if self.kind == "equilibrium":
            return (
                'set forward.kind to "dynamic", where inertia and viscosity lead from one '
                "equilibrium to the next"
            )
        return (
            "choose a smaller forward.step_s; if this does not help, check the prescribed "
            "coordinates, the loads, and the defaults of the secondary coordinates in the model"
        )

    def run(self) -> ForwardFrames:
        """Simulate the motion, up to the first instant without a balance of forces."""
        motion = self.plant.motion
        start = motion.values[0, motion.index(self.settings.secondary)]
        muscles, stated = self.plant.muscles, self.settings.activation
        activations = np.full(len(muscles.names), muscles.bounds[0] if stated is None else stated)
        try:
            with bar(len(motion.time), "instant", "forward") as shown:
                return simulate_forward(
                    self.contacts,
                    activations,
                    start,
                    fibre_forces=self.settings.fibre_forces,
                    kind=self.kind,
                    progress=lambda _: shown.update(1),
                )
        except PoseError as error:
            raise InputError(f"{error}; {self.remedy}") from error


def prepare_forward(forward: ForwardConfig) -> ForwardSetup:
    """Return a forward simulation whose files, settings and model are checked."""
    model = OsimModel(data_file(forward.model))
    settings, files = _settings(forward)
    warnings: tuple[str, ...] = ()
    text = model.without_contact(single_wraps_slide=forward.single_wraps_slide)
    loads = {name: _load(load, settings.step) for name, load in forward.loads.items()}
    forces = [course for load in loads.values() for course in load.force]
    system = OpenSimSystem(text)  # Names of coordinates, before loads that need the time.
    prescribed: dict[str, Course] = {}
    if files.prescribed is not None:
        prescribed = read_prescribed(files.prescribed, system)
    courses = prescribed | _courses(forward, settings, system)
    started = [name for name in courses if name in settings.secondary]
    if started:
        unused = "of their courses, the first instant alone is used"
        warnings += (f"forces move {', '.join(started)}: {unused}",)
    time = instants(
        [*courses.values(), *forces],
        settings.step,
        settings.start,
        settings.stop,
    )
    if loads or files.external_loads is not None:
        system = _loaded(text, loads, files.external_loads, time)
        assert system.external_loads is not None
        warnings += system.external_loads.notes
    locked = model.locked_coordinates
    free = {name: moving for name, moving in courses.items() if name not in locked}
    motion = prescribe_motion(system, free, time)
    warnings += lock_notes(locked, (*settings.secondary, *courses))
    settings = _without_locked(settings, locked)
    if forward.over is not None:
        motion.index((forward.over,))  # Checked before the simulation.
    if forward.kind == "equilibrium":
        motion = motion.resting
    plant = OpenSimPlant(system, motion, (), settings.secondary)
    contacts = articular_contacts(model, **forward.surfaces)
    warnings += side_notes(model, contacts) + material_notes(model)
    warnings += model.notes(settings.secondary)
    return ForwardSetup(model, settings, PlantContacts(plant, contacts), forward.kind, warnings)


def _without_locked(settings: ForwardSettings, locked: Mapping[str, float]) -> ForwardSettings:
    """Return settings in which forces move no locked coordinate."""
    moved = tuple(name for name in settings.secondary if name not in locked)
    if not moved:
        raise InputError(
            f"forward.secondary: expected coordinates that move, found {', '.join(locked)} locked; "
            "set locked to false in the model"
        )
    return replace(settings, secondary=moved)


def _settings(forward: ForwardConfig) -> tuple[ForwardSettings, ForwardFiles]:
    """Return settings and files."""
    changes, named = stated_fields(forward, _FIELDS), stated_files(forward, _FILES)
    if forward.settings is None:
        files = ForwardFiles(data_file(forward.model), None, None)
        return ForwardSettings(**changes), replace(files, **named)
    settings, files = read_forward_settings(data_file(forward.settings))
    if forward.loads:
        files = replace(files, external_loads=None)
    return replace(settings, **changes), replace(files, **named)


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
    return courses


def _load(load: LoadConfig, step: float) -> BodyForce:
    times, force = np.array(load.at_s), np.array(load.force_N)
    x, y, z = (Course.through(times, force[:, k], step) for k in range(3))
    return BodyForce(load.body, np.array(load.point_m), (x, y, z))


def _loaded(
    text: str, loads: dict[str, BodyForce], file: Path | None, time: FloatArray
) -> OpenSimSystem:
    """Return the model with forces on bodies, those of a file or of the configuration."""
    if file is not None:
        if not file.is_file():
            raise InputError(f"{file}: no such file; check forward.external_loads")
        system = OpenSimSystem(text, file)
        assert system.external_loads is not None
        system.external_loads.check_cover(float(time[0]), float(time[-1]), section="forward")
        return system
    with tempfile.TemporaryDirectory() as folder:
        return OpenSimSystem(text, write_external_loads(Path(folder), loads, time))


class ForwardSummary(FrameSummary):
    """`forward.json`: a forward simulation and its forces."""

    kind: str
    instants: int
    activation: float | None
    failure: str | None


def summarise(
    file: ForwardFile,
    setup: ForwardSetup,
    result: ForwardFrames,
    tensions: FloatArray,
    seconds: dict[str, float],
) -> ForwardSummary:
    """Return the summary of a simulation; tensions (N, L) [N], `seconds` are times by part [s]."""
    forward = file.forward
    failure = None if result.failure is None else f"{result.failure}; {setup.remedy}"
    return ForwardSummary(
        **frame_figures(setup, setup.contacts.contacts, result, tensions),
        name=forward.name,
        model=forward.model,
        kind=forward.kind,
        instants=len(result.time),
        activation=setup.settings.activation,
        warnings=list(setup.warnings),
        flags=[
            *([f"the simulation ends before its last instant: {failure}"] if failure else []),
            *contact_flags(result),
            *jump_flags(setup.plant.motion, result.secondary, result.time, result.imbalance),
        ],
        failure=failure,
        seconds=seconds,
    )


def summary_lines(summary: ForwardSummary) -> list[str]:
    """Return the lines on the terminal for a forward simulation."""
    begin, end = summary.interval_s
    lines = [f"{summary.instants} instants, {begin:g} to {end:g} s, {summary.kind}"]
    for name, parts in summary.contact.items():
        loads = ", ".join(f"{compartment} {row.end_N:.1f} N" for compartment, row in parts.items())
        lines.append(f"{name} at the end: {loads}")
    ends = {name: row.end_N or 0.0 for name, row in summary.ligaments.items()}
    loads = ", ".join(f"{name} {force:.1f} N" for name, force in ends.items() if force > 0.0)
    lines.append(f"ligaments at the end: {loads or 'all slack'}")
    lines += [f"flag: {flag}" for flag in summary.flags[:5]]
    seconds = summary.seconds
    lines.append(f"{seconds['simulation']:.1f} s for the motion, {seconds['all']:.1f} s in all")
    return lines


def forward_page(
    summary: ForwardSummary,
    setup: ForwardSetup,
    result: SimulatedFrames,
    tensions: FloatArray,
    over: str | None,
) -> dict[str, Any]:
    """Return the content of `forward.html` over a coordinate or time; tensions (N, L) [N]."""
    charts = _charts(setup, result, over)
    return {
        "summary": summary,
        "pictures": {
            "secondary": list(charts.secondary()),
            "contact": list(charts.contact()),
            "ligaments": list(charts.ligaments(setup.plant.ligaments.names, tensions)),
            "muscles": list(charts.muscles()),
        },
    }


def _charts(setup: ForwardSetup, result: SimulatedFrames, over: str | None) -> FrameCharts:
    """Return the charts over the time, or over a coordinate."""
    motion = setup.plant.motion.first(len(result.time))
    if over is None:
        return FrameCharts(motion, result, "time", "time [s]", result.time)
    (place,) = motion.index((over,))
    values = motion.values[:, place]
    if over in result.secondary:
        values = result.values[:, result.secondary.index(over)]
    shown, unit = for_people(motion, over, values)
    return FrameCharts(motion, result, over, f"{over} [{sign_of(unit)}]", shown)


def _prepare(file: ForwardFile, job: Job) -> tuple[ForwardFile, ForwardSetup]:
    setup = prepare_forward(file.forward)
    job.note(*setup.warnings)
    return file, setup


def _carry_out(ready: tuple[ForwardFile, ForwardSetup], job: Job) -> Outcome:
    """Simulate a motion; the outcome fails if an instant but the first finds no balance."""
    file, setup = ready
    prepared = job.seconds
    result = setup.run()
    simulated = job.seconds
    # OpenSim opens no model with articular contact of JAM.
    write_text(job.folder / "model.osim", setup.model.without_contact())
    tensions = ligament_forces(setup, result)
    write_tables(job.folder, setup, result, tensions)
    seconds = {
        "preparation": prepared,
        "simulation": simulated - prepared,
        "all": job.seconds,
    }
    summary = summarise(file, setup, result, tensions, seconds)
    failure = None
    if summary.failure is not None:
        failure = PoseError(
            f"{summary.failure}; {job.folder} has the {summary.instants} instants up to "
            f"{summary.interval_s[1]:g} s"
        )
    return Outcome(
        summary,
        summary_lines(summary),
        [summary.not_trusted] if summary.not_trusted else (),
        forward_page(summary, setup, result, tensions, file.forward.over),
        failure=failure,
    )


FORWARD_MOTION = Study(
    JobKind("forward simulation", "forward"),
    ForwardFile,
    "forward.json",
    "forward.html",
    _prepare,
    _carry_out,
    files=("model.osim", "states.sto", "kinematics.mot", "forces.sto", "contact.sto"),
)
