"""Forward simulations: what ligaments, contact and passive muscles do while a joint is moved."""

from __future__ import annotations

from typing import NamedTuple

from foundation.base.errors import PoseError
from pipeline.files import write_text
from pipeline.store.job import FORWARD, Job
from pipeline.studies.conduct import Outcome, Study
from pipeline.studies.forward_motions.page import forward_page
from pipeline.studies.forward_motions.schema import ForwardFile
from pipeline.studies.forward_motions.setup import ForwardSetup, prepare_forward
from pipeline.studies.forward_motions.summary import summarise, summary_lines
from pipeline.studies.muscle_walks.tables import ligament_forces, write_tables


class ReadyMotion(NamedTuple):
    """A forward simulation whose input has been checked."""

    file: ForwardFile
    setup: ForwardSetup


def _prepare(file: ForwardFile, job: Job) -> ReadyMotion:
    setup = prepare_forward(file.forward)
    job.note(*setup.warnings)
    return ReadyMotion(file, setup)


def _carry_out(ready: ReadyMotion, job: Job) -> Outcome:
    """Simulate a motion.

    Raises `InputError` if no balance of forces is found at the first instant; if none is found at a
    later one, the outcome fails with a `PoseError` and has the instants before.
    """
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
    FORWARD,
    ForwardFile,
    "forward.json",
    "forward.html",
    _prepare,
    _carry_out,
    files=("model.osim", "states.sto", "kinematics.mot", "forces.sto", "contact.sto"),
)
