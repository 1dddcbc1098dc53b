"""A walking cycle from the poses of a solution, without its data."""

import numpy as np
import pytest
from studies import SMOKE, TINY

from dynamics.equilibrium import height_at_load
from dynamics.simulator import AppliedLoads, KneeSimulator
from foundation.pose import Pose
from pipeline.config import load_config
from pipeline.originals.original import build_knee
from pipeline.walking import (
    KNEE_COORDINATES,
    balancing_loads,
    cut_stride,
    read_knee_motion,
    walking_cycle,
)

HEAD = "some motion\ninDegrees={answer}\nendheader\n"


def write(path, *, answer="yes", columns=("time", "pelvis", *KNEE_COORDINATES), rows=None):
    rows = rows or ["0.1 7 30 2 -4 0.001 0.002 0.003", "0.2 7 31 2 -4 0.001 0.002 0.003"]
    text = HEAD.format(answer=answer) + "\t".join(columns) + "\n" + "\n".join(rows) + "\n"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def knee():
    return build_knee(load_config(SMOKE, TINY))


@pytest.fixture(scope="module")
def stride(knee):
    """21 instants of a swing about a pressed pose, which end a little beside their beginning."""
    time = np.linspace(0.4, 1.2, 21)
    part = (time - time[0]) / 0.8
    poses = np.tile(knee.start.array, (21, 1))
    poses[:, 0] += 0.2 * (1.0 - np.cos(2.0 * np.pi * part)) + 0.003 * part
    poses[:, 2] += 0.02 * np.sin(2.0 * np.pi * part)
    for row, load in zip(poses, 800.0 + 300.0 * np.sin(2.0 * np.pi * part), strict=True):
        row[4] = height_at_load(knee.model, Pose.from_array(row), load)
    return time, poses


def test_reads_degrees_and_metres(tmp_path):
    time, poses = read_knee_motion(write(tmp_path / "a.sto"))
    np.testing.assert_allclose(time, [0.1, 0.2], rtol=1e-15, atol=0)
    expected = Pose.from_opensim(*np.radians([30.0, 2.0, -4.0]), 0.001, 0.002, 0.003)
    np.testing.assert_allclose(poses[0], expected.array, rtol=1e-13, atol=1e-16)


def test_reads_radians(tmp_path):
    path = write(tmp_path / "a.sto", answer="no", rows=["0 7 0.5 0.1 0.2 0 0 0"])
    np.testing.assert_allclose(read_knee_motion(path)[1][0, :3], [0.5, 0.1, 0.2], rtol=1e-13)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"columns": ("time", "a", "b", *KNEE_COORDINATES[1:])},
            r"a\.sto: expected a column 'knee_flex_r', found a, b, knee_add_r",
        ),
        (
            {"rows": ["0.1 7 nan 2 -4 0 0 0"]},
            r"a\.sto, line \d+, column knee_flex_r: expected a finite number, found nan",
        ),
        (
            {"rows": ["0.1 7 x 2 -4 0 0 0"]},
            r"a\.sto, line \d+, column knee_flex_r: expected a finite number, found x",
        ),
        ({"rows": ["0.1 7 1 2 -4 0 0"]}, r"a\.sto, line \d+: expected 8 cells"),
    ],
)
def test_tables_that_cannot_be_read_are_named(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        read_knee_motion(write(tmp_path / "a.sto", **change))


def test_a_table_without_end_of_its_header(tmp_path):
    (tmp_path / "a.sto").write_text("time\n0.1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="expected a header that ends with endheader, found none"):
        read_knee_motion(tmp_path / "a.sto")


def test_cut_stride(stride):
    time, poses = stride
    instants, rows = cut_stride(time, poses, (0.44, 1.0))
    np.testing.assert_allclose(instants[[0, -1]], [0.44, 1.0], rtol=1e-12, atol=0)
    np.testing.assert_array_equal(rows, poses[1:16])
    for wrong in ((0.3, 1.0), (0.44, 1.3), (0.44, 0.52)):
        with pytest.raises(ValueError, match=r"stride: expected rows at"):
            cut_stride(time, poses, wrong)


def test_balancing_loads_leave_nothing_on_what_they_drive(knee, stride):
    poses = stride[1][::5]
    simulator = KneeSimulator(neutral=Pose(anterior=1e-3, rotation=0.01), anterior_offset=2e-3)
    loads = balancing_loads(knee.model, simulator, poses)
    assert (loads[:, 0] > 100.0).all()
    for row, applied in zip(poses, loads, strict=True):
        pose = Pose.from_array(row)
        force = simulator.force(pose, knee.model.loads(pose).wrench, AppliedLoads(*applied))
        np.testing.assert_allclose(force[[2, 3, 4]], 0.0, rtol=0, atol=1e-9)


def test_walking_cycle_is_the_stride_but_for_its_end(knee, stride):
    time, poses = stride
    simulator = KneeSimulator(neutral=knee.start)
    cycle = walking_cycle(knee.model, simulator, time, poses)
    assert cycle.period == pytest.approx(0.8, rel=1e-12)
    kept = slice(0, 18)  # up to 85 %
    loads = balancing_loads(knee.model, simulator, poses)
    np.testing.assert_allclose(cycle.flexion[kept], poses[kept, 0], rtol=1e-13, atol=0)
    found = np.column_stack([cycle.axial_force, cycle.ap_force, cycle.internal_torque])
    np.testing.assert_allclose(found[kept], loads[kept], rtol=1e-12, atol=1e-12)
    assert cycle.flexion[-1] == pytest.approx(cycle.flexion[0], abs=1e-15)
    assert poses[-1, 0] - poses[0, 0] == pytest.approx(0.003, rel=1e-9)


def test_walking_cycle_by_the_axial_force_alone(knee, stride):
    simulator = KneeSimulator(neutral=knee.start)
    cycle = walking_cycle(knee.model, simulator, *stride, axial_only=True)
    whole = walking_cycle(knee.model, simulator, *stride)
    np.testing.assert_array_equal(cycle.axial_force, whole.axial_force)
    assert not np.any(cycle.ap_force)
    assert not np.any(cycle.internal_torque)
    assert np.any(whole.internal_torque)
