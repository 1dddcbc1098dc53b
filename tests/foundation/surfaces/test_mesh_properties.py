"""Mesh files: what is written is read back, and a damaged file is read or refused in a sentence."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import trimesh
from damage import files, read_or_refuse, reading
from hypothesis import given
from hypothesis import strategies as st

from foundation.surfaces.mesh import MeshError, MeshWarning, TriangleMesh, load_mesh

#: A square of two triangles and one that stands on it, 50 mm wide [m].
VERTICES = 0.05 * np.array([[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 0, 0], [0.5, 1, 0.5]])
FACES = np.array([[0, 1, 2], [0, 2, 3], [1, 4, 2]])


def exported(extension: str) -> bytes:
    """Return the small mesh in a format, its coordinates in single or better precision."""
    mesh = trimesh.Trimesh(VERTICES, FACES, process=False)
    if extension == "ascii.stl":
        return trimesh.exchange.stl.export_stl_ascii(mesh).encode()
    if extension == "ascii.ply":
        return mesh.export(file_type="ply", encoding="ascii")
    written = mesh.export(file_type=extension)
    return written.encode() if isinstance(written, str) else written


FORMATS = ("stl", "ascii.stl", "ply", "ascii.ply", "obj", "off")
SEPARATORS = {"stl": "", "ply": ""}


def read(path):
    # Places far apart overflow on the way to being refused.
    with warnings.catch_warnings(), np.errstate(over="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", MeshWarning)
        return load_mesh(path)


@pytest.mark.parametrize("extension", FORMATS)
@given(data=st.data())
@reading
def test_damaged_file_is_a_mesh_or_refused(tmp_path, extension, data):
    content = data.draw(files(exported(extension), SEPARATORS.get(extension, " ")))
    mesh = read_or_refuse(read, tmp_path / f"damaged.{extension}", content, MeshError)
    if mesh is not None:
        assert isinstance(mesh, TriangleMesh)
        assert len(mesh.faces) > 0
        assert np.isfinite(mesh.vertices).all()
        assert np.isfinite(mesh.normals).all()


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
