"""The frames of a pose against those of OpenSim: signs, and the poses of a published walk."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from dynamics.motion import read_motion_table
from foundation.base.pose import Pose

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


@pytest.mark.parametrize(
    ("coordinate", "point", "axis"),
    [("flexion", 0, 0), ("adduction", 0, 2), ("rotation", 1, 2)],
)
def test_positive_angles_move_the_shank_back_and_inwards(coordinate, point, axis):
    """Flexion: the ankle to the back; adduction: inwards; internal rotation: the front inwards."""
    pose = Pose(**{coordinate: 0.1})
    moved = in_femur(pose.to_opensim(), POINTS)[point] - POINTS[point]
    assert moved[axis] < -1e-3


def test_conversion_inverts_the_definition():
    rng = np.random.default_rng(3)
    for _ in range(20):
        coordinates = rng.uniform(-1.0, 1.0, 6) * [1.5, 0.2, 0.4, 0.02, 0.05, 0.01]
        pose = Pose.from_opensim(*coordinates)
        assert_allclose(in_tibia(pose, in_femur(coordinates, POINTS)), POINTS, atol=1e-15)
        assert_allclose(pose.to_opensim(), coordinates, atol=1e-15)


def test_poses_of_a_published_walk_are_converted(knee_data):
    table = read_motion_table(knee_data / "jam_lenhart2015_knee" / "walking_values.sto")
    columns = [table.column(f"knee_{name}_r") for name in ("flex", "add", "rot", "tx", "ty", "tz")]
    rows = np.column_stack(columns)
    if table.in_degrees:
        rows[:, :3] = np.radians(rows[:, :3])
    assert np.ptp(rows[:, 0]) > np.radians(50.0)
    for row in rows:
        points = in_femur(row, POINTS)
        assert_allclose(in_tibia(Pose.from_opensim(*row), points), POINTS, atol=1e-15)
