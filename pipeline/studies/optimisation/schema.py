"""Schema of the search of designs: outputs and their measures, objectives, limits, gaits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from pipeline.config.schema import ExecutionConfig
from pipeline.config.schema_base import Finite, Positive, Section, name_field, near
from pipeline.design_space.errors import doubts, error_of
from pipeline.stages.model_cycles import OUTPUTS, Output
from pipeline.studies.schema import REPLACED, FactorConfig, ReplacedKeys

#: Outputs that are not those of a cycle (`pipeline.stages.model_cycles`).
PEAK_PRESSURE, LAXITY = "peak_pressure_MPa", "ap_laxity_mm"
#: Outputs of a design, by their columns.
DESIGN_OUTPUTS: dict[str, Output] = {
    PEAK_PRESSURE: Output("peak pressure", "MPa"),
    **OUTPUTS,
    LAXITY: Output("passive AP travel", "mm"),
}
#: Beginning of the columns of expected errors.
EXPECTED = "expected_"

Statistic = Literal["mean", "worst", "mean_plus_sd"]
Goal = Literal["least", "largest"]


def _mean_and_deviations(factor: float, values: FloatArray) -> float:
    return float(values.mean() + factor * values.std(ddof=1))


#: Kinds of measures: what they take of the values of an output over the gaits, and their words.
_KINDS: dict[str, tuple[Callable[[FloatArray], float], str]] = {
    "mean": (lambda values: float(values.mean()), ""),
    "most": (lambda values: float(values.max()), "largest "),
    "least": (lambda values: float(values.min()), "least "),
    "plus_sd": (lambda values: _mean_and_deviations(1.0, values), "mean plus SD of "),
    "minus_sd": (lambda values: _mean_and_deviations(-1.0, values), "mean minus SD of "),
}
#: Kind of the measure of a statistic where a small, or a large output is wanted.
_OF_STATISTIC = {
    "mean": ("mean", "mean"),
    "worst": ("most", "least"),
    "mean_plus_sd": ("plus_sd", "minus_sd"),
}


class Measure(NamedTuple):
    """A number of a design: an output, and what is taken of its values over the gaits."""

    #: One of `DESIGN_OUTPUTS`.
    output: str
    #: "mean", "most", "least", "plus_sd" or "minus_sd".
    kind: str = "mean"

    @classmethod
    def of(cls, output: str, statistic: Statistic, goal: Goal) -> Measure:
        """Return the measure of a statistic where the least, or the largest output is wanted."""
        return cls(output, _OF_STATISTIC[statistic][goal == "largest"])

    @property
    def column(self) -> str:
        """Name of the column, which ends with the unit."""
        return self.output if self.kind == "mean" else f"{self.kind}_{self.output}"

    @property
    def label(self) -> str:
        """Words for people."""
        return f"{_KINDS[self.kind][1]}{DESIGN_OUTPUTS[self.output].label}"

    @property
    def unit(self) -> str:
        """Unit for people."""
        return DESIGN_OUTPUTS[self.output].unit

    @property
    def words(self) -> dict[str, str]:
        """Column, label and unit."""
        return {"column": self.column, "label": self.label, "unit": self.unit}

    def value(self, values: Sequence[float]) -> float:
        """Return the measure of the values (N,) of its output over N gaits [unit of the output]."""
        return _KINDS[self.kind][0](np.asarray(values, dtype=np.float64))


def measured(
    measures: Iterable[Measure], cycles: Sequence[Mapping[str, float]]
) -> dict[str, float]:
    """Return the mean of every output over cycles, and measures, by column."""
    columns = {Measure(name).column: Measure(name) for name in cycles[0]}
    columns |= {measure.column: measure for measure in measures}
    return {
        column: measure.value([cycle[measure.output] for cycle in cycles])
        for column, measure in columns.items()
    }


def with_peak(outputs: Mapping[str, float]) -> dict[str, float]:
    """Return the peak pressure of the worse compartment [MPa], and the outputs of a cycle."""
    peak = max(outputs[f"{part}_peak_pressure_MPa"] for part in COMPARTMENTS)
    return {PEAK_PRESSURE: peak, **outputs}


def check_output(name: str) -> str:
    """Return the name of an output; an InputError for an unknown name lists the outputs."""
    if name not in DESIGN_OUTPUTS:
        raise InputError(f"expected one of {', '.join(DESIGN_OUTPUTS)}{near(name, DESIGN_OUTPUTS)}")
    return name


def doubts_of(measures: Iterable[Measure], expected: Mapping[Any, float]) -> list[str]:
    """Return which errors expected of measures exceed the accepted ones, in words."""
    told = {error_of(measure.output) for measure in measures}
    return doubts({name: error for name, error in expected.items() if name in told})


def expected_error(name: str, expected: Mapping[str, float]) -> float | None:
    """Return the error that is `expected` of an output of a design [%]; None if none is known."""
    return expected.get(error_of(name))


#: Fewest gaits of a population.
_FEWEST_GAITS = 4

OutputName = Annotated[str, AfterValidator(check_output)]


class Bound(NamedTuple):
    """An end of a limit: the largest value of a measure if `sign` is 1, the least one if -1."""

    measure: Measure
    value: float
    sign: float


class ObjectiveConfig(Section):
    """An objective: an output of the gait cycle that is to be small, or large."""

    output: OutputName = Field(
        description="output of the gait cycle, peak_pressure_MPa (the larger compartment's), or "
        "ap_laxity_mm"
    )
    goal: Goal = Field("least", description="whether a small or a large output is wanted")
    statistic: Statistic = Field(
        "mean",
        description="what counts over the gaits: mean, value of the worst gait, or mean and "
        "standard deviation together",
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
    statistic: Statistic = Field("worst", description="what counts over the gaits")

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


class LaxityConfig(Section):
    """Loads of ap_laxity_mm: AP travel of the resting knee from a posterior to an anterior force.

    The restraints of the gait cycle act.
    """

    flexion_deg: Finite = Field(20.0, description="flexion, within that of the run")
    axial_force_N: Positive = Field(700.0, description="axial force")
    ap_force_N: Positive = Field(100.0, description="size of the AP force on the tibia")


class OptimisationConfig(ExecutionConfig):
    """Search of the designs of a run over designs by a genetic algorithm (NSGA-II)."""

    name: str = name_field("optimisation", "search")
    run: str = Field(
        "runs/implant_designs",
        description="directory of a run over designs; relative to the working directory",
    )
    seed: int = Field(1, ge=0, description="seed of the search and of the gaits")
    population: int = Field(64, ge=4, le=10_000, description="number of designs of a generation")
    generations: int = Field(30, ge=1, le=10_000, description="number of generations")
    chosen: int = Field(
        5,
        ge=1,
        le=100,
        description="number of designs, spread over the front, that are verified; the base design "
        "and the design that improves most on it in all objectives come on top",
    )
    cycles: int = Field(
        1,
        ge=1,
        le=10_000,
        description="number of gaits that every design walks with, at least 4 with "
        "[[optimisation.factor]]; 1 for the gait of the run alone",
    )
    verify: Literal["springs", "finite_element", "none"] = Field(
        "springs",
        description="what the chosen designs are simulated with again: the original model of the "
        "run (springs); for the base design and the design that improves most on it, "
        "finite elements as well; or nothing",
    )
    laxity: LaxityConfig = Field(default_factory=LaxityConfig)
    objective: tuple[ObjectiveConfig, ...] = Field(
        min_length=1, max_length=6, description="[[optimisation.objective]]: what is to be improved"
    )
    limit: tuple[LimitConfig, ...] = Field(
        (), description="[[optimisation.limit]]: limits that the designs of the front keep"
    )
    factor: tuple[FactorConfig, ...] = Field(
        (), description="[[optimisation.factor]]: how the gaits vary, the same for all designs"
    )

    @property
    def objectives(self) -> list[Measure]:
        """What is computed of the gaits of a design for each objective."""
        return [self._measure(each.output, each.statistic, each.goal) for each in self.objective]

    @property
    def bounds(self) -> list[Bound]:
        """The ends of all limits."""
        found = []
        for limit in self.limit:
            ends: tuple[tuple[float | None, Goal, float], ...] = (
                (limit.at_most, "least", 1.0),
                (limit.at_least, "largest", -1.0),
            )
            for value, goal, sign in ends:
                if value is not None:
                    measure = self._measure(limit.output, limit.statistic, goal)
                    found.append(Bound(measure, value, sign))
        return found

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Measures of objectives and limits, each once."""
        return tuple(dict.fromkeys([*self.objectives, *(each.measure for each in self.bounds)]))

    def _measure(self, output: str, statistic: Statistic, goal: Goal) -> Measure:
        # Of a single gait, all statistics are the same.
        return Measure.of(output, statistic if self.cycles > 1 else "mean", goal)

    @property
    def needs_laxity(self) -> bool:
        """Whether an objective or a limit is of the passive AP travel."""
        return any(measure.output == LAXITY for measure in self.measures)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        columns = [measure.column for measure in self.objectives]
        twice = sorted({name for name in columns if columns.count(name) > 1})
        if twice:
            raise InputError(f"objective: expected each once, found {', '.join(twice)} again")
        if self.cycles == 1 and self.factor:
            raise InputError(
                f"cycles: expected {_FEWEST_GAITS} or more with [[optimisation.factor]], found 1; "
                "set optimisation.cycles or remove the factors"
            )
        if 1 < self.cycles < _FEWEST_GAITS:
            raise InputError(f"cycles: expected 1, or {_FEWEST_GAITS} or more, found {self.cycles}")
        if self.cycles > 1 and not self.factor:
            raise InputError(
                f"cycles: expected 1 without [[optimisation.factor]], found {self.cycles}; all "
                "gaits would be equal"
            )
        statistics = [each.statistic for each in self.objective]
        statistics += [each.statistic for each in self.limit]
        if self.cycles == 1 and "mean_plus_sd" in statistics:
            raise InputError(
                'statistic: expected "mean" or "worst" of a single gait, found "mean_plus_sd"; set '
                "optimisation.cycles and [[optimisation.factor]]"
            )
        return self


class OptimisationFile(Section):
    """Search of the designs of a run over designs."""

    optimisation: OptimisationConfig
    simulation: ReplacedKeys = Field(default_factory=dict, description=REPLACED)
