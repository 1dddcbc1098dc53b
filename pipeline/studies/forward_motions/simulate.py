"""Forward simulations: what ligaments, contact and passive muscles do while a joint is moved."""

from __future__ import annotations

from typing import Any, NamedTuple

from dynamics.musculoskeletal import ForwardFrames, SimulatedFrames
from foundation.base.checks import FloatArray
from foundation.base.errors import PoseError
from pipeline.files import write_text
from pipeline.store.job import Job, JobKind
from pipeline.store.run_documents import Computed
from pipeline.studies.conduct import Outcome, Study
from pipeline.studies.forward_motions.schema import ForwardFile
from pipeline.studies.forward_motions.setup import ForwardSetup, prepare_forward
from pipeline.studies.muscle_walks.charts import FrameCharts, for_people, shown_secondary, sign_of
from pipeline.studies.muscle_walks.contact_forces import (
    SharedLoad,
    bundled,
    compartment_forces,
    contact_flags,
    interposed_loads,
    jump_flags,
    largest_first,
    not_trusted,
    shared_loads,
    shared_text,
)
from pipeline.studies.muscle_walks.models import ContactSide, contact_sides
from pipeline.studies.muscle_walks.tables import ligament_forces, write_tables


class Course(Computed):
    """Force at the end, and its peak with the instant."""

    end_N: float | None
    peak_N: float | None
    peak_at_s: float


class CoordinateCourse(Computed):
    """First and last, least and largest value of a coordinate in its unit."""

    unit: str
    start: float | None
    end: float | None
    least: float | None
    most: float | None


class ForwardSummary(Computed):
    """`forward.json`: a forward simulation and its forces."""

    name: str
    model: str
    kind: str
    interval_s: list[float]
    instants: int
    activation: float | None
    secondary: dict[str, CoordinateCourse]
    sides: dict[str, ContactSide]
    contact: dict[str, dict[str, Course]]
    shared: dict[str, dict[str, SharedLoad]]
    ligaments: dict[str, Course]
    muscles: dict[str, Course]
    warnings: list[str]
    flags: list[str]
    not_trusted: str | None
    failure: str | None
    seconds: dict[str, float]


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
    forward, time = file.forward, result.time
    failure = None if result.failure is None else f"{result.failure}; {setup.remedy}"
    return ForwardSummary(
        name=forward.name,
        model=forward.model,
        kind=forward.kind,
        interval_s=[time[0], time[-1]],
        instants=len(time),
        activation=setup.settings.activation,
        secondary=_coordinates(setup, result),
        sides=contact_sides(setup.model, setup.contacts.contacts),
        contact={
            name: {
                part: _course(force, time) for part, force in compartment_forces(result, k).items()
            }
            for k, name in enumerate(result.contacts)
        },
        shared=shared_loads(interposed_loads(setup, setup.contacts.contacts, result), time),
        ligaments=_courses(bundled(setup.plant.ligaments.names, tensions), time),
        muscles=_courses(bundled(result.muscles, result.muscle_forces), time),
        warnings=list(setup.warnings),
        flags=[
            *_stopped(failure),
            *contact_flags(result),
            *jump_flags(setup.plant.motion, result.secondary, result.time, result.imbalance),
        ],
        not_trusted=not_trusted(result),
        failure=failure,
        seconds=seconds,
    )


def _stopped(failure: str | None) -> list[str]:
    """Return a flag of the instant that found no balance, if any."""
    return [] if failure is None else [f"the simulation ends before its last instant: {failure}"]


def _course(values: FloatArray, time: FloatArray) -> Course:
    peak = int(values.argmax())
    return Course(end_N=values[-1], peak_N=values[peak], peak_at_s=time[peak])


def _courses(groups: dict[str, FloatArray], time: FloatArray) -> dict[str, Course]:
    return {name: _course(values, time) for name, values in largest_first(groups).items()}


def _coordinates(setup: ForwardSetup, result: SimulatedFrames) -> dict[str, CoordinateCourse]:
    return {
        name: CoordinateCourse(
            unit=unit, start=shown[0], end=shown[-1], least=shown.min(), most=shown.max()
        )
        for name, unit, shown in shown_secondary(setup.plant.motion, result)
    }


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
