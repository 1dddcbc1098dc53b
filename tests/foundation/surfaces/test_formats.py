"""Files of meshes: what libraries write is read, and damaged files are refused by name."""

import contextlib
import importlib
import re
from pathlib import Path

import container_variants
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

GOOD = file_variants.GOOD | container_variants.GOOD
BAD = file_variants.BAD | container_variants.BAD
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


# The last line of an OBJ file is whole where a number is cut off. Solids of an STL file are parts,
# as are polygons and strips of a VTK file: the first is whole where the second is cut off.
PARTS = re.compile(r"\.obj|solids|strips")


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
        ("lines.off", "1 line and 1 point are left out"),
        ("vertices.vtk", "3 vertices are left out"),
        ("grid 5.1 binary.vtk", "1 vertex and 1 line are left out"),
        ("lines.glb", "1 set of lines is left out"),
        ("components.3mf", "1 support is left out"),
    ],
)
def test_what_is_left_out_is_counted(tmp_path, name, remark):
    path = written(tmp_path, name, GOOD[name])
    with pytest.warns(MeshWarning, match=rf"{re.escape(name)}: {remark}"):
        load_mesh(path, check=False)
    assert any(remark in own for own in load_raw_mesh(path).remarks)


@pytest.mark.parametrize(
    ("unit", "metres", "name"),
    [
        ("micron", 1e-6, "um"),
        ("millimeter", 1e-3, "mm"),
        ("centimeter", 1e-2, "cm"),
        ("inch", 0.0254, "inch"),
        ("foot", 0.3048, "inch"),
        ("meter", 1.0, "m"),
        ("", 1e-3, "mm"),
    ],
)
def test_units_of_3mf(tmp_path, unit, metres, name):
    stated = f' unit="{unit}"' if unit else ""
    points = file_variants.POINTS / metres
    path = written(tmp_path, "a.3mf", container_variants.threemf(unit=stated, points=points))
    mesh = load_mesh(path)
    assert as_set(mesh.vertices[mesh.faces]) == as_set(file_variants.CORNERS)
    assert load_raw_mesh(path).unit == name


def test_a_configured_unit_replaces_that_of_a_file(tmp_path):
    points = file_variants.POINTS / 0.01
    content = container_variants.threemf(unit=' unit="inch"', points=points)
    path = written(tmp_path, "a.3mf", content)
    with pytest.warns(MeshWarning, match=r"read in cm, as configured, although .* states inch"):
        mesh = load_mesh(path, unit="cm", check=False)
    np.testing.assert_allclose(np.ptp(mesh.vertices), 0.0625)


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


DAMAGED = (
    *("binary.stl", "text.stl", "plain.obj", "plain.off", "little extra.ply", "text extra.ply"),
    *("grid 4.2 binary.vtk", "polygons 5.1 text.vtk"),
    *("polygons 5.1 binary.vtk", "strips.vtk", "metres.3mf", "plain.glb", "embedded.gltf"),
)


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
@settings(reading, max_examples=12)
def test_what_libraries_write_is_read_back(tmp_path, name, mesh):
    points, faces = mesh
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
