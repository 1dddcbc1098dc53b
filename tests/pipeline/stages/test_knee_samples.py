"""Whole-knee samples of the original model, and studies of whole-knee formulations."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from studies import SMOKE, TINY, run_command

import surrogates
from foundation.base.loads import COMPARTMENTS, LOAD_COLUMNS
from foundation.base.pose import Pose
from foundation.statics.balance import bracket
from foundation.statics.height import StaticsError
from pipeline import stages
from pipeline.cli.main import main
from pipeline.config.reading import load_config
from pipeline.config.schema import FeasibilityConfig
from pipeline.originals.contact_original import Knee
from pipeline.stages import knee_samples
from pipeline.stages.run_folder import Run
from pipeline.store.samples import FAILED, OK, POSE_COLUMNS, loads_of, poses_of, read_table
from pipeline.studies import formulations as formulation_study
from pipeline.studies.repeated_stages import compare_again
from surrogates.sampling.space import ReferencePath, SampleSpace

REACH = np.radians(0.7)
WIDE = FeasibilityConfig(ap_ratio=10.0, ml_ratio=10.0, peak_pressure_MPa=1e3)
SEED = (1, 2)


@pytest.fixture(scope="module")
def space(knee) -> SampleSpace:
    """A box about the pose where settling begins."""
    path = ReferencePath.constant(0.1, knee.start.array[1:])
    return SampleSpace(path, [0.0, 0.2], [REACH, 0.1, 3e-3, 0.5e-3], [20.0, 2000.0])


@pytest.fixture(scope="module")
def drawn(space) -> pd.DataFrame:
    return knee_samples.draw_samples(space, "sobol", 12, 1.0, SEED)


@pytest.fixture(scope="module")
def done(knee, drawn) -> pd.DataFrame:
    return knee_samples.evaluate_knee_rows(knee.model, drawn, REACH)


@pytest.mark.parametrize("kind", ["sobol", "lhs", "full_factorial"])
def test_draws_fill_the_space_in_pairs_of_rows(space, kind):
    table = knee_samples.draw_samples(space, kind, 64, 1.0, SEED)
    assert len(table) == 128
    assert table["compartment"].tolist() == list(COMPARTMENTS) * 64
    assert (table["index"].to_numpy() == np.repeat(np.arange(64), 2)).all()
    poses = poses_of(table)
    np.testing.assert_array_equal(poses[::2], poses[1::2])
    x, height = space.scaled(poses, table["load_N"])
    assert (height == 0.0).all()
    np.testing.assert_allclose(x[:, 1], 0.0, atol=1e-12)
    first = x[:64, [0, 2, 3, 4]]
    assert (np.ptp(first, axis=0) > 1.2).all()
    loads = table["load_N"].to_numpy().reshape(-1, 2)[:32]
    assert (np.ptp(loads, axis=0) > 1200.0).all()
    assert abs(np.corrcoef(loads.T)[0, 1]) < 0.5
    assert loads.min() >= 20.0
    assert loads.max() <= 2000.0


def test_the_same_seed_draws_the_same(space, drawn):
    again = knee_samples.draw_samples(space, "sobol", 12, 1.0, SEED)
    assert again.equals(drawn)
    other = knee_samples.draw_samples(space, "sobol", 12, 1.0, (2, 2))
    assert not other["load_N"].equals(drawn["load_N"])


def test_both_compartments_carry_what_is_asked_at_one_pose(knee, done):
    answered = done[done["status"] == OK]
    assert len(answered) >= 12
    np.testing.assert_allclose(answered["force_y_N"], answered["load_N"], rtol=1e-5, atol=1e-3)
    poses = poses_of(answered)
    np.testing.assert_array_equal(poses[::2], poses[1::2])
    for k in (0, 3):
        loads = knee.model.loads(Pose.from_array(poses[2 * k]))
        both = np.array([loads.medial.array, loads.lateral.array])
        np.testing.assert_allclose(loads_of(answered)[2 * k : 2 * k + 2], both, rtol=1e-9)
    assert (answered["evaluations"] > 0).all()


def test_only_adduction_and_height_are_found(drawn, done):
    same = [c for c in drawn.columns if c not in ("adduction_rad", "superior_m")]
    assert done[same].equals(drawn[same])
    answered = (done["status"] == OK).to_numpy()
    turn = (done["adduction_rad"] - drawn["adduction_rad"]).abs()[answered]
    assert (turn > 0.0).all()
    assert (turn <= REACH).all()


def test_loads_that_do_not_balance_keep_their_reason(knee, drawn):
    table = knee_samples.evaluate_knee_rows(knee.model, drawn.iloc[:6], np.radians(1e-4))
    assert table["status"].tolist() == [FAILED] * 6
    assert table["reason"].str.startswith("loads not balanced within 0.0001 deg").all()
    assert table[list(LOAD_COLUMNS)].isna().all(axis=None)
    assert table[list(POSE_COLUMNS)].equals(drawn.iloc[:6][list(POSE_COLUMNS)])
    far = drawn.iloc[:2].assign(superior_m=0.5)
    table = knee_samples.evaluate_knee_rows(knee.model, far, REACH)
    assert table["reason"].str.startswith("no contact within").all()


def test_a_bracket_is_found_on_either_side():
    for root in (-0.4, -0.05, 0.3, 1.0):
        low, high = bracket(lambda a, r=root: a - r, 0.0, 1.0)
        assert min(low, high) <= root <= max(low, high)
    assert bracket(lambda a: a - 2.0, 2.0, 1.0) == (2.0, 2.0)
    with pytest.raises(StaticsError, match="heights of both condyles are still 500 mm apart"):
        bracket(lambda a: a - 1.5, 0.0, 1.0)


def test_a_sample_is_feasible_if_both_compartments_are(done):
    everything = knee_samples.feasible_samples(done, WIDE, 0.0, 100)
    answered = int((done["status"] == OK).sum())
    assert len(everything) == answered
    steep = everything["force_z_N"].abs() / everything["force_y_N"]
    limit = float(np.median(steep.to_numpy().reshape(-1, 2).max(axis=1)))
    bounds = WIDE.model_copy(update={"ml_ratio": limit})
    kept = knee_samples.feasible_samples(done, bounds, 0.0, 100)
    assert 2 <= len(kept) < answered
    assert (kept["force_z_N"].abs() <= limit * kept["force_y_N"]).all()
    assert kept["compartment"].tolist() == list(COMPARTMENTS) * (len(kept) // 2)
    assert (kept["index"].to_numpy()[::2] == kept["index"].to_numpy()[1::2]).all()
    few = knee_samples.feasible_samples(done, bounds, 0.0, 1)
    assert few.equals(kept.iloc[:2])
    poses, loads = knee_samples.paired(kept)
    np.testing.assert_array_equal(poses, poses_of(kept)[1::2])
    np.testing.assert_array_equal(loads[:, 1], loads_of(kept)[1::2])


def in_folder(folder: Path, knee: Knee, space: SampleSpace, workers: int) -> pd.DataFrame:
    overrides = (*TINY, f"run.workers={workers}", "run.seed=5")
    run = Run(load_config(SMOKE, overrides), folder)
    return knee_samples.training_samples(run, knee, space, 5)


def test_numbers_do_not_depend_on_workers_and_what_is_done_is_not_repeated(
    knee, space, tmp_path, monkeypatch
):
    one = in_folder(tmp_path / "one", knee, space, 1)
    assert len(one) == 10
    assert (one["weight"] == 1.0).all()
    two = in_folder(tmp_path / "two", knee, space, 2)
    assert one.equals(two)
    stored = read_table(tmp_path / "one" / "samples" / "knee.parquet")
    assert len(stored) == 30

    def never(*_: object) -> None:
        raise AssertionError("evaluated again")

    monkeypatch.setattr(knee_samples, "evaluate_knee_rows", never)
    assert in_folder(tmp_path / "one", knee, space, 1).equals(one)


def test_an_interrupted_evaluation_goes_on(knee, space, tmp_path, monkeypatch):
    whole = in_folder(tmp_path / "whole", knee, space, 1)
    evaluate, seen = knee_samples.evaluate_knee_rows, []

    def stopped(model, table, reach):
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append(len(table))
        return evaluate(model, table, reach)

    monkeypatch.setattr(knee_samples, "evaluate_knee_rows", stopped)
    with pytest.raises(KeyboardInterrupt):
        in_folder(tmp_path / "run", knee, space, 1)
    assert seen == [8, 8]  # whole samples, though a chunk is 7 rows
    monkeypatch.setattr(
        knee_samples, "evaluate_knee_rows", lambda m, t, reach: evaluate(m, t, reach)
    )
    assert in_folder(tmp_path / "run", knee, space, 1).equals(whole)


def test_too_few_held_out_samples_are_told(knee, space, tmp_path):
    tight = (*TINY, "feasibility.peak_pressure_MPa=0.1", "validation.points=20")
    run = Run(load_config(SMOKE, tight), tmp_path)
    with pytest.raises(stages.StageError, match="at least 2 feasible held-out samples, found 0"):
        knee_samples.held_out_samples(run, knee, space)


def test_a_fit_that_fails_is_told(space, done):
    settings = load_config(SMOKE, TINY).surrogate
    pairs = [("knee_inverted_two", "kriging")]
    with pytest.raises(stages.StageError, match="fitting knee_inverted_two/kriging to 0 whole"):
        knee_samples.fit_knees(done.iloc[:0], space, settings, pairs, 1)


@pytest.mark.slow
def test_a_study_of_the_whole_knee_from_end_to_end(tmp_path):
    compare = '[["inverted", "polynomial"], ["knee_direct", "polynomial"]]'
    folder = tmp_path / "run"
    command = run_command(
        folder, *TINY, 'surrogate.formulation="knee_inverted_two"', f"surrogate.compare={compare}"
    )
    assert main(command) == 0
    knee = surrogates.load(folder / "knee.npz")
    assert (knee.formulation, knee.header["name"]) == ("knee_inverted_two", "smoke")
    run = json.loads((folder / "run.json").read_text())
    assert knee.header["provenance"]["samples"] == run["hashes"]["samples"]
    models = json.loads((folder / "validation.json").read_text())["models"]
    assert [model["formulation"] for model in models] == [
        *("knee_inverted_two", "inverted", "knee_direct")
    ]
    assert set(models[0]["compartments"]["medial"]["cross_validation"]) >= {"height", "adduction"}
    before = models[0]["worst_load_nrmse"]
    # Two-condyle contact is learnt well enough to walk with.
    cycle = json.loads((folder / "report.json").read_text())["summary"]
    assert any("gait" in line for line in cycle)
    assert main(["validate", str(folder)]) == 0
    models = json.loads((folder / "validation.json").read_text())["models"]
    assert models[0]["worst_load_nrmse"] == pytest.approx(before, rel=1e-9)
    assert main(["export", str(folder), "--out", str(tmp_path / "c")]) == 2


@pytest.mark.slow
def test_formulations_are_compared_on_the_same_total_loads(run_copy, monkeypatch):
    variants = formulation_study.VARIANTS
    monkeypatch.setattr(formulation_study, "VARIANTS", (variants[0], variants[6]))
    monkeypatch.setattr(formulation_study, "FAMILIES", ("polynomial",))
    rows, _ = compare_again(run_copy)
    assert len(rows) == 6
    assert {row["scope"] for row in rows if row["formulation"].startswith("knee_")} == {"knee"}
    errors = [row["total_load_nrmse"] for row in rows]
    assert errors == sorted(errors)
    assert all(0.0 < error < np.inf for error in errors)
    keys = {"worst_load_nrmse", "largest_error", "fit_seconds", "evaluation_us", "samples"}
    assert all(keys <= set(row) for row in rows)
    assert len({row["samples"] for row in rows}) == 1
    lines = list(formulation_study.markdown_table(rows))
    assert len({line.count("|") for line in lines}) == 1
    for name in ("knee", "knee-heldout"):
        assert (run_copy / "samples" / f"{name}.parquet").is_file()
