"""Walks of OpenSim models: from motion and ground force to muscles and the loads of the knee."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.constants import g as STANDARD_GRAVITY

from dynamics.musculoskeletal import ComakResult, OsimModel, RecordedPlant, record_plant
from dynamics.musculoskeletal.knee_reaction import KneeLoads
from dynamics.musculoskeletal.measurement_errors import measurement_errors
from dynamics.musculoskeletal.wheel import opensim
from dynamics.simulator.equations import SimulationError
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from pipeline.config.data_folder import data_file
from pipeline.files import replacing, write_text
from pipeline.progress import bar, say
from pipeline.store.job import Job, JobKind
from pipeline.studies.conduct import Outcome, Study, Table
from pipeline.studies.implant_forces.comparison import (
    PARTS,
    MeasuredWalk,
    compare_with_implant,
    read_implant_forces,
)
from pipeline.studies.implant_forces.comparison import TABLE as IMPLANT_TABLE
from pipeline.studies.muscle_walks.frames import body_weight
from pipeline.studies.muscle_walks.inverse_kinematics import with_motion
from pipeline.studies.muscle_walks.knee_waveforms import WAVEFORMS, loads_of_knee, write_waveforms
from pipeline.studies.muscle_walks.page import walk_page
from pipeline.studies.muscle_walks.schema import MuscleWalkFile
from pipeline.studies.muscle_walks.setup import WalkSetup, model_digest, prepare_walk
from pipeline.studies.muscle_walks.summary import (
    MuscleWalkSummary,
    first_lines,
    summarise,
    summary_lines,
)
from pipeline.studies.muscle_walks.tables import (
    FILES,
    JAM_FILES,
    contact_table,
    ligament_forces,
    run_frames,
    write_jam_tables,
    write_walk_tables,
)
from pipeline.studies.muscle_walks.uncertainty import walk_uncertainty


def check_implant_forces(file: MuscleWalkFile) -> None:
    """Read the measured forces of a walk, if there are any, before the walk is simulated.

    Raises `InputError` if the file cannot be used, or a stated contact is none of the model.
    """
    config = file.implant_forces
    if config is None:
        return
    model = OsimModel(data_file(file.walk.model))
    read_implant_forces(config, model.mass * STANDARD_GRAVITY)
    names = [contact.name for contact in model.contacts]
    if config.contact is not None and config.contact not in names:
        raise InputError(
            f"implant_forces.contact: expected a contact of {model.path.name}, {', '.join(names)}, "
            f"found {config.contact!r}"
        )


def measured_walk(
    file: MuscleWalkFile, setup: WalkSetup, result: ComakResult, knee: KneeLoads | None = None
) -> MeasuredWalk | None:
    """Return the measured forces beside those of a walk; None without measured forces.

    Both are axial: along the axis of the implant, and upwards in the frame of the bed, or of the
    tibia of a knee without articular contact. Raises `InputError` as `compare_with_implant`, or if
    several contacts have two compartments and none is stated.
    """
    config = file.implant_forces
    if config is None:
        return None
    if knee is not None:
        total = {"total": knee.axial_force}
        return compare_with_implant(config, knee.time, total, body_weight(setup), knee.joint)
    table = contact_table(result, run_frames(setup))
    contact = config.contact or _tibiofemoral(result)
    predicted = {
        part: np.abs(table.column(name))
        for part in PARTS
        if (name := f"{contact}_{part}_force_y_N") in table.names
    }
    return compare_with_implant(config, result.time, predicted, body_weight(setup), contact)


def _tibiofemoral(result: ComakResult) -> str:
    """Return the only contact with a medial and a lateral compartment."""
    frame = result.loads[0]
    found = [
        name
        for k, name in enumerate(result.contacts)
        if set(COMPARTMENTS) <= set(frame[k].compartments)
    ]
    if len(found) != 1:
        raise InputError(
            f"implant_forces.contact: expected the contact that the implant measured, since "
            f"{len(found)} of {', '.join(result.contacts)} have a medial and a lateral compartment"
        )
    return found[0]


class ReadyWalk(NamedTuple):
    """A walk whose input has been checked."""

    file: MuscleWalkFile
    #: None if the motion has yet to be found from markers.
    setup: WalkSetup | None
    #: Keys without effect.
    ignored: tuple[str, ...]


def _prepare(file: MuscleWalkFile, job: Job) -> ReadyWalk:
    """Return a walk, checked; raises as `prepare_walk`, or if OpenSim is needed and missing."""
    check_implant_forces(file)
    ignored = _without_effect(file)
    job.note(*ignored)
    if file.inverse_kinematics is None or file.walk.replay is not None:
        return ReadyWalk(file, prepare_walk(file), ignored)
    opensim()  # Without OpenSim, the files of an earlier walk stay.
    return ReadyWalk(file, None, ignored)


def _carry_out(ready: ReadyWalk, job: Job) -> Outcome:
    """Simulate a walk.

    Raises `InputError` if the secondary coordinates do not settle. The outcome fails with an
    `InputError` if the measured forces cannot be compared, and with a `SimulationError` if no frame
    converges.
    """
    file, folder = ready.file, job.folder
    setup = ready.setup or _of_markers(file, job)
    setup = dataclasses.replace(setup, notes=(*setup.notes, *ready.ignored))
    for line in first_lines(setup):
        say(line)
    result, start, seconds = _simulate(setup)
    # OpenSim opens no model with articular contact of JAM.
    write_text(folder / "model.osim", setup.model.without_contact())
    tensions = ligament_forces(setup, result)
    write_walk_tables(folder, setup, result, tensions)
    if file.walk.jam_tables is not None:
        write_jam_tables(folder, file.walk.jam_tables, setup, result)
    uncertain = None
    knee, refused_waves = loads_of_knee(setup, result), list[str]()
    if knee is not None and setup.knee is not None:
        refused_waves += write_waveforms(folder, setup.knee, knee)
    elif file.walk.record and not isinstance(setup.plant, RecordedPlant):
        digest = model_digest(file, setup.model)
        recorded = record_plant(setup.plant, result, start, setup.settings, digest)
        with replacing(folder / "plant.npz") as partial, partial.open("wb") as stream:
            recorded.save(stream)
        errors = measurement_errors(setup.plant)
        uncertain = walk_uncertainty(setup, result, recorded, errors)
    measured, refused = _measured(file, setup, result, knee)
    job.note(*(measured.warnings if measured else ()))
    times = setup.seconds | seconds | {"all": job.seconds}
    summary = summarise(file, setup, result, tensions, measured, times, uncertain, knee)
    summary.flags.extend(refused_waves)
    return Outcome(
        summary,
        summary_lines(summary, folder),
        [summary.not_trusted] if summary.not_trusted else (),
        walk_page(summary, setup, result, tensions, measured, knee),
        {} if measured is None else {IMPLANT_TABLE: Table(measured.table(), "%.9g")},
        _failure(summary, refused, folder),
    )


def _of_markers(file: MuscleWalkFile, job: Job) -> WalkSetup:
    """Return a walk whose motion is found from markers."""
    moved, markers = with_motion(file, job.folder)
    job.note(*markers.notes)
    setup = prepare_walk(moved)
    return dataclasses.replace(setup, notes=(*markers.notes, *setup.notes), markers=markers)


def _failure(
    summary: MuscleWalkSummary, refused: InputError | None, folder: Path
) -> Exception | None:
    """Return why a walk that has been written is none, or is not the one that was asked for."""
    if refused is not None:
        record = folder / "plant.npz"
        told = f'; walk.replay = "{record}" simulates the walk in less time'
        again = told if record.is_file() else ""
        return InputError(f"{refused}; the walk without measured forces is in {folder}{again}")
    if not summary.converged:
        return SimulationError(
            f"{folder}: none of {summary.frames} frames converged; frames.csv lists why"
        )
    return None


def _measured(
    file: MuscleWalkFile, setup: WalkSetup, result: ComakResult, knee: KneeLoads | None
) -> tuple[MeasuredWalk | None, InputError | None]:
    """Return the measured forces beside those of the walk, or why both cannot be compared."""
    try:
        return measured_walk(file, setup, result, knee), None
    except InputError as error:
        return None, error


def _without_effect(file: MuscleWalkFile) -> tuple[str, ...]:
    """Return a note on the keys that a replay leaves out."""
    if file.walk.replay is None:
        return ()
    stated = {
        "walk.motion": file.walk.motion,
        "walk.external_loads": file.walk.external_loads,
        "inverse_kinematics": file.inverse_kinematics,
        "comak.settle": file.comak.settle,
    }
    names = [name for name, value in stated.items() if value is not None]
    if not names:
        return ()
    what = "a replay has the motion and the first values of the record"
    return (f"walk.replay: {what}; ignored: {', '.join(names)}",)


def _simulate(setup: WalkSetup) -> tuple[ComakResult, FloatArray, dict[str, float]]:
    """Return the result of COMAK, the first values, and the times [s]."""
    begun = time.perf_counter()
    start = setup.first_values()
    settled = time.perf_counter()
    frames = len(setup.plant.motion.time)
    with bar(frames, "frame", "walk") as shown:
        result = setup.comak.run(start, progress=lambda _: shown.update(1))
    return (
        result,
        start,
        {
            "settling": settled - begun,
            "simulation": time.perf_counter() - settled,
        },
    )


MUSCLE_WALK = Study(
    JobKind("walk", "walk"),
    MuscleWalkFile,
    "walk.json",
    "walk.html",
    _prepare,
    _carry_out,
    files=(
        *("model.osim", "plant.npz", IMPLANT_TABLE, WAVEFORMS, *FILES),
        *(f"*{end}" for end in JAM_FILES),
    ),
    template="muscle_walk.html",
)
