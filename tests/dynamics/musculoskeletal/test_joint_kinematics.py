"""Kinematics of joints and chains against rotations and differences of another making."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dynamics.musculoskeletal.joint_kinematics import KinematicChain, Placement


def any_joint(rng, names="abcdef"):
    axes = rng.normal(size=(6, 3))
    slopes, offsets = rng.normal(size=(6, len(names))), rng.normal(size=6)
    return (axes, slopes, offsets), KinematicChain.of_joint(tuple(names), axes, slopes, offsets)


def placement(rng):
    return Placement.of(rng.normal(size=3), rng.normal(size=3))


def assert_same(found, wanted):
    np.testing.assert_allclose(found.rotation, wanted.rotation, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(found.origin, wanted.origin, rtol=0.0, atol=2e-14)


@pytest.mark.parametrize("seed", range(4))
def test_the_child_turns_about_three_axes_in_sequence(seed):
    """SciPy's rotation vectors, one after the other, to rounding."""
    rng = np.random.default_rng(seed)
    (axes, slopes, offsets), joint = any_joint(rng)
    values = 2.0 * rng.normal(size=6)
    found, axes = slopes @ values + offsets, axes / np.linalg.norm(axes, axis=1)[:, None]
    first, second, third = (Rotation.from_rotvec(found[k] * axes[k]) for k in range(3))
    wanted = Placement((first * second * third).as_matrix(), found[3:] @ axes[3:])
    assert_same(joint.motion(values).placement, wanted)


def test_a_chain_places_its_frames_one_after_the_other():
    rng = np.random.default_rng(5)
    first, second = any_joint(rng, "abc")[1], any_joint(rng, "de")[1]
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
        chain = chain.then(any_joint(rng, each)[1].between(placement(rng), placement(rng)))
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
