"""What a surrogate is worth: figures per compartment, and the speed."""

import json

import numpy as np
import pytest

import surrogates
from foundation.base.loads import LOAD_COLUMNS, WRENCH_COLUMNS
from pipeline.config.reading import load_config
from pipeline.config.schema import FeasibilityConfig
from pipeline.originals.contact_original import build_knee
from pipeline.stages import StageError
from pipeline.stages.assessment import (
    assess,
    feasible,
    held_out_point,
    location,
    prediction_table,
    speed,
)
from pipeline.store.samples import loads_of, poses_of, read_table, usable
from surrogates.families.cross_validation import NORMAL_95, CrossCheck


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
        part = found.compartments[name]
        rows = table[table["compartment"] == name]
        assert part.points == 20
        assert part.feasible == len(rows) == len(feasible(usable(held_out, name), bounds))
        error = rows["predicted_force_y_N"] - rows["force_y_N"]
        figures = part.at_pose["force_y_N"]
        assert figures.rmse == pytest.approx(np.sqrt((error**2).mean()), rel=1e-9)
        assert figures.maximum == pytest.approx(np.abs(error).max(), rel=1e-9)
        assert set(part.at_pose) == set(LOAD_COLUMNS)
        worst = [abs(row.error_N) for row in part.worst]
        assert worst == sorted(worst, reverse=True)
        assert worst[0] == pytest.approx(figures.maximum, rel=1e-9)
    assert found.worst_load_nrmse == max(
        found.compartments[name].at_pose[column].nrmse
        for name in ("medial", "lateral")
        for column in WRENCH_COLUMNS
    )


def test_learning_point_has_the_errors_of_the_worse_compartment(knee, held_out):
    bounds = FeasibilityConfig()
    judged = assess(knee, held_out, bounds).compartments.values()
    point = held_out_point(knee, held_out, bounds)
    assert set(point) == {"held_out_load_error", "held_out_height_um"}
    error = max(part.at_pose["force_y_N"].rmse for part in judged)
    largest = knee.compartment("medial").space.load[1]
    assert point["held_out_load_error"] == pytest.approx(error / largest, rel=1e-9)
    height = max(1e6 * part.at_load["superior_m"].rmse for part in judged)
    assert point["held_out_height_um"] == pytest.approx(height, rel=1e-12)


def test_intervals_are_those_of_the_standard_errors(knee, held_out):
    bounds = FeasibilityConfig()
    found = assess(knee, held_out, bounds)
    for name in ("medial", "lateral"):
        rows = feasible(usable(held_out, name), bounds)
        surrogate = knee.compartment(name)
        errors = surrogate.standard_error(poses_of(rows))
        residuals = loads_of(rows) - surrogate.evaluate_batch(poses_of(rows))[0]
        part = found.compartments[name]
        for k, column in enumerate(LOAD_COLUMNS[:9]):
            inside = np.abs(residuals[:, k]) <= NORMAL_95 * errors[:, k]
            assert part.coverage[column] == pytest.approx(inside.mean(), abs=1e-12)
        known = errors[:, :6] > 0.0
        scaled = residuals[:, :6][known] / errors[:, :6][known]
        quantiles = part.standardised
        assert len(quantiles.normal) == len(quantiles.held_out)
        middle = np.quantile(scaled, 0.5, method="linear")
        assert np.interp(0.0, quantiles.normal, quantiles.held_out) == pytest.approx(
            middle, abs=0.05
        )
        assert max(quantiles.held_out) <= scaled.max()
        worst = part.worst[0]
        row = rows.index[rows["index"] == worst.index][0]
        place = rows.index.get_loc(row)
        assert worst.standard_error_N == pytest.approx(errors[place, 1], rel=1e-12)


def test_cross_validation_is_that_of_the_fit(knee, held_out):
    rows, residuals = np.arange(4), np.array([[1.0], [-1.0], [3.0], [1.0]])
    check = CrossCheck(rows, residuals, np.ones((4, 1)), "leave-one-out")
    checks = {name: {"height": check} for name in ("medial", "lateral")}
    part = assess(knee, held_out, FeasibilityConfig(), checks).compartments["lateral"]
    assert part.cross_validation["height"].content() == {
        **{"kind": "leave-one-out", "points": 4},
        **{"rmse": [np.sqrt(3.0)], "coverage": [0.75]},
    }
    alone = assess(knee, held_out, FeasibilityConfig())
    assert alone.compartments["medial"].cross_validation == {}


@pytest.mark.parametrize(
    ("x", "shear", "words"),
    [
        ([0.0] * 6, (0.1, 0.1), "inside the box, on no slope"),
        (
            [0.95, 0, 0, -0.91, 0, 0],
            (0.0, 0.0),
            "near the border in flexion; near the border in an",
        ),
        ([0, 0, 0, 0, 0, 0.95], (0.0, 0.0), "near the largest load"),
        ([0.0] * 6, (-0.3, 0.1), "on a slope (AP force -0.30 of axial)"),
    ],
)
def test_reasons_of_the_worst_cases(x, shear, words):
    loads = np.array([100.0 * shear[0], 100.0, 100.0 * shear[1], *[0.0] * 9])
    assert location(np.array(x, dtype=float), loads).startswith(words)


def test_surrogate_that_sees_no_contact_is_judged_all_the_same(knee, held_out):
    """Its centres of pressure are undefined, its loads are wrong by all they are."""
    lifted = held_out.assign(superior_m=held_out["superior_m"] + 0.01)
    found = assess(knee, lifted, FeasibilityConfig())
    part = found.compartments["medial"]
    assert part.at_pose["cop_x_m"].rmse is None
    assert part.at_pose["force_y_N"].q2 < 0.0
    assert part.standardised.content() == {"normal": [], "held_out": []}
    assert part.coverage["force_y_N"] == 0.0
    json.dumps(found.content(), allow_nan=False)


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
    assert times.ratio == pytest.approx(times.original_us / times.surrogate_us, rel=1e-12)
    assert min(times.content().values()) > 0.0
