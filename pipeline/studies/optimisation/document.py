"""Results of a search of designs: `optimisation.json`, the lines on the terminal, and the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import pandas as pd

from foundation.base.wording import counted
from pipeline.design_space.errors import LIMITS, TOLD, error_of
from pipeline.design_space.run import live_designs
from pipeline.design_space.taken_design import TrainedDesigns
from pipeline.reports import figures as fig
from pipeline.reports.charts import chart, line, lines_of
from pipeline.reports.figures import Picture
from pipeline.reports.units import ASCII
from pipeline.store.run_documents import Computed
from pipeline.studies.optimisation.schema import DESIGN_OUTPUTS, EXPECTED
from pipeline.studies.optimisation.search import BASE, BETTER


class ObjectiveFound(Computed):
    """An objective: its column, words and unit, and its range over the front."""

    column: str
    label: str
    unit: str
    goal: str
    least: float
    largest: float


class ChosenDesign(Computed):
    """A chosen design: outputs by both models, differences [%] and expected errors.

    `against_base` are changes from the base design [%], by output and model.
    """

    name: str
    role: str
    design: int
    values: dict[str, float]
    surrogate: dict[str, float]
    expected: dict[str, float]
    doubts: list[str]
    flagged_instants: int
    reason: str
    original: dict[str, float] | None
    differences: dict[str, float] | None
    against_base: dict[str, dict[str, float | None]] | None


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
    refined: dict[str, float]
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
    better = document.design(BETTER)
    if better is not None:
        lines.append("the better design against the base design:")
        for each in document.objectives:
            changes = (better.against_base or {})[each.column].items()
            parts = (f"{model} {change:+.2g} %" for model, change in changes if change is not None)
            value = f"{better.surrogate[each.column]:.4g} {each.unit}"
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
    for each in document.objectives if better is not None else ():
        change = ((better.against_base or {}) if better else {})[each.column].get("original")
        if change and (change > 0.0) == (each.goal == "least"):
            told.append(
                f"the better design is worse than the base design in {each.label} by the original "
                f"model: {change:+.2g} %"
            )
    for design in document.chosen:
        if design.reason:
            told.append(f"{design.name}: no gait cycle by the original model: {design.reason}")
        if design.flagged_instants:
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
    expected = {f"{EXPECTED}{key}": key for key in TOLD if f"{EXPECTED}{key}" in front}
    return {
        "found": document,
        "first": told_first(document),
        "counts": counted_designs(document.counts),
        "columns": dict.fromkeys(document.parameters) | labels,
        "rows": front.to_dict("records"),
        "errors": {column: TOLD[key] for column, key in expected.items()},
        "limits": {column: LIMITS[key] for column, key in expected.items()},
        "outputs": {name: DESIGN_OUTPUTS[name] for name in document.outputs},
        "error_of": error_of,
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
            {each.name: [each.surrogate[key]] for each in document.chosen} for key in (y, x)
        )
        shown += lines_of(values, places, width=5.0, points=True)
        words = f"Front: {objectives[y]} over {objectives[x]}"
        yield chart(f"front-{x}-{y}", words, objectives[x], objectives[y], shown, size=fig.WIDE)
