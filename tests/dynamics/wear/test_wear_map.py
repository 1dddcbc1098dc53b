"""Wear on springs and triangles, over many cycles too: closed forms, a naive twin, both models."""

from dataclasses import replace

import cycles
import numpy as np
import pytest
import shapes
from plates import H, Pressed, covered_plate, round_implant

from dynamics.wear.cycle_wear import WearLaw, bed_wear, measured_patch, surrogate_wear
from dynamics.wear.lifetime import extrapolate_wear
from foundation.base.pose import Pose, twist_jacobian

LAW = WearLaw()
AT_REST = np.zeros(6)
SLIDING = np.array([0.0, 0.0, 0.0, 0.05, 0.0, 0.0])


def plate_model(pressure_at, cells=40):
    plate = shapes.plate(40e-3, cells)
    pressure = np.array([pressure_at(*c) for c in plate.centroids])
    return Pressed(pressure, plate, shapes.labels(plate))


@pytest.fixture(scope="module")
def implant_cycle():
    implant, model = round_implant(2.5e-3)
    return model, cycles.carried_out(model, *cycles.swinging_poses(implant, 41))


def test_bed_wear_is_the_sum_of_its_definition(implant_cycle):
    model, result = implant_cycle
    tibia, time = model.tibia, result.time
    depth = np.zeros(len(tibia.faces))
    for i, (pose, rates) in enumerate(zip(result.poses, result.rates, strict=True)):
        width = (time[min(i + 1, len(time) - 1)] - time[max(i - 1, 0)]) / 2
        twist = twist_jacobian(Pose.from_array(pose)) @ rates
        pressure = model.spring_state(Pose.from_array(pose)).pressure
        for side in range(2):
            own = np.flatnonzero((model.compartments == side) & (pressure > 0.0))
            carried = result.compartment_loads[side, i, 6] * result.compartment_loads[side, i, 8]
            scale = carried / (pressure[own] @ tibia.areas[own])
            for f in own:
                v = twist[:3] + np.cross(twist[3:], tibia.centroids[f])
                v -= (v @ tibia.normals[f]) * tibia.normals[f]
                depth[f] += LAW.factor * scale * pressure[f] * np.linalg.norm(v) * width
    np.testing.assert_allclose(bed_wear(model, result, LAW).depth, depth, rtol=1e-10, atol=1e-30)


def test_map_of_a_paraboloid_is_its_pressure_times_the_distance():
    area, mean, n = 1.5e-4, 4e6, 1.0
    centre = np.array([2e-3, 0.0, -3e-3])
    loads = cycles.pressed(area * mean, area, n + 1.0, centre)
    result = cycles.result_of(AT_REST, SLIDING, loads, time=[0.0, 1.0])
    plate = shapes.plate(40e-3, 80)
    depth = surrogate_wear(result, LAW, aspect=(0.5, 1.0), tibia=plate).depth
    axes = np.sqrt(area / np.pi * np.array([0.5, 2.0]))
    squared = (((plate.centroids - centre)[:, [0, 2]] / axes) ** 2).sum(axis=1)
    expected = LAW.factor * 0.05 * (n + 1) * mean * np.maximum(1.0 - squared, 0.0) ** n
    np.testing.assert_allclose(depth, expected, rtol=0.0, atol=5e-3 * expected.max())
    assert depth @ plate.areas == pytest.approx(LAW.factor * 0.05 * area * mean, rel=1e-12)


def test_aspect_is_that_of_the_pressed_ellipse():
    axes = np.array([4e-3, 8e-3])
    model = plate_model(
        lambda x, y, z: 1e6 * max(0.0, 1.0 - (x / axes[0]) ** 2 - ((z + 0.01) / axes[1]) ** 2), 80
    )
    loads = cycles.pressed(centre=(0.0, 0.0, -0.01))
    result = cycles.result_of(AT_REST, SLIDING, loads, time=[0.0, 1.0])
    found = measured_patch(model, result).aspect
    assert found[0] == pytest.approx(0.5, rel=1e-2)
    assert found[1] == 1.0


def test_loads_alone_give_the_wear_of_the_springs(implant_cycle):
    model, result = implant_cycle
    springs = bed_wear(model, result, LAW)
    assert springs.volume.min() > 0.0
    found = surrogate_wear(result, LAW)
    np.testing.assert_allclose(found.volume, springs.volume, rtol=5e-3, atol=0.0)


PRESSED = 0.1e-3
SPEED = 0.05


def extrapolate(model, simulate_cycle, count, blocks):
    return extrapolate_wear(model, simulate_cycle, LAW, count, blocks)


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
    np.testing.assert_allclose(found.worn_depth[-1], depth[-1], rtol=1e-9, atol=0.0)


def test_mesh_loses_the_volume_that_is_worn(implant):
    model, swing = implant
    found = extrapolate(model, swing, 1e6, 2)
    taken = removed(model.tibia, found.model.tibia)
    assert taken == pytest.approx(found.volume[-1].sum(), rel=1e-2)


@pytest.mark.parametrize("thickness", [H, np.full(32, H)])
def test_wear_through_the_insert_names_the_block(thickness):
    """However the blocks share it: 60 % of the thickness each, here by a constant pressure."""
    model = covered_plate(thickness=thickness)
    once = replace(slide(model), poses=np.tile(Pose(superior=-0.8 * H).array, (2, 1)))
    count = 1.2 * H / bed_wear(model, once, LAW).depth.max()
    with pytest.raises(ValueError, match=r"block 2 of 2, .* less than the thickness, .* of 10 mm"):
        extrapolate(model, lambda _: once, count, 2)


@pytest.mark.parametrize(("numbers", "name"), [((0.0, 1), "cycles"), ((1e6, 0), "blocks")])
def test_bad_numbers_are_named(numbers, name):
    with pytest.raises(ValueError, match=f"{name}: expected"):
        extrapolate(covered_plate(), slide, *numbers)
