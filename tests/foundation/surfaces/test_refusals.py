"""Files, arrays and options that are refused: the message names the thing and the remedy."""

import re
from functools import partial

import numpy as np
import pytest
import shapes
from smooth_shapes import sphere

from foundation.base.errors import InputError
from foundation.surfaces.compartments import find_compartments
from foundation.surfaces.mesh import MeshError, TriangleMesh, load_mesh
from foundation.surfaces.mesh_checks import check_mesh
from foundation.surfaces.smooth_surface import smooth_surface

CORNERS = [[0, 0, 0], [0, 0, 2e-3], [3e-3, 0, 0]]
UP = [[0.0, 1.0, 0.0]] * 3
START = "v 0 0 0\nv 1 0 0\n"
FORMATS = ("stl", "ascii.stl", "obj", "ply", "vtp")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.stl", None, "no such file; check the path"),
        ("knee.glb", "", r"unsupported extension '.glb'.*\.vtp.* to STL, PLY or OBJ"),
        *((f"empty.{e}", "", "the file is empty; export the mesh again") for e in FORMATS),
        ("points.obj", START, "no triangles"),
        ("none.stl", "solid none\n  facet_count 0\nendsolid none\n", "(no triangles|truncated)"),
        ("a.obj", f"{START}v 1 1\nf 1 2 3\n", "truncated, .*line 3: expected three coordinates"),
        ("a.obj", f"{START}v 0 0 1\nf 1 2 {'9' * 400}\n", "line 4: expected vertex numbers up to"),
        ("a.obj", f"{START}v nan 0 1\nf 1 2 3\n", "1 of 3 vertices are NaN, infinite or beyond"),
        ("a.obj", f"{START}v 2 0 0\nf 1 2 3\n", "all 1 triangles have no area"),
    ],
)
def test_files_that_are_no_mesh(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    with pytest.raises(MeshError, match=rf"{re.escape(name)}: .*{message}"):
        load_mesh(path)


def test_folder_in_place_of_a_file(tmp_path):
    (tmp_path / "folder.stl").mkdir()
    with pytest.raises(MeshError, match=r"folder.stl: is a folder, expected the file of a mesh"):
        load_mesh(tmp_path / "folder.stl")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros((0, 3)), np.zeros((0, 3), int)), "no triangles"),
        ((np.eye(3)[:, :2], [[0, 1, 2]]), r"vertices of shape \(V, 3\)"),
        ((np.eye(3), [[0, 1]]), r"faces of shape \(F, 3\)"),
        ((np.eye(3), [[0.0, 1.0, 2.0]]), "integer"),
        ((np.eye(3), [[0, 1, 3]]), "expected 0 to 2"),
        ((np.diag([1.0, np.nan, 1.0]), [[0, 1, 2]]), "1 of 3 vertices are NaN.* number 1"),
        (
            (np.diag([1.0, 1.0, 1e160]), [[0, 1, 2]]),
            "1 of 3 vertices are .* beyond 1e.30.* number 2",
        ),
        ((np.eye(3), [[0, 1, 2], [0, 1, 1]]), "1 degenerate triangle .* number 1"),
        ((1e-100 * np.eye(3), [[0, 1, 2]]), "1 degenerate triangle .* number 0"),
        *(
            ((CORNERS, [[0, 1, 2]], normals), message)
            for normals, message in (
                (UP[:2], r"expected vertex normals of shape \(3, 3\), found \(2, 3\)"),
                ([[0, 1, 0], [0, 2, 0], [0, 1, 0]], "1 vertex normal is not a unit .* number 1"),
                ([[0, -1, 0], *UP[1:]], "vertex normals point to the inner side of 1 triangle,"),
            )
        ),
    ],
)
def test_arrays_that_are_no_mesh(arguments, message):
    vertices, faces, *normals = arguments
    with pytest.raises(MeshError, match=f"^thing: .*{message}"):
        TriangleMesh(vertices, faces, "thing", *normals)


def compartments(split_z=None, up=True):
    return partial(find_compartments, shapes.plate(60e-3, 30, up=up), split_z=split_z)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *(
            (partial(load_mesh, "any.stl", **options), message)
            for options, message in (
                ({"unit": "furlong"}, "unit: expected one of"),
                ({"side": "both"}, "side: expected one of"),
                ({"axes": "xyz"}, "axes: expected three"),
                ({"axes": ("x", "y", "w")}, "axes: expected x, y or z"),
                ({"axes": ("x", "x", "z")}, "axes: expected x, y and z once each"),
                ({"axes": 2.0 * np.eye(3)}, "axes: expected the rows of a rotation matrix"),
                ({"axes": np.diag([1.0, 1.0, -1.0])}, "axes: expected the rows of a rotation"),
                ({"rotation": (0.0, 1.0)}, "rotation: expected shape"),
                ({"origin": (0.0, np.nan, 0.0)}, "origin: expected finite"),
                ({"axes": ("x", "y", "-z")}, "axes: .* is a mirror image.*side='left'"),
            )
        ),
        *(
            (partial(smooth_surface, sphere(1), crease_angle=angle), "crease_angle: expected")
            for angle in (0.0, -0.1, 2.0, np.nan)
        ),
        (partial(check_mesh, shapes.plate(40e-3, 10), "patella"), "body: expected one of"),
        (compartments(), "plate: no ridge .* set split_z"),
        (partial(find_compartments, TriangleMesh(CORNERS, [[0, 1, 2]])), "no ridge found"),
        (compartments(0.5), "plate: no triangle is lateral with split_z"),
        (compartments(-0.5), "plate: no triangle is medial with split_z"),
        (compartments(up=False), "no triangle faces up"),
        (compartments(np.nan), "split_z: expected a finite number"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
