"""Which designs of a search are verified: the base design, a better one, and some of the front."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray, IntArray
from pipeline.errors import StageError
from pipeline.store.samples import OK
from pipeline.studies.optimisation.front import better_than, non_dominated, spread_over
from pipeline.studies.optimisation.problem import DesignProblem

#: Names of the base design and of the one that improves most on it.
BASE, BETTER = "base", "better"
_BETTER_WORDS = "largest improvement on the base design in all objectives"


class Pick(NamedTuple):
    """A design that is verified: its name, what it is chosen for, and its number."""

    name: str
    role: str
    design: int


class Front(NamedTuple):
    """The non-dominated designs of a search, with objectives (N, M) [any unit]."""

    #: Numbers of the designs, by the first objective from its best value on, (N,).
    places: IntArray
    #: To minimise, (N, M) [any unit].
    objectives: FloatArray
    #: Ranges of the objectives, > 0, (M,) [any unit].
    span: FloatArray


def front_of(problem: DesignProblem, designs: pd.DataFrame) -> Front:
    """Return the non-dominated designs of all that violate no constraint.

    Raises `StageError` if there are none.
    """
    allowed = np.flatnonzero(problem.allowed(designs))
    if not len(allowed):
        raise StageError(_why_none(problem, designs))
    objectives = problem.objectives(designs)[allowed]
    kept = non_dominated(objectives)
    kept = kept[np.argsort(objectives[kept, 0], kind="stable")]
    found = objectives[kept]
    span = np.ptp(found, axis=0)
    # One design has no range: one percent of its objectives stands in.
    span = np.where(span > 0.0, span, np.maximum(0.01 * np.abs(found[0]), 1e-12))
    return Front(allowed[kept], found, span)


def _why_none(problem: DesignProblem, designs: pd.DataFrame) -> str:
    """Return why no design is allowed, in words."""
    walked = designs[designs["status"] == OK]
    if walked.empty:
        reasons = designs.loc[designs["status"] != OK, "reason"]
        return f"no design has a gait cycle; the first: {reasons.iloc[0]}"
    margins = problem.margins(walked)
    nearest = int(np.argmax(margins.min(axis=1)))
    measure, bound, sign = problem.settings.bounds[int(np.argmin(margins[nearest]))]
    return (
        f"no design keeps the limits; the nearest one has {measure.column} = "
        f"{walked[measure.column].iloc[nearest]:.4g} (limit: at {'most' if sign > 0 else 'least'} "
        f"{bound:g}); change [[optimisation.limit]] or search more generations"
    )


def picked(
    problem: DesignProblem, designs: pd.DataFrame, front: Front, base: int | None
) -> list[Pick]:
    """Return the designs that are verified, each once.

    `base` is the number of the base design, if it has a gait cycle.
    """
    found: list[Pick] = []
    if base is not None:
        found.append(Pick(BASE, "base configuration", base))
        own = problem.objectives(designs)[base]
        better = better_than(front.objectives, own)
        if better is not None:
            found.append(Pick(BETTER, _BETTER_WORDS, int(front.places[better])))
    known = {pick.design for pick in found}
    places = sorted(spread_over(front.objectives, problem.settings.chosen))
    spread = [k for k in places if int(front.places[k]) not in known]
    best = np.argmin(front.objectives, axis=0)
    for number, k in enumerate(spread, start=1):
        labels = [
            measure.label
            for measure, place in zip(problem.settings.objectives, best, strict=True)
            if place == k
        ]
        role = f"best {', '.join(labels)}" if labels else "compromise"
        found.append(Pick(f"front-{number}", role, int(front.places[k])))
    return found
