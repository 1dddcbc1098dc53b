"""Joint loads: statics by hand, pendula, Lagrange, momentum and power, frames, measured walking."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from dynamics.walking import (
    GaitTrial,
    MotionTable,
    gait_trial,
    inverse_dynamics,
    leg_segments,
    read_motion_table,
)

G = 9.80665
LEG = leg_segments(72.0, 1.78)
#: Rates of the angles of thigh, shank and foot per rate of the seven coordinates.
SPINS = np.array([[0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, -1, 0], [0, 0, 0, 1, 1, -1, 1]])
INSTANTS = np.linspace(0.0, 1.1, 12)
FORCE, POINT, TORQUE = np.array([90.0, 640.0, -45.0]), (0.15, -0.02, 0.11), (2.0, 4.0, -3.0)


def places(q, *, foot_point=(0.0, 0.0)):
    """Return hip, knee, ankle, centres of mass and a point of the foot, (7, 3), by hand."""

    def beyond(start, angle, vector):
        x, y = vector
        c, s = np.cos(angle), np.sin(angle)
        return [start[0] + c * x - s * y, start[1] + s * x + c * y, start[2]]

    thigh, shank, foot = q[3] + q[4], q[3] + q[4] - q[5], q[3] + q[4] - q[5] + q[6]
    hip = beyond(q[:3], q[3], LEG.hip[:2])
    hip[2] = hip[2] + LEG.hip[2]
    knee = beyond(hip, thigh, LEG.thigh.end)
    ankle = beyond(knee, shank, LEG.shank.end)
    centres = (
        beyond(hip, thigh, LEG.thigh.centre_of_mass),
        beyond(knee, shank, LEG.shank.centre_of_mass),
        beyond(ankle, foot, LEG.foot.centre_of_mass),
    )
    return np.array([hip, knee, ankle, *centres, beyond(ankle, foot, foot_point)])


def jacobian(q, **options):
    """Return d(places)/dq, (7, 3, 7), by complex steps."""
    steps = np.asarray(q) + 1e-30j * np.eye(7)
    return np.stack([places(row, **options).imag / 1e-30 for row in steps], axis=-1)


def mass_matrix(q):
    total = np.zeros((7, 7))
    parts = (LEG.thigh, LEG.shank, LEG.foot)
    for part, j, spin in zip(parts, jacobian(q)[3:6], SPINS, strict=True):
        total += part.mass * j.T @ j + part.inertia * np.outer(spin, spin)
    return total


def weights(q):
    masses = (LEG.thigh.mass, LEG.shank.mass, LEG.foot.mass)
    return sum(G * m * j[1] for m, j in zip(masses, jacobian(q)[3:6], strict=True))


def energy(q, qd):
    masses = (LEG.thigh.mass, LEG.shank.mass, LEG.foot.mass)
    potential = sum(G * m * p[1] for m, p in zip(masses, places(q)[3:6], strict=True))
    return 0.5 * qd @ mass_matrix(q) @ qd + potential


def lagrange(q, qd, qdd):
    """Return the generalised forces that the motion needs, (7,)."""
    slopes = np.array([(mass_matrix(q + e) - mass_matrix(q - e)) / 2e-5 for e in 1e-5 * np.eye(7)])
    changing = np.einsum("kij,k,j->i", slopes, qd, qd)
    turning = 0.5 * np.einsum("kij,i,j->k", slopes, qd, qd)
    return mass_matrix(q) @ qdd + changing - turning + weights(q)


def motion(t):
    """Return coordinates, rates and accelerations (n, 7) of a lively motion."""
    t = np.atleast_1d(t)[:, None]
    mean = np.array([0.3, 0.95, 0.02, 0.1, 0.1, 0.6, 0.05])
    size = np.array([0.2, 0.05, 0.04, 0.12, 0.5, 0.5, 0.3])
    speed = np.array([3.0, 9.0, 4.0, 5.0, 6.0, 8.0, 7.0])
    phase = speed * t + np.arange(7.0)
    return (
        mean + size * np.sin(phase),
        size * speed * np.cos(phase),
        -size * speed**2 * np.sin(phase),
    )


def lively(t=INSTANTS, shift=(0.0, 0.0, 0.0), drift=0.0):
    """Return a trial of that motion under a constant wrench, seen from a moving lab."""
    q, qd, qdd = motion(t)
    moved = np.asarray(shift) + drift * np.outer(t, (1.0, 0.5, 0.2))
    q[:, :3] += moved
    qd[:, :3] += drift * np.array((1.0, 0.5, 0.2))
    ones = np.ones((len(t), 1))
    return GaitTrial(t, q, qd, qdd, ones * FORCE, ones * POINT + moved, ones * TORQUE)


def standing(point, force, torque=(0.0, 0.0, 0.0), coordinates=(0.0,) * 7):
    rows = [np.tile(np.asarray(v, float), (2, 1)) for v in (coordinates, force, point, torque)]
    still = np.zeros((2, 7))
    return GaitTrial([0.0, 1.0], rows[0], still, still, *rows[1:])


def test_standing_upright_by_hand():
    ankle = places(np.zeros(7))[2]
    point = ankle + np.array([0.06, -0.08, -0.03])
    loads = inverse_dynamics(standing(point, (0.0, 700.0, 0.0), (0.0, 5.0, 0.0)), LEG)
    foot, shank, thigh = (G * s.mass for s in (LEG.foot, LEG.shank, LEG.thigh))
    lever = LEG.foot.centre_of_mass[0]
    plantarflexion = 700.0 * 0.06 - foot * lever
    # Hip, knee and ankle are above each other, hence the one moment: to hold a body that the push
    # ahead of them tips backwards, the ankle plantarflexes, the knee flexes and the hip extends.
    expected = [plantarflexion, -plantarflexion, plantarflexion]
    assert_allclose(loads.moments, np.tile(expected, (2, 1)), rtol=1e-12)
    assert_allclose(loads.ankle.force[0], [0.0, foot - 700.0, 0.0], rtol=1e-12, atol=1e-12)
    assert_allclose(loads.knee_force[0], [0.0, shank + foot - 700.0, 0.0], rtol=1e-12, atol=1e-12)
    assert_allclose(loads.hip.force[0, 1], thigh + shank + foot - 700.0, rtol=1e-12)
    # A push medial of the knee adducts it; the moment of the plate turns the foot inwards.
    assert_allclose(loads.external_adduction_moment, 700.0 * 0.03, rtol=1e-12)
    assert_allclose(loads.knee_moment[:, 1], -5.0, rtol=1e-12)


def test_signs_of_extension_with_a_bent_knee():
    # Knee ahead of the vertical through hip and ankle: the weight bends it, extensors hold it.
    q = np.array([0.0, 1.0, 0.0, 0.0, 0.5, 1.0, 0.5])
    point = places(q)[2] + np.array([0.0, -0.08, 0.0])
    loads = inverse_dynamics(standing(point, (0.0, 700.0, 0.0), coordinates=q), LEG)
    assert loads.moments[0, 1] > 100.0
    # A long way ahead, the push needs extension of the hip.
    point[0] += 0.4
    ahead = inverse_dynamics(standing(point, (0.0, 700.0, 0.0), coordinates=q), LEG)
    assert ahead.moments[0, 0] > 100.0
    # The tibial frame is that of the shank, which leans forwards by 0.5 rad.
    force = loads.knee.force[0]
    axis, ahead_of_it = (np.sin(0.5), np.cos(0.5), 0.0), (np.cos(0.5), -np.sin(0.5), 0.0)
    assert_allclose(loads.knee_force[0], [force @ ahead_of_it, force @ axis, 0.0], rtol=1e-12,
                    atol=1e-12)  # fmt: skip
    assert_allclose(
        loads.shank_rotation[0] @ [0.0, LEG.shank.length, 0.0],
        loads.knee.centre[0] - loads.ankle.centre[0],
        rtol=1e-12, atol=1e-12,
    )  # fmt: skip


def test_newton_euler_is_lagrange():
    trial = lively()
    loads = inverse_dynamics(trial, LEG)
    for k, (q, qd, qdd) in enumerate(zip(*motion(INSTANTS), strict=True)):
        angle = q[3] + q[4] - q[5] + q[6]
        to_point = (np.array(POINT) - places(q)[2])[:2]
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        ground = jacobian(q, foot_point=turn @ to_point)[6].T @ FORCE + SPINS[2] * TORQUE[2]
        needed = lagrange(q, qd, qdd) - ground
        assert_allclose(loads.hip.force[k], needed[:3], rtol=0.0, atol=2e-6)
        hip, knee, ankle = (getattr(loads, n).moment[k, 2] for n in ("hip", "knee", "ankle"))
        assert_allclose([hip, -knee, ankle], needed[4:], rtol=0.0, atol=2e-6)
        tilting = hip + np.cross(places(q)[0] - q[:3], loads.hip.force[k])[2]
        assert_allclose(tilting, needed[3], rtol=0.0, atol=2e-6)
        assert_allclose(loads.moments[k], [-hip, knee, -ankle], rtol=1e-15)


@pytest.mark.parametrize(("joint", "first"), [("hip", 0), ("knee", 1), ("ankle", 2)])
def test_momentum_of_all_below_a_joint(joint, first):
    parts = (LEG.thigh, LEG.shank, LEG.foot)[first:]

    def momentum(t):
        (q,), (qd,), _ = motion(t)
        linear, angular = np.zeros(3), np.zeros(3)
        spots, moved = places(q)[3 + first : 6], (jacobian(q) @ qd)[3 + first : 6]
        for part, spot, v, spin in zip(parts, spots, moved, SPINS[first:], strict=True):
            linear += part.mass * v
            angular += part.mass * np.cross(spot, v) + part.inertia * (spin @ qd) * np.eye(3)[2]
        return np.array([linear, angular])

    load = getattr(inverse_dynamics(lively(), LEG), joint)
    for k, t in enumerate(INSTANTS):
        change = (momentum(t + 1e-5) - momentum(t - 1e-5)) / 2e-5
        spots = places(motion(t)[0][0])[3 + first : 6]
        pulls = [np.array([0.0, -G * part.mass, 0.0]) for part in parts]
        force = load.force[k] + FORCE + sum(pulls)
        moment = load.moment[k] + np.cross(load.centre[k], load.force[k])
        moment += np.cross(POINT, FORCE) + TORQUE
        moment += sum(np.cross(s, p) for s, p in zip(spots, pulls, strict=True))
        assert_allclose(force, change[0], rtol=0.0, atol=1e-5)
        assert_allclose(moment, change[1], rtol=0.0, atol=1e-5)


def test_powers_of_joints_and_ground_change_the_energy():
    loads = inverse_dynamics(lively(), LEG)
    for k, t in enumerate(INSTANTS):
        (q,), (qd,), _ = motion(t)
        ends = [energy(*(rows[0] for rows in motion(s)[:2])) for s in (t - 1e-5, t + 1e-5)]
        spins = np.concatenate(([0.0], SPINS @ qd))
        moments = [getattr(loads, n).moment[k, 2] for n in ("hip", "knee", "ankle")]
        power = loads.hip.force[k] @ (jacobian(q) @ qd)[0] + moments @ np.diff(spins)
        to_point = np.array(POINT) - places(q)[2]
        at_point = (jacobian(q) @ qd)[2] + np.cross([0.0, 0.0, spins[3]], to_point)
        power += FORCE @ at_point + TORQUE[2] * spins[3]
        assert_allclose(power, (ends[1] - ends[0]) / 2e-5, rtol=0.0, atol=1e-5)


@pytest.mark.slow
def test_a_leg_that_swings_freely_needs_no_joint_moment():
    def fall(_, state):
        q, qd = np.zeros(7), np.zeros(7)
        q[4:], qd[4:] = state[:3], state[3:]
        forces = lagrange(q, qd, np.zeros(7))[4:]
        return np.concatenate([qd[4:], -np.linalg.solve(mass_matrix(q)[4:, 4:], forces)])

    time = np.linspace(0.0, 0.4, 81)
    path = solve_ivp(fall, (0.0, 0.4), [0.9, 0.4, 0.2, 0.0, 0.0, 0.0], t_eval=time, rtol=1e-8,
                     atol=1e-8, method="DOP853")  # fmt: skip
    names = ("pelvis_tilt", "pelvis_tx", "pelvis_ty", "hip", "knee", "ankle")
    table = MotionTable(names, time, np.column_stack([np.zeros((81, 3)), path.y[:3].T]), False)
    columns = {"hip_flexion": "hip", "knee_flexion": "knee", "ankle_dorsiflexion": "ankle"}
    prefixes = ("ground_force_v", "ground_force_p", "ground_torque_")
    axes = tuple(prefix + axis for prefix in prefixes for axis in "xyz")
    air = MotionTable(axes, time, np.zeros((81, 9)), False)
    trial = gait_trial(table, air, columns=columns, stride=(0.02, 0.38), motion_cutoff=None)
    loads = inverse_dynamics(trial, LEG)
    # The splines' accelerations are good to some 1e-3 rad/s².
    assert_allclose(loads.moments, 0.0, rtol=0.0, atol=2e-3)
    assert np.ptp(trial.coordinate("hip_flexion")) > 0.3
    # Held at the same angles instead, the hip must carry the leg.
    frozen_leg = standing(np.zeros(3), np.zeros(3), coordinates=trial.coordinates[0])
    assert abs(inverse_dynamics(frozen_leg, LEG).moments[0, 0]) > 10.0


def test_loads_do_not_depend_on_the_lab():
    here = inverse_dynamics(lively(), LEG)
    there = inverse_dynamics(lively(shift=(3.0, -2.0, 1.5), drift=1.3), LEG)
    for joint in ("hip", "knee", "ankle"):
        for name in ("force", "moment"):
            one, other = getattr(getattr(here, joint), name), getattr(getattr(there, joint), name)
            assert_allclose(other, one, rtol=0.0, atol=1e-9)
    moved = there.knee.centre - here.knee.centre
    assert_allclose(moved[0], [3.0, -2.0, 1.5], rtol=1e-12)


def test_without_gravity_and_motion_only_the_ground_loads():
    trial = standing((0.3, -0.9, 0.2), FORCE, TORQUE)
    loads = inverse_dynamics(trial, LEG, gravity=0.0)
    assert_allclose(loads.hip.force[0], -FORCE, rtol=1e-12)
    expected = -np.array(TORQUE) - np.cross((0.3, -0.9, 0.2) - loads.hip.centre[0], FORCE)
    assert_allclose(loads.hip.moment[0], expected, rtol=1e-12)
    for value in (-1.0, np.nan):
        with pytest.raises(ValueError, match=r"gravity: expected >= 0 m/s²"):
            inverse_dynamics(trial, LEG, gravity=value)


@pytest.mark.parametrize("side", ["right", "left"])
def test_subject01_moments_have_the_textbook_pattern(knee_data, side):
    folder = knee_data / "opensim_core_gait"
    tables = (read_motion_table(folder / f"subject01_walk_{n}.mot") for n in ("IK", "grf"))
    trial = gait_trial(*tables, side, pelvis_z=0.02)
    loads = inverse_dynamics(trial, leg_segments(72.6, 1.80))
    hip, knee, ankle = loads.moments.T / 72.6
    percent = trial.percent

    def between(start, end):
        return (percent >= start) & (percent <= end)

    # Winter (1991; 2009): plantarflexion at push-off, extension of the knee in loading response,
    # extension of the hip in early, flexion in late stance, all of them small in swing.
    assert 45.0 < percent[ankle.argmax()] < 55.0
    assert 1.1 < ankle.max() < 1.8
    assert -0.4 < ankle[between(3.0, 12.0)].min() < -0.1
    loading = between(8.0, 25.0)
    assert 10.0 < percent[loading][knee[loading].argmax()] < 20.0
    assert 0.3 < knee[loading].max() < 1.2
    assert 0.4 < hip[between(0.0, 20.0)].max() < 1.2
    assert 48.0 < percent[hip.argmin()] < 62.0
    assert -1.0 < hip.min() < -0.4
    assert np.abs(loads.moments[between(65.0, 90.0)] / 72.6).max() < 0.3
    # Later in stance the knee's moment flexes, by more than the 0.2 to 0.5 N m/kg of textbooks.
    assert -0.85 < knee[between(30.0, 55.0)].min() < -0.3
    # The joint carries the body less what is below it, before any muscle pulls.
    weight = 72.6 * G
    assert 0.95 < -loads.knee_force[:, 1].min() / weight < 1.1
    below = G * (LEG.shank.mass + LEG.foot.mass)
    assert np.abs(loads.knee_force[between(70.0, 85.0)]).max() < 2.0 * below


def test_opensim_4_6_inverse_dynamics_of_the_same_leg(knee_data):
    # OpenSim's tool on a planar leg of pins with these lengths, masses and inertias, neither
    # motion nor forces filtered: time [s], moments of hip flexion, knee extension and ankle
    # dorsiflexion [N m].
    reference = np.array(
        [
            [0.7000000, -73.5224, 1.2792, 12.5156],
            [1.0333333, -2.7423, -30.1410, -83.1702],
            [1.2000000, 24.8654, -57.6072, -123.1314],
            [1.3666667, 33.1923, 5.8391, -31.7460],
            [1.5333333, -1.8261, 2.4727, 0.5698],
            [1.7000000, 8.1695, -3.6882, 1.5396],
        ]
    )
    folder = knee_data / "opensim_core_gait"
    tables = (read_motion_table(folder / f"subject01_walk_{n}.mot") for n in ("IK", "grf"))
    trial = gait_trial(
        *tables, stride=(0.7, 1.7), motion_cutoff=None, force_cutoff=None, samples=61, pelvis_z=0.02
    )
    leg = leg_segments(
        72.6, 1.80, thigh_length=0.4562, shank_length=0.42506, hip=(-0.07244, -0.06772, 0.08555),
        toe=(0.12931, -0.04879),
    )  # fmt: skip
    rows = np.searchsorted(trial.time, reference[:, 0] - 1e-6)
    assert_allclose(trial.time[rows], reference[:, 0], rtol=0.0, atol=1e-7)
    found = inverse_dynamics(trial, leg).moments[rows]
    assert_allclose(found, reference[:, 1:] * (-1.0, 1.0, -1.0), rtol=0.0, atol=0.02)
