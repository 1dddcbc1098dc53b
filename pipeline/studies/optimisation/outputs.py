"""Outputs of the gait cycles of a design, and what is made of them over a population of gaits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from pipeline.config.schema_base import near
from pipeline.design_space.errors import doubts, error_of
from pipeline.stages.cycle_outputs import OUTPUTS, Output

#: Outputs that are not those of a cycle (`pipeline.stages.cycle_outputs`).
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
    """Return the outputs of a cycle and the peak pressure of the compartment with the larger one.

    The peak pressure in MPa comes first.
    """
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
    """Return the error that is expected of an output [%]; None if none is known.

    `expected` are the expected errors of a design (`pipeline.design_space.errors`).
    """
    return expected.get(error_of(name))
