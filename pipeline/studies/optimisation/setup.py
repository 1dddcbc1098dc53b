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
    """Gaits, objectives and first designs of a search.

    Parameters
    ----------
    task : SearchTask
        Gaits and measures.
    problem : DesignProblem
        Objectives and limits.
    first : (N, P) float64
        First generation [any unit]; the base design first.
    base_reason : str
        Why the base configuration is no design of the run, or "".
    """

    task: SearchTask
    problem: DesignProblem
    first: FloatArray
    base_reason: str

    @classmethod
    def of(cls, file: OptimisationFile) -> SearchSetup:
        """Return the setup of a search.

        Raises
        ------
        RunError, ConfigError, InputError
            As `SearchTask.of`, or if finite elements would verify finite elements.
        StageError
            If hardly any design is feasible.
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

    The draws are the first feasible designs of a Sobol sequence over the ranges.

    Parameters
    ----------
    config : Config
        Configuration with [design_space].
    parameters : Parameters
        Parameters and their ranges.
    base : (P,) float64, optional
        Base design [any unit], if it is feasible and within the ranges.
    count, seed : int
        Number of designs, and seed of the draws.

    Raises
    ------
    StageError
        If hardly any design is feasible.
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
    """Return the values (P,) [any unit] of the base configuration.

    Returns
    -------
    values : (P,) float64 or None
        None if the base configuration is no design of the run.
    reason : str
        Why not, or "".
    """
    base = base_values(config)
    for name, each in base.items():
        if each.origin != STATED:
            return None, f"{name}: {each.origin}"
    if reason := infeasible(config, {name: each.value for name, each in base.items()}):
        return None, f"the base configuration is infeasible: {reason}"
    return np.array([base[name].value for name in parameters.names]), ""
