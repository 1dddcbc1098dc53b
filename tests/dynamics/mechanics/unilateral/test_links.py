"""Masses on one-way links: impacts, dry friction, growing and tangential stiffness."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from some_slow import first_of

from dynamics.mechanics.unilateral import UnilateralLink, simulate_links

GRAVITY = 9.81
MASSES, STIFFNESS, CLOSING, GAP = (2.0, 3.0), 1e4, 1.5, 0.01
REDUCED = MASSES[0] * MASSES[1] / sum(MASSES)
OMEGA = np.sqrt(STIFFNESS / REDUCED)


class ImpactInClosedForm:
    """Gap of two masses: free flight, damped oscillation until the force is zero, free flight."""

    def __init__(self, ratio):
        self.ratio = ratio
        self.damped = OMEGA * np.sqrt(1.0 - ratio**2)
        self.start = GAP / CLOSING
        # The force is the relative acceleration, which is zero first at this phase.
        phase = np.arctan2(2.0 * ratio * np.sqrt(1.0 - ratio**2), 2.0 * ratio**2 - 1.0)
        self.duration = phase / self.damped
        self.restitution = np.exp(-ratio * OMEGA * self.duration)

    def gap(self, time):
        s = np.clip(time - self.start, 0.0, self.duration)
        depth = CLOSING / self.damped * np.exp(-self.ratio * OMEGA * s) * np.sin(self.damped * s)
        after = np.maximum(time - self.start - self.duration, 0.0)
        before = CLOSING * np.maximum(self.start - time, 0.0)
        return before - depth + self.restitution * CLOSING * after


def impact(ratio, step):
    damping = 2.0 * ratio * np.sqrt(STIFFNESS * REDUCED)
    link = UnilateralLink([-1.0, 1.0], STIFFNESS, damping, GAP)
    n_steps = int((GAP / CLOSING + 1.3 * np.pi / OMEGA) / step)
    return simulate_links(
        np.diag(MASSES), [link], [0.0, 0.0], [CLOSING, 0.0], step=step, n_steps=n_steps
    )


@pytest.mark.parametrize("ratio", [0.0, 0.05, 0.3, 0.8])
def test_two_mass_impact_in_closed_form_with_order_one(ratio):
    exact = ImpactInClosedForm(ratio)
    errors = []
    for step in (2e-4, 1e-4, 5e-5):
        motion = impact(ratio, step)
        gap = GAP + motion.position @ [-1.0, 1.0]
        errors.append(np.abs(gap - exact.gap(motion.time)).max())
        # Momentum stays to rounding, the centre of mass moves on evenly.
        assert_allclose(motion.velocity @ MASSES, MASSES[0] * CLOSING, rtol=1e-12)
    assert errors[-1] < 1e-2 * GAP * 1.2
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert_allclose(orders, 1.0, rtol=0.0, atol=0.06)
    restitution = motion.velocity[-1] @ [-1.0, 1.0] / CLOSING
    assert_allclose(restitution, exact.restitution, rtol=0.01)


@pytest.mark.parametrize(("speed", "friction"), [(2.0, 0.4), (-1.0, 0.15)])
def test_dry_friction_stops_a_block_after_v2_over_2_mu_g(speed, friction):
    mass, seat = 3.0, 1e6
    link = UnilateralLink([0.0, 1.0], seat, 100.0, friction=friction, tangent=[1.0, 0.0])
    distance = speed * abs(speed) / (2.0 * friction * GRAVITY)
    errors = []
    for step in (4e-3, 2e-3, 1e-3):
        motion = simulate_links(
            mass * np.eye(2),
            [link],
            [0.0, -mass * GRAVITY / seat],
            [speed, 0.0],
            step=step,
            n_steps=int(1.2 * abs(speed) / (friction * GRAVITY) / step),
            load=[0.0, -mass * GRAVITY],
        )
        errors.append(abs(motion.position[-1, 0] - distance))
        assert_allclose(motion.velocity[-1], 0.0, rtol=0.0, atol=1e-14)
        assert_allclose(motion.normal, mass * GRAVITY, rtol=1e-9)
    # The last position is that of rest; the error is half a step of sliding.
    assert_allclose(errors, 0.5 * abs(speed) * np.array([4e-3, 2e-3, 1e-3]), rtol=0.02)
    sliding = motion.time[1:] < 0.99 * abs(speed) / (friction * GRAVITY)
    limit = -np.sign(speed) * friction * mass * GRAVITY
    assert_allclose(motion.friction[sliding, 0], limit, rtol=1e-9)
    assert_allclose(motion.friction[-1], 0.0, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(("push", "sticks"), [(0.99, True), (1.01, False)])
def test_a_push_below_the_limit_moves_nothing(push, sticks):
    mass, friction, seat = 2.0, 0.5, 1e6
    load = [push * friction * mass * GRAVITY, -mass * GRAVITY]
    link = UnilateralLink([0.0, 1.0], seat, friction=friction, tangent=[1.0, 0.0])
    start = [0.0, -mass * GRAVITY / seat]
    motion = simulate_links(
        mass * np.eye(2), [link], start, [0.0, 0.0], step=1e-3, n_steps=100, load=load
    )
    if sticks:
        assert_allclose(motion.position[:, 0], 0.0, rtol=0.0, atol=1e-15)
        assert_allclose(motion.friction, -load[0], rtol=1e-9)
    else:
        # 0.01 μ g for 0.1 s, at the ends of the steps.
        shift = 0.01 * friction * GRAVITY * 0.5 * 0.1 * 0.101
        assert_allclose(motion.position[-1, 0], shift, rtol=1e-6)


def test_load_as_a_function_of_time():
    motion = simulate_links(
        [[2.0]], [], [0.0], [0.0], step=1e-4, n_steps=1000, load=lambda t: [12.0 * t]
    )
    # The sum of the loads at the ends of the steps, t (t + h) in place of t².
    assert_allclose(motion.velocity[-1], 3.0 * 0.1 * 0.1001, rtol=1e-9)


def test_painleve_jam_has_a_solution():
    # The more the link resists, the more friction presses it: sliding on has no solution for a
    # stiff link. The step finds the other one, a force that stops the slip at once.
    mass = np.array([[1.0, 0.9], [0.9, 1.0]])
    link = UnilateralLink([0.0, 1.0], 1e12, friction=3.0, tangent=[-1.0, 0.0])
    assert link.direction @ np.linalg.solve(mass, link.direction - 3.0 * link.tangent) < 0.0
    motion = simulate_links(
        mass, [link], [0.0, 0.0], [-1.0, 0.0], step=1e-3, n_steps=2, load=[0.0, -10.0]
    )
    assert_allclose(motion.velocity[1:], 0.0, rtol=0.0, atol=1e-6)
    assert motion.normal[0, 0] > 100.0
    assert (np.abs(motion.friction) <= 3.0 * motion.normal).all()


MASS, SPRING = 0.5, 2e4


@pytest.mark.parametrize("ratio", first_of([0.25, 1.0 / 6.0, 1.0]))
def test_rebound_of_a_point_mass_that_sticks_in_closed_form(ratio):
    # Half a normal oscillation; meanwhile the tangential one turns by pi (kt / k)^½.
    normal_speed, along = 1.0, 0.8
    link = UnilateralLink(
        [0.0, 1.0], SPRING, friction=100.0, tangent=[1.0, 0.0],
        tangential_stiffness=ratio * SPRING,
    )  # fmt: skip
    step = np.pi * np.sqrt(MASS / SPRING) / 2000
    motion = simulate_links(
        MASS * np.eye(2), [link], [0.0, 0.0], [along, -normal_speed], step=step, n_steps=2200
    )
    assert motion.normal[-1, 0] == 0.0
    expected = along * np.cos(np.pi * np.sqrt(ratio))
    assert_allclose(motion.velocity[-1, 0], expected, rtol=0.0, atol=8e-3)
    assert_allclose(motion.velocity[-1, 1], normal_speed, rtol=6e-3)
