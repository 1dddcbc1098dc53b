"""Samples of finite elements and of springs at the same poses and loads, for two fidelities.

A run of the pipeline draws and evaluates the samples of the finite elements: over the box as
stages a to f do, and along gait. The springs are the elastic foundation over the same surfaces that
the run itself uses for its reference path. All tables are kept in the folder of the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.fidelity_learners import Level, Pair
from dynamics.wear.cycle_wear import surrogate_wear
from foundation.base.loads import COMPARTMENTS
from pipeline import stages
from pipeline.config.schema import Config
from pipeline.originals.candidates import generators, sample_space
from pipeline.originals.evaluation import evaluate_rows
from pipeline.originals.knee import Knee
from pipeline.originals.protocol import Evaluation
from pipeline.runner import run_study
from pipeline.simulation import compare_cycles, simulation_table
from pipeline.stages.assessment import feasible
from pipeline.stages.run_folder import Run
from pipeline.stages.trained_run import TrainedRun
from pipeline.store.samples import OK, candidate_table, loads_of, poses_of, read_table, write_table
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.sampling.designs import unit_design

#: Spring samples over the box of a compartment, besides those along gait.
SPRINGS = 16384
#: Most samples of a compartment that are taken from a run, over the box and along gait.
MOST_IN_BOX, MOST_ALONG_GAIT = 5000, 2500
#: Most samples along gait of a compartment that judge and are not learnt from; at most a quarter.
JUDGED_ALONG_GAIT = 500
#: Part of the training samples that lies along gait.
GAIT_PART = 0.3
#: Seed of the spring samples, apart from all seeds of a run.
_SEED = 20


@dataclass(frozen=True, eq=False)
class Compartment:
    """Samples of a compartment: of training over the box and along gait, and held out."""

    box: Pair
    gait: Pair
    held_out: Pair
    held_out_gait: Pair
    springs: Level

    @property
    def most(self) -> int:
        """Largest number of samples that `training` can return."""
        return len(self.box.fine.poses) + len(self.gait.fine.poses)

    def training(self, count: int) -> Pair:
        """Return the first `count` samples, a part of them along gait."""
        along = max(round(GAIT_PART * count), count - len(self.box.fine.poses))
        along = min(along, len(self.gait.fine.poses))
        parts = self.box.rows(slice(count - along)), self.gait.rows(slice(along))
        return Pair(*(Level(*map(np.concatenate, zip(*both, strict=True)))
                      for both in zip(*parts, strict=True)))  # fmt: skip


def finished_run(config: Config, folder: Path) -> TrainedRun:
    """Return the run of a configuration in a folder, carried out unless it is there."""
    if not (folder / "report.json").exists():
        run_study(config, folder, resume=(folder / "config.toml").exists())
    return TrainedRun.open(folder)


def compartments(run: TrainedRun) -> dict[str, Compartment]:
    """Return the samples of both compartments of a finished run, springs evaluated beside."""
    feasibility = run.config.feasibility
    box = stages.training_samples([run.samples("first"), run.samples("kept")], feasibility)
    gait = stages.training_samples([run.samples("gait")], feasibility)
    held_out = run.samples("heldout")
    held_out = feasible(held_out[held_out["status"] == OK], feasibility)
    tables = {
        "box": _first(_full(box), MOST_IN_BOX),
        "gait": _first(_full(gait), MOST_ALONG_GAIT),
        "held_out": held_out,
    }
    pairs = {name: _beside(run, name, table) for name, table in tables.items()}
    springs = _springs(run)
    found = {}
    for name in COMPARTMENTS:
        own = {key: _pair(*both, name) for key, both in pairs.items()}
        along = len(own["gait"].fine.poses)
        last = along - min(JUDGED_ALONG_GAIT, along // 4)
        taught, judged = own["gait"].rows(slice(last)), own["gait"].rows(slice(last, None))
        rows = _level(springs[springs["compartment"] == name])
        many = Level(*map(np.concatenate, zip(rows, taught.coarse, strict=True)))
        found[name] = Compartment(own["box"], taught, own["held_out"], judged, many)
    return found


def _full(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["weight"] == 1.0].drop(columns="weight").reset_index(drop=True)


def _first(table: pd.DataFrame, count: int) -> pd.DataFrame:
    return table.groupby("compartment", sort=False).head(count).reset_index(drop=True)


def _beside(run: TrainedRun, name: str, table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return samples that both models answer, as tables of finite elements and of springs."""
    asked = table.assign(load_N=table["force_y_N"])[list(_columns())].reset_index(drop=True)
    found = _evaluated(run, f"springs-{name}", asked)
    known = (found["status"] == OK).to_numpy()
    return table.reset_index(drop=True)[known], found[known]


def _columns() -> tuple[str, ...]:
    return tuple(candidate_table(np.zeros((0, 6)), np.zeros(0), COMPARTMENTS[0]).columns)


def _springs(run: TrainedRun) -> pd.DataFrame:
    """Return feasible samples of springs over the box."""
    space, design = sample_space(run.config, run.path), run.config.design
    parts = []
    for name, rng in generators([run.config.run.seed, _SEED]):
        drawn = space.draw(unit_design("sobol", SPRINGS, 6, rng), design.load_spread)
        parts.append(candidate_table(*drawn, name))
    found = _evaluated(run, "springs", pd.concat(parts, ignore_index=True))
    return _full(stages.training_samples([found], run.config.feasibility))


def _evaluated(run: TrainedRun, name: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows with the springs' heights and loads, from the folder of the run or made now."""
    file = run.folder / "fidelity" / f"{name}.parquet"
    if not file.exists():
        original = run.original
        assert isinstance(original, Knee)
        evaluation = Evaluation(partial(evaluate_rows, follow="load"), (original.quick,))
        file.parent.mkdir(exist_ok=True)
        with Run(run.config, file.parent) as beside:
            beside.execution.open()
            (file.parent / "samples").mkdir(exist_ok=True)
            write_table(beside.evaluate(name, rows, evaluation), file)
    return read_table(file)


def _level(table: pd.DataFrame) -> Level:
    return Level(poses_of(table), loads_of(table))


def _pair(fine: pd.DataFrame, coarse: pd.DataFrame, name: str) -> Pair:
    own = (fine["compartment"] == name).to_numpy()
    return Pair(_level(fine[own]), _level(coarse[own]))


def gait_figures(run: TrainedRun, knee: ContactSurrogate) -> dict[str, float]:
    """Return errors of a cycle driven by a surrogate against the cycle driven by finite elements.

    RMS over range of the worse axial force, AP position and worse peak pressure [%], and the
    difference of the worn volume [%].
    """
    stored = read_table(run.folder / "simulation.parquet")
    result = run.gait(knee)
    own = simulation_table({"surrogate": result})
    differences = compare_cycles(pd.concat([stored[stored["model"] == "original"], own]))
    part = {d.column: 100.0 * (d.rms_over_range or 0.0) for d in differences}
    wear = np.load(run.folder / "wear.npz")
    worn = surrogate_wear(result, run.gait.wear_law, aspect=wear["aspect"], ratio=wear["ratio"])
    truth = wear["volume_m3"][0].sum()
    return {
        "gait force": max(part[f"{name}_force_y_N"] for name in COMPARTMENTS),
        "gait AP": part["anterior_m"],
        "gait peak": max(part[f"{name}_peak_pressure_Pa"] for name in COMPARTMENTS),
        "wear": 100.0 * abs(worn.volume.sum() / truth - 1.0),
    }
