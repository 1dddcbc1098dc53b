"""Schemas of the JSON documents of a run: the stages write them, reports and stages read them.

A document may have further keys. `docs/formats.md` describes the files.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    model_validator,
)

from foundation.base.errors import InputError
from foundation.base.findings import Finding
from foundation.base.findings import Level as FindingLevel
from foundation.base.flags import FlagKind
from foundation.base.loads import COMPARTMENTS, WRENCH_COLUMNS, check_names
from foundation.base.quantities import unit_token
from pipeline.files import content_of, plain
from pipeline.store.quantities import CATALOGUE
from surrogates.sampling.space import ReferencePath

#: Models in the order of the report.
MODELS = ("original", "surrogate")
#: Loads compared: the wrench of the knee, and the shares of the compartments in the axial force.
LOADS = (
    *(f"total_{column}" for column in WRENCH_COLUMNS),
    *(f"{name}_force_y_N" for name in COMPARTMENTS),
)
PRESSURES = tuple(f"{name}_peak_pressure_Pa" for name in COMPARTMENTS)
#: All columns compared over the cycle.
COMPARED = (
    *("adduction_rad", "rotation_rad", "anterior_m", "superior_m", "lateral_m"),
    *(*LOADS, *PRESSURES, "total_area_m2"),
)

# Numbers of a run in SI units are far within these bounds; beyond, squares are infinite.
Number = Annotated[float, Field(ge=-1e30, le=1e30)]
Count = Annotated[int, Field(ge=-(2**53), le=2**53)]
NumberOrNone = Number | None


def keys(*names: str) -> AfterValidator:
    """Return the check that an object has exactly these keys; it puts them in this order."""

    def check(value: dict[str, Any]) -> dict[str, Any]:
        for name in names:
            if name not in value:
                raise InputError(f"lacks {name!r}")
        for name in value:
            if name not in names:
                raise InputError(f"expected {', '.join(names)}, found {name!r:.60}")
        return {name: value[name] for name in names}

    return AfterValidator(check)


def part_keys(*others: str) -> AfterValidator:
    """Return the check that the keys of an object are compartments, and `others` after them."""

    def check(value: dict[str, Any]) -> dict[str, Any]:
        names = tuple(name for name in value if name not in others)
        pair = not names or not set(names).isdisjoint(COMPARTMENTS)
        exactly: Any = keys(*(COMPARTMENTS if pair else check_names(names)), *others)
        return dict(exactly.func(value))

    return AfterValidator(check)


class Part(BaseModel):
    """Base of all parts of a document: values are not converted, further keys are allowed."""

    model_config = ConfigDict(extra="allow", strict=True)

    def content(self) -> dict[str, Any]:
        """Return the content for JSON; keys that were not set are left out."""
        return content_of(self)

    def whole(self) -> Self:
        """Return the part with all keys set, so that none is left out."""
        return self.model_copy(update=dict(self))


class Computed(Part):
    """Base of the parts of documents of studies; values of NumPy become plain, NaN None."""

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, content: Any) -> Any:
        return plain(content)


class PathKnots(Part):
    """`path.json`: knots of the reference path, and the warnings of the search, if any."""

    original: str | None = None
    warnings: list[str] = Field(default_factory=list)
    flexion_rad: Annotated[list[Number], Field(min_length=1)]
    coordinates_rad_m: list[Annotated[list[Number], Field(min_length=5, max_length=5)]]

    @property
    def path(self) -> ReferencePath:
        """Reference path through the knots."""
        return ReferencePath.through(self.flexion_rad, self.coordinates_rad_m)

    @model_validator(mode="after")
    def _check_path(self) -> Self:
        knots, rows = len(self.flexion_rad), len(self.coordinates_rad_m)
        if knots != rows:
            raise InputError(f"coordinates_rad_m: expected {knots} rows, found {rows}")
        ReferencePath.through(self.flexion_rad, self.coordinates_rad_m)
        return self


class StoredFinding(Part):
    """Finding of the checks on a study: `foundation.base.findings.Finding` without its code."""

    level: FindingLevel
    about: str
    text: str

    @classmethod
    def of(cls, finding: Finding) -> Self:
        """Return the content of a finding."""
        return cls(level=finding.level, about=finding.about, text=finding.text)

    @property
    def words(self) -> str:
        """The finding on one line."""
        return f"{self.about}: {self.text}" if self.about else self.text


class Cost(Part):
    """Cost of a simulation: `dynamics.simulator.result.Statistics`."""

    steps: Count
    rejected: Count
    derivatives: Count
    jacobians: Count
    evaluations: Count
    elapsed: Annotated[float, Field(gt=0.0, le=1e30)]


class Difference(Part):
    """Difference of the surrogate's cycle from the original's, with range and peak of it [SI]."""

    rms: Number
    largest: Number
    range: Number
    peak: Annotated[float, Field(ge=0.0, le=1e30)]
    surrogate_peak: Number


def _compared(value: dict[str, Any]) -> dict[str, Any]:
    return dict(keys(*COMPARED).func(value)) if value else value  # type: ignore[call-arg]


#: Differences in all columns of `COMPARED`, or none where a cycle lacks.
Differences = Annotated[dict[str, Difference], AfterValidator(_compared)]


class Speed(Part):
    """Times of an evaluation with its Jacobian in a compiled loop, of a call from Python; ratio."""

    original_us: Number
    surrogate_us: Number
    surrogate_call_us: Number
    ratio: Number


class SpacingErrors(Part):
    """Errors of the node spacing, shares of the largest value."""

    force_share: Number
    peak_pressure_share: Number
    area_share: Number
    centre_m: Number
    poses: Count
    unresolved: Count


class NodeSpacing(Part):
    """Node spacing of finite elements [m] and its errors; `reason` says why errors are None."""

    spacing_m: Number
    coarser_m: Number
    errors: SpacingErrors | None
    reason: str = ""


class Resolution(Part):
    """Resolution of the pressure by the tibial mesh, where the pressure is highest.

    `across` are edges of triangles across the contact patch, the roughness is the RMS deviation of
    nearby pressures from a smooth surface, over the highest pressure.
    """

    across: Number
    roughness_percent: Number


class Simulation(Part):
    """`simulation.json`: cost of the gait cycle and differences of the models."""

    statistics: dict[str, Cost]
    flags: dict[str, list[str]] = Field(default_factory=dict)
    # Kind of each flag, and numbers of flagged and of all instants, of each model.
    flag_kinds: dict[str, list[Annotated[FlagKind, Field(strict=False)]]]
    flagged: dict[str, Annotated[list[Count], Field(min_length=2, max_length=2)]]
    differences: Differences
    speed: Speed | None
    # None with springs.
    node_spacing: NodeSpacing | None = None
    resolution: dict[str, Resolution] = Field(default_factory=dict)


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
    """The surrogate was made of a contact model."""

    kind: Literal["model"] = "model"


def _quantities(names: list[str]) -> list[str]:
    for name in names:
        if name not in CATALOGUE:
            raise InputError(f"expected names of quantities, found {name!r:.60}")
    return names


class FromTable(Part):
    """The surrogate was made of a table of poses and loads."""

    kind: Literal["table"]
    file: str
    rows: Count
    in_contact: Annotated[dict[str, Count], keys(*COMPARTMENTS)]
    out_of_contact: Count
    no_answer: Count
    outside_space: Count
    not_given: Annotated[list[str], AfterValidator(_quantities)]
    ignored_columns: list[str]


class RunRecord(Part):
    """`run.json`: versions, seeds, digests, counts and times of a run."""

    name: str
    date: str
    seed: Count
    held_out_seed: Count
    workers: Count
    python: str
    packages: dict[str, str]
    hashes: dict[str, str]
    triangles: Triangles | None
    counts: Annotated[dict[str, Counts], part_keys("total")]
    seconds: dict[str, Number]
    original: Annotated[FromModel | FromTable, Field(discriminator="kind")] = FromModel()
    remarks: list[StoredFinding]

    @property
    def not_given(self) -> list[str]:
        """Columns that the original model, a table, does not contain."""
        return [] if isinstance(self.original, FromModel) else self.original.not_given


class Failure(Part):
    """Model that failed in a cycle, and the reason."""

    model: str
    reason: str


class CombinationResult(Part):
    """A combination of inputs: cycles of both models compared, or the `failure` of a model."""

    name: str
    factors: dict[str, Number]
    failure: Failure | None = None
    differences: Differences = Field(default_factory=dict)
    #: By model, of the medial and the lateral compartment [m³ per cycle].
    wear: dict[str, Annotated[list[Number], Field(min_length=2, max_length=2)]] = Field(
        default_factory=dict
    )
    statistics: dict[str, Cost] = Field(default_factory=dict)
    flags: dict[str, list[str]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        known = (self.wear, self.statistics, self.flags)
        if self.failure is None and not (
            self.differences and all(entries.keys() == {*MODELS} for entries in known)
        ):
            raise InputError("expected both models compared, or the failure of one")
        return self


class Combinations(Part):
    """`combinations.json`: both models compared on all combinations of inputs."""

    wear_factor_per_Pa: Number
    combinations: list[CombinationResult]


#: File of a run directory.
ELASTIC_LAYER = "elastic_layer.json"


class LayerFigures(Part):
    """Contact model less elastic layer at equal axial load, over the elastic layer [1]."""

    peak_pressure_share: Number
    mean_pressure_share: Number
    area_share: Number
    stiffness_share: Number
    approach_share: Number


class LayerCompartment(Part):
    """Comparison of one compartment.

    Load and peak pressures are those at `instant_percent` of the cycle, where the contact model has
    its largest peak pressure; `at_peak` are the differences there, and `rms` those over all
    `poses`. `uncertainty_share` is how far the peak pressure of the reference itself is uncertain,
    `rough` whether the surface has ridges that eight nodes across the patch do not resolve.
    """

    instant_percent: Number
    load_N: Number
    peak_pressure_Pa: Number
    layer_peak_pressure_Pa: Number
    at_peak: LayerFigures
    rms: LayerFigures
    poses: Count
    uncertainty_share: Number


class ElasticLayer(Part):
    """`elastic_layer.json`: differences of a contact model from the elastic layer.

    `model` and `reference` name the contact model and what stands for the layer; `reason` says why
    there are no `compartments`.
    """

    model: str
    reference: str
    compartments: dict[str, LayerCompartment] = Field(default_factory=dict)
    reason: str = ""
    largest_strain_share: NumberOrNone = None


Level = Literal["trust", "care", "do not use"]
#: Levels of trust, the best first.
LEVELS: tuple[Level, ...] = ("trust", "care", "do not use")


class RuleFinding(Part):
    """Finding of a rule of the verdict, which judges a figure by limits, if there is a figure."""

    level: Literal[0, 1, 2]
    figure_percent: NumberOrNone
    reason: str
    remedy: str
    judges: bool = True


class JudgedPart(Part):
    """Part of a verdict: level of the worst finding, figure [%], and reasons."""

    what: str
    level: Level
    figure_percent: NumberOrNone
    sign: str
    reasons: list[str]
    remedies: list[str]
    text: str
    findings: list[RuleFinding]


class NextStep(Part):
    """What to do next, and the command."""

    text: str
    command: str


class OwnError(Part):
    """Error of the surrogate in a quantity of the cycle, relative or in the key `error_<unit>`."""

    column: str
    quantity: str = ""
    unit: str
    error_percent: NumberOrNone = None

    @classmethod
    def absolute(cls, column: str, quantity: str, unit: str, error: float) -> OwnError:
        """Return an error in the unit of the quantity."""
        key = f"error_{unit_token(unit)}"
        return cls.model_validate(
            {"column": column, "quantity": quantity, "unit": unit, key: error}
        )

    def in_value(self, value: float) -> float | None:
        """Return the error in a value of the quantity [unit of the quantity]; None if unknown."""
        if self.error_percent is not None:
            return 0.01 * self.error_percent * abs(value)
        error: float | None = (self.model_extra or {}).get(f"error_{unit_token(self.unit)}")
        return error


class Verdict(Part):
    """Verdict of a run in `report.json`, with the limits of its rules."""

    level: Level
    parts: list[JudgedPart] = Field(min_length=1)
    line: str
    next: NextStep
    limits: dict[str, list[float]]
    least_triangles_across_ratio: float
    errors: list[OwnError] = Field(default_factory=list)


class Judgement(Part):
    """Verdict on a model of a run, or of the file of a surrogate, for uses of the run."""

    run: str
    model: str
    level: Level
    parts: list[JudgedPart] = Field(min_length=1)
    line: str
    next: NextStep
    errors: list[OwnError]
    warnings: list[str]


class _Provenance(Part):
    """Provenance of a run: digests of original model and samples."""

    sha256: dict[str, str]


class JudgedReport(Part):
    """Keys of `report.json` for uses of the run."""

    verdict: Verdict | None = None
    remarks: list[StoredFinding] = Field(default_factory=list)
    provenance: _Provenance


class JudgedWalk(Part):
    """Keys of `walk.json` for uses of the walk."""

    verdict: Judgement | None = None
