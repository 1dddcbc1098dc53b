"""Motions of a knee in tables of other programs."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dynamics.motion.knee_motion import (
    KNEE_COORDINATES,
    KNOWN_COLUMNS,
    OPENSIM_COORDINATES,
    KneeColumns,
    knee_motion_table,
    parse_columns,
    read_knee_poses,
)
from dynamics.motion.motion_tables import write_motion_table
from foundation.base.pose import COORDINATES, Pose

POSE_COLUMNS = tuple(KNOWN_COLUMNS[1].values())
TIME = np.array([0.0, 0.1, 0.25])
POSES = np.array(
    [
        [0.1, 0.01, -0.05, -0.004, 0.030, 0.001],
        [0.5, 0.02, 0.08, -0.002, 0.031, -0.002],
        [1.0, -0.03, 0.02, 0.003, 0.029, 0.000],
    ]
)
OWN = dict(zip(COORDINATES, "abcdef", strict=True))
TURNED = {name: f"-{column}" for name, column in OWN.items()}
TRANSLATED = dict(zip(OPENSIM_COORDINATES, ("k f", "-k a", "k_r", "x", "-y", "z"), strict=True))


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("names", [{}, OWN, TURNED, TRANSLATED])
@pytest.mark.parametrize(("angle", "length"), [(None, "m"), ("deg", "mm"), ("rad", "m")])
def test_motion_that_is_written_is_read_back(tmp_path, names, angle, length):
    columns = KneeColumns(names, angle, length)
    table = knee_motion_table(TIME, POSES, columns)
    assert table.in_degrees is (angle != "rad")
    write_motion_table(tmp_path / "a.mot", table)
    time, poses = read_knee_poses(tmp_path / "a.mot", columns)
    assert_array_equal(time, TIME)
    assert_allclose(poses, POSES, rtol=1e-13, atol=1e-16)


def test_written_motion_is_that_of_opensim():
    table = knee_motion_table(TIME, POSES)
    assert table.names == KNEE_COORDINATES
    for row, pose in zip(table.values, POSES, strict=True):
        expected = Pose.from_array(pose).to_opensim() * ([180.0 / np.pi] * 3 + [1.0] * 3)
        assert_allclose(row, expected, rtol=1e-14, atol=1e-17)


def test_units_in_names_come_before_what_is_said(tmp_path):
    names = dict(zip(COORDINATES, ("f_deg", "a_rad", "r", "x_mm", "y_inch", "z"), strict=True))
    path = write(
        tmp_path / "a.csv",
        "time,other,f_deg,a_rad,r,x_mm,y_inch,z\n0,text,90,0.1,-30,3,2,-1\n",
    )
    _, poses = read_knee_poses(path, KneeColumns(names, "deg", "mm"))
    expected = [np.pi / 2, 0.1, -np.pi / 6, 0.003, 0.0508, -0.001]
    assert_allclose(poses[0], expected, rtol=1e-14, atol=0)


def test_table_of_a_run_is_read_and_of_a_simulation_the_surrogate(tmp_path):
    table = pd.DataFrame(POSES, columns=list(POSE_COLUMNS)).assign(time_s=TIME, cop_x_m=np.nan)
    table.to_csv(tmp_path / "a.csv", index=False)
    other = table.assign(flexion_rad=9.0, model="original")
    both = pd.concat([other, table.assign(model="surrogate")])
    both.to_parquet(tmp_path / "a.parquet")
    for name in ("a.csv", "a.parquet"):
        time, poses = read_knee_poses(tmp_path / name)
        assert_array_equal(time, TIME)
        assert_allclose(poses, POSES, rtol=1e-15)


@pytest.mark.parametrize(("said", "angles"), [("yes", "30\t2\t-4"), ("no", "0.5\t0.1\t0.2")])
def test_header_states_the_unit_of_the_angles(tmp_path, said, angles):
    names = "\t".join(KNEE_COORDINATES)
    path = write(
        tmp_path / "a.sto",
        f"motion\ninDegrees={said}\nendheader\ntime\tpelvis\t{names}\n"
        f"0.1\t7\t{angles}\t0.001\t0.002\t0.003\n",
    )
    time, poses = read_knee_poses(path)
    scale = np.pi / 180.0 if said == "yes" else 1.0
    expected = Pose.from_opensim(
        *(scale * float(angle) for angle in angles.split()), 0.001, 0.002, 0.003
    )
    assert_array_equal(time, [0.1])
    assert_allclose(poses, [expected.array], rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize("header", ["inDegrees=no\n", ""])
def test_states_of_opensim_are_read(tmp_path, header):
    """OpenSim-JAM's states name each value by its path, and often state no unit."""
    names = [
        f"/jointset/knee_r/{name}/{kind}"
        for name in KNEE_COORDINATES
        for kind in ("value", "speed")
    ]
    values = np.array([0.5, 9.0, 0.1, 9.0, -0.1, 9.0, 0.01, 9.0, 0.02, 9.0, 0.03, 9.0])
    rows = "\t".join(["0.1", *map(str, values)])
    path = tmp_path / "walk_states.sto"
    path.write_text(f"States\n{header}endheader\n" + "\t".join(["time", *names]) + f"\n{rows}\n")
    _, poses = read_knee_poses(path)
    assert_allclose(poses, Pose.from_opensim(*values[::2]).array[None])


def test_columns_of_the_command_line():
    text = "flexion = -knee angle, adduction=a=b ,rotation=r"
    assert parse_columns(text) == {"flexion": "-knee angle", "adduction": "a=b", "rotation": "r"}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            KneeColumns(),
            r"a\.csv: expected the columns knee_flex_r, .* found a, b, c, d, e, f; name",
        ),
        (KneeColumns({**OWN, "flexion": "-g"}), r"a\.csv: expected a column 'g', found a, b, c"),
        (KneeColumns(OWN), r"a\.csv, column a: expected the unit of the angle"),
        (KneeColumns(OWN, "rad"), r"column a: expected radians, found 30; .* \(--angle-unit deg\)"),
        (KneeColumns(OWN, "deg"), r"column e: expected metres, found 41; .* \(--length-unit mm\)"),
    ],
)
def test_missing_columns_and_other_units_are_named(tmp_path, columns, message):
    path = write(tmp_path / "a.csv", "time,a,b,c,d,e,f\n0,30,0,0,0,41,0\n")
    with pytest.raises(ValueError, match=message) as caught:
        read_knee_poses(path, columns)
    assert "\n" not in str(caught.value)
