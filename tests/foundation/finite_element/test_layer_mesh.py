"""Grids on bearing surfaces, bases below them, and the hexahedra between."""

from dataclasses import replace

import numpy as np
import pytest
import shapes
import trimesh
from layers import implant
from scipy.spatial import KDTree

from foundation.base.errors import InputError
from foundation.finite_element.condensation import scaled_jacobian
from foundation.finite_element.layer import PlaneBase, SolidBase, ThicknessBase
from foundation.finite_element.layer_mesh import layer_mesh
from foundation.finite_element.surface_grid import (
    CylinderChart,
    PlaneChart,
    femoral_chart,
    lay_grid,
)
from foundation.surfaces.triangle_mesh import MeshWarning, TriangleMesh

UP = PlaneChart(np.array([0.0, -0.1, 0.0]), np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]]))


def whole(mesh):
    return np.ones(len(mesh.faces), dtype=bool)


@pytest.mark.parametrize("spacing", [1e-3, 1.7e-3])
def test_the_grid_of_a_plate_covers_the_plate(spacing):
    plate = shapes.plate(20e-3, 3)
    grid = lay_grid(plate, whole(plate), UP, spacing)
    # The corners of the plate are cut.
    assert 0.98 * plate.areas.sum() < grid.areas.sum() <= plate.areas.sum() * (1 + 1e-9)
    for axis in (0, 2):
        assert np.ptp(grid.points[:, axis]) == pytest.approx(20e-3, rel=1e-9)
    np.testing.assert_allclose(grid.normals, np.tile((0.0, 1.0, 0.0), (len(grid.points), 1)))
    corner = plate.vertices[plate.faces[grid.facet]]
    np.testing.assert_allclose(
        np.einsum("nk,nki->ni", grid.weights, corner), grid.points, atol=1e-12
    )


def test_cells_grow_beyond_the_fine_triangles():
    plate = shapes.plate(60e-3, 30)
    fine = (np.abs(plate.centroids[:, [0, 2]]) < 10e-3).all(axis=1)
    grid = lay_grid(plate, whole(plate), UP, 1e-3, fine=fine, growth=1.2)
    lines = np.unique(grid.plane[np.abs(grid.plane[:, 1]) < 5e-3, 0].round(9))
    steps, middle = np.diff(lines), 0.5 * (lines[1:] + lines[:-1])
    inner = np.abs(middle) < 10e-3
    np.testing.assert_allclose(steps[inner], 1e-3, rtol=1e-6)
    assert inner.sum() == 20
    outer = steps[middle > 10e-3]
    # The last cell ends at the rim.
    np.testing.assert_allclose(outer[1:-1] / outer[:-2], 1.2, rtol=1e-4)
    assert 0.97 * plate.areas.sum() < grid.areas.sum() <= plate.areas.sum() * (1 + 1e-9)
    uniform = lay_grid(plate, whole(plate), UP, 1e-3)
    assert len(grid.points) < 0.5 * len(uniform.points)


def test_a_plate_smaller_than_a_cell_is_refused():
    plate = shapes.plate(1e-3, 1)
    with pytest.raises(InputError, match="plate: no cell of 2 mm fits on the surface"):
        lay_grid(plate, whole(plate), UP, 2e-3)


def test_femoral_chart_finds_the_axis_of_a_cylinder():
    turn, z = np.meshgrid(np.linspace(-1.0, 1.0, 21), np.linspace(-0.01, 0.01, 11), indexing="ij")
    points = np.stack([0.01 + 0.03 * np.sin(turn), 0.02 - 0.03 * np.cos(turn), z], -1).reshape(
        -1, 3
    )
    mesh = shapes.swept(lambda x, z: 0.0 * x, 1.0, 20, 10, 1.0)
    mesh = TriangleMesh(points, mesh.faces, "cylinder")
    chart = femoral_chart(mesh, whole(mesh))
    np.testing.assert_allclose(chart.origin[:2], (0.01, 0.02), atol=1e-5)
    assert chart.radius == pytest.approx(0.03, rel=2e-3)
    np.testing.assert_allclose(chart.axes[0], (0.0, -1.0, 0.0), atol=1e-6)


def columns(mesh):
    """Nodes of the mesh by level and node of the grid, (L, C, 3)."""
    return mesh.nodes.reshape(mesh.levels, -1, 3)


def test_columns_reach_from_the_base_to_the_surface():
    plate = shapes.plate(20e-3, 2, (0.0, 6e-3, 0.0))
    grid = lay_grid(plate, whole(plate), UP, 1e-3)
    mesh = layer_mesh(grid, PlaneBase().below(grid, plate), 1e-3, 1.3, "plate")
    nodes = columns(mesh)
    assert np.array_equal(nodes[-1], grid.points)
    assert np.array_equal(mesh.nodes[mesh.surface], grid.points)
    np.testing.assert_allclose(nodes[0, :, 1], 0.0)
    assert np.array_equal(np.flatnonzero(mesh.fixed), np.arange(len(grid.points)))
    height = np.diff(nodes[::-1, 0, 1])
    np.testing.assert_allclose(height[1:] / height[:-1], 1.3)
    assert abs(height[0]) <= 1e-3
    quality = scaled_jacobian(mesh.nodes, mesh.hexahedra)
    assert quality.min() > 0.2
    corner = mesh.nodes[mesh.hexahedra]
    edges = (corner[:, 1] - corner[:, 0], corner[:, 3] - corner[:, 0], corner[:, 4] - corner[:, 0])
    volume = np.einsum("ei,ei->e", edges[0], np.cross(edges[1], edges[2])).sum()
    assert volume == pytest.approx(grid.areas.sum() * 6e-3, rel=0.03)


@pytest.mark.parametrize("thickness", [2e-3, None])
def test_thickness_along_the_normals(thickness):
    dish = shapes.plate(20e-3, 20)
    dish = TriangleMesh(
        dish.vertices + (10.0 * dish.vertices[:, :1] ** 2) * (0, 1.0, 0), dish.faces
    )
    values = 2e-3 + 0.05 * dish.vertices[:, 2] if thickness is None else thickness
    grid = lay_grid(dish, whole(dish), UP, 2e-3)
    below = ThicknessBase(values).below(grid, dish)
    expected = 2e-3 + 0.05 * grid.points[:, 2] if thickness is None else thickness
    np.testing.assert_allclose(np.linalg.norm(grid.points - below, axis=1), expected, rtol=1e-6)
    np.testing.assert_allclose(np.cross(grid.points - below, grid.normals), 0.0, atol=1e-9)


def test_solid_below_its_own_top():
    block = trimesh.creation.box((20e-3, 6e-3, 20e-3))
    solid = TriangleMesh(block.vertices, block.faces, "block")
    top = shapes.plate(20e-3, 4, (0.0, 3e-3, 0.0))
    grid = lay_grid(top, whole(top), UP, 2e-3)
    below = SolidBase(solid).below(grid, top)
    np.testing.assert_allclose(below, grid.points - (0.0, 6e-3, 0.0), atol=1e-9)
    worn = shapes.plate(20e-3, 4, (0.0, 2e-3, 0.0))
    low = lay_grid(worn, whole(worn), UP, 2e-3)
    base = SolidBase(solid).below_worn(np.full(len(worn.vertices), 1e-3))
    np.testing.assert_allclose(base.below(low, worn), below, atol=1e-9)


def test_the_implant_keeps_its_rim_and_no_element_is_folded():
    _, model = implant()
    for layer in model.layers:
        quality = scaled_jacobian(layer.mesh.nodes, layer.mesh.hexahedra)
        assert quality.min() > 0.1
        assert np.median(quality) > 0.9
        inside = model.compartments == model.layers.index(layer)
        assert layer.areas.sum() == pytest.approx(model.tibia.areas[inside].sum(), rel=0.05)
        assert layer.thickness.min() > 5.9e-3


def roof(slope=1.5, cells=40):
    """Surface that falls to both sides of a sharp ridge along z."""
    plate = shapes.plate(20e-3, cells)
    fall = np.abs(plate.vertices[:, :1]) * (0, -slope, 0)
    return TriangleMesh(plate.vertices + fall, plate.faces, "roof")


@pytest.mark.parametrize("spacing", [0.7e-3, 1e-3, 2e-3])
def test_columns_below_a_ridge_are_straightened_and_the_change_is_stated(spacing):
    surface = roof()
    grid = lay_grid(surface, whole(surface), UP, spacing)
    base = ThicknessBase(12e-3).below(grid, surface)
    with pytest.warns(MeshWarning, match="roof: .* straightened") as caught:
        mesh = layer_mesh(grid, base, spacing, 1.15, "roof")
    assert scaled_jacobian(mesh.nodes, mesh.hexahedra).min() > 0.0
    np.testing.assert_allclose(mesh.nodes[mesh.surface], grid.points, atol=1e-15)
    # The stated change is that of the distance from the base to the surface.
    found = KDTree(grid.points).query(mesh.nodes[: len(base)])[0]
    moved = (mesh.nodes[: len(base)] != base).any(axis=1)
    largest = 1e6 * np.abs(found - 12e-3)[moved].max()
    (text,) = (str(warning.message) for warning in caught)
    assert f"changes by at most {largest:.0f} um of 12000 um" in text


def test_an_element_that_stays_folded_is_named():
    plate = shapes.plate(20e-3, 4)
    grid = lay_grid(plate, whole(plate), UP, 1e-3)
    crossed = replace(grid, quads=grid.quads.copy())
    crossed.quads[7] = crossed.quads[7, [0, 3, 2, 1]]
    with pytest.raises(InputError, match=r"plate: 4 of .* elements of the layer are folded"):
        layer_mesh(crossed, ThicknessBase(4e-3).below(grid, plate), 1e-3, 1.0, "plate")


def test_nodes_do_not_meet_where_the_rim_nearly_meets_itself():
    """Two nodes would move to both ends of the end of a notch, 1 nm apart."""
    end = 5e-10
    x = 1e-3 * np.array([-19.5, 19.5, 19.5, 16.0, 0.0, 0.0, -16.0, -19.5]) + end * np.array(
        [0, 0, 0, 0, 1, -1, 0, 0]
    )
    z = 1e-3 * np.array([10.0, 10.0, -16.0, -16.0, 0.3, 0.3, -16.0, -16.0])
    faces = np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [0, 4, 5], [0, 5, 7], [5, 6, 7]])
    surface = TriangleMesh(np.column_stack([x, np.zeros(8), z]), faces, "notch")
    grid = lay_grid(surface, whole(surface), UP, 1e-3)
    edges = grid.points[grid.quads] - grid.points[np.roll(grid.quads, 1, axis=1)]
    assert np.linalg.norm(edges, axis=2).min() > 0.1e-3


def test_charts_return_what_they_were_given():
    points = np.random.default_rng(0).uniform(-0.01, 0.01, (50, 3))
    cylinder = CylinderChart(np.array([-0.03, 0.0, 0.0]), np.eye(3), 0.03)
    for chart in (UP, cylinder):
        at = chart.coordinates(points)
        starts, lines = chart.lines(at)
        np.testing.assert_allclose(np.linalg.norm(lines, axis=1), 1.0)
        across = points - starts
        along = (across * lines).sum(axis=1)
        assert (along > 0.0).all()
        np.testing.assert_allclose(starts + along[:, None] * lines, points, atol=1e-15)


def test_gradients_of_cylinder_coordinates():
    axes = np.array([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])
    chart = CylinderChart(np.array([1e-3, 2e-3, 0.0]), axes, 30e-3)
    point, step = np.array([[20e-3, -15e-3, 4e-3]]), 1e-7 * np.eye(3)
    differences = (chart.coordinates(point + step) - chart.coordinates(point - step)) / 2e-7
    assert chart.slopes(point)[0] == pytest.approx(differences.T, abs=1e-7)
