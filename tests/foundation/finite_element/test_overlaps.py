"""Overlaps of nodes with the femur against rays, their derivatives, and raised overlaps."""

import layers
import naive
import numpy as np
import pytest
import shapes
from differences import differences

from foundation import kernels
from foundation.base.pose import Pose
from foundation.finite_element.condensed_layer import MARGIN
from foundation.finite_element.node_bed import neighbourhood_order, node_bed
from foundation.kernels.scratch import Scratch
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


def found_overlaps(points, normals, femur, pose, least=-MARGIN):
    bed = node_bed(points, normals, MARGIN)
    patches = femur_patches(
        femur, flat_surface(femur), curved=False, reach=3.5 * float(bed.radius.max())
    )
    count = len(points)
    nodes, overlaps, slopes = np.empty(count, int), np.empty(count), np.empty((count, 6))
    with Scratch(bed).borrowed() as work:
        number = kernels.find_overlaps(
            pose.rotation_matrix, pose.translation, kernels.handle(patches), kernels.handle(bed),
            0, len(bed.first), 20e-3, least, work, nodes, overlaps, slopes,
        )  # fmt: skip
    return nodes[:number], overlaps[:number], slopes[:number]


@pytest.mark.parametrize("pose", POSES)
def test_every_node_within_the_margin_is_found_with_its_overlap(pose):
    points, normals = nodes_of()
    femur = shapes.ellipsoid((0.04, 0.04, 0.04), 3)
    nodes, overlaps, _ = found_overlaps(points, normals, femur, pose)
    placed = femur.vertices @ pose.rotation_matrix.T + pose.translation
    # Rays from above the femur's lowest point, so that nodes outside have a depth as well.
    raised = 5e-3
    depths = naive.ray_depths(points + raised * normals, -normals, placed[femur.faces], 40e-3)
    exact = np.where(depths > 0.0, depths - raised, -np.inf)
    expected = np.flatnonzero(exact > -MARGIN)
    assert len(expected) > 20
    assert np.array_equal(np.sort(nodes), expected)
    np.testing.assert_allclose(overlaps, exact[nodes], rtol=0, atol=1e-10)


def test_raised_overlaps_on_a_grid():
    """A quadratic gap over a grid of spacing s is raised by s² (u_xx + u_zz)/24."""
    model = layers.plates()
    layer = model.layers[1]
    count = len(layer.candidates)
    x, _, z = layer.points.T
    overlaps = 1e-3 - 3.0 * x**2 - 5.0 * (z - 20e-3) ** 2 + 0.1 * x
    slopes = np.column_stack([overlaps] * 6)
    pairs, place = np.empty((count, 2, 2), dtype=np.int64), np.full(count, -1)
    raised, raised_slopes = np.empty(count), np.empty((count, 6))
    kernels.raise_overlaps(
        layer.neighbours, np.arange(count), overlaps, slopes, place, pairs, raised, raised_slopes
    )
    grid = layer.mesh.grid
    inner = (np.abs(x) < 6e-3) & (np.abs(z - 20e-3) < 6e-3)
    assert inner.sum() >= 25
    assert (pairs[inner] >= 0).all()
    s = layer.spacing
    np.testing.assert_allclose((raised - overlaps)[inner], s**2 * 16.0 / 24.0, rtol=1e-6)
    np.testing.assert_array_equal(raised_slopes[inner, 3], raised[inner])
    assert (place == -1).all()
    assert grid.border.any()
    # The forces go back to the nodes they came from: the work is the same.
    active = np.flatnonzero(inner)
    forces, spread = np.random.default_rng(0).uniform(size=len(active)), np.empty(count)
    kernels.spread_forces(pairs, active, forces, spread)
    assert spread @ overlaps == pytest.approx(forces @ raised[active], rel=1e-12)
    assert spread.sum() == pytest.approx(forces.sum(), rel=1e-12)


def test_gradients_are_derivatives_of_the_overlaps():
    points, normals = nodes_of(60)
    femur = shapes.ellipsoid((0.04, 0.04, 0.04), 3)
    pose = POSES[0]

    def at(superior):
        nodes, overlaps, _ = found_overlaps(points, normals, femur, Pose(superior=superior[0]))
        full = np.full(len(points), np.nan)
        full[nodes] = overlaps
        return full

    nodes, _, slopes = found_overlaps(points, normals, femur, pose, 0.0)
    moved = differences(at, np.array([pose.superior]), 1e-8)[nodes, 0]
    kept = np.isfinite(moved)
    assert kept.sum() > 5
    # Wrench order: the force along y is the second component.
    np.testing.assert_allclose(slopes[kept, 1], moved[kept], rtol=0, atol=1e-5)
