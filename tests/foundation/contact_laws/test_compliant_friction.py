"""Compliant friction: stiffness at rest, Coulomb's limit in sliding, passivity, continuity."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp

from foundation.contact_laws.normal import CompliantFriction

FRICTION = CompliantFriction(stiffness=2e4, damping=30.0, coefficient=0.4)


def random_states(number, size):
    """Deflections, velocities and normal forces about the limit of friction."""
    rng = np.random.default_rng(3)
    deflection = rng.normal(0.0, 3e-3, (number, size))
    velocity = rng.normal(0.0, 1.5, (number, size))
    return deflection, velocity, rng.uniform(0.0, 300.0, number)


def test_stick_is_spring_and_dashpot():
    force, rate = FRICTION.evaluate([1e-3, -2e-3], [0.1, 0.05], 1e3)
    assert_allclose(force, [-(20.0 + 3.0), -(-40.0 + 1.5)], rtol=1e-13)
    assert_array_equal(rate, [0.1, 0.05])
    assert_allclose(FRICTION.energy([[1e-3, -2e-3], [0.0, 1e-3]]), [0.05, 0.01], rtol=1e-13)


def test_steady_sliding_song2001():
    # At ks = μ N in the direction of motion the deflection stays and the force is μ N.
    direction = np.array([0.6, -0.8])
    settled = 0.4 * 100.0 / 2e4 * direction
    force, rate = FRICTION.evaluate(settled, 2.0 * direction, 100.0)
    assert_allclose(force, -40.0 * direction, rtol=1e-13)
    assert_allclose(rate, np.zeros(2), rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_limit_direction_and_power(size):
    s, v, normal = random_states(4000, size)
    force, rate = FRICTION.evaluate(s, v, normal)
    against = -force
    strength, limit = np.linalg.norm(force, axis=-1), 0.4 * normal
    assert (strength <= limit * (1.0 + 1e-12)).all()
    slides = v - rate
    speed = np.linalg.norm(slides, axis=-1)
    slips = speed > 0.0
    assert 500 < slips.sum() < 3900
    # One law in both states: force of the spring and dashpot, Coulomb's limit where it slides.
    assert_allclose(against, 2e4 * s + 30.0 * rate, rtol=0.0, atol=1e-10)
    assert_allclose(strength[slips], limit[slips], rtol=1e-12)
    parallel = (against * slides).sum(axis=-1)
    assert_allclose(parallel, limit * speed, rtol=1e-9, atol=1e-9)
    # Power of the bodies = rate of the elastic energy + two losses, neither negative.
    power = (against * v).sum(axis=-1)
    stored = 2e4 * (s * rate).sum(axis=-1)
    lost = 30.0 * (rate**2).sum(axis=-1) + limit * speed
    assert_allclose(power, stored + lost, rtol=1e-9, atol=1e-9)


def test_block_rests_on_a_slope_without_creep_and_slides_beyond_its_angle():
    mass, gravity = 5.0, 9.81

    def fall(slope, end=3.0):
        def derivative(t, state):
            pull = mass * gravity * np.sin(slope)
            force, rate = FRICTION.evaluate(state[2:], state[1:2], mass * gravity * np.cos(slope))
            return [state[1], (pull + force[0]) / mass, rate[0]]

        found = solve_ivp(
            derivative, (0.0, end), np.zeros(3), method="LSODA", rtol=1e-9, atol=1e-12
        )
        return found.y[:, -1]

    critical = np.arctan(0.4)
    # Let go at once, the block overshoots to not quite twice its rest: it sticks all the time.
    place, speed, deflection = fall(0.45 * critical)
    assert_allclose(place, deflection, rtol=1e-8)
    # The oscillation on the dashpot decays by exp(-d t/(2 m)) = exp(-9).
    rest = mass * gravity * np.sin(0.45 * critical) / 2e4
    assert_allclose(place, rest, rtol=2e-4)
    assert abs(speed) < 1e-5
    # Coulomb: a = g (sin - μ cos), once it slides.
    steep = 1.3 * critical
    gained = fall(steep, 3.0)[1] - fall(steep, 1.0)[1]
    assert_allclose(gained, 2.0 * gravity * (np.sin(steep) - 0.4 * np.cos(steep)), rtol=1e-6)


def test_force_and_rate_are_continuous():
    s, v, normal = random_states(500, 2)
    # Onto the limit along the velocity, then a little to either side of it.
    trial = 2e4 * s + 30.0 * v
    normal = np.linalg.norm(trial, axis=-1) / 0.4
    inside = FRICTION.evaluate(s, v, normal * (1.0 + 1e-9))
    outside = FRICTION.evaluate(s, v, normal * (1.0 - 1e-9))
    for one, other in zip(inside, outside, strict=True):
        assert_allclose(one, other, rtol=0.0, atol=2e-8 * np.abs(trial).max())
    # About zero velocity the force is linear, not a jump.
    near = FRICTION.evaluate([[0.0, 0.0]] * 2, [[1e-9, 0.0], [-1e-9, 0.0]], [10.0, 10.0])[0]
    assert_allclose(near[:, 0], [-3e-8, 3e-8], rtol=1e-12)


def test_out_of_contact_the_deflection_relaxes():
    force, rate = FRICTION.evaluate([1e-3, 0.0], [5.0, 1.0], 0.0)
    assert_array_equal(force, np.zeros(2))
    assert_allclose(rate, [-2e4 / 30.0 * 1e-3, 0.0], rtol=1e-13, atol=1e-13)
    force, rate = FRICTION.evaluate([0.0, 0.0], [0.0, 0.0], 0.0)
    assert not force.any()
    assert not rate.any()
    # Nor is there friction without a coefficient.
    assert not CompliantFriction(2e4, 30.0, 0.0).evaluate([1e-3], [1.0], 50.0)[0].any()
