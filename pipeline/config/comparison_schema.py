"""Section of the comparison of contact models on one knee (`python -m pipeline compare`)."""

from __future__ import annotations

from pydantic import Field

from pipeline.choices import ComparedModel
from pipeline.config.schema_base import NonNegative, Positive, Section


class WeightsConfig(Section):
    """Weights of the criteria of the weighted sum, with which the page of a comparison opens.

    Only their ratios matter. A reader of the page can change the weights.
    """

    loads: NonNegative = Field(3.0, description="force, moment and stiffness at given poses")
    pressure: NonNegative = Field(
        2.0, description="peak pressure, area and centre of pressure at given poses"
    )
    gait: NonNegative = Field(
        3.0, description="motion, peak pressure and wear of the cycle that the model drives"
    )
    speed: NonNegative = Field(3.0, description="time of an evaluation and of a cycle")
    preparation: NonNegative = Field(1.0, description="time of the set-up")
    memory: NonNegative = Field(1.0, description="memory of the model in use")


class ComparisonConfig(Section):
    """Comparison of contact models on the knee of the configuration (`compare`); optional.

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
