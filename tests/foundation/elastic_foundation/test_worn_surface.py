"""Contact of a worn insert, the tibial surface lowered."""

from dataclasses import replace

import numpy as np
import pytest
import shapes
from plates import NU, E, H, covered_plate, round_implant

from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import LinearLaw, LogarithmicLaw, SeriesLaw
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.elastic_foundation.worn_surface import vertex_depths, worn_model

PRESSED = 0.1e-3


def test_vertex_depths_keep_the_volume():
    tibia = shapes.plate(20e-3, 5)
    depth = np.random.default_rng(0).uniform(0.0, 1e-4, len(tibia.faces))
    taken = tibia.areas @ vertex_depths(tibia, depth)[tibia.faces].mean(axis=1)
    assert taken == pytest.approx(tibia.areas @ depth, rel=1e-12)


@pytest.mark.parametrize("surface", ["flat", "curved"])
def test_zero_depth_changes_nothing(surface):
    shape, model = round_implant(surface=surface)
    same = worn_model(model, np.zeros(len(model.tibia.faces)))
    pose = replace(shape.home_pose(0.3), rotation=0.02)
    pose = replace(pose, superior=pose.superior - 0.1e-3)
    found, expected = (m.loads(pose).total.array for m in (same, model))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("surface", ["flat", "curved"])
def test_plate_worn_evenly_is_pressed_less_deep(surface):
    model = covered_plate(surface)
    worn = worn_model(model, np.full(len(model.tibia.faces), 0.3 * PRESSED))
    pose = Pose(superior=-PRESSED)
    assert worn.loads(pose).force[1] == pytest.approx(0.7 * model.loads(pose).force[1], rel=1e-9)
    assert worn.law.thickness == H
    np.testing.assert_allclose(worn.tibia.vertices[:, 1], -0.3 * PRESSED, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("per", ["triangle", "vertex"])
def test_variable_thickness_decreases_by_the_depth(per):
    count = {"triangle": 32, "vertex": 25}[per]
    model = covered_plate(thickness=np.full(count, H))
    worn = worn_model(model, np.full(32, 1e-3))
    np.testing.assert_allclose(worn.law.thickness, H - 1e-3, rtol=1e-12, atol=0.0)


def test_femoral_layer_of_a_series_keeps_its_thickness():
    model = covered_plate()
    layers = SeriesLaw(LinearLaw(E, NU, np.full(32, H)), LogarithmicLaw(E, NU, np.full(32, H)))
    model = ElasticFoundation(
        model.femur, model.tibia, layers, surface="flat", compartments=model.compartments
    )
    law = worn_model(model, np.full(32, 1e-3)).law
    np.testing.assert_allclose(law.first.thickness, H - 1e-3, rtol=1e-12, atol=0.0)
    np.testing.assert_array_equal(law.second.thickness, H)


@pytest.mark.parametrize(
    ("depth", "message"),
    [
        (np.zeros(3), r"depth: expected shape \(32\)"),
        (np.full(32, -1e-6), "depth: expected >= 0"),
        (np.full(32, np.nan), "depth: expected finite"),
    ],
)
def test_bad_depths_are_named(depth, message):
    with pytest.raises(ValueError, match=message):
        worn_model(covered_plate(), depth)
