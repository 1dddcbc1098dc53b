"""Thickness measured on a closed solid: slabs in closed form, the built-in insert, wrong solids."""

import re

import numpy as np
import pytest
import trimesh
from shapes import plate
from trimesh.transformations import rotation_matrix

from foundation.implant.condylar_implant import CondylarImplant
from foundation.surfaces.mesh import MeshError, MeshWarning, TriangleMesh
from foundation.surfaces.mesh_topology import find_edges
from foundation.surfaces.thickness import measured_thickness

H = 6e-3


def box(sizes, top, name="solid"):
    """Closed box of these sizes, the middle of its upper side at `top`."""
    body = trimesh.creation.box(sizes)
    middle = np.asarray(top) - [0.0, sizes[1] / 2, 0.0]
    return TriangleMesh(np.asarray(body.vertices) + middle, np.asarray(body.faces), name)


def closed(surface, flare=1.0, name="solid"):
    """Close a surface over the plane y = 0: a flat underside, walls along the rim.

    The underside is `flare` times as wide, so that the walls slope outwards.
    """
    count = len(surface.vertices)
    middle = surface.vertices.mean(axis=0) * [1.0, 0.0, 1.0]
    below = middle + flare * (surface.vertices * [1.0, 0.0, 1.0] - middle)
    edges = find_edges(surface.faces, count)
    rim = {tuple(e) for e in edges.ends[edges.count == 1]}
    along = surface.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    along = along[[tuple(sorted(e)) in rim for e in along]]
    a, b = along[:, 0], along[:, 1]
    walls = [np.column_stack([b, a, a + count]), np.column_stack([b, a + count, b + count])]
    faces = np.concatenate([surface.faces, surface.faces[:, ::-1] + count, *walls])
    return TriangleMesh(np.concatenate([surface.vertices, below]), faces, name)


def lateral_plateau(edge):
    """Lateral half of the built-in insert, with its exact normals."""
    _, insert, sides = CondylarImplant().tessellate(edge)
    used, faces = np.unique(insert.faces[sides == 1], return_inverse=True)
    normals = insert.vertex_normals[used]
    return TriangleMesh(insert.vertices[used], faces.reshape(-1, 3), "plateau", normals)


def tilted(angle, width=40e-3, cells=20):
    """Square plate tilted about z, its middle at the height H."""
    flat = plate(width, cells)
    turn = rotation_matrix(angle, [0, 0, 1])[:3, :3]
    return TriangleMesh(flat.vertices @ turn.T + [0.0, H, 0.0], flat.faces, "tilted")


@pytest.mark.filterwarnings("error")
def test_upper_side_of_the_solid_is_not_its_underside():
    """Vertices above and below the solid's own triangulation: measured from where they are."""
    surface = plate(40e-3, 12)
    off = np.random.default_rng(3).uniform(-0.1e-3, 0.1e-3, len(surface.vertices))
    vertices = surface.vertices + np.column_stack([0 * off, off, 0 * off])
    # The springs' normals are upright in spite of the roughness.
    upright = np.tile([0.0, 1.0, 0.0], (len(off), 1))
    rough = TriangleMesh(vertices, surface.faces, "rough", upright)
    thickness = measured_thickness(rough, box((50e-3, H, 50e-3), (0.0, 0.0, 0.0)))
    np.testing.assert_allclose(thickness, H + off, rtol=1e-10, atol=0.0)
    assert (off > 0.0).any()
    assert (off < 0.0).any()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("angle", np.radians([10.0, -25.0]))
def test_tilted_slab_is_thicker_by_its_slope(angle):
    wide, surface = tilted(angle, width=20e-3, cells=3), tilted(angle, width=8e-3, cells=9)
    thickness = measured_thickness(surface, closed(wide))
    expected = surface.vertices[:, 1] / np.cos(angle)
    np.testing.assert_allclose(thickness, expected, rtol=1e-10, atol=0.0)


def test_where_the_line_leaves_through_a_wall_the_nearest_thickness_stands_in():
    angle = np.radians(20.0)
    surface = tilted(angle, width=20e-3, cells=41)
    exact = surface.vertices[:, 1] / np.cos(angle)
    # Along minus the normal the line goes to larger x, past the wall at the largest one.
    foot = surface.vertices[:, 0] + np.sin(angle) * exact
    outside = foot > surface.vertices[:, 0].max()
    assert 0 < outside.sum() < 0.5 * len(outside)
    # The walls at both ends of z contain the line itself, which may graze or miss.
    inner = np.abs(surface.vertices[:, 2]) < 9.9e-3
    with pytest.warns(MeshWarning, match="solid: no underside under .* of tilted") as caught:
        thickness = measured_thickness(surface, closed(surface))
    count = int(re.search(r"under (\d+) of 1764 ", str(caught[0].message))[1])
    assert (outside & inner).sum() <= count <= (outside | ~inner).sum()
    kept = ~outside & inner
    np.testing.assert_allclose(thickness[kept], exact[kept], rtol=1e-10, atol=0.0)
    # Nearest along the slope is the last column before the wall.
    last = exact[
        ~outside & inner & (surface.vertices[:, 0] > surface.vertices[~outside, 0].max() - 1e-6)
    ]
    np.testing.assert_allclose(thickness[outside & inner], last[0], rtol=1e-9, atol=0.0)


@pytest.mark.filterwarnings("error")
def test_exact_normals_give_the_exact_thickness_of_the_built_in_insert():
    plateau = lateral_plateau(1.5e-3)
    exact = CondylarImplant().thickness(plateau.vertices, plateau.vertex_normals)
    thickness = measured_thickness(plateau, closed(plateau, flare=3.0))
    np.testing.assert_allclose(thickness, exact, rtol=1e-10, atol=0.0)
    assert np.ptp(exact) > 1e-3


def without_triangle(solid):
    return TriangleMesh(solid.vertices, solid.faces[1:], solid.name)


def with_one_turned(solid):
    faces = solid.faces.copy()
    faces[0] = faces[0, ::-1]
    return TriangleMesh(solid.vertices, faces, solid.name)


def turned(solid):
    return TriangleMesh(solid.vertices, solid.faces[:, ::-1], solid.name)


def scaled(factor):
    return lambda solid: TriangleMesh(factor * solid.vertices, solid.faces, solid.name)


def lowered(solid):
    return TriangleMesh(solid.vertices - [0.0, 2e-3, 0.0], solid.faces, solid.name)


def laid(solid):
    x, y, z = solid.vertices.T
    return TriangleMesh(np.column_stack([x, -z, y]), solid.faces, solid.name)


def narrowed(solid):
    return TriangleMesh(solid.vertices * [0.5, 1.0, 1.0], solid.faces, solid.name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_triangle, "slab: not watertight, 3 edges .*3 edges are open"),
        (with_one_turned, "slab: not watertight, 3 edges .*0 edges are open"),
        (turned, "slab: the normals .* inwards"),
        (scaled(1e3), "slab: .* diagonal of .* check the units"),
        (scaled(1e-3), "slab: .* diagonal of .* check the units"),
        (lowered, r"plate: 36 of 36 .* solid slab.* \(0.0, -5.0, 0.0\) mm"),
        # As if y and z were mixed up.
        (laid, "plate: .* farther than 0.5 mm"),
        (narrowed, "plate: 1[0-9] of 36 .* farther than 0.5 mm"),
    ],
)
def test_wrong_solids_are_refused(change, message):
    surface = plate(40e-3, 7)
    solid = box((50e-3, H, 50e-3), (0.0, 0.0, 0.0), "slab")
    with pytest.raises(MeshError, match=message):
        measured_thickness(surface, change(solid))
