"""The condyle's point from lines of force, the path over flexion, and the sample space."""

import json

import manufactured
import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from foundation.base.pose import rotation_matrix
from surrogates.sampling.condyle_coordinates import CondyleCoordinates, closest_point, condyle_poses
from surrogates.sampling.space import OFFSET_COORDINATES, ReferencePath, SampleSpace

KNOTS = np.array([0.0, 0.3, 0.5, 0.9, 1.1])


def places(count):
    scale = [0.02, 0.1, 5e-3, 2e-2, 2e-3]
    return np.random.default_rng(4).normal(size=(count, 5)) * scale


def path_of(knots):
    return ReferencePath.through(knots, places(len(knots)))


def space_of(knots=KNOTS):
    return SampleSpace(path_of(knots), [0.0, 1.0], [0.02, 0.1, 4e-3, 1e-3], [25.0, 2500.0])


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_path_is_the_spline_of_scipy_and_its_end_pieces_go_on(count):
    """Not-a-knot from four poses on, natural through fewer; a straight line through two."""
    knots, kind = KNOTS[:count], "not-a-knot" if count > 3 else "natural"
    where = np.append(np.linspace(-0.5, 1.6, 43), knots)
    oracle = CubicSpline(knots, places(count), bc_type=kind, extrapolate=True)
    poses = path_of(knots).poses(where)
    np.testing.assert_allclose(poses[:, 1:], oracle(where), rtol=0, atol=1e-14)
    np.testing.assert_array_equal(poses[:, 0], where)
    np.testing.assert_allclose(poses[43:, 1:], places(count), rtol=0, atol=1e-15)


def test_corners_and_middle_of_the_cube():
    space = space_of()
    poses, load = space.draw([np.zeros(6), np.ones(6), np.full(6, 0.5)])
    np.testing.assert_allclose(poses[:, 0], [0.0, 1.0, 0.5], rtol=0, atol=1e-15)
    # The root of the load is spread evenly: 5 and 50, hence 27.5 in the middle.
    np.testing.assert_allclose(load, [25.0, 2500.0, 27.5**2], rtol=1e-14, atol=0)
    offsets = (poses - space.path.poses(poses[:, 0]))[:, OFFSET_COORDINATES]
    expected = [-space.offsets, space.offsets, 0 * space.offsets]
    np.testing.assert_allclose(offsets, expected, rtol=0, atol=1e-16)
    np.testing.assert_array_equal(poses[:, 4], space.path.poses(poses[:, 0])[:, 4])


@pytest.mark.parametrize("spread", [0.5, 1.0, 2.0, 4.0])
def test_the_root_of_the_load_of_the_degree_asked_for_is_spread_evenly(spread):
    space = space_of()
    unit = np.full((11, 6), 0.5)
    unit[:, 5] = np.linspace(0.0, 1.0, 11)
    poses, load = space.draw(unit, spread)
    roots = load ** (1.0 / spread)
    np.testing.assert_allclose(np.diff(roots), np.ptp(roots) / 10, rtol=1e-9, atol=0)
    np.testing.assert_allclose(load[[0, -1]], [25.0, 2500.0], rtol=1e-14, atol=0)
    assert load.min() >= 25.0
    assert load.max() <= 2500.0  # to the last digit
    np.testing.assert_array_equal(poses, space.draw(unit)[0])


def test_other_poses_are_held_at_the_border():
    """Every offset by itself, and the height over the path kept."""
    space = space_of()
    rng = np.random.default_rng(0)
    poses = space.path.poses(rng.uniform(-0.6, 1.6, 300))
    poses[:, OFFSET_COORDINATES] += 2.0 * space.offsets * rng.uniform(-1.0, 1.0, (300, 4))
    poses[:, 4] += rng.uniform(-1e-2, 1e-2, 300)
    before = poses.copy()
    held = space.held(poses)
    np.testing.assert_array_equal(poses, before)
    zeros = np.zeros(300)
    (found, over), (wanted, height) = space.scaled(held, zeros), space.scaled(poses, zeros)
    expected = np.clip(wanted[:, :5], -1.0, 1.0)
    np.testing.assert_allclose(found[:, :5], expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(over, height, rtol=0, atol=1e-15)
    outside = (np.abs(wanted[:, :5]) > 1.0).any(axis=1)
    assert 200 < outside.sum() < 300
    np.testing.assert_array_equal(held[~outside], poses[~outside])
    # What is held stays, but for rounding.
    np.testing.assert_allclose(space.held(held), held, rtol=0, atol=1e-15)


def test_scaling_is_the_inverse_of_drawing():
    space = space_of()
    unit = np.random.default_rng(0).random((100, 6))
    poses, load = space.draw(unit)
    poses[:, 4] += 7e-4
    variables, height = space.scaled(poses, load)
    np.testing.assert_allclose(height, 7e-4, rtol=0, atol=1e-16)
    np.testing.assert_allclose(variables[:, :5], 2 * unit[:, :5] - 1, rtol=0, atol=1e-12)
    # The root of the load counts from no load at all, not from the least load drawn.
    root = 5.0 + 45.0 * unit[:, 5]
    np.testing.assert_allclose(variables[:, 5], root / 25.0 - 1.0, rtol=0, atol=1e-13)


def test_header_round_trip():
    space = space_of()
    again = SampleSpace.from_header(json.loads(json.dumps(space.to_header())))
    for name in ("flexion", "offsets", "load"):
        np.testing.assert_array_equal(getattr(again, name), getattr(space, name))
    np.testing.assert_array_equal(again.path.flexion, space.path.flexion)
    np.testing.assert_array_equal(again.path.pieces, space.path.pieces)


@pytest.mark.parametrize("value", [None, {}, "text", 3.0, [[1.0], [2.0, 3.0]], ["a"] * 5, [1e400]])
@pytest.mark.parametrize("field", ["path_flexion_rad", "path_pieces_rad_m", "load_N"])
def test_header_of_other_values_is_refused(field, value):
    with pytest.raises((ValueError, TypeError)):
        SampleSpace.from_header(space_of().to_header() | {field: value})


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


def test_path_of_one_knot_is_constant():
    for path in (path_of([0.2]), ReferencePath.constant(0.2, places(1)[0])):
        poses = path.poses([-3.0, 0.2, 5.0])
        np.testing.assert_array_equal(poses[:, 1:], np.tile(places(1), (3, 1)))
