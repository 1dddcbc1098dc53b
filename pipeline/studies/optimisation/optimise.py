"""Searches of designs: verified designs, `optimisation.json`, lines on the terminal, the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from foundation.base.wording import counted
from pipeline.design_space.designs import TrainedDesigns
from pipeline.design_space.errors import ERRORS, error_of, expected_errors
from pipeline.design_space.run import live_designs
from pipeline.execution import Execution
from pipeline.progress import bar, say
from pipeline.reports import figures as fig
from pipeline.reports.charts import chart, line, lines_of
from pipeline.reports.figures import Picture
from pipeline.reports.units import ASCII
from pipeline.store.job import Job, JobKind
from pipeline.store.run_documents import MODELS, Computed
from pipeline.store.sample_store import SAMPLE_FILES
from pipeline.store.samples import FAILED, OK, write_table
from pipeline.studies.conduct import Outcome, Study, Table
from pipeline.studies.optimisation.search import (
    BASE,
    BETTER,
    DESIGN_OUTPUTS,
    EXPECTED,
    INFEASIBLE,
    Designs,
    Front,
    OptimisationConfig,
    OptimisationFile,
    Pick,
    SearchSetup,
    doubts_of,
    front_of,
    front_table,
    picked,
    require_pymoo,
    search,
    write_designs,
)


class ObjectiveFound(Computed):
    """An objective: its column, words and unit, and its range over the front."""

    column: str
    label: str
    unit: str
    goal: str
    least: float
    largest: float


class ChosenDesign(Computed):
    """A chosen design: outputs by model, and expected errors; `reason` says what lacks."""

    name: str
    role: str
    design: int
    values: dict[str, float]
    outputs: dict[str, dict[str, float]]
    expected: dict[str, float]
    doubts: list[str]
    flagged_instants: int
    reason: str

    def change(self, column: str, model: str, of: ChosenDesign, of_model: str) -> float | None:
        """Return by how much an output differs from that of another design [%], if known."""
        value, other = (
            each.outputs.get(name, {}).get(column) for each, name in ((self, model), (of, of_model))
        )
        return 100.0 * (value / other - 1.0) if value is not None and other else None


class OptimisationDocument(Computed):
    """`optimisation.json`: counts, front, and the designs that are verified.

    `broken` are the limits that chosen designs break by the original model, in words.
    """

    name: str
    run: str
    parameters: list[str]
    objectives: list[ObjectiveFound]
    outputs: list[str]
    counts: dict[str, int]
    base_reason: str
    chosen: list[ChosenDesign]
    broken: list[str]
    seconds: float

    def design(self, name: str) -> ChosenDesign | None:
        """Return the chosen design of a name, None if there is none."""
        return next((each for each in self.chosen if each.name == name), None)


def counted_designs(counts: dict[str, int]) -> str:
    """Return how many designs were evaluated, dropped and are on the front, in words."""
    parts = [
        f"{counts['infeasible']} infeasible",
        f"{counts['failed']} without a gait cycle",
        f"{counts['beyond_limits']} beyond a limit",
    ]
    return (
        f"{counted(counts['evaluated'], 'design')} evaluated, {', '.join(parts)}; "
        f"{counts['front']} on the front"
    )


def summary_lines(document: OptimisationDocument) -> list[str]:
    """Return the lines on the terminal for a search."""
    lines = [f"{counted_designs(document.counts)}; {document.seconds:.0f} s"]
    lines += [
        f"{each.label}: {each.least:.4g} to {each.largest:.4g} {each.unit} on the front"
        for each in document.objectives
    ]
    base, better = document.design(BASE), document.design(BETTER)
    if base is not None and better is not None:
        lines.append("the better design against the base design:")
        for each in document.objectives:
            changes = {name: better.change(each.column, name, base, name) for name in MODELS[::-1]}
            parts = (f"{name} {part:+.2g} %" for name, part in changes.items() if part is not None)
            value = f"{better.outputs['surrogate'][each.column]:.4g} {each.unit}"
            lines.append(f"  {each.label}: {value} ({', '.join(parts)})")
    return [text.translate(ASCII) for text in [*lines, *told_first(document)]]


def told_first(document: OptimisationDocument) -> list[str]:
    """Return what a reader must know before all else."""
    told = list(document.broken)
    base, better = document.design(BASE), document.design(BETTER)
    if base is None:
        told.append(f"no base design: {document.base_reason or 'it has no gait cycle'}")
    elif better is None:
        told.append("no design is better than the base design in an objective and nowhere worse")
    for each in document.objectives if base and better else ():
        assert base is not None
        assert better is not None
        change = better.change(each.column, "original", base, "original")
        if change and (change > 0.0) == (each.goal == "least"):
            told.append(
                f"the better design is worse than the base design in {each.label} by the original "
                f"model: {change:+.2g} %"
            )
    for design in document.chosen:
        if design.reason:
            told.append(f"{design.name}: no gait cycle by the original model: {design.reason}")
        if design.flagged_instants and not design.doubts:
            flagged = counted(design.flagged_instants, "instant")
            told.append(f"{design.name}: {flagged} outside of the trained domain")
        told += [f"{design.name}: {words}" for words in design.doubts]
    return told


def optimisation_page(
    document: OptimisationDocument, front: pd.DataFrame, run: TrainedDesigns
) -> dict[str, Any]:
    """Return the content of `optimisation.html`, from the table of the front."""
    chosen = {each.name: each.values for each in document.chosen}
    labels = {each.column: f"{each.label} [{each.unit}]" for each in document.objectives}
    expected = {f"{EXPECTED}{key}": kind for key, kind in ERRORS.items()}
    return {
        "found": document,
        "first": told_first(document),
        "counts": counted_designs(document.counts),
        "columns": dict.fromkeys(document.parameters) | labels,
        "rows": front.to_dict("records"),
        "errors": {column: kind for column, kind in expected.items() if column in front},
        "outputs": {name: DESIGN_OUTPUTS[name] for name in document.outputs},
        "error_of": error_of,
        "base": document.design(BASE),
        "live": live_designs(run.knee, run.config, chosen),
        "pictures": list(_pairs(document, front, labels)),
    }


def _pairs(
    document: OptimisationDocument, front: pd.DataFrame, objectives: Mapping[str, str]
) -> Iterator[Picture]:
    """Yield the front, and the chosen designs, in each pair of objectives."""
    for x, y in combinations(objectives, 2):
        shown = [line("front", front[y], x=front[x], colour=fig.GREY, width=3.0, points=True)]
        values, places = (
            {each.name: [each.outputs["surrogate"][key]] for each in document.chosen}
            for key in (y, x)
        )
        shown += lines_of(values, places, width=5.0, points=True)
        words = f"Front: {objectives[y]} over {objectives[x]}"
        yield chart(f"front-{x}-{y}", words, objectives[x], objectives[y], shown, size=fig.WIDE)


def verified(
    setup: SearchSetup, designs: pd.DataFrame, picks: Sequence[Pick], job: Job, execution: Execution
) -> list[ChosenDesign]:
    """Return the chosen designs, simulated again with the original model if asked to."""
    settings, names = setup.problem.settings, list(setup.problem.parameters.names)
    table = designs.loc[[pick.design for pick in picks]]
    by_model = {"surrogate": table.reset_index(drop=True)}
    if settings.verify:
        by_original = Designs(replace(setup.task, model="original"), job.folder, execution)
        with bar(len(table), "design", "original model") as shown:
            chosen = table[names].to_numpy(dtype=float)
            by_model["original"] = by_original.evaluate(chosen, 0, shown)
    found = []
    for k, pick in enumerate(picks):
        rows = {model: each.iloc[k] for model, each in by_model.items()}
        values = _numbers(rows["surrogate"], names)
        expected = expected_errors(setup.run.knee, values)
        design = ChosenDesign(
            **pick._asdict(),
            values=values,
            outputs={
                model: _numbers(row, DESIGN_OUTPUTS)
                for model, row in rows.items()
                if row["status"] == OK
            },
            expected=expected,
            doubts=doubts_of(settings.outputs, expected),
            flagged_instants=int(rows["surrogate"]["flagged_instants"]),
            reason=str(rows["original"]["reason"]) if settings.verify else "",
        )
        found.append(design)
    return found


def _numbers(row: pd.Series[Any], columns: Iterable[str]) -> dict[str, float]:
    return {name: float(row[name]) for name in columns}


def broken_limits(settings: OptimisationConfig, chosen: Iterable[ChosenDesign]) -> list[str]:
    """Return in words which limits chosen designs break by the original model."""
    return [
        f"{each.name} breaks a limit by the original model: {DESIGN_OUTPUTS[output].label} of "
        f"{each.outputs['original'][output]:.4g} {DESIGN_OUTPUTS[output].unit} "
        f"(at {'most' if sign > 0.0 else 'least'} {value:g})"
        for each in chosen
        for output, value, sign in settings.bounds
        if each.name != BASE
        and "original" in each.outputs
        and sign * (each.outputs["original"][output] - value) > 0.0
    ]


def _prepare(file: OptimisationFile, _: Job) -> SearchSetup:
    """Return a search, checked; raises `InputError` if pymoo is missing."""
    require_pymoo()
    return SearchSetup.of(file)


def _carry_out(setup: SearchSetup, job: Job) -> Outcome:
    """Search the designs of a run; raises `StageError` if no feasible design keeps the limits."""
    problem, settings = setup.problem, setup.problem.settings
    execution = Execution.of(settings)
    evaluated = Designs(setup.task, job.folder, execution)
    size = counted(len(setup.first), "design")
    say(f"{settings.name}: {counted(settings.generations, 'generation')} of {size}")
    search(problem, evaluated, setup.first)
    designs = evaluated.table
    front = front_of(problem, designs)
    picks = picked(problem, designs, front, setup.base_of(designs))
    chosen = verified(setup, designs, picks, job, execution)
    table = front_table(setup, designs, front, picks)
    write_table(designs, job.folder / "evaluated.parquet")
    write_table(table, job.folder / "front.parquet")
    write_designs(job.folder, setup.run, settings.name, designs, picks)
    document = OptimisationDocument(
        name=settings.name,
        run=settings.run,
        parameters=list(problem.parameters.names),
        objectives=_objectives(settings, front),
        outputs=list(settings.outputs),
        counts=_counts(setup, designs, front),
        base_reason=setup.base_reason,
        chosen=chosen,
        broken=broken_limits(settings, chosen),
        seconds=job.seconds,
    )
    return Outcome(
        document,
        summary_lines(document),
        page=optimisation_page(document, table, setup.run),
        tables={"front.csv": Table(table)},
    )


def _objectives(settings: OptimisationConfig, front: Front) -> list[ObjectiveFound]:
    found = []
    for each, values in zip(settings.objective, front.objectives.T, strict=True):
        ends = sorted(each.sign * np.array([values.min(), values.max()]))
        words = {"label": DESIGN_OUTPUTS[each.output].label, "goal": each.goal}
        words["unit"] = DESIGN_OUTPUTS[each.output].unit
        found.append(ObjectiveFound(column=each.output, least=ends[0], largest=ends[1], **words))
    return found


def _counts(setup: SearchSetup, designs: pd.DataFrame, front: Front) -> dict[str, int]:
    status = designs["status"]
    beyond = (status == OK).to_numpy() & ~setup.problem.allowed(designs)
    return {
        "evaluated": len(designs),
        "infeasible": int((status == INFEASIBLE).sum()),
        "failed": int((status == FAILED).sum()),
        "beyond_limits": int(beyond.sum()),
        "front": len(front.places),
    }


OPTIMISATION_STUDY = Study(
    JobKind("search of designs", "optimisation"),
    OptimisationFile,
    "optimisation.json",
    "optimisation.html",
    _prepare,
    _carry_out,
    files=("evaluated.parquet", "front.parquet", "front.csv", "designs"),
    kept=SAMPLE_FILES,
)
