"""Comparison of formulations with several seeds: samples of their own, means and deviations."""

import json

import numpy as np
import pytest

from pipeline.cli.main import main
from pipeline.stages import knee_samples
from pipeline.store.samples import digest, read_table
from pipeline.studies import formulations as study
from pipeline.studies.formulations import averaged, markdown_table
from pipeline.studies.repeated_stages import compare_again

WAY = {"formulation": "root", "pose_at": "femur", "touch_points": False, "scope": "compartment"}


def row(total: float, family: str = "kriging", **more):
    errors = {"total_load_nrmse": total, "worst_load_nrmse": 2 * total, "largest_error": 3 * total}
    cost = {"samples": 100, "fit_seconds": 1.0, "evaluation_us": 20.0}
    return {**WAY, "family": family, **errors, **cost, **more}


def test_means_and_deviations_of_the_seeds():
    values = [0.010, 0.014, 0.015]
    repeats = [
        [row(v, height_rmse_um=100 * v, samples=100 + k), row(2.0, "polynomial")]
        for k, v in enumerate(values)
    ]
    best, other = averaged(repeats)
    assert (best["family"], best["seeds"], best["samples"]) == ("kriging", 3, 101)
    assert best["total_load_nrmse"] == pytest.approx(np.mean(values), rel=1e-12)
    deviation = np.std(values, ddof=1)
    wanted = {"total_load_nrmse": 1, "worst_load_nrmse": 2, "largest_error": 3}
    for name, factor in (wanted | {"height_rmse_um": 100}).items():
        assert best["deviations"][name] == pytest.approx(factor * deviation, rel=1e-12)
    assert set(other["deviations"]) == set(wanted)
    assert other["deviations"]["total_load_nrmse"] == 0.0
    lines = list(markdown_table([best, other]))
    assert "| 1.3 ± 0.265 |" in lines[2]
    assert len({line.count("|") for line in lines}) == 1


def test_fits_that_fail_with_some_seeds_are_counted():
    failed = {**WAY, "family": "kriging", "samples": 100, "failed": "singular"}
    never = {**failed, "family": "polynomial"}
    rows = averaged([[row(0.01), never], [failed, never], [failed, never]])
    assert [r["seeds"] for r in rows] == [1, 0]
    assert rows[0]["total_load_nrmse"] == 0.01
    assert "deviations" not in rows[0]
    assert rows[1]["failed"] == "singular"
    assert "±" not in "".join(markdown_table(rows))


def test_surrogates_of_equally_many_samples_are_compared(run_copy, monkeypatch):
    ways = study.Variant("inverted", touch=True), study.Variant("direct", "femur")
    monkeypatch.setattr(study, "VARIANTS", ways)
    monkeypatch.setattr(study, "KNEE_VARIANTS", ())
    monkeypatch.setattr(study, "FAMILIES", ("polynomial",))
    monkeypatch.setattr(knee_samples, "training_samples", lambda *_: None)
    rows, report = compare_again(run_copy)
    errors = [row["total_load_nrmse"] for row in rows]
    assert 0.0 < errors[0] < errors[1]
    inverted, direct = sorted(rows, key=lambda row: row["formulation"] == "direct")
    assert [row["formulation"] for row in (inverted, direct)] == ["inverted", "direct"]
    assert [row["touch_points"] for row in (inverted, direct)] == [True, False]
    # Half of the samples of the inverted formulation are replaced by as many reference samples.
    assert abs(inverted["samples"] - direct["samples"]) <= 0.1 * direct["samples"]
    assert inverted["height_rmse_um"] > 0.0
    assert "height_rmse_um" not in direct
    shown = [row["formulation"] for row in report["validation"]["formulations"]]
    assert shown == [row["formulation"] for row in rows]


@pytest.mark.slow
def test_seeds_draw_samples_of_their_own_and_keep_the_held_out_ones(run_copy, monkeypatch):
    monkeypatch.setattr(study, "VARIANTS", (study.VARIANTS[6],))
    monkeypatch.setattr(study, "KNEE_VARIANTS", ())
    monkeypatch.setattr(study, "FAMILIES", ("polynomial",))
    (single,), _ = compare_again(run_copy)
    (mean,), report = compare_again(run_copy, seeds=3)
    assert mean["seeds"] == 3
    assert mean["deviations"]["total_load_nrmse"] > 0.0
    # The first seed is that of the run; the standard deviation bounds how far it is off the mean.
    for name in ("total_load_nrmse", "worst_load_nrmse", "height_rmse_um"):
        off = abs(single[name] - mean[name])
        assert 0.0 < off <= 1.16 * mean["deviations"][name]
    folders = [run_copy, *(run_copy / "seeds" / name for name in ("2", "3"))]
    firsts = [digest(read_table(run / "samples" / "first.parquet")) for run in folders]
    assert len(set(firsts)) == 3
    assert not (folders[1] / "samples" / "heldout.parquet").exists()
    stored = json.loads((run_copy / "validation.json").read_text())["formulations"]
    assert stored == [mean]
    (shown,) = report["validation"]["formulations"]
    wanted = 100.0 * mean["deviations"]["total_load_nrmse"]
    assert shown["deviations"]["total_load_nrmse_percent"] == pytest.approx(wanted, rel=1e-12)
    page = (run_copy / "report.html").read_text()
    assert "mean ± standard deviation over 3 seeds" in page
    # What was evaluated is taken up: the same numbers, but for the times.
    monkeypatch.setattr("pipeline.stages.run_folder.ChunkStore.evaluate", None)
    (again,), _ = compare_again(run_copy, seeds=3)
    assert again["deviations"] == mean["deviations"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--seeds", "3"], "--seeds 3: expected --formulations as well"),
        (["--formulations", "--seeds", "0"], "--seeds 0: expected at least 1"),
    ],
)
def test_seeds_without_meaning_are_refused(run_copy, capsys, options, text):
    assert main(["validate", str(run_copy), *options]) == 2
    assert text in capsys.readouterr().err
