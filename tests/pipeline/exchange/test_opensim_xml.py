"""The set-up file of external loads for OpenSim."""

from xml.etree import ElementTree

import numpy as np
import pytest

from dynamics.motion import read_motion_table
from foundation.base.errors import InputError
from pipeline.cli.main import main
from pipeline.exchange.loads_along import loads_along, write_loads
from pipeline.exchange.opensim_xml import external_loads_xml
from pipeline.store.samples import poses_of, read_table


@pytest.fixture
def written(tiny_run, tmp_path):
    import surrogates

    cycle = read_table(tiny_run / "simulation.parquet")
    cycle = cycle[cycle["model"] == "surrogate"].iloc[:5]
    table, _ = loads_along(
        surrogates.load(tiny_run / "knee.npz"), cycle["time_s"].to_numpy(), poses_of(cycle)
    )
    return write_loads(table, tmp_path / "loads.sto", ("thigh", "shank"))


def test_every_identifier_is_a_column_of_the_named_file(written):
    loads, setup = written
    root = ElementTree.parse(setup).getroot()
    assert root.tag == "OpenSimDocument"
    (external,) = root
    assert external.tag == "ExternalLoads"
    assert external.findtext("datafile") == loads.name
    assert (setup.parent / external.findtext("datafile")).is_file()
    columns = read_motion_table(loads).names
    forces = external.findall("objects/ExternalForce")
    assert [force.get("name") for force in forces] == [
        *("medial_femur", "medial_tibia"),
        *("lateral_femur", "lateral_tibia"),
    ]
    identifiers = set()
    for force in forces:
        assert force.findtext("force_expressed_in_body") == "shank"
        assert force.findtext("point_expressed_in_body") == "shank"
        body = "thigh" if force.get("name").endswith("femur") else "shank"
        assert force.findtext("applied_to_body") == body
        assert force.findtext("data_source_name") == loads.read_text().splitlines()[0]
        for key in ("force", "point", "torque"):
            head = force.findtext(f"{key}_identifier")
            # OpenSim appends x, y and z to an identifier.
            assert all(f"{head}{axis}" in columns for axis in "xyz")
            identifiers.add(head)
    assert len(identifiers) == 3 * len(forces)


def test_command_writes_the_set_up_with_the_named_bodies(tiny_run, tmp_path, capsys):
    cycle = tmp_path / "cycle.mot"
    assert main(["motion", str(tiny_run), "--out", str(cycle)]) == 0
    out = tmp_path / "own.mot"
    bodies = ["--bodies", "femur_r", "tibia_r"]
    assert main(["loads", str(tiny_run), str(cycle), "--out", str(out), *bodies]) == 0
    assert f"loads: {tmp_path / 'own.xml'}" in capsys.readouterr().out
    root = ElementTree.parse(tmp_path / "own.xml").getroot()
    bodies = {force.findtext("applied_to_body") for force in root.iter("ExternalForce")}
    assert bodies == {"femur_r", "tibia_r"}
    assert np.isfinite(read_motion_table(out).values).all()


@pytest.mark.parametrize("bodies", [("tibia_r", "tibia_r"), ("", "tibia_r")])
def test_bodies_must_be_two(tmp_path, bodies):
    with pytest.raises(InputError, match="two names, femur and tibia"):
        external_loads_xml(tmp_path / "loads.sto", bodies)
