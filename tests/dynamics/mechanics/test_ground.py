"""Strikes on compliant and on rigid ground: closed forms, energy, legs, laws of impact."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from some_slow import first_of

from dynamics.mechanics.chain_parts import Chain, ChainSegment, FreeBase
from dynamics.mechanics.chains import Assembly
from dynamics.mechanics.ground import (
    HEEL_FRACTION,
    ContactPoint,
    leg_segments,
    newton_impact,
    penalty_ground,
    simulate_strike,
    standing_start,
    striking_legs,
)
from foundation.contact_laws.normal import CompliantFriction
from tests.oracles.heel_strike import (
    heel_strike,
    kinetic,
    places,
    rigid_motion,
    rows,
    soft,
)

GRIP = CompliantFriction(1e5, 100.0, 0.4)
SOIL = penalty_ground(2e-5, 300.0, CompliantFriction(4e4, 150.0, 0.6))
RNG = np.random.default_rng(7)


def foot(centre=0.0, gravity=9.81):
    """A rigid body of 1 kg that is free in the plane; coordinates angle, x, y."""
    segment = ChainSegment("foot", 0.1, 1.0, 0.01, [centre, 0.0])
    return Assembly((Chain("a", (segment,), FreeBase()),), gravity=(0.0, -gravity))


def under(*at, sole=0.05):
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
        assert lost >= -1e-12
        step = 1e-7
        ahead = SOIL.stored_energy(gap + step * rate[:, 1], deflection + step * relaxing)
        behind = SOIL.stored_energy(gap - step * rate[:, 1], deflection - step * relaxing)
        stored = (ahead - behind) / (2.0 * step)
        assert_allclose(stored + lost, -(forces * rate).sum(), rtol=1e-6, atol=1e-4)


def test_forces_of_points_by_hand():
    """1 mm deep and sinking at 0.2 m/s: 200 N; T = -(k s + c v) within 0.8 of that."""
    gap, rate = np.full(4, -1e-3), np.array([0.0, -0.1, 0.1, 0.2])
    assert_allclose(SOIL.normal_force(gap, rate), [50.0, 80.0, 20.0, 0.0], rtol=1e-12, atol=1e-12)
    deflection, rate = np.array([1e-4, 1e-2, 1e-4]), np.tile([0.05, -0.2], (3, 1))
    closed = np.array([True, True, False])
    forces, relaxing = penalty_ground().contact_forces(gap[:3], rate, deflection, closed)
    assert_allclose(forces, [[-20.0, 200.0], [-160.0, 200.0], [0.0, 0.0]], rtol=1e-12)
    # c s' = -T - k s: sticking the deflection follows the point, else it relaxes.
    assert_allclose(relaxing, [0.05, (160.0 - 1000.0) / 200.0, -10.0 / 200.0], rtol=1e-12)


@pytest.mark.parametrize("beta", [0.0, 20.0, 100.0])
def test_bounce_schwager_poschel2007(beta):
    """A linear dashpot contact that ends where its force does; Phys Rev E 78:051304, eq. for e."""
    own = beta / 2.0
    omega = np.sqrt(1e4 - own**2)
    phase = np.pi - np.arctan2(2.0 * own * omega, omega**2 - own**2)
    ground, start = penalty_ground(1e-4, beta, GRIP), ([0.0, 0.0, 0.05], [0.0, 0.0, -0.5])
    result = simulate_strike(foot(gravity=0.0), under(0.0), ground, *start, 0.2)
    assert_allclose(result.velocity[-1, 2], 0.5 * np.exp(-own / omega * phase), rtol=1e-7)
    assert_allclose(result.velocity[-1, :2], 0.0, atol=1e-12)


def test_damped_oscillation_about_rest_in_closed_form():
    """Contact under gravity that does not open: x'' + 2 c x' + w² x = 0 about the rest."""
    beta, eps, g = 40.0, 1e-4, 9.81
    start = [0.0, 0.0, 0.05 - g * eps - 5e-4]
    ground = penalty_ground(eps, beta, GRIP)
    result = simulate_strike(foot(), under(0.0), ground, start, np.zeros(3), 0.3)
    decay, omega = beta / 2.0, np.sqrt(1.0 / eps - (beta / 2.0) ** 2)
    t = result.time
    swing = np.cos(omega * t) + decay / omega * np.sin(omega * t)
    expected = 0.05 - g * eps - 5e-4 * np.exp(-decay * t) * swing
    assert_allclose(result.position[:, 2], expected, rtol=0.0, atol=1e-10)
    assert_allclose(result.forces[-1, 0, 1], 9.81, rtol=1e-2)


@pytest.mark.parametrize("name", first_of(["locked", "hinged", "reversing"], 1))
def test_total_energy_never_rises_and_ground_only_pushes(name):
    """Stored and lost work make up the energy to 1e-8; each loss grows alone."""
    result = soft(name)
    scale = result.energy[0]
    assert_allclose(result.energy + result.loss, scale, rtol=0.0, atol=1e-8 * abs(scale))
    assert np.diff(result.energy).max() <= 1e-9 * abs(scale)
    assert np.diff(result.loss).min() >= -1e-9 * abs(scale)
    assert result.loss[-1] > 1.0
    tangential, normal = result.forces[..., 0], result.forces[..., 1]
    limit = 0.5 if name == "reversing" else 0.8
    assert normal.min() >= 0.0
    assert (np.abs(tangential) <= limit * normal * (1.0 + 1e-12) + 1e-12).all()


def test_reaction_is_the_change_of_momentum():
    result, leg = soft("locked"), heel_strike().leg
    motion = zip(result.position[::20], result.velocity[::20], strict=True)
    # Conjugate to x and y of the hip is the momentum of the whole.
    momentum = np.array([(leg.terms(0.0, q, v)[0] @ v)[-2:] for q, v in motion])
    force = result.reaction - [0.0, result.weight]
    impulse = np.trapezoid(force, result.time, axis=0)
    assert_allclose(impulse, momentum[-1] - momentum[0], rtol=0.0, atol=0.1)


# ---- legs ----


def test_standing_start_bears_the_weight_at_rest():
    legs, points = striking_legs(ankle="hinged", joint_stiffness=[60.0, 400.0, 400.0])
    ground = penalty_ground(compliance=2e-5)
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


def random_impacts(count, seed):
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


def test_flat_foot_lands_on_both_points():
    body = ChainSegment("foot", 0.1, 2.0, 0.01, [0.02, 0.0])
    foot, still = Assembly((Chain("a", (body,), FreeBase()),)), [0.0, 0.0, 0.05]
    found = newton_impact(
        foot, under(-0.1, 0.1), still, [0.0, 0.5, -1.0], restitution=0.0, friction=5.0
    )
    # Sticking, which both points share: the foot stands still at once.
    assert_allclose(found.velocity, 0.0, atol=1e-12)
    assert_allclose(found.impulse.sum(axis=0), [-1.0, 2.0], rtol=1e-12)
    slid = newton_impact(
        foot, under(-0.1, 0.1), still, [0.0, 3.0, -1.0], restitution=0.0, friction=0.1
    )
    assert_allclose(slid.velocity, [0.0, 2.9, 0.0], rtol=1e-10, atol=1e-10)


# ---- over time, by Moreau's scheme of the oracles ----


def test_sliding_foot_stops_after_v2_over_2_mu_g():
    start, law = ([0.0, 0.0, 0.05], [0.0, 1.0, 0.0]), {"restitution": 0.0, "friction": 0.4}
    result = rigid_motion(foot(0.05), under(-0.1, 0.1), *start, 0.4, steps=1000, **law)
    assert_allclose(result.position[-1, 1], 1.0 / (2.0 * 0.4 * 9.81), rtol=3e-3)
    assert_allclose(result.velocity[-1], 0.0, atol=1e-9)
    mean = result.forces[-200:, :, 1].mean(axis=0)
    assert_allclose(mean, [9.81 * 0.25, 9.81 * 0.75], rtol=1e-2)


def test_winter2009_table_4_1():
    _, shank, _ = leg = leg_segments(80.0, 1.80)
    masses = [each.mass for each in leg]
    assert_allclose(masses, [8.0, 3.72, 1.16], rtol=1e-12)
    # Its foot and leg together weigh 0.061 of the body, with their centre of mass at 0.606 of the
    # way from knee to ankle, and its total leg 0.161.
    assert_allclose(sum(masses[1:]) / 80.0, 0.061, rtol=1e-12)
    assert_allclose(sum(masses) / 80.0, 0.161, rtol=1e-12)
    assert_allclose(shank.centre, [0.0, -0.433 * 0.246 * 1.80], rtol=1e-12)
    lengths = np.linalg.norm([each.length for each in leg], axis=1)
    assert_allclose(lengths[:2], [0.441, 0.4428], rtol=1e-12)
    # Its radii about the proximal end: 0.540 of the thigh, 0.528 of the shank, 0.690 of the foot.
    for segment, length, share in zip(leg, lengths, (0.540, 0.528, 0.690), strict=True):
        about_end = segment.inertia + segment.mass * float(np.sum(segment.centre**2))
        radius = np.sqrt(about_end / segment.mass) / length
        assert_allclose(radius, share, rtol=0.0, atol=1.5e-3)


def test_delp1990_points_at_the_height_of_its_model():
    foot = leg_segments(75.0, 1.80)[-1]
    assert_allclose(1.80 * np.array(HEEL_FRACTION), [-0.0488, -0.0420], rtol=0.0, atol=1e-4)
    assert_allclose(foot.length, [0.1300, -0.0440], rtol=0.0, atol=1e-4)


def test_mass_and_inertia_scale_with_mass_and_height():
    one, other = leg_segments(60.0, 1.60), leg_segments(90.0, 1.76)
    assert_allclose(other[2].mass / one[2].mass, 1.5, rtol=1e-12)
    assert_allclose(other[1].inertia / one[1].inertia, 1.5 * 1.1**2, rtol=1e-12)
