"""Loads of the knee: equilibrium below it, scaling with the body, and the cycle that they make."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from walks import HEIGHT, MASS, walk_tables

from dynamics.walking import (
    KneeLoads,
    gait_trial,
    inverse_dynamics,
    knee_loads,
    knee_muscle_loads,
    lateral_offset,
    leg_segments,
    load_leg_muscles,
)
from dynamics.walking.muscle_loads import MuscleLoads

ANGLES = ("hip_flexion", "knee_flexion", "ankle_dorsiflexion")


def parts(mass=MASS, side="right", **options):
    # The instant at which a force crosses a threshold depends on the mass: the stride is stated.
    trial = gait_trial(*walk_tables(mass=mass, side=side), side, stride=(0.11, 1.21))
    leg = inverse_dynamics(trial, leg_segments(mass, HEIGHT))
    angles = map(trial.coordinate, ANGLES)
    return trial, leg, knee_muscle_loads(load_leg_muscles(HEIGHT), *angles, leg.moments, **options)


@pytest.fixture(scope="module")
def walk():
    return parts()


@pytest.fixture(scope="module")
def loads(walk):
    return knee_loads(*walk)


def muscles_of(count, pull, moment):
    """Muscles that act on the leg below the knee with one force and one moment."""
    nothing = np.zeros((count, 0))
    on_leg = [np.tile(value, (count, 1)) for value in (pull, moment)]
    return MuscleLoads((), nothing, nothing, np.zeros((count, 3)), *on_leg, np.zeros(count))


def test_without_muscles_the_joint_bears_what_inverse_dynamics_gives(walk):
    trial, leg, _ = walk
    found = knee_loads(trial, leg, muscles_of(len(trial.time), (0, 0, 0), (0, 0, 0)))
    bodies = np.column_stack([found.ap_force, found.axial_force])
    assert_allclose(bodies, -leg.knee_force[:, :2], rtol=0, atol=1e-12)
    assert_allclose(found.internal_torque, -leg.knee_moment[:, 1], rtol=0, atol=1e-12)
    assert_allclose(found.adduction_moment, leg.external_adduction_moment, rtol=0, atol=1e-12)
    # A standing leg is pressed together by what is above it, not pulled apart.
    stance = (found.percent > 10.0) & (found.percent < 50.0)
    assert found.axial_force[stance].min() > 0.4 * MASS * 9.81


def test_muscles_add_their_pull_to_what_the_joint_bears(walk):
    trial, leg, _ = walk
    count = len(trial.time)
    none = knee_loads(trial, leg, muscles_of(count, (0, 0, 0), (0, 0, 0)))
    # A muscle behind the knee pulls the leg up and backwards, and turns it.
    found = knee_loads(trial, leg, muscles_of(count, (-30.0, 500.0, 7.0), (1.0, -2.0, -12.0)))
    assert_allclose(found.axial_force - none.axial_force, 500.0, rtol=1e-12)
    assert_allclose(found.ap_force - none.ap_force, -30.0, rtol=1e-11)
    assert_allclose(found.internal_torque - none.internal_torque, -2.0, rtol=1e-11)
    assert_allclose(found.adduction_moment - none.adduction_moment, 1.0, rtol=1e-10)


def test_forces_on_the_leg_below_the_knee_balance(walk, loads):
    """Newton's law of shank and foot together: contact, muscles, ground, weight, acceleration."""
    trial, leg, muscles = walk
    contact = np.column_stack([-loads.ap_force, -loads.axial_force])
    total = contact + muscles.knee_force[:, :2]
    in_lab = np.einsum("nij,nj->ni", leg.shank_rotation[:, :2, :2], total)
    segments = leg_segments(MASS, HEIGHT)
    weight = (segments.shank.mass + segments.foot.mass) * 9.80665
    still = in_lab + trial.force[:, :2] - (0.0, weight)
    # What is left is mass times acceleration of 6 % of the body's mass; muscles pull with 2 kN.
    assert muscles.knee_force[:, 1].max() > 1500.0
    assert np.abs(still).max() < 0.06 * MASS * 40.0


def test_a_heavier_body_of_the_same_shape_bears_more_in_proportion(loads):
    heavier = knee_loads(*parts(mass=2.0 * MASS))
    for name in ("axial_force", "ap_force", "internal_torque", "adduction_moment"):
        one = getattr(loads, name)
        atol = 1e-9 * np.abs(one).max()
        assert_allclose(getattr(heavier, name), 2.0 * one, rtol=1e-9, atol=2 * atol, err_msg=name)


def test_a_left_leg_bears_what_its_mirrored_right_one_does(loads):
    left = knee_loads(*parts(side="left"))
    for name in ("flexion", "axial_force", "ap_force", "internal_torque", "adduction_moment"):
        one = getattr(loads, name)
        assert_allclose(getattr(left, name), one, rtol=0, atol=1e-9 * np.abs(one).max())


def test_a_straight_leg_has_the_knee_on_the_line_from_hip_to_foot(walk):
    """The moments are those of a plane of the leg that is moved to the knee."""
    trial, _leg, muscles = walk
    wide = replace(trial, centre_of_pressure=trial.centre_of_pressure + np.array([0.0, 0.0, 0.06]))
    loads = inverse_dynamics(wide, leg_segments(MASS, HEIGHT))
    beside = lateral_offset(loads, wide)
    # The ankle is 65 mm lateral of the hip, and thigh and shank are about as long.
    assert_allclose(beside, 0.5 * 0.065, atol=1e-3)
    coordinates = wide.coordinates.copy()
    coordinates[:, 2] += beside
    moved = replace(wide, coordinates=coordinates)
    at_knee = inverse_dynamics(moved, leg_segments(MASS, HEIGHT))
    found = knee_loads(wide, loads, muscles, straight_leg=True)
    expected = knee_loads(moved, at_knee, muscles)
    for name in ("adduction_moment", "internal_torque", "external_adduction_moment"):
        assert_allclose(getattr(found, name), getattr(expected, name), rtol=0, atol=1e-9)
    plane = knee_loads(wide, loads, muscles)
    assert np.abs(found.adduction_moment - plane.adduction_moment).max() > 10.0


@pytest.mark.parametrize("kind", ["external", "remaining"])
def test_contact_carries_the_adduction_moment_up_to_an_offset(loads, kind):
    assert loads.gait_cycle().adduction_torque is None
    moment = {"external": loads.external_adduction_moment, "remaining": loads.adduction_moment}[
        kind
    ]
    cycle = loads.gait_cycle(least_axial_force=60.0, largest_offset=0.005, adduction=kind)
    offset = cycle.adduction_torque / cycle.axial_force
    assert np.abs(offset).max() == pytest.approx(0.005, rel=1e-6)
    inside = (np.abs(offset) < 0.0049) & (loads.percent < 84.0)
    inside[0] = False
    assert inside.sum() > 20
    assert_allclose(cycle.adduction_torque[inside], moment[inside], rtol=1e-12)
    with pytest.raises(ValueError, match="largest_offset: expected > 0 m"):
        loads.gait_cycle(largest_offset=0.0)
    with pytest.raises(ValueError, match=r"adduction: expected one of .*external.*found 'none'"):
        loads.gait_cycle(adduction="none")


def test_peaks_are_those_of_early_and_late_stance(loads):
    early, late = loads.peaks(MASS * 9.81)
    weights = loads.axial_force / (MASS * 9.81)
    assert early == pytest.approx(weights[loads.percent < 30.0].max(), rel=1e-12)
    assert late == pytest.approx(weights.max(), rel=1e-12)
    with pytest.raises(ValueError, match="body_weight: expected > 0 N"):
        loads.peaks(0.0)


def test_the_cycle_closes_and_keeps_the_loads(loads):
    cycle = loads.gait_cycle(least_axial_force=60.0)
    assert cycle.period == pytest.approx(loads.period)
    assert cycle.axial_force.min() == pytest.approx(60.0)
    kept = (loads.percent < 84.0) & (loads.axial_force > 60.0)
    kept[0] = False  # the two ends are averaged
    assert kept.sum() > 100
    assert_allclose(cycle.axial_force[kept], loads.axial_force[kept], rtol=1e-12)
    assert_allclose(cycle.ap_force[kept], loads.ap_force[kept], rtol=1e-12)
    for signal in (cycle.flexion, cycle.axial_force, cycle.ap_force, cycle.internal_torque):
        assert signal[0] == signal[-1]


def test_a_joint_that_is_pulled_apart_is_pressed_by_the_least_force(loads):
    loads = replace(loads, axial_force=loads.axial_force - 200.0)
    for least in (0.0, 60.0):
        found = loads.gait_cycle(least_axial_force=least)
        assert found.axial_force.min() == pytest.approx(least, abs=1e-12)
        assert found.axial_force.max() == pytest.approx(loads.axial_force.max(), rel=1e-12)
    with pytest.raises(ValueError, match="least_axial_force: expected >= 0 N"):
        loads.gait_cycle(least_axial_force=-1.0)


def test_instants_must_be_the_same(walk):
    trial, leg, _ = walk
    with pytest.raises(ValueError, match=r"muscles: expected the instants.*\(201, 201, 7\)"):
        knee_loads(trial, leg, muscles_of(7, (0, 0, 0), (0, 0, 0)))


def test_a_walk_that_sags_has_no_peaks_of_two_kinds():
    percent = np.linspace(0.0, 100.0, 101)
    flat = KneeLoads(percent, 1.0, *(np.full(101, 300.0) for _ in range(6)))
    assert flat.peaks(600.0) == (0.5, 0.5)
