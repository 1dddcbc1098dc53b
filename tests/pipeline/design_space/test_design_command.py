"""One design taken out of a run over designs, and commands that need a single knee."""

import json

import numpy as np
import pytest
import trimesh
from numpy.testing import assert_allclose, assert_array_equal

import surrogates
from pipeline.cli.main import main
from pipeline.config.reading import load_config
from pipeline.design_space.base_design import base_values
from pipeline.design_space.design_gait import original_cycle, surrogate_cycle
from pipeline.design_space.trained_designs import TrainedDesigns
from pipeline.exchange.design_files import stl_of

DESIGN = {"dish_sagittal_radius_mm": 76.0, "youngs_modulus_MPa": 620.0}
TEXTS = [f"{name}={value}" for name, value in DESIGN.items()]


@pytest.fixture(scope="module")
def opened(tiny_designs):
    return TrainedDesigns.open(tiny_designs)


@pytest.fixture(scope="module")
def taken(tiny_designs, tmp_path_factory):
    """Return the folder of a design."""
    folder = tmp_path_factory.mktemp("taken") / "design"
    assert main(["design", str(tiny_designs), *TEXTS, "--out", str(folder), "--quiet"]) == 0
    return folder


def answer(capsys, *words):
    """Return status and JSON document of a command."""
    status = main(["design", *map(str, words), "--quiet", "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_surrogate_of_the_design(taken, opened, tiny_designs):
    knee, wanted = surrogates.load(taken / "knee.npz"), opened.knee.at(DESIGN)
    poses = opened.knee.path(DESIGN).poses(np.linspace(0.0, 1.0, 9))
    poses[:, 4] -= 2e-4
    for one, other in zip(knee.evaluate_batch(poses), wanted.evaluate_batch(poses), strict=True):
        assert_array_equal(one, other)
    assert (knee.evaluate_batch(poses)[0][:, :, 1] > 0.0).any()
    assert knee.header["design"] == DESIGN
    assert knee.header["name"] == "tiny_designs"
    assert "errors" not in knee.header
    assert knee.header["expected"]["height_um"] > 4.0
    assert any("height" in text for text in knee.header["doubts"])


def test_configuration_of_the_design(taken, opened):
    config, wanted = load_config(taken / "design.toml"), opened.config_of(DESIGN)
    assert config.run.name == "tiny_designs_design"
    assert config.model_copy(update={"run": wanted.run}) == wanted
    assert config.knee.implant.dish_sagittal_radius_mm == 76.0
    assert config.contact.youngs_modulus_MPa == 620.0
    assert config.design_space is None


def test_surfaces_of_the_design(taken, opened):
    model = opened.original(DESIGN).model
    for name in ("femur", "tibia"):
        mesh, wanted = trimesh.load(taken / f"{name}.stl"), getattr(model, name)
        assert (taken / f"{name}.stl").stat().st_size == 84 + 50 * len(wanted.faces)
        corners = np.asarray(wanted.vertices)[np.asarray(wanted.faces)]
        assert_allclose(mesh.triangles, 1e3 * corners, rtol=0, atol=1e-4)
    # the lowest point of a deeper dish
    other = opened.original(DESIGN | {"dish_sagittal_radius_mm": 61.0}).model
    assert stl_of(other.tibia) != (taken / "tibia.stl").read_bytes()


def test_answer_states_outputs_and_errors(tiny_designs, opened, tmp_path, capsys):
    status, found = answer(capsys, tiny_designs, *TEXTS, "--out", tmp_path / "d", "--original")
    assert status == 0
    assert found["values"] == DESIGN
    assert found["origins"] == {}
    assert found["infeasible"] == ""
    surrogate = surrogate_cycle(opened.config, opened.knee, DESIGN)
    original, _ = original_cycle(opened.config, opened.knee, DESIGN)
    assert found["outputs"] == {"surrogate": surrogate.outputs, "original": original.outputs}
    wear = "total_wear_mm3_per_million_cycles"
    off = 100.0 * abs(surrogate.outputs[wear] / original.outputs[wear] - 1.0)
    assert found["errors"]["wear_percent"] == pytest.approx(off, rel=1e-9)
    assert found["flagged"] == surrogate.result.flagged
    assert len(found["files"]) == 4


def test_base_values_are_those_of_the_configuration(opened):
    base = base_values(opened.config)
    assert base["dish_sagittal_radius_mm"] == (70.0, "base configuration")
    assert base["youngs_modulus_MPa"].value == 650.0
    space = opened.config.design_space
    thickness = space.parameter[0].model_copy(
        update={"key": "contact.thickness_mm", "range": (6.0, 10.0)}
    )
    other = space.model_copy(update={"parameter": (thickness,)})
    (found,) = base_values(opened.config.model_copy(update={"design_space": other})).values()
    assert found == (8.0, "middle of the range, the base configuration has no number")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["dish_mm=3"], "dish_mm=3: expected NAME=VALUE with one of dish_sagittal_radius_mm, "),
        ([TEXTS[0], TEXTS[0]], "expected each parameter once, found dish_sagittal_radius_mm"),
        (
            ["dish_sagittal_radius_mm=95"],
            "1 parameter outside the trained range: dish_sagittal_radius_mm: expected 60 to 90, "
            "found 95",
        ),
    ],
)
def test_unusable_values_are_refused(tiny_designs, tmp_path, capsys, texts, message):
    status, found = answer(capsys, tiny_designs, *texts, "--out", tmp_path / "d")
    assert status == 2
    assert message in found["error"]
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["simulate", "RUN"],
        ["loads", "RUN/knee.npz", "MOTION", "--out", "OUT.csv"],
    ],
)
def test_commands_of_one_knee_name_the_remedy(tiny_designs, tiny_run, tmp_path, capsys, words):
    assert_refused(tiny_designs, tiny_run, tmp_path, capsys, words)


def assert_refused(tiny_designs, tiny_run, tmp_path, capsys, words):
    """Check that a command tells how to take one design out."""
    motion = tmp_path / "cycle.mot"
    if "MOTION" in words:
        assert main(["motion", str(tiny_run), "--out", str(motion), "--quiet"]) == 0
    names = {"RUN": tiny_designs, "OTHER": tiny_run, "OUT": tmp_path / "out", "MOTION": motion}
    for name, path in names.items():
        words = [word.replace(name, str(path)) for word in words]
    capsys.readouterr()
    assert main([*words, "--quiet"]) == 2
    remedy = f"take out one design with `knee-contact design {tiny_designs} ...`"
    wanted = f"error: {tiny_designs}: holds a surrogate over designs; {remedy}\n"
    assert capsys.readouterr().err == wanted
