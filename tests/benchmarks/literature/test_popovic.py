"""Errors in Popović's equations, each shown once more by a computation of its own."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from benchmarks.literature import popovic

PHI, OMEGA, ALPHA, L = popovic.ANGLES, popovic.RATES, popovic.ACCELERATIONS, popovic.LENGTHS


def test_without_the_inverse_of_c_a_segment_moves_as_if_the_joint_before_stood_still():
    complete, lacking = popovic.constraint_velocities()
    assert complete < 1e-6
    # The error is the velocity of the centre of mass before; that of the second is the largest.
    centre = 0.5j * L * np.exp(1j * PHI) * OMEGA
    second = abs(2.0 * centre[0] + centre[1])
    assert_allclose(lacking, max(abs(centre[0]), second), rtol=1e-6)


def test_c_has_an_equation_for_x_and_one_for_y_of_each_joint():
    assert popovic.constraint_size() == (6, 6, 3)


def test_accelerations_have_one_pattern_of_signs():
    right, wrong, rates = popovic.acceleration_errors()
    assert right < 1e-4
    # Signs and sums by hand, term by term.
    x = -sum(L * (ALPHA * np.sin(PHI) + OMEGA**2 * np.cos(PHI)))
    y = sum(L * (ALPHA * np.cos(PHI) - OMEGA**2 * np.sin(PHI)))
    terms = (
        sum(L * ALPHA * np.sin(PHI)), sum(L * OMEGA**2 * np.cos(PHI)),
        sum(L * ALPHA * np.cos(PHI)), sum(L * OMEGA**2 * np.sin(PHI)),
    )  # fmt: skip
    assert_allclose(wrong, 2.0 * min(abs(each) for each in terms), rtol=1e-3)
    x_rates = -sum(L * (OMEGA * np.sin(PHI) + OMEGA**2 * np.cos(PHI)))
    y_rates = sum(L * (OMEGA * np.cos(PHI) - OMEGA**2 * np.sin(PHI)))
    assert rates <= np.hypot(x_rates - x, y_rates - y) + 1e-6
    assert rates > 1.0


def test_a_link_that_acts_on_one_bar_alone_makes_momentum():
    coupled, uncoupled = popovic.momenta()
    assert coupled < 1e-9
    assert uncoupled > 0.5


def test_only_the_complete_state_equation_conserves_energy():
    complete, without_centripetal, without_constants = popovic.energies()
    assert abs(complete) < 1e-8
    assert abs(without_centripetal) > 0.1
    assert abs(without_constants) > 0.1


def test_interrupted_chains_have_between_n_and_3n_coordinates():
    assert [popovic.interrupted(n) for n in (1, 2, 7)] == [(1, 3), (2, 6), (7, 21)]
