"""Kinematics of a joint against rotations and differences of another making."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dynamics.musculoskeletal.joint_kinematics import JointKinematics


def any_joint(rng, coordinates=6):
    return JointKinematics(
        tuple("abcdef"[:coordinates]),
        rng.normal(size=(6, 3)),
        rng.normal(size=(6, coordinates)),
        rng.normal(size=6),
    )


@pytest.mark.parametrize("seed", range(4))
def test_the_child_turns_about_three_axes_in_sequence(seed):
    """SciPy's rotation vectors, one after the other, to rounding."""
    rng = np.random.default_rng(seed)
    joint, values = any_joint(rng), 2.0 * rng.normal(size=6)
    found = joint.slopes @ values + joint.offsets
    first, second, third = (Rotation.from_rotvec(found[k] * joint.axes[k]) for k in range(3))
    motion = joint.motion(values)
    wanted = (first * second * third).as_matrix()
    np.testing.assert_allclose(motion.placement.rotation, wanted, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(motion.placement.origin, found[3:] @ joint.axes[3:], atol=1e-14)


@pytest.mark.parametrize("coordinates", [1, 3, 6])
def test_rates_and_their_derivatives_agree_with_differences(coordinates):
    rng = np.random.default_rng(coordinates)
    joint, values = any_joint(rng, coordinates), rng.normal(size=coordinates)
    at, step = joint.motion(values), 1e-6
    for k, h in enumerate(step * np.eye(coordinates)):
        after, before = joint.motion(values + h), joint.motion(values - h)
        turn = Rotation.from_matrix(after.placement.rotation @ before.placement.rotation.T)
        np.testing.assert_allclose(turn.as_rotvec() / (2 * step), at.turning[:, k], atol=1e-8)
        moved = (after.placement.origin - before.placement.origin) / (2 * step)
        np.testing.assert_allclose(moved, at.moving[:, k], atol=1e-8)
        bent = (after.turning - before.turning) / (2 * step)
        np.testing.assert_allclose(bent, at.bending[:, :, k], atol=1e-8)
