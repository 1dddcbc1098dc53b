"""Section [design_space]: parameters of a family of knees that one surrogate answers for."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from foundation.base.errors import InputError
from pipeline.config.inequalities import check_inequality
from pipeline.config.schema_base import Range, Section

#: Sections whose numbers can be parameters of a design.
_SECTIONS = ("knee.", "contact.")
#: Most parameters (`surrogates.sampling.parameters.MOST_PARAMETERS`).
_MOST = 8


class ParameterConfig(Section):
    """A parameter of the designs: a number of [knee] or [contact] and its range."""

    key: str = Field(
        description="dotted key of a number in [knee] or [contact], for example "
        "knee.implant.dish_sagittal_radius_mm"
    )
    range: Range = Field(description="least and largest value, in the unit of the key")
    name: str = Field(
        "",
        pattern=r"^([A-Za-z][A-Za-z0-9_]*)?$",
        description="name of the parameter; by default the last part of the key",
    )

    @property
    def label(self) -> str:
        """Name of the parameter."""
        return self.name or self.key.rpartition(".")[2]

    @model_validator(mode="after")
    def _of_the_knee(self) -> Self:
        if not self.key.startswith(_SECTIONS):
            raise InputError(
                f"key: expected a key of [knee] or [contact], such as "
                f"knee.implant.dish_sagittal_radius_mm, found {self.key!r}"
            )
        return self


class DesignSpaceConfig(Section):
    """Designs: the surrogate is trained over all values of a few parameters at once; optional.

    Samples are drawn in nested designs of experiments: designs in the space of the parameters, and
    poses and loads within each design, as [space] describes. [design] and [validation] of a single
    knee have no effect. A search ([optimisation]) is of these designs.
    """

    designs: int = Field(256, ge=4, le=100_000, description="number of designs that are learnt")
    poses: int = Field(
        200, ge=20, description="samples of each compartment within a design that is learnt"
    )
    rounds: int = Field(
        2,
        ge=1,
        le=20,
        description="number of rounds: of all but the first, the designs are those with the "
        "largest predicted errors, and samples that are predicted to be infeasible are left out",
    )
    unseen: int = Field(
        64,
        ge=0,
        description="number of designs that no surrogate is fitted to; their samples locate where "
        "the surrogate can be trusted, and tell expected errors",
    )
    held_out: int = Field(
        20,
        ge=1,
        description="number of held-out designs, at which samples and gait cycles are compared "
        "with the original model",
    )
    seed: int = Field(1, ge=0, description="seed of the designs and of their samples")
    constraints: tuple[str, ...] = Field(
        (),
        description="inequalities between parameters that every design satisfies, for example "
        '"condyle_coronal_radius_mm < 0.95 * dish_coronal_radius_mm"',
    )
    parameter: tuple[ParameterConfig, ...] = Field(
        min_length=1,
        max_length=_MOST,
        description="[[design_space.parameter]]: the varied keys",
    )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(parameter.label for parameter in self.parameter)

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names, keys = self.names, [parameter.key for parameter in self.parameter]
        for what, found in (("name", names), ("key", keys)):
            twice = sorted({each for each in found if found.count(each) > 1})
            if twice:
                raise InputError(
                    f"parameter: expected each {what} once, found {', '.join(twice)} again; "
                    "give the parameters a name"
                )
        for text in self.constraints:
            check_inequality(text, names)
        return self
