"""Section of the comparison of contact models on one knee."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.config.schema_base import Section

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
