"""Strikes on compliant ground: closed forms, statics, energy, lasting contact, two legs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from some_slow import first_of

from dynamics.mechanics.chains import Assembly, Chain, ChainSegment, FreeBase
from dynamics.mechanics.ground import (
    CompliantGround,
    ContactPoint,
    PenaltyGround,
    simulate_strike,
    standing_start,
    striking_legs,
)
from foundation.contact_laws import CompliantFriction, HertzLaw
from tests.oracles.heel_strike import heel_strike, kinetic, places, rows, soft

GRIP = CompliantFriction(1e5, 100.0, 0.4)
SOIL = PenaltyGround(2e-5, 300.0, CompliantFriction(4e4, 150.0, 0.6))
RNG = np.random.default_rng(7)
KNEES = {"joint_stiffness": [0.0, 500.0], "joint_damping": [0.0, 12.0]}
REST = np.radians([[0.0, -16.0], [0.0, -7.0]])
WANTED = [*np.radians([-10.0, -32.0, 27.0, 20.0]), 0.3, 0.9]
RATES = [-1.5, -1.0, -1.0, -1.2, 1.2, -0.2]


def foot(centre: float = 0.0, gravity: float = 9.81) -> Assembly:
    """A rigid body of 1 kg that is free in the plane; coordinates angle, x, y."""
    segment = ChainSegment("foot", 0.1, 1.0, 0.01, [centre, 0.0])
    return Assembly((Chain("a", (segment,), FreeBase()),), gravity=(0.0, -gravity))


def under(*at: float, sole: float = 0.05) -> list[ContactPoint]:
    return [ContactPoint(f"at {x:g}", ("a", "foot"), [x, -sole]) for x in at]


def test_contact_never_creates_energy():
    """Losses are not negative, and with the stored energy they make up the work of the forces."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        gap, rate = rng.normal(0.0, 2e-3, 3), rng.normal(0.0, 0.3, (3, 2))
        deflection = rng.normal(0.0, 1e-3, 3)
        forces, relaxing = SOIL.contact_forces(gap, rate, deflection, gap < 0.0)
        assert (np.abs(forces[:, 0]) <= 0.6 * forces[:, 1] * (1.0 + 1e-12)).all()
        lost = SOIL.dissipation(gap, rate, forces, relaxing)
        assert min(lost) >= -1e-12
        step = 1e-7
        ahead = SOIL.stored_energy(gap + step * rate[:, 1], deflection + step * relaxing)
        behind = SOIL.stored_energy(gap - step * rate[:, 1], deflection - step * relaxing)
        stored = (ahead - behind) / (2.0 * step)
        assert_allclose(stored + sum(lost), -(forces * rate).sum(), rtol=1e-6, atol=1e-4)


def test_forces_of_points_by_hand():
    """1 mm deep and sinking at 0.2 m/s: 200 N; T = -(k s + c v) within 0.8 of that."""
    gap, rate = np.full(4, -1e-3), np.array([0.0, -0.1, 0.1, 0.2])
    assert_allclose(SOIL.normal_force(gap, rate), [50.0, 80.0, 20.0, 0.0], rtol=1e-12, atol=1e-12)
    deflection, rate = np.array([1e-4, 1e-2, 1e-4]), np.tile([0.05, -0.2], (3, 1))
    closed = np.array([True, True, False])
    forces, relaxing = PenaltyGround().contact_forces(gap[:3], rate, deflection, closed)
    assert_allclose(forces, [[-20.0, 200.0], [-160.0, 200.0], [0.0, 0.0]], rtol=1e-12)
    # c s' = -T - k s: sticking the deflection follows the point, else it relaxes.
    assert_allclose(relaxing, [0.05, (160.0 - 1000.0) / 200.0, -10.0 / 200.0], rtol=1e-12)


@pytest.mark.parametrize("beta", [0.0, 20.0, 100.0])
def test_bounce_schwager_poschel2007(beta):
    """A linear dashpot contact that ends where its force does; Phys Rev E 78:051304, eq. for e."""
    own = beta / 2.0
    omega = np.sqrt(1e4 - own**2)
    phase = np.pi - np.arctan2(2.0 * own * omega, omega**2 - own**2)
    ground, start = PenaltyGround(1e-4, beta, GRIP), ([0.0, 0.0, 0.05], [0.0, 0.0, -0.5])
    result = simulate_strike(foot(gravity=0.0), under(0.0), ground, *start, 0.2)
    assert_allclose(result.velocity[-1, 2], 0.5 * np.exp(-own / omega * phase), rtol=1e-7)
    assert_allclose(result.velocity[-1, :2], 0.0, atol=1e-12)


def test_damped_oscillation_about_rest_in_closed_form():
    """Contact under gravity that does not open: x'' + 2 c x' + w² x = 0 about the rest."""
    beta, eps, g = 40.0, 1e-4, 9.81
    start = [0.0, 0.0, 0.05 - g * eps - 5e-4]
    ground = PenaltyGround(eps, beta, GRIP)
    result = simulate_strike(foot(), under(0.0), ground, start, np.zeros(3), 0.3)
    decay, omega = beta / 2.0, np.sqrt(1.0 / eps - (beta / 2.0) ** 2)
    t = result.time
    swing = np.cos(omega * t) + decay / omega * np.sin(omega * t)
    expected = 0.05 - g * eps - 5e-4 * np.exp(-decay * t) * swing
    assert_allclose(result.position[:, 2], expected, rtol=0.0, atol=1e-10)
    assert_allclose(result.forces[-1, 0, 1], 9.81, rtol=1e-2)


@pytest.mark.slow
def test_sliding_stops_after_v2_over_2_mu_g():
    start = [0.0, 0.0, 0.02 - 0.5 * 9.81 * 1e-5], [0.0, 1.0, 0.0]
    ground = PenaltyGround(1e-5, 200.0, GRIP)
    result = simulate_strike(foot(), under(-0.1, 0.1, sole=0.02), ground, *start, 0.4)
    assert_allclose(result.position[-1, 1], 1.0 / (2.0 * 0.4 * 9.81), rtol=1e-3)
    assert_allclose(result.velocity[-1, 1], 0.0, atol=1e-6)
    assert_allclose(result.tangential_loss[-1], 0.5, rtol=1e-3)
    sliding = (result.time > 0.02) & (result.time < 0.24)
    assert_allclose(result.reaction[sliding, 0], -0.4 * 9.81, rtol=5e-3)


@pytest.mark.slow
@pytest.mark.parametrize("at", [(-0.1, 0.1), (-0.1, 0.02, 0.1)])
def test_standing_by_the_rule_of_the_lever(at):
    """Dropped and tilted, the foot comes to rest on all points, which carry its weight."""
    ground, start = PenaltyGround(1e-5, 200.0, GRIP), [0.02, 0.0, 0.06]
    result = simulate_strike(foot(0.05), under(*at), ground, start, np.zeros(3), 0.5)
    loads = result.forces[-1, :, 1]
    assert (loads > 0.0).all()
    assert_allclose(loads.sum(), 9.81, rtol=1e-5)
    assert_allclose(loads @ np.array(at), 9.81 * 0.05, rtol=1e-2)
    assert_allclose(result.energy + result.loss, result.energy[0], rtol=1e-7)


def test_points_that_land_together_both_count():
    ground, points = PenaltyGround(1e-5, 50.0, GRIP), under(-0.1, 0.1)
    result = simulate_strike(foot(), points, ground, [0.0, 0.0, 0.15], np.zeros(3), 0.25)
    closing = [change for change in result.changes if change.closed]
    assert {change.point for change in closing[:2]} == {each.name for each in points}
    assert_allclose(closing[0].time, np.sqrt(2.0 * 0.1 / 9.81), rtol=1e-8)
    assert_allclose(closing[1].time, closing[0].time, rtol=1e-10)
    assert_allclose(result.position[:, 0], 0.0, atol=1e-9)


def test_a_short_dip_below_the_ground_is_noticed():
    """The tip of a pendulum, at 3 m/s, is below the ground for 3 ms."""
    rod = ChainSegment("rod", [0.0, -1.0], 10.0, 1.0, [0.0, -0.5])
    hung = Assembly((Chain("a", (rod,), [0.0, 1.0 - 1e-5]),))
    tip = [ContactPoint("tip", ("a", "rod"), [0.0, -1.0])]
    result = simulate_strike(hung, tip, PenaltyGround(), [-0.8], [0.0], 1.0)
    assert [change.closed for change in result.changes] == [True, False]


@pytest.mark.parametrize("name", first_of(["locked", "hinged", "reversing"], 1))
def test_total_energy_never_rises_and_ground_only_pushes(name):
    """Stored and lost work make up the energy to 1e-8; each loss grows alone."""
    result = soft(name)
    scale = result.energy[0]
    assert_allclose(result.energy + result.loss, scale, rtol=0.0, atol=1e-8 * abs(scale))
    assert np.diff(result.energy).max() <= 1e-9 * abs(scale)
    for loss in (result.joint_loss, result.normal_loss, result.tangential_loss):
        assert np.diff(loss).min() >= -1e-9 * abs(scale)
    assert result.normal_loss[-1] > 1.0
    assert result.tangential_loss[-1] > 0.1
    tangential, normal = result.forces[..., 0], result.forces[..., 1]
    limit = 0.5 if name == "reversing" else 0.8
    assert normal.min() >= 0.0
    assert (np.abs(tangential) <= limit * normal * (1.0 + 1e-12) + 1e-12).all()


def test_reaction_is_the_change_of_momentum():
    result, leg = soft("locked"), heel_strike().leg
    motion = zip(result.position[::20], result.velocity[::20], strict=True)
    momentum = np.array([leg.evaluate(0.0, q, v).momentum for q, v in motion])
    force = result.reaction - [0.0, result.weight]
    impulse = np.trapezoid(force, result.time, axis=0)
    assert_allclose(impulse, momentum[-1] - momentum[0], rtol=0.0, atol=0.1)


# ---- legs ----


def test_locked_ankle_moves_as_a_hinged_one_without_motion():
    """Kinetic and potential energy agree where the hinged foot turns with its shank."""
    locked, points = striking_legs(sides=("leg",))
    hinged, same = striking_legs(sides=("leg",), ankle="hinged")
    q, v = np.array([0.4, 0.1, 0.3, 0.9]), np.array([2.0, -3.0, 1.0, -0.5])
    q3, v3 = np.insert(q, 2, q[1]), np.insert(v, 2, v[1])
    one, other = locked.evaluate(0.0, q, v), hinged.evaluate(0.0, q3, v3)
    assert_allclose([locked.weight, hinged.weight], 75.0 * 9.81, rtol=1e-14)
    assert_allclose(one.kinetic, other.kinetic, rtol=1e-13)
    assert_allclose(one.potential, other.potential, rtol=1e-13)
    assert_allclose(places(locked, points, q), places(hinged, same, q3), rtol=1e-13)


def test_the_mass_at_the_hip_moves_with_the_hip():
    """Kinetic and potential energy are those of legs without it and of a point mass."""
    whole, bare = (striking_legs(hip_mass=mass)[0] for mass in (40.0, 0.0))
    q, v = RNG.normal(0.0, 0.6, 6), RNG.normal(0.0, 2.0, 6)
    one, other = whole.evaluate(0.0, q, v), bare.evaluate(0.0, q, v)
    assert_allclose(one.kinetic, other.kinetic + 20.0 * v[4:] @ v[4:], rtol=1e-12)
    assert_allclose(one.potential, other.potential + 40.0 * 9.81 * q[5], rtol=1e-12)


def test_pinned_legs_do_not_know_of_each_other():
    """Each has the accelerations of the leg alone; the springs of the hip hold to the trunk."""
    laws = {"anchor": [0.1, 0.95], "joint_stiffness": [40.0, 30.0], "joint_damping": [1.0, 2.0]}
    rest = [[0.1, -0.2], [0.3, -0.1]]
    both, _ = striking_legs(joint_rest=rest, **laws)
    q, v = RNG.normal(0.0, 0.5, 4), RNG.normal(0.0, 2.0, 4)
    found = both.accelerations(0.0, q, v)
    for k in range(2):
        part = slice(2 * k, 2 * k + 2)
        alone, _ = striking_legs(sides=("leg",), joint_rest=rest[k], **laws)
        assert_allclose(found[part], alone.accelerations(0.0, q[part], v[part]), rtol=1e-11)


@pytest.mark.slow
def test_energy_and_momentum_of_lasting_contact_and_strike():
    legs, points = striking_legs(joint_rest=REST, **KNEES)
    ground = PenaltyGround()
    q, v = standing_start(legs, points, ground, WANTED, RATES, "stance ball")
    result = simulate_strike(legs, points, ground, q, v, 0.15, samples=3001)
    assert np.diff(result.energy).max() <= 1e-8
    assert_allclose(result.energy + result.loss, result.energy[0], rtol=0.0, atol=1e-6)
    strike = next(each.time for each in result.changes if each.point == "swing heel")
    assert result.loaded("stance ball")[result.time < strike].all()
    assert (result.loaded("stance ball") & result.loaded("swing heel")).sum() > 100
    ends = [legs.evaluate(0.0, result.position[k], result.velocity[k]) for k in (0, -1)]
    impulse = np.trapezoid(result.reaction - [0.0, result.weight], result.time, axis=0)
    assert_allclose(ends[1].momentum - ends[0].momentum, impulse, rtol=0.0, atol=0.05)


def test_standing_start_bears_the_weight_at_rest():
    legs, points = striking_legs(ankle="hinged", joint_stiffness=[60.0, 400.0, 400.0])
    ground = PenaltyGround(compliance=2e-5)
    wanted = [*np.radians([-8.0, -22.0, 0.6, 25.0, 20.0, 20.0]), 0.0, 0.9]
    rates, standing = RNG.normal(0.0, 1.0, 8), ["stance heel", "stance ball"]
    q, v = standing_start(legs, points, ground, wanted, rates, standing)
    j = rows(legs, points, q)[:2].reshape(4, 8)
    assert_allclose(j @ v, 0.0, rtol=0.0, atol=1e-12)
    height = places(legs, points, q)[:2, 1]
    assert_allclose(ground.normal_force(height, np.zeros(2)).sum(), legs.weight, rtol=1e-9)
    # The change of the rates comes from forces at the points alone, and takes energy.
    change = legs.terms(0.0, q, v)[0] @ (v - rates)
    assert_allclose(j.T @ np.linalg.lstsq(j.T, change)[0], change, rtol=0.0, atol=1e-9)
    assert kinetic(legs, q, v) < kinetic(legs, q, rates)
    assert_array_equal(q[:-1], wanted[:-1])


def test_any_law_of_contact_bears_a_foot():
    """A foot lands on Hertz's law without friction: energy stays, the depth is that of the law."""
    ground, start = CompliantGround(HertzLaw(1e6)), ([0.0, 0.0, 0.05], [0.0, 0.2, -0.3])
    result = simulate_strike(foot(gravity=0.0), under(0.0), ground, *start, 0.05)
    deepest = (1.25 * 0.3**2 / 1e6) ** 0.4
    assert_allclose(-result.gap.min(), deepest, rtol=1e-4)
    assert_allclose(result.velocity[-1], [0.0, 0.2, 0.3], rtol=0.0, atol=1e-7)
    assert_allclose(result.energy, result.energy[0], rtol=1e-7)
    assert_array_equal(result.forces[..., 0], 0.0)
