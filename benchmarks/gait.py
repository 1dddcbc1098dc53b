"""One gait cycle of the built-in implant: surrogate against original."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter

import numpy as np

import surrogates
from benchmarks.frame import Rows, clocked, measured
from dynamics import GaitCycle, KneeSimulator, SimulationResult, simulate
from foundation.base.pose import Pose
from pipeline.config.reading import load_config, shipped_config
from pipeline.originals.contact_original import build_knee
from pipeline.originals.knee import Knee
from pipeline.progress import silenced
from pipeline.runner import run_study
from pipeline.simulation import GaitSimulation
from pipeline.stages.run_folder import read_path
from surrogates.formulations.contact_surrogate import ContactSurrogate

_REPEATS = 21


@dataclass(frozen=True, eq=False)
class Gait:
    """What a cycle is simulated with."""

    knee: ContactSurrogate
    original: Knee
    simulator: KneeSimulator
    cycle: GaitCycle
    start: Pose

    def runner(self, model: object, rtol: float) -> Callable[[], SimulationResult]:
        """Return a simulation of the cycle."""
        options = {"start": self.start, "rtol": rtol}
        return lambda: simulate(model, self.simulator, self.cycle, **options)


@cache
def gait() -> Gait:
    """Train the surrogate of the built-in implant and return its gait simulation."""
    config = load_config(shipped_config("implant"), ("simulation.combinations=false",))
    with tempfile.TemporaryDirectory() as folder:
        with silenced():
            run_study(config, Path(folder))
        knee = surrogates.load(Path(folder) / "knee.npz")
        path = read_path(Path(folder))
    assert isinstance(knee, ContactSurrogate)
    gait = GaitSimulation.of(config.simulation, path)
    return Gait(knee, build_knee(config), gait.simulator, gait.cycle, gait.start)


@measured(
    "One gait cycle with its start and 201 instants reported, relative tolerance 1e-3",
    {"driven by": "", "evaluations": "d", "median [ms]": ".3g", "ratio": ".3g"},
)  # fmt: skip
def cycles() -> Rows:
    """Times of one cycle, surrogate and original."""
    g = gait()
    base = None
    for name, model, repeats in (
        ("surrogate", g.knee, _REPEATS),
        ("original", g.original.model, 3),
    ):
        run = g.runner(model, 1e-3)
        result = run()
        spent = float(np.median([clocked(run, perf_counter)[1] for _ in range(repeats)]))
        base = spent if base is None else base
        yield name, result.statistics.evaluations, spent, spent / base


TABLES = (cycles,)
