"""Rigid impact: Newton's law and its gain, Poisson's and Stronge's laws, limit of the penalty."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.mechanics.chains import GROUND, Assembly, Chain, ChainSegment, FreeBase, PinClosure
from dynamics.mechanics.ground import (
    ContactPoint,
    PenaltyGround,
    newton_impact,
    path_impact,
    standing_start,
    striking_legs,
)
from tests.oracles.heel_strike import (
    kinetic,
    rigid_motion,
    rows,
)

FOOT = Assembly(
    (Chain("a", (ChainSegment("foot", 0.1, 1.0, 0.01, [0.05, 0.0]),), FreeBase()),),
    gravity=(0.0, -9.81),
)
SOLE = [ContactPoint(n, ("a", "foot"), [x, -0.05]) for n, x in (("heel", -0.1), ("ball", 0.1))]


def random_impacts(count: int, seed: int):
    """Legs pinned at the hip or free, with the heel on its way down."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        leg, points = striking_legs(sides=("leg",), anchor=[0.0, 0.0] if k % 2 else None)
        q, v = rng.uniform(-1.2, 1.2, 4 - 2 * (k % 2)), rng.uniform(-4.0, 4.0, 4 - 2 * (k % 2))
        heel = rows(leg, points[:1], q)[0] @ v
        yield leg, points, q, v if heel[1] < 0.0 else -v, *rng.uniform(0.0, 1.0, 2)


def test_newton_and_coulomb_hold_for_one_and_two_points():
    modes = set()
    for leg, points, q, v, e, mu in random_impacts(200, 1):
        touching = points if len(q) == 4 else points[:1]
        found = newton_impact(leg, touching, q, v, restitution=e, friction=mu)
        pushed = rows(leg, touching, q).reshape(-1, len(q)).T @ found.impulse.ravel()
        change = leg.terms(0.0, q, v)[0] @ (found.velocity - v)
        assert_allclose(change, pushed, rtol=0.0, atol=1e-9 * np.abs(pushed).max())
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
    for leg, points, q, v, e, mu in random_impacts(200, 2):
        heel, tiny = points[:1], 1e-9 * kinetic(leg, q, v)
        smooth = newton_impact(leg, heel, q, v, restitution=e, friction=0.0)
        assert smooth.energy_change <= tiny
        assert newton_impact(leg, heel, q, v, restitution=0.0, friction=mu).energy_change <= tiny
        found = newton_impact(leg, heel, q, v, restitution=e, friction=mu)
        if found.energy_change > tiny:
            gains += 1
            assert found.before[0, 0] * found.after[0, 0] <= 1e-9
    assert gains > 5


def test_flat_foot_lands_on_both_points():
    body = ChainSegment("foot", 0.1, 2.0, 0.01, [0.02, 0.0])
    foot, still = Assembly((Chain("a", (body,), FreeBase()),)), [0.0, 0.0, 0.05]
    found = newton_impact(foot, SOLE, still, [0.0, 0.5, -1.0], restitution=0.0, friction=5.0)
    # Sticking, which both points share: the foot stands still at once.
    assert_allclose(found.velocity, 0.0, atol=1e-12)
    assert_allclose(found.impulse.sum(axis=0), [-1.0, 2.0], rtol=1e-12)
    slid = newton_impact(foot, SOLE, still, [0.0, 3.0, -1.0], restitution=0.0, friction=0.1)
    assert_allclose(slid.velocity, [0.0, 2.9, 0.0], rtol=1e-10, atol=1e-10)


def test_an_impact_of_a_closed_structure_keeps_its_pins():
    """A loose rod pinned to the ground is struck like a rod that hangs there."""
    rod = ChainSegment("rod", [0.6, -0.8], 2.0, 0.1, [0.3, -0.4])
    tip = [ContactPoint("tip", ("a", "rod"), [0.6, -0.8])]
    pin = PinClosure("pin", GROUND, [0.0, 0.8], ("a", "rod"), [0.0, 0.0])
    loose = Assembly((Chain("a", (rod,), FreeBase()),), closures=(pin,))
    hung = Assembly((Chain("a", (rod,), [0.0, 0.8]),))
    law = {"restitution": 0.4, "friction": 0.2}
    found = newton_impact(loose, tip, [0.0, 0.0, 0.8], [-1.5, 0.0, 0.0], **law)
    other = newton_impact(hung, tip, [0.0], [-1.5], **law)
    assert_allclose(found.velocity, [*other.velocity, 0.0, 0.0], rtol=0.0, atol=1e-12)
    assert_allclose(found.impulse, other.impulse, rtol=1e-10)


def path_by_steps(compliance, before, e, mu, law, steps=300_000):
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
        j = rows(leg, points[:1], q)[0]
        compliance = j @ np.linalg.solve(leg.terms(0.0, q, v)[0], j.T)
        after, impulse = path_by_steps(compliance, j @ v, e, mu, law)
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
        law = {"restitution": e, "friction": 0.3 * mu}
        stronge = path_impact(leg, points[0], q, v, **law)
        poisson = path_impact(leg, points[0], q, v, **law, law="poisson")
        newton = newton_impact(leg, points[:1], q, v, **law)
        assert stronge.energy_change <= 1e-12
        assert poisson.energy_change <= 1e-12
        if stronge.before[0, 0] * stronge.after[0, 0] > 1e-6:
            same += 1
            assert_allclose(stronge.velocity, newton.velocity, rtol=1e-8, atol=1e-9)
            assert_allclose(poisson.velocity, newton.velocity, rtol=1e-8, atol=1e-9)
    assert same > 20


def test_one_point_stops_as_in_a_plastic_impact_that_sticks():
    legs, points = striking_legs(hip_mass=0.0)
    wanted = [*np.radians([-10.0, -32.0, 27.0, 20.0]), 0.3, 0.9]
    free = np.array([-1.5, -1.0, -1.0, -1.2, 1.2, -0.9])
    q, v = standing_start(legs, points, PenaltyGround(), wanted, free, "stance ball")
    struck = newton_impact(legs, points[1:2], q, free, restitution=0.0, friction=1e3)
    assert struck.before[0, 1] < 0.0
    assert_allclose(struck.velocity, v, rtol=0.0, atol=1e-9)


# ---- over time, by Moreau's scheme of the oracles ----


def test_sliding_foot_stops_after_v2_over_2_mu_g():
    start, law = ([0.0, 0.0, 0.05], [0.0, 1.0, 0.0]), {"restitution": 0.0, "friction": 0.4}
    result = rigid_motion(FOOT, SOLE, *start, 0.4, steps=1000, **law)
    assert_allclose(result.position[-1, 1], 1.0 / (2.0 * 0.4 * 9.81), rtol=3e-3)
    assert_allclose(result.velocity[-1], 0.0, atol=1e-9)
    mean = result.forces[-200:, :, 1].mean(axis=0)
    assert_allclose(mean, [9.81 * 0.25, 9.81 * 0.75], rtol=1e-2)
