"""What `validation.json` holds, as far as anything reads it again."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    Field,
    model_validator,
)

from foundation.errors import InputError
from foundation.loads import COMPARTMENTS, LOAD_COLUMNS
from pipeline.reports.units import OUTPUTS, outputs_of
from pipeline.store.run_documents import Count, Known, Number, Part, has
from surrogates.formulations.validation import AT_LOAD_COLUMNS

_KNOWN_AT_LOAD = ("superior_m", *LOAD_COLUMNS, *AT_LOAD_COLUMNS)


class Figures(Part):
    """Errors of a quantity."""

    rmse: Known
    mae: Known
    maximum: Known
    nrmse: Known
    # Far below any number of sense where the truth is constant but for rounding.
    q2: Annotated[float, Field(ge=-1e300, le=1.0)] | None
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
    at_pose: Annotated[dict[str, Figures], has(*LOAD_COLUMNS)]
    at_pose_all: Annotated[dict[str, Figures], has(*LOAD_COLUMNS)]
    at_load: Annotated[dict[str, Figures], has(*_KNOWN_AT_LOAD), AfterValidator(_height_known)] = (
        Field(default_factory=dict)
    )
    coverage: Annotated[dict[str, Known], has(*LOAD_COLUMNS)]
    standardised: Standardised
    cross_validation: dict[str, Crossed]
    worst: list[Worst]


class Judged(Part):
    """A surrogate as `pipeline.stages.assessment.assess` judges it."""

    formulation: str
    family: str
    fit_seconds: Known
    compartments: Annotated[dict[str, Compartment], has(*COMPARTMENTS)]

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
