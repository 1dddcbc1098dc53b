"""[knee.shape]: surfaces of corresponding meshes and displacements, refusals, and the check."""

import re

import numpy as np
import pandas as pd
import pytest
import tomli_w
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.transform import Rotation
from solids import closed_insert
from studies import export

from foundation.base.errors import InputError
from foundation.implant.condylar_implant import CondylarImplant
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.config.reading import load_config
from pipeline.originals.knee_surfaces import load_surfaces, shape_modes
from pipeline.preparation import checkup
from pipeline.preparation.checkup import check_study
from tests.oracles.corresponding_knees import corresponding_knees

COUNT = 5
BODIES = ("femur", "tibia")


@pytest.fixture(scope="module")
def shapes():
    femur, tibia, _ = CondylarImplant().tessellate(4e-3)
    return {"femur": femur, "tibia": tibia}


@pytest.fixture(scope="module")
def knees(shapes):
    return corresponding_knees(shapes["femur"], shapes["tibia"], COUNT)


def write_knees(folder, shapes, knees):
    """Write all knees [mm] with the digits of the numbers; return the folder."""
    for place, body in enumerate(BODIES):
        export(shapes[body], folder / f"{body}.obj", scale=1e3)
        for number, knee in enumerate(knees):
            export(knee[place], folder / f"{body}_{number}.obj", scale=1e3)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory, shapes, knees):
    return write_knees(tmp_path_factory.mktemp("knees"), shapes, knees)


def written(folder, shape, name="study", **knee):
    """Write a study; keys of bodies are added to those of the templates."""
    tree = {
        "knee": {
            "source": "meshes",
            **{body: {"file": f"{body}.obj", "unit": "mm"} | knee.pop(body, {}) for body in BODIES},
            **({} if shape is None else {"shape": shape}),
            **knee,
        },
        "contact": {"thickness_mm": 8.0},
    }
    path = folder / f"{name}.toml"
    path.write_text(tomli_w.dumps(tree), encoding="utf-8")
    return path


def set_of(count=COUNT, **keys):
    files = {f"{body}_files": [f"{body}_{k}.obj" for k in range(count)] for body in BODIES}
    return files | keys


def surfaces_of(path, *overrides):
    return load_surfaces(load_config(path, overrides))


def fails(path, *overrides):
    with pytest.raises(InputError) as caught:
        surfaces_of(path, *overrides)
    return str(caught.value)


def test_every_knee_comes_back_from_its_weights(folder, knees):
    path = written(folder, set_of())
    modes = shape_modes(load_config(path).knee)
    femur, tibia = knees[3]
    away = np.concatenate([femur.vertices, tibia.vertices])
    away -= np.concatenate(modes.vertices(np.zeros(len(modes.modes))))
    weights = np.tensordot(modes.modes, away, 2) / modes.deviations
    keys = [f"knee.shape.mode_{k}={weight!r}" for k, weight in enumerate(weights.tolist(), 1)]
    surfaces = surfaces_of(path, *keys)
    assert_allclose(surfaces.femur.vertices, femur.vertices, atol=1e-9)
    assert_allclose(surfaces.tibia.vertices, tibia.vertices, atol=1e-9)


def test_compartments_are_the_same_in_all_shapes(folder):
    path = written(folder, set_of())
    split = "knee.split_lateral_mm=20.0"  # through a plateau, where triangles change sides
    mean, other = surfaces_of(path, split), surfaces_of(path, split, "knee.shape.mode_1=2.0")
    assert (other.tibia.centroids[other.compartments == 0, 2] > 20.1e-3).any()
    assert_array_equal(mean.compartments, other.compartments)
    assert np.abs(mean.tibia.vertices - other.tibia.vertices).max() > 0.1e-3


def table_of(field, path):
    """Write displacements (V, 3) [m]."""
    pd.DataFrame(1e3 * field, columns=["dx_mm", "dy_mm", "dz_mm"]).to_csv(path, index=False)
    return path.name


@pytest.mark.parametrize("side", ["right", "left"])
def test_displacements_are_along_the_axes_of_the_file(tmp_path, shapes, knees, side):
    turn = np.array([-1.0, 1.0, -1.0])
    flip = np.array([1.0, 1.0, -1.0 if side == "left" else 1.0])
    tables = {}
    for place, body in enumerate(BODIES):
        mesh = shapes[body] if side == "right" else shapes[body].mirrored()
        export(mesh, tmp_path / f"{body}.obj", scale=1e3, turn=turn)
        field = (knees[0][place].vertices - shapes[body].vertices) * flip * turn
        tables[f"{body}_displacements"] = [table_of(field, tmp_path / f"{body}.csv")]
    keys = {body: {"axes": ["-x", "y", "-z"]} for body in BODIES}
    path = written(tmp_path, tables, side=side, **keys)
    base, whole, half = (surfaces_of(path, f"knee.shape.mode_1={w}") for w in (0.0, 1.0, 0.5))
    for place, body in enumerate(BODIES):
        vertices = [getattr(each, body).vertices for each in (base, whole, half)]
        assert_allclose(vertices[0], shapes[body].vertices, atol=1e-10)
        assert_allclose(vertices[1], knees[0][place].vertices, atol=1e-9)
        assert_allclose(vertices[2], 0.5 * (vertices[0] + vertices[1]), atol=1e-12)


def test_meshes_in_other_frames_are_moved_onto_the_template(tmp_path, knees, shapes):
    rng = np.random.default_rng(4)
    for place, body in enumerate(BODIES):
        export(shapes[body], tmp_path / f"{body}.obj", scale=1e3)
        for number, knee in enumerate(knees):
            turn = Rotation.random(random_state=rng).as_matrix()
            moved = knee[place].vertices @ turn.T + rng.normal(size=3)
            mesh = TriangleMesh(moved, knee[place].faces)
            export(mesh, tmp_path / f"{body}_{number}.obj", scale=1e3)
    assert 'set align = "rigid"' in fails(written(tmp_path, set_of()))
    aligned = surfaces_of(written(tmp_path, set_of(align="rigid")))
    for body in BODIES:
        away = np.linalg.norm(getattr(aligned, body).vertices - shapes[body].vertices, axis=1)
        assert away.max() < 3e-3


def permuted(mesh):
    order = np.random.default_rng(0).permutation(len(mesh.vertices))
    return TriangleMesh(mesh.vertices[order], np.argsort(order)[mesh.faces])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (permuted, r"odd.obj: expected a mesh that corresponds to \S+femur.obj, with the same tri"),
        (
            lambda mesh: TriangleMesh(mesh.vertices, mesh.faces[:-3]),
            r"expected a mesh that corresponds .*, of \d+ vertices and \d+ triangles, found \d+",
        ),
        (
            lambda mesh: TriangleMesh(mesh.vertices * [1.0, 1.0, -1.0], mesh.faces),
            r"found triangles of \d+% of the area that face away .* of the same side",
        ),
    ],
)
def test_meshes_that_do_not_correspond_are_refused(folder, shapes, change, words):
    export(change(shapes["femur"]), folder / "odd.obj", scale=1e3)
    shape = set_of()
    shape["femur_files"][2] = "odd.obj"
    message = fails(written(folder, shape, "odd"))
    assert message.startswith("[knee.shape] ")
    assert re.search(words, message)


def test_large_weights_that_fold_the_surface_are_refused(folder):
    message = fails(written(folder, set_of()), "knee.shape.mode_1=400.0")
    assert re.match(
        r"\[knee.shape\] \d+ triangles of the \w+ fold at the weights \[400.0,", message
    )


def test_the_bearing_surface_of_closed_solids_is_taken_of_all(tmp_path, shapes):
    solid, top = closed_insert()
    export(shapes["femur"], tmp_path / "femur.obj", scale=1e3)
    export(solid, tmp_path / "tibia.obj", scale=1e3)
    for number, size in enumerate((1.0, 1.02, 1.05)):
        mesh = TriangleMesh(solid.vertices * [size, size, 1.0], solid.faces)
        export(mesh, tmp_path / f"tibia_{number}.obj", scale=1e3)
    shape = {"tibia_files": [f"tibia_{k}.obj" for k in range(3)], "modes": 1, "mode_1": 1.0}
    path = written(tmp_path, shape, tibia={"surface": "bearing"})
    surfaces = surfaces_of(path)
    assert 0.9 * top < len(surfaces.tibia.faces) <= top
    sizes = np.array([1.0, 1.02, 1.05])
    away = surfaces.tibia.vertices[:, 0].max() - 24e-3 * sizes.mean()
    assert_allclose(abs(away), 24e-3 * sizes.std(ddof=1), rtol=1e-6)


@pytest.fixture
def meshes_alone(monkeypatch):
    """Leave out the checks of the contact model, the same without modes."""
    monkeypatch.setattr(checkup, "_check_knee", lambda *_, **__: {})


def told(path, *overrides):
    """Return the findings about the modes: (level, section or key, text)."""
    findings, _ = check_study(path, overrides)
    return [(f.level, f.about, f.text) for f in findings if "knee.shape" in f.about]


@pytest.mark.usefixtures("meshes_alone")
def test_what_few_modes_leave_is_told(folder, knees):
    left = told(written(folder, set_of(modes=1), "few"))[0][2]
    found = float(re.search(r"other modes move is ([\d.]+) mm RMS", left)[1])
    stacked = np.array([np.concatenate([mesh.vertices for mesh in knee]) for knee in knees])
    flat = (stacked - stacked.mean(axis=0)).reshape(COUNT, -1)
    values = np.linalg.svd(flat, compute_uv=False)[1:]
    rms = np.sqrt((values**2).sum() / (COUNT - 1) / stacked.shape[1])
    assert_allclose(found, 1e3 * rms, rtol=0.06)


@pytest.mark.usefixtures("meshes_alone")
def test_meshes_that_lie_in_different_frames_are_doubtful(tmp_path, shapes, knees):
    moved = [
        (TriangleMesh(femur.vertices + 3e-3 * number * np.eye(3)[1], femur.faces), tibia)
        for number, (femur, tibia) in enumerate(knees)
    ]
    path = written(write_knees(tmp_path, shapes, moved), set_of())
    warnings = [text for level, _, text in told(path) if level == "warning"]
    assert len(warnings) == 1
    assert re.match(r"mode 1 turns and moves the femur as a whole \(9\d% of its", warnings[0])
    aligned = told(written(tmp_path, set_of(align="rigid")))
    assert not [text for level, _, text in aligned if level == "warning"]
