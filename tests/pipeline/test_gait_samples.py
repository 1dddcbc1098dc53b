"""Samples along gait: where they lie, and that they are learnt from."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from studies import TINY, run_command

from dynamics import SimulationError
from pipeline.cli.main import main
from pipeline.originals.contact_original import build_knee
from pipeline.stages import StageError
from pipeline.stages.gait_samples import gait_samples
from pipeline.stages.run_folder import Run
from pipeline.stages.trained_run import TrainedRun
from pipeline.store.samples import POSE_COLUMNS, poses_of
from surrogates.formulations.knee import KneeSurrogate

COUNT = 40


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    """A tiny run that also learns from samples along gait."""
    folder = tmp_path_factory.mktemp("gait") / "run"
    more = (f"design.gait_samples={COUNT}", "simulation.combinations=false")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.reports.figures.data_uri", lambda figure, kind: f"data:{kind}")
        assert main(run_command(folder, *TINY, *more)) == 0
    return folder


def test_samples_lie_along_the_simulated_cycle(learnt):
    table = pd.read_parquet(learnt / "samples" / "gait.parquet")
    assert table["compartment"].value_counts().to_dict() == {"medial": COUNT, "lateral": COUNT}
    # The tiny run's surrogates hang some of them above the plateau.
    table = table[table["status"] == "ok"]
    assert len(table) > COUNT
    cycle = pd.read_parquet(learnt / "simulation.parquet")
    own = cycle.loc[cycle["model"] == "surrogate", list(POSE_COLUMNS)].to_numpy()
    poses = poses_of(table)
    # Inputs vary by tens of per cent, and so does the motion about that of the nominal cycle.
    low, high = own.min(axis=0), own.max(axis=0)
    span = high - low
    flexion = poses[:, 0]
    assert (flexion > low[0] - 0.15 * span[0]).all()
    assert (flexion < high[0] + 0.15 * span[0]).all()
    anterior = poses[:, 3]
    assert (anterior > low[3] - span[3]).all()
    assert (anterior < high[3] + span[3]).all()
    # The loads found are near those drawn, which a gait cycle produces.
    assert_allclose(np.median(table["force_y_N"] / table["load_N"]), 1.0, atol=0.4)


def test_samples_along_gait_are_learnt_and_counted(learnt, tiny_run):
    def headline(folder):
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        return report["overview"]["headline"]

    counts = json.loads((learnt / "run.json").read_text(encoding="utf-8"))["counts"]
    assert counts["total"]["gait"] == counts["medial"]["gait"] + counts["lateral"]["gait"]
    assert 0 < counts["total"]["gait"] <= 2 * COUNT
    more = headline(learnt)["training_samples"] - headline(tiny_run)["training_samples"]
    assert more == counts["total"]["gait"]
    assert (learnt / "knee.npz").read_bytes() != (tiny_run / "knee.npz").read_bytes()


def test_surrogates_that_cannot_walk_are_told(tiny_run, tmp_path, monkeypatch):
    run = TrainedRun.open(tiny_run)
    knee = run.surrogate
    assert isinstance(knee, KneeSurrogate)
    design = run.config.design.model_copy(update={"gait_samples": 5})
    config = run.config.model_copy(update={"design": design})

    def fall(*_, **__):
        raise SimulationError("the knee dislocated")

    monkeypatch.setattr("pipeline.simulation.simulate_gait", fall)
    elsewhere = Run(config, tmp_path / "run", quiet=True)
    elsewhere.prepare(resume=False)
    training = pd.DataFrame({"index": [0]})
    with pytest.raises(StageError, match=r"none of 64 cycles.*dislocated.*gait_samples = 0"):
        gait_samples(elsewhere, build_knee(config), knee.spaces[0], knee, training)
