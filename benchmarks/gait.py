"""One gait cycle of the built-in implant: surrogate against original, and integrators.

`python -m benchmarks.gait` prints the tables and draws the work-precision plot; with `--docs` it
replaces docs/integrators.png.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from time import perf_counter

import numpy as np
from matplotlib.figure import Figure

import surrogates
from benchmarks import integrators
from benchmarks.frame import Rows, measured, run
from benchmarks.timing import clocked
from dynamics import GaitCycle, KneeSimulator, SimulationResult, settle, simulate
from dynamics.simulator.equations import KneeEquations
from dynamics.simulator.integrator import DEFAULT_ATOL, DEFAULT_RATE_ATOL, DEFAULT_RTOL
from dynamics.simulator.knee_simulator import REDUCED
from foundation.base.checks import FloatArray
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
_TOLERANCES = {
    "Rodas5P": (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7),
    "Rodas4P": (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7),
    "Radau": (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7),
    "LSODA": (1e-4, 1e-5, 1e-6, 1e-7, 1e-8),
    "BDF": (1e-4, 1e-5, 1e-6, 1e-7),
}
_STEPS = {"SDIRK4": (50, 100, 200, 400, 800), "generalised-alpha": (200, 400, 800, 1600, 3200)}


@dataclass(frozen=True, eq=False)
class Gait:
    """What a cycle is simulated with."""

    knee: ContactSurrogate
    original: Knee
    simulator: KneeSimulator
    cycle: GaitCycle
    start: Pose


@cache
def gait() -> Gait:
    """Train the surrogate of the built-in implant and return its gait simulation."""
    config = load_config(shipped_config("implant"))
    original = build_knee(config)
    with tempfile.TemporaryDirectory() as folder:
        quick = config.simulation.model_copy(update={"combinations": False})
        study = config.model_copy(update={"simulation": quick})
        with silenced():
            run_study(study, Path(folder))
        knee = surrogates.load(Path(folder) / "knee.npz")
        path = read_path(Path(folder))
    assert isinstance(knee, ContactSurrogate)
    gait = GaitSimulation.of(config.simulation, path)
    return Gait(knee, original, gait.simulator, gait.cycle, gait.start)


@measured(
    "One gait cycle with its start and 201 instants reported, relative tolerance 1e-3",
    {"dynamics": "", "driven by": "", "integrator": "", "evaluations": "d", "median [ms]": ".3g",
     "ratio": ".3g"},
)  # fmt: skip
def cycles() -> Rows:
    """Times of one cycle, surrogate and original, this integrator and SciPy's."""
    g = gait()
    base = None
    for kind, quasi_static in {"full": (), "reduced": REDUCED}.items():
        simulator = replace(g.simulator, quasi_static=quasi_static)
        for name, model, method, repeats in (
            ("surrogate", g.knee, "Rodas5P", _REPEATS),
            ("surrogate", g.knee, "Radau", 3),
            ("original", g.original.model, "Rodas5P", 3),
            ("original", g.original.model, "Radau", 3),
        ):
            result, spent = _timed(_runner(simulator, model, method, 1e-3), repeats)
            base = spent if base is None else base
            yield kind, name, method, result.statistics.evaluations, spent, spent / base


@measured(
    "Largest difference of reduced from full dynamics over the cycle",
    {"inertia of height, adduction, ML": ".2g", "AP [mm]": ".2g", "rotation [deg]": ".2g",
     "adduction [deg]": ".2g", "medial force [N]": ".2g"},
)  # fmt: skip
def reduced() -> Rows:
    """Full and reduced dynamics, both converged, for inertias of several sizes."""
    g = gait()
    for share in (1.0, 0.5, 0.25, 0.1):
        held = replace(
            g.simulator,
            adduction_inertia=share * g.simulator.adduction_inertia,
            superior_mass=share * g.simulator.superior_mass,
            lateral_mass=share * g.simulator.lateral_mass,
        )
        full = _runner(held, g.knee, "Rodas5P", 1e-8)()
        quick = _runner(replace(held, quasi_static=REDUCED), g.knee, "Rodas5P", 1e-8)()
        away = np.abs(full.poses - quick.poses).max(axis=0)
        force = np.abs(full.compartment_loads - quick.compartment_loads)[0, :, 1].max()
        yield share, away[3], away[2], away[1], force


def _runner(
    simulator: KneeSimulator, model: object, method: str, rtol: float
) -> Callable[[], SimulationResult]:
    g = gait()

    def run() -> SimulationResult:
        return simulate(model, simulator, g.cycle, start=g.start, method=method, rtol=rtol)

    return run


def _timed(run: Callable[[], SimulationResult], repeats: int) -> tuple[SimulationResult, float]:
    """Return a result and the median time [s] of several runs, the first left out."""
    result = run()
    return result, float(np.median([clocked(run, perf_counter)[1] for _ in range(repeats)]))


@dataclass(frozen=True)
class Point:
    """Work and error of an integration."""

    method: str
    setting: float
    evaluations: int
    seconds: float
    error: float


@cache
def _points() -> tuple[Point, ...]:
    return tuple(_work_precision())


def _work_precision() -> Iterator[Point]:
    """Yield the error of the last pose, in units of the usual tolerances, over the work."""
    g = gait()
    flexion, applied = g.cycle.at(0.0)
    rest = settle(
        g.knee, g.simulator, flexion=flexion, start=g.start, axial_force=applied.axial_force,
        ap_force=applied.ap_force, internal_torque=applied.internal_torque,
    )  # fmt: skip

    def run(method: str, rtol: float) -> tuple[SimulationResult, float]:
        options = {"initial": rest, "method": method, "rtol": rtol, "samples": 2, "max_step": 0.05}
        return clocked(lambda: simulate(g.knee, g.simulator, g.cycle, **options), perf_counter)

    truth = run("Rodas5P", 1e-11)[0].poses[-1, 1:]

    def error(poses: FloatArray) -> float:
        return float(np.sqrt((((poses - truth) / DEFAULT_ATOL) ** 2).mean()))

    for method, tolerances in _TOLERANCES.items():
        run(method, 1e-3)
        for rtol in tolerances:
            result, spent = run(method, rtol)
            count = result.statistics.evaluations
            yield Point(method, rtol, count, spent, error(result.poses[-1, 1:]))
    atol = np.array([*DEFAULT_ATOL, *DEFAULT_RATE_ATOL]) * 1e-2 / DEFAULT_RTOL * 1e-4
    for method, counts in _STEPS.items():
        integrate = integrators.sdirk if method == "SDIRK4" else integrators.generalised_alpha
        for steps in counts:
            equations = KneeEquations(g.knee, g.simulator, g.cycle, rest)
            step = partial(integrate, equations, np.zeros(10), g.cycle.period, steps, atol)
            try:
                state, spent = clocked(step, perf_counter)
            except RuntimeError:
                continue
            poses = rest.array[1:] + state[:5]
            yield Point(method, g.cycle.period / steps, equations.evaluations, spent, error(poses))


@measured(
    "Integrators over one cycle from rest (error of the last pose over the usual tolerance of "
    "1 urad, 0.1 um, 0.01 um of height; RMS)",
    {"method": "", "tolerance or step": ".3g", "evaluations": "d", "time [ms]": ".3g",
     "error": ".2g"},
)  # fmt: skip
def work_precision() -> Rows:
    """Integrators: evaluations of the contact, time and error."""
    for p in _points():
        yield p.method, p.setting, p.evaluations, p.seconds, p.error


def draw(file: Path) -> None:
    """Write the work-precision plot."""
    figure = Figure(figsize=(9.0, 4.0), layout="constrained", dpi=110)
    by_count, by_time = figure.subplots(1, 2, sharey=True)
    markers = dict(zip((*_TOLERANCES, *_STEPS), "osD^vPX", strict=True))
    for method, marker in markers.items():
        found = [p for p in _points() if p.method == method]
        errors = [p.error for p in found]
        by_count.loglog([p.evaluations for p in found], errors, marker + "-", label=method)
        if method in _TOLERANCES:
            by_time.loglog([1e3 * p.seconds for p in found], errors, marker + "-", label=method)
    by_count.set(xlabel="evaluations of the contact", ylabel="error over the usual tolerance")
    by_time.set(xlabel="time of a cycle [ms]")
    by_count.legend(fontsize="small")
    for axes in (by_count, by_time):
        axes.grid(visible=True, which="major", alpha=0.3)
    figure.savefig(file)


TABLES = (cycles, reduced, work_precision)

if __name__ == "__main__":
    run(__doc__, TABLES, "integrators.png", draw)
