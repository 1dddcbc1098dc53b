"""A new knee answered for by a run over modes of shape."""

import json

import numpy as np
import pandas as pd
import pytest
import tomli_w
from numpy.testing import assert_allclose
from studies import TINY_DESIGNS, export

import surrogates
from foundation.implant.condylar_implant import CondylarImplant
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.cli.main import main
from pipeline.config.reading import load_config
from pipeline.design_space.errors import sample_errors
from pipeline.design_space.sampling import candidates_within
from pipeline.design_space.taken_design import TrainedDesigns, fit_knee
from pipeline.originals.knee import evaluate_rows

pytestmark = pytest.mark.slow

#: Weights of a knee: of the mode that is a parameter, and of the mode that is fixed.
WEIGHT, FIXED = 0.6, 0.3


@pytest.fixture(scope="module")
def run(made_once):
    """Return a run over the depth of the dish of the built-in implant, as meshes, and modulus."""

    def make(folder):
        source = folder.with_name("fit_source")
        source.mkdir()
        femur, insert, _ = CondylarImplant().tessellate(2e-3)
        for body, mesh in (("femur", femur), ("tibia", insert)):
            export(mesh, source / f"{body}.ply", scale=1e3)
        points = 1e3 * insert.vertices
        moves = {"flat": 8e-4 * points[:, :1] ** 2, "high": np.ones((len(points), 1))}
        for name, moved in moves.items():
            table = pd.DataFrame(moved * [0.0, 1.0, 0.0], columns=["dx_mm", "dy_mm", "dz_mm"])
            table.to_csv(source / f"{name}.csv", index=False)
        tree = {
            **TINY_DESIGNS,
            "run": {"name": "modes", "workers": 1},
            "knee": {
                "source": "meshes",
                **{body: {"file": f"{body}.ply", "unit": "mm"} for body in ("femur", "tibia")},
                "shape": {"tibia_displacements": ["flat.csv", "high.csv"], "mode_2": FIXED},
            },
            "contact": {"thickness_mm": 8.0},
            "surrogate": {"family": "polynomial"},
            "design_space": {
                **TINY_DESIGNS["design_space"],
                "poses": 60,
                "constraints": [],
                "parameter": [
                    {"key": "knee.shape.mode_1", "range": [-1.0, 1.0], "name": "flatness"},
                    {"key": "contact.youngs_modulus_MPa", "range": [500.0, 800.0]},
                ],
            },
        }
        path = source / "modes.toml"
        path.write_text(tomli_w.dumps(tree), encoding="utf-8")
        assert main(["run", str(path), "--out", str(folder), "--quiet"]) == 0

    return TrainedDesigns.open(made_once("modes", make))


def new_knee(folder, lift=0.0, side="right"):
    """Write a knee of known weights, with triangles of its own; `lift` [m] raises its femur."""
    femur, insert, _ = CondylarImplant().tessellate(1.2e-3)
    points = 1e3 * insert.vertices
    points[:, 1] += WEIGHT * 8e-4 * points[:, 0] ** 2 + FIXED
    raised = femur.vertices + lift * np.array([0.0, 1.0, 0.0])
    meshes = {
        "femur": TriangleMesh(raised, femur.faces),
        "tibia": TriangleMesh(1e-3 * points, insert.faces),
    }
    if side == "left":
        meshes = {body: mesh.mirrored() for body, mesh in meshes.items()}
    return tuple(
        str(export(mesh, folder / f"{body}.ply", scale=1e3)) for body, mesh in meshes.items()
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return new_knee(tmp_path_factory.mktemp("new"))


def answer(capsys, *words):
    status = main(["fit", *map(str, words), "--quiet", "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_weights_and_files_of_a_knee(run, files, tmp_path, capsys):
    texts = ["youngs_modulus_MPa=600"]
    status, found = answer(
        capsys, run.folder, *files, *texts, "--out", tmp_path / "knee", "--original"
    )
    assert status == 0, found
    assert found["values"]["flatness"] == pytest.approx(WEIGHT, abs=2e-3)
    assert found["values"]["youngs_modulus_MPa"] == 600.0
    assert found["origins"] == {"flatness": "fitted"}
    assert found["rms_mm"] < 5e-3
    assert found["placed"] > 0.99
    assert found["ends"] == []
    assert set(found["outputs"]) == {"surrogate", "original"}
    knee = surrogates.load(tmp_path / "knee" / "knee.npz")
    assert knee.header["measured"] == found["measured"]
    assert knee.header["doubts"] == found["doubts"]
    config = load_config(tmp_path / "knee" / "design.toml")
    assert config.knee.shape.mode_1 == found["values"]["flatness"]
    assert config.knee.shape.mode_2 == FIXED


def test_heights_are_corrected_by_samples_of_the_knee_itself(run, files, tmp_path):
    """The modes move the tibia alone: a higher femur is that of the design, but for its height."""
    near, lift = fit_knee(run, files), 1e-4
    far = fit_knee(run, new_knee(tmp_path, lift))
    # The lift turns with the femur; its share along the tibia becomes less with flexion.
    angles = np.linspace(*np.radians(run.config.space.flexion_deg), 50)
    slope, height = np.polyfit(angles, -lift * np.cos(angles), 1)
    for name in run.knee.compartments:
        found = np.subtract(far.heights[name], near.heights[name])
        assert_allclose(found, [height, slope], rtol=0, atol=0.1 * lift)
    for name, error in near.errors.items():
        assert far.errors[name] == pytest.approx(error, rel=0.4), name
    # Without the correction, the error is that of the height.
    values = {name: each.value for name, each in far.values.items()}
    space = run.knee.by_name["medial"].space
    rows = candidates_within(run.config, pd.DataFrame([{"design": 7, **values}]), space, 32)
    rows = evaluate_rows(far.models.original, rows, "load")
    plain, raised = (
        sample_errors(run.config, each, rows, 1.0)["height_um"]
        for each in (run.knee.at(values), far.models.surrogate)
    )
    assert plain == pytest.approx(1e6 * np.sqrt(np.mean((lift * np.cos(angles)) ** 2)), rel=0.15)
    assert raised < 0.5 * plain
