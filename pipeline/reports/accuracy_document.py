"""Accuracy of a surrogate in `report.json`, in units for people."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import SerializerFunctionWrapHandler, model_serializer

from foundation.base.quantities import Quantity, unit_token
from pipeline.reports.units import InUnit, scaled
from pipeline.store.run_documents import Part
from pipeline.store.validation_document import Figures, Worst

#: Expected coverage of 95 % intervals on held-out loads [%].
COVERAGE_RANGE = (90.0, 99.0)


class ErrorRow(InUnit):
    """Errors of a quantity in its unit for people."""

    measured: ClassVar[tuple[str, ...]] = ("rmse", "mae", "max")
    label: str
    rmse: float | None
    mae: float | None
    max: float | None
    nrmse_percent: float | None
    q2: float | None
    points: int

    @classmethod
    def of(cls, quantity: Quantity, error: Figures) -> ErrorRow:
        """Return the errors of `validation.json` for people."""
        return cls(
            label=quantity.label,
            unit=quantity.unit_for_people,
            rmse=scaled(error.rmse, quantity.factor),
            mae=scaled(error.mae, quantity.factor),
            max=scaled(error.maximum, quantity.factor),
            nrmse_percent=scaled(error.nrmse, 100.0),
            q2=error.q2,
            points=error.points,
        )


class Covered(Part):
    """Part of the loads in their 95 % intervals, and the verdict outside `COVERAGE_RANGE`."""

    covered_percent: float | None
    verdict: Literal["", "low", "high"]

    @classmethod
    def of(cls, value: float | None) -> Covered:
        """Return a covered part [1] in per cent with its verdict."""
        low, high = COVERAGE_RANGE
        covered = scaled(value, 100.0)
        if covered is None or low <= covered <= high:
            return cls(covered_percent=covered, verdict="")
        return cls(covered_percent=covered, verdict="low" if covered < low else "high")


class CrossRow(InUnit):
    """Cross-validated error of an output, and the coverage of its intervals."""

    measured: ClassVar[tuple[str, ...]] = ("rmse",)
    key: str
    label: str
    rmse: float | None
    coverage: Covered
    kind: str
    points: int


class Quantiles(Part):
    """Quantiles of the standardised residuals, and the normal quantiles."""

    normal_ratio: list[float]
    held_out_ratio: list[float]


class CompartmentAccuracy(Part):
    """Errors of the surrogate in a compartment; `at_load` of formulations that take loads."""

    points: int
    feasible: int
    at_pose: dict[str, ErrorRow]
    at_pose_all: dict[str, ErrorRow]
    at_load: dict[str, ErrorRow] | None
    cross_validation: list[CrossRow]
    quantiles: Quantiles
    worst_cases: list[Worst]


class WorstLoad(Part):
    """Largest NRMSE of the six loads at a given pose, with load and compartment."""

    nrmse_percent: float | None
    compartment: str
    load: str


class HeightError(Part):
    """Height errors at a given load of the worse compartment."""

    compartment: str
    rmse_um: float
    max_um: float


class JudgedRow(Part):
    """Error at a given load in each compartment; keys in JSON are `<compartment>_<unit>`."""

    label: str
    unit: str
    errors: dict[str, float | None]

    @model_serializer(mode="plain")
    def _flat(self) -> dict[str, Any]:
        token = unit_token(self.unit)
        errors = {f"{name}_{token}": error for name, error in self.errors.items()}
        return {"label": self.label, "unit": self.unit, **errors}


class CoverageRow(Part):
    """Coverage of the 95 % intervals of a load; keys in JSON are the compartments."""

    key: str
    label: str
    compartments: dict[str, Covered]

    @model_serializer(mode="wrap")
    def _flat(self, content: SerializerFunctionWrapHandler) -> dict[str, Any]:
        row: dict[str, Any] = content(self)
        return {"key": row["key"], "label": row["label"], **row["compartments"]}


class LearningPoint(Part):
    """Training samples and errors of a round.

    The errors are cross-validated and, where the names say so, those of the held-out samples.
    """

    stage: str
    samples: int
    load_error_percent: float | None
    height_error_um: float | None
    held_out_load_error_percent: float | None
    held_out_height_error_um: float | None


class ModelRow(Part):
    """Errors of a surrogate of the run among the others."""

    formulation: str
    family: str
    trained_on: str
    worst_load_nrmse_percent: float | None
    axial_force_nrmse_percent: float | None
    height_rmse_at_load_um: float | None
    fit_s: float | None


class FrontEntry(Part):
    """A surrogate from which the family "auto" chose that of a compartment."""

    compartment: str
    family: str
    size: int
    load_error_percent: float
    height_error_um: float
    operations: int
    chosen: bool


class Accuracy(Part):
    """Held-out errors: of the main surrogate in full, of all models in one table."""

    seed: int
    design: str
    points_per_compartment: int
    failed: int
    formulation: str
    family: str
    worst_load: WorstLoad
    compartments: dict[str, CompartmentAccuracy]
    judged_at_load: list[JudgedRow] | None
    coverage: list[CoverageRow]
    too_narrow: list[str]
    learning_curve: list[LearningPoint]
    front: list[FrontEntry]
    wanted_error_percent: float | None
    comparison: list[ModelRow]
