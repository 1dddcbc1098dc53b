"""Contact of joints, and ligaments, with exact derivatives."""

import numpy as np
import pytest
from differences import differences
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from dynamics.ligaments.bundles import Ligament, ligament_forces
from dynamics.musculoskeletal.joint_contact import JointContact, MirroredContact
from dynamics.musculoskeletal.osim_joints import KinematicChain, Placement
from dynamics.musculoskeletal.plant import LigamentSet
from foundation.base.errors import InputError
from foundation.base.loads import ContactLoads
from foundation.base.pose import Pose, generalised_force
from foundation.elastic_foundation.laws import LinearLaw
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.surfaces.triangle_mesh import TriangleMesh

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

    def loads(self, pose, order=0):
        q = pose.array
        wrench = self.constant + self.slope @ q + 2.0 * np.sin(q)
        wrench_jacobian = self.slope + np.diag(2.0 * np.cos(q))
        return ContactLoads.from_wrench(wrench, wrench_jacobian)


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


def free_joint(rng, names="abcdef"):
    axes = rng.normal(size=(6, 3))
    slopes, offsets = rng.normal(size=(6, len(names))), rng.normal(size=6)
    return (axes, slopes, offsets), KinematicChain.of_joint(tuple(names), axes, slopes, offsets)


def assert_same(found, wanted):
    np.testing.assert_allclose(found.rotation, wanted.rotation, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(found.origin, wanted.origin, rtol=0.0, atol=2e-14)


@pytest.mark.parametrize("seed", range(4))
def test_the_child_turns_about_three_axes_in_sequence(seed):
    """SciPy's rotation vectors, one after the other, to rounding."""
    rng = np.random.default_rng(seed)
    (axes, slopes, offsets), joint = free_joint(rng)
    values = 2.0 * rng.normal(size=6)
    found, axes = slopes @ values + offsets, axes / np.linalg.norm(axes, axis=1)[:, None]
    first, second, third = (Rotation.from_rotvec(found[k] * axes[k]) for k in range(3))
    wanted = Placement((first * second * third).as_matrix(), found[3:] @ axes[3:])
    assert_same(joint.motion(values).placement, wanted)


def test_a_chain_places_its_frames_one_after_the_other():
    rng = np.random.default_rng(5)
    first, second = free_joint(rng, "abc")[1], free_joint(rng, "de")[1]
    before, between, after = (placement(rng) for _ in range(3))
    chain = first.inverse.then(second.between(between, Placement.of(np.zeros(3), np.zeros(3))))
    chain = chain.between(before, after)
    assert chain.coordinates == ("a", "b", "c", "d", "e")
    a, b = rng.normal(size=3), rng.normal(size=2)
    wanted = before.inverse.after(first.motion(a).placement.inverse)
    wanted = wanted.after(between.inverse).after(second.motion(b).placement).after(after)
    assert_same(chain.motion(np.r_[a, b]).placement, wanted)


@pytest.mark.parametrize("names", [("a",), ("abc",), ("abcdef", "gh"), ("abcdef", "", "ghijkl")])
def test_twists_and_their_derivatives_agree_with_differences(names):
    rng = np.random.default_rng(len(names))
    chain = KinematicChain()
    for each in names:
        chain = chain.then(free_joint(rng, each)[1].between(placement(rng), placement(rng)))
    count = len(chain.coordinates)
    values, wrench = rng.normal(size=count), rng.normal(size=6)
    at, step = chain.motion(values), 1e-6
    for k, h in enumerate(step * np.eye(count)):
        after, before = chain.motion(values + h), chain.motion(values - h)
        turn = Rotation.from_matrix(after.placement.rotation @ before.placement.rotation.T)
        np.testing.assert_allclose(turn.as_rotvec() / (2 * step), at.twists[3:, k], atol=2e-8)
        moved = (after.placement.origin - before.placement.origin) / (2 * step)
        # The point of the last frame at the origin of the first one.
        there = moved - np.cross(at.twists[3:, k], at.placement.origin)
        np.testing.assert_allclose(there, at.twists[:3, k], atol=1e-7)
        bent = (after.twists - before.twists).T @ wrench / (2 * step)
        np.testing.assert_allclose(at.turning_forces(wrench)[:, k], bent, atol=1e-7)


FACES = np.array([[0, 1, 2], [0, 2, 3]])
CORNERS = np.array([[-1.0, 0.0, -1.0], [-1.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 0.0, -1.0]])
POSE = Pose(0.02, 0.01, -0.03, 0.001, -0.0004, 0.002)
MIRRORED = Pose(0.02, -0.01, 0.03, 0.001, -0.0004, -0.002)


def springs(mirrored):
    """Return a bed of a narrow left and a wide right plateau, and its target; or their images."""
    left = CORNERS * (0.018, 0.0, 0.01) - (0.0, 0.0, 0.02)
    right = CORNERS * (0.02, 0.0, 0.014) + (0.002, 0.0, 0.02)
    bed = TriangleMesh(np.vstack([left, right]), np.vstack([FACES, FACES + 4]))
    target = TriangleMesh(CORNERS * (0.03, 0.0, 0.04), FACES[:, ::-1])
    if mirrored:
        bed, target = bed.mirrored(), target.mirrored()
    labels = np.array([0, 0, 1, 1], dtype=np.int8)
    law = LinearLaw(1e7, 0.45, thickness=0.006)
    return ElasticFoundation(target, bed, law, surface="flat", compartments=labels)


def test_loads_and_derivative_are_those_of_mirrored_surfaces():
    found = MirroredContact(springs(False)).loads(MIRRORED, 1)
    wanted = springs(True).loads(MIRRORED, 1)
    assert wanted.medial.force[1] > 10.0
    assert wanted.lateral.force[1] > 10.0
    for name in ("medial", "lateral", "total"):
        assert_allclose(found[name].array, wanted[name].array, rtol=1e-12, atol=1e-12)
    assert_allclose(found.jacobian, wanted.jacobian, rtol=1e-9, atol=1e-6)
    alone = MirroredContact(springs(False)).loads(MIRRORED)
    assert_allclose(alone.wrench, found.wrench, rtol=1e-14)


def ligaments(damping=0.003):
    return LigamentSet(("a", "b"), [2000.0, 500.0], [0.03, 0.05], [0.06, 0.06], [damping, damping])


def test_the_law_is_that_of_bundles_on_straight_lines():
    for length in (0.029, 0.0304, 0.0312, 0.0318, 0.034):
        bundle = Ligament("a", [0, length, 0], [0, 0, 0], 0.03, 2000.0, "toe")
        force = ligament_forces([bundle], Pose())[0]
        found = ligaments().tensions(np.array([length, 0.05]), np.zeros(2))
        assert found.tension[0] == pytest.approx(force, rel=1e-12, abs=1e-12)


def test_derivatives_agree_with_differences():
    step = 1e-7
    for strain in (0.004, 0.02, 0.055, 0.08, -0.01):
        length, rate = np.array([0.03, 0.05]) * (1 + strain), np.array([0.2, -0.1])
        found = ligaments(damping=3.0).tensions(length, rate)
        ahead = ligaments(damping=3.0).tensions(length + step, rate).tension
        behind = ligaments(damping=3.0).tensions(length - step, rate).tension
        np.testing.assert_allclose(
            found.by_length, (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-4
        )
        faster = ligaments(damping=3.0).tensions(length, rate + 1e-4).tension
        np.testing.assert_allclose(
            found.by_rate, (faster - found.tension) / 1e-4, rtol=1e-6, atol=1e-9
        )


def test_damping_acts_in_stretching_alone():
    taut = np.array([0.03, 0.05]) * 1.03
    rest = ligaments().tensions(taut, np.zeros(2)).tension
    np.testing.assert_array_equal(ligaments().tensions(taut, np.full(2, -0.5)).tension, rest)
    stretching = ligaments().tensions(taut, np.full(2, 0.5)).tension
    np.testing.assert_allclose(stretching - rest, 0.003 * 0.5 / np.array([0.03, 0.05]), rtol=1e-9)


def test_a_ligament_without_slack_length_is_refused():
    with pytest.raises(InputError, match="slack_length: expected > 0"):
        LigamentSet(("a",), [1.0], [0.0], [0.06], [0.0])
