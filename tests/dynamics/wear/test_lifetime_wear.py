"""Wear of many cycles with the surface lowered."""

import cycles
import numpy as np
import pytest
from plates import H, covered_plate, round_implant

from dynamics.wear.cycle_wear import WearLaw, bed_wear
from dynamics.wear.lifetime_wear import extrapolate_wear
from foundation.base.pose import Pose
from foundation.elastic_foundation.worn_surface import worn_model

LAW = WearLaw()
PRESSED = 0.1e-3
SPEED = 0.05


def extrapolate(model, simulate_cycle, count, blocks):
    return extrapolate_wear(model, simulate_cycle, worn_model, LAW, count, blocks)


def slide(model):
    """Simulate one second of sliding at a height held fixed."""
    pose = np.tile(Pose(superior=-PRESSED).array, (2, 1))
    rates = np.tile([0.0, 0.0, 0.0, SPEED, 0.0, 0.0], (2, 1))
    return cycles.carried_out(model, pose, rates)


@pytest.fixture(scope="module")
def implant():
    shape, model = round_implant()
    poses, rates, time = cycles.swinging_poses(shape, 11, depth=0.1e-3)

    def swing(contact):
        return cycles.carried_out(contact, poses, rates, time)

    return model, swing


def removed(before, after):
    """Volume between two surfaces of one rim: the difference of their cones about the origin."""
    cones = [np.linalg.det(mesh.vertices[mesh.faces]).sum() / 6.0 for mesh in (before, after)]
    return cones[0] - cones[1]


@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_blocks_on_a_plate_are_the_steps_of_explicit_euler(blocks):
    """dh/dN = k K (d - h) s for a plate held at depth d: h falls behind by (1 - x/B) a block."""
    model = covered_plate()
    stiffness = model.law.confined_modulus / H
    count = 0.6 / (LAW.factor * stiffness * SPEED)
    found = extrapolate(model, slide, count, blocks)
    depth = PRESSED * (1.0 - (1.0 - 0.6 / blocks) ** np.arange(blocks + 1))
    np.testing.assert_allclose(found.volume.sum(axis=1), depth * 20e-3**2, rtol=1e-9, atol=0.0)
    np.testing.assert_allclose(found.wear.depth, depth[-1], rtol=1e-9, atol=0.0)


def test_mesh_loses_the_volume_that_is_worn(implant):
    model, swing = implant
    found = extrapolate(model, swing, 1e6, 2)
    taken = removed(model.tibia, found.model.tibia)
    assert taken == pytest.approx(found.wear.total_volume, rel=1e-2)


@pytest.mark.parametrize("thickness", [H, np.full(32, H)])
def test_wear_through_the_insert_names_the_block(thickness):
    """However the blocks share it: 60 % of the thickness each, here by a constant pressure."""
    model = covered_plate(thickness=thickness)
    once = slide(model)
    count = 1.2 * H / bed_wear(model, once, LAW).depth.max()
    with pytest.raises(ValueError, match=r"block 2 of 2, .* less than the thickness, .* of 10 mm"):
        extrapolate(model, lambda _: once, count, 2)


@pytest.mark.parametrize(("numbers", "name"), [((0.0, 1), "cycles"), ((1e6, 0), "blocks")])
def test_bad_numbers_are_named(numbers, name):
    with pytest.raises(ValueError, match=f"{name}: expected"):
        extrapolate(covered_plate(), slide, *numbers)
