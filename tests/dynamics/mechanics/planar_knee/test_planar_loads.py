"""Loads of the planar knee: potential, pull, power, ligaments and their published rest lengths."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from differences import differences
from numpy.testing import assert_allclose
from scipy.integrate import quad

from dynamics.mechanics.planar_knee import (
    PlanarLigament,
    Pull,
    machado_knee,
    machado_ligaments,
    machado_state,
)

KNEE = machado_knee(law="hertz")
# Pushed into the femur and turned, LCL and PCL taut.
STATE = machado_state() + np.array([0.004, -0.001, 0.12, 0.3, -0.2, 1.5])

REST = np.array([each.rest_length for each in KNEE.ligaments])
LIGAMENT = PlanarLigament("one", [-0.02, -0.01], [0.16, 0.01], 0.06, 15e6)


def test_conservative_loads_are_minus_the_gradient_of_the_energy():
    still = replace(KNEE, pull=None)
    contact = still.contact_state(STATE)
    assert contact.indentation > 5e-4
    assert (still.ligament_lengths(tuple(STATE[:3])) > REST).tolist() == [False, True, False, True]

    def potential(state: np.ndarray) -> float:
        return sum(still.energies(state, still.contact_state(state).indentation)[1:])

    force = still.loads(0.0, STATE, contact, 0.1).force
    assert_allclose(force, -differences(potential, STATE)[:3], rtol=1e-6, atol=1e-5)


def test_rate_of_indentation_is_its_derivative():
    move = np.concatenate((STATE[3:], np.zeros(3)))
    slope = differences(lambda t: KNEE.contact_state(STATE + t * move).indentation, [0.0])
    assert_allclose(KNEE.contact_state(STATE).rate, slope[0], rtol=1e-7, atol=1e-9)


def test_kinetic_energy():
    kinetic, gravitational, _, _ = KNEE.energies(STATE, -1.0)
    assert_allclose(kinetic, 0.5 * 3.75 * 0.13 + 0.5 * 0.165 * 1.5**2, rtol=1e-12, atol=0.0)
    assert_allclose(gravitational, 3.75 * 9.80665 * STATE[1], rtol=1e-12, atol=0.0)


def test_pull_adds_its_force_and_power():
    contact = KNEE.contact_state(STATE)
    without = replace(KNEE, pull=None).loads(0.0135, STATE, contact, 0.1)
    upward = replace(KNEE, pull=Pull(50.0, direction=[0.0, 3.0])).loads(0.0135, STATE, contact, 0.1)
    size = 50.0 * math.exp(-4.73 * 0.27**2) * math.sin(0.27 * math.pi)
    gain = np.array(upward.force) - np.array(without.force)
    assert_allclose(gain, [0.0, size, 0.0], rtol=0.0, atol=1e-10)
    assert_allclose(upward.pull_power, size * STATE[4], rtol=1e-12, atol=0.0)
    assert without.pull_power == 0.0


def test_pull_peak_and_end():
    pull = Pull(150.0)
    times = np.linspace(-0.01, 0.05, 6001)
    size = np.array([pull.magnitude(t) for t in times])
    assert (size[times <= 0.0] == 0.0).all()
    assert_allclose(size.max(), 0.5318 * 150.0, rtol=1e-4, atol=0.0)
    assert_allclose(times[size.argmax()], 0.278 * 0.05, rtol=2e-3, atol=0.0)
    late = [abs(pull.magnitude(t)) for t in np.linspace(0.05, 0.2, 301)]
    assert max(late) < 0.0011 * 150.0


def test_loss_is_positive_on_the_way_in_and_out():
    knee = machado_knee(law="lankarani-nikravesh")
    for sign in (1.0, -1.0):
        state = STATE * np.array([1.0, 1.0, 1.0, sign, sign, sign])
        contact = knee.contact_state(state)
        loads = knee.loads(0.0, state, contact, 0.5)
        assert loads.loss_power > 0.0


def test_impact_rate_has_a_lower_limit():
    knee = machado_knee(law="lankarani-nikravesh")
    contact = knee.contact_state(STATE)
    forces = [knee.loads(0.0, STATE, contact, rate).contact_force for rate in (1e-9, 0.01, 0.02)]
    assert forces[0] == forces[1] != forces[2]


def test_ligament_tension_and_energy():
    assert LIGAMENT.tension(0.06) == LIGAMENT.tension(0.05) == LIGAMENT.energy(0.05) == 0.0
    assert_allclose(LIGAMENT.tension(0.062), 15e6 * 0.002**2, rtol=1e-13, atol=0.0)
    linear = replace(LIGAMENT, stiffness=5e4, kind="linear")
    assert linear.tension(0.06) == linear.energy(0.05) == 0.0
    assert_allclose(linear.tension(0.062), 100.0, rtol=1e-13, atol=0.0)
    for each in (LIGAMENT, linear):
        stored = quad(each.tension, 0.06, 0.063)[0]
        assert_allclose(each.energy(0.063), stored, rtol=1e-12, atol=0.0)


def test_ligament_load_is_minus_the_gradient_of_the_energy():
    place = (-0.21, -0.19, 0.7)
    assert LIGAMENT.length(place) > 0.062
    slope = differences(lambda at: LIGAMENT.energy(LIGAMENT.length(tuple(at))), place)
    assert_allclose(LIGAMENT.load(place), -slope, rtol=1e-6, atol=1e-6)


def test_slack_ligament_does_nothing():
    assert LIGAMENT.load((-0.19, -0.01, 0.0)) == (0.0, 0.0, 0.0)


def test_machado2010_rest_lengths_follow_with_the_femur_aligned():
    place = tuple(machado_state()[:3])
    for ligament in machado_ligaments():
        assert_allclose(ligament.length(place), ligament.rest_length, rtol=0.0, atol=1e-4)


def test_machado2010_rest_lengths_do_not_follow_with_the_femur_at_90_degrees():
    place = tuple(machado_state()[:3])
    quarter = np.array([[0.0, -1.0], [1.0, 0.0]])
    for each in machado_ligaments():
        turned = replace(each, femoral=quarter @ each.femoral)
        assert abs(turned.length(place) - each.rest_length) > 3e-3


def test_machado2010_table():
    found = {each.name: each for each in machado_ligaments()}
    assert list(found) == ["MCL", "LCL", "ACL", "PCL"]
    assert [each.stiffness for each in found.values()] == [15e6, 15e6, 35e6, 30e6]
    assert_allclose(found["PCL"].tibial, [0.21, 0.035], rtol=0.0, atol=0.0)
    assert_allclose(found["ACL"].femoral, [-0.033, -0.017], rtol=0.0, atol=0.0)
