"""`check` of [knee.shape]: what modes move, doubtful sets and weights, and the picture."""

import re

import numpy as np
import pytest
import tomli_w
from numpy.testing import assert_allclose
from PIL import Image
from studies import WAVEFORMS, export

from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.preparation import checkup, shape_picture
from pipeline.preparation.checkup import check_study
from pipeline.preparation.shape_picture import draw_shape_modes
from tests.oracles.corresponding_knees import corresponding_knees

BODIES = ("femur", "tibia")
COUNT = 5


@pytest.fixture(autouse=True)
def meshes_alone(monkeypatch):
    """Leave out the picture, and the checks of the contact model, the same without modes."""
    monkeypatch.setattr(checkup, "_check_knee", lambda *_, **__: {})
    monkeypatch.setattr(shape_picture, "draw_shape_modes", lambda *_: None)


@pytest.fixture(scope="module")
def knees(shapes):
    return corresponding_knees(shapes["femur"], shapes["tibia"], COUNT)


def study(folder, shapes, knees, **keys):
    """Write a study of corresponding knees [mm]; `keys` are those of [knee.shape]."""
    for place, body in enumerate(BODIES):
        export(shapes[body], folder / f"{body}.off", scale=1e3)
        for number, knee in enumerate(knees):
            export(knee[place], folder / f"{body}_{number}.off", scale=1e3)
    files = {f"{body}_files": [f"{body}_{k}.off" for k in range(len(knees))] for body in BODIES}
    tree = {
        "knee": {
            "source": "meshes",
            **{body: {"file": f"{body}.off", "unit": "mm"} for body in BODIES},
            "shape": files | keys if knees else keys,
        },
        "contact": {"thickness_mm": 8.0},
        "simulation": {"waveforms": str(WAVEFORMS)},
    }
    path = folder / "study.toml"
    path.write_text(tomli_w.dumps(tree), encoding="utf-8")
    return path


def told(path, *overrides):
    """Return the findings about the modes: (level, section or key, text)."""
    findings, _ = check_study(path, overrides)
    return [(f.level, f.about, f.text) for f in findings if "knee.shape" in f.about]


def test_modes_and_their_picture_are_told(tmp_path, shapes, knees, monkeypatch):
    monkeypatch.setattr(shape_picture, "draw_shape_modes", draw_shape_modes)
    path = study(tmp_path, shapes, knees)
    found = told(path)
    assert {level for level, _, _ in found} == {"note"}
    texts = [text for _, _, text in found]
    assert re.match(r"5 knees: 4 modes with 100.0% of the variance; what the other modes", texts[0])
    shares = [float(re.search(r"([\d.]+)% of the variance", text)[1]) for text in texts[1:5]]
    assert shares == sorted(shares, reverse=True)
    assert_allclose(sum(shares), 100.0, atol=0.3)
    picture = tmp_path / "study_shape_modes.png"
    assert texts[-1] == f"picture of the modes: {picture}"
    with Image.open(picture) as image:
        assert len(image.convert("RGB").getcolors(1_000_000)) > 1000


def test_what_few_modes_leave_is_told(tmp_path, shapes, knees):
    left = told(study(tmp_path, shapes, knees, modes=1))[0][2]
    found = float(re.search(r"other modes move is ([\d.]+) mm RMS", left)[1])
    stacked = np.array([np.concatenate([mesh.vertices for mesh in knee]) for knee in knees])
    flat = (stacked - stacked.mean(axis=0)).reshape(COUNT, -1)
    values = np.linalg.svd(flat, compute_uv=False)[1:]
    rms = np.sqrt((values**2).sum() / (COUNT - 1) / stacked.shape[1])
    assert_allclose(found, 1e3 * rms, rtol=0.06)


def test_meshes_that_lie_in_different_frames_are_doubtful(tmp_path, shapes, knees):
    moved = [
        (TriangleMesh(femur.vertices + 3e-3 * number * np.eye(3)[1], femur.faces), tibia)
        for number, (femur, tibia) in enumerate(knees)
    ]
    path = study(tmp_path, shapes, moved)
    warnings = [text for level, _, text in told(path) if level == "warning"]
    assert len(warnings) == 1
    assert re.match(r"mode 1 turns and moves the femur as a whole \(9\d% of its", warnings[0])
    aligned = told(study(tmp_path, shapes, moved, align="rigid"))
    assert not [text for level, _, text in aligned if level == "warning"]
