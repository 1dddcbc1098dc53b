"""Medial and lateral compartment of tibial surfaces."""

import numpy as np
import pytest
import shapes

from foundation.implant.condylar_implant import CondylarImplant
from foundation.surfaces.compartments import find_compartments, find_split
from foundation.surfaces.mesh import TriangleMesh


def saddle(ridge_at=0.0, height=8e-3):
    """One-piece tibia with two valleys and a ridge between them at z = ridge_at."""
    flat = shapes.plate(80e-3, 80)
    x, _, z = flat.vertices.T
    ridge = height * np.exp(-(((z - ridge_at) / 8e-3) ** 2))
    return TriangleMesh(np.column_stack([x, 0.01 + ridge + 5 * x**2, z]), flat.faces, "saddle")


def test_two_pieces_are_the_plateaus():
    _, insert, labels = CondylarImplant().tessellate(3e-3)
    found = find_compartments(insert)
    np.testing.assert_array_equal(found, labels)
    assert found.dtype == np.int8
    shifted = TriangleMesh(insert.vertices + np.array([0.0, 0.0, 0.2]), insert.faces)
    np.testing.assert_array_equal(find_compartments(shifted), labels)


def test_crumbs_go_with_the_nearer_plateau():
    _, insert, labels = CondylarImplant().tessellate(3e-3)
    corners = np.array([[0, 0, 0], [0, 0, 1e-4], [1e-4, 0, 0]])
    crumb = corners + np.array([0.0, 0.02, 0.03])
    count = len(insert.vertices)
    mesh = TriangleMesh(
        np.vstack([insert.vertices, crumb]), np.vstack([insert.faces, count + np.arange(3)])
    )
    np.testing.assert_array_equal(find_compartments(mesh), np.append(labels, 1))


@pytest.mark.parametrize("ridge_at", [0.0, 6e-3, -9e-3])
def test_one_piece_is_split_at_its_ridge(ridge_at):
    mesh = saddle(ridge_at)
    np.testing.assert_allclose(find_split(mesh), ridge_at, rtol=0.0, atol=5e-4)
    labels = find_compartments(mesh)
    z = mesh.centroids[:, 2]
    assert (labels[z < ridge_at - 1e-3] == 0).all()
    assert (labels[z > ridge_at + 1e-3] == 1).all()


def test_ridge_without_the_underside_of_a_closed_insert():
    top = saddle(4e-3)
    under = TriangleMesh(top.vertices * (1.0, 0.0, 1.0) + (0.0, -5e-3, 0.0), top.faces[:, ::-1])
    both = TriangleMesh(
        np.vstack([top.vertices, under.vertices]),
        np.vstack([top.faces, under.faces + len(top.vertices)]),
    )
    np.testing.assert_allclose(find_split(both), find_split(top), rtol=0.0, atol=1e-12)
    # Two pieces above each other are not two plateaus.
    assert set(find_compartments(both)[: len(top.faces)]) == {0, 1}


def test_mirrored_tibia_swaps_the_compartments():
    mesh = saddle(5e-3)
    np.testing.assert_array_equal(find_compartments(mesh.mirrored()), 1 - find_compartments(mesh))
