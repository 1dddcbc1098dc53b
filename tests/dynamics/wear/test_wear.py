"""Wear against closed forms and identities."""

from dataclasses import replace

import cycles
import numpy as np
import pytest
import shapes
from scipy.special import gamma

from dynamics.wear.cycle_wear import WearLaw, load_carried, load_ratio, surrogate_wear
from dynamics.wear.footprint import (
    femoral_twists,
    field_arms,
    field_axes,
    field_speeds,
    load_pressures,
)
from foundation.base.pose import Pose

LAW = WearLaw()
AT_REST = np.zeros(6)


def moving(**rates):
    names = ("flexion", "adduction", "rotation", "anterior", "superior", "lateral")
    return np.array([rates.get(name, 0.0) for name in names])


def test_flat_punch_wears_force_times_distance():
    """V = k F d, also where the normal leans, for a punch that slides along its plane."""
    speed, time = 0.03, np.linspace(2.0, 3.5, 4)
    loads = cycles.pressed(1200.0, normal=(0.2, 1.0, 0.0))
    along = np.array([1.0, -0.2, 0.0]) / np.linalg.norm([1.0, -0.2, 0.0])
    rates = speed * np.concatenate([np.zeros(3), along])
    wear = surrogate_wear(cycles.result_of(AT_REST, rates, loads, time=time), LAW)
    expected = LAW.factor * 1200.0 * speed * 1.5
    np.testing.assert_allclose(wear.volume, [expected, 0.0], rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0])
def test_spin_of_a_paraboloid_wears_by_its_mean_radius(exponent):
    """Mean of r under (1 - r²)^n is (n + 1) G(3/2) G(n + 1) / G(n + 5/2)."""
    area, rate = 2e-4, 0.7
    loads = cycles.pressed(900.0, area, exponent + 1.0)
    result = cycles.result_of(AT_REST, moving(rotation=rate), loads, time=[0.0, 1.0])
    n = exponent
    mean_radius = np.sqrt(area / np.pi) * (n + 1) * gamma(1.5) * gamma(n + 1) / gamma(n + 2.5)
    expected = LAW.factor * 900.0 * rate * mean_radius
    wear = surrogate_wear(result, LAW)
    assert wear.volume[0] == pytest.approx(expected, rel=5e-3)


@pytest.mark.parametrize("aspect", [0.3, 1.0, 2.0])
def test_field_has_the_moments_of_its_ellipse(aspect):
    """Variances a²/(2 (n + 2)) along the axes, the centre kept, no load out of the ellipse."""
    area, n = 3e-4, 1.3
    loads = cycles.pressed(500.0, area, n + 1.0, centre=(0.01, 0.002, -0.02))
    (arms,), shares = field_arms(loads[None], aspect)
    axes = np.sqrt(area / np.pi * np.array([aspect, 1.0 / aspect]))
    assert shares.sum() == pytest.approx(1.0, rel=1e-14)
    np.testing.assert_allclose(arms @ shares, 0.0, rtol=0.0, atol=1e-15)
    expected = np.diag(axes**2 / (2.0 * (n + 2.0)))
    np.testing.assert_allclose((arms * shares) @ arms.T, expected, rtol=1e-12, atol=1e-16)
    assert ((arms / axes[:, None]) ** 2).sum(axis=0).max() < 1.0


def test_speeds_of_the_field_are_those_at_its_points():
    result = random_result()
    loads, twists = result.compartment_loads[1].copy(), femoral_twists(result.poses, result.rates)
    loads[:, 0] += 0.2 * loads[:, 1]
    arms, _ = field_arms(loads, 0.6)
    along, across, normal = field_axes(loads)
    points = loads[:, None, 9:] + sum(
        arm[:, :, None] * axis[:, None]
        for arm, axis in zip(arms.transpose(1, 0, 2), (along, across), strict=True)
    )
    velocity = twists[:, None, :3] + np.cross(twists[:, None, 3:], points)
    expected = np.linalg.norm(np.cross(velocity, normal[:, None]), axis=-1)
    np.testing.assert_allclose(field_speeds(loads, twists, arms), expected, rtol=1e-12, atol=0.0)


def test_field_presses_the_triangles_inside_its_leaning_cylinder():
    rng = np.random.default_rng(3)
    plate = shapes.plate(40e-3, 40)
    hilly = replace(plate, vertices=plate.vertices + rng.uniform(0, 8e-3, (len(plate.vertices), 1)))
    normals = ((0.5, 1.0, -0.4), (-0.6, 1.0, 0.1), (0.1, -1.0, 0.7))
    loads = np.array([cycles.pressed(700.0, 8e-5, 2.0, (0, 4e-3, 5e-3), n) for n in normals])
    for row, (at, pressure) in zip(
        loads, load_pressures(loads, np.full(3, 700.0), 0.5, hilly), strict=True
    ):
        arms, axes = hilly.centroids - row[9:], field_axes(row[None])[:2]
        semi = np.sqrt(8e-5 / np.pi * np.array([0.5, 2.0]))
        squared = sum((arms @ axis[0] / size) ** 2 for axis, size in zip(axes, semi, strict=True))
        np.testing.assert_array_equal(at, np.flatnonzero(squared < 1.0))
        assert pressure @ hilly.areas[at] == pytest.approx(700.0, rel=1e-12)


def test_rolling_does_not_wear_at_the_contact():
    """A wheel of radius R that rolls: its centre moves by R times its turn."""
    radius, rate = 0.025, 1.5
    rates = moving(flexion=rate, anterior=-radius * rate)
    pose = Pose(superior=radius).array
    result = cycles.result_of(pose, rates, cycles.pressed(), time=[0.0, 1.0])
    sliding = cycles.result_of(pose, moving(flexion=rate), cycles.pressed(), time=[0.0, 1.0])
    rolled, slid = (surrogate_wear(r, LAW).volume[0] for r in (result, sliding))
    assert slid == pytest.approx(LAW.factor * 1000.0 * radius * rate, rel=1e-12)
    assert rolled == pytest.approx(0.0, abs=1e-14 * slid)


def random_result(instants=9):
    rng = np.random.default_rng(3)
    sides = []
    for z in (-0.022, 0.022):
        loads = [
            cycles.pressed(f, 1e-4 * a, 2.0, (x, 0.0, z))
            for f, a, x in rng.uniform([500, 1, -0.01], [1500, 3, 0.01], (instants, 3))
        ]
        sides.append(np.array(loads))
    poses = rng.normal(scale=0.01, size=(instants, 6))
    return cycles.result_of(poses, rng.normal(scale=0.3, size=(instants, 6)), *sides)


def test_load_carried_is_the_force_times_the_ratio_of_the_integrals_over_time():
    """Errors of area and pressure that cancel over time leave nothing; the cosine is put back."""
    loads = np.array([cycles.pressed(f) for f in (100.0, 900.0, 900.0, 100.0)])
    loads[:, 8] *= np.array([1.3, 1.1, 0.9, 0.7]) / 0.98
    result = cycles.result_of(AT_REST, AT_REST, loads)
    np.testing.assert_allclose(load_ratio(result), [1.0 / 0.98, 1.0], rtol=1e-12, atol=0.0)
    expected = np.array([100.0, 900.0, 900.0, 100.0]) / 0.98
    carried = load_carried(result)
    np.testing.assert_allclose(carried[0], expected, rtol=1e-12, atol=0.0)
    np.testing.assert_array_equal(carried[1], 0.0)


def test_instants_out_of_contact_add_nothing():
    loads = np.array([cycles.NO_CONTACT, cycles.pressed(), cycles.NO_CONTACT])
    rates = moving(anterior=0.1)
    wear = surrogate_wear(cycles.result_of(AT_REST, rates, loads), LAW)
    assert wear.volume[0] == pytest.approx(LAW.factor * 1000.0 * 0.1 * 0.5, rel=1e-12)
    never = surrogate_wear(
        cycles.result_of(AT_REST, rates, cycles.NO_CONTACT, time=[0.0, 1.0]), LAW
    )
    np.testing.assert_array_equal(never.volume, [0.0, 0.0])


def test_small_area_and_odd_peak_of_a_surrogate_are_borne():
    """At the edge of contact a surrogate's area may be 0 and its peak below its mean."""
    loads = cycles.pressed()
    edge = loads.copy()
    edge[:9] *= 1e-3
    edge[6], edge[7] = 0.0, 0.5 * edge[8]
    result = cycles.result_of(AT_REST, moving(anterior=0.1), np.array([loads, edge, loads]))
    expected = LAW.factor * 0.1 * 1000.0 * 0.5
    assert surrogate_wear(result, LAW).volume[0] == pytest.approx(expected, rel=1e-12)


def test_force_without_a_centre_is_named():
    loads = np.tile(cycles.pressed(), (3, 1))
    loads[2, 9:] = np.nan
    result = cycles.result_of(AT_REST, AT_REST, cycles.pressed(), loads)
    with pytest.raises(ValueError, match="lateral compartment at instant 2"):
        surrogate_wear(result, LAW)
