"""Schema of `validation.json`: the stages write it, reports and stages read it."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from foundation.base.errors import InputError
from foundation.base.loads import LOAD_COLUMNS
from pipeline.store.quantities import ERRORS, OUTPUTS, OutputGroup
from pipeline.store.run_documents import Count, Number, Optional, Part, keys, part_keys


class Figures(Part):
    """Errors of a quantity (`surrogates.formulations.validation.ErrorFigures`)."""

    rmse: Optional
    mae: Optional
    maximum: Optional
    nrmse: Optional
    # Very negative where the truth is constant except for rounding.
    q2: Annotated[float, Field(ge=-1e300, le=1.0)] | None
    points: Count


class Worst(Part):
    """Sample with a large error of the axial force."""

    index: Count
    flexion_deg: Number
    adduction_deg: Number
    rotation_deg: Number
    anterior_mm: Number
    lateral_mm: Number
    axial_load_N: Number
    error_N: Number
    standard_error_N: Optional
    reason: str


class Crossed(Part):
    """Cross-validation of a group of outputs."""

    kind: str
    points: Count
    rmse: list[Optional]
    coverage: list[Optional]


class Standardised(Part):
    """Quantiles of the standardised residuals of all six loads beside the normal quantiles."""

    normal: list[Number]
    held_out: list[Number]

    @model_validator(mode="after")
    def _pairs(self) -> Self:
        if len(self.normal) != len(self.held_out):
            raise InputError("expected as many held-out quantiles as normal quantiles")
        return self


class Compartment(Part):
    """Accuracy of a surrogate in a compartment; `at_load` of formulations that take loads."""

    points: Count
    feasible: Count
    at_pose: Annotated[dict[str, Figures], keys(*LOAD_COLUMNS)]
    at_pose_all: Annotated[dict[str, Figures], keys(*LOAD_COLUMNS)]
    coverage: Annotated[dict[str, Optional], keys(*LOAD_COLUMNS)]
    standardised: Standardised
    worst: list[Worst]
    at_load: Annotated[dict[str, Figures], keys(*ERRORS)] = Field(default_factory=dict)
    cross_validation: dict[str, Crossed]

    @property
    def height(self) -> tuple[float, float] | None:
        """RMS and largest error of the height at a load [m], None without `at_load`."""
        figures = self.at_load.get("superior_m")
        if figures is None or figures.rmse is None or figures.maximum is None:
            return None
        return figures.rmse, figures.maximum

    @model_validator(mode="after")
    def _height_known(self) -> Self:
        if self.at_load and self.height is None:
            raise InputError("superior_m in at_load: expected its rmse and maximum, found null")
        return self


class FrontRow(Part):
    """A surrogate from which the family "auto" chose; `surrogates.formulations.selection`.

    Errors are out-of-sample: `load_error` that of forces and moments at a pose (RMS over their
    peaks) [1], `height_um` that of the height at a load [µm].
    """

    family: str
    size: Count
    load_error: Number
    height_um: Number
    operations: Count
    chosen: bool


class Judged(Part):
    """Accuracy of a surrogate, as `pipeline.stages.assessment.assess` returns it."""

    formulation: str
    family: str
    fit_seconds: Optional
    worst_load_nrmse: Optional = None
    compartments: Annotated[dict[str, Compartment], part_keys()]
    fronts: dict[str, list[FrontRow]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _outputs(self) -> Self:
        for part in self.compartments.values():
            for key, crossed in part.cross_validation.items():
                group = OutputGroup.read(key)
                if not set(group.names) <= OUTPUTS.keys():
                    raise InputError(f"cross_validation: unknown outputs {key!r:.60}")
                count = len(group.quantities)
                if {len(crossed.rmse), len(crossed.coverage)} != {count}:
                    raise InputError(f"cross_validation: expected {count} numbers for {key!r}")
        return self


class Round(Part):
    """Training samples of the surrogates of a round, and their errors.

    The first errors are cross-validated, the others those of the held-out samples.
    """

    samples: Count
    load_error: Optional = None
    height_um: Optional = None
    held_out_load_error: Optional = None
    held_out_height_um: Optional = None


class Validation(Part):
    """`validation.json`: accuracy of the main surrogate, of others, and of the first."""

    models: Annotated[list[Judged], Field(min_length=1)]
    first: Judged
    learning_curve: list[Round]
