"""Loading of articular surfaces, whole and damaged."""

from __future__ import annotations

import contextlib
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import trimesh
from damage import files, read_or_refuse, reading
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from foundation.implant.condylar_implant import CondylarImplant
from foundation.surfaces.mesh import UNITS, MeshError, MeshWarning, TriangleMesh, load_mesh
from foundation.surfaces.mesh_io import read_surface
from foundation.surfaces.surface_shape import is_closed

FORMATS = ("stl", "ascii.stl", "obj", "ply", "off", "vtp")


@pytest.fixture(scope="module")
def insert():
    return CondylarImplant().tessellate(3e-3)[1]


def write(path, vertices, faces):
    """Write a mesh in the format of the path's extension."""
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    if path.name.endswith("ascii.stl"):
        path.write_text(trimesh.exchange.stl.export_stl_ascii(mesh))
    elif path.suffix == ".vtp":
        write_vtp(path, vertices, faces)
    elif path.suffix in (".obj", ".off"):
        mesh.export(path, digits=17)
    else:
        mesh.export(path)
    return path


def write_vtp(path, vertices, faces):
    pytest.importorskip("vtkmodules", reason="VTP needs vtk (the vtp extra)")
    from vtkmodules.util.numpy_support import numpy_to_vtk
    from vtkmodules.vtkCommonCore import vtkPoints
    from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkPolyData
    from vtkmodules.vtkIOXML import vtkXMLPolyDataWriter

    points, cells = vtkPoints(), vtkCellArray()
    points.SetData(numpy_to_vtk(vertices, deep=True))
    for face in faces:
        cells.InsertNextCell(3, [int(v) for v in face])
    surface = vtkPolyData()
    surface.SetPoints(points)
    surface.SetPolys(cells)
    writer = vtkXMLPolyDataWriter()
    writer.SetFileName(str(path))
    writer.SetInputData(surface)
    writer.Write()


def corners(mesh):
    return mesh.vertices[mesh.faces]


def close(found, wanted):
    # STL and PLY hold single precision: half a unit in the last place of 0.05 m is 2e-9 m.
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=4e-9)


@pytest.mark.parametrize("extension", FORMATS)
def test_every_format_keeps_triangles_and_their_order(tmp_path, insert, extension):
    path = write(tmp_path / f"insert.{extension}", insert.vertices, insert.faces)
    loaded = load_mesh(path)
    assert loaded.faces.shape == insert.faces.shape
    assert loaded.vertices.shape == insert.vertices.shape
    close(corners(loaded), corners(insert))
    assert loaded.name == str(path)


@pytest.mark.parametrize("extension", FORMATS)
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


def test_mirroring_twice_changes_no_bit(insert):
    back = insert.mirrored().mirrored()
    np.testing.assert_array_equal(back.vertices, insert.vertices)
    np.testing.assert_array_equal(back.faces, insert.faces)


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


def test_step_files_without_their_reader(monkeypatch):
    monkeypatch.setitem(sys.modules, "cascadio", None)
    with pytest.raises(MeshError, match=r"insert.step.*pip install knee-contact\[step\].*STL"):
        load_mesh(Path(__file__).parent / "insert.step")


def test_identity_axes_in_metres_change_no_bit(tmp_path, insert):
    single = insert.vertices.astype(np.float32)
    path = write(tmp_path / "single.stl", single, insert.faces)
    loaded = load_mesh(path)
    np.testing.assert_array_equal(corners(loaded), single.astype(np.float64)[insert.faces])


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


def test_obj_polygons_become_fans_in_place(tmp_path):
    path = tmp_path / "quad.obj"
    path.write_text(
        "v 0 0 0\nv 0 0 .05\nv .05 0 .05\nv .05 0 0\nv .1 0 .05\nv .1 0 0\nf 1 2 3 4\nf 4 3 5\n"
    )
    faces = load_mesh(path, check=False).faces
    np.testing.assert_array_equal(faces, [[0, 1, 2], [0, 2, 3], [3, 2, 4]])


def test_degenerate_triangles_are_dropped_with_a_warning(tmp_path, insert):
    faces = np.insert(insert.faces, 4, [7, 7, 9], axis=0)
    path = write(tmp_path / "flat.obj", insert.vertices, faces)
    with pytest.warns(MeshWarning, match=r"flat.obj: 1 degenerate .* dropped.* number 4"):
        loaded = load_mesh(path)
    close(corners(loaded), corners(insert))


def test_slivers_are_kept(tmp_path):
    # 1e-6 of the length in height: thin, but a triangle with a normal.
    path = write(tmp_path / "sliver.obj", [[0, 0, 0], [0.05, 0, 0], [0, 0, -5e-8]], [[0, 1, 2]])
    np.testing.assert_allclose(load_mesh(path).normals, [[0, 1, 0]], rtol=0.0, atol=1e-12)


def test_unreferenced_vertices_are_dropped_with_a_warning(tmp_path, insert):
    stray = np.concatenate([[[9.0, 9.0, 9.0]], insert.vertices])
    path = write(tmp_path / "stray.obj", stray, insert.faces + 1)
    with pytest.warns(MeshWarning, match=r"stray.obj: 1 unreferenced"):
        loaded = load_mesh(path)
    np.testing.assert_allclose(loaded.vertices, insert.vertices, rtol=0.0, atol=1e-15)
    np.testing.assert_array_equal(loaded.faces, insert.faces)


def test_areas_normals_and_centroids_of_one_triangle():
    mesh = TriangleMesh([[0, 0, 0], [0, 0, 2], [3, 0, 0]], [[0, 1, 2]], "one")
    np.testing.assert_allclose(mesh.areas, [3.0], rtol=1e-15, atol=0.0)
    np.testing.assert_allclose(mesh.normals, [[0, 1, 0]], rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(mesh.centroids, [[1, 0, 2 / 3]], rtol=1e-15, atol=0.0)


def test_arrays_are_copied_and_read_only():
    vertices = np.eye(3)
    mesh = TriangleMesh(vertices, [[0, 1, 2]])
    vertices[0, 0] = 5.0
    assert mesh.vertices[0, 0] == 1.0
    for array in (mesh.vertices, mesh.faces, mesh.centroids, mesh.normals, mesh.areas):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("extension", ["stl", "ascii.stl", "ply", "off", "vtp"])
def test_truncated_file(tmp_path, insert, extension, part):
    path = write(tmp_path / f"cut.{extension}", insert.vertices, insert.faces)
    content = path.read_bytes()
    path.write_bytes(content[: int(part * len(content))])
    with pytest.raises(MeshError, match=r"cut\..*: truncated, damaged .* copy the file again"):
        load_mesh(path)


@pytest.mark.parametrize("part", [0.4, 0.98])
def test_triangles_lost_at_the_end_of_a_line_leave_vertices_that_are_told(tmp_path, insert, part):
    path = write(tmp_path / "cut.obj", insert.vertices, insert.faces)
    lines = path.read_text().splitlines(keepends=True)
    begin = next(k for k, line in enumerate(lines) if line.startswith("f "))
    path.write_text("".join(lines[: begin + int(part * (len(lines) - begin))]))
    with pytest.warns(MeshWarning, match=r"cut\.obj: \d+ unreferenced .* may lack its last"):
        load_mesh(path, check=False)


@pytest.mark.parametrize("change", [-1, -100, 1])
def test_vtp_with_another_number_of_polygons_than_it_counts(tmp_path, insert, change):
    path = write(tmp_path / "cut.vtp", insert.vertices, insert.faces)
    count = len(insert.faces)
    counted = f'NumberOfPolys="{count}"'.encode()
    assert counted in path.read_bytes()
    other = counted.replace(b"%d" % count, b"%d" % (count + change))
    path.write_bytes(path.read_bytes().replace(counted, other))
    with pytest.raises(MeshError, match=r"cut\.vtp: truncated, damaged"):
        load_mesh(path)


def test_wrong_unit_is_named_and_check_can_be_left_off(tmp_path, insert):
    path = write(tmp_path / "mm.obj", 1e3 * insert.vertices, insert.faces)
    with pytest.raises(MeshError, match=r"mm.obj: bounding box .* set unit='mm'"):
        load_mesh(path)
    assert load_mesh(path, check=False).vertices.max() > 20.0


def test_vtp_without_vtk_names_the_extra(tmp_path, monkeypatch):
    (tmp_path / "knee.vtp").write_text("<VTKFile/>")
    monkeypatch.setitem(sys.modules, "vtkmodules.vtkIOXML", None)
    with pytest.raises(MeshError, match=r"knee.vtp: .*pip install knee-contact\[vtp\]"):
        load_mesh(tmp_path / "knee.vtp")


#: A square of two triangles and one that stands on it, 50 mm wide [m].
SQUARE = 0.05 * np.array([[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 0, 0], [0.5, 1, 0.5]])
SQUARE_FACES = np.array([[0, 1, 2], [0, 2, 3], [1, 4, 2]])


def exported(extension: str) -> bytes:
    """Return the small mesh in a format, its coordinates in single or better precision."""
    mesh = trimesh.Trimesh(SQUARE, SQUARE_FACES, process=False)
    if extension == "ascii.stl":
        return trimesh.exchange.stl.export_stl_ascii(mesh).encode()
    if extension == "ascii.ply":
        return mesh.export(file_type="ply", encoding="ascii")
    written = mesh.export(file_type=extension)
    return written.encode() if isinstance(written, str) else written


DAMAGED = ("stl", "ascii.stl", "ply", "ascii.ply", "obj", "off")
SEPARATORS = {"stl": "", "ply": ""}


@pytest.mark.parametrize("extension", [e for e in DAMAGED if e != "obj"])
def test_cut_anywhere_a_file_is_refused_or_whole(tmp_path, extension):
    content, path = exported(extension), tmp_path / f"cut.{extension}"
    path.write_bytes(content)
    vertices, faces = read_surface(path)[:2]
    for size in range(len(content) - 1, 0, -3):
        path.write_bytes(content[:size])
        with contextlib.suppress(MeshError):
            found, corners = read_surface(path)[:2]
            np.testing.assert_array_equal(found[corners], vertices[faces])


BIG_PLY = (
    b"ply\nformat binary_big_endian 1.0\nelement vertex 4\nproperty float x\nproperty float y\n"
    b"property float z\nelement face 2\nproperty list uchar int vertex_indices\nend_header\n"
    + SQUARE[:4].astype(">f4").tobytes()
    + b"".join(b"\x03" + face.astype(">i4").tobytes() for face in SQUARE_FACES[:2])
)
LONG = b"comment " + b"x" * 30_000 + b"\n"
QUADS = (
    b"ply\nformat ascii 1.0\nelement vertex 6\nproperty float x\nproperty float y\n"
    b"property float z\nelement face 2\nproperty list uchar int vertex_indices\nend_header\n"
    b"0 0 0\n1 0 0\n1 1 0\n0 1 0\n2 0 0\n2 1 0\n4 0 1 2 3\n"
)
TEXT_STL, TEXT_PLY, OBJ = exported("ascii.stl"), exported("ascii.ply"), exported("obj")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        # The header counts 2 of 3 triangles, 4 of 3, and none.
        *(
            ("a.stl", exported("stl")[:80] + bytes([n, 0, 0, 0]) + exported("stl")[84:], "bytes")
            for n in (2, 4, 0)
        ),
        ("a.stl", exported("stl")[:-1], "233 bytes, expected 234 for the 3 triangles"),
        ("a.stl", TEXT_STL.replace(b"endfacet", b"", 1), "facet has too few or too many words"),
        ("a.stl", TEXT_STL.replace(b"vertex", b"vertices", 1), "1 facet is not written"),
        ("a.stl", TEXT_STL + TEXT_STL[:200], "2 times 'solid' and 1 times"),
        ("a.ply", TEXT_PLY.replace(b"end_header", LONG + b"end_header")[:-8], "of element face"),
        (
            "a.ply",
            TEXT_PLY.replace(b"element face 3", b"element face 2"),
            "expected 7 as in the header",
        ),
        ("a.ply", QUADS, "1 of 2 lines of element face"),
        ("a.ply", QUADS + b"4 0.5 1 2 3\n", "expected integers, found '0.5'"),
        ("a.ply", BIG_PLY[:-1], "too few for the 2 of element face: expected [0-9]+ if all"),
        ("a.ply", BIG_PLY.replace(b"face 2", b"face 1"), "for the counts in the header"),
        ("a.off", exported("off") + b"3 0 1 2\n", "lines, expected 5 vertices and 3 triangles"),
        ("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 0 1 2\n", "vertex numbers from 1"),
        ("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf -4 -2 -1\n", "a triangle has vertex 0 of 3"),
        ("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1/1 2/2 3/", "found"),
        ("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 2 3 1", "no end, and 1 of 4"),
        ("a.obj", b"\xe2\x80\x8bv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\n", "unknown keyword"),
        ("a.step", b"ISO-10303-21;\nHEADER;\nENDSEC;\nDATA;\n", "END-ISO-10303-21 is missing"),
    ],
)
def test_files_whose_counts_are_wrong(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(
        MeshError, match=rf"{name}: truncated, damaged .*{message}.* copy the file again"
    ):
        read_surface(tmp_path / name)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.stl", TEXT_STL),
        ("a.stl", TEXT_STL.replace(b"facet", b"FACET").replace(b"solid", b"SOLID")),
        ("a.ply", TEXT_PLY),
        ("a.ply", TEXT_PLY.replace(b"end_header", LONG + b"end_header")),
        ("a.obj", OBJ),
        ("a.obj", OBJ.rstrip()),
        ("a.obj", OBJ[OBJ.index(b"v ") :]),
        ("a.off", exported("off")),
        ("a.off", exported("off").rstrip()),
    ],
)
def test_byte_order_marks_and_line_ends_change_nothing(tmp_path, name, content, mark, end):
    (tmp_path / name).write_bytes(mark + content.replace(b"\n", end))
    vertices, faces = read_surface(tmp_path / name)[:2]
    assert faces.shape == SQUARE_FACES.shape
    np.testing.assert_allclose(vertices[faces], SQUARE[SQUARE_FACES], rtol=0.0, atol=1e-8)


def test_a_big_endian_ply_is_read(tmp_path):
    (tmp_path / "a.ply").write_bytes(BIG_PLY)
    vertices, faces = read_surface(tmp_path / "a.ply")[:2]
    found, expected = vertices[faces], SQUARE[SQUARE_FACES[:2]]
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-8)


def read_quietly(path):
    # Places far apart overflow on the way to being refused.
    with warnings.catch_warnings(), np.errstate(over="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", MeshWarning)
        return load_mesh(path)


@pytest.mark.parametrize("extension", DAMAGED)
@given(data=st.data())
@reading
def test_damaged_file_is_a_mesh_or_refused(tmp_path, extension, data):
    content = data.draw(files(exported(extension), SEPARATORS.get(extension, " ")))
    mesh = read_or_refuse(read_quietly, tmp_path / f"damaged.{extension}", content, MeshError)
    if mesh is not None:
        assert isinstance(mesh, TriangleMesh)
        assert len(mesh.faces) > 0
        assert np.isfinite(mesh.vertices).all()
        assert np.isfinite(mesh.normals).all()


@pytest.mark.filterwarnings("ignore:.*unreferenced")
@given(
    places=st.lists(
        st.tuples(*[st.floats(-0.2, 0.2)] * 3), min_size=4, max_size=12, unique=True
    ).map(np.array),
    data=st.data(),
)
@reading
def test_obj_round_trip_changes_no_bit(tmp_path, places, data):
    corners = st.permutations(range(len(places))).map(lambda order: order[:3])
    faces = np.array(data.draw(st.lists(corners, min_size=1, max_size=8)))
    path = tmp_path / "mesh.obj"
    path.write_text(
        "".join(f"v {x!r} {y!r} {z!r}\n" for x, y, z in places.tolist())
        + "".join(f"f {a} {b} {c}\n" for a, b, c in (faces + 1).tolist())
    )
    try:
        mesh = TriangleMesh(places, faces)
    except MeshError:  # some have no area
        return
    loaded = load_mesh(path, check=False)
    np.testing.assert_array_equal(loaded.vertices[loaded.faces], mesh.vertices[mesh.faces])


def test_counts_of_binary_stl_are_read_as_they_are(tmp_path):
    """0x45 and 0x65 are letters of one kind, but other numbers."""
    count = 0x45
    triangles = np.zeros(count, [("n", "<f4", 3), ("v", "<f4", (3, 3)), ("e", "<u2")])
    triangles["v"] = np.random.default_rng(0).uniform(size=(count, 3, 3))
    path = tmp_path / "a.stl"
    path.write_bytes(bytes(80) + count.to_bytes(4, "little") + triangles.tobytes())
    assert len(read_surface(path).faces) == count
