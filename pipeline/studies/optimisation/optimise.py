"""Search of designs: from the configuration to front, verified designs, files and page."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version

import pandas as pd

from foundation.base.wording import counted
from pipeline.execution.backends import Execution
from pipeline.progress import say
from pipeline.store.job import Job, JobKind
from pipeline.store.samples import FAILED, OK, write_table
from pipeline.studies.conduct import Outcome, Study, Table
from pipeline.studies.optimisation.document import (
    OptimisationDocument,
    bounds_found,
    objectives_found,
    summary_lines,
)
from pipeline.studies.optimisation.gaits import (
    INFEASIBLE,
    EvaluatedDesigns,
    slices_through,
)
from pipeline.studies.optimisation.page import optimisation_page
from pipeline.studies.optimisation.schema import OptimisationFile
from pipeline.studies.optimisation.search import (
    DesignProblem,
    Front,
    SearchSetup,
    front_of,
    front_table,
    picked,
    refine_front,
    require_pymoo,
    search,
    write_designs,
)
from pipeline.studies.optimisation.verification import verified

_PACKAGES = ("numpy", "scipy", "pymoo", "knee-contact")


def _prepare(file: OptimisationFile, _: Job) -> SearchSetup:
    """Return a search, checked.

    Raises `InputError` if pymoo is missing, and as `SearchSetup.of`.
    """
    require_pymoo()
    setup = SearchSetup.of(file)
    return setup


def _carry_out(setup: SearchSetup, job: Job) -> Outcome:
    """Search the designs of a run; raises `StageError` if no feasible design keeps the limits."""
    with Execution.of(setup.problem.settings) as execution:
        return _searched(setup, job, execution)


def _searched(setup: SearchSetup, job: Job, execution: Execution) -> Outcome:
    folder, problem, task = job.folder, setup.problem, setup.task
    settings, seconds = problem.settings, dict[str, float]()
    evaluated = EvaluatedDesigns(task, folder / "evaluated.parquet", execution)
    size = counted(len(setup.first), "design")
    say(f"{settings.name}: {counted(settings.generations, 'generation')} of {size}")
    with timed(seconds, "search"):
        search(problem, evaluated, setup.first)
    with timed(seconds, "refinement"):
        refined = refine_front(setup, evaluated, execution)
    designs = evaluated.table
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
