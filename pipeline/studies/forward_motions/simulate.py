"""Forward simulations: what ligaments, contact and passive muscles do while a joint is moved."""

from __future__ import annotations

from typing import Any, NamedTuple

from dynamics.musculoskeletal import ForwardFrames, SimulatedFrames
from foundation.base.checks import FloatArray
from foundation.base.errors import PoseError
from pipeline.files import write_text
from pipeline.store.job import Job, JobKind
from pipeline.studies.conduct import Outcome, Study
from pipeline.studies.forward_motions.schema import ForwardFile
from pipeline.studies.forward_motions.setup import ForwardSetup, prepare_forward
from pipeline.studies.muscle_walks.charts import FrameCharts, for_people, sign_of
from pipeline.studies.muscle_walks.contact_forces import (
    contact_flags,
    interposed_loads,
    jump_flags,
    shared_text,
)
from pipeline.studies.muscle_walks.frames import FrameSummary, frame_figures
from pipeline.studies.muscle_walks.tables import ligament_forces, write_tables


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
    """Return the summary of a simulation.

    `tensions` are (N, L) [N], `seconds` are the times by part [s].
    """
    forward, contacts = file.forward, setup.contacts.contacts
    failure = None if result.failure is None else f"{result.failure}; {setup.remedy}"
    return ForwardSummary(
        **frame_figures(setup, contacts, contacts, result, tensions),
        name=forward.name,
        model=forward.model,
        kind=forward.kind,
        instants=len(result.time),
        activation=setup.settings.activation,
        warnings=list(setup.warnings),
        flags=[
            *_stopped(failure),
            *contact_flags(result),
            *jump_flags(setup.plant.motion, result.secondary, result.time, result.imbalance),
        ],
        failure=failure,
        seconds=seconds,
    )


def _stopped(failure: str | None) -> list[str]:
    """Return a flag of the instant that found no balance, if any."""
    return [] if failure is None else [f"the simulation ends before its last instant: {failure}"]


def summary_lines(summary: ForwardSummary) -> list[str]:
    """Return the lines on the terminal for a forward simulation."""
    begin, end = summary.interval_s
    lines = [f"{summary.instants} instants, {begin:g} to {end:g} s, {summary.kind}"]
    for name, parts in summary.contact.items():
        told = ", ".join(f"{part} {row.end_N:.1f} N" for part, row in parts.items())
        lines.append(f"{name} at the end: {told}")
    lines += shared_text(summary.shared)
    ends = {name: row.end_N or 0.0 for name, row in summary.ligaments.items()}
    told = ", ".join(f"{name} {force:.1f} N" for name, force in ends.items() if force > 0.0)
    lines.append(f"ligaments at the end: {told or 'all slack'}")
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
    """Return the content of `forward.html`, with the tensions of the ligaments (N, L) [N].

    `over` is the coordinate along the horizontal axes, None for the time.
    """
    charts = _charts(setup, result, over)
    return {
        "summary": summary,
        "pictures": {
            "secondary": list(charts.secondary()),
            "contact": list(charts.contact()),
            "shared": list(charts.shares(interposed_loads(setup, setup.contacts.contacts, result))),
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
    JobKind("forward simulation", "forward"),
    ForwardFile,
    "forward.json",
    "forward.html",
    _prepare,
    _carry_out,
    files=("model.osim", "states.sto", "kinematics.mot", "forces.sto", "contact.sto"),
)
