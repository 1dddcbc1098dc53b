"""The schema of a study: runs of simulated cycles over named inputs and their distributions."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from foundation.errors import InputError
from pipeline.config.schema import ExecutionConfig
from pipeline.config.schema_base import Finite, Positive, Section, describe_section
from pipeline.studies.factors import check_factor

#: Keys that a distribution needs, and those that it may have.
PARAMETERS = {
    "normal": ("mean", "sd"),
    "lognormal": ("mean", "sd"),
    "truncated_normal": ("mean", "sd", "low", "high"),
    "uniform": ("low", "high"),
    "fixed": ("value",),
}


class FactorConfig(Section):
    """A named input and its distribution; all values in the unit of the name."""

    name: Annotated[str, AfterValidator(check_factor)] = Field(
        description="named input; `python -m pipeline study --factors` lists them"
    )
    distribution: Literal["normal", "uniform", "lognormal", "truncated_normal", "fixed"] = Field(
        "normal", description="how its values are spread"
    )
    mean: Finite | None = Field(
        None, description="mean; of a truncated normal, before it is truncated"
    )
    sd: Positive | None = Field(
        None, description="standard deviation; of a truncated normal, before it is truncated"
    )
    low: Finite | None = Field(None, description="least value")
    high: Finite | None = Field(None, description="largest value")
    value: Finite | None = Field(None, description="the value of a fixed input")

    @model_validator(mode="after")
    def _parameters_fit(self) -> Self:
        needed = PARAMETERS[self.distribution]
        given = {k for k in ("mean", "sd", "low", "high", "value") if getattr(self, k) is not None}
        if given != set(needed):
            raise InputError(
                f"{self.name}: expected {', '.join(needed)} for a {self.distribution} "
                f"distribution, found {', '.join(sorted(given)) or 'none'}"
            )
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise InputError(
                f"{self.name}: expected low < high, found {self.low:g} and {self.high:g}"
            )
        if self.distribution == "lognormal" and self.mean is not None and self.mean <= 0.0:
            raise InputError(
                f"{self.name}: expected a mean > 0 of a lognormal distribution, found {self.mean:g}"
            )
        return self


class StudyConfig(ExecutionConfig):
    """Monte Carlo or sensitivity study of simulated cycles."""

    name: str = Field(
        "study", pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$", description="name of the study"
    )
    run: str = Field("runs/implant", description="run directory; relative to the working directory")
    model: Literal["surrogate", "original"] = Field(
        "surrogate", description="what gives the contact loads"
    )
    kind: Literal["montecarlo", "latin_hypercube", "sobol"] = Field(
        "montecarlo",
        description="how the inputs are drawn; sobol gives Sobol indices and simulates "
        "runs x (inputs that vary + 2) cycles",
    )
    runs: int = Field(
        1000, ge=4, description="runs; of sobol, rows of each base matrix, a power of two"
    )
    seed: int = Field(1, ge=0, description="seed of the draws")
    chunk: int = Field(25, ge=1, description="runs carried out and stored at a time")
    outside: Literal["flag", "fail"] = Field(
        "flag", description="what is done with a run that leaves the trained domain"
    )
    factor: tuple[FactorConfig, ...] = Field(
        min_length=1, description="[[study.factor]]: the inputs that are varied"
    )

    @model_validator(mode="after")
    def _design_fits(self) -> Self:
        names = [factor.name for factor in self.factor]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(f"factor: expected each input once, found {', '.join(twice)} again")
        if all(factor.distribution == "fixed" for factor in self.factor):
            raise InputError("factor: expected an input that varies, found fixed ones only")
        if self.kind == "sobol" and self.runs & (self.runs - 1):
            raise InputError(f'runs: expected a power of two for kind = "sobol", found {self.runs}')
        return self


class StudyFile(Section):
    """A file of `python -m pipeline study`."""

    study: StudyConfig
    simulation: dict[str, Any] = Field(
        default_factory=dict,
        description="keys of the run's [simulation] that the study replaces",
    )


def describe_study() -> str:
    """Return every key of a study as Markdown tables, as `describe_schema` does."""
    return describe_section(StudyFile, "Studies of gait cycles")
