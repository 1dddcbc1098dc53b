"""Summary of a forward simulation: forces of contact, ligaments and muscles; secondary motion."""

from __future__ import annotations

from dynamics.musculoskeletal import ForwardFrames, SimulatedFrames
from foundation.base.checks import FloatArray
from pipeline.store.run_documents import Computed
from pipeline.studies.forward_motions.schema import ForwardFile
from pipeline.studies.forward_motions.setup import ForwardSetup
from pipeline.studies.muscle_walks.charts import shown_secondary
from pipeline.studies.muscle_walks.contact_forces import (
    bundled,
    compartment_forces,
    contact_flags,
    largest_first,
    not_trusted,
)
from pipeline.studies.muscle_walks.force_jumps import jump_flags
from pipeline.studies.muscle_walks.interposed_loads import (
    SharedLoad,
    interposed_loads,
    shared_loads,
    shared_text,
)
from pipeline.studies.muscle_walks.sides import ContactSide, contact_sides


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
