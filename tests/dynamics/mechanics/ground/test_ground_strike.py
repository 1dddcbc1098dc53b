"""Strike on compliant ground: closed forms, statics, energy, lasting contact of several points."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from some_slow import first_of

from dynamics.mechanics.ground import (
    ContactPoint,
    Leg,
    PenaltyGround,
    simulate_strike,
    striking_leg,
)
from dynamics.mechanics.ground.contact import contact_arms
from dynamics.mechanics.segments import Segment
from foundation.contact_laws import CompliantFriction
from tests.oracles.heel_strike import heel_strike, soft

GRIP = CompliantFriction(1e5, 100.0, 0.4)


def foot(centre: float = 0.0, mass: float = 1.0, gravity: float = 9.81) -> Leg:
    """A rigid body that is free in the plane."""
    return Leg({"foot": Segment(mass, [0.0, 0.0], [centre, 0.0], 0.01)}, gravity=gravity)


def under(*places: float, sole: float = 0.05) -> list[ContactPoint]:
    """Contact points in a level sole."""
    return [ContactPoint(f"at {x:g}", "foot", [x, -sole]) for x in places]


@pytest.mark.parametrize("beta", [0.0, 20.0, 100.0])
def test_bounce_schwager_poschel2007(beta):
    """A linear dashpot contact that ends where its force does; Phys Rev E 78:051304, eq. for e."""
    ground = PenaltyGround(1e-4, beta, GRIP)
    own = beta / 2.0
    omega = np.sqrt(1e4 - own**2)
    phase = np.pi - np.arctan2(2.0 * own * omega, omega**2 - own**2)
    restitution = np.exp(-own / omega * phase)
    leg = foot(gravity=0.0)
    result = simulate_strike(leg, under(0.0), ground, [0.0, 0.05, 0.0], [0.0, -0.5, 0.0], 0.2)
    assert_allclose(result.velocity[-1, 1], 0.5 * restitution, rtol=1e-7, atol=0.0)
    assert_allclose(result.velocity[-1, [0, 2]], 0.0, atol=1e-12)


def test_damped_oscillation_about_rest_in_closed_form():
    """Contact under gravity that does not open: x'' + 2 c x' + w² x = 0 about the rest."""
    beta, eps, g = 40.0, 1e-4, 9.81
    ground = PenaltyGround(eps, beta, GRIP)
    start = 0.05 - g * eps - 5e-4
    result = simulate_strike(foot(), under(0.0), ground, [0.0, start, 0.0], np.zeros(3), 0.3)
    decay, omega = beta / 2.0, np.sqrt(1.0 / eps - (beta / 2.0) ** 2)
    t = result.time
    swing = np.cos(omega * t) + decay / omega * np.sin(omega * t)
    expected = 0.05 - g * eps - 5e-4 * np.exp(-decay * t) * swing
    assert_allclose(result.position[:, 1], expected, rtol=0.0, atol=1e-10)
    assert_allclose(result.forces[-1, 0, 1], 9.81, rtol=1e-2)


@pytest.mark.slow
def test_elastic_bounces_return_to_their_height():
    ground = PenaltyGround(1e-5, 0.0, CompliantFriction(1e5, 100.0, 0.0))
    start = [0.0, 0.15, 0.0]
    result = simulate_strike(
        foot(), under(0.0), ground, start, np.zeros(3), 1.0, rtol=1e-11, atol=1e-13
    )
    assert_allclose(result.energy, result.energy[0], rtol=1e-8, atol=0.0)
    assert sum(not change.closed for change in result.changes) == 3
    assert result.position[result.time > 0.2, 1].max() > 0.15 - 1e-5


@pytest.mark.slow
def test_sliding_stops_after_v2_over_2_mu_g():
    ground = PenaltyGround(1e-5, 200.0, GRIP)
    sunk = 0.5 * 9.81 * 1e-5
    start = [0.0, 0.02 - sunk, 0.0]
    result = simulate_strike(foot(), under(-0.1, 0.1, sole=0.02), ground, start, [1.0, 0, 0], 0.4)
    assert_allclose(result.position[-1, 0], 1.0 / (2.0 * 0.4 * 9.81), rtol=1e-3)
    assert_allclose(result.velocity[-1, 0], 0.0, atol=1e-6)
    assert_allclose(result.tangential_loss[-1], 0.5, rtol=1e-3)
    sliding = (result.time > 0.02) & (result.time < 0.24)
    assert_allclose(result.reaction[sliding, 0], -0.4 * 9.81, rtol=5e-3)


@pytest.mark.slow
@pytest.mark.parametrize("places", [(-0.1, 0.1), (-0.1, 0.02, 0.1)])
def test_standing_by_the_rule_of_the_lever(places):
    """Dropped level or tilted, the foot comes to rest on all points, which carry its weight."""
    centre = 0.05
    ground = PenaltyGround(1e-5, 200.0, GRIP)
    start = [0.0, 0.06, 0.02]
    result = simulate_strike(foot(centre), under(*places), ground, start, np.zeros(3), 0.5)
    loads = result.forces[-1, :, 1]
    assert (loads > 0.0).all()
    assert_allclose(loads.sum(), 9.81, rtol=1e-5)
    assert_allclose(loads @ np.array(places), 9.81 * centre, rtol=1e-2)
    if len(places) == 2:
        assert_allclose(loads, [9.81 * 0.25, 9.81 * 0.75], rtol=1e-2)
    assert_allclose(result.energy + result.loss, result.energy[0], rtol=1e-7, atol=0.0)


def test_points_that_land_together_both_count():
    ground = PenaltyGround(1e-5, 50.0, GRIP)
    places = under(-0.1, 0.1)
    result = simulate_strike(foot(), places, ground, [0.0, 0.15, 0.0], np.zeros(3), 0.5)
    closing = [change for change in result.changes if change.closed]
    assert {change.point for change in closing[:2]} == {each.name for each in places}
    assert_allclose(closing[0].time, np.sqrt(2.0 * 0.1 / 9.81), rtol=1e-8)
    assert_allclose(closing[1].time, closing[0].time, rtol=1e-10)
    assert_allclose(result.position[:, 2], 0.0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "angles", "height"), [(7, [0.21, 0.12], 6e-4), (4, [0.36, 0.38], 2.3e-3)]
)
def test_points_at_one_place_are_one_stiffer_point(count, angles, height):
    """They arrive together but for rounding."""
    leg, (heel, _) = striking_leg()
    many = [ContactPoint(f"heel {k}", heel.segment, heel.position) for k in range(count)]
    posture = np.array([0.0, 0.0, *angles])
    posture[1] = height - leg.positions(posture, contact_arms(leg, [heel]))[0, 1]
    state = posture, [0.0, -1.0, 0.0, 0.0], 0.05
    shared = simulate_strike(leg, many, PenaltyGround(), *state)
    friction = CompliantFriction(1e5 * count, 200.0 * count, 0.8)
    one = simulate_strike(leg, [heel], PenaltyGround(1e-5 / count, 500.0 * count, friction), *state)
    assert_allclose(shared.position, one.position, rtol=0.0, atol=1e-9)
    assert_allclose(shared.reaction, one.reaction, rtol=0.0, atol=1e-3)
    assert one.peak_reaction > 1.0


@pytest.mark.slow
def test_a_short_dip_below_the_ground_is_noticed():
    """The tip of a pendulum, at 3 m/s, is below the ground for 3 ms."""
    rod = Leg({"rod": Segment(10.0, [0.0, -1.0], [0.0, -0.5], 1.0)}, anchor=[0.0, 1.0 - 1e-5])
    tip = [ContactPoint("tip", "rod", [0.0, -1.0])]
    result = simulate_strike(rod, tip, PenaltyGround(), [-0.8], [0.0], 1.0)
    assert [change.closed for change in result.changes] == [True, False]


def test_start_at_rest_on_the_surface():
    result = simulate_strike(
        foot(), under(-0.1, 0.1), PenaltyGround(1e-5, 100.0), [0, 0.05, 0], np.zeros(3), 0.5
    )
    assert result.gap.min() > -2.1 * 0.5 * 9.81 * 1e-5
    assert_allclose(result.reaction[-1, 1], 9.81, rtol=1e-4)


@pytest.mark.parametrize("name", first_of(["locked", "hinged", "reversing"], 2))
def test_total_energy_never_rises(name):
    """Stored and lost work make up the energy to 1e-8; each loss grows alone."""
    result = soft(name)
    scale = result.energy[0]
    assert_allclose(result.energy + result.loss, scale, rtol=0.0, atol=1e-8 * scale)
    assert np.diff(result.energy).max() <= 1e-9 * scale
    for loss in (result.joint_loss, result.normal_loss, result.tangential_loss):
        assert np.diff(loss).min() >= -1e-9 * scale
    assert result.normal_loss[-1] > 1.0
    assert result.tangential_loss[-1] > 0.1


@pytest.mark.parametrize("name", ["locked", "hinged"])
def test_peak_reaction_above_body_weight(name):
    result = soft(name)
    assert 1.5 < result.peak_reaction < 3.0
    assert_allclose(result.weight, 75.0 * 9.81, rtol=1e-12)


def test_heel_then_ball_and_both_stay():
    result = soft("locked")
    assert [(each.point, each.closed) for each in result.changes] == [
        ("heel", True),
        ("ball", True),
    ]
    heel, ball = result.loaded("heel"), result.loaded("ball")
    assert np.argmax(heel) < np.argmax(ball)
    assert heel[np.argmax(heel) :].all()
    assert ball[np.argmax(ball) :].all()


@pytest.mark.parametrize("name", ["locked", "hinged", "reversing"])
def test_ground_only_pushes_and_friction_keeps_its_cone(name):
    tangential, normal = soft(name).forces[..., 0], soft(name).forces[..., 1]
    limit = 0.5 if name == "reversing" else 0.8
    assert normal.min() >= 0.0
    assert (np.abs(tangential) <= limit * normal * (1.0 + 1e-12) + 1e-12).all()


def test_reaction_is_the_change_of_momentum():
    result, leg = soft("locked"), heel_strike().leg
    mass = np.array([leg.mass_matrix(q)[:2] for q in result.position])
    momentum = np.einsum("tij,tj->ti", mass, result.velocity)
    force = result.reaction - [0.0, result.weight]
    impulse = np.trapezoid(force, result.time, axis=0)
    assert_allclose(impulse, momentum[-1] - momentum[0], rtol=0.0, atol=0.1)


@pytest.mark.slow
def test_tolerances_and_methods_agree():
    start = heel_strike()
    run = (start.leg, start.points, PenaltyGround(), start.position, start.velocity, 0.06)
    best = simulate_strike(*run, rtol=1e-12, atol=1e-13, method="DOP853").position[-1]
    errors = [
        abs(simulate_strike(*run, rtol=r, atol=0.1 * r).position[-1] - best).max()
        for r in (1e-4, 1e-6, 1e-8)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-8
    other = simulate_strike(*run, rtol=1e-6, atol=1e-7, method="Radau").position[-1]
    assert_allclose(other, best, rtol=0.0, atol=1e-6)
