"""Wear of many cycles with the geometry updated."""

from dataclasses import replace

import cycles
import numpy as np
import pytest
import shapes

from dynamics.wear.cycle_wear import WearLaw, bed_wear
from foundation.elastic_foundation.laws import LinearLaw, LogarithmicLaw, SeriesLaw
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.implant.condylar_implant import CondylarImplant
from foundation.pose import Pose
from pipeline.studies.worn import extrapolate, vertex_depths, worn_model

LAW = WearLaw()
E, NU, H = 463e6, 0.46, 10e-3
PRESSED = 0.1e-3
SPEED = 0.05


def covered_plate(surface="flat", thickness=H):
    """A plate under a larger one: all its springs are pressed alike."""
    tibia = shapes.plate(20e-3, 4)
    return ElasticFoundation(
        shapes.plate(30e-3, 1, up=False),
        tibia,
        LinearLaw(E, NU, thickness),
        surface=surface,
        compartments=shapes.labels(tibia),
    )


def slide(model):
    """Simulate one second of sliding at a height held fixed."""
    pose = np.tile(Pose(superior=-PRESSED).array, (2, 1))
    rates = np.tile([0.0, 0.0, 0.0, SPEED, 0.0, 0.0], (2, 1))
    return cycles.carried_out(model, pose, rates)


@pytest.fixture(scope="module")
def implant():
    shape = CondylarImplant.single_radius(25e-3)
    femur, tibia, labels = shape.tessellate(3e-3)
    model = ElasticFoundation(femur, tibia, LinearLaw(E, NU, H), compartments=labels)
    poses, rates, time = cycles.swinging_poses(shape, 11, depth=0.1e-3)

    def swing(contact):
        return cycles.carried_out(contact, poses, rates, time)

    return model, swing


def removed(before, after):
    """Volume between two surfaces of one rim: the difference of their cones about the origin."""
    cones = [np.linalg.det(mesh.vertices[mesh.faces]).sum() / 6.0 for mesh in (before, after)]
    return cones[0] - cones[1]


def test_vertex_depths_keep_the_volume():
    tibia = shapes.plate(20e-3, 5)
    depth = np.random.default_rng(0).uniform(0.0, 1e-4, len(tibia.faces))
    taken = tibia.areas @ vertex_depths(tibia, depth)[tibia.faces].mean(axis=1)
    assert taken == pytest.approx(tibia.areas @ depth, rel=1e-12)


@pytest.mark.parametrize("surface", ["flat", "curved"])
def test_nothing_worn_changes_nothing(implant, surface):
    model, _ = implant
    model = ElasticFoundation(
        model.femur, model.tibia, model.law, surface=surface, compartments=model.compartments
    )
    same = worn_model(model, np.zeros(len(model.tibia.faces)))
    pose = replace(CondylarImplant.single_radius(25e-3).home_pose(0.3), rotation=0.02)
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
def test_thickness_given_over_the_surface_falls_with_it(per):
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


def test_one_block_is_linear_extrapolation(implant):
    model, swing = implant
    count = 1e6
    linear = bed_wear(model, swing(model), LAW).after(count)
    found = extrapolate(model, swing, LAW, count, 1)
    np.testing.assert_allclose(found.volume, [[0.0, 0.0], linear.volume], rtol=1e-12, atol=0.0)
    np.testing.assert_allclose(found.wear.depth, linear.depth, rtol=1e-12, atol=0.0)
    np.testing.assert_array_equal(found.cycles, [0.0, count])
    assert found.wear.mass == pytest.approx(linear.mass, rel=1e-12)


@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_blocks_on_a_plate_are_the_steps_of_explicit_euler(blocks):
    """dh/dN = k K (d - h) s for a plate held at depth d: h falls behind by (1 - x/B) a block."""
    model = covered_plate()
    stiffness = model.law.confined_modulus / H
    count = 0.6 / (LAW.factor * stiffness * SPEED)
    found = extrapolate(model, slide, LAW, count, blocks)
    depth = PRESSED * (1.0 - (1.0 - 0.6 / blocks) ** np.arange(blocks + 1))
    np.testing.assert_allclose(found.volume.sum(axis=1), depth * 20e-3**2, rtol=1e-9, atol=0.0)
    np.testing.assert_allclose(found.wear.depth, depth[-1], rtol=1e-9, atol=0.0)


def test_more_blocks_converge(implant):
    model, swing = implant
    volumes = [extrapolate(model, swing, LAW, 2e6, b).wear.total_volume for b in (1, 2, 4)]
    changes = np.abs(np.diff(volumes))
    assert changes[1] < 0.7 * changes[0]
    assert changes[1] < 0.04 * volumes[-1]


def test_mesh_loses_the_volume_that_is_worn(implant):
    model, swing = implant
    found = extrapolate(model, swing, LAW, 1e6, 2)
    taken = removed(model.tibia, found.model.tibia)
    assert taken == pytest.approx(found.wear.total_volume, rel=1e-2)


@pytest.mark.parametrize("thickness", [H, np.full(32, H)])
def test_wear_through_the_insert_names_the_block(thickness):
    """However the blocks share it: 60 % of the thickness each, here by a constant pressure."""
    model = covered_plate(thickness=thickness)
    once = slide(model)
    count = 1.2 * H / bed_wear(model, once, LAW).depth.max()
    with pytest.raises(ValueError, match=r"block 2 of 2, .* less than the thickness, .* of 10 mm"):
        extrapolate(model, lambda _: once, LAW, count, 2)


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


@pytest.mark.parametrize(("given", "name"), [((0.0, 1), "cycles"), ((1e6, 0), "blocks")])
def test_bad_numbers_are_named(given, name):
    with pytest.raises(ValueError, match=f"{name}: expected"):
        extrapolate(covered_plate(), slide, LAW, *given)
