"""The search for the Pareto front of designs: keys, evaluated designs, NSGA-II, chosen designs.

NSGA-II (Deb et al. 2002, IEEE Trans Evol Comput 6:182-197, by pymoo) is repeated from its beginning
where it continues an interrupted search: no design is evaluated again whose outcome is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from pydantic import AfterValidator, Field, model_validator
from tqdm import tqdm

from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from pipeline.config.reading import dump_config
from pipeline.config.schema import Config, ExecutionConfig
from pipeline.config.schema_base import Finite, Section, name_field, near
from pipeline.design_space.designs import (
    STATED,
    TrainedDesigns,
    base_values,
    feasible_designs,
    infeasible,
)
from pipeline.design_space.errors import ERRORS, doubts, error_of, expected_errors
from pipeline.errors import StageError
from pipeline.execution import Execution
from pipeline.files import write_text
from pipeline.progress import bar
from pipeline.simulation import OUTPUTS, Output
from pipeline.store.sample_store import SAMPLES, Evaluation, SampleStore
from pipeline.store.samples import OK
from pipeline.studies.factors import DESIGN
from pipeline.studies.schema import REPLACED, ReplacedKeys
from pipeline.studies.study import NOT_FEASIBLE, DesignTask, open_designs, run_rows
from surrogates.sampling.parameters import Parameters

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
    error_names = {error_of(name) for name in outputs}
    return doubts({name: error for name, error in expected.items() if name in error_names})


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
        ends = ((limit.output, limit.at_most, limit.at_least) for limit in self.limit)
        return [
            Bound(output, value, sign)
            for output, *values in ends
            for value, sign in zip(values, (1.0, -1.0), strict=True)
            if value is not None
        ]

    @property
    def outputs(self) -> tuple[str, ...]:
        """Outputs of objectives and limits, each once."""
        names = [goal.output for goal in self.objective] + [goal.output for goal in self.limit]
        return tuple(dict.fromkeys(names))

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        names = [objective.output for objective in self.objective]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise InputError(f"objective: expected each once, found {', '.join(twice)} again")
        return self


class OptimisationFile(Section):
    """Search of the designs of a run over designs."""

    optimisation: OptimisationConfig
    simulation: ReplacedKeys = Field(default_factory=dict, description=REPLACED)


#: Status of what is no design of the run, beside "ok" and "failed".
INFEASIBLE = "infeasible"
#: Parts of the designs of a generation for each worker, so that all workers end at about the same
#: time.
_PARTS_EACH = 4


def outcomes(task: DesignTask, rows: pd.DataFrame) -> pd.DataFrame:
    """Return designs, a row each with its parameters, with status, outputs and expected errors."""
    results = run_rows(task, rows.add_prefix(DESIGN))
    results = results[["status", "reason", "flagged_instants", *OUTPUTS]]
    peaks = results[[f"{compartment}_peak_pressure_MPa" for compartment in COMPARTMENTS]]
    forbidden = results["reason"].str.startswith(NOT_FEASIBLE)
    results = results.assign(
        status=results["status"].mask(forbidden, INFEASIBLE),
        reason=results["reason"].str.removeprefix(NOT_FEASIBLE),
        **{PEAK_PRESSURE: peaks.max(axis=1, skipna=False)},
    )
    knee, records = open_designs(task)[0].knee, rows.to_dict("records")
    values = [{str(name): value for name, value in row.items()} for row in records]
    by_surrogate = task.model == "surrogate"
    errors = [expected_errors(knee, row) if by_surrogate else {} for row in values]
    expected = pd.DataFrame(errors, index=rows.index, columns=pd.Index(ERRORS), dtype=float)
    return pd.concat([rows, results, expected.add_prefix(EXPECTED)], axis=1)


class Designs:
    """Designs with their outcomes, each evaluated once and stored in a folder."""

    def __init__(self, task: DesignTask, folder: Path, execution: Execution) -> None:
        self.names = list(open_designs(task)[0].knee.parameters.names)
        self._execution = execution
        evaluation = Evaluation(outcomes, (task,), f"{task.source} {task.model}")
        self._store = SampleStore(folder / SAMPLES, evaluation)
        self._parts: list[pd.DataFrame] = []

    @property
    def table(self) -> pd.DataFrame:
        """All designs: numbers, parameters and outcomes."""
        table = pd.concat(self._parts).drop_duplicates(self.names, ignore_index=True)
        return table.assign(design=np.arange(len(table)))

    def evaluate(self, designs: FloatArray, generation: int, shown: tqdm[Any]) -> pd.DataFrame:
        """Return designs (N, P) [any unit] with their outcomes."""
        rows = pd.DataFrame(designs, columns=pd.Index(self.names))
        missing = self._store.missing(rows.drop_duplicates())
        shown.update(len(rows) - len(missing))
        size = -(-len(missing) // (_PARTS_EACH * self._execution.workers))
        self._store.evaluate(missing, max(size, 1), self._execution, shown)
        evaluated = self._store.with_results(rows)
        self._parts.append(evaluated.assign(generation=generation))
        return evaluated


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
        columns = [np.empty((len(designs), 0))]
        for output, bound, sign in self.settings.bounds:
            values = designs[[output]].to_numpy(dtype=np.float64)
            error = designs.reindex(columns=[f"{EXPECTED}{error_of(output)}"])
            doubt = 0.01 * np.nan_to_num(error.to_numpy(dtype=np.float64)) * np.abs(values)
            columns.append((sign * (bound - values) - doubt) / (abs(bound) or 1.0))
        return np.concatenate(columns, axis=1)

    def allowed(self, designs: pd.DataFrame) -> np.ndarray:
        """Return which designs (N,) violate no constraint, bool."""
        return np.asarray((self.violations(designs) == 0.0).all(axis=1))


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
        run, _ = open_designs(task)
        config, parameters = run.config, run.knee.parameters
        base, reason = base_design(config, parameters)
        count, rng = settings.population - len(base), np.random.default_rng(settings.seed)
        first = np.concatenate([base, feasible_designs(config, count, rng)[0]])
        return cls(task, DesignProblem(settings, parameters), first, reason)

    @property
    def run(self) -> TrainedDesigns:
        """The run over designs."""
        return open_designs(self.task)[0]

    def base_of(self, designs: pd.DataFrame) -> int | None:
        """Return the number of the base design among all designs, if it has a gait cycle."""
        walks = not self.base_reason and designs["status"].iloc[0] == OK
        return 0 if walks else None


def base_design(config: Config, parameters: Parameters) -> tuple[FloatArray, str]:
    """Return the base configuration (1, P) [any unit], or no row (0, P) and the reason."""
    base, none = base_values(config), np.empty((0, len(parameters)))
    for name, base_value in base.items():
        if base_value.origin != STATED:
            return none, f"{name}: {base_value.origin}"
    if reason := infeasible(config, {name: base_value.value for name, base_value in base.items()}):
        return none, f"the base configuration is infeasible: {reason}"
    return np.array([[base[name].value for name in parameters.names]]), ""


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
    order = np.sort(NonDominatedSorting().do(objectives, only_non_dominated_front=True))
    order = order[np.argsort(objectives[order, 0], kind="stable")]
    front_objectives = objectives[order]
    span = np.ptp(front_objectives, axis=0)
    # One design has no range: one percent of its objectives stands in.
    span = np.where(span > 0.0, span, np.maximum(0.01 * np.abs(front_objectives[0]), 1e-12))
    return Front(allowed[order], front_objectives, span)


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
    picks: list[Pick] = []
    if base is not None:
        picks.append(Pick(BASE, "base configuration", base))
        base_objectives = problem.objectives(designs)[base]
        better = better_than(front.objectives, base_objectives)
        if better is not None:
            picks.append(Pick(BETTER, _BETTER_WORDS, int(front.places[better])))
    known = {pick.design for pick in picks}
    places = sorted(spread_over(front.objectives, problem.settings.chosen))
    spread = [k for k in places if int(front.places[k]) not in known]
    best = np.argmin(front.objectives, axis=0)
    for number, k in enumerate(spread, start=1):
        labels = [
            DESIGN_OUTPUTS[objective.output].label
            for objective, place in zip(problem.settings.objective, best, strict=True)
            if place == k
        ]
        role = f"best {', '.join(labels)}" if labels else "compromise"
        picks.append(Pick(f"front-{number}", role, int(front.places[k])))
    return picks


def front_table(
    setup: SearchSetup, designs: pd.DataFrame, front: Front, picks: Sequence[Pick]
) -> pd.DataFrame:
    """Return the designs of the front with parameters, outcomes and expected errors."""
    table = designs.loc[front.places].reset_index(drop=True).drop(columns=["status", "reason"])
    # A run without unseen designs knows no expected errors.
    table = table.dropna(axis=1, how="all")
    names = {pick.design: pick.name for pick in picks}
    leading = ["design", "generation", *setup.problem.parameters.names]
    table = table[[*leading, *table.columns.drop(leading)]]
    table.insert(0, "name", [names.get(number, "") for number in table["design"]])
    return table


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
