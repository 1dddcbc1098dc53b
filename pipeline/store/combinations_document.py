"""What `combinations.json` holds, as far as anything reads it again."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    Tag,
)

from foundation.errors import InputError
from pipeline.stages.combinations import LOADS, MOTION, PRESSURES
from pipeline.store.run_documents import MODELS, Count, Number, Part, has


class Change(Part):
    """How far a quantity is off over a cycle."""

    rms: Number
    peak: Annotated[float, Field(ge=0.0, le=1e30)]


class Ranged(Part):
    """The same, of a coordinate."""

    rms: Number
    range: Number


class Peaked(Change):
    """The same, of a pressure."""

    surrogate_peak: Number


class Failure(Part):
    """Why a model could not be taken through a cycle."""

    model: str
    reason: str


class Spent(Part):
    """What a cycle of a combination cost."""

    evaluations: Count
    steps: Count
    elapsed: Annotated[float, Field(gt=0.0, le=1e30)]


def _loaded(loads: dict[str, Change]) -> dict[str, Change]:
    if not any(load.peak > 0.0 for load in loads.values()):
        raise InputError("expected a load with a peak above 0, found none")
    return loads


class Failed(Part):
    """A combination of inputs that a model could not be taken through."""

    name: str
    factors: dict[str, Number]
    failure: Failure


class Ended(Part):
    """A combination of inputs that both models were taken through."""

    name: str
    factors: dict[str, Number]
    failure: None
    loads: Annotated[dict[str, Change], has(*LOADS), AfterValidator(_loaded)]
    motion: Annotated[dict[str, Ranged], has(*MOTION)]
    pressure: Annotated[dict[str, Peaked], has(*PRESSURES)]
    wear: Annotated[
        dict[str, Annotated[list[Number], Field(min_length=2, max_length=2)]], has(*MODELS)
    ]
    statistics: Annotated[dict[str, Spent], has(*MODELS)]
    flags: Annotated[dict[str, list[str]], has(*MODELS)]


def _ending(row: Any) -> str:
    return "ended" if isinstance(row, dict) and row.get("failure") is None else "failed"


AnyRow = Annotated[
    Annotated[Failed, Tag("failed")] | Annotated[Ended, Tag("ended")], Discriminator(_ending)
]


class Combinations(Part):
    """`combinations.json`."""

    wear_factor_per_Pa: Number
    combinations: list[AnyRow]
