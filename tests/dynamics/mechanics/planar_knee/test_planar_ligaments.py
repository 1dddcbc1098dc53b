"""Ligaments of the planar knee: law, potential, published rest lengths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from differences import differences
from numpy.testing import assert_allclose
from scipy.integrate import quad

from dynamics.mechanics.planar_knee import PlanarLigament, machado_ligaments, machado_state

ONE = PlanarLigament("one", [-0.02, -0.01], [0.16, 0.01], 0.06, 15e6)


def test_tension_and_energy():
    assert ONE.tension(0.06) == ONE.tension(0.05) == ONE.energy(0.05) == 0.0
    assert_allclose(ONE.tension(0.062), 15e6 * 0.002**2, rtol=1e-13, atol=0.0)
    assert_allclose(ONE.energy(0.063), quad(ONE.tension, 0.06, 0.063)[0], rtol=1e-12, atol=0.0)


def test_load_is_minus_the_gradient_of_the_energy():
    place = (-0.21, -0.19, 0.7)
    assert ONE.length(place) > 0.062
    slope = differences(lambda at: ONE.energy(ONE.length(tuple(at))), place)
    assert_allclose(ONE.load(place), -slope, rtol=1e-6, atol=1e-6)


def test_slack_ligament_does_nothing():
    assert ONE.load((-0.19, -0.01, 0.0)) == (0.0, 0.0, 0.0)


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
