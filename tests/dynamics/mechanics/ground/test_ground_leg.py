"""The leg: kinematics, equations of motion, energies, proportions."""

from __future__ import annotations

import numpy as np
import pytest
from differences import differences
from numpy.testing import assert_allclose

from dynamics.mechanics.ground import ContactPoint, Leg, striking_leg
from dynamics.mechanics.ground.contact import contact_arms
from dynamics.mechanics.segments import Segment

RNG = np.random.default_rng(3)


def legs() -> list[Leg]:
    """Legs of every kind: free and pinned, two and three segments, with springs."""
    springs = {
        "joint_stiffness": [50.0, 30.0, 20.0],
        "joint_damping": [1.0, 2.0, 0.5],
        "joint_rest": [0.1, -0.2, 0.3],
    }
    return [
        striking_leg()[0],
        striking_leg(anchor=[0.2, 0.7])[0],
        striking_leg(ankle="hinged", **springs)[0],
        striking_leg(ankle="hinged", anchor=[0.0, 1.0], **springs)[0],
    ]


@pytest.mark.parametrize("leg", legs(), ids=["free", "pinned", "hinged", "hinged-pinned"])
def test_lagrange(leg):
    """h = d(M v)/dt - dT/dq + dV/dq + damping, by central differences of M, T and V."""
    q, v = RNG.normal(0.0, 0.6, leg.freedoms), RNG.normal(0.0, 2.0, leg.freedoms)
    turning = differences(lambda t: leg.mass_matrix(q + t * v), [0.0])[..., 0]
    kinetic = differences(lambda at: leg.kinetic_energy(at, v), q)
    potential = differences(leg.potential_energy, q)
    joints = np.diff(v[leg.base :], prepend=0.0) * np.asarray(leg.joint_damping)
    damping = np.zeros(leg.freedoms)
    damping[leg.base :] = joints - np.append(joints[1:], 0.0)
    mass, bias = leg.equations(q, v)
    assert_allclose(mass, leg.mass_matrix(q), rtol=1e-15, atol=1e-15)
    assert_allclose(bias, turning @ v - kinetic + potential + damping, rtol=1e-6, atol=1e-5)
    assert_allclose(leg.joint_dissipation(v), v @ damping, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("leg", legs(), ids=["free", "pinned", "hinged", "hinged-pinned"])
def test_kinetic_energy_is_that_of_the_moving_masses(leg):
    q, v = RNG.normal(0.0, 0.6, leg.freedoms), RNG.normal(0.0, 2.0, leg.freedoms)
    parts = list(leg.segments.values())
    arms = leg.arms(range(len(parts)), np.array([each.centre_of_mass for each in parts]))
    speed = differences(lambda t: leg.positions(q + t * v, arms), [0.0])[..., 0]
    total = 0.5 * leg.hip_mass * (v[0] ** 2 + v[1] ** 2) if leg.base else 0.0
    for each, velocity, rate in zip(parts, speed, v[leg.base :], strict=True):
        total += 0.5 * each.mass * velocity @ velocity + 0.5 * each.inertia * rate**2
    assert_allclose(leg.kinetic_energy(q, v), total, rtol=1e-8, atol=0.0)


def test_double_pendulum_of_the_textbook():
    """Two rods in absolute angles, equations written out."""
    (m1, m2), (l1, l2), g = (2.0, 1.5), (0.5, 0.4), 9.81
    rods = {
        name: Segment(m, [0.0, -s], [0.0, -s / 2], m * s**2 / 12)
        for name, m, s in (("upper", m1, l1), ("lower", m2, l2))
    }
    leg = Leg(rods, anchor=[0.0, 0.0])
    (a, b), (da, db) = (0.4, -0.7), (1.3, -2.1)
    mass, bias = leg.equations(np.array([a, b]), np.array([da, db]))
    coupling = 0.5 * m2 * l1 * l2
    expected = np.array(
        [
            [(m1 / 3 + m2) * l1**2, coupling * np.cos(a - b)],
            [coupling * np.cos(a - b), m2 * l2**2 / 3],
        ]
    )
    assert_allclose(mass, expected, rtol=1e-13, atol=1e-15)
    swing = coupling * np.sin(a - b) * np.array([db**2, -(da**2)])
    weight = g * np.array([(m1 / 2 + m2) * l1 * np.sin(a), m2 * l2 / 2 * np.sin(b)])
    assert_allclose(bias, swing + weight, rtol=1e-13, atol=1e-13)


def test_points_by_hand():
    rods = {
        "upper": Segment(1.0, [0.0, -0.5], [0.0, -0.25], 0.1),
        "lower": Segment(1.0, [0.1, -0.4], [0.0, -0.2], 0.1),
    }
    leg = Leg(rods)
    arms = contact_arms(leg, [ContactPoint("toe", "lower", [0.2, -0.4])])
    upright = leg.positions(np.array([1.0, 2.0, 0.0, 0.0]), arms)
    assert_allclose(upright, [[1.2, 1.1]], rtol=1e-14, atol=0.0)
    # Upper segment forward, the lower turned by a quarter: toes up.
    turned = leg.positions(np.array([1.0, 2.0, np.pi / 2, np.pi / 2]), arms)
    assert_allclose(turned, [[1.9, 2.2]], rtol=1e-14, atol=0.0)


def test_locked_ankle_moves_as_a_hinged_one_without_motion():
    """Kinetic and potential energy agree where the hinged foot turns with its shank."""
    locked, points = striking_leg()
    hinged, same = striking_leg(ankle="hinged")
    q, v = np.array([0.3, 0.9, 0.4, 0.1]), np.array([1.0, -0.5, 2.0, -3.0])
    q3, v3 = np.append(q, q[-1]), np.append(v, v[-1])
    assert_allclose(locked.mass, 75.0, rtol=1e-14)
    assert_allclose(hinged.mass, 75.0, rtol=1e-14)
    assert_allclose(locked.kinetic_energy(q, v), hinged.kinetic_energy(q3, v3), rtol=1e-13)
    assert_allclose(locked.potential_energy(q), hinged.potential_energy(q3), rtol=1e-13)
    places = locked.positions(q, contact_arms(locked, points))
    assert_allclose(places, hinged.positions(q3, contact_arms(hinged, same)), rtol=1e-13)
