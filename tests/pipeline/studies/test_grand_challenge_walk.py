"""The subject of the sixth Grand Challenge: the model as it is, and both trials from markers."""

import json

import numpy as np
import pytest
from studies import ROOT

from dynamics.motion.motion_tables import read_motion_table
from dynamics.musculoskeletal import OsimModel
from pipeline.originals.articular_contacts import articular_contacts
from pipeline.studies.muscle_walks.walk import load_muscle_walk, simulate_muscle_walk

CONFIG = ROOT / "configs" / "grand_challenge_walk.toml"
FOLDER = "$KNEE_DATA/jam_grand_challenge_DM"


def test_surfaces_in_frames_of_the_bones_touch_at_the_default_pose(knee_data):
    walk = load_muscle_walk(CONFIG).walk
    model = OsimModel(knee_data / "jam_grand_challenge_DM" / "DM.osim")
    contacts = articular_contacts(model, meshes=walk.mesh_files, surface="flat")
    knee, patella = contacts
    bed = knee.model.tibia
    assert knee.model.compartment_names == ("medial", "lateral")
    assert patella.model.compartment_names == ("pf_contact",)
    medial = bed.centroids[knee.model.compartments == 0]
    lateral = bed.centroids[knee.model.compartments == 1]
    assert medial[:, 2].max() < 1e-3
    assert lateral[:, 2].min() > -1e-3
    defaults = model.coordinate_defaults
    at_rest = np.array([defaults[name] for name in knee.coordinates])
    height = knee.coordinates.index("knee_ty_r")
    forces = []
    for gap in (0.003, -0.0005):
        moved = at_rest.copy()
        moved[height] -= gap
        forces.append(knee.evaluate(moved).loads.force[1])
    assert forces[0] == 0.0
    assert forces[1] > 100.0


@pytest.mark.slow
@pytest.mark.usefixtures("opensim")
@pytest.mark.parametrize(("trial", "frames", "peak"), [("og1", 132, 2.6), ("og4", 131, 2.9)])
def test_a_trial_from_its_own_files(knee_data, tmp_path, trial, frames, peak):
    kinds = {"walk": "comak", "inverse_kinematics": "ik"}
    keys = [f'{key}.settings="{FOLDER}/DM_ngait_{trial}_{kind}.xml"' for key, kind in kinds.items()]
    with pytest.warns(UserWarning, match="ik_constraint_weight"):
        simulate_muscle_walk(load_muscle_walk(CONFIG, (*keys, "walk.record=false")), tmp_path)
    found = json.loads((tmp_path / "walk.json").read_text())
    assert found["converged"] == found["frames"] == frames
    side = found["sides"]["knee_contact"]
    assert (side["leg"], side["medial"], side["mesh_axes"]) == (
        "right",
        "left",
        ["back", "up", "left"],
    )
    # In og4 the other foot leaves the ground beside the plates.
    assert (found["residuals"]["force_max_percent"] < 25.0) == (trial == "og1")
    assert any("without its plate" in flag for flag in found["flags"]) == (trial == "og4")
    assert found["markers"]["rms_mm"] < 20.0
    table, weight = read_motion_table(tmp_path / "contact.sto"), found["body_weight_N"]
    up = {
        part: table.column(f"knee_contact_{part}_force_y_N") / weight
        for part in ("total", "medial", "lateral")
    }
    np.testing.assert_allclose(up["medial"] + up["lateral"], up["total"], atol=1e-9)
    assert up["total"].max() == pytest.approx(peak, abs=0.2)
    # Most of the load is medial while the foot stands, as in the instrumented implant.
    stance = up["total"] > 1.5
    assert np.median(up["medial"][stance] / up["total"][stance]) > 0.5
