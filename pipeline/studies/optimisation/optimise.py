"""Search of designs: from the configuration to front, verified designs, files and page."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from foundation.base.wording import counted
from pipeline.config.reading import load_section
from pipeline.execution.backends import Execution
from pipeline.files import write_document, write_json
from pipeline.progress import say
from pipeline.store.documents import read_document
from pipeline.store.job import OPTIMISATION, Job
from pipeline.store.run_documents import StudyInputs
from pipeline.store.samples import FAILED, OK
from pipeline.studies.optimisation.choice import Front, front_of, picked
from pipeline.studies.optimisation.chosen import verified
from pipeline.studies.optimisation.document import OptimisationDocument
from pipeline.studies.optimisation.evaluated import EvaluatedDesigns
from pipeline.studies.optimisation.gaits import INFEASIBLE, outcome
from pipeline.studies.optimisation.page import write_optimisation_page
from pipeline.studies.optimisation.problem import DesignProblem
from pipeline.studies.optimisation.refinement import refine_front
from pipeline.studies.optimisation.schema import OptimisationFile
from pipeline.studies.optimisation.search import require_pymoo, search
from pipeline.studies.optimisation.setup import SearchSetup
from pipeline.studies.optimisation.slices import slices_through
from pipeline.studies.optimisation.tables import front_table, write_designs, write_front
from pipeline.studies.optimisation.words import bounds_found, objectives_found
from pipeline.studies.replaced_keys import with_absolute_waveforms

#: Results of a search, and those that an interrupted search continues with.
FILES = ("optimisation.json", "optimisation.html", "front.parquet", "front.csv", "designs")
KEPT = ("inputs.json", "evaluated.parquet")
_PACKAGES = ("numpy", "scipy", "pymoo", "knee-contact")


def load_optimisation(path: str | Path, overrides: tuple[str, ...] = ()) -> OptimisationFile:
    """Read the configuration of a search of designs from a TOML file.

    `overrides` are `section.key=value` pairs that replace values of the file. Raises `ConfigError`
    if the file is missing or is not TOML, a key is unknown or a value out of range.
    """
    file = load_section(path, OptimisationFile, overrides)
    return file.model_copy(
        update={"simulation": with_absolute_waveforms(file.simulation, Path(path))}
    )


def optimise_designs(
    file: OptimisationFile, folder: Path, *, resume: bool = False, replace: bool = False
) -> OptimisationDocument:
    """Search the designs of a run, write the folder of the search, and return `optimisation.json`.

    `resume` continues an interrupted search in the folder; a finished one may go on with more
    generations. `replace` replaces a search of another configuration. Raises `RunError`,
    `ConfigError` or `InputError` if the configuration or its run cannot be used, or pymoo is
    missing, and `StageError` if no design is feasible and keeps the limits.
    """
    require_pymoo()
    # All input is checked before files are written.
    job = Job(OPTIMISATION, folder, file, FILES, KEPT, resume=resume, replace=replace)
    job.check()
    settings = file.optimisation
    setup = SearchSetup.of(file)
    # Compiles the kernels in this process, so that the workers find them compiled.
    outcome(setup.task, setup.problem.parameters.named(setup.first[0]), "surrogate")
    with Execution.of(settings) as execution, job.held():
        job.begin(*_other_files(job, setup))
        write_json(folder / "inputs.json", {"source": setup.task.source, "run": settings.run})
        return _carry_out(job, setup, execution)


def _other_files(job: Job, setup: SearchSetup) -> tuple[str, ...]:
    """Return in which files an interrupted search differs, in words; empty if in none."""
    inputs = job.folder / "inputs.json"
    if not job.resumed or not inputs.exists():
        return ()
    before = read_document(inputs, StudyInputs).source
    return () if before == setup.task.source else (f"the files of {setup.problem.settings.run}",)


def _carry_out(job: Job, setup: SearchSetup, execution: Execution) -> OptimisationDocument:
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
    write_front(folder, table)
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
    write_optimisation_page(folder, document, settings, setup.run, table, slices, job.text)
    write_document(folder / "optimisation.json", document)
    return document


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
