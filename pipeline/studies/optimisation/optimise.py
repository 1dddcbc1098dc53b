"""Search of designs: from the configuration to front, verified designs, files and page."""

from __future__ import annotations

import platform
import time
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from dynamics.simulator.result import SimulationResult
from foundation.base.wording import counted
from pipeline.design_space.errors import expected_errors
from pipeline.execution import Execution
from pipeline.originals.finite_element_layer import element_layer
from pipeline.progress import say
from pipeline.stages.elastic_layer import peak_area
from pipeline.stages.model_cycles import FAILURES
from pipeline.store.job import Job, JobKind
from pipeline.store.samples import FAILED, OK, write_table
from pipeline.studies.conduct import Outcome, Study, Table
from pipeline.studies.optimisation.document import (
    MODELS,
    ChosenDesign,
    ElementsFound,
    OptimisationDocument,
    bounds_found,
    objectives_found,
    optimisation_page,
    summary_lines,
)
from pipeline.studies.optimisation.gaits import (
    INFEASIBLE,
    EvaluatedDesigns,
    SearchTask,
    evaluated,
    number_columns,
    slices_through,
)
from pipeline.studies.optimisation.schema import OptimisationFile, doubts_of, with_peak
from pipeline.studies.optimisation.search import (
    BASE,
    BETTER,
    DesignProblem,
    Front,
    Pick,
    SearchSetup,
    front_of,
    front_table,
    picked,
    refine_front,
    require_pymoo,
    search,
    write_designs,
)
from pipeline.studies.runs import CycleSetup

#: Least distance of the nodes of finite elements [mm].
_FINEST_MM = 0.5


def verified_by_elements(task: SearchTask, values: Mapping[str, float]) -> ElementsFound:
    """Simulate the cycle of a design with the surrogate, the original and finite elements."""
    try:
        _, by_surrogate = _cycle(task.cycles_of(values, "surrogate"))
        setup = task.cycles_of(values, "original")
        result, by_original = _cycle(setup)
        config = task.run.config_of(values)
        spacing, model = element_layer(config, peak_area(result), _FINEST_MM, np.inf)
        _, by_elements = _cycle(replace(setup, model=model))
    except FAILURES as error:
        return ElementsFound(reason=" ".join(str(error).split()))
    return ElementsFound(
        node_spacing_mm=spacing,
        finite_element=by_elements,
        original=by_original,
        surrogate=by_surrogate,
    )


def _cycle(setup: CycleSetup) -> tuple[SimulationResult, dict[str, float]]:
    result = setup.simulate(setup.nominal)
    return result, with_peak(setup.outputs(setup.nominal, result))


#: A row of a table of designs, by column.
Row = Mapping[Hashable, Any]


def verified(
    setup: SearchSetup, designs: pd.DataFrame, picks: Sequence[Pick], execution: Execution
) -> list[ChosenDesign]:
    """Return the chosen designs, simulated again as the configuration says."""
    verify, names = setup.problem.settings.verify, list(setup.problem.parameters.names)
    table = designs.loc[[pick.design for pick in picks]]
    rows = table.to_dict("records")
    originals: Sequence[Row | None] = [None] * len(rows)
    if verify != "none":
        say(f"  original model of {counted(len(rows), 'design')}")
        simulated = evaluated(setup.task, table[names], execution, "original", "original model")
        originals = simulated.to_dict("records")
    elements: dict[str, ElementsFound] = {}
    if verify == "finite_element":
        elements = {
            pick.name: verified_by_elements(setup.task, _numbers(row, names))
            for pick, row in zip(picks, rows, strict=True)
            if pick.name in (BASE, BETTER)
        }
    found: list[ChosenDesign] = []
    for pick, row, original in zip(picks, rows, originals, strict=True):
        base = found[0] if found and found[0].name == BASE else None
        found.append(_chosen(setup, pick, row, original, elements.get(pick.name), base))
    return found


def _chosen(
    setup: SearchSetup,
    pick: Pick,
    row: Row,
    simulated: Row | None,
    elements: ElementsFound | None,
    base: ChosenDesign | None,
) -> ChosenDesign:
    """Return a chosen design; `base` is the base design, None if there is none or for itself."""
    columns = number_columns(setup.task)
    values = _numbers(row, setup.problem.parameters.names)
    surrogate, original, reason = _numbers(row, columns), None, ""
    if simulated is not None:
        reason = str(simulated["reason"])
        original = _numbers(simulated, columns) if simulated["status"] == OK else None
    expected = expected_errors(setup.run.knee, values)
    by_elements = None if elements is None else elements.finite_element
    told = list(dict.fromkeys(measure.column for measure in setup.problem.settings.measures))
    against = None
    if base is not None:
        of_base = None if base.elements is None else base.elements.finite_element
        pairs = [(base.surrogate, surrogate), (base.original, original), (of_base, by_elements)]
        against = _against(told, pairs)
    return ChosenDesign(
        **pick._asdict(),
        values=values,
        surrogate=surrogate,
        expected=expected,
        doubts=doubts_of(setup.task.measures, expected),
        flagged_instants=int(row["flagged_instants"]),
        instants=int(row["instants"]),
        reason=reason,
        original=original,
        differences=None if original is None else _changes(told, surrogate, original),
        against_base=against,
        elements=elements,
    )


def _numbers(row: Row, columns: Sequence[str]) -> dict[str, float]:
    return {name: float(row[name]) for name in columns}


def _changes(
    columns: Iterable[str], values: Mapping[str, float], of: Mapping[str, float]
) -> dict[str, float]:
    """Return by how much values differ from others [%], by column; without those that are 0."""
    known = [name for name in columns if of.get(name) and name in values]
    return {name: 100.0 * (values[name] / of[name] - 1.0) for name in known}


def _against(
    columns: Iterable[str],
    pairs: Sequence[tuple[Mapping[str, float] | None, Mapping[str, float] | None]],
) -> dict[str, dict[str, float | None]]:
    """Return by how much a design differs from the base design [%], by column and model."""
    changes = [
        {} if base is None or own is None else _changes(columns, own, base) for base, own in pairs
    ]
    return {
        name: {model: own.get(name) for model, own in zip(MODELS, changes, strict=True)}
        for name in columns
    }


_PACKAGES = ("numpy", "scipy", "pymoo", "knee-contact")


def _prepare(file: OptimisationFile, _: Job) -> SearchSetup:
    """Return a search, checked; raises `InputError` if pymoo is missing."""
    require_pymoo()
    return SearchSetup.of(file)


def _carry_out(setup: SearchSetup, job: Job) -> Outcome:
    """Search the designs of a run; raises `StageError` if no feasible design keeps the limits."""
    with Execution.of(setup.problem.settings) as execution:
        return _searched(setup, job, execution)


def _searched(setup: SearchSetup, job: Job, execution: Execution) -> Outcome:
    folder, problem, task = job.folder, setup.problem, setup.task
    settings, seconds = problem.settings, dict[str, float]()
    known = EvaluatedDesigns(task, folder / "evaluated.parquet", execution)
    size = counted(len(setup.first), "design")
    say(f"{settings.name}: {counted(settings.generations, 'generation')} of {size}")
    with timed(seconds, "search"):
        search(problem, known, setup.first)
    with timed(seconds, "refinement"):
        refined = refine_front(setup, known, execution)
    designs = known.table
    front = front_of(problem, designs)
    picks = picked(problem, designs, front, setup.base_of(designs))
    with timed(seconds, "verification"):
        chosen = verified(setup, designs, picks, execution)
    with timed(seconds, "slices"):
        own = designs.loc[[pick.design for pick in picks]]
        slices = slices_through(task, own, problem.parameters, execution)
    table = front_table(task, designs, front, picks)
    write_table(table, folder / "front.parquet")
    write_designs(folder, setup.run, settings.name, designs, picks)
    document = OptimisationDocument(
        name=settings.name,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        run=settings.run,
        seed=settings.seed,
        population=settings.population,
        generations=settings.generations,
        cycles=settings.cycles,
        verify=settings.verify,
        parameters=problem.parameters.to_header(),
        objectives=objectives_found(settings, front.objectives),
        limits=bounds_found(settings),
        factors=[factor.model_dump(exclude_none=True) for factor in settings.factor],
        counts=_counts(problem, designs, front),
        base_reason=setup.base_reason,
        refined=refined,
        chosen=chosen,
        packages={name: version(name) for name in _PACKAGES},
        python=platform.python_version(),
        seconds={**seconds, "all": job.seconds},
    )
    return Outcome(
        document,
        summary_lines(document),
        page=optimisation_page(document, settings, table, slices),
        tables={"front.csv": Table(table)},
    )


def _counts(problem: DesignProblem, designs: pd.DataFrame, front: Front) -> dict[str, int]:
    status = designs["status"]
    beyond = (status == OK).to_numpy() & ~problem.allowed(designs)
    return {
        "evaluated": len(designs),
        "infeasible": int((status == INFEASIBLE).sum()),
        "failed": int((status == FAILED).sum()),
        "beyond_limits": int(beyond.sum()),
        "front": len(front.places),
    }


@contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Put the time of a block [s] into a dictionary."""
    started = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - started


OPTIMISATION_STUDY = Study(
    # The designs of more generations begin with those of fewer ones; the rest is made of them.
    JobKind(
        "search of designs",
        "optimisation",
        free=("optimisation.generations", "optimisation.chosen", "optimisation.verify"),
    ),
    OptimisationFile,
    "optimisation.json",
    "optimisation.html",
    _prepare,
    _carry_out,
    files=("front.parquet", "front.csv", "designs"),
    kept=("evaluated.parquet",),
    inputs=lambda setup: (setup.task.source, setup.problem.settings.run),
)
