"""Results of a search of designs: `optimisation.json`, the lines on the terminal, and the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from foundation.base.checks import FloatArray
from foundation.base.wording import counted
from pipeline.design_space.errors import LIMITS, TOLD
from pipeline.reports import figures as fig
from pipeline.reports.charts import chart, line, lines_of
from pipeline.reports.figures import Picture
from pipeline.reports.units import ASCII
from pipeline.store.run_documents import Computed
from pipeline.store.samples import OK, unit_of
from pipeline.studies.optimisation.schema import (
    DESIGN_OUTPUTS,
    EXPECTED,
    OptimisationConfig,
    expected_error,
)
from pipeline.studies.optimisation.search import BASE, BETTER

#: Models of a verified design.
MODELS = ("surrogate", "original", "finite_element")


class ObjectiveFound(Computed):
    """An objective: its column, words and unit, and its range over the front."""

    column: str
    label: str
    unit: str
    goal: str
    statistic: str
    least: float
    largest: float


class BoundFound(Computed):
    """An end of a limit, "at most" or "at least" a value: its column, words and unit."""

    column: str
    label: str
    unit: str
    end: str
    value: float


class ElementsFound(Computed):
    """The cycle of a design by three models, outputs by column, or the `reason` why not."""

    reason: str = ""
    node_spacing_mm: float | None = None
    finite_element: dict[str, float] = Field(default_factory=dict)
    original: dict[str, float] = Field(default_factory=dict)
    surrogate: dict[str, float] = Field(default_factory=dict)


class ChosenDesign(Computed):
    """A verified design: outputs and measures by model, differences [%] and expected errors."""

    name: str
    role: str
    design: int
    values: dict[str, float]
    surrogate: dict[str, float]
    expected: dict[str, float]
    doubts: list[str]
    flagged_instants: int
    instants: int
    reason: str
    original: dict[str, float] | None
    differences: dict[str, float] | None
    against_base: dict[str, dict[str, float | None]] | None
    elements: ElementsFound | None


class OptimisationDocument(Computed):
    """`optimisation.json`: settings, counts, front, and the designs that are verified."""

    name: str
    date: str
    run: str
    seed: int
    population: int
    generations: int
    cycles: int
    verify: str
    parameters: list[dict[str, Any]]
    objectives: list[ObjectiveFound]
    limits: list[BoundFound]
    factors: list[dict[str, str | float]]
    counts: dict[str, int]
    base_reason: str
    refined: dict[str, float]
    chosen: list[ChosenDesign]
    packages: dict[str, str]
    python: str
    seconds: dict[str, float]


def chosen_of(document: OptimisationDocument, name: str) -> ChosenDesign | None:
    """Return the verified design of a name, None if there is none."""
    return next((each for each in document.chosen if each.name == name), None)


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


#: Models that judge the surrogate, in words.
_OTHERS = {"original": "the original model", "finite_element": "finite elements"}


def parameter_words(name: str) -> tuple[str, str]:
    """Return the words of a parameter and its unit, "" if it has none."""
    unit = unit_of(name)
    if unit is None:
        return name.replace("_", " "), ""
    return unit.quantity.replace("_", " "), name.rpartition("_")[2]


def objectives_found(settings: OptimisationConfig, front: FloatArray) -> list[ObjectiveFound]:
    """Return the objectives for the document; `front` (N, M) has these, to minimise [any unit]."""
    found = []
    for each, measure, values in zip(settings.objective, settings.objectives, front.T, strict=True):
        ends = sorted(each.sign * np.array([values.min(), values.max()]))
        kind = {"goal": each.goal, "statistic": each.statistic}
        found.append(ObjectiveFound(**measure.words, **kind, least=ends[0], largest=ends[1]))
    return found


def bounds_found(settings: OptimisationConfig) -> list[BoundFound]:
    """Return the ends of the limits for the document."""
    return [
        BoundFound(**measure.words, end="at most" if sign > 0.0 else "at least", value=value)
        for measure, value, sign in settings.bounds
    ]


def summary_lines(document: OptimisationDocument) -> list[str]:
    """Return the lines on the terminal for a search."""
    lines = [f"{counted_designs(document.counts)}; {document.seconds['all']:.0f} s"]
    lines += [
        f"{each.label}: {each.least:.4g} to {each.largest:.4g} {each.unit} on the front"
        for each in document.objectives
    ]
    base, better = (chosen_of(document, name) for name in (BASE, BETTER))
    if base is None:
        lines.append(f"no base design: {document.base_reason or 'it has no gait cycle'}")
    elif better is None:
        lines.append("no design is better than the base design in an objective and nowhere worse")
    else:
        lines += _better_lines(document, base, better)
    lines += contradictions(document)
    doubted = [each.name for each in document.chosen if each.doubts]
    if doubted:
        lines.append(
            f"{counted(len(doubted), 'chosen design')} with an expected error above the accepted "
            f"one: {', '.join(doubted)}"
        )
    lines += [f"{each.name}: {each.reason}" for each in document.chosen if each.reason]
    return [line.translate(ASCII) for line in lines]


def _better_lines(
    document: OptimisationDocument, base: ChosenDesign, better: ChosenDesign
) -> list[str]:
    """Return what the better design changes, by objective."""
    lines = ["the better design against the base design:"]
    for each in document.objectives:
        name = each.column
        told = f"{base.surrogate[name]:.4g} to {better.surrogate[name]:.4g} {each.unit}"
        changes = (better.against_base or {})[name]
        parts = [
            f"{_OTHERS.get(model, model)} {change:+.2g} %"
            for model, change in changes.items()
            if change is not None
        ]
        lines.append(f"  {each.label}: {told} ({', '.join(parts)})")
    return lines


def contradictions(document: OptimisationDocument) -> list[str]:
    """Return in words where other models find the better design worse, or a limit broken."""
    better = chosen_of(document, BETTER)
    found = [
        f"{each.name} breaks a limit by the original model: {limit.label} of {value:.4g} "
        f"{limit.unit} ({limit.end} {limit.value:g})"
        for each in document.chosen
        for limit in document.limits
        if each.name != BASE
        and (value := (each.original or {}).get(limit.column)) is not None
        and (value > limit.value if limit.end == "at most" else value < limit.value)
    ]
    for each in document.objectives if better is not None else ():
        assert better is not None
        for model, change in (better.against_base or {})[each.column].items():
            worse = change is not None and (change > 0.0) == (each.goal == "least")
            if model != "surrogate" and worse and change != 0.0:
                found.append(
                    f"the better design is worse than the base design in {each.label} by "
                    f"{_OTHERS[model]}: {change:+.2g} %"
                )
    return found


#: Columns of parameters or objectives with their labels.
Labels = Mapping[str, str]


def optimisation_page(
    document: OptimisationDocument,
    settings: OptimisationConfig,
    front: pd.DataFrame,
    slices: pd.DataFrame,
) -> dict[str, Any]:
    """Return the content of `optimisation.html`, from the table of the front and slices."""
    names = [each["name"] for each in document.parameters]
    parameters = {name: _label(*parameter_words(name)) for name in names}
    objectives = {each.column: _label(each.label, each.unit) for each in document.objectives}
    expected = {f"{EXPECTED}{key}": key for key in TOLD if f"{EXPECTED}{key}" in front}
    models = MODELS[: {"none": 1, "springs": 2}.get(document.verify, 3)]
    return {
        "found": document,
        "first": _first(document),
        "counts": counted_designs(document.counts),
        "base": chosen_of(document, BASE),
        "better": chosen_of(document, BETTER),
        "parameters": parameters,
        "columns": parameters | objectives,
        "rows": front.to_dict("records"),
        "errors": {column: TOLD[key] for column, key in expected.items()},
        "limits": {column: LIMITS[key] for column, key in expected.items()},
        "measures": settings.measures,
        "models": {model: model.replace("finite_element", "finite elements") for model in models},
        "outputs": DESIGN_OUTPUTS,
        "expected_error": expected_error,
        "pictures": {
            "pairs": list(_pairs(document, front, objectives)),
            "slices": list(_slices(document, slices, parameters, objectives)),
        },
    }


def _label(label: str, unit: str) -> str:
    return f"{label} [{unit}]" if unit else label


def _first(document: OptimisationDocument) -> list[str]:
    """Return what a reader must know before all else."""
    told = [f"{words}. The search sees the surrogate alone." for words in contradictions(document)]
    if chosen_of(document, BASE) is None:
        reason = document.base_reason or "it has no gait cycle"
        told.insert(0, f"There is no base design to compare with: {reason}.")
    for each in document.chosen:
        if each.reason:
            told.append(f"{each.name}: no gait cycle by the original model: {each.reason}")
        if each.flagged_instants:
            told.append(
                f"{each.name}: {each.flagged_instants} of {each.instants} instants outside of the "
                "trained domain."
            )
    if doubted := [each.name for each in document.chosen if each.doubts]:
        told.append(
            f"{', '.join(doubted)}: expected errors of the surrogate above the accepted ones; "
            "compare the surrogate with the original model below."
        )
    return told


def _pairs(
    document: OptimisationDocument, front: pd.DataFrame, objectives: Labels
) -> Iterator[Picture]:
    """Yield the front, and the verified designs, in each pair of objectives."""
    for x, y in combinations(objectives, 2):
        shown = [line("front", front[y], x=front[x], colour=fig.GREY, width=3.0, points=True)]
        values, places = (
            {each.name: [each.surrogate[key]] for each in document.chosen} for key in (y, x)
        )
        shown += lines_of(values, places, width=5.0, points=True)
        words = f"Front: {objectives[y]} over {objectives[x]}"
        yield chart(f"front-{x}-{y}", words, objectives[x], objectives[y], shown, size=fig.WIDE)


def _slices(
    document: OptimisationDocument, slices: pd.DataFrame, parameters: Labels, objectives: Labels
) -> Iterator[Picture]:
    """Yield each objective along each parameter, a line for each verified design."""
    for y, x in product(objectives, parameters):
        along = slices[slices["along"] == x]
        own = {each.name: along[along["design"] == each.design] for each in document.chosen}
        values = {name: rows[y].where(rows["status"] == OK) for name, rows in own.items()}
        shown = lines_of(values, {name: rows[x] for name, rows in own.items()})
        words = f"{objectives[y]} along {parameters[x]}"
        yield chart(f"slice-{y}-{x}", words, parameters[x], objectives[y], shown)
