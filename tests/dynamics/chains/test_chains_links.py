"""Laws of the links."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.mechanics.chains import ViscoelasticLink
from dynamics.mechanics.chains.links import LinkLaws
from dynamics.simulator.equations import SimulationError


def link(**change) -> ViscoelasticLink:
    values = {
        "name": "strap",
        "first": ("limb", "thigh"),
        "first_point": [0.1, 0.0],
        "second": ("orthosis", "bar"),
        "second_point": [0.1, 0.02],
        "stiffness": 1000.0,
        "damping": 20.0,
    }
    return ViscoelasticLink(**(values | change))


def test_a_line_pulls_and_pushes_along_itself():
    laws = LinkLaws.of([link(rest_length=0.4)])
    # 0.1 m too long, and opening at 0.6 m/s; the velocity across the line has no force.
    along, across = 0.6 + 0.8j, -0.8 + 0.6j
    found = laws.forces(np.array([0.5 * along]), np.array([0.6 * along + 3.0 * across]))
    assert_allclose(found, [-(1000.0 * 0.1 + 20.0 * 0.6) * along], rtol=1e-13)
    pushed = laws.forces(np.array([0.3 * along]), np.array([0j]))
    assert_allclose(pushed, [1000.0 * 0.1 * along], rtol=1e-13)
    assert_allclose(laws.energy(np.array([0.3 * along])), 0.5 * 1000.0 * 0.01, rtol=1e-13)


def test_a_bushing_acts_to_all_sides():
    laws = LinkLaws.of([link(kind="bushing")])
    found = laws.forces(np.array([0.01 + 0.02j]), np.array([-0.1 + 0.3j]))
    assert_allclose(found, [-(10.0 - 2.0) - (20.0 + 6.0) * 1j], rtol=1e-13)
    # Coinciding points have no direction, and need none.
    assert_allclose(laws.forces(np.array([0j]), np.array([0.5j])), [-10.0j], rtol=1e-13)


@pytest.mark.parametrize("kind", ["line", "bushing"])
def test_elastic_force_is_the_slope_of_the_energy(kind):
    laws = LinkLaws.of([link(kind=kind, rest_length=0.3 if kind == "line" else 0.0)])
    at, step = np.array([0.2 - 0.15j]), 1e-6
    slope = [
        (laws.energy(at + step * side) - laws.energy(at - step * side)) / (2.0 * step)
        for side in (1.0, 1.0j)
    ]
    force = laws.forces(at, np.array([0j]))[0]
    assert_allclose([force.real, force.imag], np.negative(slope), rtol=1e-7)


def test_a_line_without_length_is_an_error_that_names_it():
    laws = LinkLaws.of([link(kind="bushing"), link(name="rod")])
    with pytest.raises(SimulationError, match=r"link rod: the points of a line coincide"):
        laws.forces(np.zeros(2, dtype=complex), np.zeros(2, dtype=complex))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stiffness": -1.0}, r"link strap: stiffness: expected >= 0 N/m, found -1.0"),
        ({"damping": np.nan}, r"link strap: damping: expected >= 0 N s/m, found nan"),
        ({"rest_length": -0.1}, r"link strap: rest_length: expected >= 0 m"),
        ({"rest_length": 0.1, "kind": "bushing"}, r"rest_length: expected .* <= 0 m, found 0.1"),
        ({"kind": "cable"}, r"link strap: kind: expected one of .* found 'cable'"),
        ({"first": "limb"}, r"link strap: first: expected \(chain, segment\), found 'limb'"),
        ({"first": ("limb", 1)}, r"link strap: first: expected \(chain, segment\), found"),
        ({"second": ("limb", "thigh")}, r"link strap: second: expected a segment other than"),
        ({"second_point": [0.1]}, r"link strap: second_point: expected shape \(2\)"),
        ({"first_point": [np.nan, 0.1]}, r"link strap: first_point: expected finite"),
    ],
)
def test_bad_links_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        link(**change)
