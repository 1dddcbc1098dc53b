"""Random meshes, written by libraries and by hand, and read."""

from __future__ import annotations

import importlib

import container_variants
import file_variants
import numpy as np
import pytest
import trimesh
from damage import reading
from file_variants import as_set, triangles
from hypothesis import given, settings
from hypothesis import strategies as st

from foundation.surfaces.triangle_mesh import MeshError

few = settings(reading, max_examples=12)


@st.composite
def meshes(draw):
    """Draw points of single precision, pairwise apart, and triangles and quads."""
    cells = draw(st.lists(st.integers(0, 511), min_size=4, max_size=9, unique=True))
    points = 0.0078125 * np.array([[k % 8, k // 8 % 8, k // 64] for k in cells], dtype=float)
    corners = st.permutations(range(len(cells)))
    sizes = draw(st.lists(st.sampled_from((3, 4)), min_size=1, max_size=6))
    return points, [list(draw(corners))[:size] for size in sizes]


def by_trimesh(file_type, **options):
    def write(path, points, faces):
        made = trimesh.Trimesh(points, faces, process=False)
        content = made.export(file_type=file_type, **options)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    return write


def by_vtk(module, writer, mode, version=None):
    """Return a function that writes with VTK; `mode` is a method of the writer."""

    def write(path, points, faces):
        pytest.importorskip("vtkmodules", reason="the writers of VTK")
        from vtkmodules.util.numpy_support import numpy_to_vtk
        from vtkmodules.vtkCommonCore import vtkPoints
        from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkPolyData, vtkUnstructuredGrid

        places, cells = vtkPoints(), vtkCellArray()
        places.SetData(numpy_to_vtk(points, deep=True))
        for face in faces:
            cells.InsertNextCell(len(face), [int(v) for v in face])
        is_grid = "Unstructured" in writer
        data = vtkUnstructuredGrid() if is_grid else vtkPolyData()
        data.SetPoints(places)
        if is_grid:
            data.SetCells([5] * len(faces), cells)
        else:
            data.SetPolys(cells)
        out = getattr(importlib.import_module(f"vtkmodules.{module}"), writer)()
        out.SetFileName(str(path))
        out.SetInputData(data)
        if version is not None:
            out.SetFileVersion(version)
        getattr(out, mode)()
        if mode == "EncodeAppendedDataOff":
            out.SetCompressorTypeToNone()
        out.Write()

    return write


DATA_MODES = ("SetDataModeToAscii", "SetDataModeToBinary", "SetDataModeToAppended")
WRITERS = {
    "trimesh.stl": by_trimesh("stl"),
    "trimesh ascii.stl": by_trimesh("stl_ascii"),
    "trimesh.ply": by_trimesh("ply"),
    "trimesh ascii.ply": by_trimesh("ply", encoding="ascii"),
    "trimesh.obj": by_trimesh("obj"),
    "trimesh.off": by_trimesh("off"),
    "trimesh.glb": by_trimesh("glb"),
    "vtk.ply": by_vtk("vtkIOPLY", "vtkPLYWriter", "SetFileTypeToBinary"),
    "vtk ascii.ply": by_vtk("vtkIOPLY", "vtkPLYWriter", "SetFileTypeToASCII"),
    **{
        f"vtk {version} {coding} {kind}.vtk": by_vtk(
            "vtkIOLegacy", f"vtk{kind}Writer", f"SetFileTypeTo{coding}", version
        )
        for version in (42, 51)
        for coding in ("ASCII", "Binary")
        for kind in ("PolyData", "UnstructuredGrid")
    },
    **{
        f"vtk {coding}.{extension}": by_vtk("vtkIOXML", f"vtkXML{kind}Writer", coding)
        for coding in (*DATA_MODES, "EncodeAppendedDataOff")
        for extension, kind in (("vtp", "PolyData"), ("vtu", "UnstructuredGrid"))
    },
}


@pytest.mark.parametrize("name", sorted(WRITERS))
@given(mesh=meshes())
@few
def test_what_libraries_write_is_read_back(tmp_path, name, mesh):
    points, polygons = mesh
    faces = np.array([polygon[:3] for polygon in polygons])
    WRITERS[name](tmp_path / name, points, faces)
    assert triangles(tmp_path / name) == as_set(points[faces])


@pytest.mark.parametrize(
    "name", sorted(name for name in WRITERS if name.endswith((".vtp", ".vtu")))
)
def test_cut_files_of_vtk_are_refused(tmp_path, name):
    points, faces = file_variants.POINTS, file_variants.FACES
    WRITERS[name](tmp_path / name, points, faces)
    content = (tmp_path / name).read_bytes()
    for size in np.linspace(1, len(content) - 2, 25).astype(int):
        (tmp_path / name).write_bytes(content[:size])
        with pytest.raises(MeshError, match="truncated"):
            triangles(tmp_path / name)


@given(mesh=meshes())
@few
def test_3mf_is_read_back(tmp_path, mesh):
    points, polygons = mesh
    faces = np.array([polygon[:3] for polygon in polygons])
    content = container_variants.threemf(points=points, faces=faces.tolist())
    (tmp_path / "a.3mf").write_bytes(content)
    assert triangles(tmp_path / "a.3mf") == as_set(points[faces])


def off(points, cells):
    return file_variants.off(f"{len(points)} {len(cells)}\n", cells, points)


def vtk(points, cells, version):
    sections = {"POINTS": points, "POLYGONS": cells}
    return container_variants.legacy_vtk(sections, version=version, binary=True)


def grid(points, cells):
    types = [{3: 5, 4: 9}[len(cell)] for cell in cells]
    sections = {"POINTS": points, "CELLS": cells, "CELL_TYPES": types}
    return container_variants.legacy_vtk(sections, "UNSTRUCTURED_GRID")


BY_HAND = {
    "a.off": off,
    "a.obj": lambda points, cells: file_variants.obj(cells, "{0}", points),
    "little.ply": lambda points, cells: file_variants.ply("<", cells, points=points, extra=True),
    "big.ply": lambda points, cells: file_variants.ply(">", cells, points=points),
    "text.ply": lambda points, cells: file_variants.ply("", cells, points=points, extra=True),
    "old.vtk": lambda points, cells: vtk(points, cells, "4.2"),
    "new.vtk": lambda points, cells: vtk(points, cells, "5.1"),
    "grid.vtk": grid,
}


@given(mesh=meshes())
@few
def test_quads_are_split_alike_in_all_formats(tmp_path, mesh):
    points, polygons = mesh
    found = {}
    for name, make in BY_HAND.items():
        (tmp_path / name).write_bytes(make(points, polygons))
        found[name] = triangles(tmp_path / name)
    first = found["a.off"]
    assert len(first) == sum(len(polygon) - 2 for polygon in polygons)
    assert all(own == first for own in found.values())
