"""Smoothing at the edge of the contact patch: limits, moments, and what the kernels evaluate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from foundation.elastic_foundation.edge_smoothing import edge_kernel, edge_table, smoothed_power
from foundation.kernels import EDGE_END
from foundation.kernels.edge import edge_part, edge_power, edge_ramp, table_value

EXPONENTS = [0.5, 0.7, 1.0, 1.2, 2.0]


@pytest.mark.parametrize(
    ("power", "moment"), [(0, 1.0), (1, 0.0), (2, 0.0), (3, 0.0), (4, -1 / 21)]
)
def test_moments_of_the_kernel(power, moment):
    found = quad(lambda x: x**power * edge_kernel(x), -1.0, 1.0)[0]
    assert found == pytest.approx(moment, abs=1e-14)
    assert edge_kernel(1.0) == edge_kernel(-1.0) == 0.0


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("t", [-0.6, 0.0, 0.4, 1.7])
def test_smoothed_power_is_the_mean_under_the_kernel(exponent, t):
    low = max(-t, -1.0)
    value = quad(lambda x: (t + x) ** exponent * edge_kernel(x), low, 1.0, epsabs=1e-12)[0]
    assert smoothed_power(exponent, t) == pytest.approx(value, rel=1e-8, abs=1e-10)
    # Beyond the reach of the kernel nothing bears.
    assert not any(smoothed_power(exponent, beyond) for beyond in (-1.0, -1.5, -7.0))


@pytest.mark.parametrize("exponent", [1.0, 2.0, 3.0])
def test_without_second_moment_cubics_are_kept(exponent):
    for t in (1.0, 1.01, 2.5, 9.0):
        assert smoothed_power(exponent, t) == pytest.approx(t**exponent, rel=1e-12)


def test_smoothing_adds_nothing_in_sum():
    """The integral of T(t) - max(t, 0) over the edge: half the kernel's second moment, none."""
    excess = sum(
        quad(lambda t: smoothed_power(1.0, t) - max(t, 0.0), *ends, epsabs=1e-12)[0]
        for ends in ((-1.0, 0.0), (0.0, 1.0))
    )
    assert excess == pytest.approx(0.0, abs=1e-10)


def test_polynomials_are_the_integrals_and_meet_their_ends_exactly():
    for polynomial in (edge_part, edge_ramp):
        assert (polynomial(-1.0), polynomial(1.0)) == (0.0, 1.0)
    for t in np.random.default_rng(3).uniform(-1.0, 1.0, 100):
        assert edge_part(t) == pytest.approx(quad(edge_kernel, -1.0, t)[0], abs=1e-14)
        assert edge_ramp(t) == pytest.approx(smoothed_power(1.0, t), abs=1e-13)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_table_agrees_with_quadrature(exponent):
    """Off the nodes; the functions have weak singularities at -1 and 1."""
    table = edge_table(exponent)
    at = np.random.default_rng(1).uniform(-1.0, EDGE_END, 300)
    found = np.array([table_value(table, t)[0] for t in at])
    exact = np.array([smoothed_power(exponent, t) for t in at])
    np.testing.assert_allclose(found, exact, rtol=0, atol=2e-6)
    far = np.abs(np.abs(at) - 1.0) > 0.05
    np.testing.assert_allclose(found[far], exact[far], rtol=0, atol=1e-7)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_slope_is_the_derivative(exponent):
    table, step = edge_table(exponent), 1e-6
    for t in np.random.default_rng(2).uniform(-0.99, EDGE_END - 0.01, 100):
        ahead, behind = (edge_power(table, exponent, t + s * step)[0] for s in (1, -1))
        assert edge_power(table, exponent, t)[1] == pytest.approx(
            (ahead - behind) / (2 * step), rel=1e-6, abs=1e-6
        )


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_series_takes_over_from_the_table_without_a_step(exponent):
    table = edge_table(exponent)
    below, above = (edge_power(table, exponent, EDGE_END * (1 + s)) for s in (-1e-12, 1e-12))
    np.testing.assert_allclose(above, below, rtol=1e-5)
    for t in (EDGE_END, 6.0, 40.0):
        found = edge_power(table, exponent, t)
        assert found[0] == pytest.approx(smoothed_power(exponent, t), rel=1e-5)


def test_tables_are_made_once_and_read_only():
    assert edge_table(1.2) is edge_table(1.2)
    with pytest.raises(ValueError, match="read-only"):
        edge_table(1.2)[0, 0] = 1.0
