"""Identities of the pose over all its angles: round trips, mirror, twist, the singular point."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from shapes import turned_pose

from foundation.pose import COORDINATES, Pose, generalised_force, twist_jacobian

ANGLES = st.floats(-np.pi, np.pi)
LENGTHS = st.floats(-0.1, 0.1)
#: Adduction up to a millionth of a radian before the singular point, on either side.
NEAR_SINGULAR = st.builds(
    lambda sign, gap: sign * (np.pi / 2 - gap), st.sampled_from([-1.0, 1.0]), st.floats(1e-6, 0.1)
)
POSES = st.builds(Pose, ANGLES, ANGLES | NEAR_SINGULAR, ANGLES, LENGTHS, LENGTHS, LENGTHS)
REGULAR = st.builds(Pose, ANGLES, st.floats(-1.5, 1.5), ANGLES, LENGTHS, LENGTHS, LENGTHS)
WRENCHES = st.tuples(*[st.floats(-2e3, 2e3)] * 3, *[st.floats(-50.0, 50.0)] * 3).map(np.array)
POINT = np.array([0.02, -0.03, 0.01])
MIRROR = np.diag([1.0, 1.0, -1.0])


def placed(pose: Pose, point: np.ndarray) -> np.ndarray:
    return pose.rotation_matrix @ point + pose.translation


def mirrored(pose: Pose) -> Pose:
    """Return the pose of the other knee: z, and the two turns out of the plane, change sign."""
    return Pose.from_array(pose.array * [1, -1, -1, 1, 1, -1])


@given(pose=POSES)
def test_array_round_trip_changes_no_bit(pose):
    np.testing.assert_array_equal(Pose.from_array(pose.array).array, pose.array)
    assert [getattr(pose, name) for name in COORDINATES] == pose.array.tolist()


@given(pose=POSES)
def test_rotation_is_orthonormal_and_right_handed_at_every_angle(pose):
    rotation = pose.rotation_matrix
    assert_allclose(rotation.T @ rotation, np.eye(3), rtol=0.0, atol=1e-14)
    assert_allclose(np.linalg.det(rotation), 1.0, rtol=1e-14)


@given(pose=POSES)
def test_opensim_places_the_tibia_where_the_inverse_does(pose):
    flexion, adduction, rotation, *origin = pose.to_opensim()
    assert_allclose([flexion, adduction, rotation], pose.array[:3], rtol=0.0, atol=0.0)
    assert_allclose(placed(pose, np.array(origin)), 0.0, atol=1e-15)
    again = Pose.from_opensim(*pose.to_opensim())
    assert_allclose(again.array, pose.array, rtol=0.0, atol=1e-15)


@given(pose=REGULAR)
def test_angles_come_back_from_the_rotation(pose):
    """SciPy's Euler angles are the oracle; the angles are lost as 1/cos(adduction)."""
    back = turned_pose(pose.rotation_matrix, 0.0)
    turns = (back.array[:3] - pose.array[:3] + np.pi) % (2 * np.pi) - np.pi
    assert_allclose(turns, 0.0, atol=1e-14 / np.cos(pose.adduction) ** 2)


@given(pose=POSES)
def test_other_knee_is_the_mirror_image(pose):
    assert_allclose(
        placed(mirrored(pose), MIRROR @ POINT), MIRROR @ placed(pose, POINT), rtol=0.0, atol=1e-16
    )
    # An axial vector, the angular velocity, turns the other way about x and y.
    signs = np.array([1, 1, -1, -1, -1, 1])
    rates = np.array([1, -1, -1, 1, 1, -1])
    expected = signs[:, None] * twist_jacobian(pose) * rates
    assert_allclose(twist_jacobian(mirrored(pose)), expected, rtol=0.0, atol=1e-16)


@given(pose=POSES, wrench=WRENCHES)
def test_generalised_force_is_the_power_of_the_wrench(pose, wrench):
    """By central differences of a point of the femur, next to the singular point too."""
    step, forces = 1e-6, generalised_force(pose, wrench)
    at_origin = -pose.rotation_matrix.T @ pose.translation
    for k in range(6):
        turn = step * np.eye(6)[k]
        ahead, behind = Pose.from_array(pose.array + turn), Pose.from_array(pose.array - turn)
        velocity = (placed(ahead, at_origin) - placed(behind, at_origin)) / (2 * step)
        change = (ahead.rotation_matrix - behind.rotation_matrix) / (2 * step)
        spin = change @ pose.rotation_matrix.T
        turning = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
        power = wrench[:3] @ velocity + wrench[3:] @ turning
        assert_allclose(forces[k], power, rtol=1e-8, atol=1e-6)


@given(pose=REGULAR, wrench=WRENCHES)
def test_wrench_comes_back_from_the_generalised_forces_unless_singular(pose, wrench):
    back = np.linalg.solve(twist_jacobian(pose).T, generalised_force(pose, wrench))
    assert_allclose(back, wrench, rtol=0.0, atol=1e-10 / np.cos(pose.adduction))


@given(flexion=ANGLES, rotation=ANGLES, side=st.sampled_from([-1.0, 1.0]))
def test_at_ninety_degrees_of_adduction_two_axes_are_one(flexion, rotation, side):
    """Gimbal lock, as the module's documentation says: the twist loses a rank."""
    singular = np.linalg.svd(twist_jacobian(Pose(flexion, side * np.pi / 2, rotation)))[1]
    assert singular[-1] < 1e-15 < 0.5 < singular[-2]
