"""Loading of articular surfaces: units, axes, sides, placement, and the real knees."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from foundation.implant.condylar_implant import CondylarImplant
from foundation.surfaces.compartments import find_compartments, find_split
from foundation.surfaces.mesh import (
    UNITS,
    MeshError,
    MeshWarning,
    TriangleMesh,
    load_mesh,
    read_surface,
)
from foundation.surfaces.mesh_checks import check_mesh
from foundation.surfaces.surface_shape import is_closed


@pytest.fixture(scope="module")
def insert():
    return CondylarImplant().tessellate(3e-3)[1]


def write(path, vertices, faces):
    options = {"digits": 17} if path.suffix == ".obj" else {}
    trimesh.Trimesh(vertices, faces, process=False).export(path, **options)
    return path


def corners(mesh):
    return mesh.vertices[mesh.faces]


def close(found, wanted):
    # STL and PLY hold single precision: half a unit in the last place of 0.05 m is 2e-9 m.
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=4e-9)


@pytest.mark.parametrize("extension", ["stl", "obj"])
@pytest.mark.parametrize("unit", sorted(UNITS))
def test_unit_and_axes_are_undone(tmp_path, insert, extension, unit):
    # The file has x posterior, y to the right, z up: ours are -x, z, y of the file.
    in_file = insert.vertices[:, [0, 2, 1]] * (-1.0, 1.0, 1.0) / UNITS[unit]
    path = write(tmp_path / f"turned.{extension}", in_file, insert.faces)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = load_mesh(path, unit=unit, axes=("-x", "z", "y"))
    close(corners(loaded), corners(insert))
    close(loaded.normals @ (0.0, 1.0, 0.0) > 0.0, True)


def test_left_knee_is_mirrored_and_still_faces_up(tmp_path, insert):
    path = write(tmp_path / "left.obj", insert.vertices * (1, 1, -1), insert.faces[:, ::-1])
    loaded = load_mesh(path, side="left")
    close(loaded.centroids, insert.centroids)
    close(loaded.normals, insert.normals)


def test_rotation_and_origin_place_a_mesh(tmp_path, insert):
    """Against SciPy: the origin first, then the axes, then the rotation about fixed axes."""
    path = write(tmp_path / "tibia.ply", insert.vertices, insert.faces)
    origin, angles = np.array([0.3, -1.2, 0.07]), np.radians([3.0, -20.0, 41.0])
    axes = ("-x", "z", "y")
    loaded = load_mesh(path, axes=axes, rotation=angles, origin=origin)
    file = load_mesh(path).vertices
    turn = Rotation.from_rotvec(angles[2] * np.eye(3)[2])
    turn = turn * Rotation.from_rotvec(angles[1] * np.eye(3)[1])
    turn = turn * Rotation.from_rotvec(angles[0] * np.eye(3)[0])
    expected = turn.apply((file - origin)[:, [0, 2, 1]] * [-1.0, 1.0, 1.0])
    np.testing.assert_allclose(loaded.vertices, expected, atol=1e-14)
    rows = turn.as_matrix() @ np.array([[-1.0, 0, 0], [0, 0, 1], [0, 1, 0]])
    by_matrix = load_mesh(path, axes=np.round(rows, 6), origin=origin)
    np.testing.assert_allclose(by_matrix.vertices, expected, atol=2e-6)


def test_step_files_are_triangulated():
    """A block of 48 x 12 x 76 mm with a spherical dish of 43 mm in each half."""
    pytest.importorskip("cascadio", reason="STEP needs cascadio (the step extra)")
    mesh = load_mesh(Path(__file__).parent / "insert.step")
    np.testing.assert_allclose(np.ptp(mesh.vertices, axis=0), [0.048, 0.012, 0.076], atol=1e-7)
    assert is_closed(mesh)
    centres = np.array([[0.0, 0.052, -0.02], [0.0, 0.052, 0.02]])
    distance = np.linalg.norm(mesh.vertices[:, None] - centres, axis=2)
    dished = np.abs(distance - 0.043).min(axis=1) < 1e-7
    assert dished.sum() > 3000


def test_obj_materials_groups_and_normals_do_not_reorder_triangles(tmp_path):
    path = tmp_path / "groups.obj"
    path.write_text(
        "v 0 0 0\nv 0.05 0 0\nv 0 0 0.05 # corner\nv 0.05 0 0.05\nv 0.1 0 0\nvn 0 1 0\nvn 0 0 1\n"
        "usemtl a\ng one\nf 1//1 3//1 2//1\nusemtl b\nf 2//2 3//2 4//2\n"
        "usemtl a\no two\nf -4//1 -2//1 -1//1\n"
    )
    loaded = load_mesh(path)
    np.testing.assert_array_equal(loaded.faces, [[0, 2, 1], [1, 2, 3], [1, 3, 4]])
    assert len(loaded.vertices) == 5


def test_degenerate_triangles_are_dropped_with_a_warning(tmp_path, insert):
    faces = np.insert(insert.faces, 4, [7, 7, 9], axis=0)
    path = write(tmp_path / "flat.obj", insert.vertices, faces)
    with pytest.warns(MeshWarning, match=r"flat.obj: 1 degenerate .* dropped.* number 4"):
        loaded = load_mesh(path)
    close(corners(loaded), corners(insert))


def test_areas_normals_and_centroids_of_one_triangle():
    mesh = TriangleMesh([[0, 0, 0], [0, 0, 2], [3, 0, 0]], [[0, 1, 2]], "one")
    np.testing.assert_allclose(mesh.areas, [3.0], rtol=1e-15, atol=0.0)
    np.testing.assert_allclose(mesh.normals, [[0, 1, 0]], rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(mesh.centroids, [[1, 0, 2 / 3]], rtol=1e-15, atol=0.0)


def test_vtp_without_vtk_names_the_extra(tmp_path, monkeypatch):
    (tmp_path / "knee.vtp").write_text("<VTKFile/>")
    monkeypatch.setitem(sys.modules, "vtkmodules.vtkIOXML", None)
    with pytest.raises(MeshError, match=r"knee.vtp: .*pip install knee-contact\[vtp\]"):
        load_mesh(tmp_path / "knee.vtp")


def test_counts_of_binary_stl_are_read_as_they_are(tmp_path):
    """0x45 and 0x65 are letters of one kind, but other numbers."""
    count = 0x45
    triangles = np.zeros(count, [("n", "<f4", 3), ("v", "<f4", (3, 3)), ("e", "<u2")])
    triangles["v"] = np.random.default_rng(0).uniform(size=(count, 3, 3))
    path = tmp_path / "a.stl"
    path.write_bytes(bytes(80) + count.to_bytes(4, "little") + triangles.tobytes())
    assert len(read_surface(path).faces) == count


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


@pytest.mark.parametrize("file", ["Tibial Insert contact.stl", "Tibial Insert decimated.stl"])
def test_grand_challenge_insert_parts_at_its_eminence(knee_data, file):
    mesh = load(knee_data, f"{DM}/{file}")
    assert abs(find_split(mesh)) < 1e-3
    labels = find_compartments(mesh)
    z = mesh.centroids[:, 2]
    # The plateaus end at the foot of the eminence, about 8 mm from the middle.
    assert (labels[z < -5e-3] == 0).all()
    assert (labels[z > 5e-3] == 1).all()
