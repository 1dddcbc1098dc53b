"""Files of meshes: what libraries write is read, and damaged files are refused by name."""

import contextlib
import importlib.util
import re
from pathlib import Path

import file_variants
import numpy as np
import pytest
import trimesh
from damage import files, read_or_refuse, reading
from file_variants import as_set, triangles
from hypothesis import given, settings
from hypothesis import strategies as st

from foundation.surfaces.mesh import (
    UNITS,
    MeshError,
    MeshWarning,
    load_mesh,
    load_raw_mesh,
    read_surface,
)
from foundation.surfaces.readers import step

GOOD, BAD = file_variants.GOOD, file_variants.BAD
STEP = Path(__file__).parent / "insert.step"


def written(folder, name, content):
    (folder / name).write_bytes(content)
    return folder / name


@pytest.mark.parametrize("name", sorted(GOOD))
def test_valid_variants_have_the_triangles_of_the_source(tmp_path, name):
    assert triangles(written(tmp_path, name, GOOD[name])) == as_set(file_variants.CORNERS)


@pytest.mark.parametrize("name", sorted(BAD))
def test_damaged_variants_are_refused_with_the_reason(tmp_path, name):
    content, reason = BAD[name]
    with pytest.raises(MeshError, match=rf"{re.escape(name)}: .*{reason}"):
        read_surface(written(tmp_path, name, content))


# The last line of an OBJ file is whole where a number is cut off. Solids of an STL file are parts:
# the first is whole where the second is cut off.
PARTS = re.compile(r"\.obj|solids")


@pytest.mark.parametrize("name", sorted(name for name in GOOD if not PARTS.search(name)))
def test_variants_cut_anywhere_are_refused_or_whole(tmp_path, name):
    content, path = GOOD[name], written(tmp_path, name, GOOD[name])
    for size in np.unique(np.linspace(1, len(content) - 1, 15).astype(int)):
        path.write_bytes(content[:size])
        with contextlib.suppress(MeshError):
            assert triangles(path) == as_set(file_variants.CORNERS), size


@pytest.mark.parametrize(
    ("name", "remark"),
    [
        ("edges.ply", "3 lines are left out: only polygons are read"),
        ("edges of faces.ply", "1 line is left out"),
        ("trailing words.ply", "46 bytes after the data are ignored"),
        ("binary padded.stl", "37 bytes after the data are ignored"),
        ("lines and points.obj", "2 lines and 1 point are left out"),
    ],
)
def test_what_is_left_out_is_counted(tmp_path, name, remark):
    path = written(tmp_path, name, GOOD[name])
    with pytest.warns(MeshWarning, match=rf"{re.escape(name)}: {remark}"):
        load_mesh(path, check=False)
    assert any(remark in own for own in load_raw_mesh(path).remarks)


MILLIMETRE = "#554 = ( LENGTH_UNIT() NAMED_UNIT(*) SI_UNIT(.MILLI.,.METRE.) );"
INCH = (
    "#554 = ( CONVERSION_BASED_UNIT('INCH',#900) LENGTH_UNIT() NAMED_UNIT(#901) );"
    "#900 = LENGTH_MEASURE_WITH_UNIT(LENGTH_MEASURE(25.4),#902);"
    "#901 = DIMENSIONAL_EXPONENTS(1.,0.,0.,0.,0.,0.,0.);"
    "#902 = ( LENGTH_UNIT() NAMED_UNIT(*) SI_UNIT(.MILLI.,.METRE.) );"
)


@pytest.mark.parametrize(
    ("unit", "line"),
    [
        ("inch", INCH),
        ("cm", MILLIMETRE.replace("MILLI", "CENTI")),
        ("m", MILLIMETRE.replace(".MILLI.", "$")),
    ],
)
def test_units_of_step(tmp_path, monkeypatch, unit, line):
    """A block of 48 x 12 x 76 of the unit, triangulated coarsely."""
    pytest.importorskip("cascadio", reason="STEP needs cascadio (the step extra)")
    monkeypatch.setattr(step, "_DEVIATION", 1.0)
    text = STEP.read_text()
    assert MILLIMETRE in text
    path = written(tmp_path, "a.step", text.replace(MILLIMETRE, line).encode())
    with pytest.warns(MeshWarning, match=f"lengths are in {unit}, .*unit='mm' has no effect"):
        mesh = load_mesh(path, unit="mm", check=False)
    size = UNITS[unit] * np.array([48.0, 12.0, 76.0])
    np.testing.assert_allclose(np.ptp(mesh.vertices, axis=0), size, rtol=1e-5)


DAMAGED = ("binary.stl", "text.stl", "plain.obj", "little extra.ply", "text extra.ply")


@pytest.mark.parametrize("name", DAMAGED)
@given(data=st.data())
@settings(reading, max_examples=30)
def test_damaged_files_are_meshes_or_refused(tmp_path, name, data):
    content = data.draw(files(GOOD[name]))
    path = tmp_path / f"damaged{Path(name).suffix}"
    found = read_or_refuse(read_surface, path, content, MeshError)
    if found is not None:
        assert len(found.faces) > 0
        assert 0 <= found.faces.min() <= found.faces.max() < len(found.points)


def vtp(**cells):
    """Return a VTP file of the surface with cells by their name."""

    def array(name, kind, values, size=1):
        head = f'<DataArray type="{kind}" Name="{name}" NumberOfComponents="{size}" format="ascii">'
        return f"{head}{' '.join(map(str, np.ravel(values).tolist()))}</DataArray>"

    parts = [f"<Points>{array('Points', 'Float64', file_variants.POINTS, 3)}</Points>"]
    for name, own in cells.items():
        corners = array("connectivity", "Int64", np.concatenate(own))
        ends = array("offsets", "Int64", np.cumsum([len(cell) for cell in own]))
        parts.append(f"<{name}>{corners}{ends}</{name}>")
    counts = "".join(f' NumberOf{name}="{len(own)}"' for name, own in cells.items())
    return (
        f'<VTKFile type="PolyData" version="1.0"><PolyData><Piece NumberOfPoints="5"{counts}>'
        f"{''.join(parts)}</Piece></PolyData></VTKFile>"
    ).encode()


def test_cells_of_vtk(tmp_path):
    pytest.importorskip("vtkmodules", reason="VTP needs vtk (the vtp extra)")
    path = tmp_path / "a.vtp"
    polygons = {"Polys": file_variants.POLYGONS}
    path.write_bytes(vtp(**polygons, Lines=[[0, 1, 2]], Verts=[[0, 3]]))
    assert triangles(path) == as_set(file_variants.CORNERS)
    assert load_raw_mesh(path).remarks[0].startswith("2 vertices and 1 line are left out")
    for cells, reason in (
        ({"Strips": [[1, 2, 0, 3]]}, "cells of VTK's type 6 are not supported: .* triangulate it"),
        ({"Polys": [[0, 1, 5]]}, "vertex 6 of 5"),
        ({"Lines": [[0, 1]]}, "no triangles .1 line is left out"),
    ):
        path.write_bytes(vtp(**cells))
        with pytest.raises(MeshError, match=reason):
            read_surface(path)


@st.composite
def meshes(draw):
    """Draw points of single precision, pairwise apart, and triangles."""
    cells = draw(st.lists(st.integers(0, 511), min_size=4, max_size=9, unique=True))
    points = 0.0078125 * np.array([[k % 8, k // 8 % 8, k // 64] for k in cells], dtype=float)
    corners = st.permutations(range(len(cells)))
    return points, np.array(draw(st.lists(corners, min_size=1, max_size=6)))[:, :3]


def by_trimesh(file_type, **options):
    def write(path, points, faces):
        made = trimesh.Trimesh(points, faces, process=False)
        content = made.export(file_type=file_type, **options)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    return write


def by_vtk(module, writer, mode):
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
        # Version 4.2 of legacy files has cells with their sizes.
        getattr(out, mode)(*([42] if mode == "SetFileVersion" else []))
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
    "vtk.ply": by_vtk("vtkIOPLY", "vtkPLYWriter", "SetFileTypeToBinary"),
    "vtk ascii.ply": by_vtk("vtkIOPLY", "vtkPLYWriter", "SetFileTypeToASCII"),
    **{
        f"vtk {coding}.vtk": by_vtk("vtkIOLegacy", "vtkPolyDataWriter", f"SetFileTypeTo{coding}")
        for coding in ("ASCII", "Binary")
    },
    "vtk 4.vtk": by_vtk("vtkIOLegacy", "vtkPolyDataWriter", "SetFileVersion"),
    **{
        f"vtk {coding}.{extension}": by_vtk("vtkIOXML", f"vtkXML{kind}Writer", coding)
        for coding in (*DATA_MODES, "EncodeAppendedDataOff")
        for extension, kind in (("vtp", "PolyData"), ("vtu", "UnstructuredGrid"))
    },
}


@pytest.mark.parametrize("name", sorted(WRITERS))
@given(mesh=meshes())
@settings(reading, max_examples=12)
def test_what_libraries_write_is_read_back(tmp_path, name, mesh):
    points, faces = mesh
    WRITERS[name](tmp_path / name, points, faces)
    assert triangles(tmp_path / name) == as_set(points[faces])


@pytest.mark.parametrize(
    "name", sorted(name for name in WRITERS if name.endswith((".vtp", ".vtu", ".vtk")))
)
def test_cut_files_of_vtk_are_refused(tmp_path, name):
    points, faces = file_variants.POINTS, file_variants.FACES
    WRITERS[name](tmp_path / name, points, faces)
    content = (tmp_path / name).read_bytes()
    for size in np.linspace(1, len(content.rstrip()) - 1, 25).astype(int):
        (tmp_path / name).write_bytes(content[:size])
        with pytest.raises(MeshError, match="truncated"):
            triangles(tmp_path / name)
