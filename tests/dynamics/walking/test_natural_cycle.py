"""Walking cycle from the poses of a solution, without its data."""

import numpy as np
import pytest
from beds import IMPLANT, implant_meshes, model_of

from dynamics.simulator.equilibrium import height_at_load
from dynamics.simulator.knee_simulator import AppliedLoads, KneeSimulator
from dynamics.walking.natural_cycle import balancing_loads, cut_stride, walking_cycle
from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import LinearLaw

START = IMPLANT.home_pose(0.0)


@pytest.fixture(scope="module")
def model():
    _, tibia, labels = implant_meshes(3e-3)
    return model_of(implant_meshes(2e-3)[0], tibia, LinearLaw(463e6, 0.46, 10e-3), labels=labels)


@pytest.fixture(scope="module")
def stride(model):
    """21 instants of a swing about a compressed pose, not quite closed."""
    time = np.linspace(0.4, 1.2, 21)
    part = (time - time[0]) / 0.8
    poses = np.tile(START.array, (21, 1))
    poses[:, 0] += 0.2 * (1.0 - np.cos(2.0 * np.pi * part)) + 0.003 * part
    poses[:, 2] += 0.02 * np.sin(2.0 * np.pi * part)
    for row, load in zip(poses, 800.0 + 300.0 * np.sin(2.0 * np.pi * part), strict=True):
        row[4] = height_at_load(model, Pose.from_array(row), load)
    return time, poses


def test_cut_stride(stride):
    time, poses = stride
    instants, rows = cut_stride(time, poses, (0.44, 1.0))
    np.testing.assert_allclose(instants[[0, -1]], [0.44, 1.0], rtol=1e-12, atol=0)
    np.testing.assert_array_equal(rows, poses[1:16])
    for wrong in ((0.3, 1.0), (0.44, 1.3), (0.44, 0.52)):
        with pytest.raises(ValueError, match=r"stride: expected rows at"):
            cut_stride(time, poses, wrong)


def test_balancing_loads_leave_no_force_on_driven_coordinates(model, stride):
    poses = stride[1][::5]
    simulator = KneeSimulator(neutral=Pose(anterior=1e-3, rotation=0.01), anterior_offset=2e-3)
    loads = balancing_loads(model, simulator, poses)
    assert (loads[:, 0] > 100.0).all()
    for row, applied in zip(poses, loads, strict=True):
        pose = Pose.from_array(row)
        force = simulator.force(pose, model.loads(pose).wrench, AppliedLoads(*applied))
        np.testing.assert_allclose(force[[2, 3, 4]], 0.0, rtol=0, atol=1e-9)


def test_walking_cycle_is_the_stride_except_its_end(model, stride):
    time, poses = stride
    simulator = KneeSimulator(neutral=START)
    cycle = walking_cycle(model, simulator, time, poses)
    assert cycle.period == pytest.approx(0.8, rel=1e-12)
    kept = slice(0, 18)  # up to 85 %
    loads = balancing_loads(model, simulator, poses)
    np.testing.assert_allclose(cycle.flexion[kept], poses[kept, 0], rtol=1e-13, atol=0)
    found = np.column_stack([cycle.axial_force, cycle.ap_force, cycle.internal_torque])
    np.testing.assert_allclose(found[kept], loads[kept], rtol=1e-12, atol=1e-12)
    assert cycle.flexion[-1] == pytest.approx(cycle.flexion[0], abs=1e-15)
    assert poses[-1, 0] - poses[0, 0] == pytest.approx(0.003, rel=1e-9)


def test_walking_cycle_by_the_axial_force_alone(model, stride):
    simulator = KneeSimulator(neutral=START)
    cycle = walking_cycle(model, simulator, *stride, axial_only=True)
    whole = walking_cycle(model, simulator, *stride)
    np.testing.assert_array_equal(cycle.axial_force, whole.axial_force)
    assert not np.any(cycle.ap_force)
    assert not np.any(cycle.internal_torque)
    assert np.any(whole.internal_torque)
