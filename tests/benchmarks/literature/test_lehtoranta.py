"""Errors in print of Lehtoranta (2011), each by a computation of its own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq
from scipy.special import ellipe, ellipk

from benchmarks.literature import lehtoranta

ERRATA = {each.place.split(",")[0]: each for each in lehtoranta.errata()}


def test_errata_are_those_known():
    places = ["eq. 3", "eq. 9-11", "eq. of q", "table 1", "figure 5", "eq. 23", "eq. 46-49"]
    assert list(ERRATA) == places
    assert all(each.proven for each in ERRATA.values())


def test_eq_3_returns_the_root():
    """Areas of the loop: work of approach K δ²/2, of retreat c K δ²/2."""
    given, stiffness, depth = 0.3, 2e4, 3e-3
    spent = quad(lambda d: stiffness * d, 0.0, depth)[0]
    returned = quad(lambda d: given * stiffness * d, 0.0, depth)[0]
    assert_allclose(math.sqrt(returned / spent), math.sqrt(given), rtol=1e-12)
    assert abs(math.sqrt(returned / spent) - given) > 0.2


def by_elliptic_integrals(q: float) -> tuple[float, float]:
    """Return F₄ = q b/a, and b/a, from R'/R" = ((a/b)² E - K)/(K - E), Johnson 1985, eq. 4.28."""

    def mismatch(k: float) -> float:
        m = 1.0 - k * k
        return (ellipe(m) / k**2 - ellipk(m)) / (ellipk(m) - ellipe(m)) - q * q

    k = brentq(mismatch, q**-2.0, 1.0 / q - 1e-9)
    return q * k, k


def test_sign_of_c2_in_f4():
    for q in (3.0, 10.0):
        truth, _ = by_elliptic_integrals(q)
        x = math.log10(q)
        minus, plus = (
            1.0 - 0.7867 * x + sign * 0.4366 * x**2 - 0.1001 * x**3 for sign in (-1.0, 1.0)
        )
        assert abs(plus / truth - 1.0) < 1e-3
        assert abs(minus / truth - 1.0) > 0.2
    assert "0.5498 with plus" in ERRATA["table 1"].shown


@pytest.mark.parametrize(("theta", "m", "n"), [(30, 2.731, 0.493), (60, 1.486, 0.717), (90, 1, 1)])
def test_figure_5_has_m_above_1_timoshenko_goodier1970(theta, m, n):
    """Their table of the coefficients of the semi-axes, section 142."""
    assert_allclose(lehtoranta.axis_coefficients(math.radians(theta)), [m, n], rtol=0.0, atol=1e-3)


def test_q_is_a_quotient():
    """The printed product changes with the unit and with the size of alike bodies."""
    assert_allclose(math.sqrt(0.1 * 0.025) * 1e3, math.sqrt(100.0 * 25.0))
    one, other = (math.sqrt(s * 0.1 * s * 0.025) for s in (1.0, 2.0))
    assert_allclose(other, 2.0 * one, rtol=1e-12)
    assert "the quotient has q = 2" in ERRATA["eq. of q"].shown


def test_eq_9_needs_the_relative_radii():
    """Two spheres: half the radius of either, so that K is 1/√2 of that with the own radius."""
    modulus = 0.5 * 5e6 / (1.0 - 0.46**2)
    wanted = 4.0 / 3.0 * modulus * math.sqrt(0.02)
    assert f"{wanted:.4g} with relative radii" in ERRATA["eq. 9-11"].shown


@pytest.mark.parametrize("c", [0.3, 0.6, 0.9])
def test_eq_23_counts_approach_and_retreat(c):
    """Loss of an impact on Flores's law over that of its approach, with m = K = δ̇₀ = 1."""
    a = 1.6 * (1.0 - c) / c

    def motion(_: float, y: np.ndarray) -> list[float]:
        damping = a * max(y[0], 0.0) ** 1.5 * y[1]
        return [y[1], -(max(y[0], 0.0) ** 1.5) - damping, damping * y[1]]

    def turned(_: float, y: np.ndarray) -> float:
        return y[1]

    def left(_: float, y: np.ndarray) -> float:
        return y[0] - 1e-12

    turned.terminal, left.terminal, left.direction = True, True, -1.0
    options = {"rtol": 1e-10, "atol": 1e-13}
    into = solve_ivp(motion, (0.0, 50.0), [0.0, 1.0, 0.0], events=turned, **options)
    out = solve_ivp(motion, (0.0, 500.0), into.y[:, -1], events=left, **options)
    share = out.y[2, -1] / into.y[2, -1]
    assert abs(share - (1.0 + c)) < 0.1 < abs(share - (1.0 - c))
    assert f"{share:.2f} for c = {c:g}" in ERRATA["eq. 23"].shown
    # The factor of the law follows from the loss with plus.
    assert_allclose(lehtoranta.flores_factor(c), a, rtol=1e-12)
    # With minus the approach would lose (1 - c²)/(1 - c) > 1 of the kinetic energy.
    assert (1.0 - c * c) / (1.0 - c) > 1.0


def test_reference_indentation_once_is_free_of_units():
    for exponent in (0.5, 0.9):
        once = [
            (1e-4 * s) ** exponent * (1e-3 * s) ** (1 - exponent) / (8e-3 * s) for s in (1, 1e3)
        ]
        twice = [o * (1e-3 * s) ** (1 - exponent) for o, s in zip(once, (1, 1e3), strict=True)]
        assert_allclose(once[0], once[1], rtol=1e-12)
        assert_allclose(twice[1] / twice[0], 1e3 ** (1 - exponent), rtol=1e-12)
    assert "31.6 times" in ERRATA["eq. 46-49"].shown


@pytest.mark.slow
def test_verdicts():
    found = {each.printed.split(":")[0]: each.agrees for each in lehtoranta.statements()}
    assert [name for name, agrees in found.items() if not agrees] == [
        "Hunt-Crossley",
        "Lankarani-Nikravesh",
    ]
