"""A few steps of a gradient method from designs of the front, to designs that dominate them.

The search ends near the front, not on it. From a design with objectives f0, the largest of
(f - f0) / range (achievement scalarisation, Wierzbicki 1980) is minimised by SLSQP, as the least
upper bound of them all. Slopes are finite differences over whole gait cycles: outputs of the
surrogate are smooth in the parameters, and a step of 0.25 % of a range is far above their rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import NonlinearConstraint, minimize

from foundation.base.checks import FloatArray
from pipeline.execution.backends import Execution
from pipeline.progress import bar
from pipeline.store.samples import OK
from pipeline.studies.optimisation.choice import front_of, picked
from pipeline.studies.optimisation.evaluated import EvaluatedDesigns
from pipeline.studies.optimisation.gaits import SearchTask, outcome
from pipeline.studies.optimisation.problem import DesignProblem
from pipeline.studies.optimisation.setup import SearchSetup

#: Step of the finite differences in scaled parameters, of [-1, 1] [1].
_STEP = 5e-3
#: Most iterations of SLSQP.
_ITERATIONS = 8
#: Scaled objectives and limits of a design that is infeasible or has no gait cycle [1]: the line
#: search of SLSQP turns back.
_NOWHERE = 1e3


def refined(
    task: SearchTask, problem: DesignProblem, span: FloatArray, start: FloatArray
) -> FloatArray:
    """Return a design (P,) [any unit] better in all objectives, or the start if none is found.

    `span` (M,) [any unit] are the ranges, > 0, of the objectives over the front. Of all designs on
    the way that keep the limits, the returned one has the least achievement scalarisation.
    """
    way = _Way(task, problem, span, start)
    begin = problem.parameters.scaled(start)
    count, bounds = len(begin), [(-1.0, 1.0)] * len(begin)
    # The last variable is t, the upper bound of the scaled changes of the objectives.
    at, upward = np.zeros(count + 1), np.zeros(count + 1)
    at[:-1], upward[-1] = begin, 1.0

    def bound(x: Any) -> Any:
        return float(x[-1]), upward

    constraint = NonlinearConstraint(
        lambda x: way.slack(x[:-1]) + way.eased * x[-1],
        0.0,
        np.inf,
        jac=lambda x: np.column_stack([way.slopes(x[:-1]), way.eased]),
    )
    minimize(
        bound,
        at,
        jac=True,
        method="SLSQP",
        bounds=[*bounds, (-1.0, 1.0)],
        constraints=constraint,
        options={"maxiter": _ITERATIONS},
    )
    return way.best


class _Way:
    """Designs on the way from a start, each evaluated once.

    Constraints are how far the scaled objectives are below those of the start, and limits below
    their bounds; t `eased` those of the objectives alone.
    """

    def __init__(
        self, task: SearchTask, problem: DesignProblem, span: FloatArray, start: FloatArray
    ) -> None:
        self._task, self._problem, self._span = task, problem, span
        self._known: dict[bytes, FloatArray] = {}
        self._least = 0.0
        self.best = start
        row = pd.DataFrame([outcome(task, problem.parameters.named(start), "surrogate")])
        self._origin = problem.objectives(row)[0]
        limits = len(problem.margins(row)[0])
        self.eased = np.append(np.ones(len(span)), np.zeros(limits))

    def slack(self, z: FloatArray) -> FloatArray:
        """Return the constraints (M + limits,) [1], >= 0 if kept, at scaled z (P,) [1]."""
        key = np.asarray(z).tobytes()
        if key not in self._known:
            self._known[key] = self._evaluated(np.clip(z, -1.0, 1.0))
        return self._known[key]

    def slopes(self, z: FloatArray) -> FloatArray:
        """Return the derivatives (M + limits, P) of the constraints by scaled parameters [1]."""
        steps = np.where(z > 0.0, -_STEP, _STEP)
        ends = [
            self.slack(z + step * unit) for step, unit in zip(steps, np.eye(len(z)), strict=True)
        ]
        return np.column_stack(
            [(end - self.slack(z)) / step for end, step in zip(ends, steps, strict=True)]
        )

    def _evaluated(self, z: FloatArray) -> FloatArray:
        parameters = self._problem.parameters
        values = parameters.from_unit(0.5 * (z + 1.0))
        found: dict[str, Any] = outcome(self._task, parameters.named(values), "surrogate")
        if found["status"] != OK:
            return np.full(len(self.eased), -_NOWHERE)
        row = pd.DataFrame([found])
        gains = (self._origin - self._problem.objectives(row)[0]) / self._span
        margins = self._problem.margins(row)[0]
        if gains.min() > self._least and (margins >= 0.0).all():
            self._least, self.best = float(gains.min()), values
        return np.append(gains, margins)


def refine_front(
    setup: SearchSetup, evaluated: EvaluatedDesigns, execution: Execution
) -> dict[str, float]:
    """Add designs that dominate those of the front that would be chosen.

    Returned are "designs" and "improved", the numbers of designs that the method began from and
    that it improved, and "largest_gain", what all objectives gained at most, in ranges of the
    front.
    """
    problem, designs = setup.problem, evaluated.table
    front = front_of(problem, designs)
    picks = picked(problem, designs, front, setup.base_of(designs))
    numbers = [pick.design for pick in picks if pick.design in front.places]
    starts = designs.loc[numbers, list(problem.parameters.names)].to_numpy(dtype=np.float64)
    found = starts.copy()
    with bar(len(starts), "design", "refinement") as shown:
        jobs = [(start,) for start in starts]
        for k, better in execution.results(refined, jobs, setup.task, problem, front.span):
            found[k] = better
            shown.update()
    moved = np.flatnonzero((found != starts).any(axis=1))
    gain = 0.0
    if len(moved):
        after = evaluated.evaluate(found[moved], problem.settings.generations, lambda count: None)
        before = designs.loc[[numbers[k] for k in moved]]
        gains = (problem.objectives(before) - problem.objectives(after)) / front.span
        gain = float(gains.min(axis=1).max())
    return {"designs": len(starts), "improved": len(moved), "largest_gain": gain}
