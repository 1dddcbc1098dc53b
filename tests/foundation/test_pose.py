"""Frames, conversions and virtual work of the pose."""

import numpy as np
import pytest
from differences import pose_differences as differences
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from foundation.base.pose import (
    COORDINATES,
    Pose,
    generalised_force,
    generalised_force_jacobian,
    rotation_matrices,
    twist_jacobian,
)

angles = st.floats(-1.2, 1.2)
lengths = st.floats(-0.06, 0.06)
poses = st.builds(Pose, angles, angles, angles, lengths, lengths, lengths)
#: All angles; adduction also close to the singular point, on either side.
ANGLES = st.floats(-np.pi, np.pi)
LENGTHS = st.floats(-0.1, 0.1)
NEAR_SINGULAR = st.builds(
    lambda sign, gap: sign * (np.pi / 2 - gap), st.sampled_from([-1.0, 1.0]), st.floats(1e-6, 0.1)
)
POSES = st.builds(Pose, ANGLES, ANGLES | NEAR_SINGULAR, ANGLES, LENGTHS, LENGTHS, LENGTHS)
WRENCHES = st.tuples(*[st.floats(-2e3, 2e3)] * 3, *[st.floats(-50.0, 50.0)] * 3).map(np.array)
POINT = np.array([0.02, -0.03, 0.01])
MIRROR = np.diag([1.0, 1.0, -1.0])


def spins(pose):
    """Angular velocities (3, 6) of the coordinates, by differences of the rotation."""
    change = differences(lambda p: p.rotation_matrix, pose)
    spin = np.einsum("ijk,lj->ilk", change, pose.rotation_matrix)
    return np.array([spin[2, 1], spin[0, 2], spin[1, 0]])


def test_rotation_matrices_of_many_poses():
    coordinates = np.random.default_rng(0).uniform(-1.2, 1.2, (20, 6))
    expected = [Pose.from_array(row).rotation_matrix for row in coordinates]
    assert_allclose(rotation_matrices(coordinates), expected, rtol=0.0, atol=1e-15)
    assert rotation_matrices(coordinates[:0]).shape == (0, 3, 3)


@pytest.mark.parametrize(
    ("pose", "femoral", "tibial"),
    [
        # Flexion turns the femur's distal end (-y) forwards, seen from the tibia.
        (Pose(flexion=0.1), [0.0, -1.0, 0.0], [np.sin(0.1), -np.cos(0.1), 0.0]),
        # Internal rotation of the tibia turns the femur outwards: its front goes lateral.
        (Pose(rotation=0.1), [1.0, 0.0, 0.0], [np.cos(0.1), 0.0, np.sin(0.1)]),
        # Adduction of the tibia: the lateral condyle of the femur lifts off.
        (Pose(adduction=0.1), [0.0, 0.0, 1.0], [0.0, np.sin(0.1), np.cos(0.1)]),
    ],
)
def test_signs_of_the_angles_in_a_right_knee(pose, femoral, tibial):
    assert_allclose(pose.rotation_matrix @ femoral, tibial, rtol=0.0, atol=1e-15)


# Two springs from points of the femur to points of the tibia: an energy of the pose alone.
FEMORAL = np.array([[0.02, -0.03, 0.025], [-0.01, -0.02, -0.03]])
TIBIAL = np.array([[0.01, 0.005, 0.02], [0.0, 0.0, -0.025]])
SPRINGS = np.array([4e4, 9e4])


def spring_wrench(pose):
    points = FEMORAL @ pose.rotation_matrix.T + pose.translation
    forces = -SPRINGS[:, None] * (points - TIBIAL)
    return np.concatenate([forces.sum(axis=0), np.cross(points, forces).sum(axis=0)])


@given(pose=poses)
def test_generalised_force_jacobian_of_springs_against_differences(pose):
    wrench_jacobian = differences(spring_wrench, pose)
    found = generalised_force_jacobian(pose, spring_wrench(pose), wrench_jacobian)
    expected = differences(lambda p: generalised_force(p, spring_wrench(p)), pose)
    assert_allclose(found, expected, rtol=0.0, atol=1e-7 * np.abs(expected).max())
    # A Hessian: symmetric.
    assert_allclose(found, found.T, rtol=0.0, atol=1e-7 * np.abs(found).max())


@given(pose=poses, wrench=WRENCHES)
def test_generalised_force_jacobian_of_a_constant_wrench_against_differences(pose, wrench):
    """The geometric part alone, which the springs' symmetric case could hide."""
    found = generalised_force_jacobian(pose, wrench, np.zeros((6, 6)))
    expected = differences(lambda p: generalised_force(p, wrench), pose)
    assert_allclose(found, expected, rtol=0.0, atol=1e-8 * max(1.0, np.abs(wrench).max()))


@pytest.mark.parametrize("bad", [np.nan, np.inf, "tall", None])
def test_pose_refuses_what_is_not_a_finite_number(bad):
    with pytest.raises(ValueError, match="pose superior"):
        Pose(superior=bad)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Pose.from_array(np.zeros(5)), r"^pose: expected shape \(6\), found \(5,\)"),
        (lambda: generalised_force(Pose(), np.zeros(5)), r"^wrench: expected shape \(6\)"),
        (
            lambda: generalised_force_jacobian(Pose(), np.zeros(6), np.zeros((6, 5))),
            r"^wrench_jacobian: expected shape \(6, 6\)",
        ),
    ],
)
def test_arrays_of_another_shape_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def placed(pose, point):
    return pose.rotation_matrix @ point + pose.translation


def mirrored(pose):
    """Return the pose of the other knee: z, and the two turns out of the plane, change sign."""
    return Pose.from_array(pose.array * [1, -1, -1, 1, 1, -1])


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
    at_origin = -pose.rotation_matrix.T @ pose.translation
    velocity = differences(lambda p: placed(p, at_origin), pose)
    power = wrench[:3] @ velocity + wrench[3:] @ spins(pose)
    assert_allclose(generalised_force(pose, wrench), power, rtol=1e-8, atol=1e-6)


@pytest.mark.parametrize(
    ("mistaken", "told"),
    [
        ({"superior": 30.0}, "superior: expected at most 1.5 m in size, found 30 m; convert mil"),
        ({"adduction": -7.0}, "adduction: expected at most 6.283 rad in size, found -7 rad; con"),
    ],
)
def test_millimetres_and_degrees_are_told(mistaken, told):
    with pytest.warns(UserWarning, match=told):
        Pose(**mistaken)
    with pytest.warns(UserWarning, match=told):
        Pose.from_array([mistaken.get(name, 0.0) for name in COORDINATES])


#: Points of the tibia [m]: ankle, tuberosity, fibula.
POINTS = np.array([[0.0, -0.4, 0.0], [0.04, -0.03, 0.0], [0.0, -0.05, 0.04]])


def in_femur(coordinates, points):
    """Return points of the tibia in the femoral frame by OpenSim-JAM's definition of the knee."""
    flex, add, rot, *translation = coordinates
    turn = Rotation.from_euler("ZXY", [-flex, add, rot])  # intrinsic: Rz(-flex) Rx(add) Ry(rot)
    return turn.apply(points) + translation


def in_tibia(pose, points):
    """Return points of the femur in the tibial frame."""
    return points @ pose.rotation_matrix.T + pose.translation


def test_conversion_inverts_the_definition():
    rng = np.random.default_rng(3)
    for _ in range(20):
        coordinates = rng.uniform(-1.0, 1.0, 6) * [1.5, 0.2, 0.4, 0.02, 0.05, 0.01]
        pose = Pose.from_opensim(*coordinates)
        assert_allclose(in_tibia(pose, in_femur(coordinates, POINTS)), POINTS, atol=1e-15)
        assert_allclose(pose.to_opensim(), coordinates, atol=1e-15)
