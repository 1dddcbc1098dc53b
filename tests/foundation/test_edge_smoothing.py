"""Smoothing at the edge of the contact patch: limits, moments, and the tables the kernels read."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import dblquad, quad

from foundation.edge_smoothing import (
    area_table,
    disc_fraction,
    disc_mean,
    disc_table,
    smoothed_power,
)
from foundation.kernels import DISC_END
from foundation.kernels.edge import disc_power, table_value

EXPONENTS = [0.5, 0.7, 1.0, 1.2, 2.0]


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("t", [-0.6, 0.0, 0.4, 1.7])
def test_disc_mean_is_the_mean_over_a_disc(exponent, t):
    low, high = np.clip(-t, -1.0, 1.0), 1.0

    def half(x):
        return np.sqrt(1.0 - x * x)

    value = dblquad(
        lambda y, x: (t + x) ** exponent, low, high, lambda x: -half(x), half, epsabs=1e-9
    )[0]
    assert disc_mean(exponent, t) == pytest.approx(value / np.pi, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_nothing_bears_beyond_the_disc(exponent):
    for t in (-1.0, -1.5, -7.0):
        assert smoothed_power(exponent, t) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("exponent", [1.0, 2.0, 3.0])
def test_without_second_moment_cubics_are_kept(exponent):
    for t in (1.0, 1.01, 2.5, 9.0):
        assert smoothed_power(exponent, t) == pytest.approx(t**exponent, rel=1e-12)


def test_a_plain_disc_would_not_keep_them():
    assert disc_mean(2.0, 3.0) == pytest.approx(9.25, rel=1e-12)


def test_smoothing_adds_nothing_in_sum():
    """The integral of T(t) - max(t, 0) over the edge; a plain disc has 1/8, its second moment/2."""
    nodes = [-1.0, -0.5, 0.0, 0.5, 1.0]
    excess = [
        sum(
            quad(lambda t, f=f: f(1.0, t) - max(t, 0.0), a, b, epsabs=1e-12)[0]
            for a, b in pairwise(nodes)
        )
        for f in (smoothed_power, disc_mean)
    ]
    assert excess[0] == pytest.approx(0.0, abs=1e-9)
    assert excess[1] == pytest.approx(0.125, rel=1e-8)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_table_agrees_with_quadrature(exponent):
    """Off the nodes; the functions have weak singularities at -1, -1/2, 1/2 and 1."""
    table = disc_table(exponent)
    at = np.random.default_rng(1).uniform(-1.0, DISC_END, 300)
    found = np.array([table_value(table, t)[0] for t in at])
    exact = np.array([smoothed_power(exponent, t) for t in at])
    np.testing.assert_allclose(found, exact, rtol=0, atol=2e-6)
    far = np.abs(np.abs(at[:, None]) - [0.5, 1.0]).min(axis=1) > 0.05
    np.testing.assert_allclose(found[far], exact[far], rtol=0, atol=1e-7)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_slope_is_the_derivative(exponent):
    table, step = disc_table(exponent), 1e-6
    for t in np.random.default_rng(2).uniform(-0.99, DISC_END - 0.01, 100):
        ahead, behind = (table_value(table, t + s * step)[0] for s in (1, -1))
        assert table_value(table, t)[1] == pytest.approx(
            (ahead - behind) / (2 * step), rel=1e-6, abs=1e-6
        )


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_series_takes_over_from_the_table_without_a_step(exponent):
    table = disc_table(exponent)
    below, above = (disc_power(table, exponent, DISC_END * (1 + s)) for s in (-1e-12, 1e-12))
    np.testing.assert_allclose(above, below, rtol=1e-5)
    for t in (DISC_END, 6.0, 40.0):
        found = disc_power(table, exponent, t)
        assert found[0] == pytest.approx(smoothed_power(exponent, t), rel=1e-6)


def test_disc_fraction_is_the_area_of_a_segment():
    for t in (-1.0, -0.3, 0.0, 0.8, 1.0):
        area = quad(lambda x: 2.0 / np.pi * np.sqrt(1.0 - x * x), -t, 1.0)[0]
        assert disc_fraction(t) == pytest.approx(area, abs=1e-8)
        assert disc_fraction(t) + disc_fraction(-t) == pytest.approx(1.0, abs=1e-14)
    assert (disc_fraction(-3.0), disc_fraction(3.0)) == (0.0, 1.0)


def test_area_table_agrees():
    for t in np.random.default_rng(3).uniform(-1.0, 1.0, 200):
        assert table_value(area_table(), t)[0] == pytest.approx(disc_fraction(t), abs=2e-4)


def test_tables_are_made_once_and_read_only():
    assert disc_table(1.2) is disc_table(1.2)
    with pytest.raises(ValueError, match="read-only"):
        disc_table(1.2)[0, 0] = 1.0
