"""Sections 5 and 6: table 2, weighted marks of four kinds of contact models."""

from __future__ import annotations

import numpy as np

from benchmarks.literature.statements import Statement, misprint
from pipeline.studies.contact_models.figures import weighted_sum

CRITERIA = (
    "accuracy",
    "computational speed",
    "connectability",
    "speed of forming",
    "versatility",
    "need of add-ons",
    "theory",
    "development",
)
WEIGHTS = (0.30, 0.20, 0.10, 0.10, 0.09, 0.08, 0.07, 0.06)
MARKS = {
    "analytical": (0.55, 0.85, 0.70, 0.85, 0.65, 0.90, 0.80, 0.40),
    "foundation": (0.85, 0.55, 0.80, 0.65, 0.75, 0.50, 0.65, 0.65),
    "finite elements": (0.95, 0.40, 0.80, 0.60, 0.80, 0.50, 0.60, 0.75),
    "surrogate": (0.80, 0.75, 0.80, 0.45, 0.80, 0.50, 0.55, 0.75),
}
PRINTED = {"analytical": 0.7005, "foundation": 0.702, "finite elements": 0.704, "surrogate": 0.724}
#: Half of the last printed digit.
_ROUNDING = 5e-5


def total(model: str) -> float:
    """Return the weighted sum of the printed marks of a model, as `compare` computes sums [1]."""
    found = weighted_sum(
        dict(zip(CRITERIA, MARKS[model], strict=True)), dict(zip(CRITERIA, WEIGHTS, strict=True))
    )
    assert found is not None  # the weights are positive
    return found


def _evenly() -> Statement:
    weights = dict(zip(CRITERIA, WEIGHTS, strict=True))
    accuracy, speed = weights["accuracy"], weights["computational speed"]
    forming = weights["speed of forming"]
    ordered = bool((np.diff(WEIGHTS) <= 0.0).all())
    return Statement(
        "table 2, section 5",
        "eight weights, in the order of importance, sum 1; evenly between accuracy and "
        "computational speed",
        f"sum {sum(WEIGHTS):.2f}, {'none' if ordered else 'one'} above the one before; accuracy "
        f"{accuracy:.2f}, computational speed {speed:.2f}, with the speed of forming "
        f"{speed + forming:.2f}",
        ordered and abs(sum(WEIGHTS) - 1.0) < 1e-9 and abs(accuracy - speed) < 1e-9,
        "accuracy equals computational speed only together with the speed of forming",
    )


def _surrogate() -> Statement:
    found = total("surrogate")
    missing = PRINTED["surrogate"] - found
    one = [
        f"{criterion} {mark + missing / weight:.2f}"
        for criterion, mark, weight in zip(CRITERIA, MARKS["surrogate"], WEIGHTS, strict=True)
        if abs(20.0 * (mark + missing / weight) - round(20.0 * (mark + missing / weight))) < 1e-6
    ]
    return misprint(
        "table 2, surrogate",
        "sum 0.724, 72.40 %",
        "0.7105, 71.05 %, of the marks as printed",
        f"the printed marks with the printed weights sum to {found:.4f}, {100.0 * missing:.2f} "
        f"points less; the one mark in steps of 0.05 that gives 0.724: {', '.join(one)}",
        abs(found - 0.7105) < _ROUNDING < abs(missing),
        "either the sum or a mark is misprinted",
    )


def _conclusions() -> Statement:
    sums = {name: total(name) for name in MARKS}
    best, second = sorted(sums, key=lambda name: sums[name], reverse=True)[:2]
    others = [name for name in MARKS if name != "surrogate"]
    both = {name: min(marks[:2]) for name, marks in MARKS.items()}
    lowest = [
        min(MARKS, key=lambda name, k=k: MARKS[name][k])  # type: ignore[misc]
        for k, criterion in enumerate(CRITERIA)
        if criterion in ("speed of forming", "theory")
    ]
    return Statement(
        "table 2, section 6",
        "analytical 0.7005, foundation 0.702, finite elements 0.704, about 70 % each; the "
        "surrogate suits best, alone both fast and accurate, lowest in the speed of forming and in "
        "theory",
        ", ".join(f"{name} {sums[name]:.4f}" for name in others)
        + f"; best is {best} with {sums[best]:.4f}, {100.0 * (sums[best] - sums[second]):.2f} "
        f"points before {second} (printed: 2.00); lesser mark of accuracy and computational speed "
        + ", ".join(f"{mark:.2f} {name}" for name, mark in both.items()),
        all(abs(sums[name] - PRINTED[name]) < _ROUNDING for name in others)
        and all(round(100.0 * sums[name]) == 70 for name in others)
        and {best, max(both, key=lambda name: both[name]), *lowest} == {"surrogate"},
        "with the sum as computed the lead is a third of that printed",
    )


STATEMENTS = (
    _evenly,
    _surrogate,
    _conclusions,
)
