"""Contact of bodies that one joint or several joints connect."""

import numpy as np
import pytest
from differences import differences

from dynamics.musculoskeletal.joint_contact import JointContact
from dynamics.musculoskeletal.joint_kinematics import KinematicChain, Placement
from foundation.base.errors import InputError
from foundation.base.loads import ContactLoads
from foundation.base.pose import Pose, generalised_force

#: Joints from bed to target with their numbers of coordinates: bed on the child (<) or parent (>).
JOINTS = [
    ("<1",),
    (">1",),
    ("<4",),
    ("<6",),
    (">6",),
    ("<6", "<6"),
    ("<6", ">6"),
    ("<6", ">0", "<3"),
]


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
    return KinematicChain.of_joint(names, axes, np.diag([-1.0, 1, 1, 1, 1, 1]), np.zeros(6))


def any_joint(rng, names):
    return KinematicChain.of_joint(
        tuple(names),
        rng.normal(size=(6, 3)),
        rng.normal(size=(6, len(names))),
        0.1 * rng.normal(size=6),
    ).between(placement(rng), placement(rng))


def any_chain(rng, joints):
    """Return a chain of joints from the bed to the target, "<" with the bed on the child."""
    chain, names = KinematicChain(), iter("abcdefghijklmnopqr")
    for kind in joints:
        count = int(kind[1:])
        joint = any_joint(rng, [next(names) for _ in range(count)])
        chain = chain.then(joint.inverse if kind[0] == "<" else joint)
    return chain


def any_contact(rng, joints):
    return JointContact("c", Springs(rng), any_chain(rng, joints), placement(rng), placement(rng))


@pytest.mark.parametrize("joints", JOINTS)
def test_forces_are_the_work_of_the_wrench_on_the_target(joints):
    rng = np.random.default_rng(len(joints))
    contact = any_contact(rng, joints)
    values = 0.2 * rng.normal(size=len(contact.coordinates))
    found = contact.evaluate(values)
    pose = contact.pose(values)
    by_coordinate = differences(lambda q: contact.pose(q).array, values)
    by_work = by_coordinate.T @ generalised_force(pose, found.loads.wrench)
    np.testing.assert_allclose(found.forces, by_work, atol=1e-8)


@pytest.mark.parametrize("joints", JOINTS)
def test_jacobian_agrees_with_differences(joints):
    rng = np.random.default_rng(10 + len(joints))
    contact = any_contact(rng, joints)
    values = 0.2 * rng.normal(size=len(contact.coordinates))
    wanted = differences(lambda q: contact.evaluate(q).forces, values)
    np.testing.assert_allclose(contact.evaluate(values).jacobian, wanted, atol=3e-8)


def test_the_joint_of_opensim_jam_has_the_poses_of_its_coordinates():
    rng = np.random.default_rng(3)
    contact = JointContact("knee", Springs(rng), knee_joint().inverse)
    for _ in range(10):
        values = np.r_[rng.uniform(-0.2, 1.8), rng.uniform(-0.3, 0.3, 2), 0.05 * rng.normal(size=3)]
        wanted = Pose.from_opensim(*values)
        np.testing.assert_allclose(contact.pose(values).array, wanted.array, atol=1e-12)


def test_wrong_joints_are_refused():
    with pytest.raises(InputError, match=r"slopes: expected shape \(6, 1\)"):
        KinematicChain.of_joint(("a",), np.eye(6, 3) + 1.0, np.zeros((6, 2)), np.zeros(6))
    with pytest.raises(InputError, match="axes with a length"):
        KinematicChain.of_joint(("a",), np.zeros((6, 3)), np.zeros((6, 1)), np.zeros(6))
    with pytest.raises(InputError, match=r"coordinates: expected shape \(6\)"):
        knee_joint().motion(np.zeros(5))
    with pytest.raises(
        InputError, match="other names in each joint of a chain, found tx, ty twice"
    ):
        any_joint(np.random.default_rng(0), ("tx", "ty")).then(knee_joint())
