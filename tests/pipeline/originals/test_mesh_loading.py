"""Meshes of a study: huge ones are decimated, equally in every call, and the messages say so."""

import re
from functools import partial

import numpy as np
import pytest
from studies import export

from foundation.implant import CondylarImplant
from foundation.surfaces.decimation import decimate
from pipeline.config.data_folder import DataError
from pipeline.config.knee_schema import MeshConfig
from pipeline.originals import mesh_loading
from pipeline.originals.mesh_loading import load_surface


@pytest.fixture
def small_is_huge(monkeypatch):
    """Count meshes of more than 10,000 triangles as huge, and decimate them to 5,000."""
    mesh_loading._loaded.cache_clear()
    mesh_loading._of_file.cache_clear()
    monkeypatch.setattr(mesh_loading, "HUGE", 10_000)
    monkeypatch.setattr(mesh_loading, "decimate", partial(decimate, fewest=5_000))
    yield
    mesh_loading._loaded.cache_clear()
    mesh_loading._of_file.cache_clear()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fine")
    femur, tibia, _ = CondylarImplant().tessellate(0.7e-3)
    return {
        "femur": export(femur, folder / "femur.stl"),
        "tibia": export(tibia, folder / "tibia.stl"),
    }


def test_huge_meshes_are_decimated_and_the_deviation_is_told(files, small_is_huge, capsys):
    config = MeshConfig(file=str(files["femur"]), decimate_um=50.0)
    loaded = load_surface(config, "right", "femur")
    assert loaded.triangles > 10_000 > len(loaded.mesh.faces)
    assert 0.0 < loaded.deviation <= 50e-6
    told = capsys.readouterr().err
    assert re.search(r"decimating [\d,]+ triangles of femur.stl \(memory \d+\.\d GB\)", told)
    assert f"femur.stl: {loaded.decimation}" in told
    pattern = r"[\d,]+ triangles decimated to [\d,]+; largest deviation [\d.]+ um"
    assert re.fullmatch(pattern, loaded.decimation)


def test_changed_files_are_read_again(tmp_path):
    femur, _, _ = CondylarImplant().tessellate(3e-3)
    file = export(femur, tmp_path / "femur.stl")
    config = MeshConfig(file=str(file))
    first = load_surface(config, "right", "femur")
    assert load_surface(config, "right", "femur") is first
    export(femur, file, scale=1.1)
    again = load_surface(config, "right", "femur")
    assert np.ptp(again.mesh.vertices[:, 0]) > 1.05 * np.ptp(first.mesh.vertices[:, 0])


@pytest.fixture
def other_data(tmp_path, monkeypatch):
    """Return an empty data folder."""
    monkeypatch.setenv("KNEE_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (None, ["which is not a folder"]),
        ("other", ["which contains other"]),
        ("jam_lenhart2015_knee", ["jam_lenhart2015_knee contains nothing"]),
    ],
)
def test_missing_data_name_the_folder_and_the_source(other_data, made, words):
    if made is not None:
        (other_data / made).mkdir(parents=True)
    file = "$KNEE_DATA/jam_lenhart2015_knee/ACLC01-R-femur-cart.obj"
    with pytest.raises(DataError) as refused:
        load_surface(MeshConfig(file=file), "right", "femur")
    said = str(refused.value)
    for text in (
        *words,
        file,
        f"the environment variable KNEE_DATA = {other_data}",
        "https://github.com/clnsmith/wisco_opensim",
        "Apache-2.0",
        str(other_data / "jam_lenhart2015_knee" / "ACLC01-R-femur-cart.obj"),
        "docs/data.md",
    ):
        assert text in said


def test_without_the_variable_the_default_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("KNEE_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    file = "$KNEE_DATA/grand_challenge_DM_implant/Tibial Insert.stl"
    with pytest.raises(DataError, match=r"KNEE_DATA is not set, so that \.\./shared/data"):
        load_surface(MeshConfig(file=file), "right", "tibia")
    with pytest.raises(DataError, match="expected one of the folders jam_lenhart2015_knee"):
        load_surface(MeshConfig(file="$KNEE_DATA/unknown/femur.stl"), "right", "femur")
