"""First configurations of whole bones, and surfaces of closed shells in a study."""

import numpy as np
import pytest
import trimesh
from solids import bone, closed_insert, shell, stray_pieces, whole_femur

from foundation.implant.condylar_implant import CondylarImplant
from foundation.surfaces.surface_shape import selected
from pipeline.cli.main import main
from pipeline.config.reading import load_config
from pipeline.originals.knee_surfaces import load_surfaces

pytestmark = pytest.mark.filterwarnings("ignore")


def export(mesh, file):
    trimesh.Trimesh(1e3 * mesh.vertices, mesh.faces, process=False).export(file)


def plateau():
    solid, top = closed_insert()
    return selected(solid, np.arange(len(solid.faces)) < top)


@pytest.mark.slow
def test_bones_get_cartilage(tmp_path, monkeypatch, capsys):
    pytest.importorskip("vtkmodules", reason="VTP needs vtk (the vtp extra)")
    monkeypatch.chdir(tmp_path)
    export(stray_pieces(whole_femur(200e-3, step=2e-3, lean=-0.09)), "femur.stl")
    export(bone(plateau(), -1.0, 250e-3), "tibia.stl")
    given = ["--material", "cartilage", "--law", "linear"]
    assert main(["init", "mine.toml", *given]) == 0
    told = capsys.readouterr().out
    assert told.count("whole bone: only the bearing surface is used") == 2
    assert "12 stray triangles in 12 loose pieces dropped" in told
    assert "side: left, the shaft of the femur leans to the left" in told
    assert (tmp_path / "mine_frames.png").is_file()
    config = load_config(tmp_path / "mine.toml")
    for mesh in (config.knee.femur, config.knee.tibia):
        assert (mesh.surface, mesh.cartilage_mm) == ("bearing", 2.0)
    assert config.contact.thickness_mm == 4.0
    surfaces = load_surfaces(config)
    assert np.ptp(surfaces.tibia.vertices[:, 1]) < 25e-3
    assert np.ptp(surfaces.femur.vertices[:, 1]) < 80e-3
    middle = np.abs(surfaces.tibia.centroids[:, 0]) < 2e-3
    assert surfaces.tibia.normals[middle, 1].mean() > 0.9


def test_thickness_of_a_closed_shell(tmp_path):
    """The inner wall of the same file is the underside, loose pieces or not."""
    export(CondylarImplant().tessellate(2e-3)[0], tmp_path / "femur.stl")
    export(stray_pieces(shell(plateau(), 2.5e-3)), tmp_path / "tibia.stl")
    (tmp_path / "mine.toml").write_text(
        """
        [knee]
        source = "meshes"
        femur = { file = "femur.stl", unit = "mm" }
        tibia = { file = "tibia.stl", unit = "mm", surface = "bearing" }
        [contact]
        thickness_mm = "underside"
        """
    )
    surfaces = load_surfaces(load_config(tmp_path / "mine.toml"))
    assert len(surfaces.tibia.faces) == len(plateau().faces)
    np.testing.assert_allclose(np.median(surfaces.measured_thickness()), 2.5e-3, rtol=0.02)
