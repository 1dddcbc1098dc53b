"""The search for the Pareto front: problem, first designs, NSGA-II, refinement, chosen designs.

NSGA-II (Deb et al. 2002, IEEE Trans Evol Comput 6:182-197, by pymoo) is repeated from its beginning
where it continues an interrupted search: no design is evaluated again whose outcome is stored.

NSGA-II ends near the front, not on it. From a design with objectives f0, the refinement minimises
the largest of (f - f0) / range (achievement scalarisation, Wierzbicki 1980) by SLSQP, as the least
upper bound of them all. Slopes are finite differences over whole gait cycles: outputs of the
surrogate are smooth in the parameters, and a step of 0.25 % of a range is far above their rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import NonlinearConstraint, minimize

from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError
from pipeline.config.reading import dump_config
from pipeline.config.schema import Config
from pipeline.design_space.errors import error_of
from pipeline.design_space.sampling import STATED, base_values, infeasible
from pipeline.design_space.taken_design import TrainedDesigns
from pipeline.errors import StageError
from pipeline.execution import Execution
from pipeline.files import write_text
from pipeline.progress import bar
from pipeline.store.samples import OK
from pipeline.studies.optimisation.designs import INFEASIBLE, Designs, outcome
from pipeline.studies.optimisation.schema import (
    DESIGN_OUTPUTS,
    EXPECTED,
    OptimisationConfig,
    OptimisationFile,
    doubts_of,
)
from pipeline.studies.study import DesignTask, opened
from surrogates.sampling.designs import unit_design
from surrogates.sampling.parameters import Parameters

#: Least weight of an objective in a reference direction [1]: of equal designs, the better one.
_LEAST_WEIGHT = 1e-4


def spread_over(front: FloatArray, count: int) -> list[int]:
    """Return the places of `count` designs, or fewer, spread over a front (N, M) [any unit].

    For each reference direction, the design of the least achievement scalarisation. Of two
    objectives, the directions are even (Das & Dennis 1998, SIAM J Optim 8:631-657), of more, of
    least Riesz energy (Blank et al. 2021, IEEE Trans Evol Comput 25:48-60).
    """
    from pymoo.util.ref_dirs import get_reference_directions

    low, high = front.min(axis=0), front.max(axis=0)
    scaled, objectives = (front - low) / np.where(high > low, high - low, 1.0), front.shape[1]
    if objectives == 1 or count == 1:
        directions = np.full((1, objectives), 1.0 / objectives)
    elif objectives == 2:
        directions = get_reference_directions("das-dennis", 2, n_partitions=count - 1)
    else:
        directions = get_reference_directions("energy", objectives, count, seed=1)
    weights = np.maximum(directions, _LEAST_WEIGHT)
    return list(dict.fromkeys(int((scaled / row).max(axis=1).argmin()) for row in weights))


def better_than(objectives: FloatArray, base: FloatArray) -> int | None:
    """Return the row of objectives (N, M) that improves most on a base (M,) [any unit], if any.

    It has the largest of the least improvements: a design that is hardly better in one objective
    may be worse by another contact model.
    """
    gains = (base - objectives) / np.maximum(np.abs(base), np.finfo(float).tiny)
    eligible = (gains >= 0.0).all(axis=1) & (gains > 0.0).any(axis=1)
    if not eligible.any():
        return None
    return int(np.argmax(np.where(eligible, gains.min(axis=1), -np.inf)))


#: Violation of a design that is infeasible, or has no gait cycle [1]; larger than that of a limit.
_INFEASIBLE, _NO_CYCLE = 1e6, 1e3


@dataclass(frozen=True)
class DesignProblem:
    """Objectives and limits of a search over designs, and the parameters with their ranges."""

    settings: OptimisationConfig
    parameters: Parameters

    def objectives(self, designs: pd.DataFrame) -> FloatArray:
        """Return the objectives (N, M) of designs, to minimise [any unit]; NaN without gait."""
        columns, signs = zip(*((e.output, e.sign) for e in self.settings.objective), strict=True)
        return np.array(signs) * designs[list(columns)].to_numpy(dtype=np.float64)

    def violations(self, designs: pd.DataFrame) -> FloatArray:
        """Return violations (N, C) [1]: of feasibility and gait, then of each end of a limit."""
        status = designs["status"].to_numpy()
        first = np.where(status == INFEASIBLE, _INFEASIBLE, np.where(status == OK, 0.0, _NO_CYCLE))
        return np.column_stack([first, np.maximum(np.nan_to_num(-self.margins(designs)), 0.0)])

    def margins(self, designs: pd.DataFrame) -> FloatArray:
        """Return how far designs are within limits, less expected errors, (N, C) [1]."""
        found = [np.empty((len(designs), 0))]
        for output, bound, sign in self.settings.bounds:
            values = designs[[output]].to_numpy(dtype=np.float64)
            error = designs.reindex(columns=[f"{EXPECTED}{error_of(output)}"])
            doubt = 0.01 * np.nan_to_num(error.to_numpy(dtype=np.float64)) * np.abs(values)
            found.append((sign * (bound - values) - doubt) / (abs(bound) or 1.0))
        return np.concatenate(found, axis=1)

    def allowed(self, designs: pd.DataFrame) -> np.ndarray:
        """Return which designs (N,) violate no constraint, bool."""
        return np.asarray((self.violations(designs) == 0.0).all(axis=1))


#: Most designs that are drawn for each feasible one.
_MOST_DRAWN = 50


@dataclass(frozen=True, eq=False)
class SearchSetup:
    """Task, objectives and first designs (N, P) [any unit] of a search."""

    task: DesignTask
    problem: DesignProblem
    #: First generation, (N, P) [any unit]; the base design first.
    first: FloatArray
    #: Why the base configuration is no design of the run, or "".
    base_reason: str

    @classmethod
    def of(cls, file: OptimisationFile) -> SearchSetup:
        """Return the setup of a search; raises as `DesignTask.of`."""
        settings = file.optimisation
        task = DesignTask.of(Path(settings.run), "surrogate", file.simulation)
        run, _ = opened(task)
        config, parameters = run.config, run.knee.parameters
        base, reason = base_design(config, parameters)
        first = first_designs(config, parameters, base, settings.population, settings.seed)
        return cls(task, DesignProblem(settings, parameters), first, reason)

    @property
    def run(self) -> TrainedDesigns:
        """The run over designs."""
        return opened(self.task)[0]

    def base_of(self, designs: pd.DataFrame) -> int | None:
        """Return the number of the base design among all designs, if it has a gait cycle."""
        walks = not self.base_reason and designs["status"].iloc[0] == OK
        return 0 if walks else None


def first_designs(
    config: Config, parameters: Parameters, base: FloatArray | None, count: int, seed: int
) -> FloatArray:
    """Return the base design (P,), if given, and feasible draws, (count, P) [any unit]."""
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
    """Return the values (P,) [any unit] of the base configuration, or None and the reason."""
    base = base_values(config)
    for name, each in base.items():
        if each.origin != STATED:
            return None, f"{name}: {each.origin}"
    if reason := infeasible(config, {name: each.value for name, each in base.items()}):
        return None, f"the base configuration is infeasible: {reason}"
    return np.array([base[name].value for name in parameters.names]), ""


def require_pymoo() -> None:
    """Raise an InputError if pymoo, which the search needs, is not installed."""
    try:
        import pymoo  # noqa: F401
    except ImportError as error:
        raise InputError(
            "the search of designs needs the package pymoo; install it with "
            '`pip install "knee-contact[optimise]"`'
        ) from error


def search(problem: DesignProblem, evaluated: Designs, first: FloatArray) -> None:
    """Carry out the search from a first generation (N, P) [any unit]; `evaluated` keeps designs."""
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.config import Config
    from pymoo.core.evaluator import Evaluator
    from pymoo.core.problem import Problem
    from pymoo.core.termination import NoTermination
    from pymoo.problems.static import StaticProblem

    # Standard output has the answer of the command alone.
    Config.warnings["not_compiled"] = False
    settings, parameters = problem.settings, problem.parameters
    box = Problem(
        n_var=len(parameters),
        n_obj=len(settings.objective),
        n_ieq_constr=1 + len(settings.bounds),
        xl=parameters.low,
        xu=parameters.high,
    )
    algorithm = NSGA2(pop_size=len(first), sampling=first, seed=settings.seed)
    algorithm.setup(box, termination=NoTermination())
    with bar(settings.generations * len(first), "design", settings.name) as shown:
        for generation in range(settings.generations):
            asked = algorithm.ask()
            # No more than offspring that equal earlier designs: the ranges are searched.
            if asked is None or not len(asked):
                break
            table = evaluated.evaluate(asked.get("X"), generation, shown)
            # An objective of a design without a gait cycle does not count, but must be a number.
            values = np.nan_to_num(problem.objectives(table))
            static = StaticProblem(box, F=values, G=problem.violations(table))
            Evaluator().eval(static, asked)
            algorithm.tell(infills=asked)


#: Step of the finite differences in scaled parameters, of [-1, 1] [1].
_STEP = 5e-3
#: Most iterations of SLSQP.
_ITERATIONS = 8
#: Scaled objectives and limits of a design that is infeasible or has no gait cycle [1]: the line
#: search of SLSQP turns back.
_NOWHERE = 1e3


def refined(
    task: DesignTask, problem: DesignProblem, span: FloatArray, start: FloatArray
) -> FloatArray:
    """Return a design (P,) better in all objectives, of ranges `span` (M,) [any unit], if any."""
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

    Constraints are how far scaled objectives are below those of the start, and limits below their
    bounds; t `eased` those of the objectives alone.
    """

    def __init__(
        self, task: DesignTask, problem: DesignProblem, span: FloatArray, start: FloatArray
    ) -> None:
        self._task, self._problem, self._span = task, problem, span
        self._known: dict[bytes, FloatArray] = {}
        self._least = 0.0
        self.best = start
        row = pd.DataFrame([outcome(task, problem.parameters.named(start))])
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
        found = outcome(self._task, parameters.named(values))
        if found["status"] != OK:
            return np.full(len(self.eased), -_NOWHERE)
        row = pd.DataFrame([found])
        gains = (self._origin - self._problem.objectives(row)[0]) / self._span
        margins = self._problem.margins(row)[0]
        if gains.min() > self._least and (margins >= 0.0).all():
            self._least, self.best = float(gains.min()), values
        return np.append(gains, margins)


def refine_front(setup: SearchSetup, evaluated: Designs, execution: Execution) -> dict[str, float]:
    """Add designs that dominate those of the front that would be chosen; return counts."""
    problem, designs = setup.problem, evaluated.table
    front = front_of(problem, designs)
    picks = picked(problem, designs, front, setup.base_of(designs))
    numbers = [pick.design for pick in picks if pick.design in front.places]
    starts = designs.loc[numbers, evaluated.names].to_numpy(dtype=np.float64)
    found, gain = starts.copy(), 0.0
    with bar(len(starts), "design", "refinement") as shown:
        jobs = [(start,) for start in starts]
        for k, better in execution.results(refined, jobs, setup.task, problem, front.span):
            found[k] = better
            shown.update()
        moved = np.flatnonzero((found != starts).any(axis=1))
        if len(moved):
            after = evaluated.evaluate(found[moved], problem.settings.generations, shown)
            before = designs.loc[[numbers[k] for k in moved]]
            gains = (problem.objectives(before) - problem.objectives(after)) / front.span
            gain = float(gains.min(axis=1).max())
    return {"designs": len(starts), "improved": len(moved), "largest_gain": gain}


#: Names of the base design and of the one that improves most on it.
BASE, BETTER = "base", "better"
_BETTER_WORDS = "largest improvement on the base design in all objectives"


class Pick(NamedTuple):
    """A design that is verified: its name, what it is chosen for, and its number."""

    name: str
    role: str
    design: int


class Front(NamedTuple):
    """The non-dominated designs of a search, with objectives (N, M) [any unit]."""

    #: Numbers of the designs, by the first objective from its best value on, (N,).
    places: IntArray
    #: To minimise, (N, M) [any unit].
    objectives: FloatArray
    #: Ranges of the objectives, > 0, (M,) [any unit].
    span: FloatArray


def front_of(problem: DesignProblem, designs: pd.DataFrame) -> Front:
    """Return the non-dominated designs of all that violate no constraint."""
    from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

    allowed = np.flatnonzero(problem.allowed(designs))
    if not len(allowed):
        raise StageError(_why_none(problem, designs))
    objectives = problem.objectives(designs)[allowed]
    kept = np.sort(NonDominatedSorting().do(objectives, only_non_dominated_front=True))
    kept = kept[np.argsort(objectives[kept, 0], kind="stable")]
    found = objectives[kept]
    span = np.ptp(found, axis=0)
    # One design has no range: one percent of its objectives stands in.
    span = np.where(span > 0.0, span, np.maximum(0.01 * np.abs(found[0]), 1e-12))
    return Front(allowed[kept], found, span)


def _why_none(problem: DesignProblem, designs: pd.DataFrame) -> str:
    """Return why no design is allowed, in words."""
    walked = designs[designs["status"] == OK]
    if walked.empty:
        reasons = designs.loc[designs["status"] != OK, "reason"]
        return f"no design has a gait cycle; the first: {reasons.iloc[0]}"
    margins = problem.margins(walked)
    nearest = int(np.argmax(margins.min(axis=1)))
    output, bound, sign = problem.settings.bounds[int(np.argmin(margins[nearest]))]
    return (
        f"no design keeps the limits; the nearest one has {output} = "
        f"{walked[output].iloc[nearest]:.4g} (limit: at {'most' if sign > 0 else 'least'} "
        f"{bound:g}); change [[optimisation.limit]] or search more generations"
    )


def picked(
    problem: DesignProblem, designs: pd.DataFrame, front: Front, base: int | None
) -> list[Pick]:
    """Return the designs that are verified, each once; `base` is the number of the base design."""
    found: list[Pick] = []
    if base is not None:
        found.append(Pick(BASE, "base configuration", base))
        own = problem.objectives(designs)[base]
        better = better_than(front.objectives, own)
        if better is not None:
            found.append(Pick(BETTER, _BETTER_WORDS, int(front.places[better])))
    known = {pick.design for pick in found}
    places = sorted(spread_over(front.objectives, problem.settings.chosen))
    spread = [k for k in places if int(front.places[k]) not in known]
    best = np.argmin(front.objectives, axis=0)
    for number, k in enumerate(spread, start=1):
        labels = [
            DESIGN_OUTPUTS[each.output].label
            for each, place in zip(problem.settings.objective, best, strict=True)
            if place == k
        ]
        role = f"best {', '.join(labels)}" if labels else "compromise"
        found.append(Pick(f"front-{number}", role, int(front.places[k])))
    return found


def front_table(
    setup: SearchSetup, designs: pd.DataFrame, front: Front, picks: Sequence[Pick]
) -> pd.DataFrame:
    """Return the designs of the front with parameters, outcomes, expected errors and doubts."""
    table = designs.loc[front.places].reset_index(drop=True).drop(columns=["status", "reason"])
    # A run without unseen designs knows no expected errors.
    table = table.dropna(axis=1, how="all")
    names = {pick.design: pick.name for pick in picks}
    leading = ["design", "generation", *setup.problem.parameters.names]
    table = table[[*leading, *table.columns.drop(leading)]]
    table.insert(0, "name", [names.get(number, "") for number in table["design"]])
    errors = table.filter(regex=f"^{EXPECTED}").rename(columns=lambda name: name[len(EXPECTED) :])
    outputs = setup.problem.settings.outputs
    rows = errors.to_dict("records") if len(errors.columns) else [{}] * len(table)
    return table.assign(doubts=["; ".join(doubts_of(outputs, row)) for row in rows])


def write_designs(
    folder: Path,
    run: TrainedDesigns,
    name: str,
    designs: pd.DataFrame,
    picks: Sequence[Pick],
) -> None:
    """Write the configuration of each chosen design, from which `knee-contact run` makes a run."""
    names = list(run.knee.parameters.names)
    for pick in picks:
        values = designs.loc[pick.design, names].to_numpy(dtype=float)
        config = run.config_of(values)
        named = config.run.model_copy(update={"name": f"{name}-{pick.name}"})
        text = dump_config(config.model_copy(update={"run": named}))
        write_text(folder / "designs" / pick.name / "design.toml", text)
