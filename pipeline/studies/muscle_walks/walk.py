"""Walks of OpenSim models: from motion and ground force to muscles and the loads of the knee."""

from __future__ import annotations

import dataclasses
import time
import warnings
from pathlib import Path

from dynamics.musculoskeletal import ComakResult, RecordedPlant, record_plant
from dynamics.musculoskeletal.knee_reaction import KneeLoads
from dynamics.musculoskeletal.measurement_errors import measurement_errors
from dynamics.musculoskeletal.wheel import opensim
from dynamics.simulator.equations import SimulationError
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from pipeline.config.reading import load_section
from pipeline.files import replacing, write_document, write_text
from pipeline.progress import bar, say
from pipeline.store.job import WALK, Job
from pipeline.store.sample_tables import write_csv
from pipeline.studies.implant_forces.comparison import TABLE as IMPLANT_TABLE
from pipeline.studies.implant_forces.comparison import MeasuredWalk
from pipeline.studies.muscle_walks.implant import check_implant_forces, measured_walk
from pipeline.studies.muscle_walks.inverse_kinematics import with_motion
from pipeline.studies.muscle_walks.jam_tables import FILES as JAM_FILES
from pipeline.studies.muscle_walks.jam_tables import write_jam_tables
from pipeline.studies.muscle_walks.knee_waveforms import WAVEFORMS, loads_of_knee, write_waveforms
from pipeline.studies.muscle_walks.page import write_walk_page
from pipeline.studies.muscle_walks.schema import MuscleWalkFile
from pipeline.studies.muscle_walks.setup import WalkSetup, model_digest, prepare_walk
from pipeline.studies.muscle_walks.summary import MuscleWalkSummary, first_lines, summarise
from pipeline.studies.muscle_walks.tables import FILES, ligament_forces, write_walk_tables
from pipeline.studies.muscle_walks.uncertainty import walk_uncertainty

#: Results of a walk.
_FILES = (
    *("model.osim", "plant.npz", "walk.json", "walk.html", IMPLANT_TABLE, WAVEFORMS, *FILES),
    *(f"*{end}" for end in JAM_FILES),
)


def load_muscle_walk(path: str | Path, overrides: tuple[str, ...] = ()) -> MuscleWalkFile:
    """Read the configuration of a walk; paths are relative to the file."""
    return load_section(path, MuscleWalkFile, overrides)


def simulate_muscle_walk(
    file: MuscleWalkFile, folder: Path, *, replace: bool = False
) -> MuscleWalkSummary:
    """Simulate a walk, write its folder, and return its summary.

    Parameters
    ----------
    file : MuscleWalkFile
        Configuration.
    folder : Path
        Folder of the results; files of an earlier walk of the same configuration are replaced.
    replace : bool
        Whether to replace a walk of another configuration too.

    Raises
    ------
    ConfigError, InputError
        If a file cannot be used, OpenSim is needed and not installed, or the secondary coordinates
        do not settle; if the measured forces cannot be compared (the results are written before).
    SimulationError
        If no frame converges; the results are written before.
    """
    job = Job(WALK, folder, file, _FILES, replace=replace)
    job.check()
    from_markers = file.inverse_kinematics is not None and file.walk.replay is None
    check_implant_forces(file)
    ignored = _without_effect(file)
    for text in ignored:
        warnings.warn(text, stacklevel=2)
    if from_markers:
        opensim()  # Without OpenSim, the files of an earlier walk stay.
    else:
        setup = prepare_walk(file)  # Checks the input before files are written.
    with job.held():
        if from_markers:
            job.begin()
            moved, markers = with_motion(file, folder)
            for text in markers.notes:
                warnings.warn(text, stacklevel=2)
            setup = prepare_walk(moved)
            setup = dataclasses.replace(
                setup, notes=(*markers.notes, *setup.notes), markers=markers
            )
        setup = dataclasses.replace(setup, notes=(*setup.notes, *ignored))
        for line in first_lines(setup):
            say(line)
        result, start, seconds = _simulate(setup)
        job.begin()  # Until here, the results of an earlier walk stay.
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
        if measured is not None:
            write_csv(measured.table(), folder / IMPLANT_TABLE, "%.9g")
            for text in measured.warnings:
                warnings.warn(text, stacklevel=2)
        times = setup.seconds | seconds | {"all": job.seconds}
        summary = summarise(file, setup, result, tensions, measured, times, uncertain, knee)
        summary.flags.extend(refused_waves)
        write_walk_page(folder, summary, setup, result, tensions, measured, knee, job.text)
        write_document(folder / "walk.json", summary)
    if refused is not None:
        record = folder / "plant.npz"
        told = f'; walk.replay = "{record}" simulates the walk in less time'
        again = told if record.is_file() else ""
        raise InputError(
            f"{refused}; the walk without measured forces is in {folder}{again}"
        ) from refused
    if not summary.converged:
        raise SimulationError(
            f"{folder}: none of {summary.frames} frames converged; frames.csv lists why"
        )
    return summary


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
