"""Unit costs of a run, and what many patients take: `python -m benchmarks.scale [RUN_FOLDER]`.

All times are processor times, which other programs disturb little. Times of tasks count only this
process, in which command and scheduler run: they limit the number of busy workers. Run folders on
the command line show what a run leaves on the disk.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.frame import Rows, Table, measured, show
from benchmarks.timing import clocked, shortest
from pipeline import stages
from pipeline.config.reading import load_config, shipped_config
from pipeline.config.schema import Config, DesignConfig
from pipeline.execution.backends import Execution
from pipeline.originals.candidates import sample_space
from pipeline.originals.contact_original import build_knee
from pipeline.originals.evaluation import evaluate_rows
from pipeline.originals.knee import Knee
from pipeline.simulation import GaitSimulation
from pipeline.store.samples import read_table, write_table
from surrogates.sampling.space import SampleSpace

PATIENTS, POSES = 10_000, 10_000
CORES = (2, 100, 1000)
CHUNKS = (50, 500)
#: Families and numbers of samples of both compartments that are fitted to.
FITS = (("kriging", 1000), ("kriging", 2000), ("polynomial", 1000), ("polynomial", 10_000),
        ("network", 1000), ("network", 10_000))  # fmt: skip
_TASKS = 400


@dataclass(frozen=True)
class Costs:
    """Unit costs [s, bytes].

    Parameters
    ----------
    evaluation : float
        The original model, at a given load, of one sample of a compartment.
    stored : float
        Bytes of a sample in its table.
    chunk_bytes, chunk_file : dict of int to float
        Bytes of a chunk's file by its rows, and the time to write and to read it.
    task : dict of str to float
        Of command and scheduler, for a task with 50 rows and the model, by backend.
    bare : float
        The same for a task of Dask without rows.
    fit : dict
        Time of a knee's fit by family and samples.
    cycle : float
        Time of a gait cycle by the surrogate.
    """

    evaluation: float
    stored: float
    chunk_bytes: dict[int, float]
    chunk_file: dict[int, float]
    task: dict[str, float]
    bare: float
    fit: dict[tuple[str, int], float]
    cycle: float


def nothing(model: object, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows as they are."""
    del model
    return rows


def identity(number: int) -> int:
    """Return the number."""
    return number


def evaluated(config: Config, knee: Knee, space: SampleSpace) -> tuple[pd.DataFrame, float]:
    """Return evaluated samples of a run, more than are fitted to, and the time of one."""
    # Some have no answer, and some break a bound.
    wanted = round(0.65 * max(count for _, count in FITS))
    design = DesignConfig(kind="sobol", candidates=wanted + 1, first=wanted, budget=0)
    drawn = stages.choose_samples(space, design, config.run.seed).drop(columns="first")
    some = drawn.groupby("compartment").head(5)
    evaluate_rows(knee.model, some, "load")
    found, spent = clocked(lambda: evaluate_rows(knee.model, drawn, "load"))
    return found, spent / len(drawn)


def _of_each(begin: Callable[[], Iterator[object]], count: int) -> float:
    """Return the time that each of `count` results of an iterator takes of this process."""
    return shortest(lambda: list(begin()), 5, time.process_time) / count


def task_times(knee: Knee, rows: pd.DataFrame) -> tuple[dict[str, float], float]:
    """Return what a task takes of this process by backend, and one of Dask without rows."""
    found, bare = {}, np.inf
    chunks, jobs = [(rows,)] * _TASKS, [(k,) for k in range(5 * _TASKS)]
    for backend in ("loky", "dask"):
        with Execution(2, backend) as execution:
            work = partial(execution.results, nothing, chunks, knee.model)
            list(execution.results(nothing, chunks[:8], knee.model))  # starts the processes
            found[backend] = _of_each(work, len(chunks))
            if backend == "dask":
                bare = _of_each(partial(execution.results, identity, jobs), len(jobs))
    return found, bare


def measure() -> Costs:
    """Measure the unit costs on the built-in implant."""
    config = load_config(shipped_config("implant"))
    knee = build_knee(config)
    space = sample_space(config, knee.reference_path(config))
    samples, evaluation = evaluated(config, knee, space)
    sizes, files = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chunk.parquet"
        for rows in (*CHUNKS, len(samples)):
            chunk = samples.iloc[:rows]
            files[rows] = shortest(lambda c=chunk: write_table(c, path), 9, time.process_time)
            files[rows] += shortest(lambda: read_table(path), 9, time.process_time)
            sizes[rows] = float(path.stat().st_size)
    tasks, bare = task_times(knee, samples.iloc[: CHUNKS[0]])
    training = stages.training_samples([samples], config.feasibility)
    fits, fitted = {}, None
    for family, count in FITS:
        some = training.groupby("compartment").head(count // 2).reset_index(drop=True)
        kind = [("inverted", family)]
        (fitted,), fits[family, count] = clocked(
            partial(stages.fit_surrogates, some, space, config.surrogate, kind, config.run.seed)
        )
        if (family, count) == ("kriging", 1000):
            small = fitted.knee
    gait = GaitSimulation.of(config.simulation, space.path)
    simulated = shortest(lambda: gait(small), 5, time.process_time)
    stored = sizes[len(samples)] / len(samples)
    return Costs(evaluation, stored, sizes, files, tasks, bare, fits, simulated)


def units(costs: Costs) -> Table:
    """Return the unit costs."""
    fits = {f"fit of both compartments, {family}, {count} samples": f"{seconds:.1f} s"
            for (family, count), seconds in costs.fit.items()}  # fmt: skip
    chunks = {
        f"file of a chunk of {n} samples, written and read": (
            f"{1e3 * costs.chunk_file[n]:.1f} ms, {1e-3 * costs.chunk_bytes[n]:.0f} kB"
        )
        for n in CHUNKS
    }
    shown = {
        "original model, one sample at a given load": f"{1e3 * costs.evaluation:.2f} ms",
        "stored sample, in its table": f"{costs.stored:.0f} bytes",
        **chunks,
        "command, a task of loky: 50 rows and the model": f"{1e3 * costs.task['loky']:.1f} ms",
        "command and scheduler, a task of Dask: 50 rows": f"{1e3 * costs.task['dask']:.1f} ms",
        "command and scheduler, a task of Dask without rows": f"{1e3 * costs.bare:.2f} ms",
        **fits,
        "gait cycle by the surrogate (Kriging, 1000 samples)": f"{1e3 * costs.cycle:.0f} ms",
    }
    columns = {"what": "", "cost": ""}
    return Table("Unit costs, built-in implant, one core", columns, [*shown.items()])


@measured(f"{PATIENTS:,} patients of {POSES:,} samples", {"what": "", "how much": ""})
def estimate(costs: Costs) -> Rows:
    """What many patients take."""
    samples = PATIENTS * POSES
    fit = costs.fit["network", 10_000]
    parts = {"evaluations": samples * costs.evaluation, "fits": PATIENTS * fit}
    hours = {name: seconds / 3600 for name, seconds in parts.items()}
    whole = sum(hours.values())
    for name, value in hours.items():
        yield name, f"{value:,.0f} core hours"
    for n in CORES:
        yield f"wall time on {n} cores", duration(whole / n)
    yield "samples stored", f"{1e-9 * samples * costs.stored:.0f} GB"
    for chunk in CHUNKS:
        work = chunk * costs.evaluation
        busy = [work / (cost + costs.chunk_file[chunk]) for cost in costs.task.values()]
        yield f"chunk = {chunk}: tasks, and files for a while", f"{samples / chunk:,.0f}"
        yield f"chunk = {chunk}: work of a task", f"{work:.2g} s"
        yield f"chunk = {chunk}: cores that a command keeps busy, loky", f"{busy[0]:,.0f}"
        yield f"chunk = {chunk}: cores that a command keeps busy, Dask", f"{busy[1]:,.0f}"
        yield f"chunk = {chunk}: at most, were tasks without rows", f"{work / costs.bare:,.0f}"


def duration(hours: float) -> str:
    """Return a time in minutes, hours or days."""
    if hours < 2.0:
        return f"{60 * hours:.0f} min"
    return f"{hours / 24:.1f} days" if hours > 48.0 else f"{hours:.1f} h"


def left_behind(folder: Path) -> Table:
    """Return what a run leaves on the disk, and as many as there are patients."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    parts = {
        "report.html": [path for path in files if path.name == "report.html"],
        "samples/": [path for path in files if path.parent.name == "samples"],
        "knee.npz": [path for path in files if path.name == "knee.npz"],
        "all": files,
    }
    rows = []
    for name, found in parts.items():
        size = sum(path.stat().st_size for path in found)
        sizes = f"{1e-6 * size:.2f} MB", f"{1e-9 * PATIENTS * size:.0f} GB"
        rows.append((name, len(found), *sizes))
    columns = {"of a finished run": "", "files": "d", "size": "", f"of {PATIENTS:,}": ""}
    return Table(f"What a run leaves: {folder.name}", columns, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN", help="finished run")
    folders = parser.parse_args().runs
    costs = measure()
    show([units(costs), estimate(costs), *map(left_behind, folders)])
