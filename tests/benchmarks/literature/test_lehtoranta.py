"""Statements of Lehtoranta (2011) on analytical laws, each by a computation of its own."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq
from scipy.special import ellipe, ellipk

from benchmarks.literature.lehtoranta import dissipation, hertz, introduction, linear, table_2
from foundation.contact_laws import LinearHysteresisLaw


@cache
def rows(section):
    return {each.place: each for each in (row() for row in section.STATEMENTS)}


def test_without_the_recorded_walk_nothing_is_said_of_telemetry(monkeypatch, tmp_path):
    monkeypatch.setenv("KNEE_DATA", str(tmp_path))
    telemetry = introduction.STATEMENTS[0]()
    assert telemetry.verdict == "undecidable"
    assert telemetry.ours == ""


def test_adhesion_by_a_dense_path():
    """The least load of Johnson, Kendall & Roberts and the work up to there."""
    radius, modulus, adhesion = 0.04, 6e6, 0.05
    # The largest radius is that without load.
    largest = (4.5 * math.pi * adhesion * radius**2 / modulus) ** (1.0 / 3.0)
    a = np.linspace(largest, 0.5 * largest, 200001)
    load = 4.0 * modulus * a**3 / (3.0 * radius) - np.sqrt(8 * math.pi * adhesion * modulus * a**3)
    depth = a**2 / radius - np.sqrt(2.0 * math.pi * adhesion * a / modulus)
    least = int(load.argmin())
    assert_allclose(-load[least], introduction.jkr_pull_off(radius, adhesion), rtol=1e-8)
    work = np.trapezoid(load[: least + 1], depth[: least + 1])
    ours = introduction.jkr_separation_work(radius, modulus, adhesion)
    assert_allclose(ours, work, rtol=1e-4)


def test_eq_3_returns_the_root():
    """Areas of the loop: work of approach K δ²/2, of retreat c K δ²/2."""
    given, stiffness, depth = 0.3, 2e4, 3e-3
    spent = quad(lambda d: stiffness * d, 0.0, depth)[0]
    returned = quad(lambda d: given * stiffness * d, 0.0, depth)[0]
    assert_allclose(math.sqrt(returned / spent), math.sqrt(given), rtol=1e-12)
    assert abs(math.sqrt(returned / spent) - given) > 0.2
    assert "0.707 for c = 0.5" in linear.eq_3().ours


def test_the_misfit_of_a_power_law_is_least():
    depth = np.linspace(1e-4, 3e-4, 7)
    assert linear.power_law_misfit(3.0 * depth**1.5, depth, 1.5) < 1e-12
    force = depth**1.8
    found = linear.power_law_misfit(force, depth, 1.5)
    tried = [
        np.sqrt(np.mean((k * depth**1.5 / force - 1.0) ** 2)) for k in np.linspace(0.01, 0.2, 2000)
    ]
    assert_allclose(found, min(tried), rtol=1e-3)


def test_eq_4_and_8_by_quadrature():
    """Peak over mean: 3/2 of an ellipsoid, eq. 8, and 2 of a paraboloid."""
    for power, wanted in ((0.5, 1.5), (1.0, 2.0)):
        mean = quad(lambda r, n=power: 2.0 * r * (1.0 - r * r) ** n, 0.0, 1.0)[0]
        assert_allclose(1.0 / mean, wanted, rtol=1e-9)
    row = rows(hertz)["eq. 4"]
    assert row.verdict == "error in print"
    assert "half-ellipsoid has 1.500, a paraboloid 2.000" in row.ours


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
        assert_allclose(hertz.cubic(q, (-0.7867, 0.4366, -0.1001)), plus, rtol=1e-14)
    assert "0.5498 with plus" in rows(hertz)["table 1, F₄"].ours


def test_q_is_a_quotient():
    """The printed product changes with the unit and with the size of alike bodies."""
    assert_allclose(math.sqrt(0.1 * 0.025) * 1e3, math.sqrt(100.0 * 25.0))
    one, other = (math.sqrt(s * 0.1 * s * 0.025) for s in (1.0, 2.0))
    assert_allclose(other, 2.0 * one, rtol=1e-12)
    assert "the quotient has q = 2" in rows(hertz)["eq. of q"].ours


def test_eq_9_needs_the_relative_radii():
    """Two spheres: half the radius of either, so that K is 1/√2 of that with the own radius."""
    modulus = 0.5 * 5e6 / (1.0 - 0.46**2)
    wanted = 4.0 / 3.0 * modulus * math.sqrt(0.02)
    assert f"{wanted:.4g} with relative radii" in rows(hertz)["eq. 9-11"].ours


def test_eq_11_has_the_force():
    """δ = a²/R with a³ = 3PR/(4E*) of two spheres (Johnson 1985, eq. 4.22 and 4.23)."""
    modulus, radius = 0.5 * 5e6 / (1.0 - 0.46**2), 0.02
    depth = (0.75 * 100.0 * radius / modulus) ** (2.0 / 3.0) / radius
    row = rows(hertz)["eq. 11"]
    assert row.verdict == "error in print"
    assert f"{1e3 * depth:.4f} mm with P" in row.ours


def test_eq_18_to_20_by_conservation():
    """Momentum and restitution of two bodies, without an integration."""
    m1, m2, v, c = 0.4, 1.2, 0.5, 0.7
    after = [m1 * v / (m1 + m2) + sign * part * c * v / (m1 + m2) for sign, part in
             ((-1.0, m2), (1.0, m1))]  # fmt: skip
    lost = 0.5 * (m1 * (v**2 - after[0] ** 2) - m2 * after[1] ** 2)
    assert_allclose(0.5 * m1 * m2 / (m1 + m2) * v**2 * (1.0 - c**2), lost, rtol=1e-12)
    law = LinearHysteresisLaw(1e5, c)
    assert_allclose(dissipation.two_body_loss(law, (m1, m2), v), lost, rtol=1e-6)


def test_eq_19_in_closed_form():
    """With s = (δ/δₘ)^2.5 the integral is ∫√(1 - s) ds = 2/3."""
    found = dissipation.elastic_loop(3e5, 2e6, 0.2, 0.7)
    assert_allclose(found, 2.0 * 3e5 * 0.2 * 0.7**3 / (3.0 * 2e6), rtol=1e-8)


def test_eq_22_loses_what_a_simulated_impact_loses():
    lost = loss_of_impact(0.75 * (1.0 - 0.9**2))
    assert_allclose(dissipation.lankarani_loss_share(0.9), lost[1] / (0.5 * (1 - 0.81)), rtol=1e-6)


def loss_of_impact(a: float) -> tuple[float, float]:
    """Return losses of the approach and of the whole impact, with m = K = δ̇₀ = 1."""

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
    return into.y[2, -1], out.y[2, -1]


@pytest.mark.parametrize("c", [0.3, 0.6, 0.9])
def test_eq_23_counts_approach_and_retreat(c):
    """Loss of an impact on Flores's law over that of its approach."""
    a = 1.6 * (1.0 - c) / c
    approach, whole = loss_of_impact(a)
    share = whole / approach
    assert abs(share - (1.0 + c)) < 0.1 < abs(share - (1.0 - c))
    assert f"{share:.2f} for c = {c:g}" in rows(dissipation)["eq. 23"].ours
    # The factor of the law follows from the loss with plus.
    assert_allclose(dissipation.flores_factor(c), a, rtol=1e-12)
    # With minus the approach would lose (1 - c²)/(1 - c) > 1 of the kinetic energy.
    assert (1.0 - c * c) / (1.0 - c) > 1.0


def test_ends_of_the_forces():
    """By hand: without indentation springs and eq. 17 bear nothing, a dashpot D δ̇."""
    law = dissipation.KelvinVoigtLaw(1e5, 0.5, 0.3)
    damping = 2.0 * law.damping_ratio * math.sqrt(1e5 * 0.3)
    row = rows(dissipation)["section 3.2 and 3.3, eq. 14-17"]
    assert row.verdict == "agrees"
    assert f"{0.5 * damping:.0f} N at the start and {-0.25 * damping:.0f} N at the end" in row.ours


def test_limits_of_the_factors():
    """c = 1 and c = 0 of eqs. 16 and 21, by hand."""
    assert (
        "0 and 0 at c = 1, 1.5 and 0.75 at c = 0" in rows(dissipation)["section 3.4, eq. 22"].ours
    )


def test_table_2_by_hand():
    weights = np.array(table_2.WEIGHTS)
    sums = {name: float(np.array(marks) @ weights) for name, marks in table_2.MARKS.items()}
    wanted = [0.7005, 0.702, 0.704, 0.7105]
    assert_allclose(list(sums.values()), wanted, rtol=0.0, atol=1e-12)
    for name, value in sums.items():
        assert_allclose(table_2.total(name), value, rtol=1e-14)
    # Versatility 0.95 in place of 0.80 would make up for the difference.
    assert_allclose(0.724 - 0.7105, 0.09 * 0.15, rtol=1e-9)
    surrogate = rows(table_2)["table 2, surrogate"]
    assert surrogate.ours.endswith("that gives 0.724: versatility 0.95")
    assert surrogate.verdict == "error in print"
