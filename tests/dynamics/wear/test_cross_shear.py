"""Cross-shear, laws of wear and creep: exact paths, quadrature, closed forms, both models."""

import cycles
import numpy as np
import pytest
from plates import H, Pressed, covered_plate, round_implant
from scipy.integrate import quad

from dynamics.wear.cycle_wear import WearLaw, bed_wear, measured_patch, surrogate_wear
from dynamics.wear.lifetime import CreepLaw, extrapolate_wear
from foundation.base.pose import Pose

PLATE = covered_plate()
AREA, CYCLE = 20e-3**2, np.linspace(0.0, 2.0 * np.pi, 401)
UNIFORM = Pressed(np.ones(len(PLATE.tibia.areas)), PLATE.tibia, PLATE.compartments)


def slid(velocities, forces=1000.0, law=None, turning=0.0):
    """Wear under a plate with velocities (N, 2), forward and to the right, that turns, over 1 s."""
    rates = np.zeros((len(velocities), 6))
    rates[:, [3, 5]], rates[:, 2] = velocities, turning
    half = [cycles.pressed(0.5 * f, 0.5 * AREA) for f in np.broadcast_to(forces, len(rates))]
    return bed_wear(UNIFORM, cycles.result_of(np.zeros(6), rates, half, half), law or WearLaw())


def shear_of(velocities, forces=1000.0):
    return slid(velocities, forces).sliding.cross_shear


def around(a, b, turn=0.0):
    """A rectangle whose sides take odd numbers of instants, from the middle of the first side."""
    angle = 0.5 * np.pi * np.repeat([0, 1, 2, 3, 0], [(a + 1) // 2, b, a, b, (a + 1) // 2]) + turn
    return np.column_stack([np.cos(angle), np.sin(angle)])


@pytest.mark.parametrize("turn", [0.0, 0.3, 2.0])
@pytest.mark.parametrize(("a", "b"), [(5, 5), (9, 3), (3, 9), (11, 1)])
def test_rectangle_has_the_shorter_side_over_both(a, b, turn):
    np.testing.assert_allclose(shear_of(around(a, b, turn)), min(a, b) / (a + b), rtol=1e-12)


def test_line_has_none_and_circle_one_half():
    to_and_fro = np.outer(np.cos(CYCLE), (0.6, 0.8))
    np.testing.assert_allclose(shear_of(to_and_fro), 0.0, rtol=0.0, atol=1e-12)
    circle = np.column_stack([np.cos(CYCLE), np.sin(CYCLE)])
    np.testing.assert_allclose(shear_of(circle), 0.5, rtol=1e-12)


@pytest.mark.parametrize("start", [0.0, 0.4, 1.7])
@pytest.mark.parametrize("b", [0.1, 0.5, 0.9])
def test_ellipse_by_quadrature(b, start):
    def speed(t):
        return np.hypot(np.cos(t), b * np.sin(t))

    across = quad(lambda t: (b * np.sin(t)) ** 2 / speed(t), 0.0, np.pi, epsabs=1e-12)[0]
    expected = across / quad(speed, 0.0, np.pi, epsabs=1e-12)[0]
    velocities = np.column_stack([np.cos(CYCLE + start), b * np.sin(CYCLE + start)])
    np.testing.assert_allclose(shear_of(velocities), expected, rtol=1e-8)


def test_principal_direction_is_that_of_most_work_and_not_of_the_longest_way():
    """Three parts of the way forward under 1 N, one part to the right under 9 N: 3 of 12."""
    velocities = np.repeat([(1.0, 0.0), (0.0, 1.0), (1.0, 0.0)], [2, 1, 2], axis=0)
    forces = np.array([1.0, 1.0, 9.0, 1.0, 1.0])
    np.testing.assert_allclose(shear_of(velocities, forces), 3.0 / 12.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("law", "by_work", "by_distance"),
    [
        (WearLaw(2e-16), 2e-16, 0.0),
        (WearLaw(1e-16, cross_shear_factor=6e-16), 1e-16 + 3e-16, 0.0),
        (WearLaw(0.0, coefficient=3e-9), 0.0, 3e-9),
        (WearLaw(0.0, cross_shear_coefficient=8e-9), 0.0, 4e-9),
    ],
)
def test_laws_on_a_square(law, by_work, by_distance):
    """One second at 1 cm/s around a square: half of the work is across."""
    found = slid(0.01 * around(5, 5), 800.0, law)
    expected = 0.01 * (by_work * 800.0 / AREA + by_distance)
    np.testing.assert_allclose(found.depth, expected, rtol=1e-12)
    np.testing.assert_allclose(found.volume, 0.5 * AREA * expected, rtol=1e-12)
    np.testing.assert_allclose(found.footprint[:, 0], 0.5 * AREA, rtol=1e-12)
    np.testing.assert_allclose(found.footprint[:, 3], [-5e-3, 5e-3], rtol=1e-12)


def test_pin_on_plate_by_quadrature():
    """A square pin on a plate that slides to and fro and turns: tensors by Gauss-Legendre rule."""
    law, points = WearLaw(cross_shear_factor=2e-15), PLATE.tibia.centroids

    def motion(t):
        heading, turning, slide = 0.9 * np.cos(t), -0.9 * np.sin(t), 12e-3 * np.cos(t)
        return slide * np.cos(heading), slide * np.sin(heading), turning

    forward, right, turning = motion(CYCLE)
    found = slid(np.column_stack([forward, right]), 120.0, law, -turning)
    nodes, weights = np.polynomial.legendre.leggauss(400)
    forward, right, turning = (each[:, None] for each in motion(np.pi * (nodes + 1.0)))
    s = np.stack([forward + turning * points[:, 2], right - turning * points[:, 0]], axis=-1)
    size = np.linalg.norm(s, axis=-1)
    tensor = np.einsum("t,tf,tfi,tfj->fij", 0.5 * weights, 1.0 / size, s, s) * 120.0 / AREA
    across, along = np.linalg.eigvalsh(tensor).T
    expected = law.factor * (across + along) + law.cross_shear_factor * across
    np.testing.assert_allclose(found.depth, expected, rtol=1e-3)


def test_finer_mesh_has_the_same_wear_and_loads_alone_the_same_cross_shear():
    law, volumes = WearLaw(cross_shear_factor=2e-15), []
    for edge in (2.5e-3, 1.25e-3):
        implant, model = round_implant(edge)
        result = cycles.carried_out(model, *cycles.swinging_poses(implant, 41))
        springs = bed_wear(model, result, law)
        volumes.append(springs.volume)
        loads = surrogate_wear(result, law, **measured_patch(model, result)._asdict())
        np.testing.assert_allclose(loads.volume, springs.volume, rtol=5e-3)
        both = [each.sliding.cross_shear[springs.depth > 0.0] for each in (loads, springs)]
        assert both[1].max() > 0.015
        assert np.sqrt(np.mean((both[0] - both[1]) ** 2)) < 1e-3
    np.testing.assert_allclose(volumes[0], volumes[1], rtol=1e-2)


def test_law_of_points_needs_the_mesh():
    result = cycles.result_of(np.zeros(6), np.zeros(6), cycles.pressed(), time=[0.0, 1.0])
    with pytest.raises(ValueError, match="tibia: expected the mesh of the insert"):
        surrogate_wear(result, WearLaw(coefficient=1e-9))


@pytest.mark.parametrize("blocks", [1, 3])
def test_creep_of_a_flat_punch(blocks):
    """h p (a + b log10 t) at constant pressure, however many blocks; the surface sinks by both."""
    law, creep = WearLaw(1e-16), CreepLaw(3e-11, 8e-12)
    rates = np.tile([0.0, 0.0, 0.0, 0.05, 0.0, 0.0], (3, 1))
    once = cycles.carried_out(PLATE, np.tile(Pose(superior=-1e-5).array, (3, 1)), rates)
    found = extrapolate_wear(PLATE, lambda _: once, law, 1e5, blocks, creep)
    pressure = once.compartment_loads[0, 0, 8]
    expected = H * pressure * (3e-11 + 8e-12 * np.log10(1e5 / 60.0))
    np.testing.assert_allclose(found.creep_depth[-1], expected, rtol=1e-9)
    worn = law.factor * pressure * 0.05 * 1e5
    np.testing.assert_allclose(found.worn_depth[-1], worn, rtol=1e-9)
    lowered = found.model.tibia.vertices[:, 1]
    np.testing.assert_allclose(lowered, -(expected + worn), rtol=1e-9)
    assert [creep.strain(t) for t in (0.0, 1e-3, 60.0)] == [0.0, 0.0, 3e-11]
