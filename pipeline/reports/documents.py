"""What the JSON documents of a run hold, as far as anything reads them again.

A document may have further keys. `docs/formats.md` describes the files.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    RootModel,
    Tag,
    model_validator,
)

from foundation.errors import InputError
from foundation.loads import COMPARTMENTS, LOAD_COLUMNS
from pipeline.combinations import LOADS, MOTION, PRESSURES
from pipeline.reports.units import OUTPUTS, QUANTITIES, outputs_of
from surrogates.space import ReferencePath
from surrogates.validation import AT_LOAD_COLUMNS

#: Models in the order of the report.
MODELS = ("original", "surrogate")
_KNOWN_AT_LOAD = ("superior_m", *LOAD_COLUMNS, *AT_LOAD_COLUMNS)

# Whatever a run writes in SI units is far within these; beyond, squares are infinite.
Number = Annotated[float, Field(ge=-1e30, le=1e30)]
Count = Annotated[int, Field(ge=-(2**53), le=2**53)]
Known = Number | None


def _has(*names: str) -> AfterValidator:
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


class Figures(Part):
    """Errors of a quantity."""

    rmse: Known
    mae: Known
    maximum: Known
    nrmse: Known
    q2: Known
    points: Count


def _height_known(figures: dict[str, Figures]) -> dict[str, Figures]:
    height = figures["superior_m"]
    if height.rmse is None or height.maximum is None:
        raise InputError("superior_m: expected its rmse and maximum, found null")
    return figures


class Worst(Part):
    """A sample with a large error."""

    index: Count
    flexion_deg: Number
    adduction_deg: Number
    rotation_deg: Number
    anterior_mm: Number
    lateral_mm: Number
    axial_load_N: Number
    error_N: Number
    standard_error_N: Known
    reason: str


class Crossed(Part):
    """Cross-validation of a group of outputs."""

    kind: str
    points: Count
    rmse: list[Known]
    coverage: list[Known]


class Standardised(Part):
    """Quantiles of the standardised residuals."""

    normal: list[Number]
    held_out: list[Number]

    @model_validator(mode="after")
    def _pairs(self) -> Self:
        if len(self.normal) != len(self.held_out):
            raise InputError("expected as many held-out quantiles as normal ones")
        return self


class Compartment(Part):
    """How well a surrogate does in a compartment."""

    points: Count
    feasible: Count
    at_pose: Annotated[dict[str, Figures], _has(*LOAD_COLUMNS)]
    at_pose_all: Annotated[dict[str, Figures], _has(*LOAD_COLUMNS)]
    at_load: Annotated[dict[str, Figures], _has(*_KNOWN_AT_LOAD), AfterValidator(_height_known)] = (
        Field(default_factory=dict)
    )
    coverage: Annotated[dict[str, Known], _has(*LOAD_COLUMNS)]
    standardised: Standardised
    cross_validation: dict[str, Crossed]
    worst: list[Worst]


class Judged(Part):
    """A surrogate as `pipeline.assessment.assess` judges it."""

    formulation: str
    family: str
    fit_seconds: Known
    compartments: Annotated[dict[str, Compartment], _has(*COMPARTMENTS)]

    @model_validator(mode="after")
    def _outputs(self) -> Self:
        for part in self.compartments.values():
            for group, found in part.cross_validation.items():
                names = group.partition(",")[0].split("+")
                if not set(names) <= OUTPUTS.keys():
                    raise InputError(f"cross_validation: unknown outputs {group!r:.60}")
                count = len(outputs_of(group, self.formulation))
                if {len(found.rmse), len(found.coverage)} != {count}:
                    raise InputError(f"cross_validation: expected {count} numbers for {group!r}")
        return self


class Round(Part):
    """What the surrogates of a round were fitted to, and their errors."""

    samples: Count
    load_error: Known = None
    height_um: Known = None


class Compared(Part):
    """A formulation of `validate --formulations`."""

    formulation: str
    family: str
    pose_at: str
    scope: str
    samples: Count
    touch_points: bool = False
    total_load_nrmse: Known = None
    worst_load_nrmse: Known = None
    largest_error: Known = None
    height_rmse_um: Known = None
    fit_seconds: Known = None
    evaluation_us: Known = None
    failed: str | None = None


class Validation(Part):
    """`validation.json`."""

    models: Annotated[list[Judged], Field(min_length=1)]
    first: Judged
    learning_curve: list[Round]
    formulations: list[Compared] | None = None


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
    """What a simulation cost, by `dynamics.result.Statistics`."""

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
    in_contact: Annotated[dict[str, Count], _has(*COMPARTMENTS)]
    out_of_contact: Count
    no_answer: Count
    outside_space: Count
    not_given: Annotated[list[str], AfterValidator(_quantities)]
    ignored_columns: list[str]
    errors_found: Annotated[dict[str, RowErrors], _has(*COMPARTMENTS)] | None


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
    counts: Annotated[dict[str, Counts], _has(*COMPARTMENTS, "total")]
    seconds: dict[str, Number]
    original: Annotated[FromModel | FromTable, Field(discriminator="kind")] = FromModel()


class Change(Part):
    """How far a quantity is off over a cycle."""

    rms: Number
    peak: Annotated[float, Field(ge=0.0, le=1e30)]


class Ranged(Change):
    """The same, of a coordinate."""

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
    loads: Annotated[dict[str, Change], _has(*LOADS), AfterValidator(_loaded)]
    motion: Annotated[dict[str, Ranged], _has(*MOTION)]
    pressure: Annotated[dict[str, Peaked], _has(*PRESSURES)]
    wear: Annotated[
        dict[str, Annotated[list[Number], Field(min_length=2, max_length=2)]], _has(*MODELS)
    ]
    statistics: Annotated[dict[str, Spent], _has(*MODELS)]
    flags: Annotated[dict[str, list[str]], _has(*MODELS)]


def _ending(row: Any) -> str:
    return "ended" if isinstance(row, dict) and row.get("failure") is None else "failed"


AnyRow = Annotated[
    Annotated[Failed, Tag("failed")] | Annotated[Ended, Tag("ended")], Discriminator(_ending)
]


class Combinations(Part):
    """`combinations.json`."""

    wear_factor_per_Pa: Number
    combinations: list[AnyRow]


class StageTimes(RootModel[dict[str, Number]]):
    """`times.json`: what the stages of an interrupted run took [s]."""

    model_config = ConfigDict(strict=True)


class StudyInputs(Part):
    """`inputs.json` of a study."""

    source: str
