"""The exact layer contact against published values, closed forms, limits and a second method."""

from math import inf

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.linalg import expm
from scipy.special import j0
from some_slow import first_rows

from foundation.base.errors import InputError
from foundation.contact_laws.ellipse import exact_factors
from tests.oracles.exact_layer import (
    CASES,
    POLYETHYLENE,
    Demand,
    Window,
    exact_contact,
    paraboloid,
    patch_window,
    solve_on_grid,
    spring_bed,
)
from tests.oracles.exact_layer_axisymmetric import (
    AxisymmetricContact,
    press_ball,
)
from tests.oracles.exact_layer_compliance import Layer, square_compliance

RADII = (78e-3, 183e-3)
FIGURES = ("load", "approach", "peak_pressure", "area", "stiffness")


def punch_factor(ratio: float, poissons_ratio: float) -> float:
    """Return κ = F (1 - ν) / (4 G a w₀) of a flat punch of a/h (Hayes et al. 1972)."""
    layer = Layer(1.0, poissons_ratio, 1.0)
    stiffness = AxisymmetricContact(layer, 1.0, ratio).stiffness
    return stiffness * (1.0 - poissons_ratio) / (4.0 * layer.shear_modulus * ratio)


def compliance_from_equilibrium(layer: Layer, wave_number: float) -> float:
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


@pytest.mark.parametrize("ratio", [0.0, 0.3, 0.46])
def test_limits_of_the_compliance(ratio):
    layer = Layer(2.0, ratio, 0.5)
    long, short = layer.compliance(np.array([1e-4, 60.0]))
    np.testing.assert_allclose(long, layer.confined_compliance, rtol=1e-6)
    np.testing.assert_allclose(short, 2.0 / (layer.plane_modulus * 60.0), rtol=1e-12)
    expected = (1.0 + ratio) * (1.0 - 2.0 * ratio) * 0.5 / ((1.0 - ratio) * 2.0)
    np.testing.assert_allclose(layer.confined_compliance, expected, rtol=1e-14)


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


@pytest.mark.parametrize("ratio", [0.0, 0.3, 0.46])
def test_uniform_pressure_confines_the_layer(ratio):
    layer = Layer(1.0, ratio, 1.0)
    at = 0.1 * np.arange(-150.0, 151.0)
    total = square_compliance(layer, at, at).sum()
    np.testing.assert_allclose(total, layer.confined_compliance, rtol=3e-4)


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


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [0.3, 0.45])
def test_thin_compressible_layer_is_a_spring_bed(ratio):
    layer, radius = Layer(1e6, ratio, 1e-3), 2.0
    errors = []
    for a in (15e-3, 30e-3):
        found = AxisymmetricContact(layer, radius, a)
        spring = 1.0 / layer.confined_compliance
        expected = [np.pi * spring * radius * found.approach**2, spring * found.approach]
        errors.append(np.array([found.load, found.peak_pressure]) / expected - 1.0)
    assert (np.abs(errors[0]) < 0.05).all()
    assert (np.abs(errors[1]) < 0.35 * np.abs(errors[0])).all()


@pytest.mark.parametrize("ratio", [0.3, 0.4999])
def test_identities_of_the_ball(ratio):
    layer, radius, a = Layer(463e6, ratio, 8e-3), 0.12, 6e-3
    found = AxisymmetricContact(layer, radius, a)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    # r = a sin θ, where the pressure ends as a root.
    angle = 0.25 * np.pi * (nodes + 1.0)
    r = a * np.sin(angle)
    pressure = found.pressure(r)
    ring = 0.25 * np.pi * weights * a * np.cos(angle) * 2.0 * np.pi * r
    np.testing.assert_allclose(ring @ pressure, found.load, rtol=1e-9)
    assert pressure.max() <= found.peak_pressure
    step = 1e-4
    up, down = (press_ball(layer, radius, approach=found.approach * (1 + s)) for s in (step, -step))
    slope = (up.load - down.load) / (up.approach - down.approach)
    np.testing.assert_allclose(found.stiffness, slope, rtol=1e-7)
    np.testing.assert_allclose(press_ball(layer, radius, load=found.load).contact_radius, a)


@pytest.mark.parametrize("ratio", [0.3, 0.4999])
def test_surface_follows_the_ball(ratio):
    """δ - r²/(2 R) within the patch, from the pressure by ∫ C(k) p̃(k) J₀(k r) k dk."""
    layer, radius, a = Layer(463e6, ratio, 8e-3), 0.12, 6e-3
    found = AxisymmetricContact(layer, radius, a)
    nodes, weights = np.polynomial.legendre.leggauss(600)
    angle = 0.25 * np.pi * (nodes + 1.0)
    r = a * np.sin(angle)
    ring = 0.25 * np.pi * weights * a * np.cos(angle) * r * found.pressure(r)
    nodes, weights = np.polynomial.legendre.leggauss(16)
    k = (2.0 * np.arange(400)[:, None] + nodes + 1.0).ravel() / a
    share = np.tile(weights / a, 400)
    transform = np.concatenate([j0(part[:, None] * r) @ ring for part in np.split(k, 20)])
    at = np.array([0.0, 0.5, 1.0]) * a
    moved = j0(at[:, None] * k) @ (share * layer.compliance(k) * transform * k)
    expected = found.approach - at**2 / (2.0 * radius)
    np.testing.assert_allclose(moved, expected, rtol=0, atol=5e-5 * found.approach)


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


@pytest.mark.slow
def test_grid_and_integral_equation_agree_on_a_sphere():
    layer, radius = Layer(10e6, 0.45, 6e-3), 8e-3
    ball = AxisymmetricContact(layer, radius, 4e-3, "sphere")
    found = exact_contact(
        layer,
        lambda x, y: radius - np.sqrt(np.maximum(radius**2 - x**2 - y**2, 0.0)),
        approach=ball.approach,
        cells=96,
    )
    values = [getattr(found, name) / getattr(ball, name) for name in FIGURES]
    np.testing.assert_allclose(values[:3], 1.0, rtol=0, atol=1e-4)
    np.testing.assert_allclose(values[3:], 1.0, rtol=0, atol=2e-3)


@pytest.mark.slow
def test_error_falls_with_about_the_second_order():
    ball = AxisymmetricContact(POLYETHYLENE, 0.12, 6e-3)
    demand = Demand("load", ball.load)
    window, extent = patch_window(POLYETHYLENE, paraboloid(0.12, 0.12), demand)
    # The steps of the edge change from grid to grid, and scatter the errors.
    cells = np.array([32, 38, 45, 54, 64, 76, 91, 108, 128])
    errors = [abs(approach_error(ball, window, extent / n)) for n in cells]
    order = -np.polyfit(np.log(cells), np.log(errors), 1)[0]
    assert order > 1.7
    assert errors[-1] < 5e-5


def approach_error(ball: AxisymmetricContact, window: Window, spacing: float) -> float:
    gap = paraboloid(ball.radius, ball.radius)
    field = solve_on_grid(ball.layer, gap, window, spacing, Demand("load", ball.load))
    return field.approach / ball.approach - 1.0


@pytest.mark.slow
def test_elliptic_contact_of_a_half_space():
    layer, load = Layer(463e6, 0.46, inf), 1000.0
    found = exact_contact(layer, paraboloid(*RADII), load=load, cells=96)
    radius = np.sqrt(RADII[0] * RADII[1])
    factors = exact_factors(np.sqrt(RADII[1] / RADII[0]))
    size = (0.75 * load * radius / layer.plane_modulus) ** (1.0 / 3.0)
    area = np.pi * (size * factors.size) ** 2
    approach = factors.approach * size**2 / radius
    np.testing.assert_allclose(found.approach, approach, rtol=3e-5)
    np.testing.assert_allclose(found.peak_pressure, 1.5 * load / area, rtol=3e-5)
    np.testing.assert_allclose(found.area, area, rtol=2e-3)
    np.testing.assert_allclose(found.stiffness, 1.5 * load / approach, rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ratio", "approach", "peak", "area"),
    first_rows([(0.46, 0.145907e-3, 18.715e6, 81.2e-6), (0.49, 0.138980e-3, 19.263e6, 78.9e-6)]),
)
def test_paraboloid_on_polyethylene(ratio, approach, peak, area):
    layer = Layer(463e6, ratio, 8e-3)
    found = exact_contact(layer, paraboloid(*RADII), load=1000.0, cells=96)
    np.testing.assert_allclose(found.approach, approach, rtol=3e-5)
    np.testing.assert_allclose(found.peak_pressure, peak, rtol=5e-5)
    np.testing.assert_allclose(found.area, area, rtol=2e-3)
    assert found.correction < 1e-4


#: Spring bed over layer at the load of each case: peak, area, stiffness, approach.
OVER_LAYER = (
    (1.43, 0.92, 1.53, 0.68),
    (1.51, 0.85, 1.49, 0.68),
    (1.55, 0.81, 1.44, 0.68),
    (1.46, 0.82, 1.27, 0.75),
)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "ratios"), list(zip(CASES[:4], OVER_LAYER, strict=True)))
def test_spring_bed_over_layer(case, ratios):
    found = exact_contact(case.layer, paraboloid(*case.radii), load=case.load, cells=96)
    spring, radius = 1.0 / case.layer.confined_compliance, np.sqrt(np.prod(case.radii))
    approach = np.sqrt(case.load / (np.pi * spring * radius))
    bed = (spring * approach, 2.0 * np.pi * radius * approach, 2.0 * case.load / approach, approach)
    layer = (found.peak_pressure, found.area, found.stiffness, found.approach)
    np.testing.assert_allclose([*spring_bed(case).values()], bed, rtol=1e-9)
    np.testing.assert_allclose(np.divide(bed, layer), ratios, rtol=0, atol=0.011)


@pytest.mark.slow
def test_load_and_approach_are_inverse_and_the_axes_do_not_matter():
    at_load = exact_contact(POLYETHYLENE, paraboloid(*RADII), load=1000.0, cells=96)
    turned = paraboloid(*RADII, turn=0.6)
    at_approach = exact_contact(
        POLYETHYLENE,
        lambda x, y: turned(x - 0.4e-3, y + 0.7e-3),
        approach=at_load.approach,
        cells=96,
    )
    np.testing.assert_allclose(at_approach.load, 1000.0, rtol=1e-4)
    np.testing.assert_allclose(at_approach.peak_pressure, at_load.peak_pressure, rtol=1e-4)
    np.testing.assert_allclose(at_approach.stiffness, at_load.stiffness, rtol=1e-3)
    np.testing.assert_allclose(at_approach.area, at_load.area, rtol=3e-3)


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


GAP = paraboloid(*RADII)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: exact_contact(POLYETHYLENE, GAP), "one of load and approach"),
        (
            lambda: press_ball(POLYETHYLENE, 0.1, load=1.0, approach=1e-4),
            "one of load and approach",
        ),
        (lambda: exact_contact(POLYETHYLENE, GAP, load=-1.0), "load"),
        (lambda: exact_contact(POLYETHYLENE, GAP, load=1.0, cells=8), "cells"),
        (
            lambda: exact_contact(POLYETHYLENE, lambda x, y: GAP(x, y) + 1e-3, approach=1e-4),
            "smallest gap",
        ),
        (lambda: Layer(1.0, 0.6, 1.0), "poissons_ratio"),
        (lambda: Layer(1.0, 0.3, 0.0), "thickness"),
        (lambda: AxisymmetricContact(POLYETHYLENE, 0.1, 1e-3, "cone"), "shape"),
        (lambda: press_ball(POLYETHYLENE, 1e-3, load=1e6), "smaller than the ball"),
    ],
)
def test_bad_arguments_are_named(call, named):
    with pytest.raises(InputError, match=named):
        call()


def test_area_of_two_patches_is_refused():
    one = paraboloid(20e-3, 20e-3)

    def two(x, y):
        return np.minimum(one(x - 4e-3, y), one(x + 4e-3, y))

    demand = Demand("load", 20.0)
    window, extent = patch_window(POLYETHYLENE, two, demand)
    field = solve_on_grid(POLYETHYLENE, two, window, extent / 24, demand)
    with pytest.raises(InputError, match="one patch"):
        _ = field.area
