"""Kinematics of a joint and contact in the joint."""

import numpy as np
import pytest

from dynamics.musculoskeletal.joint_contact import JointContact, pose_of
from dynamics.musculoskeletal.joint_kinematics import JointKinematics, Placement
from foundation.base.errors import InputError
from foundation.base.loads import ContactLoads
from foundation.base.pose import Pose, generalised_force, generalised_force_jacobian


class Springs:
    """A wrench that is a smooth function of the pose."""

    def __init__(self, rng):
        self.constant, self.slope = rng.normal(size=6), rng.normal(size=(6, 6))

    def loads(self, pose):
        return self.loads_and_jacobian(pose)[0]

    def loads_and_jacobian(self, pose):
        q = pose.array
        loads = np.zeros(12)
        loads[:6] = self.constant + self.slope @ q + 2.0 * np.sin(q)
        wrench_jacobian = self.slope + np.diag(2.0 * np.cos(q))
        return ContactLoads.from_compartments(loads, np.zeros(12)), wrench_jacobian


def placement(rng):
    return Placement.of(0.3 * rng.normal(size=3), 0.2 * rng.normal(size=3))


def knee_joint():
    axes = [[0, 0, 1], [1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    names = ("flex", "add", "rot", "tx", "ty", "tz")
    return JointKinematics(names, axes, np.diag([-1.0, 1, 1, 1, 1, 1]), np.zeros(6))


def any_contact(rng, bed_on_child, coordinates):
    joint = JointKinematics(
        tuple("abcdef"[:coordinates]),
        rng.normal(size=(6, 3)),
        rng.normal(size=(6, coordinates)),
        0.1 * rng.normal(size=6),
    )
    return JointContact("c", Springs(rng), joint, placement(rng), placement(rng), bed_on_child)


def differences(function, values, step=1e-6):
    steps = step * np.eye(len(values))
    return np.array([(function(values + h) - function(values - h)) / (2 * step) for h in steps]).T


@pytest.mark.parametrize("bed_on_child", [True, False])
@pytest.mark.parametrize("coordinates", [1, 4, 6])
def test_forces_are_the_work_of_the_wrench_on_the_target(bed_on_child, coordinates):
    rng = np.random.default_rng(coordinates)
    contact = any_contact(rng, bed_on_child, coordinates)
    values = 0.2 * rng.normal(size=coordinates)
    found = contact.evaluate(values)
    pose = contact.pose(values)
    by_coordinate = differences(lambda q: contact.pose(q).array, values)
    by_work = by_coordinate.T @ generalised_force(pose, found.loads.wrench)
    np.testing.assert_allclose(found.forces, by_work, atol=1e-8)


@pytest.mark.parametrize("bed_on_child", [True, False])
@pytest.mark.parametrize("coordinates", [1, 4, 6])
def test_jacobian_agrees_with_differences(bed_on_child, coordinates):
    rng = np.random.default_rng(10 + coordinates)
    contact = any_contact(rng, bed_on_child, coordinates)
    values = 0.2 * rng.normal(size=coordinates)
    wanted = differences(lambda q: contact.evaluate(q).forces, values)
    np.testing.assert_allclose(contact.evaluate(values).jacobian, wanted, atol=3e-8)


def test_the_joint_of_opensim_jam_has_the_poses_of_its_coordinates():
    rng = np.random.default_rng(3)
    contact = JointContact("knee", Springs(rng), knee_joint())
    for _ in range(10):
        values = np.r_[rng.uniform(-0.2, 1.8), rng.uniform(-0.3, 0.3, 2), 0.05 * rng.normal(size=3)]
        wanted = Pose.from_opensim(*values)
        np.testing.assert_allclose(contact.pose(values).array, wanted.array, atol=1e-12)


def test_a_target_that_moves_by_its_pose_has_the_forces_of_the_pose():
    rng = np.random.default_rng(4)
    # The child is the target: its coordinates in the parent are those of a pose.
    axes = [[0, -1, 0], [-1, 0, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    slopes = np.zeros((6, 6))
    slopes[[0, 1, 2, 3, 4, 5], [2, 1, 0, 3, 4, 5]] = 1.0
    joint = JointKinematics(("f", "a", "r", "x", "y", "z"), axes, slopes, np.zeros(6))
    model = Springs(rng)
    contact = JointContact("pose", model, joint, bed_on_child=False)
    values = np.array([0.7, 0.1, -0.2, 0.01, -0.02, 0.005])
    pose = Pose.from_array(values)
    loads, jacobian = model.loads_and_jacobian(pose)
    found = contact.evaluate(values)
    np.testing.assert_allclose(contact.pose(values).array, values, atol=1e-14)
    np.testing.assert_allclose(found.forces, generalised_force(pose, loads.wrench), atol=1e-12)
    wanted = generalised_force_jacobian(pose, loads.wrench, jacobian)
    np.testing.assert_allclose(found.jacobian, wanted, atol=1e-12)


def test_a_placement_and_its_inverse_cancel():
    rng = np.random.default_rng(5)
    there = placement(rng)
    both = there.after(there.inverse)
    np.testing.assert_allclose(both.rotation, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(both.origin, 0.0, atol=1e-16)
    assert np.abs(pose_of(both).array).max() < 1e-15


def test_wrong_joints_are_refused():
    with pytest.raises(InputError, match=r"slopes: expected shape \(6, 1\)"):
        JointKinematics(("a",), np.eye(6, 3) + 1.0, np.zeros((6, 2)), np.zeros(6))
    with pytest.raises(InputError, match="axes with a length"):
        JointKinematics(("a",), np.zeros((6, 3)), np.zeros((6, 1)), np.zeros(6))
    with pytest.raises(InputError, match=r"coordinates: expected shape \(6\)"):
        knee_joint().motion(np.zeros(5))
