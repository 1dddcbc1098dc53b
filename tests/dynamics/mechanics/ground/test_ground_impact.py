"""Rigid impact: Newton's law and its gain, Poisson's and Stronge's laws, limit of the penalty."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.mechanics.ground import (
    ContactPoint,
    Leg,
    PenaltyGround,
    newton_impact,
    path_impact,
    simulate_strike,
    striking_leg,
)
from dynamics.mechanics.ground.contact import contact_arms
from dynamics.mechanics.segments import Segment
from foundation.contact_laws import CompliantFriction
from tests.oracles.heel_strike import FRICTION, RESTITUTION, reversing_impact, soft

GIVEN = {"restitution": RESTITUTION, "friction": FRICTION}


def random_impacts(count: int, seed: int):
    """Legs pinned at the hip or free, with the heel on its way down."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        leg, points = striking_leg(anchor=[0.0, 0.0] if k % 2 else None)
        q = rng.uniform(-1.2, 1.2, leg.freedoms)
        v = rng.uniform(-4.0, 4.0, leg.freedoms)
        heel = leg.jacobian(q, contact_arms(leg, points[:1]))[0] @ v
        v = v if heel[1] < 0.0 else -v
        yield leg, points, q, v, rng.uniform(0.0, 1.0), rng.uniform(0.0, 1.0)


def test_newton_gains_energy_where_sliding_reverses_kane1984():
    """The paradox of Kane's double pendulum: sliding back before, forward after, more energy."""
    start = reversing_impact()
    kinetic = start.leg.kinetic_energy(start.position, start.velocity)
    found = newton_impact(start.leg, start.points, start.position, start.velocity, **GIVEN)
    (before_t, before_n), (after_t, after_n) = found.before[0], found.after[0]
    assert before_t < 0.0 < after_t
    assert_allclose(after_n, -RESTITUTION * before_n, rtol=1e-12)
    assert_allclose(found.impulse[0, 0], -FRICTION * found.impulse[0, 1], rtol=1e-12)
    after = start.leg.kinetic_energy(start.position, found.velocity)
    assert_allclose(found.energy_change, after - kinetic, rtol=1e-11)
    assert_allclose(found.energy_change / kinetic, 0.315, rtol=0.0, atol=5e-4)


@pytest.mark.slow
def test_penalty_loses_energy_in_the_same_impact():
    start, result = reversing_impact(), soft("reversing")
    arms = contact_arms(start.leg, start.points)
    slip = np.array(
        [
            start.leg.jacobian(q, arms)[0, 0] @ v
            for q, v in zip(result.position[:120], result.velocity[:120], strict=True)
        ]
    )
    assert slip[0] < -1.0
    assert slip.max() > 0.5  # it reverses here too
    assert (result.energy <= result.energy[0] * (1.0 + 1e-9)).all()
    assert_allclose((result.energy[119] - result.energy[0]) / result.kinetic[0], -0.72, atol=5e-3)


def test_stronge_and_poisson_lose_energy_in_the_same_impact():
    start = reversing_impact()
    for law in ("stronge", "poisson"):
        found = path_impact(
            start.leg, start.points[0], start.position, start.velocity, **GIVEN, law=law
        )
        assert found.before[0, 0] < 0.0 < found.after[0, 0]
        assert found.energy_change < 0.0


def test_newton_and_coulomb_hold_for_one_and_two_points():
    modes = set()
    for leg, points, q, v, e, mu in random_impacts(200, 1):
        touching = points if leg.base else points[:1]
        found = newton_impact(leg, touching, q, v, restitution=e, friction=mu)
        rows = leg.jacobian(q, contact_arms(leg, touching)).reshape(-1, leg.freedoms)
        pushed = rows.T @ found.impulse.ravel()
        jump = leg.mass_matrix(q) @ (found.velocity - v)
        assert_allclose(jump, pushed, rtol=0.0, atol=1e-9 * np.abs(pushed).max())
        tiny = 1e-7 * max(np.abs(found.before).max(), 1.0)
        for (_, down), (vt, vn), (lt, ln) in zip(
            found.before, found.after, found.impulse, strict=True
        ):
            gain = vn + e * down
            assert gain >= -tiny
            assert ln >= -1e-7
            assert abs(gain * ln) <= 1e-6 * max(ln, 1.0)
            assert abs(lt) <= mu * ln + 1e-6 * max(ln, 1.0)
            if abs(vt) > 1e-6 and ln > 1e-6:
                assert_allclose(lt, -mu * ln * np.sign(vt), rtol=1e-6)
            modes.add("open" if ln <= 1e-9 else "stick" if abs(vt) < 1e-9 else "slide")
    assert modes == {"open", "stick", "slide"}


def test_newton_gains_only_with_friction_restitution_and_an_end_of_sliding():
    gains = 0
    for leg, points, q, v, e, mu in random_impacts(400, 2):
        heel, tiny = points[:1], 1e-9 * leg.kinetic_energy(q, v)
        smooth = newton_impact(leg, heel, q, v, restitution=e, friction=0.0)
        assert smooth.energy_change <= tiny
        assert newton_impact(leg, heel, q, v, restitution=0.0, friction=mu).energy_change <= tiny
        found = newton_impact(leg, heel, q, v, restitution=e, friction=mu)
        if found.energy_change > tiny:
            gains += 1
            assert found.before[0, 0] * found.after[0, 0] <= 1e-9
    assert gains > 10


def test_flat_foot_lands_on_both_points():
    foot = Leg({"foot": Segment(2.0, [0.0, 0.0], [0.02, 0.0], 0.01)})
    points = [ContactPoint(n, "foot", [x, -0.05]) for n, x in (("heel", -0.1), ("ball", 0.1))]
    still = [0.0, 0.05, 0.0]
    found = newton_impact(foot, points, still, [0.5, -1.0, 0.0], restitution=0.0, friction=5.0)
    # Sticking, which both points share: the foot stands still at once.
    assert_allclose(found.velocity, 0.0, atol=1e-12)
    assert_allclose(found.impulse.sum(axis=0), [-1.0, 2.0], rtol=1e-12)
    slid = newton_impact(foot, points, still, [3.0, -1.0, 0.0], restitution=0.0, friction=0.1)
    assert_allclose(slid.velocity, [2.9, 0.0, 0.0], rtol=1e-10, atol=1e-10)


def path_by_steps(compliance, before, e, mu, law, steps=200_000):
    """The path of the normal impulse in small steps, as an oracle."""
    (tt, tn), (_, nn) = compliance
    vt, vn = before
    dp = 10.0 * abs(vn) / nn / steps
    p = lt = lost = back = 0.0
    squeezed = None
    while True:
        ratio = -mu * np.sign(vt) if abs(vt) > 2.0 * dp * (abs(tn) + tt) else None
        if ratio is None:
            hold = -tn / tt
            ratio = hold if abs(hold) <= mu else -mu * np.sign(tn)
        work = vn * dp
        if vn < 0.0:
            lost += work
        else:
            squeezed = p if squeezed is None else squeezed
            back += work
            done = p >= (1.0 + e) * squeezed if law == "poisson" else back >= -(e**2) * lost
            if done:
                return np.array([vt, vn]), np.array([lt, p])
        vt, vn = vt + (tn + tt * ratio) * dp, vn + (nn + tn * ratio) * dp
        p, lt = p + dp, lt + ratio * dp


@pytest.mark.parametrize("law", ["poisson", "stronge"])
def test_path_against_small_steps(law):
    reversed_ = stuck = 0
    for leg, points, q, v, e, mu in random_impacts(14, 5):
        found = path_impact(leg, points[0], q, v, restitution=e, friction=mu, law=law)
        rows = leg.jacobian(q, contact_arms(leg, points[:1]))[0]
        compliance = rows @ np.linalg.solve(leg.mass_matrix(q), rows.T)
        after, impulse = path_by_steps(compliance, rows @ v, e, mu, law)
        scale = np.abs(found.before).max()
        assert_allclose(found.after[0], after, rtol=0.0, atol=2e-3 * scale)
        assert_allclose(found.impulse[0], impulse, rtol=2e-3, atol=2e-3 * impulse[1])
        reversed_ += found.before[0, 0] * found.after[0, 0] < -1e-6
        stuck += abs(found.after[0, 0]) < 1e-9
    assert reversed_ > 0
    assert stuck > 0


def test_laws_agree_where_sliding_does_not_change():
    same = 0
    for leg, points, q, v, e, mu in random_impacts(100, 7):
        state = (leg, points[0], q, v)
        stronge = path_impact(*state, restitution=e, friction=0.3 * mu)
        poisson = path_impact(*state, restitution=e, friction=0.3 * mu, law="poisson")
        newton = newton_impact(leg, points[:1], q, v, restitution=e, friction=0.3 * mu)
        assert stronge.energy_change <= 1e-12
        assert poisson.energy_change <= 1e-12
        if stronge.before[0, 0] * stronge.after[0, 0] > 1e-6:
            same += 1
            assert_allclose(stronge.velocity, newton.velocity, rtol=1e-8, atol=1e-9)
            assert_allclose(poisson.velocity, newton.velocity, rtol=1e-8, atol=1e-9)
    assert same > 20


@pytest.mark.slow
def test_stiff_penalty_tends_to_stronge():
    """Elastic, tangentially ever stiffer: the velocity after impact tends to that of e = 1."""
    start = reversing_impact()
    leg = replace(start.leg, gravity=0.0)
    state = (start.position, start.velocity)
    wanted = path_impact(leg, start.points[0], *state, restitution=1.0, friction=FRICTION)
    errors = []
    for ratio in (1e2, 1e4, 1e6):
        stiffness = ratio * 1e10
        friction = CompliantFriction(stiffness, 0.3 * np.sqrt(stiffness), FRICTION)
        ground = PenaltyGround(1e-10, 0.0, friction)
        result = simulate_strike(leg, start.points, ground, *state, 1.5e-4, samples=201)
        leaves = next(each.time for each in result.changes if not each.closed)
        after = result.velocity[np.searchsorted(result.time, leaves)]
        errors.append(np.abs(after - wanted.velocity).max() / np.abs(wanted.velocity).max())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 5e-3
