"""The bed's rules, nodes and groups against identities and brute force."""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest
import shapes
from smooth_shapes import RADIUS, sphere, torus

from foundation.elastic_foundation.spring_bed import (
    composite_rule,
    curved_bed,
    degree_four_rule,
    flat_bed,
    shape_functions,
)
from foundation.kernels import LANES
from foundation.surfaces.smooth_surface import smooth_surface

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


def test_degree_five_is_not():
    (u, _), weight = RULES["whole"][0].T, RULES["whole"][1]
    assert weight @ u**5 != pytest.approx(1.0 / 42.0, rel=1e-3)


def test_shape_functions_are_one_at_their_node_and_have_the_slopes_they_say():
    nodes = np.array([[0, 0], [1, 0], [0, 1], [0.5, 0], [0.5, 0.5], [0, 0.5]])
    np.testing.assert_allclose(shape_functions(nodes)[0], np.eye(6), atol=1e-15)
    at, step = np.random.default_rng(0).random((20, 2)), 1e-6
    value, along_u, along_v = shape_functions(at)
    np.testing.assert_allclose(value.sum(axis=1), 1.0, rtol=1e-14)
    for slope, axis in ((along_u, [step, 0.0]), (along_v, [0.0, step])):
        numeric = (shape_functions(at + axis)[0] - shape_functions(at - axis)[0]) / (2 * step)
        np.testing.assert_allclose(slope, numeric, atol=1e-8)


@pytest.mark.parametrize("rule", ["whole", "cut"])
def test_area_vectors_of_a_closed_surface_sum_to_zero(rule):
    """The normals dx/du x dx/dv are quadratic, so that both rules give the surface without gaps."""
    bed = bed_of(sphere(2)).arrays
    (points, weight), vectors = RULES[rule], bed.area_vectors
    by_element = np.einsum("q,qk,fkc->fc", weight, shape_functions(points)[0], vectors)
    assert np.linalg.norm(by_element, axis=1).sum() > 0.9 * 4 * np.pi * RADIUS**2
    assert np.abs(by_element.sum(axis=0)).max() < 1e-12 * 4 * np.pi * RADIUS**2


def test_area_and_enclosed_volume_of_a_sphere():
    """Quadrature as the kernels do it: the volume is a third of the flux of the position."""
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


def test_nodes_are_shared():
    """V + E nodes in each compartment, and one lone centroid per triangle."""
    mesh = sphere(2)
    found = bed_of(mesh)
    sides = mesh.faces[found.triangle]
    labels = shapes.labels(mesh)[found.triangle]
    expected = len(mesh.faces)
    for compartment in range(2):
        faces = sides[labels == compartment]
        edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]))
        edges = np.sort(edges, axis=1)
        expected += len(np.unique(faces)) + len(np.unique(edges, axis=0))
    assert len(found.arrays.points) == expected
    assert found.arrays.centroid_first == expected - len(mesh.faces)
    # No node belongs to both compartments: one alone must not need the other.
    halves = [set(found.arrays.elements[labels == c].ravel()) for c in range(2)]
    assert not halves[0] & halves[1]


def test_nodes_are_where_the_patches_are():
    mesh = torus(3e-3)
    surface, found = smooth_surface(mesh), bed_of(mesh)
    nodes = np.concatenate([surface.corners, surface.middles], axis=1)[found.triangle]
    np.testing.assert_array_equal(found.arrays.points[found.arrays.elements], nodes)
    length = np.linalg.norm(found.arrays.normals, axis=1)
    np.testing.assert_allclose(length, 1.0, rtol=1e-12)
    normals = found.arrays.normals[found.arrays.elements]
    outward = np.einsum("fki,fi->fk", normals, mesh.normals[found.triangle])
    assert outward.min() > 0.5


def test_flat_bed_is_one_spring_per_triangle():
    mesh = torus(3e-3)
    found = flat_bed(mesh, shapes.labels(mesh))
    np.testing.assert_array_equal(np.sort(found.triangle), np.arange(len(mesh.faces)))
    np.testing.assert_array_equal(found.arrays.points, mesh.centroids[found.triangle])
    np.testing.assert_array_equal(found.arrays.normals, mesh.normals[found.triangle])
    force = found.arrays.area_vectors[:, 0]
    np.testing.assert_allclose(force, mesh.area_vectors[found.triangle], rtol=1e-12, atol=1e-18)


@pytest.mark.parametrize("build", [bed_of, lambda m: flat_bed(m, shapes.labels(m))])
def test_medial_elements_come_first_and_every_group_holds_its_nodes(build):
    mesh = torus(3e-3)
    found = build(mesh)
    bed = found.arrays
    side = shapes.labels(mesh)[found.triangle]
    medial, both = found.ends
    assert both == len(side)
    assert (side[:medial] == 0).all()
    assert (side[medial:] == 1).all()
    assert bed.count.min() > 0
    assert bed.count.max() <= LANES
    np.testing.assert_array_equal(bed.first, np.cumsum(bed.count) - bed.count)
    assert bed.first[bed.compartments[1]] == medial
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
    assert bed.count.sum() == len(mesh.faces)


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
