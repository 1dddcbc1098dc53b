"""A walking cycle from the poses of a solution, without its data."""

import numpy as np
import pytest
from studies import SMOKE, TINY

from dynamics.simulator.equilibrium import height_at_load
from dynamics.simulator.knee_simulator import AppliedLoads, KneeSimulator
from foundation.pose import Pose
from pipeline.config.reading import load_config
from pipeline.originals.contact_original import build_knee
from pipeline.studies.walks.walking import balancing_loads, cut_stride, walking_cycle


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
