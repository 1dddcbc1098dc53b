"""Section of the calibration of spring laws of a knee."""

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
