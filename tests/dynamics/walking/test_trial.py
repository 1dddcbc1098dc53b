"""Strides cut out of motion and ground force: detection, filters, mirror, units."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dynamics.walking import (
    MotionTable,
    find_stride,
    foot_events,
    gait_trial,
    inverse_dynamics,
    kinematic_strikes,
    leg_segments,
    read_motion_table,
)

ANGLES = ("pelvis_tilt", "hip_flexion", "knee_angle", "ankle_angle")


def steps(time, contacts, height=700.0):
    """Return half-sine pushes between pairs of instants."""
    force = np.zeros_like(time)
    for start, end in contacts:
        phase = (time - start) / (end - start)
        force += np.where((phase > 0.0) & (phase < 1.0), height * np.sin(np.pi * phase), 0.0)
    return force


def tables(duration=2.5, rate=100.0, force_rate=1000.0):
    """Return a smooth motion with both legs alike, and forces of a right and a left foot.

    The two feet push at the same instants, mirrored at the sagittal plane.
    """
    time = np.arange(0.0, duration + 0.5 / rate, 1.0 / rate)
    wave = np.sin(2.0 * np.pi * time)
    motion = {"pelvis_tilt": 0.1 * wave, "pelvis_tx": 1.2 * time, "pelvis_ty": 1.0 + 0.02 * wave}
    motion["pelvis_tz"] = 0.03 * wave
    for side in "rl":
        motion[f"hip_flexion_{side}"] = 0.4 * wave
        motion[f"knee_angle_{side}"] = -0.5 + 0.4 * np.cos(2.0 * np.pi * time)
        motion[f"ankle_angle_{side}"] = 0.2 * wave
    fine = np.arange(0.0, duration + 0.5 / force_rate, 1.0 / force_rate)
    push = steps(fine, [(0.3, 0.9), (1.4, 2.0)])
    ground = {}
    for side, prefix in ((1.0, ""), (-1.0, "1_")):
        vectors = {
            "ground_force_v": (0.1 * push, push, -0.05 * side * push),
            "ground_force_p": (1.2 * fine + 0.1, 0.0 * fine, side * (0.1 + 0.01 * fine)),
            "ground_torque_": (0.0 * fine, 0.01 * side * push, 0.0 * fine),
        }
        for name, parts in vectors.items():
            ground |= dict(zip((prefix + name + axis for axis in "xyz"), parts, strict=True))
    return (
        MotionTable(tuple(motion), time, np.column_stack(list(motion.values())), False),
        MotionTable(tuple(ground), fine, np.column_stack(list(ground.values())), False),
    )


def test_events_are_interpolated_and_noise_is_not_a_step():
    time = np.arange(0.0, 3.0, 0.01)
    force = np.where((time > 0.5) & (time < 1.1), 600.0, 0.0)
    strikes, offs = foot_events(time, force, threshold=60.0)
    # From 0 at 0.50 s to 600 N at 0.51 s, and back between 1.09 and 1.10 s.
    assert_allclose([*strikes, *offs], [0.501, 1.099], rtol=0.0, atol=1e-9)
    noisy = force.copy()
    noisy[[80, 200, 203]] = 0.0, 300.0, 300.0
    noisy[52:54] = 0.0
    assert_allclose(np.ravel(foot_events(time, noisy, threshold=60.0)), [0.501, 1.099], atol=1e-9,
                    rtol=0.0)  # fmt: skip


def test_records_that_begin_in_contact_have_no_strike_there():
    time = np.arange(0.0, 2.5, 0.001)
    force = steps(time, [(-0.3, 0.2), (0.6, 1.4), (1.85, 2.6)])
    strikes, offs = foot_events(time, force)
    assert (len(strikes), len(offs)) == (2, 2)
    assert_allclose(find_stride(time, force), strikes, rtol=0.0, atol=0.0)
    empty = foot_events(time, np.zeros_like(time))
    assert (empty[0].size, empty[1].size) == (0, 0)


def test_one_strike_and_two_toe_offs_give_a_stride():
    time = np.arange(0.0, 2.5, 0.001)
    force = steps(time, [(-0.5, 0.2), (0.6, 1.4)])
    strikes, offs = foot_events(time, force)
    assert_allclose(find_stride(time, force), [strikes[0], strikes[0] + np.ptp(offs)], rtol=1e-12)
    late = steps(time, [(0.1, 0.7), (1.4, 2.0)])
    late[time < 0.3] = 400.0
    strikes, offs = foot_events(time, late)
    assert_allclose(find_stride(time, late), [strikes[0] - np.ptp(offs), strikes[0]], rtol=1e-12)
    with pytest.raises(ValueError, match=r"expected two heel strikes .* found 1 strikes and 1 toe"):
        find_stride(time, steps(time, [(0.6, 1.4)]))


def test_strikes_of_the_motion_are_where_the_foot_is_farthest_ahead():
    time = np.arange(0.0, 3.0, 0.01)
    swing = 0.35 * np.cos(2.0 * np.pi * (time - 0.4) / 1.1)
    motion = MotionTable(("none",), time, np.zeros((len(time), 1)), False)
    found = kinematic_strikes(motion, 1.3 * time + swing, 1.3 * time)
    assert_allclose(found, [0.4, 1.5, 2.6], atol=5e-3)
    assert kinematic_strikes(motion, 0.05 * swing, 0.0 * time).size == 0


def test_motion_is_reproduced_with_its_derivatives():
    trial = gait_trial(*tables(), motion_cutoff=None, force_cutoff=None)
    t = trial.time
    assert len(t) == 201
    assert_allclose(trial.percent[[0, 100, 200]], [0.0, 50.0, 100.0], rtol=0.0, atol=1e-9)
    w = 2.0 * np.pi
    knee = 0.5 - 0.4 * np.cos(w * t)
    assert_allclose(trial.coordinate("knee_flexion"), knee, rtol=0.0, atol=1e-8)
    assert_allclose(trial.rates[:, 5], 0.4 * w * np.sin(w * t), rtol=0.0, atol=1e-5)
    assert_allclose(trial.accelerations[:, 5], 0.4 * w**2 * np.cos(w * t), rtol=0.0, atol=2e-3)
    assert_allclose(trial.coordinate("pelvis_x"), 1.2 * t, rtol=0.0, atol=1e-9)
    assert_array_equal(trial.coordinate("pelvis_z"), np.zeros(201))
    push = steps(t, [(0.3, 0.9), (1.4, 2.0)])
    # At the kinks of strike and toe-off the spline overshoots slightly.
    assert_allclose(trial.force[:, 1], push, rtol=0.0, atol=0.5)
    assert_allclose(trial.torque[:, 1], 0.01 * push, rtol=0.0, atol=0.01)
    assert_allclose(trial.centre_of_pressure[:, 0], 1.2 * t + 0.1, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("cutoff", [3.0, 6.0, 12.0])
def test_filter_halves_the_power_at_its_cutoff_without_lag(cutoff):
    motion, ground = tables(duration=6.0)
    time = motion.time
    values = motion.values.copy()
    at = motion.names.index("hip_flexion_r")
    values[:, at] = np.sin(2.0 * np.pi * cutoff * time)
    signal = MotionTable(motion.names, time, values, False)
    trial = gait_trial(signal, ground, stride=(2.0, 4.0), motion_cutoff=cutoff)
    expected = np.sqrt(0.5) * np.sin(2.0 * np.pi * cutoff * trial.time)
    # Winter's factor is exact for the analogue filter; the digital one bends frequencies slightly.
    assert_allclose(trial.coordinate("hip_flexion"), expected, rtol=0.0, atol=0.025)


def test_filtered_wrench_does_not_depend_on_the_point_that_is_stated():
    motion, ground = tables()
    names, values = ground.names, ground.values.copy()
    force, point, torque = (
        [names.index(p + a) for a in "xyz"]
        for p in ("ground_force_v", "ground_force_p", "ground_torque_")
    )
    # The same wrench, stated at another, jumping point.
    jump = np.sign(np.sin(40.0 * ground.time))[:, None] * (0.2, 0.1, 0.0)
    values[:, point] += jump
    values[:, torque] -= np.cross(jump, values[:, force])
    one = gait_trial(motion, ground)
    other = gait_trial(motion, MotionTable(names, ground.time, values, False))
    moments = [t.torque + np.cross(t.centre_of_pressure, t.force) for t in (one, other)]
    assert np.abs(one.torque - other.torque).max() > 10.0
    assert_allclose(moments[1], moments[0], rtol=0.0, atol=1e-8)
    leg = leg_segments(70.0, 1.75)
    loads = [inverse_dynamics(t, leg).hip.moment for t in (one, other)]
    assert_allclose(loads[1], loads[0], rtol=0.0, atol=1e-8)


def test_left_leg_is_the_mirrored_right_one():
    motion, ground = tables()
    right = gait_trial(motion, ground, "right", columns={"pelvis_z": "pelvis_tz"})
    mirrored = MotionTable(
        motion.names,
        motion.time,
        motion.values * [-1.0 if name == "pelvis_tz" else 1.0 for name in motion.names],
        False,
    )
    left = gait_trial(mirrored, ground, "left", columns={"pelvis_z": "pelvis_tz"})
    assert left.side == "left"
    for name in ("time", "coordinates", "accelerations", "force", "centre_of_pressure", "torque"):
        assert_allclose(getattr(left, name), getattr(right, name), rtol=0.0, atol=1e-9)
    assert np.abs(right.coordinate("pelvis_z")).max() > 0.02
    assert right.force[:, 2].min() < -30.0
    assert right.torque[:, 1].max() > 5.0


def test_other_names_signs_and_units():
    motion, ground = tables()
    renamed = {name: name.replace("knee_angle_r", "right knee_deg") for name in motion.names}
    values = motion.values.copy()
    at = motion.names.index("knee_angle_r")
    values[:, at] = -np.degrees(values[:, at])
    other = MotionTable(tuple(renamed.values()), motion.time, values, False)
    swapped = [n.replace("ground_force_v", "GRF ") for n in ground.names]
    forces = MotionTable(tuple(reversed(swapped)), ground.time, ground.values[:, ::-1], False)
    columns = {"knee_flexion": "right knee_deg", "force": "GRF "}
    trial = gait_trial(other, forces, columns=columns)
    expected = gait_trial(motion, ground)
    assert_allclose(trial.coordinates, expected.coordinates, rtol=0.0, atol=1e-12)
    assert_allclose(trial.force, expected.force, rtol=0.0, atol=1e-9)


def test_pelvis_z_is_mirrored_with_a_left_leg():
    motion, ground = tables()
    for side, sign in (("right", 1.0), ("left", -1.0)):
        trial = gait_trial(motion, ground, side, pelvis_z=0.02)
        assert_allclose(trial.coordinate("pelvis_z"), np.full(201, sign * 0.02), rtol=1e-12)


def test_subject01_strides(knee_data):
    folder = knee_data / "opensim_core_gait"
    motion = read_motion_table(folder / "subject01_walk_IK.mot")
    ground = read_motion_table(folder / "subject01_walk_grf.mot")
    right = gait_trial(motion, ground, "right", pelvis_z=0.02)
    assert_allclose(right.time[[0, -1]], [0.618, 1.852], rtol=0.0, atol=2e-3)
    left = gait_trial(motion, ground, "left", pelvis_z=0.02)
    assert_allclose(left.time[[0, -1]], [1.245, 2.459], rtol=0.0, atol=2e-3)
    leg = leg_segments(72.6, 1.80)
    for trial in (right, left):
        assert_allclose(trial.coordinate("knee_flexion").max(), np.radians(69.0), rtol=0.02)
        flexion = np.degrees(trial.coordinates[[0, -1], 5])
        assert_allclose(flexion[0], flexion[1], rtol=0.0, atol=2.5)
        # The foot stands on the ground, which pushes between heel and toes.
        loads = inverse_dynamics(trial, leg)
        stance = trial.force[:, 1] > 50.0
        ahead = (trial.centre_of_pressure - loads.heel)[stance, 0]
        behind = (loads.toe - trial.centre_of_pressure)[stance, 0]
        assert ahead.min() > -0.05
        assert behind.min() > -0.08
        flat = (trial.percent > 20.0) & (trial.percent < 35.0)
        for point in (loads.heel, loads.toe):
            assert point[flat, 1].min() > 0.02
            assert point[flat, 1].max() < 0.10
        above = (loads.ankle.centre - trial.centre_of_pressure)[stance]
        assert above[:, 1].min() > 0.08
        assert np.abs(above[:, 2]).max() < 0.05
        # Swing: the force has gone, and nothing is undefined.
        assert_allclose(trial.force[trial.percent > 75.0][:150], 0.0, rtol=0.0, atol=25.0)
