"""The exact layer contact against published values, closed forms, limits and a second method."""

from math import inf

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.linalg import expm
from some_slow import first_rows

from tests.oracles.exact_layer import (
    POLYETHYLENE,
    Demand,
    exact_contact,
    paraboloid,
    patch_window,
    solve_on_grid,
)
from tests.oracles.exact_layer_axisymmetric import (
    AxisymmetricContact,
)
from tests.oracles.exact_layer_compliance import Layer, square_compliance

RADII = (78e-3, 183e-3)
FIGURES = ("load", "approach", "peak_pressure", "area", "stiffness")


def punch_factor(ratio, poissons_ratio):
    """Return κ = F (1 - ν) / (4 G a w₀) of a flat punch of a/h (Hayes et al. 1972)."""
    layer = Layer(1.0, poissons_ratio, 1.0)
    stiffness = AxisymmetricContact(layer, 1.0, ratio).stiffness
    return stiffness * (1.0 - poissons_ratio) / (4.0 * layer.shear_modulus * ratio)


def compliance_from_equilibrium(layer, wave_number):
    """Return C(k) from displacements and stresses through the depth, by a matrix exponential.

    The state is (u, w, τ, σ) of u sin kx, w cos kx, τ sin kx and σ cos kx; z is upwards.
    """
    k, g, ratio = wave_number, layer.shear_modulus, layer.poissons_ratio
    lame = 2.0 * g * ratio / (1.0 - 2.0 * ratio)
    confined = lame + 2.0 * g
    rates = np.array(
        [
            [0.0, k, 1.0 / g, 0.0],
            [-lame * k / confined, 0.0, 0.0, 1.0 / confined],
            [k**2 * (confined - lame**2 / confined), 0.0, 0.0, k * lame / confined],
            [0.0, 0.0, -k, 0.0],
        ]
    )
    through = expm(rates * layer.thickness)
    # Zero displacements at the base; unit pressure and no shear at the surface.
    stresses = np.linalg.solve(through[2:, 2:], [0.0, -1.0])
    return -float(through[1, 2:] @ stresses)


@pytest.mark.parametrize("ratio", [0.0, 0.3, 0.46, 0.4999])
def test_compliance_is_that_of_the_equations_of_equilibrium(ratio):
    layer = Layer(3.0, ratio, 0.7)
    waves = np.array([0.05, 0.5, 2.0, 6.0]) / layer.thickness
    expected = [compliance_from_equilibrium(layer, k) for k in waves]
    np.testing.assert_allclose(layer.compliance(waves), expected, rtol=1e-8)


def test_compliance_of_squares_of_the_half_space():
    layer, side = Layer(1.0, 0.3, inf), 0.1
    at = side * np.arange(-3.0, 4.0)
    found = square_compliance(layer, at, at)
    middle = 4.0 * side * np.log(1.0 + np.sqrt(2.0)) / (np.pi * layer.plane_modulus)
    np.testing.assert_allclose(found[3, 3], middle, rtol=1e-13)
    h = 0.5 * side
    away = dblquad(
        lambda y, x: 1.0 / np.hypot(2.0 * side - x, side - y), -h, h, -h, h, epsabs=1e-13
    )[0]
    np.testing.assert_allclose(found[5, 4], away / (np.pi * layer.plane_modulus), rtol=1e-9)


@pytest.mark.parametrize(
    ("ratio", "published", "converged"), [(0.3, 2.48, 2.4835), (0.5, 3.61, 3.6187)]
)
def test_hayes_factor_of_the_punch(ratio, published, converged):
    """Hayes et al. (1972), a/h = 1."""
    np.testing.assert_allclose(punch_factor(1.0, ratio), published, rtol=3e-3)
    np.testing.assert_allclose(punch_factor(1.0, ratio), converged, rtol=2e-5)


def test_balls_and_punches_on_a_half_space():
    layer, radius, a = Layer(5e6, 0.4, inf), 0.2, 0.01
    found = AxisymmetricContact(layer, radius, a)
    modulus = layer.plane_modulus
    np.testing.assert_allclose(found.approach, a**2 / radius, rtol=1e-12)
    np.testing.assert_allclose(found.load, 4.0 * modulus * a**3 / (3.0 * radius), rtol=1e-12)
    np.testing.assert_allclose(found.stiffness, 2.0 * modulus * a, rtol=1e-12)
    r = np.array([0.0, 0.3, 0.9, 1.0]) * a
    expected = 2.0 * modulus / (np.pi * radius) * np.sqrt(a**2 - r**2)
    np.testing.assert_allclose(found.pressure(r), expected, rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(punch_factor(1e-6, 0.4), 1.0, rtol=1e-5)


def test_sphere_on_a_half_space():
    """Sneddon (1965): δ = (a/2) ln((R + a)/(R - a))."""
    layer, radius, a = Layer(5e6, 0.4, inf), 0.02, 0.015
    found = AxisymmetricContact(layer, radius, a, "sphere")
    log = np.log((radius + a) / (radius - a))
    np.testing.assert_allclose(found.approach, 0.5 * a * log, rtol=1e-9)
    force = layer.plane_modulus * (0.5 * (a**2 + radius**2) * log - a * radius)
    np.testing.assert_allclose(found.load, force, rtol=1e-9)


#: Cells, and tolerances of approach and peak, of the area and of the stiffness.
COARSE, FINE = (96, 3e-5, 4e-3, 6e-4), (192, 1e-5, 5e-4, 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "accuracy", [COARSE, pytest.param(FINE, marks=pytest.mark.slow)], ids=["coarse", "fine"]
)
@pytest.mark.parametrize(("ratio", "size"), first_rows([(0.46, 1.0), (0.3, 0.25), (0.5, 2.0)]))
def test_grid_and_integral_equation_agree(ratio, size, accuracy):
    layer, radius = Layer(10e6, ratio, 6e-3), 0.5
    cells, tolerance, of_area, of_stiffness = accuracy
    ball = AxisymmetricContact(layer, radius, size * layer.thickness)
    found = exact_contact(layer, paraboloid(radius, radius), load=ball.load, cells=cells)
    values = [getattr(found, name) / getattr(ball, name) for name in FIGURES]
    np.testing.assert_allclose(values[:3], 1.0, rtol=0, atol=tolerance)
    np.testing.assert_allclose(values[3], 1.0, rtol=0, atol=of_area)
    np.testing.assert_allclose(values[4], 1.0, rtol=0, atol=of_stiffness)
    inside = np.abs(found.field.x) < 0.9 * ball.contact_radius
    middle = found.field.pressure[inside, len(found.field.y) // 2]
    expected = ball.pressure(np.abs(found.field.x[inside]))
    np.testing.assert_allclose(middle, expected, rtol=0, atol=1e-3 * ball.peak_pressure)


def test_pressures_push_only_where_the_gap_is_closed():
    demand = Demand("load", 1000.0)
    window, extent = patch_window(POLYETHYLENE, paraboloid(*RADII), demand)
    field = solve_on_grid(POLYETHYLENE, paraboloid(*RADII), window, extent / 24, demand)
    x, y = field.x, field.y
    across, along = (field.spacing * np.arange(1.0 - len(a), len(a)) for a in (x, y))
    kernel = square_compliance(POLYETHYLENE, across, along)
    i, j = len(x), len(y)
    moved = np.array(
        [
            [(kernel[m : m + i, n : n + j][::-1, ::-1] * field.pressure).sum() for n in range(j)]
            for m in range(i)
        ]
    )
    gap = paraboloid(*RADII)(x[:, None], y[None, :]) + moved - field.approach
    touching = field.pressure > 0.0
    np.testing.assert_allclose(gap[touching], 0.0, rtol=0, atol=1e-8 * field.approach)
    assert (gap[~touching] > 0.0).all()
    assert (field.pressure >= 0.0).all()
