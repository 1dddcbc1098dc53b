"""The real knee meshes against the table of their README."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from foundation.surfaces.compartments import find_compartments, find_split
from foundation.surfaces.mesh import load_mesh
from foundation.surfaces.mesh_checks import check_mesh

LENHART, DM = "jam_lenhart2015_knee", "grand_challenge_DM_implant"
#: File, body, triangles, vertices, box in mm.
TABLE = [
    (f"{LENHART}/ACLC01-R-femur-cart.obj", "femur", 29782, 15179, (69.0, 48.4, 66.7)),
    (f"{LENHART}/ACLC01-R-tibia-cart.obj", "tibia", 8602, 4453, (40.0, 14.5, 65.8)),
    (f"{LENHART}/ACLC01-R-femur-cart-coarse.stl", "femur", 2170, 1185, (68.8, 48.3, 66.7)),
    (f"{LENHART}/ACLC01-R-tibia-cart-coarse.stl", "tibia", 1199, 662, (39.9, 14.4, 65.8)),
    (f"{DM}/Femoral Component contact.stl", "femur", 24960, 12771, (66.4, 54.9, 75.0)),
    (f"{DM}/Femoral Component decimated.stl", "femur", 24442, 12223, (66.4, 55.6, 75.1)),
    (f"{DM}/Tibial Insert contact.stl", "tibia", 15042, 7692, (46.9, 9.5, 79.2)),
    (f"{DM}/Tibial Insert decimated.stl", "tibia", 52918, 26459, (52.8, 15.4, 79.5)),
]


def load(knee_data, file):
    axes = ("-x", "y", "-z") if file.startswith(DM) else ("x", "y", "z")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return load_mesh(knee_data / file, axes=axes)


@pytest.mark.parametrize(("file", "body", "triangles", "vertices", "box"), TABLE)
def test_meshes_are_those_of_the_table_and_have_no_fault(
    knee_data, file, body, triangles, vertices, box
):
    mesh = load(knee_data, file)
    assert (len(mesh.faces), len(mesh.vertices)) == (triangles, vertices)
    extent = 1e3 * np.ptp(mesh.vertices, axis=0)
    np.testing.assert_allclose(extent, box, rtol=0.0, atol=0.0501)
    assert check_mesh(mesh, body) == []


def test_lenhart_compartments_are_the_two_pieces(knee_data):
    labels = find_compartments(load(knee_data, f"{LENHART}/ACLC01-R-tibia-cart.obj"))
    np.testing.assert_array_equal(np.bincount(labels), [4244, 4358])


@pytest.mark.parametrize("file", ["Tibial Insert contact.stl", "Tibial Insert decimated.stl"])
def test_grand_challenge_insert_parts_at_its_eminence(knee_data, file):
    mesh = load(knee_data, f"{DM}/{file}")
    assert abs(find_split(mesh)) < 1e-3
    labels = find_compartments(mesh)
    z = mesh.centroids[:, 2]
    # The plateaus end at the foot of the eminence, about 8 mm from the middle.
    assert (labels[z < -5e-3] == 0).all()
    assert (labels[z > 5e-3] == 1).all()


def test_grand_challenge_insert_in_its_own_axes_has_its_compartments_exchanged(knee_data):
    # With the file's own axes the left and right of the knee are exchanged, and so are the labels.
    file = knee_data / DM / "Tibial Insert contact.stl"
    turned = find_compartments(load(knee_data, f"{DM}/Tibial Insert contact.stl"))
    as_is = load_mesh(file)
    middle = np.abs(as_is.centroids[:, 2]) < 5e-3
    found = find_compartments(as_is)
    np.testing.assert_array_equal(found[~middle], 1 - turned[~middle])
