"""What the JSON documents of a run hold, as far as anything reads them again.

A document may have further keys. `docs/formats.md` describes the files.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    model_validator,
)

from foundation.errors import InputError
from foundation.loads import COMPARTMENTS
from pipeline.reports.units import QUANTITIES
from surrogates.sampling.space import ReferencePath

#: Models in the order of the report.
MODELS = ("original", "surrogate")
# Whatever a run writes in SI units is far within these; beyond, squares are infinite.
Number = Annotated[float, Field(ge=-1e30, le=1e30)]
Count = Annotated[int, Field(ge=-(2**53), le=2**53)]
Known = Number | None


def has(*names: str) -> AfterValidator:
    """Return the check that an object has just these keys."""

    def check(value: dict[str, Any]) -> dict[str, Any]:
        for name in names:
            if name not in value:
                raise InputError(f"lacks {name!r}")
        for name in value:
            if name not in names:
                raise InputError(f"expected {', '.join(names)}, found {name!r:.60}")
        return value

    return AfterValidator(check)


class Part(BaseModel):
    """Base of all parts of a document: nothing is converted, further keys are let be."""

    model_config = ConfigDict(extra="allow", strict=True)


class PathKnots(Part):
    """`path.json`."""

    original: str = ""
    flexion_rad: Annotated[list[Number], Field(min_length=1)]
    coordinates_rad_m: list[Annotated[list[Number], Field(min_length=5, max_length=5)]]

    @model_validator(mode="after")
    def _path(self) -> Self:
        knots, rows = len(self.flexion_rad), len(self.coordinates_rad_m)
        if knots != rows:
            raise InputError(f"coordinates_rad_m: expected {knots} rows, found {rows}")
        ReferencePath.through(self.flexion_rad, self.coordinates_rad_m)
        return self


class Cost(Part):
    """What a simulation cost, by `dynamics.simulator.result.Statistics`."""

    steps: Count
    derivatives: Count
    jacobians: Count
    evaluations: Count
    elapsed: Number


class Difference(Part):
    """How far two cycles are apart in a column."""

    column: str
    quantity: str
    unit: str
    rms_difference: Number
    largest_difference: Number
    range: Number
    peak: Number
    rms_over_range: Known


class Speed(Part):
    """Times of an evaluation."""

    original_us: Number
    surrogate_us: Number
    ratio: Number


class Simulation(Part):
    """`simulation.json`."""

    statistics: Annotated[dict[Literal["original", "surrogate"], Cost], Field(min_length=1)]
    differences: list[Difference]
    speed: Speed | None
    flags: dict[str, list[str]] = Field(default_factory=dict)


class Triangles(Part):
    """Sizes of the meshes."""

    femur: Count
    tibia: Count


class Counts(Part):
    """Samples through the stages."""

    candidates: Count
    first: Count
    first_failed: Count
    predicted: Count
    dropped: Count
    left: Count
    evaluated: Count
    evaluated_failed: Count
    infeasible: Count
    training: Count
    gait: Count = 0


class FromModel(Part):
    """The original model was what the surrogate was made of."""

    kind: Literal["model"] = "model"


class RowErrors(Part):
    """Errors found in the rows of a table."""

    height_m: Number
    force_x_over_axial: Number
    force_z_over_axial: Number


def _quantities(names: list[str]) -> list[str]:
    for name in names:
        if name not in QUANTITIES:
            raise InputError(f"expected names of quantities, found {name!r:.60}")
    return names


class FromTable(Part):
    """A table of poses and loads was."""

    kind: Literal["table"]
    file: str
    rows: Count
    in_contact: Annotated[dict[str, Count], has(*COMPARTMENTS)]
    out_of_contact: Count
    no_answer: Count
    outside_space: Count
    not_given: Annotated[list[str], AfterValidator(_quantities)]
    ignored_columns: list[str]
    errors_found: Annotated[dict[str, RowErrors], has(*COMPARTMENTS)] | None


class RunRecord(Part):
    """`run.json`."""

    name: str
    seed: Count
    held_out_seed: Count
    workers: Count
    python: str
    packages: dict[str, str]
    hashes: dict[str, str]
    triangles: Triangles | None
    counts: Annotated[dict[str, Counts], has(*COMPARTMENTS, "total")]
    seconds: dict[str, Number]
    original: Annotated[FromModel | FromTable, Field(discriminator="kind")] = FromModel()


class StageTimes(RootModel[dict[str, Number]]):
    """`times.json`: what the stages of an interrupted run took [s]."""

    model_config = ConfigDict(strict=True)


class StudyInputs(Part):
    """`inputs.json` of a study."""

    source: str
