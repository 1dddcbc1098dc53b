"""Pieces of a file that are a body: further bodies and inner sheets are left out."""

import numpy as np
import pytest
import trimesh
from solids import joined

from foundation.anatomy.own_pieces import own_pieces
from foundation.implant.condylar_implant import CondylarImplant
from foundation.surfaces.mesh_topology import label_pieces
from foundation.surfaces.surface_shape import selected
from foundation.surfaces.triangle_mesh import TriangleMesh

FEMUR, TIBIA = CondylarImplant().tessellate(3e-3)[:2]


def solid(shape, *at):
    return TriangleMesh(np.asarray(shape.vertices) + at, np.asarray(shape.faces), "solid")


def moved(mesh, *by):
    return TriangleMesh(mesh.vertices + by, mesh.faces, mesh.name)


def ellipsoid(*radii):
    shape = trimesh.creation.icosphere(subdivisions=3)
    shape.vertices *= radii
    return shape


def patella(gap):
    """Return a patella before the most anterior point of the femur, with a gap [m]."""
    front = FEMUR.vertices[np.argmax(FEMUR.vertices[:, 0])]
    return solid(ellipsoid(10e-3, 20e-3, 20e-3), front[0] + 10e-3 + gap, front[1], 0.0)


def fibula():
    shaft = trimesh.creation.capsule(radius=8e-3, height=0.2).apply_transform(
        trimesh.transformations.rotation_matrix(np.pi / 2.0, [1.0, 0.0, 0.0])
    )
    return solid(shaft, -0.01, float(TIBIA.vertices[:, 1].min()) - 0.015, 0.03)


@pytest.mark.parametrize("gap", [0.0, 1e-3, 10e-3])
def test_a_patella_is_named_and_left_out(gap):
    whole = joined(FEMUR, patella(gap))
    found = own_pieces(whole, "femur")
    assert len(found.mesh.faces) == len(FEMUR.faces)
    assert len(found.left_out) == 1
    assert (
        "a further body is left out: 1280 triangles, 20 x 40 x 40 mm, about (" in found.left_out[0]
    )


def test_a_fibula_is_left_out_though_its_area_is_the_largest():
    longer = fibula()
    assert longer.areas.sum() > TIBIA.areas.sum()
    found = own_pieces(joined(TIBIA, longer), "tibia")
    assert len(found.mesh.faces) == len(TIBIA.faces)
    assert "further body" in found.left_out[0]


@pytest.mark.parametrize("near", [0.0, 0.2])
def test_of_two_knees_the_one_near_a_point_is_taken(near):
    other = moved(FEMUR.mirrored(), 0.0, 0.0, 0.2)
    found = own_pieces(joined(FEMUR, other), "femur", np.array([0.0, 0.0, near]))
    middle = found.mesh.centroids.mean(axis=0)
    # The condyles of the implant are two pieces.
    assert len(found.left_out) == 2
    assert abs(middle[2] - near) < 0.02


def test_both_plateaus_stay_whole():
    kept = np.abs(TIBIA.centroids[:, 2]) > 5e-3
    plateaus = selected(TIBIA, kept)
    assert len(label_pieces(plateaus)[1]) == 2
    assert own_pieces(plateaus, "tibia").mesh is plateaus


@pytest.mark.parametrize("depth", [0.3e-3, 1e-3])
@pytest.mark.parametrize("first", [True, False])
def test_of_two_sheets_the_outer_one_stays(depth, first):
    inner = moved(TIBIA, 0.0, -depth, 0.0)
    whole = joined(TIBIA, inner) if first else joined(inner, TIBIA)
    found = own_pieces(whole, "tibia")
    assert len(found.mesh.faces) == len(TIBIA.faces)
    assert found.mesh.vertices[:, 1].max() == pytest.approx(TIBIA.vertices[:, 1].max(), abs=1e-9)
    assert "two sheets over one another" in found.left_out[0]


def test_the_walls_of_a_layer_are_no_two_sheets():
    inner = moved(TIBIA, 0.0, -2e-3, 0.0)
    turned = TriangleMesh(inner.vertices, inner.faces[:, ::-1], "wall")
    walls = joined(TIBIA, turned)
    assert own_pieces(walls, "tibia").mesh is walls
