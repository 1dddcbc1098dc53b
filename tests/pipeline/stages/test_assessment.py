"""What a surrogate, its pressure fields and a node spacing are worth; the elastic layer."""

import layers
import numpy as np
import pytest
from studies import SMOKE

import surrogates
from dynamics.simulator.result import SimulationResult, Statistics
from foundation.base.errors import InputError
from foundation.base.loads import AXIAL_FORCE, LOAD_COLUMNS, WRENCH_COLUMNS
from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import LinearLaw
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.implant.condylar_implant import CondylarImplant
from pipeline.config.reading import load_config
from pipeline.config.schema import FeasibilityConfig
from pipeline.files import json_text
from pipeline.originals import finite_element_layer
from pipeline.reports.accuracy import worst_load
from pipeline.stages import elastic_layer as layer_stage
from pipeline.stages.assessment import (
    assess,
    errors_of,
    feasible,
    held_out_point,
    prediction_table,
)
from pipeline.stages.elastic_layer import (
    NODE_POSES,
    chosen_instants,
    elastic_layer,
    equal_loads,
    node_spacing,
)
from pipeline.store.figures import AT_POSE
from pipeline.store.run_documents import NodeSpacing
from pipeline.store.samples import loads_of, poses_of, read_table, usable
from surrogates.families.cross_validation import NORMAL_95
from tests.oracles.flat_layer import FlatLayer, ball, flat_bed


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
        rows = table[table["compartment"] == name]
        own = feasible(usable(held_out, name), bounds)
        assert found.points(AT_POSE, name) == len(rows) == len(own)
        error = rows["predicted_force_y_N"] - rows["force_y_N"]
        rmse = found.value(AT_POSE, name, "force_y_N", "rmse")
        largest = found.value(AT_POSE, name, "force_y_N", "maximum")
        assert rmse == pytest.approx(np.sqrt((error**2).mean()), rel=1e-9)
        assert largest == pytest.approx(np.abs(error).max(), rel=1e-9)
        assert set(found.quantities(AT_POSE, name)) == set(LOAD_COLUMNS)
    worst = max(row.value for row in found.of(AT_POSE, "nrmse", *WRENCH_COLUMNS))
    assert worst_load(found).value == worst


def test_learning_point_has_the_errors_of_the_worse_compartment(knee, held_out):
    bounds = FeasibilityConfig()
    point = held_out_point(assess(knee, held_out, bounds), 2500.0)
    assert set(point) == {"held_out_load_error_share", "held_out_height_m"}
    table = prediction_table(knee, held_out, bounds)
    squares = (table["predicted_force_y_N"] - table["force_y_N"]) ** 2
    worst = np.sqrt(squares.groupby(table["compartment"]).mean().max())
    assert point["held_out_load_error_share"] == pytest.approx(worst / 2500.0, rel=1e-9)
    assert 0.0 < point["held_out_height_m"] < 1e-3


def test_intervals_are_those_of_the_standard_errors(knee, held_out):
    bounds = FeasibilityConfig()
    figures = assess(knee, held_out, bounds)
    for name in ("medial", "lateral"):
        rows = feasible(usable(held_out, name), bounds)
        surrogate = knee.compartment(name)
        errors = surrogate.standard_error(poses_of(rows))
        residuals = loads_of(rows) - surrogate.loads(poses_of(rows)).array
        for k, column in enumerate(LOAD_COLUMNS[:9]):
            inside = np.abs(residuals[:, k]) <= NORMAL_95 * errors[:, k]
            covered = figures.value(AT_POSE, name, column, "coverage")
            assert covered == pytest.approx(inside.mean(), abs=1e-12)


def test_surrogate_that_sees_no_contact_is_judged_all_the_same(knee, held_out):
    """Its centres of pressure are undefined, its loads are wrong by all they are."""
    lifted = held_out.assign(superior_m=held_out["superior_m"] + 0.01)
    figures = assess(knee, lifted, FeasibilityConfig())
    assert figures.value(AT_POSE, "medial", "cop_x_m", "rmse") is None
    assert figures.value(AT_POSE, "medial", "force_y_N", "q2") < 0.0
    assert figures.value(AT_POSE, "medial", "force_y_N", "coverage") == 0.0
    json_text(figures)


TRUTH = np.concatenate([np.zeros(50), np.linspace(1e6, 20e6, 100)])


def test_errors_of_a_field_are_those_of_the_patch_of_either_field():
    assert errors_of(TRUTH, TRUTH) == pytest.approx((0.0, 1.0, 1.0, 0.0))
    rms = np.sqrt((TRUTH[50:] ** 2).mean())
    assert errors_of(1.1 * TRUTH, TRUTH) == pytest.approx((0.1 * rms / 20e6, 1.0, 1.0, 0.1))
    wider, lower = TRUTH.copy(), TRUTH.copy()
    wider[:50], lower[-5:] = 2e6, 1e6
    assert errors_of(wider, TRUTH).nrmse == pytest.approx(0.1 * np.sqrt(50 / 150))
    assert errors_of(lower, TRUTH).dice == pytest.approx(0.5)


def cycle(instants):
    """Return poses (N, 6) [rad, m] of the ball that slides on the lateral plate."""
    path = np.linspace(0.0, 2e-3, instants)
    return np.array([Pose(superior=0.0457, lateral=20e-3, anterior=x).array for x in path])


def test_error_is_that_of_poses_over_the_whole_cycle(monkeypatch):
    seen = []
    original = layer_stage.spacing_error

    def record(model, poses):
        seen.extend(pose.anterior for pose in poses)
        return original(model, poses)

    monkeypatch.setattr(layer_stage, "spacing_error", record)
    poses = cycle(101)
    found = node_spacing(layers.plate_contact(), poses)
    assert found.errors.poses == len(seen) == NODE_POSES
    np.testing.assert_array_equal(seen[:2], poses[[0, 3], 3])
    # The last instant of a cycle is that of its beginning.
    assert seen[-1] == poses[97, 3]
    assert (found.spacing_m, found.coarser_m) == (2e-3, 4e-3)
    assert NodeSpacing.model_validate(found.content()) == found


def test_reason_in_place_of_an_error():
    found = node_spacing(layers.plate_contact(spacing=3e-3), cycle(5))
    assert found.errors is None
    assert found.reason.startswith("with nodes 6 mm apart, spacing: expected")


POLYETHYLENE = 463e6, 0.46, 8e-3
CONFIG = load_config(SMOKE)


def bed(law, **options):
    """Return springs of a law over the built-in implant, of edges of 2.5 mm."""
    femur, tibia, labels = CondylarImplant().tessellate(2.5e-3)
    return ElasticFoundation(femur, tibia, law, compartments=labels, **options)


def driven(model, poses):
    """Return a cycle of given poses (N, 6) [rad, m], as if a model had driven it."""
    loads = model.loads(poses).values.swapaxes(0, 1)
    at = np.linspace(0.0, 100.0, len(poses))
    cost = Statistics(1, 0, 1, 1, 1, 0.0)
    applied = np.zeros((len(poses), 3))
    return SimulationResult(at, at, poses, 0.0 * poses, loads, loads.sum(axis=0), applied, cost)


def pressed(deeper=2e-4, count=41):
    """Return poses (N, 6) of the implant, pressed in deepest in the middle of the cycle."""
    home = CondylarImplant().home_pose(flexion=np.radians(15.0)).array
    depth = deeper * np.sin(np.linspace(0.0, np.pi, count))
    poses = np.tile(home, (count, 1))
    poses[:, 4] -= depth
    return poses


@pytest.fixture(autouse=True)
def coarse_elements(monkeypatch):
    """Nodes of the elastic layer 2 mm apart, for the sake of time."""
    monkeypatch.setattr(finite_element_layer, "_FINEST_MM", 2.0)


@pytest.fixture(scope="module")
def linear():
    return bed(LinearLaw(*POLYETHYLENE))


def compared(model, deeper=2e-4):
    return elastic_layer(CONFIG, model, driven(model, pressed(deeper)))


def test_linear_springs_are_stiffer_and_press_harder_than_the_layer(linear):
    found = compared(linear)
    assert (found.model, found.reason) == ("linear springs", "")
    assert found.reference == "finite elements, nodes 2 mm apart"
    assert set(found.compartments) == {"medial", "lateral"}
    for part in found.compartments.values():
        off = part.at_peak
        assert 0.25 < off.peak_pressure_share < 0.7
        assert 0.3 < off.stiffness_share < 1.1
        assert -0.45 < off.approach_share < -0.2
        assert part.peak_pressure_Pa == pytest.approx(
            part.layer_peak_pressure_Pa * (1.0 + off.peak_pressure_share), rel=1e-12
        )
        # At equal load the mean pressure goes by the reciprocal of the area.
        assert (1.0 + off.mean_pressure_share) * (1.0 + off.area_share) == pytest.approx(
            1.0, abs=0.05
        )
        assert 0.0 < part.uncertainty_share < 0.2
    assert 0.0 < found.largest_strain_share < 0.1


def test_loads_are_equal_and_only_the_height_differs(linear):
    result = driven(linear, pressed())
    modulus, *others = POLYETHYLENE
    layer = linear.with_law(LinearLaw(0.5 * modulus, *others))
    pairs = list(equal_loads(linear, layer, result, 0))
    assert len(pairs) == len(chosen_instants(result, 0)) > 5
    for pair in pairs:
        assert pair.layer.load == pytest.approx(pair.model.load, rel=1e-5)
        own = result.compartment_loads[0, pair.instant, AXIAL_FORCE]
        assert pair.model.load == pytest.approx(own, rel=1e-12)
        moved = pair.layer.pose.array - pair.model.pose.array
        assert moved[4] < 0.0
        np.testing.assert_array_equal(np.delete(moved, 4), 0.0)


@pytest.mark.parametrize("case", [(0.3, 1e-3, 8.0, 0.3), (0.46, 8e-3, 1.0, 0.1)])
def test_ball_on_a_flat_layer_differs_as_the_exact_layer_tells(case, monkeypatch):
    """Johnson's thin layer, where linear springs are exact, and a layer as thick as the patch."""
    ratio, thickness, _, radius = case
    known, exact = ball(*case)
    law = LinearLaw(known.layer.youngs_modulus, ratio, thickness)
    springs, reach = flat_bed(known, exact), 1.3 * exact.contact_radius
    flat = FlatLayer(exact.layer, (radius, radius), spacing=0.1 * reach, half=(reach, reach))
    monkeypatch.setattr(layer_stage, "element_layer", lambda *_: (0.1 * reach, flat.contact))
    # Springs of stiffness k under a paraboloid: F = pi R k d^2, p = k d.
    stiffness = law.confined_modulus / thickness
    depth = np.sqrt(exact.load / (np.pi * radius * stiffness))
    poses = np.array([Pose(superior=thickness - depth).array] * 3)
    (part,) = elastic_layer(CONFIG, springs, driven(springs, poses)).compartments.values()
    assert part.load_N == pytest.approx(exact.load, rel=0.01)
    expected = stiffness * depth / exact.peak_pressure - 1.0
    assert part.at_peak.peak_pressure_share == pytest.approx(expected, abs=0.015)
    assert part.at_peak.approach_share == pytest.approx(depth / exact.approach - 1.0, abs=0.015)


def test_a_layer_that_cannot_be_meshed_gives_its_reason(monkeypatch, linear):
    def folded(config, area):
        assert 5e-5 < area < 5e-4
        raise InputError("574 of 56210 elements folded")

    monkeypatch.setattr(layer_stage, "element_layer", folded)
    found = compared(linear)
    assert (found.compartments, found.reason) == ({}, "574 of 56210 elements folded")
