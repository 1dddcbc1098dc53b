"""Times and memory of the finite-element layer, and answers that must not differ.

`python -m benchmarks.finite_element_cost` prints the tables. Times of poses and of
the condensation are processor times of one thread.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.finite_element_insert import fresh_model, insert_model, insert_poses
from benchmarks.timing import table
from foundation.base.checks import FloatArray
from foundation.base.pose import Pose
from foundation.finite_element.condensation import compliance
from foundation.finite_element.model import FiniteElementContact

ABSENT = "The Grand Challenge implant is not at hand."
SPACINGS = (1e-3, 0.5e-3)
BATCH, WORKERS = 5000, 2
_DEEP = 0.1e-3  # m, range of the heights of the batch


def poses_and_condensation() -> str:
    """Return the table of times of a pose, of a batch and of the condensation."""
    rows = []
    for spacing in SPACINGS:
        model = insert_model(spacing)
        if model is None:
            return ABSENT
        poses = insert_poses()
        per_pose = [processor_seconds(partial(model.loads_and_jacobian, pose)) for pose in poses]
        taken, peak = condensation(spacing)
        rows.append(
            [
                f"{1e3 * spacing:g}",
                f"{1e3 * float(np.median(per_pose)):.1f} ({1e3 * max(per_pose):.1f})",
                f"{batch_seconds(spacing):.0f}",
                f"{taken:.0f}",
                f"{1e-9 * peak:.2f}",
            ]
        )
    header = [
        "spacing [mm]",
        "pose with Jacobian, both compartments: median (largest) [ms]",
        f"{BATCH} poses of a compartment, {WORKERS} processes [s]",
        "condensation of a compartment [s]",
        "peak memory of the process [GB]",
    ]
    return table("Cost of finite elements, Grand Challenge insert", header, rows)


def processor_seconds(function: Callable[[], object], calls: int = 20) -> float:
    """Return the processor time of a call, the mean of some [s]."""
    function()
    start = time.process_time()
    for _ in range(calls):
        function()
    return (time.process_time() - start) / calls


def condensation(spacing: float) -> tuple[float, float]:
    """Return time [s] and peak memory [bytes] of the medial condensation, in a fresh process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_condense, spacing).result()


def _condense(spacing: float) -> tuple[float, float]:
    model = fresh_model(spacing)
    if model is None:
        raise RuntimeError(ABSENT)
    start = time.process_time()
    compliance(model.layers[0].body)
    taken = time.process_time() - start
    unit = 1 if sys.platform == "darwin" else 1024
    return taken, float(unit * getrusage(RUSAGE_SELF).ru_maxrss)


def batch_seconds(spacing: float) -> float:
    """Return the time of 5,000 poses of the medial compartment in two processes [s]."""
    rng = np.random.default_rng(0)
    rows = np.array([pose.array for pose in insert_poses()])
    rows = rows[rng.integers(len(rows), size=BATCH)]
    rows[:, 4] += rng.uniform(-_DEEP, 0.5 * _DEEP, BATCH)
    with TemporaryDirectory() as name:
        model = fresh_model(spacing, folder=Path(name))
        if model is None:
            raise RuntimeError(ABSENT)
        model.prepare()
        with ProcessPoolExecutor(WORKERS) as pool:
            work = partial(_medial, model)
            list(pool.map(work, np.array_split(rows[: 8 * WORKERS], WORKERS)))
            start = time.perf_counter()
            list(pool.map(work, np.array_split(rows, 8 * WORKERS)))
            return time.perf_counter() - start


def _medial(model: FiniteElementContact, rows: FloatArray) -> FloatArray:
    return np.array([model.compartment_loads(Pose.from_array(row), "medial")[0] for row in rows])


def agreement(spacing: float = 2e-3) -> str:
    """Return the table of differences of the loads between ways that must not matter."""
    base, poses = insert_model(spacing), insert_poses()
    if base is None:
        return ABSENT
    rows = np.array([pose.array for pose in poses])
    loads = base.evaluate_batch(rows)
    with TemporaryDirectory() as name:
        cached = fresh_model(spacing, folder=Path(name))
        cached.prepare()
        again = fresh_model(spacing, folder=Path(name))
        others = {
            "SuperLU": fresh_model(spacing, solver="superlu").evaluate_batch(rows),
            "compliance in float32": fresh_model(spacing, precision="float32").evaluate_batch(rows),
            "two threads": base.evaluate_batch(rows, threads=2),
            "compliance from a file": again.evaluate_batch(rows),
            "poses in reverse": base.evaluate_batch(rows[::-1])[::-1],
        }
    cells = [[name, f"{difference(loads, other):.1e}"] for name, other in others.items()]
    title = f"Largest relative difference of the loads, {1e3 * spacing:g} mm"
    return table(title, ["against", "difference"], cells)


def difference(first: FloatArray, second: FloatArray) -> float:
    """Return the largest difference of loads (N, 2, 12), over the largest value of each kind."""
    scale = np.nanmax(np.abs(first), axis=(0, 1))
    return float(np.nanmax(np.abs(first - second) / np.where(scale > 0.0, scale, 1.0)))


if __name__ == "__main__":
    for make in (poses_and_condensation, agreement):
        print(make(), end="\n\n", flush=True)
