"""Sections of the surrogate: formulation, families, validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from foundation.base.errors import InputError
from pipeline.config.sampling_schema import Design
from pipeline.config.schema_base import NonNegative, Positive, Section, ascending
from surrogates.families.registry import FAMILIES
from surrogates.formulations.training_data import FORMULATIONS

#: Family that stands for the cheapest one of the wanted error.
AUTO = "auto"

if TYPE_CHECKING:
    Family = str
    FixedFamily = str
    Formulation = str
else:
    Family = Literal[(AUTO, *FAMILIES)]
    FixedFamily = Literal[tuple(FAMILIES)]
    Formulation = Literal[tuple(FORMULATIONS)]


class KrigingConfig(Section):
    """Kriging."""

    correlation: Literal["auto", "mixed", "squared_exponential", "matern52", "matern32"] = Field(
        "auto",
        description="correlation function; mixed is Matérn 5/2 along one sheared direction and "
        "squared exponential along the others; auto selects the most likely function",
    )
    trend: Literal["auto", "constant", "linear", "quadratic"] = Field(
        "auto", description="trend; auto is quadratic if there are enough samples, else linear"
    )
    starts: int = Field(1, ge=1, description="number of starts of the likelihood search")
    nugget: Annotated[tuple[Positive, Positive], AfterValidator(ascending)] = Field(
        (1e-8, 1e-3), description="bounds of the estimated nugget, relative to the process variance"
    )


class PolynomialConfig(Section):
    """Polynomial response surface, or Poly-Fourier series: polynomials times a wave in flexion."""

    basis: Literal["anisotropic", "total_degree"] = Field(
        "anisotropic",
        description="terms selected by marginal likelihood, or all terms up to a total degree",
    )
    terms: int = Field(
        462, ge=7, le=3003, description="largest number of terms of the anisotropic basis"
    )
    degree: tuple[Annotated[int, Field(ge=1, le=8)], ...] = Field(
        (3, 4, 5), description="total degrees; the leave-one-out error selects one degree"
    )
    ridge: tuple[NonNegative, ...] = Field(
        (1e-8, 1e-6, 1e-4),
        description="ridge penalties; the leave-one-out error selects one penalty",
    )


class NetworkConfig(Section):
    """Two-layer tanh networks beside a spline-polynomial, for tens of thousands of samples."""

    hidden: int = Field(64, ge=4, le=512, description="units of each layer")
    networks: int = Field(
        4,
        ge=1,
        le=8,
        description="number of networks whose outputs are added; for auto, the largest number",
    )
    steps: int = Field(12_000, ge=100, description="steps of the training of all networks together")


class SplineConfig(Section):
    """Cubic splines of the sheared flexion times polynomials of the other inputs."""

    terms: int = Field(
        80,
        ge=1,
        le=1000,
        description="number of products of the other inputs, the most important ones; the family "
        "auto selects the number",
    )
    degree: int = Field(
        5,
        ge=1,
        le=8,
        description="highest total degree of the products; lower where the samples, or 5000 "
        "unknowns of the first fit, do not suffice",
    )
    pieces: int = Field(16, ge=1, le=256, description="largest number of pieces of the splines")


class FieldsConfig(Section):
    """Pressure fields of the surrogate on the tibial mesh, fitted to the fields of samples."""

    samples: int = Field(
        1000,
        ge=50,
        description="largest number of samples of each compartment that the fields are fitted to",
    )
    spacing_mm: Positive = Field(
        0.6, description="spacing of the grid of the surface of each condyle"
    )


class SurrogateConfig(Section):
    """Stages c and g: what is learnt, and by which family."""

    formulation: Formulation = Field("inverted", description="what is learnt")
    family: Family = Field(
        "auto",
        description="family of regressors; auto selects the cheapest spline-polynomial whose "
        "out-of-sample errors reach wanted_error_percent. Up to 2000 samples are first fitted by "
        "Kriging, of which the spline-polynomial is a compressed form with at most 1.3 times the "
        "error; without a cheaper form, Kriging stays. Of more samples, networks beside a "
        "spline-polynomial are tried too, one at first, if no spline-polynomial reaches the wanted "
        "error",
    )
    wanted_error_percent: Positive = Field(
        0.3,
        description="wanted error of forces and moments at a pose (RMS over their peaks), for auto",
    )
    load_degree: float = Field(
        2.0, ge=1.0, le=4.0, description="p; the load grows with this power of the indentation"
    )
    quantities_influence: Positive = Field(
        1.0,
        description="influence of contact area, pressures and centre of pressure on the fit of a "
        "network, relative to the influence of height, forces and moments; small where only "
        "motion matters",
    )
    compare: tuple[tuple[Formulation, FixedFamily], ...] = Field(
        (("inverted", "polynomial"), ("inverted", "poly_fourier")),
        description="other formulations and families that are fitted to the same samples and "
        "reported for comparison",
    )
    kriging: KrigingConfig = Field(default_factory=KrigingConfig)
    polynomial: PolynomialConfig = Field(default_factory=PolynomialConfig)
    network: NetworkConfig = Field(default_factory=NetworkConfig)
    spline: SplineConfig = Field(default_factory=SplineConfig)
    fields: FieldsConfig | None = Field(
        None, description="pressure fields on the tibial mesh; none without this section"
    )

    @model_validator(mode="after")
    def _formulation_of_auto(self) -> Self:
        if self.family == AUTO and self.formulation != "inverted":
            raise InputError(
                f'formulation: expected "inverted" with the family "auto", found '
                f'"{self.formulation}"; set a family, for example family = "kriging"'
            )
        return self


class ValidationConfig(Section):
    """Held-out validation."""

    points: int = Field(300, ge=20, description="number of held-out poses per compartment")
    kind: Design = Field("lhs", description="design of the held-out set")
    load_spread: Positive = Field(1.0, description="spread of the held-out loads, as in [design]")
    folds: int = Field(
        0,
        ge=0,
        le=20,
        description="folds of a cross-validation of the fits of stage g; with 0, only the "
        "leave-one-out residuals (of networks: held-back samples) are reported; the fits of the "
        "family auto have no folds",
    )
    seed: int = Field(20_240_001, ge=0, description="seed of the held-out set")

    @model_validator(mode="after")
    def _folds_enough(self) -> Self:
        if self.folds == 1:
            raise InputError("folds: expected 0 or at least 2, found 1")
        return self
