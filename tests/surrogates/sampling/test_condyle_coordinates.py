"""The condyle's point from lines of force, the path over flexion, variables, bad input."""

from __future__ import annotations

import manufactured
import numpy as np
import pytest

from foundation.base.pose import rotation_matrix
from surrogates.sampling.condyle_coordinates import CondyleCoordinates, closest_point, condyle_poses

CENTRE = np.array([3e-3, -18e-3, -21e-3])


def drawn(count=60, seed=0, flexion=(0.0, 1.2)):
    """Poses (N, 6) about a curved path, and loads whose forces point in all sorts of ways."""
    rng = np.random.default_rng(seed)
    a = rng.uniform(*flexion, count)
    level = np.column_stack([0.02 * a, 0.1 * a**2, -5e-3 * a**3, 0.03 + 4e-3 * a, 1e-3 * a])
    spread = rng.uniform(-1.0, 1.0, (count, 5)) * [0.02, 0.08, 3e-3, 1e-3, 1e-3]
    loads = np.zeros((count, 12))
    loads[:, :3] = rng.uniform(-1.0, 1.0, (count, 3)) * [150.0, 0.0, 150.0]
    loads[:, 1] = rng.uniform(100.0, 2000.0, count)
    return np.column_stack([a, level + spread]), loads


def through(poses, loads, centre, rng):
    """Move the centres of pressure onto the lines of force through a femoral point."""
    place = [p[3:] + rotation_matrix(*p[:3]) @ centre for p in poses]
    along = loads[:, :3] / np.linalg.norm(loads[:, :3], axis=1)[:, None]
    moved = loads.copy()
    moved[:, 9:] = place + along * rng.uniform(-0.05, 0.02, (len(loads), 1))
    return moved


def test_the_point_of_lines_that_meet_is_exact():
    poses, loads = drawn()
    loads = through(poses, loads, CENTRE, np.random.default_rng(1))
    np.testing.assert_allclose(closest_point(poses, loads), CENTRE, rtol=0, atol=1e-14)


def test_the_point_of_other_lines_is_the_nearest_to_them():
    poses, loads = drawn()
    rng = np.random.default_rng(1)
    loads = through(poses, loads, CENTRE, rng)
    loads[:, 9:] += rng.normal(0.0, 1e-3, (60, 3))
    found = closest_point(poses, loads)

    def distance(point):
        total = 0.0
        for pose, load in zip(poses, loads, strict=True):
            gap = pose[3:] + rotation_matrix(*pose[:3]) @ point - load[9:]
            along = load[:3] / np.linalg.norm(load[:3])
            total += np.sum((gap - along * (gap @ along)) ** 2)
        return total

    best = distance(found)
    assert best > 1e-6
    for step in 1e-4 * np.concatenate([np.eye(3), -np.eye(3)]):
        assert distance(found + step) > best


def test_of_parallel_lines_the_point_nearest_to_the_origin_is_taken():
    poses, loads = drawn(flexion=(0.0, 0.0))
    poses[:, 1:3] = 0.0
    loads[:, [0, 2]] = 0.0
    loads = through(poses, loads, CENTRE, np.random.default_rng(1))
    expected = [CENTRE[0], 0.0, CENTRE[2]]
    np.testing.assert_allclose(closest_point(poses, loads), expected, rtol=0, atol=1e-14)


def test_poses_of_a_point_are_those_of_the_femur_carried_along():
    poses, _ = drawn()
    found = condyle_poses(poses, CENTRE)
    np.testing.assert_array_equal(found[:, :3], poses[:, :3])
    for pose, place in zip(poses, found[:, 3:], strict=True):
        expected = pose[3:] + rotation_matrix(*pose[:3]) @ CENTRE
        np.testing.assert_allclose(place, expected, rtol=0, atol=1e-17)
    np.testing.assert_array_equal(condyle_poses(poses, np.zeros(3)), poses)


@pytest.mark.parametrize("at_centre", [True, False])
def test_variables_fill_the_box_and_count_from_a_cubic(at_centre):
    poses, loads = drawn()
    loads = through(poses, loads, CENTRE, np.random.default_rng(1))
    coordinates = CondyleCoordinates.fit(poses, loads, at_centre=at_centre)
    assert coordinates.about_point is at_centre
    found = condyle_poses(poses, CENTRE if at_centre else np.zeros(3))
    fits = [np.polynomial.Polynomial.fit(found[:, 0], y, 3)(found[:, 0]) for y in found.T[1:]]
    offsets = found[:, 1:] - np.array(fits).T
    raw = np.column_stack([found[:, 0], offsets[:, [0, 1, 2, 4]]])
    u, over, points = coordinates.variables(poses)
    np.testing.assert_allclose(u.min(axis=0), -1.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(u.max(axis=0), 1.0, rtol=0, atol=1e-12)
    low, high = raw.min(axis=0), raw.max(axis=0)
    expected = (2.0 * raw - low - high) / (high - low)
    np.testing.assert_allclose(u, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(over, offsets[:, 3], rtol=0, atol=1e-13)
    np.testing.assert_allclose(points, found[:, 3:], rtol=0, atol=1e-13)


def test_a_cubic_path_is_found_exactly():
    true = manufactured.truth()
    samples = true.samples(manufactured.design())
    found = CondyleCoordinates.fit(samples.poses, samples.loads)
    flexion = np.linspace(0.0, 1.0, 11)
    ours, theirs = found.path.poses(flexion), true.coordinates.path.poses(flexion)
    # The height is counted from the samples' mean, a quadratic of flexion beside the true one.
    columns = [1, 2, 3, 5]
    np.testing.assert_allclose(ours[:, columns], theirs[:, columns], rtol=0, atol=1e-13)
    assert len(found.path.flexion) == 2


def test_samples_of_one_flexion_have_a_constant_path():
    poses, loads = drawn(flexion=(0.4, 0.4))
    found = CondyleCoordinates.fit(poses, loads, at_centre=False)
    expected = poses[:, 1:].mean(axis=0)
    np.testing.assert_allclose(found.path.poses([0.0, 2.0])[:, 1:], [expected] * 2, rtol=1e-12)
    assert found.half[0] == 1.0  # what no sample changes is left as it is
    assert found.variables(poses)[0][:, 0].tolist() == [0.0] * 60


def test_a_path_of_fewer_samples_than_a_cubic_needs_goes_through_them():
    poses, loads = drawn(2)
    found = CondyleCoordinates.fit(poses, loads, at_centre=False)
    np.testing.assert_allclose(found.path.poses(poses[:, 0]), poses, rtol=0, atol=1e-12)
    assert found.half[1:].tolist() == [1.0] * 4


def test_values_cannot_be_changed():
    middle = np.zeros(5)
    true = manufactured.truth().coordinates
    own = CondyleCoordinates(true.centre, true.path, middle, true.half)
    middle[:] = 7.0
    assert own.middle.tolist() == [0.0] * 5
    for array in (own.centre, own.middle, own.half):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0
