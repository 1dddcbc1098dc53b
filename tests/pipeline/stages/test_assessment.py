"""What a surrogate, its pressure fields and a node spacing are worth."""

from __future__ import annotations

import json

import layers
import numpy as np
import pytest

import surrogates
from foundation.base.loads import LOAD_COLUMNS, WRENCH_COLUMNS
from foundation.base.pose import Pose
from pipeline.config.schema import FeasibilityConfig
from pipeline.stages import node_spacing as stage
from pipeline.stages.assessment import (
    assess,
    feasible,
    held_out_point,
    prediction_table,
)
from pipeline.stages.node_spacing import POSES, node_spacing
from pipeline.stages.pressure_fields import errors_of
from pipeline.store.run_documents import NodeSpacing
from pipeline.store.samples import loads_of, poses_of, read_table, usable
from surrogates.families.cross_validation import NORMAL_95


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


TRUTH = np.concatenate([np.zeros(50), np.linspace(1e6, 20e6, 100)])


def test_a_perfect_field_has_no_error():
    assert errors_of(TRUTH, TRUTH) == pytest.approx((0.0, 1.0, 1.0, 0.0))


def test_a_field_a_tenth_too_large():
    found = errors_of(1.1 * TRUTH, TRUTH)
    rms = np.sqrt((TRUTH[50:] ** 2).mean())
    assert found == pytest.approx((0.1 * rms / 20e6, 1.0, 1.0, 0.1))


def test_the_patch_of_either_field_counts():
    predicted = TRUTH.copy()
    predicted[:50] = 2e6
    assert errors_of(predicted, TRUTH).nrmse == pytest.approx(0.1 * np.sqrt(50 / 150))


def test_half_of_the_top_is_found():
    predicted = TRUTH.copy()
    predicted[-5:] = 1e6
    assert errors_of(predicted, TRUTH).dice == pytest.approx(0.5)


def cycle(instants):
    """Return poses (N, 6) [rad, m] of the ball that slides on the lateral plate."""
    path = np.linspace(0.0, 2e-3, instants)
    return np.array([Pose(superior=0.0457, lateral=20e-3, anterior=x).array for x in path])


def test_error_is_that_of_poses_over_the_whole_cycle(monkeypatch):
    seen = []
    original = stage.spacing_error

    def record(model, poses):
        seen.extend(pose.anterior for pose in poses)
        return original(model, poses)

    monkeypatch.setattr(stage, "spacing_error", record)
    poses = cycle(101)
    found = node_spacing(layers.plate_contact(), poses)
    assert found.errors.poses == len(seen) == POSES
    np.testing.assert_array_equal(seen[:2], poses[[0, 3], 3])
    # The last instant of a cycle is that of its beginning.
    assert seen[-1] == poses[97, 3]
    assert (found.spacing_m, found.coarser_m) == (2e-3, 4e-3)
    assert NodeSpacing.model_validate(found.content()) == found


def test_reason_in_place_of_an_error():
    found = node_spacing(layers.plate_contact(spacing=3e-3), cycle(5))
    assert found.errors is None
    assert found.reason.startswith("with nodes 6 mm apart, spacing: expected")
