"""Studies over a recorded walk of an OpenSim model."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pipeline.cli.main import main
from pipeline.studies.muscle_walks.study import replayed
from pipeline.studies.muscle_walks.variation import varied_walk, walk_factors
from pipeline.studies.muscle_walks.walk import load_muscle_walk

pytestmark = pytest.mark.usefixtures("jam_folder", "opensim")
DEGREE = np.pi / 180.0


def test_variations_change_what_they_name(jam_walk):
    file = load_muscle_walk(jam_walk / "config.toml")
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
    assert weak.settings.muscle_weight(("recfem_r", "soleus_r"), 0.0).tolist() == [3.0, 1.0]
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
    assert main(["study", str(config), "--out", str(out), "--quiet"]) == 0
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


def test_inputs_of_a_walk_are_listed_and_checked(jam_walk, tmp_path, capsys):
    assert main(["study", "--factors", "--walk", str(jam_walk)]) == 0
    told = capsys.readouterr().out
    for name in ("ligament_PCLal_slack_scale", "muscle_soleus_r_weight", "pf_contact_target_up_mm"):
        assert name in told
    config = tmp_path / "study.toml"
    text = STUDY.format(walk=jam_walk)
    config.write_text(text.replace("tf_contact_modulus_scale", "tf_modulus_scale"))
    assert main(["study", str(config), "--out", str(tmp_path / "out")]) == 2
    assert "similar names are tf_contact_modulus_scale" in capsys.readouterr().err
    config.write_text(STUDY.format(walk=tmp_path))
    assert main(["study", str(config), "--out", str(tmp_path / "out")]) == 2
    assert "expected the folder of a walk" in capsys.readouterr().err
