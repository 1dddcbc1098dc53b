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
from pipeline.stages.cycle_outputs import KEY_OUTPUTS, OUTPUTS

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


def test_exported_like_a_surrogate_of_one_knee(taken, tmp_path):
    assert main(["export", str(taken), "--out", str(tmp_path), "--quiet"]) == 0
    assert (tmp_path / "knee.c").stat().st_size > 10_000


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


def test_terminal_states_values_errors_and_differences(tiny_designs, tmp_path, capsys):
    words = ["design", str(tiny_designs), TEXTS[0], "--out", str(tmp_path / "d"), "--original"]
    assert main([*words, "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert "dish_sagittal_radius_mm = 76\n" in shown
    middle = "middle of the range, the base configuration has 463"
    assert f"youngs_modulus_MPa = 650 ({middle})" in shown
    assert "expected error of the height: " in shown
    assert ", accepted 8 um, exceeded" in shown
    assert "gait cycle by the surrogate and the original:" in shown
    for name in KEY_OUTPUTS:
        (line,) = (line for line in shown.splitlines() if f"{OUTPUTS[name].label}: " in line)
        assert f"{OUTPUTS[name].unit}, difference " in line
    assert "infeasible" not in shown
    assert str(tmp_path / "d" / "femur.stl") in shown


def test_violated_constraint_is_told(tiny_designs, tmp_path, capsys):
    words = [str(tiny_designs), "dish_sagittal_radius_mm=89", "--out", str(tmp_path / "d")]
    assert main(["design", *words, "--quiet"]) == 0
    told = "the design is infeasible: not dish_sagittal_radius_mm < 88"
    assert told in capsys.readouterr().out


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
        (["76"], "76: expected NAME=VALUE with one of"),
        (["dish_sagittal_radius_mm=wide"], "expected NAME=VALUE with a number, found 'wide'"),
        (["dish_sagittal_radius_mm=nan"], "expected finite numbers"),
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


def test_run_of_one_knee_has_no_designs(tiny_run, tmp_path, capsys):
    status, found = answer(capsys, tiny_run, "--out", tmp_path / "d")
    assert status == 2
    assert "is not a finished run over designs, designs.json is missing" in found["error"]


def test_files_of_another_design_are_kept(tiny_designs, tmp_path, capsys):
    folder = tmp_path / "d"
    assert answer(capsys, tiny_designs, *TEXTS, "--out", folder)[0] == 0
    before = (folder / "knee.npz").read_bytes()
    assert answer(capsys, tiny_designs, *TEXTS, "--out", folder)[0] == 0
    status, found = answer(capsys, tiny_designs, TEXTS[0], "--out", folder)
    assert status == 2
    assert "exists with other contents" in found["error"]
    assert (folder / "knee.npz").read_bytes() == before
    assert answer(capsys, tiny_designs, TEXTS[0], "--out", folder, "--force")[0] == 0
    assert (folder / "knee.npz").read_bytes() != before


@pytest.mark.parametrize(
    "words",
    [
        ["simulate", "RUN"],
        ["validate", "RUN"],
        ["report", "RUN"],
        ["compare-runs", "RUN", "OTHER"],
        ["export", "RUN"],
        ["export", "RUN/knee.npz"],
        ["fields", "RUN", "--out", "OUT"],
        ["motion", "RUN", "--out", "OUT.mot"],
        ["loads", "RUN", "MOTION", "--out", "OUT.csv"],
        ["loads", "RUN/knee.npz", "MOTION", "--out", "OUT.csv"],
        ["wear", "RUN"],
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


def test_sample_tables_of_designs_are_exported(tiny_designs, tmp_path):
    file = tmp_path / "first.csv"
    words = ["samples", "export", str(tiny_designs), "--format", "csv", "--out", str(file)]
    assert main([*words, "--table", "first", "--quiet"]) == 0
    assert "design" in file.read_text().partition("\n")[0].split(",")
