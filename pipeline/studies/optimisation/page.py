"""Page of a search of designs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import Any

import pandas as pd

from foundation.base.wording import counted
from pipeline.design_space.document import TOLD
from pipeline.reports import figures as fig
from pipeline.reports.charts import Chart, chart, line, lines_of
from pipeline.reports.elastic_layer import signed
from pipeline.reports.figures import Picture
from pipeline.reports.sections import (
    Block,
    Page,
    Section,
    charts,
    heading,
    notes,
    table,
    text,
    tiles,
)
from pipeline.reports.units import given, number
from pipeline.store.samples import OK
from pipeline.studies.optimisation.document import (
    MODELS,
    ChosenDesign,
    OptimisationDocument,
    chosen_of,
    contradictions,
    counted_designs,
    parameter_words,
)
from pipeline.studies.optimisation.outputs import DESIGN_OUTPUTS, EXPECTED, expected_error
from pipeline.studies.optimisation.schema import OptimisationConfig
from pipeline.studies.optimisation.search import BASE, BETTER

#: Columns of parameters and objectives with their labels.
Labels = Mapping[str, str]
_WORDS = {"finite_element": "finite elements", "original": "original", "surrogate": "surrogate"}


def optimisation_page(
    document: OptimisationDocument,
    settings: OptimisationConfig,
    front: pd.DataFrame,
    slices: pd.DataFrame,
) -> Page:
    """Return the page of a search.

    `front` is the table of the front (`pipeline.studies.optimisation.search`), `slices` are
    outcomes along the parameters through the chosen designs.
    """
    names = [each["name"] for each in document.parameters]
    parameters = {name: _label(*parameter_words(name)) for name in names}
    objectives = {each.column: _label(each.label, each.unit) for each in document.objectives}
    return Page(
        document.name,
        "search of designs",
        f"Search of the designs of {document.run}",
        [
            Section("The best designs", _best(document)),
            Section("Front", _front(document, front, objectives)),
            Section(
                "Slices",
                [
                    text(
                        "Each objective along each parameter by the surrogate, the other "
                        "parameters as in the design. A gap has no gait cycle, or violates a "
                        "constraint of the designs."
                    ),
                    charts(_slices(document, slices, parameters, objectives)),
                ],
            ),
            Section("Verified designs", _verified(document, settings, parameters)),
            Section("All designs of the front", _all(front, parameters | objectives)),
            Section("Settings", _settings(document)),
        ],
        _first(document),
    )


def _label(label: str, unit: str) -> str:
    return f"{label} [{unit}]" if unit else label


def _change(percent: float | None) -> str:
    return number(None) if percent is None else f"{signed(percent)} %"


def _first(document: OptimisationDocument) -> list[str]:
    """Return what a reader must know before all else."""
    doubted = [each.name for each in document.chosen if each.doubts]
    found = [f"{text}. The search sees the surrogate alone." for text in contradictions(document)]
    if chosen_of(document, BASE) is None:
        reason = document.base_reason or "it has no gait cycle"
        found.insert(0, f"There is no base design to compare with: {reason}.")
    for each in document.chosen:
        if each.reason:
            found.append(f"{each.name}: no gait cycle by the original model: {each.reason}")
        if each.flagged_instants:
            found.append(
                f"{each.name}: {each.flagged_instants} of {counted(each.instants, 'instant')} "
                "outside of the trained domain."
            )
    if doubted:
        found.append(
            f"{counted(len(doubted), 'verified design')} with an expected error of the surrogate "
            f"above the accepted one: {', '.join(doubted)}. Compare the surrogate with the "
            "original model below."
        )
    return found


def _best(document: OptimisationDocument) -> Iterator[Block]:
    """Yield the ranges of the objectives, and what the better design changes."""
    over = f", {{}} of {document.cycles} gaits" if document.cycles > 1 else ""
    yield text(f"{counted_designs(document.counts)}.", "lead")
    yield tiles(
        (
            each.label,
            f"{number(each.least)} to {number(each.largest)} {each.unit}",
            f"over the front; {each.goal} wanted{over.format(each.statistic.replace('_', ' '))}",
        )
        for each in document.objectives
    )
    base, better = (chosen_of(document, name) for name in (BASE, BETTER))
    if base is not None and better is not None:
        changes = better.against_base or {}
        yield tiles(
            (
                f"Better design: {each.label}",
                _change(changes[each.column]["surrogate"]),
                f"{number(base.surrogate[each.column])} to "
                f"{number(better.surrogate[each.column])} {each.unit}"
                + "".join(
                    f"; by the {_WORDS[model]} {_change(change)}"
                    for model in MODELS[1:]
                    if (change := changes[each.column][model]) is not None
                ),
            )
            for each in document.objectives
        )
    elif base is not None:
        yield text("No design is better than the base design in an objective and nowhere worse.")


def _front(
    document: OptimisationDocument, front: pd.DataFrame, objectives: Labels
) -> Iterator[Block]:
    yield text(
        "No other design that was evaluated is better than one of these in an objective without "
        "being worse in another."
    )
    yield charts(_pairs(document, front, objectives), "broad")


def _pairs(
    document: OptimisationDocument, front: pd.DataFrame, objectives: Labels
) -> Iterator[Picture]:
    """Yield the front, and the verified designs, in each pair of objectives."""
    for x, y in combinations(objectives, 2):
        shown = [line("front", front[y], x=front[x], colour=fig.BLUE, width=3.0, points=True)]
        named = {each.name: [each.surrogate[y]] for each in document.chosen}
        places = {each.name: [each.surrogate[x]] for each in document.chosen}
        shown += lines_of(named, places, width=5.0, points=True)
        words = f"Front: {objectives[y]} over {objectives[x]}"
        yield chart(
            f"front-{x}-{y}", words, objectives[x], objectives[y], shown, size=fig.WIDE, title=""
        )


def _slices(
    document: OptimisationDocument, slices: pd.DataFrame, parameters: Labels, objectives: Labels
) -> Iterator[Picture]:
    """Yield each objective along each parameter, a line for each verified design."""
    walks = slices["status"] == OK
    for y, x in product(objectives, parameters):
        lines, places = dict[str, Any](), dict[str, Any]()
        for each in document.chosen:
            own = (slices["design"] == each.design) & (slices["along"] == x)
            lines[each.name] = slices[y].where(walks)[own]
            places[each.name] = slices[x][own]
        words = f"{objectives[y]} along {parameters[x]}"
        shown: list[Chart] = lines_of(lines, places)
        yield chart(f"slice-{y}-{x}", words, parameters[x], objectives[y], shown)


def _verified(
    document: OptimisationDocument, settings: OptimisationConfig, parameters: Labels
) -> Iterator[Block]:
    chosen, verify = document.chosen, document.verify
    if verify == "none":
        yield text(
            "The configuration asks for no verification; the numbers are those of the surrogate."
        )
    else:
        gaits = f" over the same {document.cycles} gaits" if document.cycles > 1 else ""
        yield text(
            f"Each design simulated with the original model of the run{gaits}. The expected error "
            "is one that few designs like this one exceed."
        )
    yield table(
        ["design", "chosen as", *parameters.values(), "flagged instants"],
        ([each.name, each.role, *each.values.values(), each.flagged_instants] for each in chosen),
        digits=4,
    )
    yield notes(
        "Expected errors above the accepted ones",
        (f"{each.name}: {'; '.join(each.doubts)}" for each in chosen if each.doubts),
    )
    models = MODELS[: {"none": 1, "springs": 2}.get(verify, 3)]
    yield table(
        [
            *("design and output", "surrogate", "original", "difference", "expected error"),
            *(f"against the base,\n{_WORDS[model]}" for model in models),
        ],
        (
            [
                f"{each.name}: {_label(measure.label, measure.unit)}",
                each.surrogate[measure.column],
                (each.original or {}).get(measure.column),
                _change((each.differences or {}).get(measure.column)),
                _expected(each, measure.output),
                *(
                    _change((each.against_base or {}).get(measure.column, {}).get(model))
                    for model in models
                ),
            ]
            for each in chosen
            for measure in settings.measures
        ),
        digits=4,
    )
    yield from _elements(document)
    yield text(
        "The configuration of each design is designs/NAME/design.toml, from which `knee-contact "
        "run` makes a run of its own.",
        "note",
    )


def _expected(design: ChosenDesign, output: str) -> str:
    error = expected_error(output, design.expected)
    return number(None) if error is None else f"{number(error, 2)} %"


def _elements(document: OptimisationDocument) -> Iterator[Block]:
    """Yield the gait cycles by finite elements, if there are any."""
    found = {each.name: each.elements for each in document.chosen if each.elements is not None}
    if not found:
        return
    yield heading("Finite elements")
    yield text(
        "The gait of the run with finite elements of the layers, springs (the original model of "
        "the run) and the surrogate.",
        "note",
    )
    yield notes(
        "Designs without a gait cycle",
        (f"{name}: {each.reason}" for name, each in found.items() if each.reason),
    )
    own = {
        f"{name},\n{_WORDS[model]}": getattr(each, model)
        for name, each in found.items()
        for model in reversed(MODELS)
        if not each.reason
    }
    yield table(
        ["output", *own],
        (
            [_label(output.label, output.unit), *(values[key] for values in own.values())]
            for key, output in DESIGN_OUTPUTS.items()
            if own and all(key in values for values in own.values())
        ),
        digits=4,
    )


def _all(front: pd.DataFrame, columns: Labels) -> Iterator[Block]:
    errors = {
        f"{EXPECTED}{key}": words for key, words in TOLD.items() if f"{EXPECTED}{key}" in front
    }
    yield text("front.csv and front.parquet in the folder of the search have all outputs.")
    yield table(
        [
            *("design", "name", *columns.values()),
            *(f"expected error, {words} [{unit}]" for words, unit in errors.values()),
            *("flagged instants", "errors above the accepted ones"),
        ],
        front[["design", "name", *columns, *errors, "flagged_instants", "doubts"]].itertuples(
            index=False
        ),
        digits=4,
    )


def _settings(document: OptimisationDocument) -> Iterator[Block]:
    refined, seconds = document.refined, document.seconds
    yield text(
        f"NSGA-II: {counted(document.generations, 'generation')} of "
        f"{counted(document.population, 'design')}, seed {document.seed}; "
        f"{number(seconds['search'])} s."
    )
    yield text(
        f"Refinement: SLSQP from {counted(int(refined['designs']), 'design')} of the front, "
        f"{int(refined['improved'])} improved in all objectives, by at most "
        f"{number(100.0 * refined['largest_gain'], 2)} % of the ranges of the front; "
        f"{number(seconds['refinement'])} s."
    )
    gaits = "the gait of the run"
    if document.cycles > 1:
        gaits = f"{document.cycles} of a Latin hypercube, the same for all designs"
    yield text(f"Gaits: {gaits}.")
    for limit in document.limits:
        yield text(f"Limit: {limit.label} {limit.end} {given(limit.value)} {limit.unit}")
