"""Walks beside measured implant forces."""

from types import SimpleNamespace

import numpy as np
import pytest

from foundation.base.errors import InputError
from pipeline.studies.implant_forces.schema import ImplantForcesConfig
from pipeline.studies.muscle_walks import implant

POUND = 4.4482216152605
COLUMNS = {"time": "Time(sec)", "medial": "Medial (lbf)", "lateral": "Lateral (lbf)", "unit": "lbf"}


def write_forces(path, time, medial, lateral, header="Time(sec),Medial (lbf),Lateral (lbf)"):
    rows = [
        f"{t:.6f},{m / POUND:.6f},{f / POUND:.6f}"
        for t, m, f in zip(time, medial, lateral, strict=True)
    ]
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


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


def test_measured_forces_are_checked_before_a_walk(knee_data, tmp_path):
    time = np.linspace(0.0, 1.3, 40)
    force = 900.0 + 500.0 * np.sin(time)
    table = write_forces(tmp_path / "forces.csv", time, force, 0.5 * force)
    model = str(knee_data / "jam_grand_challenge_DM" / "DM.osim")

    def checked(**keys):
        config = ImplantForcesConfig(file=str(table), **COLUMNS, **keys)
        walk = SimpleNamespace(model=model)
        implant.check_implant_forces(SimpleNamespace(walk=walk, implant_forces=config))

    checked()
    checked(contact="knee_contact")
    with pytest.raises(InputError, match=r"a contact of DM\.osim, knee_contact, pf_contact"):
        checked(contact="tf_contact")
    table.write_text("time,medial,lateral\n0,1,2\n")
    with pytest.raises(InputError, match=r"expected a row of names with .*Medial \(lbf\)"):
        checked()
    implant.check_implant_forces(SimpleNamespace(implant_forces=None))
