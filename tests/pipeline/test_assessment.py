"""What a surrogate is worth: figures per compartment, and the speed."""

import json

import numpy as np
import pytest

import surrogates
from foundation.loads import LOAD_COLUMNS, WRENCH_COLUMNS
from pipeline.assessment import assess, feasible, prediction_table, speed
from pipeline.config import load_config
from pipeline.original import build_knee
from pipeline.samples import poses_of, read_table, usable
from pipeline.schema import FeasibilityConfig
from pipeline.stages import StageError


@pytest.fixture(scope="module")
def knee(tiny_run):
    return surrogates.load(tiny_run / "knee.npz")


@pytest.fixture(scope="module")
def held_out(tiny_run):
    return read_table(tiny_run / "samples" / "heldout.parquet")


def test_figures_are_those_of_the_feasible_samples(knee, held_out):
    bounds = FeasibilityConfig()
    found = assess(knee, held_out, bounds)
    table = prediction_table(knee, held_out, bounds)
    for name in ("medial", "lateral"):
        part = found["compartments"][name]
        rows = table[table["compartment"] == name]
        assert part["points"] == 20
        assert part["feasible"] == len(rows) == len(feasible(usable(held_out, name), bounds))
        error = rows["predicted_force_y_N"] - rows["force_y_N"]
        figures = part["at_pose"]["force_y_N"]
        assert figures["rmse"] == pytest.approx(np.sqrt((error**2).mean()), rel=1e-9)
        assert figures["maximum"] == pytest.approx(np.abs(error).max(), rel=1e-9)
        assert set(part["at_pose"]) == set(LOAD_COLUMNS)
        worst = [abs(row["error_N"]) for row in part["worst"]]
        assert worst == sorted(worst, reverse=True)
        assert worst[0] == pytest.approx(figures["maximum"], rel=1e-9)
    assert found["worst_load_nrmse"] == max(
        found["compartments"][name]["at_pose"][column]["nrmse"]
        for name in ("medial", "lateral")
        for column in WRENCH_COLUMNS
    )


def test_assessment_is_json(knee, held_out):
    json.dumps(assess(knee, held_out, FeasibilityConfig()), allow_nan=False)


def test_bounds_of_feasibility_have_no_margin_here(held_out):
    peak = held_out["peak_pressure_Pa"].median()
    bounds = FeasibilityConfig(peak_pressure_MPa=1e-6 * peak, ap_ratio=1e3, ml_ratio=1e3)
    assert len(feasible(held_out, bounds)) == (held_out["peak_pressure_Pa"] <= peak).sum()


def test_too_few_feasible_samples_are_told(knee, held_out):
    with pytest.raises(StageError, match=r"at least 2 feasible.*medial.*found 0 of 20"):
        assess(knee, held_out, FeasibilityConfig(peak_pressure_MPa=1e-6))
    with pytest.raises(StageError, match="found 0 of 0"):
        assess(knee, held_out.assign(status="failed"), FeasibilityConfig())


def test_speed_is_of_both_models_and_their_ratio(knee, held_out, tiny_run):
    model = build_knee(load_config(tiny_run / "config.toml")).model
    times = speed(model, knee, poses_of(held_out)[:5])
    assert times["ratio"] == pytest.approx(times["original_us"] / times["surrogate_us"], rel=1e-12)
    assert min(times.values()) > 0.0
