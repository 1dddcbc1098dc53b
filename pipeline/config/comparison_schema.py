"""Sections of calibrations of spring laws and of comparisons of contact models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from pipeline.config.contact_schema import OWN_KEYS
from pipeline.config.schema_base import Section

if TYPE_CHECKING:
    CalibratedLaw = str
else:
    CalibratedLaw = Literal[tuple(OWN_KEYS)]


class CalibrationConfig(Section):
    """Calibration of spring laws on finite elements of the knee of the configuration; optional.

    A comparison of contact models calibrates its laws so, too. The finite elements have the keys of
    [contact.finite_element], or the defaults of these keys if the configuration describes springs.
    The samples lie along the gait cycle of [simulation].
    """

    laws: tuple[CalibratedLaw, ...] = Field(
        ("modified", "coupled"), min_length=1, description="laws to calibrate"
    )
    samples: int = Field(60, ge=10, description="samples of each compartment")
    folds: int = Field(
        5, ge=2, le=10, description="parts of the samples, each held out once for the errors"
    )
    seed: int = Field(0, ge=0, description="seed of the samples")


#: Names of the compared models, the rows of `pipeline.studies.contact_models.registry.MODELS`.
ComparedModel = Literal[
    "finite_elements", "finite_elements_coarse", "linear", "logarithmic", "modified",
    "modified_calibrated", "coupled", "coupled_calibrated", "springs_surrogate",
    "elements_surrogate",
]  # fmt: skip


class ComparisonConfig(Section):
    """Comparison of contact models on the knee of the configuration; optional.

    The finite elements have the keys of [contact.finite_element], or the defaults of these keys if
    the configuration describes springs.
    """

    poses: int = Field(26, ge=2, description="poses of the gait cycle at which loads are compared")
    models: tuple[ComparedModel, ...] = Field(
        (),
        description="models to compare with the finite elements (docs/comparison.md); by default "
        "all",
    )
