"""Loads along a motion, and the commands `loads` and `motion`."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from studies import ROOT

import surrogates
from dynamics.motion import read_motion_table
from dynamics.motion.knee_motion import read_knee_poses
from foundation.base.flags import FlagKind
from foundation.base.loads import COMPARTMENTS, LOAD_COLUMNS, WRENCH_COLUMNS
from foundation.base.pose import Pose
from pipeline.cli.main import main
from pipeline.config.reading import load_config
from pipeline.exchange.loads_along import contact_of, external_loads, loads_along, write_loads
from pipeline.originals.contact_original import build_knee
from pipeline.store.samples import POSE_COLUMNS, poses_of, read_table, usable

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


@pytest.mark.parametrize("ending", [".sto", ".mot", ".csv", ".parquet"])
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


def test_command_names_and_counts_what_is_flagged(tiny_run, cycle, tmp_path, capsys):
    poses = cycle[["time_s", *POSE_COLUMNS]].copy()
    poses.loc[[2, 5], "anterior_m"] += 0.02
    poses.to_csv(tmp_path / "a.csv", index=False)
    out = tmp_path / "b.sto"
    assert main(["loads", str(tiny_run), str(tmp_path / "a.csv"), "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert f"flagged instants: 2 of {len(cycle)}\n" in text
    assert "medial: outside the trained domain, anterior by " in text
    assert f"from {poses['time_s'][2]:g} s" in text
    told = f"2 of {len(cycle)} instants are outside the trained domain: do not trust"
    assert text.splitlines()[-1].startswith(told)
    assert "space.anterior_mm" in text
    assert np.flatnonzero(read_motion_table(out).column("flagged")).tolist() == [2, 5]


def letters(table, path):
    """Return the motion with columns of one letter."""
    return table.rename(columns=dict(zip(POSE_COLUMNS, "farxyz", strict=True)))


def few_degrees(table, path):
    """Return a motion in degrees, few enough to be radians."""
    table["flexion_rad"] = np.radians(np.linspace(3.0, 6.0, len(table)))
    table[list(POSE_COLUMNS[1:])] = path.poses(table["flexion_rad"].to_numpy())[:, 1:]
    table[list(POSE_COLUMNS[:3])] = np.degrees(table[list(POSE_COLUMNS[:3])])
    return letters(table, path)


def wrong_names(table, path):
    """Return a motion in metres with mm in the names of the columns."""
    return table.rename(columns={name: name.replace("_m", "_mm") for name in POSE_COLUMNS})


def far_away(table, path):
    """Return the motion of another knee."""
    return table.assign(anterior_m=table["anterior_m"] + 0.3)


LETTERS = ["--columns", "flexion=f,adduction=a,rotation=r,anterior=x,superior=y,lateral=z"]
NAMES = [name.replace("_m", "_mm") for name in POSE_COLUMNS]
IN_MM = ["--columns", ",".join(f"{name.rpartition('_')[0]}={name}" for name in NAMES)]
RADIANS = [*LETTERS, "--angle-unit", "rad"]


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (letters, [*RADIANS, "--length-unit", "mm"], "unit of x, y, z: try `--length-unit m`"),
        (letters, [*RADIANS, "--length-unit", "mm", "--original"], "try `--length-unit m`"),
        (few_degrees, RADIANS, "check the unit of f, a, r: try `--angle-unit deg`"),
        (wrong_names, IN_MM, "anterior_mm, superior_mm, lateral_mm seem to be in m, read as mm"),
        (far_away, [], "check units, signs and frames"),
        (far_away, [], "anterior 29"),
    ],
)
def test_motion_outside_at_every_instant_is_an_error_with_a_hint(
    tiny_run, knee, cycle, tmp_path, capsys, change, options, message
):
    table = change(cycle[["time_s", *POSE_COLUMNS]].copy(), knee.spaces[0].path)
    table.to_csv(tmp_path / "a.csv", index=False)
    out = tmp_path / "b.csv"
    assert main(["loads", str(tiny_run), str(tmp_path / "a.csv"), "--out", str(out), *options]) == 2
    error = capsys.readouterr().err
    assert f"found all {len(cycle)} instants outside" in error
    assert message in error
    assert not out.exists()


def test_motion_in_the_right_unit_has_loads(tiny_run, cycle, tmp_path):
    letters(cycle[["time_s", *POSE_COLUMNS]], None).to_csv(tmp_path / "a.csv", index=False)
    command = ["loads", str(tiny_run), str(tmp_path / "a.csv"), "--out", str(tmp_path / "b.csv")]
    assert main([*command, *RADIANS, "--length-unit", "m"]) == 0


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


def test_motion_of_the_original_model_in_names_of_ones_own(tiny_run, tmp_path):
    columns = "flexion=-f,adduction=a,rotation=r,anterior=x,superior=y,lateral=z"
    out = tmp_path / "a.mot"
    assert main(["motion", str(tiny_run), "--out", str(out), "--model", "original", "--columns",
                 columns, "--length-unit", "mm"]) == 0  # fmt: skip
    table = read_table(tiny_run / "simulation.parquet")
    original = table[table["model"] == "original"]
    found = read_motion_table(out)
    assert found.in_degrees is True
    assert_allclose(found.column("f"), -np.degrees(original["flexion_rad"]), rtol=1e-14)
    assert_allclose(found.column("y"), 1e3 * original["superior_m"], rtol=1e-14)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["loads", "{npz}", "{motion}", "--original", "--out", "{out}"],
            "knee.npz: expected a run",
        ),
        (["loads", "{run}", "{motion}", "--out", "{motion}"], "another file than the motion"),
        (["loads", "{run}", "{motion}", "--out", "{out}.txt"], "loads.csv.txt: ending: expected"),
        (["loads", "{run}", "{run}/none.mot", "--out", "{out}"], "none.mot: No such file"),
        (["loads", "{here}", "{motion}", "--out", "{out}"], "is not a finished run"),
        (["motion", "{here}", "--out", "{here}/b.mot"], "simulation.parquet is missing; simulate"),
        (["motion", "{run}", "--out", "{out}"], "loads.csv: ending: expected one of ['.mot'"),
        (["loads", "{run}", "{motion}", "--out", "{out}", "--columns", "f"], "coordinate=column"),
    ],
)
def test_unusable_arguments_are_named_in_one_sentence(
    tiny_run, tmp_path, capsys, arguments, message
):
    motion = tmp_path / "a.mot"
    assert main(["motion", str(tiny_run), "--out", str(motion)]) == 0
    capsys.readouterr()
    places = {
        **{"run": tiny_run, "npz": tiny_run / "knee.npz", "motion": motion, "here": tmp_path},
        "out": tmp_path / "loads.csv",
    }
    assert main([each.format(**places) for each in arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert message in error
    assert not (tmp_path / "loads.csv").exists()


def test_contact_of_a_run_is_its_surrogate_or_its_original(tiny_run):
    rows = read_table(tiny_run / "samples" / "heldout.parquet")
    poses = [Pose.from_array(row) for row in poses_of(usable(rows, "medial"))]
    original = contact_of(tiny_run, original=True)
    wanted = np.array([original.loads(pose).medial.force[1] for pose in poses])
    for source in (tiny_run, tiny_run / "knee.npz"):
        surrogate = contact_of(source)
        forces = np.array([surrogate.loads(pose).medial.force[1] for pose in poses])
        assert np.median(np.abs(forces / wanted - 1.0)) < 0.4
        assert (forces != wanted).all()


@pytest.mark.slow
def test_published_walk_gives_the_published_forces(knee_data):
    """1929 N at 1.29 s and 3100 N at 1.79 s: the README of the data."""
    # Those figures are of the triangles as they are.
    config = load_config(ROOT / "configs" / "lenhart.toml", ['contact.surface="flat"'])
    model = build_knee(config).model
    time, poses = read_knee_poses(knee_data / "jam_lenhart2015_knee" / "walking_values.sto")
    rows = [int(np.abs(time - t).argmin()) for t in (1.29, 1.79)]
    table, _ = loads_along(model, time[rows], poses[rows])
    force = np.linalg.norm(table[[f"total_force_{axis}_N" for axis in AXES]], axis=1)
    assert_allclose(force, [1929.0, 3100.0], rtol=1e-3)
