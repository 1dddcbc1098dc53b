"""Walk of a model without articular contact: from motion and ground force to waveforms of a run."""

import json

import numpy as np
import pandas as pd
import pytest
from bare_legs import BELOW, MUSCLES, TIME, WEIGHT, bare_model, bare_walk, standing
from numpy.testing import assert_allclose

from dynamics.simulator.waveform_tables import load_gait_cycle
from foundation.base.errors import InputError
from pipeline.cli.main import main
from pipeline.studies.dispatch import carry_out
from pipeline.studies.implant_forces import ImplantForcesConfig
from pipeline.studies.muscle_walks.setup import prepare_walk
from pipeline.studies.muscle_walks.summary import LEAST_FORCE

pytestmark = pytest.mark.usefixtures("opensim")
#: Heel strikes and toe-off of the foot [s].
STRIKES, OFF = (0.1, 0.9), 0.6


def stepping(folder, **model):
    """Write a model, and the motion and ground force of a stride on the spot; return the files."""
    steps = np.where(STRIKES[1] < TIME, TIME - STRIKES[1], TIME - STRIKES[0]) / (OFF - STRIKES[0])
    force = WEIGHT * np.sin(np.pi * np.clip(steps, 0.0, 1.0))
    bend = 20.0 * (1.0 - np.cos(2.0 * np.pi * (TIME - STRIKES[0]) / np.ptp(STRIKES)))
    angles = {"knee_angle_r": -bend, "hip_flexion_r": 0.5 * bend}  # The foot stays below the hip.
    files = standing(folder, (0.0, force, 0.0), (0.0, 0.0, 0.08), **angles)
    return bare_model(folder / "bare.osim", **model), *files


@pytest.fixture(scope="module")
def walked(opensim, tmp_path_factory):
    """Return the folder of a walk that the command wrote; not to be written to."""
    folder = tmp_path_factory.mktemp("static")
    model, motion, loads = stepping(folder)
    config = folder / "mine.toml"
    config.write_text(
        f'[walk]\nmodel = "{model}"\nmotion = "{motion}"\nexternal_loads = "{loads}"\n'
    )
    assert main(["run", str(config), "--out", str(folder / "out"), "--quiet"]) == 0
    return folder / "out"


def test_the_cycle_is_that_between_heel_strikes(walked):
    document = json.loads((walked / "walk.json").read_text())
    knee = document["knee"]
    assert (knee["joint"], knee["leg"]) == ("knee_r", "right")
    assert_allclose(knee["cycle_s"], STRIKES, atol=0.011)
    assert document["contact"] == {}
    assert document["converged"] == document["frames"]
    assert knee["peak_N"] > WEIGHT - BELOW
    assert knee["peak_BW"] == pytest.approx(knee["peak_N"] / document["body_weight_N"])
    assert knee["flexion_deg"][1] == pytest.approx(40.0, abs=0.5)


def test_waveforms_are_those_that_a_run_takes(walked):
    knee = json.loads((walked / "walk.json").read_text())["knee"]
    cycle = load_gait_cycle(walked / "waveforms.csv", knee["period_s"])
    assert cycle.signals == ("flexion", "axial_force", "ap_force", "internal_torque")
    assert cycle.axial_force.min() == pytest.approx(LEAST_FORCE)
    assert np.degrees(cycle.flexion.max()) == pytest.approx(40.0, abs=0.5)
    # The force acts 20 mm medial of the knee.
    table = pd.read_csv(walked / "waveforms.csv")
    moment = np.interp(30.0, table["gait_percent"], table["adduction_moment_Nm"])
    assert moment == pytest.approx(0.02 * WEIGHT, rel=0.2)


def test_muscles_that_are_too_weak_are_flagged(tmp_path):
    weak = tuple((*muscle[:-1], 0.05 * muscle[-1]) for muscle in MUSCLES)
    file = bare_walk(*stepping(tmp_path, muscles=weak))
    flags = carry_out(file, tmp_path / "out").document.flags
    assert any(
        flag.startswith("reserve of knee_angle_r: expected at most 10 % of the largest moment")
        for flag in flags
    )


def test_a_knee_that_no_muscle_moves_is_flagged(tmp_path):
    around = tuple(muscle for muscle in MUSCLES if muscle[0] not in ("vasti", "hamstrings"))
    flags = carry_out(
        bare_walk(*stepping(tmp_path, muscles=around)), tmp_path / "out"
    ).document.flags
    assert any(flag.startswith("knee_r: expected muscles that give the moment") for flag in flags)


def test_measured_forces_stand_beside_the_axial_force(walked, tmp_path):
    file = bare_walk(*stepping(tmp_path), start_s=0.15, stop_s=0.55)
    first = carry_out(file, tmp_path / "out").document
    table = pd.read_csv(tmp_path / "out" / "waveforms.csv")
    time = 0.15 + 4e-3 * table["gait_percent"]
    measured = tmp_path / "forces.csv"
    pd.DataFrame({"time": time, "total": table["axial_force_N"]}).to_csv(measured, index=False)
    config = ImplantForcesConfig(file=str(measured), total="total")
    again = carry_out(
        file.model_copy(update={"implant_forces": config}), tmp_path / "again"
    ).document
    assert again.implant.contact == "knee_r"
    assert set(again.implant.parts) == {"total"}
    assert again.implant.parts["total"].rms_N < 0.02 * first.knee.peak_N


@pytest.mark.parametrize(
    ("walk", "comak", "message"),
    [
        ({"knee": "knee"}, {}, r"walk\.knee: expected a joint of bare\.osim, found knee;"),
        (
            {},
            {"secondary": {"hip_flexion_r": 1.0}},
            r"expected none, as bare\.osim .* hip_flexion_r",
        ),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, walk, comak, message):
    file = bare_walk(*stepping(tmp_path))
    changes = {
        "walk": file.walk.model_copy(update=walk),
        "comak": file.comak.model_copy(update=comak),
    }
    with pytest.raises(InputError, match=message):
        prepare_walk(file.model_copy(update=changes))
