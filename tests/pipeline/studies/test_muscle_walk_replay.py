"""Replays of recorded walks, and studies over them."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from jam_walks import WALK_FILES, changed
from numpy.testing import assert_allclose, assert_array_equal

from dynamics.motion.motion_tables import read_motion_table
from dynamics.musculoskeletal import (
    RecordedPlant,
)
from dynamics.simulator.equations import SimulationError
from pipeline.cli.main import main
from pipeline.studies.dispatch import carry_out, load_study
from pipeline.studies.muscle_walks import study as walk_study
from pipeline.studies.muscle_walks import walk as walk_module
from pipeline.studies.muscle_walks.setup import prepare_walk
from pipeline.studies.muscle_walks.study import (
    WalkTask,
    replayed,
    varied_walk,
    walk_catalogue,
    walk_factors,
)
from pipeline.studies.muscle_walks.summary import summary_lines

pytestmark = pytest.mark.usefixtures("jam_folder", "opensim")


@pytest.mark.slow
def test_a_replay_is_the_walk_and_needs_no_opensim(jam_walk, no_opensim, tmp_path):
    out = tmp_path / "again"
    arguments = ["run", str(jam_walk / "config.toml"), "--out", str(out), "--quiet"]
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
    file = load_study(jam_walk / "config.toml")
    record = RecordedPlant.load(jam_walk / "plant.npz")
    assert record.balance.flags == ()
    flag = "residual force on pelvis: expected less, found more; check the plates"
    with (tmp_path / "plant.npz").open("wb") as stream:
        replace(record, balance=replace(record.balance, flags=(flag,))).save(stream)
    again = changed(file, replay=str(tmp_path / "plant.npz"))
    bar, said = walk_module.bar, []
    monkeypatch.setattr(
        walk_module, "bar", lambda *how: said.append(capsys.readouterr()) or bar(*how)
    )
    summary = carry_out(again, tmp_path / "out").document
    (before,) = said  # Before the first frame.
    assert before.err.startswith("residuals on pelvis: force at most ")
    assert f"flag: {flag}" in before.err
    assert not before.out
    before = json.loads((jam_walk / "walk.json").read_text())["residuals"]
    assert summary.residuals.content() == before
    assert summary.flags == [flag]
    assert flag in "\n".join(summary_lines(summary, tmp_path))
    assert flag in (tmp_path / "out" / "walk.html").read_text()
    frames = pd.read_csv(tmp_path / "out" / "frames.csv")
    assert frames.residual_force_N.max() == pytest.approx(before["force_max_N"])
    (setup,) = made
    result = setup.comak.run(setup.first_values())
    assert flag in walk_catalogue(setup, result).note
    row = walk_study._simulated(WalkTask("", "flag", ""), setup, result.values)
    assert row["flagged_instants"] == 4


def test_frames_that_do_not_converge_are_flagged_in_file_and_page(jam_walk, tmp_path):
    file = load_study(jam_walk / "config.toml")
    few = {"iterations": 1, "tolerance": 1e-9}
    again = changed(file, few, replay=str(jam_walk / "plant.npz"))
    with pytest.raises(SimulationError, match="none of 4 frames converged"):
        carry_out(again, tmp_path)
    summary = json.loads((tmp_path / "walk.json").read_text())
    assert summary["converged"] == 0
    assert "1.21 s: not converged in 1 iterations" in summary["flags"][0]
    assert not pd.read_csv(tmp_path / "frames.csv").converged.any()
    page = (tmp_path / "walk.html").read_text()
    assert "Read this first" in page
    assert "1.21 s: not converged in 1 iterations" in page


DEGREE = np.pi / 180.0


def test_variations_change_what_they_name(jam_walk):
    file = load_study(jam_walk / "config.toml")
    setup = replayed(file, str(jam_walk / "plant.npz"))
    factors = walk_factors(setup)
    start = setup.first_values()
    nominal = setup.comak.run(start)
    softer = varied_walk(setup, {"tf_contact_modulus_scale": 0.5})
    loads = [s.contacts[0].evaluate(np.zeros(6)).loads for s in (setup, softer)]
    assert_allclose(loads[1].wrench, 0.5 * loads[0].wrench, rtol=1e-12)
    thicker = varied_walk(setup, {"tf_contact_thickness_scale": 2.0})
    thick = thicker.contacts[0].evaluate(np.zeros(6)).loads
    assert_allclose(thick.wrench, loads[1].wrench, rtol=1e-9)
    stiff = varied_walk(setup, {"ligament_ACLpl_stiffness_scale": 2.0})
    ratio = stiff.plant.ligaments.stiffness / setup.plant.ligaments.stiffness
    chosen = [name.startswith("ACLpl") for name in setup.plant.ligaments.names]
    assert_array_equal(ratio, np.where(chosen, 2.0, 1.0))
    weak = varied_walk(setup, {"muscle_all_strength_scale": 0.8, "muscle_recfem_r_weight": 3.0})
    assert_allclose(weak.plant.muscles.max_force, 0.8 * setup.plant.muscles.max_force)
    assert weak.settings.muscle_weights == (("recfem_r", 3.0),)
    moved = varied_walk(setup, {"tf_contact_bed_up_mm": -0.1})
    up = setup.contacts[0].pose(np.zeros(6)).translation
    down = moved.contacts[0].pose(np.zeros(6)).translation
    assert_allclose(down - up, [0.0, 1e-4, 0.0], atol=1e-15)
    turned = varied_walk(setup, {"tf_contact_bed_about_forward_deg": 2.0})
    assert abs(turned.contacts[0].pose(np.zeros(6)).adduction) == pytest.approx(2.0 * DEGREE)
    result = turned.comak.run(start)
    assert np.abs(result.values - nominal.values).max() > 1e-3
    # Tilting the bed turns the tibia back: contact alone follows the surfaces.
    assert not result.flags
    assert all(factor.text for factor in factors.values())


STUDY = """
[study]
name = "spread"
walk = "{walk}"
kind = "latin_hypercube"
runs = 4
workers = 1

[[study.factor]]
name = "ligament_all_stiffness_scale"
distribution = "uniform"
low = 0.8
high = 1.2

[[study.factor]]
name = "tf_contact_modulus_scale"
distribution = "lognormal"
mean = 1.0
sd = 0.2
"""


def test_a_study_varies_a_recorded_walk(jam_walk, tmp_path, capsys):
    config = tmp_path / "study.toml"
    config.write_text(STUDY.format(walk=jam_walk))
    out = tmp_path / "out"
    assert main(["run", str(config), "--out", str(out), "--quiet"]) == 0
    runs = pd.read_parquet(out / "runs.parquet")
    assert (runs.status == "ok").all()
    assert (runs.flagged_instants == 0).all()
    assert runs.tf_contact_total_peak_pressure_MPa.nunique() == 4
    order = runs.sort_values("tf_contact_modulus_scale").tf_contact_total_peak_pressure_MPa
    assert order.is_monotonic_increasing
    summary = json.loads((out / "summary.json").read_text())
    assert summary["model"] == "recorded walk"
    assert summary["nominal"]["tf_contact_total_force_peak_BW"] > 0.5
    assert "BW are body weights" in (out / "study.html").read_text()
    assert "tf_contact force, peak" in capsys.readouterr().out
