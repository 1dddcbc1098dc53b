"""Replays of recorded walks: what the record determines, flags, and other models."""

import json
import re
import shutil
from dataclasses import replace

import pandas as pd
import pytest
from jam_walks import WALK_FILES, changed
from numpy.testing import assert_allclose

from dynamics.motion import read_motion_table
from dynamics.musculoskeletal import (
    Comak,
    MuscleWeight,
    RecordedPlant,
)
from dynamics.simulator.equations import SimulationError
from foundation.base.errors import InputError
from foundation.surfaces.triangle_mesh import MeshError
from pipeline.cli.main import main
from pipeline.studies.muscle_walks import models as walk_models
from pipeline.studies.muscle_walks import setup as walk_setup
from pipeline.studies.muscle_walks import study as walk_study
from pipeline.studies.muscle_walks import walk as walk_module
from pipeline.studies.muscle_walks.setup import prepare_walk
from pipeline.studies.muscle_walks.study import WalkTask, replayed
from pipeline.studies.muscle_walks.summary import summary_text
from pipeline.studies.muscle_walks.walk import load_muscle_walk, simulate_muscle_walk
from pipeline.studies.muscle_walks.walk_outputs import walk_catalogue

pytestmark = pytest.mark.usefixtures("jam_folder", "opensim")


@pytest.mark.slow
def test_a_replay_is_the_walk(jam_walk, tmp_path):
    out = tmp_path / "again"
    arguments = ["walk", str(jam_walk / "config.toml"), "--out", str(out), "--quiet"]
    assert main([*arguments, f"--set=walk.replay={jam_walk / 'plant.npz'}"]) == 0
    assert {path.name for path in out.iterdir()} == WALK_FILES - {"plant.npz"}
    one, other = (read_motion_table(f / "contact.sto").values for f in (jam_walk, out))
    assert_allclose(other[:, :3], one[:, :3], atol=1.5)
    one, other = (read_motion_table(f / "kinematics.mot").values for f in (jam_walk, out))
    assert_allclose(other, one, atol=2e-3)


def test_a_record_keeps_the_residuals_and_a_study_their_flags(
    jam_walk, tmp_path, monkeypatch, capsys
):
    made = []
    monkeypatch.setattr(
        walk_module, "prepare_walk", lambda f: made.append(prepare_walk(f)) or made[0]
    )
    file = load_muscle_walk(jam_walk / "config.toml")
    record = RecordedPlant.load(jam_walk / "plant.npz")
    assert record.balance.flags == ()
    flag = "residual force on pelvis: expected less, found more; check the plates"
    with (tmp_path / "plant.npz").open("wb") as stream:
        replace(record, balance=replace(record.balance, flags=(flag,))).save(stream)
    again = changed(file, replay=str(tmp_path / "plant.npz"))
    simulate, said = walk_module._simulate, []
    monkeypatch.setattr(
        walk_module, "_simulate", lambda setup: said.append(capsys.readouterr()) or simulate(setup)
    )
    summary = simulate_muscle_walk(again, tmp_path / "out")
    (before,) = said  # Before the first frame.
    assert before.err.startswith("residuals on pelvis: force at most ")
    assert f"flag: {flag}" in before.err
    assert not before.out
    before = json.loads((jam_walk / "walk.json").read_text())["residuals"]
    assert summary.residuals.content() == before
    assert summary.flags == [flag]
    assert flag in summary_text(summary, tmp_path)
    assert flag in (tmp_path / "out" / "walk.html").read_text()
    frames = pd.read_csv(tmp_path / "out" / "frames.csv")
    assert frames.residual_force_N.max() == pytest.approx(before["force_max_N"])
    (setup,) = made
    result = setup.comak.run(setup.first_values())
    assert flag in walk_catalogue(setup, result).note
    row = walk_study._simulated(WalkTask("", "flag", ""), setup, result.values)
    assert row["flagged_instants"] == 4


@pytest.mark.slow
def test_a_replay_needs_no_opensim(jam_walk, no_opensim, tmp_path):
    arguments = ["walk", str(jam_walk / "config.toml"), "--out", str(tmp_path / "out"), "--quiet"]
    assert main([*arguments, f"--set=walk.replay={jam_walk / 'plant.npz'}"]) == 0


def test_a_replay_names_what_the_record_decides(jam_walk, tmp_path):
    file, record = load_muscle_walk(jam_walk / "config.toml"), str(jam_walk / "plant.npz")
    later = {"stop_s": 1.3}
    with pytest.raises(
        InputError, match=r"comak\.stop_s: expected 1\.24 as in the record, found 1\.3"
    ):
        replayed(changed(file, later), record)
    update = {"replay": record, "motion": "other.mot"}
    moved = changed(file, **update)
    with pytest.warns(UserWarning, match=r"ignored: walk\.motion"):
        summary = simulate_muscle_walk(moved, tmp_path / "out")
    assert any("walk.motion" in text for text in summary.warnings)


def test_a_replay_tells_other_times_and_takes_coordinates_in_any_order(
    jam_walk, tmp_path, jam_folder
):
    file = load_muscle_walk(jam_walk / "config.toml")
    xml = (jam_folder / "examples/walking/inputs/comak_settings.xml").read_text()
    folder = jam_folder / "examples/walking/inputs"
    xml = re.sub(r">(\.\./[^<]*)<", lambda m: f">{(folder / m[1]).resolve()}<", xml)
    start = xml.index("<objects>") + len("<objects>")
    end = xml.index("</objects>")
    first = xml.index("</COMAKSecondaryCoordinate>") + len("</COMAKSecondaryCoordinate>")
    swapped = xml[:start] + xml[first:end] + xml[start:first] + xml[end:]
    (tmp_path / "s.xml").write_text(swapped.replace("<comak_damping>200<", "<comak_damping>100<"))
    update = {"settings": str(tmp_path / "s.xml")}
    update["replay"] = str(jam_walk / "plant.npz")
    moved = changed(file, {"stop_s": None}, **update)
    with pytest.warns(UserWarning, match="ignored: stop"):
        setup = prepare_walk(moved)
    text = " ".join(setup.warnings)
    assert "ignored: stop 2.32 (1.24)" in text
    assert "found knee_tx_r 100 (200 in the model)" in text
    assert "knee_add_r" not in text
    assert setup.comak.run(setup.first_values()).secondary[0] == "knee_add_r"


@pytest.mark.slow
def test_an_earlier_walk_stays_until_the_next_is_simulated(jam_walk, tmp_path, monkeypatch):
    folder = shutil.copytree(jam_walk, tmp_path / "out")
    file, record = load_muscle_walk(folder / "config.toml"), str(jam_walk / "plant.npz")
    again = changed(file, {"settle": False}, replay=record)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Comak, "run", stopped)
    with (
        pytest.warns(UserWarning, match=r"ignored: comak\.settle"),
        pytest.raises(KeyboardInterrupt),
    ):
        simulate_muscle_walk(again, folder, replace=True)
    assert {name: (folder / name).read_bytes() for name in before} == before


@pytest.mark.slow
def test_a_record_of_another_model_is_told(jam_walk, tmp_path, jam_folder):
    file = load_muscle_walk(jam_walk / "config.toml")
    text = (jam_folder / "models/lenhart2015/lenhart2015.osim").read_text()
    path = jam_folder / "models/lenhart2015/Geometry/lenhart2015-R-patella-cartilage.stl"
    meshes = {**file.walk.meshes, path.name: str(path)}

    def of(model):
        (tmp_path / "m.osim").write_text(model)
        update = {"model": str(tmp_path / "m.osim"), "meshes": meshes}
        return replayed(changed(file, **update), str(jam_walk / "plant.npz"))

    assert of(text).warnings == ()
    assert of(text.replace("<elastic_modulus>", "<elastic_modulus> ")).warnings == ()
    with pytest.warns(UserWarning, match=r"m\.osim is not the model of the record"):
        of(text.replace("<slack_length>", "<slack_length>1.0", 1))
    with pytest.raises(InputError, match=r"expected a record of m\.osim, found another model"):
        of(text.replace('"neck_rot"', '"neck_turn"'))


def swapped(file):
    """Return a walk whose meshes of femur and tibia are swapped."""
    femur, tibia = (f"lenhart2015-R-{bone}-cartilage.stl" for bone in ("femur", "tibia"))
    meshes = file.walk.meshes
    update = {"meshes": meshes | {femur: meshes[tibia], tibia: meshes[femur]}}
    return changed(file, **update)


@pytest.mark.slow
def test_swapped_meshes_are_refused_with_and_without_opensim(jam_walk):
    file = swapped(load_muscle_walk(jam_walk / "config.toml"))
    message = r"pf_contact: expected surfaces of .* face each other .*walk\.meshes"
    with pytest.raises(MeshError, match=message):
        prepare_walk(file)
    with pytest.raises(MeshError, match=message):
        replayed(file, str(jam_walk / "plant.npz"))


@pytest.mark.slow
def test_a_contact_that_never_touches_is_told_in_terminal_file_and_page(
    jam_walk, tmp_path, monkeypatch
):
    """Also in a replay, before the flags of frames and coordinates."""
    monkeypatch.setattr(walk_models, "check_facing", lambda *_: None)
    file = swapped(load_muscle_walk(jam_walk / "config.toml"))
    update = {"replay": str(jam_walk / "plant.npz")}
    file = changed(file, **update)
    summary = simulate_muscle_walk(file, tmp_path)
    told = "tf_contact: the surfaces touch in none of 4 frames; check its mesh files"
    assert summary.flags[0].startswith(told)
    assert told in summary_text(summary, tmp_path)
    assert told in (tmp_path / "walk.html").read_text()


def test_weights_of_unknown_muscles_are_told(jam_walk):
    file = load_muscle_walk(jam_walk / "config.toml")
    weighted = {"muscle_weights": {"nobody": 2.0}}
    with pytest.warns(UserWarning, match="nobody"):
        setup = replayed(changed(file, weighted), str(jam_walk / "plant.npz"))
    assert any("nobody" in text for text in setup.warnings)


def test_a_weight_that_becomes_negative_is_refused_before_the_first_frame(jam_walk, monkeypatch):
    falling = MuscleWeight("soleus_r", (1.2, 1.21), (3.0, 1.0))
    read = walk_setup.walk_settings

    def with_weight(*arguments):
        found = read(*arguments)
        return found._replace(settings=replace(found.settings, muscle_weights=(falling,)))

    monkeypatch.setattr(walk_setup, "walk_settings", with_weight)
    file = load_muscle_walk(jam_walk / "config.toml")
    with pytest.raises(InputError, match=r"soleus_r: expected a weight >= 0 at 1\.22 s"):
        replayed(file, str(jam_walk / "plant.npz"))


def test_frames_that_do_not_converge_are_flagged_in_file_and_page(jam_walk, tmp_path):
    file = load_muscle_walk(jam_walk / "config.toml")
    few = {"iterations": 1, "tolerance": 1e-9}
    again = changed(file, few, replay=str(jam_walk / "plant.npz"))
    with pytest.raises(SimulationError, match="none of 4 frames converged"):
        simulate_muscle_walk(again, tmp_path)
    summary = json.loads((tmp_path / "walk.json").read_text())
    assert summary["converged"] == 0
    assert "1.21 s: not converged in 1 iterations" in summary["flags"][0]
    assert not pd.read_csv(tmp_path / "frames.csv").converged.any()
    page = (tmp_path / "walk.html").read_text()
    assert "Read this first" in page
    assert "1.21 s: not converged in 1 iterations" in page
