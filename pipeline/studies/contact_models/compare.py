"""Comparison of contact models on one knee: from the configuration to the page."""

from __future__ import annotations

from foundation.base.threads import one_thread
from pipeline.config.pairs import require_knee
from pipeline.config.schema import Config
from pipeline.originals.finite_element_layer import CONDENSED
from pipeline.progress import bar, say
from pipeline.reports.judgement import judgement_lines
from pipeline.reports.units import number
from pipeline.store.job import Job, JobKind
from pipeline.studies.conduct import Outcome, Study, Table
from pipeline.studies.contact_models.content import ModelComparison, comparison_content, table_of
from pipeline.studies.contact_models.knee import TIMES, ComparedKnee
from pipeline.studies.contact_models.measurement import (
    FOLDER,
    REASONS,
    GaitPoses,
    Measured,
    gait_poses,
    measure_at,
    measure_cycle,
    read_measured,
    truth_of,
    write_measured,
)
from pipeline.studies.contact_models.page import comparison_page
from pipeline.studies.contact_models.registry import COARSE, ELEMENTS, MODELS, ModelKind, chosen


def _prepare(config: Config, job: Job) -> ComparedKnee:
    """Return the knee of a comparison, checked."""
    require_knee(config.knee, "a comparison of contact models")
    knee = ComparedKnee(config, job.folder, job.resume)
    knee.check()
    return knee


def _carry_out(knee: ComparedKnee, _: Job) -> Outcome:
    """Measure the models.

    Raises `StageError` if the finite elements cannot drive the gait cycle: there is nothing to
    compare with. A failure of another model is a row with its reason.
    """
    with one_thread:
        measured = _measure_all(knee, chosen(knee.settings.models))
        truth = truth_of(measured[ELEMENTS], measured.get(COARSE))
        content = comparison_content(knee, measured, truth)
        page = comparison_page(knee, content, measured, truth)
    flagged = [row.label.replace("µ", "u") for row in content.models if row.flags]
    told = f"{', '.join(flagged)}: instants of the cycle have flags"
    return Outcome(
        content,
        summary_lines(content),
        [f"{told}: do not trust the results there; see the page"] if flagged else (),
        page,
        {"compared_models.csv": Table(table_of(content), "%.6g")},
    )


def _measure_all(knee: ComparedKnee, kinds: tuple[ModelKind, ...]) -> dict[str, Measured]:
    """Measure the models one after the other; each is stored when it is done."""
    measured: dict[str, Measured] = {}
    given: GaitPoses | None = None
    for place, kind in enumerate(kinds):
        head = f"{place + 1}/{len(kinds)} {kind.label}"
        found = read_measured(knee.folder, kind.name) if knee.resume else None
        say(f"{head}{'' if found is None else ': known'}")
        if found is None:
            found = _measured(knee, kind, measured, given)
            write_measured(knee.folder, kind.name, found)
        measured[kind.name] = found
        if given is None:
            given = gait_poses(found, knee.settings.poses)
        for part, reason in found.failures.items():
            say(f"  {part}: {reason}")
    return measured


def _measured(
    knee: ComparedKnee, kind: ModelKind, earlier: dict[str, Measured], given: GaitPoses | None
) -> Measured:
    """Return the measurements of a model; a model that cannot be made has the reason alone."""
    try:
        built = kind.build(knee)
        gait = knee.gait
    except REASONS as error:
        return Measured(failures={"set-up": str(error)})
    teacher = earlier.get(built.teacher or "")
    with bar(100, "%", kind.label) as shown:

        def advance(part: float) -> None:
            shown.update(int(100 * part) - shown.n)

        patch = None if teacher is None else teacher.patch
        found = measure_cycle(built, gait, patch, advance)
    if given is None and "cycle_poses" in found.arrays:
        given = gait_poses(found, knee.settings.poses)
    if given is not None:
        measure_at(built, found, given)
    return found


def summary_lines(content: ModelComparison) -> list[str]:
    """Return the lines on the terminal for a comparison."""
    shown = ("force_percent", "peak_pressure_percent", "wear_percent", "evaluation_us")
    columns = [column for column in content.columns if column.key in shown]
    lines = []
    for row in content.models:
        figures = (f"{c.label} {number(row.figures[c.key])} {c.unit}" for c in columns)
        known = any(value is not None for value in row.figures.values())
        text = ", ".join(figures) if known else "; ".join(row.failures.values())
        lines.append(f"{row.label}: {text}".replace("µ", "u"))
    for row in content.models:
        lines += judgement_lines(row.verdict)
    return lines


MODEL_COMPARISON = Study(
    # Weights change only the page, and a measured model does not depend on the other models.
    JobKind("comparison", "run", "comparison.toml", ("comparison.weights.", "comparison.models")),
    Config,
    "compared_models.json",
    "compared_models.html",
    _prepare,
    _carry_out,
    files=("compared_models.csv",),
    kept=(
        *(FOLDER, CONDENSED, TIMES),
        *(kind.name for kind in MODELS if kind.group == "surrogate"),
    ),
    ending="_comparison",
)
