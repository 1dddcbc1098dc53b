"""Section of the comparison of contact models on one knee (`knee-contact compare-models`)."""

from __future__ import annotations

from pydantic import Field

from pipeline.choices import ComparedModel
from pipeline.config.schema_base import NonNegative, Positive, Section


class WeightsConfig(Section):
    """Weights of the criteria of the weighted sum, with which the page of a comparison opens.

    They are those of table 2 of Lehtoranta (2011) as far as the criteria can be measured. Only
    their ratios matter. A reader of the page can change the weights.
    """

    accuracy: NonNegative = Field(
        0.30, description="errors at given poses and over the cycle that the model drives"
    )
    speed: NonNegative = Field(0.20, description="time of an evaluation and of a cycle")
    preparation: NonNegative = Field(0.10, description="time of the set-up")
    versatility: NonNegative = Field(
        0.09, description="share of the figures of accuracy that the model answers"
    )


class ComparisonConfig(Section):
    """Comparison of contact models on the knee of the configuration (`compare-models`); optional.

    The finite elements of the comparison are those of [contact.finite_element], or their defaults
    if the configuration describes springs.
    """

    poses: int = Field(26, ge=2, description="poses of the gait cycle at which loads are compared")
    models: tuple[ComparedModel, ...] = Field(
        (),
        description="models beside the finite elements (docs/comparison.md); by default all",
    )
    modified_f: float = Field(
        float("inf"), gt=1.0, description="f of the modified law, unless [contact] has this law"
    )
    modified_m: Positive = Field(
        0.9, description="exponent of the modified law, unless [contact] has this law"
    )
    modified_reference_indentation_mm: Positive = Field(
        1.0, description="dref of the modified law, unless [contact] has this law"
    )
    weights: WeightsConfig = Field(default_factory=WeightsConfig)
