"""A search of designs, prepared and checked before any file is written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from pipeline.config.schema import Config
from pipeline.design_space.base_design import STATED, base_values
from pipeline.design_space.drawn_designs import infeasible
from pipeline.design_space.trained_designs import TrainedDesigns
from pipeline.errors import StageError
from pipeline.store.samples import OK
from pipeline.studies.optimisation.gaits import SearchTask
from pipeline.studies.optimisation.problem import DesignProblem
from pipeline.studies.optimisation.schema import OptimisationFile
from surrogates.parametric.parameters import Parameters
from surrogates.sampling.designs import unit_design

#: Most designs that are drawn for each feasible one.
_MOST_DRAWN = 50


@dataclass(frozen=True, eq=False)
class SearchSetup:
    """Gaits, objectives and first designs (N, P) [any unit] of a search."""

    task: SearchTask
    problem: DesignProblem
    #: First generation, (N, P) [any unit]; the base design first.
    first: FloatArray
    #: Why the base configuration is no design of the run, or "".
    base_reason: str

    @classmethod
    def of(cls, file: OptimisationFile) -> SearchSetup:
        """Return the setup of a search.

        Raises `RunError`, `ConfigError` or `InputError` as `SearchTask.of`, or if finite elements
        would verify finite elements, and `StageError` if hardly any design is feasible.
        """
        settings, task = file.optimisation, SearchTask.of(file)
        config, parameters = task.run.config, task.run.knee.parameters
        if settings.verify == "finite_element" and config.contact.model == "finite_element":
            raise InputError(
                f"optimisation.verify: the original model of {settings.run} is of finite elements; "
                'expected "springs", which simulates the original model, found "finite_element"'
            )
        base, reason = base_design(config, parameters)
        first = first_designs(config, parameters, base, settings.population, settings.seed)
        return cls(task, DesignProblem(settings, parameters), first, reason)

    @property
    def run(self) -> TrainedDesigns:
        """The run over designs."""
        return self.task.run

    def base_of(self, designs: pd.DataFrame) -> int | None:
        """Return the number of the base design among all designs, if it has a gait cycle."""
        walks = not self.base_reason and designs["status"].iloc[0] == OK
        return 0 if walks else None


def first_designs(
    config: Config, parameters: Parameters, base: FloatArray | None, count: int, seed: int
) -> FloatArray:
    """Return the first generation (count, P) [any unit]: the base design, and draws.

    The draws are the first feasible designs of a Sobol sequence over the ranges; the base design
    (P,) is given if it is feasible and within the ranges. The configuration has [design_space].
    Raises `StageError` if hardly any design is feasible.
    """
    found = [] if base is None else [base]
    rng = np.random.default_rng(seed)
    tried = 0
    while len(found) < count:
        if tried >= _MOST_DRAWN * count:
            raise StageError(
                f"[design_space]: {len(found)} of {tried} designs are feasible; change the ranges "
                "or the constraints"
            )
        # A Sobol sequence is even in blocks of a power of two.
        size = max(tried, 2 ** int(np.ceil(np.log2(count))))
        for values in parameters.from_unit(unit_design("sobol", size, len(parameters), rng)):
            tried += 1
            if len(found) < count and not infeasible(config, parameters.named(values)):
                found.append(values)
    return np.array(found)


def base_design(config: Config, parameters: Parameters) -> tuple[FloatArray | None, str]:
    """Return the values (P,) [any unit] of the base configuration, or None and the reason.

    There are none if the configuration is no design of the run; else the reason is "".
    """
    base = base_values(config)
    for name, each in base.items():
        if each.origin != STATED:
            return None, f"{name}: {each.origin}"
    if reason := infeasible(config, {name: each.value for name, each in base.items()}):
        return None, f"the base configuration is infeasible: {reason}"
    return np.array([base[name].value for name in parameters.names]), ""
