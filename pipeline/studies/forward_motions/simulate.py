"""Forward simulations: what ligaments, contact and passive muscles do while a joint is moved."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from dynamics.musculoskeletal import ForwardResult
from dynamics.walking.motion_tables import MotionTable, write_motion_table
from foundation.base.checks import FloatArray
from pipeline.config.reading import load_section
from pipeline.files import plain, write_document, write_text
from pipeline.store.job import FORWARD, Job
from pipeline.studies.forward_motions.page import write_forward_page
from pipeline.studies.forward_motions.schema import ForwardFile
from pipeline.studies.forward_motions.setup import ForwardSetup, prepare_forward
from pipeline.studies.muscle_walks.charts import for_people
from pipeline.studies.muscle_walks.sides import contact_sides
from pipeline.studies.muscle_walks.summary import (
    bundled,
    compartment_forces,
    contact_flags,
    not_trusted,
)
from pipeline.studies.muscle_walks.tables import (
    contact_table,
    kinematics_table,
    ligament_forces,
    states_table,
)

#: Results of a forward simulation.
_FILES = (
    *("model.osim", "states.sto", "kinematics.mot", "forces.sto", "contact.sto"),
    *("forward.json", "forward.html"),
)


def load_forward(path: str | Path, overrides: tuple[str, ...] = ()) -> ForwardFile:
    """Read the configuration of a forward simulation; paths are relative to the file."""
    return load_section(path, ForwardFile, overrides)


def simulate_forward_motion(
    file: ForwardFile, folder: Path, *, replace: bool = False
) -> dict[str, Any]:
    """Carry out a forward simulation, write its folder, and return `forward.json`.

    Parameters
    ----------
    file : ForwardFile
        Configuration.
    folder : Path
        Folder of the results; files of an earlier simulation of the same configuration are
        replaced.
    replace : bool
        Whether to replace a simulation of another configuration too.

    Raises
    ------
    ConfigError, InputError
        If a file cannot be used, OpenSim is not installed, or no balance of forces is found.
    """
    job = Job(FORWARD, folder, file, _FILES, replace=replace)
    job.check()
    setup = prepare_forward(file.forward)  # Checks the input before files are written.
    for text in setup.warnings:
        warnings.warn(text, stacklevel=2)
    with job.begun():
        prepared = job.seconds
        result = setup.run()
        simulated = job.seconds
        # OpenSim opens no model with articular contact of JAM.
        write_text(folder / "model.osim", setup.model.without_contact())
        tensions = ligament_forces(setup, result)
        _write_tables(folder, setup, result, tensions)
        summary = summarise(file, setup, result, tensions)
        summary["seconds"] = {
            "preparation": prepared,
            "simulation": simulated - prepared,
            "all": job.seconds,
        }
        write_forward_page(
            folder, summary, setup, result, tensions, config=job.text, over=file.forward.over
        )
        write_document(folder / "forward.json", summary)
    return summary


def _write_tables(
    folder: Path, setup: ForwardSetup, result: ForwardResult, tensions: FloatArray
) -> None:
    names = (*result.muscles, *setup.plant.ligaments.names)
    values = np.column_stack([result.muscle_forces, tensions])
    for name, table, title in (
        ("states.sto", states_table(setup, result), "states"),
        ("kinematics.mot", kinematics_table(setup, result), "Coordinates"),
        ("forces.sto", MotionTable(names, result.time, values, False, "forces"), "forces"),
        ("contact.sto", contact_table(result), "contact"),
    ):
        write_motion_table(folder / name, table, title=title)


def summarise(
    file: ForwardFile, setup: ForwardSetup, result: ForwardResult, tensions: FloatArray
) -> dict[str, Any]:
    """Return the content of `forward.json` except the times; `tensions` are (N, L) [N]."""
    forward = file.forward
    ligaments = bundled(setup.plant.ligaments.names, tensions)
    return plain(
        {
            "name": forward.name,
            "model": forward.model,
            "kind": forward.kind,
            "interval_s": [result.time[0], result.time[-1]],
            "instants": len(result.time),
            "activation": setup.settings.activation,
            "secondary": _coordinates(setup, result),
            "sides": contact_sides(setup.model, setup.contacts.contacts),
            "contact": {
                name: {
                    part: _course(force, result.time)
                    for part, force in compartment_forces(result, k).items()
                }
                for k, name in enumerate(result.contacts)
            },
            "ligaments": _largest_first(ligaments, result.time),
            "muscles": _largest_first(bundled(result.muscles, result.muscle_forces), result.time),
            "warnings": list(setup.warnings),
            "flags": contact_flags(result),
            "not_trusted": not_trusted(result),
        }
    )


def _course(values: FloatArray, time: FloatArray) -> dict[str, Any]:
    peak = int(values.argmax())
    return {"end_N": values[-1], "peak_N": values[peak], "peak_at_s": time[peak]}


def _largest_first(groups: dict[str, FloatArray], time: FloatArray) -> dict[str, Any]:
    ordered = sorted(groups.items(), key=lambda item: -item[1].max())
    return {name: _course(values, time) for name, values in ordered}


def _coordinates(setup: ForwardSetup, result: ForwardResult) -> dict[str, Any]:
    """Return first and last value and range of each secondary coordinate."""
    rows = {}
    for name, values in zip(result.secondary, result.values.T, strict=True):
        shown, unit = for_people(setup.plant.motion, name, values)
        rows[name] = {
            "unit": unit,
            "start": shown[0],
            "end": shown[-1],
            "least": shown.min(),
            "most": shown.max(),
        }
    return rows


def summary_text(summary: dict[str, Any], folder: Path) -> str:
    """Return the lines on the terminal for a forward simulation."""
    begin, end = summary["interval_s"]
    lines = [f"{summary['instants']} instants, {begin:g} to {end:g} s, {summary['kind']}"]
    for name, parts in summary["contact"].items():
        told = ", ".join(f"{part} {row['end_N']:.1f} N" for part, row in parts.items())
        lines.append(f"{name} at the end: {told}")
    taut = {name: row for name, row in summary["ligaments"].items() if row["end_N"] > 0.0}
    told = ", ".join(f"{name} {row['end_N']:.1f} N" for name, row in taut.items())
    lines.append(f"ligaments at the end: {told or 'all slack'}")
    lines += [f"flag: {flag}" for flag in summary["flags"][:5]]
    seconds = summary["seconds"]
    lines.append(f"{seconds['simulation']:.1f} s for the motion, {seconds['all']:.1f} s in all")
    lines += [f"page: {folder / 'forward.html'}"]
    return "\n".join([*lines, *([told] if (told := summary["not_trusted"]) else [])])
