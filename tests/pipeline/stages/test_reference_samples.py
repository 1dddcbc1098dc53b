"""Samples that not all surrogates learn from: energies, reference heights, samples along gait."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from studies import SMOKE, TINY, run_command

from dynamics import SimulationError
from foundation.base.pose import Pose
from pipeline import stages
from pipeline.cli.main import main
from pipeline.config.reading import load_config
from pipeline.originals.contact_original import build_knee
from pipeline.originals.evaluation import evaluate_rows
from pipeline.stages import StageError
from pipeline.stages.gait_samples import gait_samples
from pipeline.stages.reference_samples import TOUCH_LOAD, reference_kind, samples_for, with_energies
from pipeline.stages.run_folder import Run
from pipeline.stages.trained_run import TrainedRun
from pipeline.store.samples import POSE_COLUMNS, poses_of
from surrogates.formulations.knee import KneeSurrogate
from surrogates.sampling.space import ReferencePath, SampleSpace

COUNT = 6
ALONG_GAIT = 40


@pytest.fixture(scope="module")
def training(knee) -> pd.DataFrame:
    path = ReferencePath.constant(0.1, knee.start.array[1:])
    space = SampleSpace(path, [0.0, 0.2], [0.005, 0.05, 2e-3, 0.3e-3], [100.0, 1000.0])
    config = load_config(SMOKE, (*TINY, "design.candidates=40", "design.first=20"))
    drawn = stages.choose_samples(space, config.design, 3).groupby("compartment").head(COUNT)
    rows = evaluate_rows(knee.model, drawn.drop(columns="first").reset_index(drop=True), "load")
    return rows.assign(weight=1.0)


@pytest.mark.parametrize(
    ("formulation", "touch_points", "kind"),
    [
        ("inverted", False, None),
        ("inverted", True, "touch"),
        ("root", True, "touch"),
        ("direct", True, None),
        ("energy", True, None),
        ("touch_stiffness", False, "touch"),
        ("load_stiffness", True, "load"),
    ],
)
def test_reference_of_a_formulation(formulation, touch_points, kind):
    assert reference_kind(formulation, touch_points=touch_points) == kind


def test_energies_of_the_compartments_add_up(knee, training):
    table = with_energies(knee.model, training)
    assert (table["energy_J"] > 0.0).all()
    pose = Pose.from_array(poses_of(training)[0])
    both = [knee.model.stored_energy(pose, name) for name in ("medial", "lateral")]
    assert sum(both) == pytest.approx(knee.model.stored_energy(pose), rel=1e-14)
    assert table["energy_J"].iloc[0] == both[training["compartment"].iloc[0] == "lateral"]


@pytest.mark.parametrize(
    ("formulation", "load"), [("touch_stiffness", TOUCH_LOAD), ("load_stiffness", 40.0)]
)
def test_reference_heights_are_those_of_the_load(tmp_path, knee, training, formulation, load):
    run = Run(load_config(SMOKE, TINY), tmp_path)
    found = samples_for(run, knee, training, formulation)
    reference = found[found["role"] == stages.REFERENCE]
    assert len(reference) == COUNT  # every second of both compartments
    assert len(found) == 3 * COUNT
    np.testing.assert_allclose(reference["force_y_N"], load, rtol=1e-4)
    samples = stages.compartment_samples(found[found["compartment"] == "medial"])
    assert len(samples.poses) == COUNT
    assert samples.reference is not None
    assert len(samples.reference) == COUNT // 2
    assert samples.energy is None
    # the height of the smaller load is the larger one, at the same pose
    same = training[training["compartment"] == "medial"].iloc[1::2]
    assert (samples.reference[:, 4] > same["superior_m"].to_numpy()).all()


def test_only_energy_learns_energies(tmp_path, knee, training):
    run = Run(load_config(SMOKE, TINY), tmp_path)
    assert "energy_J" in samples_for(run, knee, training, "energy").columns
    assert samples_for(run, knee, training, "inverted") is training


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    """A tiny run that also learns from samples along gait."""
    folder = tmp_path_factory.mktemp("gait") / "run"
    more = (f"design.gait_samples={ALONG_GAIT}", "simulation.combinations=false")
    assert main(run_command(folder, *TINY, *more)) == 0
    return folder


def test_samples_lie_along_the_simulated_cycle(learnt):
    table = pd.read_parquet(learnt / "samples" / "gait.parquet")
    assert table["compartment"].value_counts().to_dict() == {
        "medial": ALONG_GAIT,
        "lateral": ALONG_GAIT,
    }
    # The tiny run's surrogates hang some of them above the plateau.
    table = table[table["status"] == "ok"]
    assert len(table) > ALONG_GAIT
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
    assert 0 < counts["total"]["gait"] <= 2 * ALONG_GAIT
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
    elsewhere = Run(config, tmp_path / "run")
    elsewhere.prepare(resume=False)
    training = pd.DataFrame({"index": [0]})
    with pytest.raises(StageError, match=r"none of 64 cycles.*dislocated.*gait_samples = 0"):
        gait_samples(elsewhere, build_knee(config), knee.spaces[0], knee, training)
