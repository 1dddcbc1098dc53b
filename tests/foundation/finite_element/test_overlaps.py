"""Overlaps of nodes with the femur against rays, and measures of a patch of Hertz's pressure."""

from copy import copy

import layers
import naive
import numpy as np
import pytest
import shapes

from foundation.base.pose import Pose
from foundation.core.library import CORE, SCRATCH, address, integers
from foundation.finite_element.compartment import EDGE_OFFSET, measured_patch, spread_forces
from foundation.finite_element.condensed_layer import MARGIN, neighbourhood_order, node_bed
from foundation.surfaces.femur_patches import femur_patches
from foundation.surfaces.smooth_surface import flat_surface

POSES = (
    Pose(superior=0.0395),
    Pose(0.4, 0.02, -0.1, 2e-3, 0.0392, -1e-3),
    Pose(0.1, -0.03, 0.3, -4e-3, 0.0385, 3e-3),
)


def nodes_of(count=400, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.uniform(-12e-3, 12e-3, (count, 3)) * (1.0, 0.02, 1.0)
    normals = rng.normal(size=(count, 3)) * 0.05 + (0.0, 1.0, 0.0)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    order = neighbourhood_order(points)
    return points[order], normals[order]


def found_overlaps(points, normals, femur, pose, fade=1e-6):
    """Nodes, overlaps, their weights, and slopes of the weights."""
    bed, count = node_bed(points, normals, MARGIN), len(points)
    reach = 3.5 * float(bed.radius.max())
    patches = femur_patches(femur, flat_surface(femur), curved=False, reach=reach, fade=fade)
    (nodes, facets), places = np.empty((2, count), np.intc), np.empty((count, 2))
    overlaps, weights = np.empty((2, count))
    gradients, directions, slopes = np.empty((3, count, 6))
    rotation, translation = pose.rotation_matrix, pose.translation
    number = CORE.find_overlaps(
        patches.address, bed.address, address(rotation), address(translation), 20e-3, -MARGIN,
        *map(address, (nodes, overlaps, gradients, directions, weights, slopes, facets, places)),
        SCRATCH.of(CORE.contact_scratch(bed.address)),
    )  # fmt: skip
    return nodes[:number], overlaps[:number], weights[:number], slopes[:number]


@pytest.mark.parametrize("pose", POSES)
def test_every_node_within_the_margin_is_found_with_its_overlap(pose):
    points, normals = nodes_of()
    femur = shapes.ellipsoid((0.04, 0.04, 0.04), 3)
    nodes, overlaps, weights, slopes = found_overlaps(points, normals, femur, pose)
    placed = femur.vertices @ pose.rotation_matrix.T + pose.translation
    # Rays from above the femur's lowest point, so that nodes outside have a depth as well.
    raised = 5e-3
    depths = naive.ray_depths(points + raised * normals, -normals, placed[femur.faces], 40e-3)
    exact = np.where(depths > 0.0, depths - raised, -np.inf)
    expected = np.flatnonzero(exact > -MARGIN)
    assert len(expected) > 20
    assert np.array_equal(np.sort(nodes), expected)
    np.testing.assert_allclose(overlaps, exact[nodes], rtol=0, atol=1e-10)
    assert (weights == 1.0).all()
    assert not slopes.any()


def test_raised_overlaps_on_a_grid():
    """A quadratic gap over a grid of spacing s is raised by s² (u_xx + u_zz)/24."""
    model = layers.plates()
    layer = model.layers[1]
    count = len(layer.candidates)
    x, _, z = layer.points.T
    overlaps = 1e-3 - 3.0 * x**2 - 5.0 * (z - 20e-3) ** 2 + 0.1 * x
    slopes = np.column_stack([overlaps] * 6)
    doubled = 2.0 * slopes
    pairs, place = np.empty((count, 2, 2), np.intc), np.full(count, -1, np.intc)
    nodes, weights, parts = integers(np.arange(count)), np.ones(count), np.empty((count, 2))
    raised, (raised_slopes, directions) = np.empty(count), np.empty((2, count, 6))
    CORE.raise_overlaps(
        address(layer.neighbours), count, address(nodes), -1.0,
        *map(address, (overlaps, slopes, doubled, weights, slopes, place, pairs, parts)),
        *map(address, (raised, raised_slopes, directions)),
    )  # fmt: skip
    grid = layer.mesh.grid
    inner = (np.abs(x) < 6e-3) & (np.abs(z - 20e-3) < 6e-3)
    assert inner.sum() >= 25
    assert (pairs[inner] >= 0).all()
    s = layer.spacing
    np.testing.assert_allclose((raised - overlaps)[inner], s**2 * 16.0 / 24.0, rtol=1e-6)
    np.testing.assert_allclose(directions[inner, 3], 2.0 * raised[inner], rtol=1e-12)
    # The weight 1 has the slopes of the overlaps, too, and fades to the lowest overlap of -1.
    expected = raised + (1.0 + raised) * overlaps
    np.testing.assert_allclose(raised_slopes[inner, 3], expected[inner], rtol=1e-5)
    assert (place == -1).all()
    assert grid.border.any()
    # The forces go back to the nodes they came from: the work is the same.
    active = np.flatnonzero(inner)
    forces = np.random.default_rng(0).uniform(size=len(active))
    spread = spread_forces(pairs, parts, active, forces)
    assert spread @ overlaps == pytest.approx(forces @ raised[active], rel=1e-12)
    assert spread.sum() == pytest.approx(forces.sum(), rel=1e-12)


def test_a_sliver_of_the_rim_has_the_pressure_beside_it():
    layer = copy(layers.plates().layers[0])
    node = int(np.flatnonzero(layer.at_rim)[0])
    layer.__dict__["areas"] = np.where(np.arange(len(layer.areas)) == node, 1e-9, layer.areas)
    forces = 2e6 * layer.areas
    forces[node] = 1.0
    found = layer.pressures(np.arange(len(forces)), forces)
    around = [node, *layer.neighbours[node][layer.neighbours[node] >= 0]]
    assert found[node] == pytest.approx(forces[around].sum() / layer.areas[around].sum())
    np.testing.assert_allclose(np.delete(found, node), 2e6)


def test_a_line_that_grazes_the_femur_bears_nothing():
    """Lengths count by the cosine to the femoral normal, here from 0.4 to 0.8 on a sphere."""
    radius, deep = 40e-3, 15e-3
    places = np.linspace(-0.92, -0.6, 40) * radius
    points, normals = np.zeros((2, 40, 3))
    points[:, 0], normals[:, 1] = places, 1.0
    femur = shapes.ellipsoid([radius] * 3, 6)
    nodes, overlaps, weights, slopes = found_overlaps(points, normals, femur, Pose(superior=deep))
    cosine = np.sqrt(1.0 - (places / radius) ** 2)
    part = np.clip((cosine - 0.5) / 0.2, 0.0, 1.0)
    # Facets are off the sphere by up to a degree.
    np.testing.assert_allclose(overlaps, (radius * cosine - deep)[nodes], rtol=0.0, atol=0.1e-3)
    np.testing.assert_allclose(weights, (part**2 * (3.0 - 2.0 * part))[nodes], rtol=0.0, atol=0.2)
    assert not np.isin(np.flatnonzero(cosine < 0.48), nodes).any()
    assert np.isin(np.flatnonzero(cosine > 0.52), nodes).all()
    assert not slopes[weights == 1.0].any()


def test_overlaps_fade_beside_the_rim_of_the_femur():
    """Weights follow the distance from the rim of a plate, and so do their slopes."""
    points = np.zeros((21, 3))
    points[:, 0] = np.linspace(-2e-3, 2e-3, 21)
    normals = np.tile((0.0, 1.0, 0.0), (21, 1))
    femur = shapes.plate(10e-3, 4, up=False)
    pose = Pose(superior=-0.3e-3, anterior=5e-3 - 0.05e-3)
    nodes, overlaps, weights, slopes = found_overlaps(points, normals, femur, pose, fade=1e-3)
    inside = points[nodes, 0] + 0.05e-3
    assert np.array_equal(np.sort(nodes), np.flatnonzero(points[:, 0] > -0.05e-3))
    np.testing.assert_allclose(overlaps, 0.3e-3)
    part = np.minimum(inside / 1e-3, 1.0)
    np.testing.assert_allclose(weights, part**2 * (3.0 - 2.0 * part), atol=1e-12)
    np.testing.assert_allclose(slopes[:, 0], -6.0 * part * (1.0 - part) / 1e-3, atol=1e-6)
    assert not slopes[:, 1:3].any()


def measured(a, b, turn, middle, spacing=1.0, half=14):
    """Area, edge, peak and sharpness of p² = 1 - u²/a² - v²/b² on a square grid."""
    line = np.arange(-half, half + 1)
    x, z = np.meshgrid(line, line, indexing="ij")
    index = np.arange(x.size).reshape(x.shape)
    points = spacing * np.column_stack([z.ravel(), 0.0 * x.ravel(), x.ravel()])
    neighbours = np.full((x.size, 2, 2), -1)
    neighbours[index[:-1].ravel(), 0, 0] = index[1:].ravel()
    neighbours[index[1:].ravel(), 0, 1] = index[:-1].ravel()
    neighbours[index[:, :-1].ravel(), 1, 0] = index[:, 1:].ravel()
    neighbours[index[:, 1:].ravel(), 1, 1] = index[:, :-1].ravel()
    corners = (index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:])
    quads = np.stack([corner.ravel() for corner in corners], axis=1)
    quads_at = np.full((x.size, 4), -1)
    for k in range(4):
        quads_at[quads[:, k], k] = np.arange(len(quads))
    cosine, sine = np.cos(turn), np.sin(turn)
    dx, dz = spacing * x.ravel() - middle[0], spacing * z.ravel() - middle[1]
    u, v = cosine * dx + sine * dz, cosine * dz - sine * dx
    squares = 1.0 - (u / a) ** 2 - (v / b) ** 2
    active = np.flatnonzero(squares > 0.0)
    grid = [integers(each) for each in (neighbours, quads, quads_at)]
    return np.array(measured_patch(*grid, points, active, squares[active]))


@pytest.mark.parametrize(("a", "b"), [(6.3, 6.3), (5.2, 9.1), (4.1, 12.0)])
def test_area_edge_and_peak_of_hertz(a, b):
    rng = np.random.default_rng(0)
    for _ in range(10):
        turn, middle = rng.uniform(0.0, np.pi), rng.uniform(-0.5, 0.5, 2)
        area, edge, peak, sharpness = measured(a, b, turn, middle)
        # The square is extrapolated on a straight line, and is concave: the strip is taken off.
        assert area - EDGE_OFFSET * edge == pytest.approx(np.pi * a * b, rel=0.015)
        ellipse = np.pi * (3 * (a + b) - np.sqrt((3 * a + b) * (a + 3 * b)))
        assert edge == pytest.approx(ellipse, rel=0.02)
        # p² is a quadratic, which the fit finds; half of the smoothing by shape functions is added.
        assert peak**2 == pytest.approx(1.0 + (1 / a**2 + 1 / b**2) / 6.0 / 2.0, rel=0.02)
        assert 0.5 / max(a, b) ** 2 < sharpness < 2.0 / min(a, b) ** 2


def test_a_single_node_has_an_area_and_its_own_pressure():
    area, _, peak, sharpness = measured(0.4, 0.4, 0.0, (0.0, 0.0))
    assert 0.0 < area < 1.0
    assert peak == pytest.approx(1.0)
    assert sharpness == 1.0
