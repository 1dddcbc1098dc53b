"""Processor time of reading 100,000 triangles, by format."""

from __future__ import annotations

import time

import container_variants
import file_variants
import numpy as np
import pytest
import trimesh

from foundation.surfaces.mesh_io import read_surface

pytestmark = pytest.mark.slow
#: Longest processor time [s]; 0.05 to 0.8 s were measured.
LIMIT = 2.0


@pytest.fixture(scope="module")
def sphere():
    """Return points and 100,352 triangles of a sphere."""
    made = trimesh.creation.uv_sphere(count=(225, 224))
    points = made.vertices.astype(np.float32).astype(float)
    return points, np.resize(made.faces, (100_352, 3))


def binary_ply(points, faces):
    """Return a PLY file of triangles and quads in turn, which no reader takes in one piece."""
    cells = faces.tolist()
    cells[::2] = [[*cell, cell[0]] for cell in cells[::2]]
    return file_variants.ply("<", cells, points=points)


FILES = {
    "text.stl": lambda points, faces: file_variants.text_stl(corners=points[faces]),
    "binary.stl": lambda points, faces: file_variants.binary_stl(
        count=len(faces), corners=points[faces]
    ),
    "text.ply": lambda points, faces: file_variants.ply("", faces.tolist(), points=points),
    "mixed.ply": binary_ply,
    "a.obj": lambda points, faces: file_variants.obj(faces.tolist(), "{0}/{0}/{0}", points),
    "a.off": lambda points, faces: file_variants.off(
        f"{len(points)} {len(faces)}\n", faces.tolist(), points
    ),
    "text.vtk": lambda points, faces: container_variants.legacy_vtk(
        {"POINTS": points, "POLYGONS": faces.tolist()}
    ),
    "binary.vtk": lambda points, faces: container_variants.legacy_vtk(
        {"POINTS": points, "POLYGONS": faces.tolist()}, version="5.1", binary=True
    ),
    "a.3mf": lambda points, faces: container_variants.threemf(points=points, faces=faces.tolist()),
    "a.glb": lambda points, faces: trimesh.Trimesh(points, faces, process=False).export(
        file_type="glb"
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_reading_takes_little_processor_time(tmp_path, sphere, name):
    points, faces = sphere
    (tmp_path / name).write_bytes(FILES[name](points, faces))
    begin = time.process_time()
    found = read_surface(tmp_path / name)
    taken = time.process_time() - begin
    assert len(found.faces) >= len(faces)
    assert taken < LIMIT
