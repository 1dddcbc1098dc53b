"""The search as a problem of minimisation: objectives to minimise, violations of constraints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray
from pipeline.design_space.errors import error_of
from pipeline.store.samples import OK
from pipeline.studies.optimisation.gaits import INFEASIBLE
from pipeline.studies.optimisation.outputs import EXPECTED
from pipeline.studies.optimisation.schema import OptimisationConfig
from surrogates.parametric.parameters import Parameters

#: Violation of a design that is infeasible, or has no gait cycle [1]; larger than that of a limit.
_INFEASIBLE, _NO_CYCLE = 1e6, 1e3


@dataclass(frozen=True)
class DesignProblem:
    """Objectives and limits of a search over designs, and the parameters with their ranges."""

    settings: OptimisationConfig
    parameters: Parameters

    @property
    def columns(self) -> list[str]:
        """Columns of the objectives."""
        return [measure.column for measure in self.settings.objectives]

    def objectives(self, designs: pd.DataFrame) -> FloatArray:
        """Return the objectives (N, M) of designs with outcomes, to minimise [any unit].

        NaN for a design without gait cycles.
        """
        signs = np.array([each.sign for each in self.settings.objective])
        return signs * designs[self.columns].to_numpy(dtype=np.float64)

    def violations(self, designs: pd.DataFrame) -> FloatArray:
        """Return by how much designs violate the constraints, (N, C) [1]; 0 if not at all.

        First whether the design is feasible and has gait cycles, then each end of a limit, relative
        to its value.
        """
        status = designs["status"].to_numpy()
        first = np.where(status == INFEASIBLE, _INFEASIBLE, np.where(status == OK, 0.0, _NO_CYCLE))
        return np.column_stack([first, np.maximum(np.nan_to_num(-self.margins(designs)), 0.0)])

    def margins(self, designs: pd.DataFrame) -> FloatArray:
        """Return how far designs are within each end of a limit, (N, C) [1], relative to its value.

        The expected error of the surrogate, where the designs have one, counts against them.
        Negative beyond a limit, NaN for a design without gait cycles.
        """
        found = [np.empty((len(designs), 0))]
        for measure, bound, sign in self.settings.bounds:
            values = designs[[measure.column]].to_numpy(dtype=np.float64)
            error = designs.reindex(columns=[f"{EXPECTED}{error_of(measure.output)}"])
            doubt = 0.01 * np.nan_to_num(error.to_numpy(dtype=np.float64)) * np.abs(values)
            found.append((sign * (bound - values) - doubt) / (abs(bound) or 1.0))
        return np.concatenate(found, axis=1)

    def allowed(self, designs: pd.DataFrame) -> np.ndarray:
        """Return which designs (N,) violate no constraint, bool."""
        return np.asarray((self.violations(designs) == 0.0).all(axis=1))
