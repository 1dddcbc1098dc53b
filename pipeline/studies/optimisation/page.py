"""Page of a search of designs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import Any

import pandas as pd

from pipeline.design_space.document import TOLD
from pipeline.design_space.errors import LIMITS
from pipeline.reports import figures as fig
from pipeline.reports.charts import chart, line, lines_of
from pipeline.reports.figures import Picture
from pipeline.store.samples import OK
from pipeline.studies.optimisation.document import (
    MODELS,
    OptimisationDocument,
    chosen_of,
    contradictions,
    counted_designs,
    parameter_words,
)
from pipeline.studies.optimisation.outputs import DESIGN_OUTPUTS, EXPECTED, expected_error
from pipeline.studies.optimisation.schema import OptimisationConfig
from pipeline.studies.optimisation.search import BASE, BETTER

#: Columns of parameters or objectives with their labels.
Labels = Mapping[str, str]


def optimisation_page(
    document: OptimisationDocument,
    settings: OptimisationConfig,
    front: pd.DataFrame,
    slices: pd.DataFrame,
) -> dict[str, Any]:
    """Return the content of `optimisation.html`.

    `front` is the table of the front (`pipeline.studies.optimisation.search`), `slices` are
    outcomes along the parameters through the chosen designs.
    """
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
        shown = [line("front", front[y], x=front[x], colour=fig.BLUE, width=3.0, points=True)]
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
