"""Walks beside measured implant forces."""

from types import SimpleNamespace

import numpy as np
import pytest
from walks import walk_config, walk_tables

from dynamics.motion import write_motion_table
from foundation.base.errors import InputError
from pipeline.studies.implant_forces.schema import ImplantForcesConfig
from pipeline.studies.muscle_walks import implant
from pipeline.studies.walks.implant import measured_walk
from pipeline.studies.walks.loads import measure
from pipeline.studies.walks.walk import load_walk

POUND = 4.4482216152605


def write_forces(path, time, medial, lateral, header="Time(sec),Medial (lbf),Lateral (lbf)"):
    rows = [
        f"{t:.6f},{m / POUND:.6f},{f / POUND:.6f}"
        for t, m, f in zip(time, medial, lateral, strict=True)
    ]
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_compartments_of_a_planar_walk_are_those_of_the_simulated_cycle(tmp_path):
    motion, ground = walk_tables()
    write_motion_table(tmp_path / "motion.mot", motion)
    write_motion_table(tmp_path / "ground.sto", ground)
    files = tmp_path / "motion.mot", tmp_path / "ground.sto"
    plain = load_walk(walk_config(tmp_path, "no-run", *files))
    walk = measure(plain)
    force, percent = walk.knee.axial_force, np.linspace(0.0, 100.0, 201)
    medial = 300.0 + 200.0 * np.sin(2.0 * np.pi * percent / 100.0)
    columns = {"medial_force_y_N": medial, "lateral_force_y_N": 0.5 * medial}
    cycle = SimpleNamespace(gait_percent=percent, columns=lambda: columns)
    assert measured_walk(plain, walk, cycle) is None
    given = np.interp(walk.knee.percent, percent, medial)
    rows = walk.trial.time, given, force - given
    table = write_forces(tmp_path / "forces.csv", *rows)
    keys = {"file": str(table)}
    file = load_walk(walk_config(tmp_path, "no-run", *files, implant_forces=keys))
    parts = measured_walk(file, walk, cycle).comparison.parts
    assert parts["total"].rms_N == pytest.approx(0.0, abs=0.01)
    assert parts["medial"].rms_N == pytest.approx(0.0, abs=0.5)
    error = 0.5 * given - (force - given)
    assert parts["lateral"].rms_N == pytest.approx(np.sqrt((error**2).mean()), rel=0.01)


def test_the_contact_with_both_compartments_is_the_measured_one():
    loads = {
        "knee": SimpleNamespace(compartments=("medial", "lateral")),
        "patella": SimpleNamespace(compartments=("pf",)),
    }

    def result(*names):
        return SimpleNamespace(contacts=names, loads=[[loads[n.partition("_")[0]] for n in names]])

    assert implant._tibiofemoral(result("patella", "knee")) == "knee"
    with pytest.raises(InputError, match=r"implant_forces.contact: expected .* since 2 of"):
        implant._tibiofemoral(result("knee_r", "knee_l"))


def test_the_flexion_of_a_contact_is_the_angle_that_moves_most():
    values = np.array([[0.0, 0.1, 0.0], [0.9, 0.2, 5.0]])
    motion = SimpleNamespace(
        values=values, rotational=(True, True, False), index=lambda names: list(range(len(names)))
    )
    contact = SimpleNamespace(name="knee", coordinates=("flex", "add", "tx"))
    setup = SimpleNamespace(plant=SimpleNamespace(motion=motion), contacts=[contact])
    np.testing.assert_array_equal(implant._flexion(setup, "knee"), [0.0, 0.9])


def test_measured_forces_are_checked_before_a_walk(knee_data, tmp_path):
    time = np.linspace(0.0, 1.3, 40)
    force = 900.0 + 500.0 * np.sin(time)
    table = write_forces(tmp_path / "forces.csv", time, force, 0.5 * force)
    model = str(knee_data / "jam_grand_challenge_DM" / "DM.osim")

    def checked(**keys):
        config = ImplantForcesConfig(file=str(table), **keys)
        walk = SimpleNamespace(model=model)
        implant.check_implant_forces(SimpleNamespace(walk=walk, implant_forces=config))

    checked()
    checked(contact="knee_contact")
    with pytest.raises(InputError, match=r"a contact of DM\.osim, knee_contact, pf_contact"):
        checked(contact="tf_contact")
    table.write_text("time,medial,lateral\n")
    with pytest.raises(InputError, match="expected a row of names above three or more rows"):
        checked()
    implant.check_implant_forces(SimpleNamespace(implant_forces=None))
