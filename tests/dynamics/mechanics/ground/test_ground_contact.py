"""Penalty contact of points: the normal law, and no energy from anywhere."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from dynamics.mechanics.ground import PenaltyGround
from foundation.contact_laws import CompliantFriction

GROUND = PenaltyGround(2e-5, 300.0, CompliantFriction(4e4, 150.0, 0.6))


def test_normal_force_by_hand():
    gap, rate = np.array([-1e-3, -1e-3, -1e-3, -1e-3]), np.array([0.0, -0.1, 0.1, 0.2])
    # 50 N of the spring, and 300 N s/m of the dashpot; the last would pull.
    assert_allclose(GROUND.normal_force(gap, rate), [50.0, 80.0, 20.0, 0.0], rtol=1e-12, atol=1e-12)


def test_contact_never_creates_energy():
    """Losses are not negative, and with the stored energy they make up the work of the forces."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        gap, rate = rng.normal(0.0, 2e-3, 3), rng.normal(0.0, 0.3, (3, 2))
        deflection = rng.normal(0.0, 1e-3, 3)
        normal = np.where(gap < 0.0, GROUND.normal_force(gap, rate[:, 1]), 0.0)
        friction, relaxing = GROUND.friction_force(deflection, rate[:, 0], normal)
        forces = np.column_stack((friction, normal))
        assert (np.abs(friction) <= 0.6 * normal * (1.0 + 1e-12)).all()
        lost = GROUND.dissipation(gap, rate, forces, relaxing)
        assert min(lost) >= -1e-12
        step = 1e-7
        ahead = GROUND.stored_energy(gap + step * rate[:, 1], deflection + step * relaxing)
        behind = GROUND.stored_energy(gap - step * rate[:, 1], deflection - step * relaxing)
        stored = (ahead - behind) / (2.0 * step)
        assert_allclose(stored + sum(lost), -(forces * rate).sum(), rtol=1e-6, atol=1e-4)


def test_no_force_without_contact_and_the_deflection_relaxes():
    friction, relaxing = GROUND.friction_force(np.array([1e-3]), np.array([2.0]), np.zeros(1))
    assert_array_equal(friction, [0.0])
    assert_allclose(relaxing, [-1e-3 * 4e4 / 150.0], rtol=1e-12)
    assert GROUND.stored_energy(np.array([1e-3]), np.zeros(1)) == 0.0


def test_forces_of_points_are_those_of_each_direction_and_open_points_bear_none():
    """1 mm deep and sinking at 0.2 m/s: 200 N; T = -(k s + c v) within 0.8 of that."""
    ground = PenaltyGround(1e-5, 500.0, CompliantFriction(1e5, 200.0, 0.8))
    gap, deflection = np.full(3, -1e-3), np.array([1e-4, 1e-2, 1e-4])
    rate = np.array([[0.05, -0.2], [0.05, -0.2], [0.05, -0.2]])
    forces, relaxing = ground.contact_forces(gap, rate, deflection, np.array([True, True, False]))
    assert_allclose(forces, [[-20.0, 200.0], [-160.0, 200.0], [0.0, 0.0]], rtol=1e-12)
    # c s' = -T - k s: sticking the deflection follows the point, else it relaxes.
    assert_allclose(relaxing, [0.05, (160.0 - 1000.0) / 200.0, -10.0 / 200.0], rtol=1e-12)
