"""Smoothing at the edge of the patch, and the rules and groups of the bed."""

from math import factorial

import numpy as np
import pytest
import shapes
from core_probe import edge_power
from scipy.integrate import quad
from smooth_shapes import RADIUS, sphere, torus

from foundation.core.library import LANES
from foundation.elastic_foundation.springs import (
    EDGE_END,
    composite_rule,
    curved_bed,
    degree_four_rule,
    edge_kernel,
    edge_table,
    flat_bed,
    smoothed_power,
)
from foundation.surfaces.smooth_surface import smooth_surface

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


def test_polynomials_are_the_integrals_and_meet_their_ends_exactly():
    ramp = edge_table(1.0)
    assert tuple(edge_power(ramp, 1.0, -1.0)) == (0.0, 0.0)
    assert tuple(edge_power(ramp, 1.0, 1.0 - 1e-15)) == pytest.approx((1.0, 1.0), abs=1e-14)
    for t in np.random.default_rng(3).uniform(-1.0, 1.0, 100):
        value, slope = edge_power(ramp, 1.0, t)
        assert slope == pytest.approx(quad(edge_kernel, -1.0, t)[0], abs=1e-14)
        assert value == pytest.approx(smoothed_power(1.0, t), abs=1e-13)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_table_agrees_with_quadrature(exponent):
    """Off the nodes; the functions have weak singularities at -1 and 1."""
    table = edge_table(exponent)
    at = np.random.default_rng(1).uniform(-1.0, EDGE_END, 300)
    found = np.array([edge_power(table, exponent, t)[0] for t in at])
    exact = np.array([smoothed_power(exponent, t) for t in at])
    np.testing.assert_allclose(found, exact, rtol=0, atol=2e-6)
    far = np.abs(np.abs(at) - 1.0) > 0.05
    np.testing.assert_allclose(found[far], exact[far], rtol=0, atol=1e-7)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_series_takes_over_from_the_table_without_a_step(exponent):
    table = edge_table(exponent)
    below, above = (edge_power(table, exponent, EDGE_END * (1 + s)) for s in (-1e-12, 1e-12))
    np.testing.assert_allclose(above, below, rtol=1e-5)
    for t in (EDGE_END, 6.0, 40.0):
        found = edge_power(table, exponent, t)
        assert found[0] == pytest.approx(smoothed_power(exponent, t), rel=1e-5)


RULES = {"whole": degree_four_rule(), "cut": composite_rule(2), "thirds": composite_rule(3)}


def bed_of(mesh):
    return curved_bed(mesh, smooth_surface(mesh), shapes.labels(mesh))


@pytest.mark.parametrize("rule", RULES)
def test_rules_are_exact_to_degree_four(rule):
    """The integral of u^a v^b over the triangle is a! b! / (a + b + 2)!."""
    (u, v), weight = RULES[rule][0].T, RULES[rule][1]
    for a in range(5):
        for b in range(5 - a):
            exact = factorial(a) * factorial(b) / factorial(a + b + 2)
            assert weight @ (u**a * v**b) == pytest.approx(exact, rel=1e-13)
    assert (np.minimum(np.minimum(u, v), 1.0 - u - v) > 0.0).all()
    assert (weight > 0.0).all()


def test_area_and_enclosed_volume_of_a_sphere():
    """Quadrature as the library does it: the volume is a third of the flux of the position."""
    errors = []
    for level in (1, 2, 3):
        bed = bed_of(sphere(level)).arrays
        values = np.einsum("q,kq,fkc->fqc", bed.whole_weight, bed.whole_shape, bed.area_vectors)
        points = np.einsum("kq,fkc->fqc", bed.whole_shape, bed.points[bed.elements])
        area = np.linalg.norm(values, axis=2).sum()
        volume = (values * points).sum() / 3.0
        errors.append(
            [area / (4 * np.pi * RADIUS**2) - 1, volume / (4 / 3 * np.pi * RADIUS**3) - 1]
        )
        # The local area that pressure is multiplied by, interpolated: of fourth order too.
        sizes = np.linalg.norm(bed.area_vectors, axis=2)
        local = np.einsum("q,kq,fk->fq", bed.whole_weight, bed.whole_shape, sizes)
        assert local.sum() == pytest.approx(area, rel=3e-3 / 16 ** (level - 1))
    size = np.abs(errors)
    assert (np.log2(size[1:-1] / size[2:]) > 3.0).all()
    assert (size[-1] < 1e-5).all()


@pytest.mark.parametrize("build", [bed_of, lambda m: flat_bed(m, shapes.labels(m))])
def test_medial_elements_come_first_and_every_group_holds_its_nodes(build):
    mesh = torus(3e-3)
    found = build(mesh)
    bed = found.arrays
    side = shapes.labels(mesh)[found.triangle]
    medial, both = (side == 0).sum(), len(side)
    assert (side[:medial] == 0).all()
    assert (side[medial:] == 1).all()
    assert bed.count.min() > 0
    assert bed.count.max() <= LANES
    np.testing.assert_array_equal(bed.first, np.cumsum(bed.count) - bed.count)
    assert bed.first[bed.compartments[1]] == medial
    assert bed.count.sum() == both
    for t, (first, count) in enumerate(zip(bed.first, bed.count, strict=True)):
        nodes = bed.points[bed.elements[first : first + count]]
        away = nodes.reshape(-1, 3) - bed.centre[:, t]
        assert np.linalg.norm(away, axis=1).max() <= bed.radius[t] * (1 + 1e-9)
        height = np.abs(away @ bed.direction[:, t])
        assert height.max() <= bed.thickness[t] * (1 + 1e-9) + 1e-15
        corners = np.moveaxis(bed.corners[t], 2, 0)
        np.testing.assert_array_equal(corners[:count], nodes[:, :3])
        np.testing.assert_array_equal(corners[count:], np.repeat(nodes[-1:, :3], LANES - count, 0))
        # In no direction is a middle lower than the lowest corner by more than the margin.
        lower = (nodes[:, :3] @ bed.normals.T).min(axis=1) - (nodes @ bed.normals.T).min(axis=1)
        assert lower.max() <= bed.bulge[t] + 1e-15


def test_metric_is_the_squared_slope():
    """Of a field that is linear in space, on each triangle's plane."""
    mesh = torus(3e-3)
    found = bed_of(mesh)
    gradient = np.array([0.3, -0.2, 0.5])
    values = (mesh.vertices @ gradient)[mesh.faces[found.triangle]]
    squared = np.einsum("fi,fij,fj->f", values, found.arrays.metric, values)
    normals = mesh.normals[found.triangle]
    across = gradient - (normals @ gradient)[:, None] * normals
    np.testing.assert_allclose(squared, (across**2).sum(axis=1), rtol=1e-9)
