"""Schema of a study: simulated gait cycles over named inputs and their distributions."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from dynamics.simulator.waveform_tables import ACTIVITIES
from foundation.base.errors import InputError
from pipeline.config.schema import ExecutionConfig
from pipeline.config.schema_base import File, Finite, Positive, Section, absolute, name_field
from pipeline.studies.factors import LIGAMENT_DRAW, check_factor

#: Keys of each distribution.
PARAMETERS = {
    "normal": ("mean", "sd"),
    "lognormal": ("mean", "sd"),
    "truncated_normal": ("mean", "sd", "low", "high"),
    "uniform": ("low", "high"),
    "fixed": ("value",),
    "table": ("table",),
}


class FactorConfig(Section):
    """A named input and its distribution, with values in the unit of the name."""

    name: Annotated[str, AfterValidator(check_factor)] = Field(
        description="named input; `knee-contact factors` lists them"
    )
    distribution: Literal[
        "normal", "uniform", "lognormal", "truncated_normal", "fixed", "table"
    ] = Field("normal", description="distribution of the values")
    mean: Finite | None = Field(
        None, description="mean; for a truncated normal, the mean before truncation"
    )
    sd: Positive | None = Field(
        None,
        description=(
            "standard deviation; for a truncated normal, the standard deviation before truncation"
        ),
    )
    low: Finite | None = Field(None, description="least value")
    high: Finite | None = Field(None, description="largest value")
    value: Finite | None = Field(None, description="value of a fixed input")
    table: File | None = Field(
        None, description="table of draws of ligament_draw, relative to the configuration"
    )

    @model_validator(mode="after")
    def _parameters_fit(self) -> Self:
        needed = PARAMETERS[self.distribution]
        stated = self.model_dump(exclude_none=True).keys() - {"name", "distribution"}
        if stated != set(needed):
            raise InputError(
                f"{self.name}: expected {', '.join(needed)} for a {self.distribution} "
                f"distribution, found {', '.join(sorted(stated)) or 'none'}"
            )
        if (self.name == LIGAMENT_DRAW) != (self.distribution == "table"):
            raise InputError(
                f'{self.name}: expected distribution = "table" for {LIGAMENT_DRAW} alone, found '
                f"{self.distribution}"
            )
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise InputError(
                f"{self.name}: expected low < high, found {self.low:g} and {self.high:g}"
            )
        if self.distribution == "lognormal" and self.mean is not None and self.mean <= 0.0:
            raise InputError(
                f"{self.name}: expected mean > 0 for a lognormal distribution, found {self.mean:g}"
            )
        return self


class StudyConfig(ExecutionConfig):
    """Monte Carlo or sensitivity study of simulated cycles."""

    name: str = name_field("study", "study")
    kind: Literal["montecarlo", "latin_hypercube", "sobol"] = Field(
        "montecarlo",
        description="design of the inputs; sobol gives Sobol indices and simulates "
        "runs x (varying inputs + 2) cycles",
    )
    runs: int = Field(
        1000,
        ge=4,
        description=(
            "number of runs; for sobol, number of rows of each base matrix, a power of two"
        ),
    )
    seed: int = Field(1, ge=0, description="seed of the draws")
    chunk: int = Field(25, ge=1, description="number of runs in a stored chunk")
    run: str = Field("runs/implant", description="run directory; relative to the working directory")
    model: Literal["surrogate", "original"] = Field(
        "surrogate", description="model of the contact loads"
    )
    factor: tuple[FactorConfig, ...] = Field(
        min_length=1, description="[[study.factor]]: the varied inputs"
    )

    @model_validator(mode="after")
    def _design_fits(self) -> Self:
        names = [factor.name for factor in self.factor]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(f"factor: expected each input once, found {', '.join(twice)} again")
        if all(factor.distribution == "fixed" for factor in self.factor):
            raise InputError("factor: expected an input that varies, found fixed inputs only")
        if self.kind == "sobol" and self.runs & (self.runs - 1):
            raise InputError(f'runs: expected a power of two for kind = "sobol", found {self.runs}')
        return self


def _absolute_waveforms(simulation: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
    """Return keys of [simulation] with the path of a table of waveforms made absolute."""
    waveforms = simulation.get("waveforms")
    if not isinstance(waveforms, str) or waveforms in ACTIVITIES:
        return simulation
    return {**simulation, "waveforms": absolute(waveforms, info)}


#: Keys of [simulation] by which the configuration of a study replaces those of its run.
ReplacedKeys = Annotated[dict[str, Any], AfterValidator(_absolute_waveforms)]
REPLACED = "keys of [simulation] that replace the keys of the run"


class StudyFile(Section):
    """Study of simulated gait cycles."""

    study: StudyConfig
    simulation: ReplacedKeys = Field(default_factory=dict, description=REPLACED)
