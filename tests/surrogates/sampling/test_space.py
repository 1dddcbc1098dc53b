"""Reference path and sample space: spline, scaling and its inverse, header, bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

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


def test_path_of_one_knot_is_constant():
    for path in (path_of([0.2]), ReferencePath.constant(0.2, places(1)[0])):
        poses = path.poses([-3.0, 0.2, 5.0])
        np.testing.assert_array_equal(poses[:, 1:], np.tile(places(1), (3, 1)))


def test_path_of_pieces_is_their_polynomials():
    """In falling powers of the flexion past the piece's first knot; a knot is the next piece's."""
    pieces = np.random.default_rng(1).normal(size=(4, 2, 5))
    path = ReferencePath([0.0, 0.4, 1.0], pieces)
    for flexion, piece, start in (
        (-0.3, 0, 0.0), (0.0, 0, 0.0), (0.39, 0, 0.0), (0.4, 1, 0.4), (1.0, 1, 0.4), (1.7, 1, 0.4),
    ):  # fmt: skip
        t = flexion - start
        expected = [np.polyval(pieces[:, piece, k], t) for k in range(5)]
        np.testing.assert_allclose(path.poses([flexion])[0, 1:], expected, rtol=1e-13, atol=1e-15)
    assert path.poses([]).shape == (0, 6)


def test_raised_path_is_higher_by_a_line_over_flexion():
    where = np.linspace(-0.5, 1.6, 43)
    moved = path_of(KNOTS).raised(2e-3, -3e-3).poses(where) - path_of(KNOTS).poses(where)
    expected = np.zeros((43, 6))
    expected[:, 4] = 2e-3 - 3e-3 * where
    np.testing.assert_allclose(moved, expected, rtol=0, atol=1e-15)


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


def test_poses_of_the_box_are_held_as_they_are():
    space = space_of()
    poses, _ = space.draw(np.random.default_rng(0).random((500, 6)))
    poses[:, 4] += np.linspace(-1.0, 1.0, 500)
    np.testing.assert_array_equal(space.held(poses), poses)


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


def test_no_load_and_largest_load_are_the_ends_of_the_scale():
    space = space_of()
    pose = space.path.poses([0.5, 0.5])
    np.testing.assert_array_equal(space.scaled(pose, [0.0, 2500.0])[0][:, 5], [-1.0, 1.0])


def test_scaled_variables_leave_the_box_with_the_pose():
    space = space_of()
    pose = space.path.poses([1.25])
    pose[0, 3] -= 6e-3
    variables, _ = space.scaled(pose, [9.0 * 2500.0])
    np.testing.assert_allclose(variables[0], [1.5, 0, 0, -1.5, 0, 5.0], rtol=0, atol=1e-13)


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


def test_values_cannot_be_changed():
    flexion = np.array([0.0, 1.0])
    space = SampleSpace(path_of(KNOTS), flexion, np.full(4, 0.1), [1.0, 2.0])
    flexion[:] = 5.0
    np.testing.assert_array_equal(space.flexion, [0.0, 1.0])
    for array in (space.flexion, space.offsets, space.load, space.path.pieces):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


def test_no_points_give_no_rows():
    poses, load = space_of().draw(np.zeros((0, 6)))
    assert poses.shape == (0, 6)
    assert load.shape == (0,)
    variables, height = space_of().scaled(poses, load)
    assert variables.shape == (0, 6)
    assert height.shape == (0,)
