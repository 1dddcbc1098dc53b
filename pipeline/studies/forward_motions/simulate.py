"""Forward simulations: what ligaments, contact and passive muscles do while a joint is moved."""

from __future__ import annotations

import warnings
from pathlib import Path

from foundation.base.errors import PoseError
from pipeline.config.reading import load_section
from pipeline.files import write_document, write_text
from pipeline.store.job import FORWARD, Job
from pipeline.studies.forward_motions.page import write_forward_page
from pipeline.studies.forward_motions.schema import ForwardFile
from pipeline.studies.forward_motions.setup import prepare_forward
from pipeline.studies.forward_motions.summary import ForwardSummary, summarise
from pipeline.studies.muscle_walks.tables import ligament_forces, write_tables

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
) -> ForwardSummary:
    """Carry out a forward simulation, write its folder, and return its summary.

    Files of an earlier simulation of the same configuration are replaced, with `replace` those of
    another one too. Raises `ConfigError` or `InputError` if a file cannot be used, OpenSim is not
    installed, or no balance of forces is found at the first instant, and `PoseError` if none is
    found at a later instant; the folder has the instants before.
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
        write_tables(folder, setup, result, tensions)
        seconds = {
            "preparation": prepared,
            "simulation": simulated - prepared,
            "all": job.seconds,
        }
        summary = summarise(file, setup, result, tensions, seconds)
        write_forward_page(
            folder, summary, setup, result, tensions, config=job.text, over=file.forward.over
        )
        write_document(folder / "forward.json", summary)
    if summary.failure is not None:
        raise PoseError(
            f"{summary.failure}; {folder} has the {summary.instants} instants up to "
            f"{summary.interval_s[1]:g} s"
        )
    return summary
