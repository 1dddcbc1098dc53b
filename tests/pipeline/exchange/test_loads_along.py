"""Loads along a motion and the commands for it, OpenSim's set-up file."""

import json
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import surrogates
from dynamics.motion.knee_motion import read_knee_poses
from dynamics.motion.motion_tables import read_motion_table
from foundation.base.flags import FlagKind
from foundation.base.loads import COMPARTMENTS, LOAD_COLUMNS, WRENCH_COLUMNS
from pipeline.cli.main import main
from pipeline.exchange.loads_along import external_loads, loads_along, write_loads
from pipeline.store.samples import POSE_COLUMNS, poses_of, read_table

AXES = "xyz"


@pytest.fixture(scope="module")
def cycle(tiny_run):
    """The simulated cycle of the tiny run by its surrogate."""
    table = read_table(tiny_run / "simulation.parquet")
    return table[table["model"] == "surrogate"].reset_index(drop=True)


@pytest.fixture(scope="module")
def knee(tiny_run):
    return surrogates.load(tiny_run / "knee.npz")


def loads_in(table, part):
    return table[[f"{part}_{name}" for name in LOAD_COLUMNS]].to_numpy()


def test_loads_are_those_of_the_model_at_each_pose(knee, cycle):
    table, flags = loads_along(knee, cycle["time_s"].to_numpy(), poses_of(cycle))
    assert_array_equal(table["time_s"], cycle["time_s"])
    assert_array_equal(poses_of(table), poses_of(cycle))
    for part in (*COMPARTMENTS, "total"):
        assert_allclose(loads_in(table, part), loads_in(cycle, part), rtol=1e-9, atol=1e-9)
    assert (table["flagged"] == 0).all()
    assert flags == ()


def test_instants_outside_the_domain_are_flagged_and_counted_by_kind(knee, cycle):
    time, poses = cycle["time_s"].to_numpy(), poses_of(cycle)
    poses[3, 2] += 1.0
    poses[7, 2] += 0.5
    table, flags = loads_along(knee, time, poses)
    assert np.flatnonzero(table["flagged"]).tolist() == [3, 7]
    turned = [each for each in flags if each.flag.kind is FlagKind.OUTSIDE_ROTATION]
    assert {each.flag.compartment for each in turned} == set(COMPARTMENTS)
    assert all(each.samples == 2 and each.time == time[3] for each in turned)


def test_external_loads_are_opposite_and_carry_the_whole_wrench(knee, cycle):
    poses = poses_of(cycle)
    poses[0, 4] += 5e-3  # lifted off: no force, and no centre of pressure
    table, _ = loads_along(knee, cycle["time_s"].to_numpy(), poses)
    written = external_loads(table)

    def vectors(head):
        return np.column_stack([written.column(head + axis) for axis in AXES])

    for body, sign in (("femur", 1.0), ("tibia", -1.0)):
        for part in COMPARTMENTS:
            head = f"{part}_{body}"
            force, point, torque = (
                vectors(f"{head}_{kind}") for kind in ("force_v", "force_p", "torque_")
            )
            wrench = np.column_stack([force, torque + np.cross(point, force)])
            expected = table[[f"{part}_{name}" for name in WRENCH_COLUMNS]].to_numpy()
            assert_allclose(wrench, sign * expected, rtol=1e-12, atol=1e-9)
            centre = table[[f"{part}_cop_{axis}_m" for axis in AXES]].to_numpy()
            assert_array_equal(point[1:], centre[1:])
            assert_array_equal(np.concatenate([force[0], point[0], torque[0]]), 0.0)
    # What is left about the centre of pressure is little: the surfaces bear without friction.
    assert np.abs(vectors("medial_femur_torque_")).max() < 1.0


@pytest.mark.parametrize("ending", [".sto", ".csv"])
def test_command_writes_the_loads_along_a_motion(tiny_run, cycle, tmp_path, capsys, ending):
    motion, out = tmp_path / "cycle.mot", tmp_path / "deep" / f"loads{ending}"
    assert main(["motion", str(tiny_run), "--out", str(motion), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["rows"] == len(cycle)
    assert main(["loads", str(tiny_run), str(motion), "--out", str(out), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["rows"], answer["flagged"], answer["flags"]) == (len(cycle), 0, [])
    assert answer["largest_axial_force_N"] == pytest.approx(cycle["total_force_y_N"].max(), 1e-6)
    if ending in (".sto", ".mot"):
        table = read_motion_table(out)
        assert table.in_degrees is False
        found = sum(table.column(f"{part}_femur_force_vy") for part in COMPARTMENTS)
    else:
        table = pd.read_csv(out) if ending == ".csv" else pd.read_parquet(out)
        assert_allclose(poses_of(table), poses_of(cycle), rtol=0, atol=1e-14)
        found = table["total_force_y_N"].to_numpy()
    # A rounding of the height in the motion is multiplied by the stiffness, some 3e7 N/m.
    assert_allclose(found, cycle["total_force_y_N"], rtol=1e-6, atol=1e-4)
    setup = [out.with_suffix(".xml").name] if ending in (".sto", ".mot") else []
    assert sorted(path.name for path in out.parent.iterdir()) == sorted([out.name, *setup])


def test_loads_that_are_written_are_a_motion_again(knee, tiny_run, cycle, tmp_path):
    table, _ = loads_along(knee, cycle["time_s"].to_numpy(), poses_of(cycle))
    write_loads(table, tmp_path / "a.csv")
    assert_array_equal(read_knee_poses(tmp_path / "a.csv")[1], poses_of(cycle))
    assert main(["loads", str(tiny_run / "knee.npz"), str(tmp_path / "a.csv"), "--out",
                 str(tmp_path / "b.csv")]) == 0  # fmt: skip
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()


def test_motion_outside_at_every_instant_is_an_error(tiny_run, cycle, tmp_path, capsys):
    table = cycle[["time_s", *POSE_COLUMNS]].assign(anterior_m=cycle["anterior_m"] + 0.3)
    table.to_csv(tmp_path / "a.csv", index=False)
    out = tmp_path / "b.csv"
    assert main(["loads", str(tiny_run), str(tmp_path / "a.csv"), "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert f"found all {len(cycle)} instants outside" in error
    assert f"anterior {1e3 * table['anterior_m'].min():.4g} to " in error
    assert not out.exists()


def test_original_model_answers_as_in_its_simulation(tiny_run, tmp_path):
    table = read_table(tiny_run / "simulation.parquet")
    original = table[table["model"] == "original"].iloc[::5]
    original[["time_s", *POSE_COLUMNS]].to_csv(tmp_path / "a.csv", index=False)
    out = tmp_path / "b.csv"
    assert main(["loads", str(tiny_run), str(tmp_path / "a.csv"), "--out", str(out),
                 "--original"]) == 0  # fmt: skip
    found = pd.read_csv(out)
    for part in COMPARTMENTS:
        assert_allclose(loads_in(found, part), loads_in(original, part), rtol=1e-6, atol=1e-4)


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
