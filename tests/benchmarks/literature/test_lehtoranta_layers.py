"""Layers, springs and finite elements of Lehtoranta (2011), each by a computation of its own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

from benchmarks.axisymmetric_layer import contact_forces
from benchmarks.literature.lehtoranta import articular, elements, foundation_springs
from benchmarks.literature.lehtoranta.layers import (
    CARTILAGE,
    POLYETHYLENE,
    by_elements,
    by_springs,
    by_springs_at_load,
    confined_modulus,
    pressed,
)
from foundation.elastic_foundation.laws import LinearLaw, ModifiedLaw


@pytest.mark.parametrize("case", [POLYETHYLENE, CARTILAGE], ids=["polyethylene", "cartilage"])
def test_finite_elements_follow_the_exact_layer(case):
    found, exact = by_elements(case, 2e-4, spacing=1e-4, reach=5e-3), pressed(case, 2e-4)
    assert_allclose([found.load, found.peak], [exact.load, exact.peak], rtol=0.01)
    assert_allclose(found.area, exact.area, rtol=0.03)


def test_springs_under_a_ball_by_quadrature():
    stiffness = confined_modulus(POLYETHYLENE) / 8e-3
    edge = math.sqrt(2.0 * 0.03 * 1e-4)
    load = quad(lambda r: 2 * math.pi * r * stiffness * (1e-4 - r * r / 0.06), 0.0, edge)[0]
    found = by_springs(POLYETHYLENE, 1e-4)
    assert_allclose([found.load, found.area], [load, math.pi * edge**2], rtol=1e-9)
    assert_allclose(by_springs_at_load(POLYETHYLENE, load).approach, 1e-4, rtol=1e-9)


def test_simplified_elasticity_begins_as_springs_and_is_stiffer():
    small, large = 1e-4, 300.0
    for load, within in ((small, 1e-3), (large, 1.0)):
        thin, springs = articular.simplified(CARTILAGE, load), by_springs_at_load(CARTILAGE, load)
        assert_allclose(thin.load, load, rtol=1e-4)
        assert 1.0 < thin.peak / springs.peak < 1.0 + within


def test_modified_foundation_sums_the_springs_of_the_law():
    parameters = articular.Modified(3.0, 0.7, 8e-3**0.7)
    found = parameters.press(POLYETHYLENE, 3e-4)
    reference = (8e-3 / parameters.thickness) ** (1.0 / 0.3)
    law = ModifiedLaw(463e6, 0.46, 8e-3, f=3.0, m=0.7, reference_indentation=reference)
    r = np.linspace(0.0, 5e-3, 501)
    pressure = law.pressure(3e-4 - r**2 / 0.06)
    assert_allclose(found.peak, pressure[0], rtol=1e-9)
    assert_allclose(found.load, np.trapezoid(2.0 * math.pi * r * pressure, r), rtol=1e-3)


def test_reference_indentation_once_is_free_of_units():
    for exponent in (0.5, 0.9):
        once = [
            (1e-4 * s) ** exponent * (1e-3 * s) ** (1 - exponent) / (8e-3 * s) for s in (1, 1e3)
        ]
        twice = [o * (1e-3 * s) ** (1 - exponent) for o, s in zip(once, (1, 1e3), strict=True)]
        assert_allclose(once[0], once[1], rtol=1e-12)
        assert_allclose(twice[1] / twice[0], 1e3 ** (1 - exponent), rtol=1e-12)


@pytest.mark.slow
def test_the_peak_of_springs_goes_with_the_root_of_the_modulus():
    """So Poisson's ratio matters to a foundation of any geometry: 0.3 to 0.45 by √2.82."""
    moduli = [(1 - nu) / ((1 + nu) * (1 - 2 * nu)) for nu in (0.3, 0.45)]
    springs = [articular.joint_peaks(nu)[0] for nu in (0.3, 0.45)]
    assert_allclose(springs[1] / springs[0], math.sqrt(moduli[1] / moduli[0]), rtol=1e-9)
    # Without a coarse grid: the exact layer of the joint changes more than slightly as well.
    assert articular.layer_peak(0.45) > 1.3 * articular.layer_peak(0.1)


def test_layers_in_series_by_equal_pressure():
    """Force of two springs in series over a paraboloid, by hand."""
    first, second = LinearLaw(10e6, 0.45, 2e-3), LinearLaw(5e6, 0.4, 3e-3)
    k1, k2 = (law.confined_modulus / float(law.thickness) for law in (first, second))
    series = foundation_springs.SeriesLaw(first, second)
    force, area, peak = foundation_springs.paraboloid_sums(series, 4e-4)
    parts = peak / k1 + peak / k2
    assert 1.9e-4 < parts <= 2e-4
    assert_allclose(force, math.pi * 0.03 * (k1 * k2 / (k1 + k2)) * 2e-4**2, rtol=5e-3)
    assert_allclose(area, 2.0 * math.pi * 0.03 * 2e-4, rtol=0.03)


def test_penalty_softens_the_contact_by_its_own_compliance():
    """Forces of a penalty α are those of the compliance with 1/α added: an oracle by NNLS."""
    body = elements.patch()
    for alpha in (1e7, 1e9):
        softened = body.compliance + np.eye(len(body.overlap)) / alpha
        _, force = elements.penalty(body, alpha)
        wanted = contact_forces(softened, body.overlap)
        assert_allclose(force, wanted, rtol=0.0, atol=1e-7 * wanted.max())


def test_multipliers_are_the_forces_without_a_penalty():
    body = elements.patch()
    u, force, rounds = elements.lagrange(body)
    wanted = contact_forces(body.compliance, body.overlap)
    assert_allclose(force, wanted, rtol=0.0, atol=1e-8 * wanted.max())
    assert rounds > 1
    # No node enters the ball, and the nodes with a force are on it.
    gap = -(body.overlap + u[body.surface])
    assert gap.min() > -1e-12
    assert np.abs(gap[force > 0.0]).max() < 1e-12


def test_carried_forces_reach_the_multipliers():
    body = elements.patch()
    force, left, count = elements.repeated(body, 1e8, 1e-8)
    assert_allclose(force.sum(), elements.lagrange(body)[1].sum(), rtol=1e-6)
    assert left < 1e-12
    assert 3 < count < 50


def test_both_compartments_touch():
    assert all(area > 20.0 for area in foundation_springs.implant_areas())
