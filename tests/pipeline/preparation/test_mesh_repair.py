"""Faulty meshes: `init` and `check` tell each repair, and a run repairs the same way."""

import re
import tomllib

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from studies import export, mesh_study

from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.cli.main import main
from pipeline.config.reading import load_config
from pipeline.originals import mesh_loading
from pipeline.originals.knee_surfaces import load_surfaces
from pipeline.preparation.checkup import check_study

INIT = ("--material", "polyethylene", "--axes", "x,y,z", "--law", "linear")


@pytest.fixture
def folder(tmp_path, monkeypatch, shapes):
    """Return a working directory with both surfaces of the implant in mm, the tibia damaged."""
    tibia = shapes["tibia"]
    lateral = tibia.centroids[:, 2] > 0.0
    faces = np.where(lateral[:, None], tibia.faces[:, ::-1], tibia.faces)
    middle = tibia.centroids[~lateral].mean(axis=0)
    inside = np.linalg.norm(tibia.centroids - middle, axis=1).argmin()
    faces = np.delete(faces, inside, axis=0)
    corners = tibia.vertices[faces].reshape(-1, 3)
    corners = corners + np.random.default_rng(0).uniform(-2e-6, 2e-6, corners.shape)
    damaged = TriangleMesh(corners, np.arange(len(corners)).reshape(-1, 3), "damaged")
    export(damaged, tmp_path / "tibia.stl", scale=1e3)
    export(shapes["femur"], tmp_path / "femur.stl", scale=1e3)
    monkeypatch.chdir(tmp_path)
    return tmp_path


REPAIRS = tuple(
    f"tibia.stl: repaired: {words}"
    for words in (
        r"\d+ open edges closed by welding: corners moved by at most [\d.]+ um \(tolerance 20 um\)",
        r"the piece about \(.*\) mm was inside out: its \d+ triangles turned, those of the other",
        r"1 hole filled with 1 triangle, the largest [34][\d.]* mm across, about \(",
    )
)


def test_init_and_check_tell_the_repairs_and_a_run_makes_the_same(folder, capsys):
    assert main(["init", "mine.toml", *INIT]) == 0
    said = capsys.readouterr().out
    assert [words for words in REPAIRS if not re.search(words, said)] == [], said
    text = (folder / "mine.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text)["knee"]["repair_tolerance_mm"] == 0.02
    comments = " ".join(line.lstrip("# ") for line in text.splitlines())
    assert all(re.search(words, comments) for words in REPAIRS)
    notes = [finding.text for finding in check_study(folder / "mine.toml")[0]]
    assert [sum(bool(re.search(words, note)) for note in notes) for words in REPAIRS] == [1, 1, 1]
    config = load_config(folder / "mine.toml")
    first = load_surfaces(config).tibia
    mesh_loading._loaded.cache_clear()
    again = load_surfaces(config).tibia
    assert_array_equal(first.vertices, again.vertices)
    assert_array_equal(first.faces, again.faces)
    assert again is not first


def test_the_tolerance_proposed_for_loose_triangles_cures(folder, shapes, capsys):
    """Corners up to 0.1 mm apart, beyond the default tolerance."""
    tibia = shapes["tibia"]
    corners = tibia.vertices[tibia.faces].reshape(-1, 3)
    corners = corners + np.random.default_rng(0).uniform(-30e-6, 30e-6, corners.shape)
    loose = TriangleMesh(corners, np.arange(len(corners)).reshape(-1, 3), "loose")
    export(loose, folder / "tibia.stl", scale=1e3)
    config = {"femur": {"file": "femur.stl", "unit": "mm"}}
    config["tibia"] = {"file": "tibia.stl", "unit": "mm"}
    study = mesh_study(folder, config["femur"], config["tibia"])
    (error,) = [finding for finding in check_study(study)[0] if finding.is_error]
    proposed = error.text.split("set knee.repair_tolerance_mm = ")[1].split()[0]
    repaired = load_surfaces(load_config(study, (f"knee.repair_tolerance_mm={proposed}",)))
    assert len(repaired.tibia.faces) == len(tibia.faces)
    assert len(repaired.tibia.vertices) == len(tibia.vertices)
    assert main(["init", "mine.toml", *INIT]) == 2
    assert f"init --repair-tolerance-mm {proposed})" in capsys.readouterr().err
    assert main(["init", "mine.toml", *INIT, "--repair-tolerance-mm", proposed]) == 0
    again = load_surfaces(load_config(folder / "mine.toml"))
    assert_array_equal(again.tibia.vertices, repaired.tibia.vertices)
