"""`optimisation.json`: what a search of designs found."""

from __future__ import annotations

from typing import Any

from foundation.base.wording import counted
from pipeline.store.run_documents import Computed

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
    """The gait cycle of a design with finite elements: outputs of three models, by column.

    `reason` tells why there is none, else "".
    """

    reason: str
    node_spacing_mm: float | None
    finite_element: dict[str, float]
    original: dict[str, float]
    surrogate: dict[str, float]


class ChosenDesign(Computed):
    """A design that is verified.

    `surrogate` and `original` have the mean of each output over the gaits and the measures of
    objectives and limits, by column; `differences` are those of the surrogate from the original
    [%], `against_base` those of each of `MODELS` from the base design [%]. `expected` are the
    errors of `pipeline.design_space.errors`, `doubts` those that exceed what is accepted.
    """

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
    """`optimisation.json`: settings, counts, front, and the designs that are verified.

    `base_reason` tells why the base configuration is no design of the run, else "".
    `refined` has the number of designs that the gradient method was tried from, that it improved,
    and the largest part of the front's ranges that all objectives gained.
    """

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
