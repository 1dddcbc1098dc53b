"""Pressure fields for ParaView: read back by VTK, and by the reader of meshes."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from numpy.testing import assert_allclose

from foundation.base.pose import Pose
from foundation.surfaces.mesh import load_mesh
from pipeline.exchange.pressure_fields import vtp_text, write_fields
from pipeline.reports.inputs import read_run

pytest.importorskip("vtkmodules", reason="VTP needs vtk (the vtp extra)")


@pytest.fixture(scope="module")
def written(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_fields(tiny_run, tmp_path_factory.mktemp("fields"), "surrogate")


def read(path: Path):
    """Return the points, triangles, and arrays of points and triangles that VTK reads."""
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOXML import vtkXMLPolyDataReader

    reader = vtkXMLPolyDataReader()
    reader.SetFileName(str(path))
    reader.Update()
    assert reader.GetErrorCode() == 0
    output = reader.GetOutput()
    arrays = {
        data.GetArrayName(k): vtk_to_numpy(data.GetArray(k))
        for data in (output.GetPointData(), output.GetCellData())
        for k in range(data.GetNumberOfArrays())
    }
    corners = vtk_to_numpy(output.GetPolys().GetConnectivityArray()).reshape(-1, 3)
    return vtk_to_numpy(output.GetPoints().GetData()), corners, arrays


def test_fields_are_those_of_the_frames(written: list[Path], tiny_run: Path) -> None:
    fields = read_run(tiny_run).fields
    assert fields is not None
    frames, k = fields.frames, fields.at_peak("surrogate")
    points, faces, arrays = read(written[0].parent / f"tibia_{k:03d}.vtp")
    assert_allclose(points, 1e3 * frames.tibia_vertices, atol=1e-4)
    assert (faces == frames.tibia_faces).all()
    wanted = 1e-6 * np.maximum(fields.values["surrogate"][k], 0.0)
    assert_allclose(arrays["pressure_MPa"], wanted, rtol=1e-12)
    assert wanted.max() > 1.0
    assert frames.surrogate_pressure_Pa is not None
    springs = 1e-6 * frames.surrogate_pressure_Pa[k]
    assert_allclose(arrays["spring_pressure_MPa"], springs, rtol=1e-6)
    assert (arrays["compartment"] == fields.side).all()


def test_femur_is_in_its_pose(written: list[Path], tiny_run: Path) -> None:
    frames = read_run(tiny_run).frames
    assert frames is not None
    assert frames.surrogate_poses is not None
    points, faces, _ = read(written[0].parent / "femur_004.vtp")
    pose = Pose.from_array(frames.surrogate_poses[4])
    wanted = 1e3 * (frames.femur_vertices @ pose.rotation_matrix.T + pose.translation)
    assert_allclose(points, wanted, atol=2e-5 * np.abs(wanted).max())
    assert (faces == frames.femur_faces).all()


def test_collection_lists_every_file_with_its_instant(written: list[Path], tiny_run: Path) -> None:
    frames = read_run(tiny_run).frames
    assert frames is not None
    listed = ET.parse(written[0]).getroot().findall("Collection/DataSet")
    assert [written[0].parent / each.attrib["file"] for each in listed] == written[1:]
    times = [float(each.attrib["timestep"]) for each in listed[::2]]
    assert_allclose(times, frames.gait_percent, rtol=1e-5)
    assert {each.attrib["part"] for each in listed} == {"0", "1"}


def test_the_reader_of_meshes_reads_a_written_surface(tmp_path: Path) -> None:
    vertices = np.array([[0.0, 0.0, 0.0], [30.0, 0.0, 0.0], [0.0, 0.0, 30.0], [30.0, 1.0, 30.0]])
    faces = np.array([[0, 2, 1], [1, 2, 3]])
    (tmp_path / "plate.vtp").write_text(vtp_text(vertices, faces), encoding="utf-8")
    mesh = load_mesh(tmp_path / "plate.vtp", unit="mm")
    assert_allclose(mesh.vertices[mesh.faces], 1e-3 * vertices[faces], atol=1e-9)
