"""Schema of the search of designs: objectives and limits, outputs of a gait cycle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, Field, model_validator

from foundation.base.errors import InputError
from pipeline.config.schema import ExecutionConfig
from pipeline.config.schema_base import Finite, Section, name_field, near
from pipeline.design_space.errors import doubts, error_of
from pipeline.stages.model_cycles import OUTPUTS, Output
from pipeline.studies.schema import REPLACED, ReplacedKeys

#: Peak pressure of the worse compartment.
PEAK_PRESSURE = "peak_pressure_MPa"
#: Outputs of a design, by their columns.
DESIGN_OUTPUTS: dict[str, Output] = {PEAK_PRESSURE: Output("peak pressure", "MPa"), **OUTPUTS}
#: Beginning of the columns of expected errors.
EXPECTED = "expected_"


def check_output(name: str) -> str:
    """Return the name of an output; an InputError for an unknown name lists the outputs."""
    if name not in DESIGN_OUTPUTS:
        raise InputError(f"expected one of {', '.join(DESIGN_OUTPUTS)}{near(name, DESIGN_OUTPUTS)}")
    return name


OutputName = Annotated[str, AfterValidator(check_output)]


def doubts_of(outputs: Iterable[str], expected: Mapping[Any, float]) -> list[str]:
    """Return which errors expected of outputs exceed the accepted ones, in words."""
    told = {error_of(name) for name in outputs}
    return doubts({name: error for name, error in expected.items() if name in told})


class Bound(NamedTuple):
    """An end of a limit: the largest value of an output if `sign` is 1, the least one if -1."""

    output: str
    value: float
    sign: float


class ObjectiveConfig(Section):
    """An objective: an output of the gait cycle that is to be small, or large."""

    output: OutputName = Field(
        description="output of the gait cycle, or peak_pressure_MPa (the larger compartment's)"
    )
    goal: Literal["least", "largest"] = Field(
        "least", description="whether a small or a large output is wanted"
    )

    @property
    def sign(self) -> float:
        """Factor that makes the objective one to be minimised [1]."""
        return 1.0 if self.goal == "least" else -1.0


class LimitConfig(Section):
    """A limit: an output of the gait cycle that every design of the front keeps within bounds."""

    output: OutputName = Field(description="output, as of an objective")
    at_most: Finite | None = Field(None, description="largest value, in the unit of the output")
    at_least: Finite | None = Field(None, description="least value, in the unit of the output")

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.at_most is None and self.at_least is None:
            raise InputError(f"{self.output}: expected at_most or at_least, found neither")
        if (
            self.at_most is not None
            and self.at_least is not None
            and not self.at_least < self.at_most
        ):
            raise InputError(
                f"{self.output}: expected at_least < at_most, found {self.at_least:g} and "
                f"{self.at_most:g}"
            )
        return self


class OptimisationConfig(ExecutionConfig):
    """Search of the designs of a run over designs by a genetic algorithm (NSGA-II)."""

    name: str = name_field("optimisation", "search")
    run: str = Field(
        "runs/implant_designs",
        description="directory of a run over designs; relative to the working directory",
    )
    seed: int = Field(1, ge=0, description="seed of the search")
    population: int = Field(64, ge=4, le=10_000, description="number of designs of a generation")
    generations: int = Field(30, ge=1, le=10_000, description="number of generations")
    chosen: int = Field(
        5,
        ge=1,
        le=100,
        description="number of designs, spread over the front, that are verified; the base design "
        "and the design that improves most on it in all objectives come on top",
    )
    verify: bool = Field(
        True, description="simulate the chosen designs again with the original model of the run"
    )
    objective: tuple[ObjectiveConfig, ...] = Field(
        min_length=1, max_length=6, description="[[optimisation.objective]]: what is to be improved"
    )
    limit: tuple[LimitConfig, ...] = Field(
        (), description="[[optimisation.limit]]: limits that the designs of the front keep"
    )

    @property
    def bounds(self) -> list[Bound]:
        """The ends of all limits."""
        ends = ((each.output, each.at_most, each.at_least) for each in self.limit)
        return [
            Bound(output, value, sign)
            for output, *values in ends
            for value, sign in zip(values, (1.0, -1.0), strict=True)
            if value is not None
        ]

    @property
    def outputs(self) -> tuple[str, ...]:
        """Outputs of objectives and limits, each once."""
        names = [each.output for each in self.objective] + [each.output for each in self.limit]
        return tuple(dict.fromkeys(names))

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        names = [each.output for each in self.objective]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise InputError(f"objective: expected each once, found {', '.join(twice)} again")
        return self


class OptimisationFile(Section):
    """Search of the designs of a run over designs."""

    optimisation: OptimisationConfig
    simulation: ReplacedKeys = Field(default_factory=dict, description=REPLACED)
