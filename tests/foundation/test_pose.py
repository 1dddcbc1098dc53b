"""Frames, conversions and virtual work of the pose."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from foundation.pose import (
    COORDINATE_UNITS,
    COORDINATES,
    Pose,
    generalised_force,
    generalised_force_jacobian,
    rotation_axes,
    rotation_matrix,
    twist_jacobian,
)

angles = st.floats(-1.2, 1.2)
lengths = st.floats(-0.06, 0.06)
poses = st.builds(Pose, angles, angles, angles, lengths, lengths, lengths)
wrenches = st.tuples(*[st.floats(-2e3, 2e3)] * 3, *[st.floats(-50.0, 50.0)] * 3).map(np.array)


def turn(axis: int, angle: float) -> np.ndarray:
    """Right-handed rotation about a coordinate axis by the exponential series."""
    generator = np.zeros((3, 3))
    i, j = (axis + 1) % 3, (axis + 2) % 3
    generator[i, j], generator[j, i] = -angle, angle
    total, term = np.eye(3), np.eye(3)
    for k in range(1, 40):
        term = term @ generator / k
        total = total + term
    return total


def moved(pose: Pose, k: int, by: float) -> Pose:
    coordinates = pose.array
    coordinates[k] += by
    return Pose.from_array(coordinates)


@given(pose=poses)
def test_grood_suntay_1983_sequence(pose):
    expected = turn(1, -pose.rotation) @ turn(0, -pose.adduction) @ turn(2, pose.flexion)
    assert_allclose(pose.rotation_matrix, expected, rtol=0.0, atol=1e-14)
    assert_allclose(np.linalg.det(pose.rotation_matrix), 1.0, rtol=1e-13)


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


@given(pose=poses)
def test_opensim_round_trip(pose):
    assert_allclose(Pose.from_opensim(*pose.to_opensim()).array, pose.array, rtol=0.0, atol=1e-15)


@given(pose=poses)
def test_lenhart2015_tibia_in_femur(pose):
    """x_femur = Rz(-flex) Rx(add) Ry(rot) x_tibia + t is the inverse of the pose."""
    flex, add, rot, *translation = pose.to_opensim()
    point = np.array([0.01, -0.02, 0.03])
    in_femur = turn(2, -flex) @ turn(0, add) @ turn(1, rot) @ point + translation
    back = pose.rotation_matrix @ in_femur + pose.translation
    assert_allclose(back, point, rtol=0.0, atol=1e-15)


def test_opensim_translation_alone_changes_sign():
    assert_allclose(
        Pose.from_opensim(0.0, 0.0, 0.0, 1e-3, 2e-3, 3e-3).array,
        [0.0, 0.0, 0.0, -1e-3, -2e-3, -3e-3],
        rtol=0.0,
        atol=1e-18,
    )


@given(pose=poses)
def test_rotation_axes_give_the_angular_velocity(pose):
    axes, step = rotation_axes(pose.adduction, pose.rotation), 1e-6
    for k in range(3):
        change = (moved(pose, k, step).rotation_matrix - moved(pose, k, -step).rotation_matrix) / (
            2.0 * step
        )
        spin = change @ pose.rotation_matrix.T
        assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], axes[:, k], rtol=0.0, atol=1e-9)


@given(pose=poses)
def test_twist_is_the_velocity_of_the_femur_at_the_tibial_origin(pose):
    jacobian, step = twist_jacobian(pose), 1e-6
    # The femoral point that is at the tibial origin now.
    point = pose.rotation_matrix.T @ -pose.translation
    for k in range(6):
        ends = [moved(pose, k, sign * step) for sign in (1.0, -1.0)]
        there = [p.rotation_matrix @ point + p.translation for p in ends]
        assert_allclose((there[0] - there[1]) / (2.0 * step), jacobian[:3, k], rtol=0.0, atol=1e-9)


# Two springs from points of the femur to points of the tibia: an energy of the pose alone.
FEMORAL = np.array([[0.02, -0.03, 0.025], [-0.01, -0.02, -0.03]])
TIBIAL = np.array([[0.01, 0.005, 0.02], [0.0, 0.0, -0.025]])
SPRINGS = np.array([4e4, 9e4])


def energy(pose: Pose) -> float:
    gap = FEMORAL @ pose.rotation_matrix.T + pose.translation - TIBIAL
    return float(0.5 * SPRINGS @ (gap**2).sum(axis=1))


def spring_wrench(pose: Pose) -> np.ndarray:
    points = FEMORAL @ pose.rotation_matrix.T + pose.translation
    forces = -SPRINGS[:, None] * (points - TIBIAL)
    return np.concatenate([forces.sum(axis=0), np.cross(points, forces).sum(axis=0)])


def differences(function, pose: Pose, step: float = 1e-6) -> np.ndarray:
    columns = [
        (np.asarray(function(moved(pose, k, step))) - function(moved(pose, k, -step)))
        / (2.0 * step)
        for k in range(6)
    ]
    return np.stack(columns, axis=-1)


@given(pose=poses)
def test_generalised_force_is_minus_the_gradient_of_the_energy(pose):
    expected = -differences(energy, pose)
    found = generalised_force(pose, spring_wrench(pose))
    assert_allclose(found, expected, rtol=0.0, atol=1e-5 * max(1.0, np.abs(expected).max()))


@given(pose=poses, wrench=wrenches)
def test_generalised_force_does_the_power_of_the_wrench(pose, wrench):
    rates = np.array([1.0, -0.3, 0.5, 0.02, -0.01, 0.03])
    power = wrench @ twist_jacobian(pose) @ rates
    assert_allclose(generalised_force(pose, wrench) @ rates, power, rtol=1e-12, atol=1e-9)


@given(pose=poses)
def test_generalised_force_jacobian_of_springs_against_differences(pose):
    wrench_jacobian = differences(spring_wrench, pose)
    found = generalised_force_jacobian(pose, spring_wrench(pose), wrench_jacobian)
    expected = differences(lambda p: generalised_force(p, spring_wrench(p)), pose)
    assert_allclose(found, expected, rtol=0.0, atol=1e-7 * np.abs(expected).max())
    # A Hessian: symmetric.
    assert_allclose(found, found.T, rtol=0.0, atol=1e-7 * np.abs(found).max())


@given(pose=poses, wrench=wrenches)
def test_generalised_force_jacobian_of_a_constant_wrench_against_differences(pose, wrench):
    """The geometric part alone, which the springs' symmetric case could hide."""
    found = generalised_force_jacobian(pose, wrench, np.zeros((6, 6)))
    expected = differences(lambda p: generalised_force(p, wrench), pose)
    assert_allclose(found, expected, rtol=0.0, atol=1e-8 * max(1.0, np.abs(wrench).max()))


def test_inputs_are_not_changed():
    wrench, jacobian = np.arange(6.0), np.arange(36.0).reshape(6, 6)
    generalised_force_jacobian(Pose(0.3, 0.1, 0.2, 0.01, 0.02, 0.03), wrench, jacobian)
    assert_allclose(wrench, np.arange(6.0), rtol=0.0, atol=0.0)
    assert_allclose(jacobian, np.arange(36.0).reshape(6, 6), rtol=0.0, atol=0.0)


def test_array_and_names_agree():
    values = np.arange(1.0, 7.0)
    pose = Pose.from_array(values)
    assert [getattr(pose, name) for name in COORDINATES] == values.tolist()
    assert_allclose(pose.array, values, rtol=0.0, atol=0.0)
    assert len(COORDINATE_UNITS) == len(COORDINATES)
    assert_allclose(rotation_matrix(*values[:3]), pose.rotation_matrix, rtol=0.0, atol=0.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, "tall", None])
def test_pose_refuses_what_is_not_a_finite_number(bad):
    with pytest.raises(ValueError, match="pose superior"):
        Pose(superior=bad)


def test_pose_refuses_a_wrong_number_of_coordinates():
    with pytest.raises(ValueError, match=r"expected shape \(6\), found \(5,\)"):
        Pose.from_array(np.zeros(5))
