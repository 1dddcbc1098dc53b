"""Compliant friction: stiffness at rest, Coulomb's limit in sliding, passivity, continuity."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp

from foundation.contact_laws import CompliantFriction

FRICTION = CompliantFriction(stiffness=2e4, damping=30.0, coefficient=0.4)


def random_states(number: int, size: int):
    """Deflections, velocities and normal forces about the limit of friction."""
    rng = np.random.default_rng(3)
    deflection = rng.normal(0.0, 3e-3, (number, size))
    velocity = rng.normal(0.0, 1.5, (number, size))
    return deflection, velocity, rng.uniform(0.0, 300.0, number)


def test_stick_is_spring_and_dashpot():
    force, rate = FRICTION.evaluate([1e-3, -2e-3], [0.1, 0.05], 1e3)
    assert_allclose(force, [-(20.0 + 3.0), -(-40.0 + 1.5)], rtol=1e-13)
    assert_array_equal(rate, [0.1, 0.05])


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


def follow(velocity, normal, end, samples, deflection=(0.0, 0.0)):
    """Deflections and forces along a prescribed motion, (samples, 2) each."""
    times = np.linspace(0.0, end, samples)
    solution = solve_ivp(
        lambda t, s: FRICTION.evaluate(s, velocity(t), normal(t))[1],
        (0.0, end),
        deflection,
        method="LSODA",
        t_eval=times,
        rtol=1e-9,
        atol=1e-12,
        max_step=end / 200,
    )
    assert solution.success
    states = solution.y.T
    moved = np.array([velocity(t) for t in times])
    forces = FRICTION.evaluate(states, moved, np.array([normal(t) for t in times]))[0]
    return times, states, moved, forces


@pytest.mark.parametrize("amplitude", [1e-3, 0.2, 2.0])
def test_closed_slip_loops_gain_no_energy(amplitude):
    # Ellipses of velocity with a changing normal force, from the stuck to the sliding.
    def velocity(t):
        return amplitude * np.array([np.cos(40.0 * t), 0.7 * np.sin(40.0 * t + 0.4)])

    def normal(t):
        return 60.0 * (1.0 + 0.9 * np.sin(91.0 * t))

    period = 2.0 * np.pi / 40.0
    times, states, moved, forces = follow(velocity, normal, 2.0 * period, 4001)
    given = -(forces * moved).sum(axis=-1)
    work = np.concatenate(([0.0], np.cumsum((given[1:] + given[:-1]) / 2.0 * np.diff(times))))
    # Work given to the friction is never less than the energy that it holds.
    assert (work - FRICTION.energy(states)).min() > -1e-6 * work[-1]
    loop = work[-1] - work[len(work) // 2]
    assert loop > 0.0


def test_sliding_dissipates_the_limit_times_the_way():
    times, states, moved, forces = follow(
        lambda t: np.array([0.5, 0.0]), lambda t: 100.0, 0.1, 2001
    )
    assert_allclose(forces[-1], [-40.0, 0.0], rtol=1e-9, atol=1e-12)
    assert_allclose(states[-1], [40.0 / 2e4, 0.0], rtol=1e-6, atol=1e-12)
    # The force rises at once by d v, as the viscous part has it, then with the deflection.
    assert_allclose(forces[0], [-30.0 * 0.5, 0.0], rtol=1e-12)
    given = -(forces * moved).sum(axis=-1)
    work = ((given[1:] + given[:-1]) / 2.0 * np.diff(times)).sum()
    assert work < 40.0 * 0.5 * 0.1
    assert work > 40.0 * (0.5 * 0.1 - 2.0 * 40.0 / 2e4)


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


def test_turning_the_axes_turns_the_force():
    s, v, normal = random_states(100, 2)
    c, q = np.cos(0.7), np.sin(0.7)
    turn = np.array([[c, q], [-q, c]])
    force, rate = FRICTION.evaluate(s, v, normal)
    turned = FRICTION.evaluate(s @ turn, v @ turn, normal)
    assert_allclose(turned[0], force @ turn, rtol=1e-10, atol=1e-10)
    assert_allclose(turned[1], rate @ turn, rtol=1e-10, atol=1e-10)
