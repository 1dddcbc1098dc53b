"""Smoothed surrogates: what the smoothing changes, and first and second derivatives."""

import core_probe
import numpy as np
import pytest
from made_knees import HALF_HEIGHT, compartment, knee_of, poses_about
from numpy.testing import assert_allclose, assert_array_equal
from surrogate_arrays import arrays

import surrogates
from foundation.base.pose import Pose
from surrogates.formulations.compartment import RECOMMENDED_SMOOTHING
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.training_data import FORMULATIONS

FAMILIES = ("kriging", "polynomial", "poly_fourier", "network", "spline")
WIDTH = 0.05
#: A small change of each coordinate: a radian turns a condyle by its distance from the axis.
SIZES = np.array([0.02, 0.02, 0.05, 2e-3, 1e-4, 1e-3])


def smooth_positive_part(r, width):
    return core_probe.curves(0, [r], width)[0]


def smooth_clip(x, width):
    return core_probe.curves(1, [x], width)[0]


def smoothable(formulation, family, width=WIDTH, seed=0):
    """A smoothed compartment."""
    return compartment(formulation, family, seed).smoothed(width)


def trained(model, count, seed=0, low=-1.1, high=1.0, within=0.9):
    """Poses in the box at last inputs (the height, or s) from `low` to `high`."""
    rng = np.random.default_rng(seed)
    centre, half = model.space.centre_and_half
    raw = centre[:5] + half[:5] * rng.uniform(-within, within, (count, 5))
    poses = model.space.path.poses(raw[:, 0])
    poses[:, [1, 2, 3, 5]] += raw[:, 1:]
    last = rng.uniform(low, high, count)
    u, over, _ = model.coordinates.variables(poses)
    level = model.depth[0] + model.depth[1] * last
    if model.learns_heights:
        level = model.regressors[0].predict(np.column_stack([u, last]))[:, 0]
    poses[:, 4] += level - over
    return poses


@pytest.mark.parametrize("function", [smooth_positive_part, smooth_clip])
def test_derivatives_of_the_rounded_functions(function):
    width, h = 0.3, 1e-5
    for x in np.linspace(-1.8, 1.8, 721):
        values = np.array(function(x, width))
        if min(abs(abs(x) - edge) for edge in (width, 1.0, 1.0 + 2 * width)) > 2 * h:
            rise = np.array(function(x + h, width)) - np.array(function(x - h, width))
            assert_allclose(rise[:2] / (2 * h), values[1:], atol=2e-8)
        # C3: values of both sides meet at every edge
        near = np.array(function(x + 1e-9, width))
        assert_allclose(near, values, atol=3e-6)


def test_rounded_functions_keep_to_the_sharp_ones():
    for x in np.linspace(-2.0, 2.0, 801):
        value = smooth_positive_part(x, 0.3)[0]
        assert max(x, 0.0) <= value <= max(x, 0.0) + 0.15625 * 0.3 + 1e-15
        assert (value == max(x, 0.0)) == (abs(x) >= 0.3 or value == 0.0)
        held = smooth_clip(x, 0.3)[0]
        assert abs(held) <= min(abs(x), 1.3) + 1e-15
        assert (held == x) == (abs(x) <= 1.0)
        assert smooth_positive_part(x, 0.0)[0] == max(x, 0.0)
        assert smooth_clip(x, 0.0)[0] == min(max(x, -1.0), 1.0)
    assert smooth_positive_part(0.0, 0.3)[0] == pytest.approx(0.15625 * 0.3)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_recommended_width_changes_no_load_by_more_than_a_thousandth(formulation):
    sharp = smoothable(formulation, "kriging", 0.0)
    poses = trained(sharp, 4000, 3)
    loads = sharp.loads(poses).array[:, :9]
    change = sharp.smoothed().loads(poses).array[:, :9] - loads
    share = np.abs(change).max(axis=0) / np.abs(loads).max(axis=0)
    assert share.max() <= 1e-3
    assert (share.max() > 0.0) == (formulation == "inverted")


def central(function, poses, steps):
    """Differences of fourth order of a function of poses (N, 6) along each coordinate, last."""
    columns = []
    for k, step in enumerate(steps):
        d = step * np.eye(6)[k]
        f = [function(poses + m * d) for m in (-2, -1, 1, 2)]
        columns.append((f[0] - 8.0 * f[1] + 8.0 * f[2] - f[3]) / (12.0 * step))
    return np.stack(columns, axis=-1)


def off(found, expected, loads, order):
    """Largest difference of derivatives over the peak loads, for changes by `SIZES`."""
    peak = np.abs(loads[:, :6]).max(axis=0).reshape(-1, *[1] * order)
    scale = SIZES if order == 1 else SIZES[:, None] * SIZES
    return np.abs((found - expected) * scale / peak).max()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("width", [0.005, 0.05])
def test_jacobian_is_the_derivative_of_the_loads(formulation, family, width):
    model = smoothable(formulation, family, width)
    poses = poses_about(model, 60)
    loads, jacobian, _ = arrays(model, poses)
    wanted = central(lambda p: model.loads(p).array[:, :6], poses, 1e-4 * SIZES)
    tolerance = 1e-6 if width < 0.01 else 1e-8
    assert off(jacobian, wanted, loads, 1) < tolerance


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_hessian_is_the_derivative_of_the_jacobian(formulation, family):
    model = smoothable(formulation, family)
    check_hessians(model, poses_about(model, 60))


def check_hessians(model, poses):
    loads = model.loads(poses).array
    found = model.loads(poses, 2).hessian
    wanted = central(lambda p: model.loads(p, 1).jacobian, poses, 2e-5 * SIZES)
    assert off(found, wanted, loads, 2) < 3e-7
    assert_allclose(found, np.swapaxes(found, 2, 3), rtol=1e-9, atol=1e-9 * np.abs(found).max())
    assert (np.abs(found).max(axis=(1, 2, 3)) > 0.0).sum() > 0.3 * len(poses)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_hessian_without_smoothing_inside_the_box(formulation):
    model = smoothable(formulation, "polynomial", 0.0)
    poses = trained(model, 100, low=-0.9, high=0.95)
    loads = model.loads(poses).array
    inside = loads[:, 1] > 5e-3 * loads[:, 1].max()
    assert inside.sum() > 25
    wanted = central(lambda p: model.loads(p, 1).jacobian, poses[inside], 2e-5 * SIZES)
    assert off(model.loads(poses[inside], 2).hessian, wanted, loads[inside], 2) < 3e-7


def test_knee_sums_up_its_compartments_and_keeps_its_kind(tmp_path):
    parts = [smoothable("inverted", family, 0.0) for family in ("kriging", "network")]
    knee = knee_of(*parts, {"name": "made"})
    smooth = knee.smoothed()
    assert isinstance(smooth, ContactSurrogate)
    assert smooth.header == knee.header
    pose = Pose.from_array(poses_about(parts[0], 40)[20])
    assert_array_equal(
        smooth.loads(pose, 2).hessian[1],
        smooth.compartment("lateral").loads([pose.array], 2).hessian[0],
    )
    assert {part.smoothing for part in smooth.parts} == {RECOMMENDED_SMOOTHING}
    surrogates.save(smooth, tmp_path / "smooth.npz")
    read = surrogates.load(tmp_path / "smooth.npz")
    assert_array_equal(read.loads(pose, 2).hessian, smooth.loads(pose, 2).hessian)
    assert read.compartment("medial").smoothing == RECOMMENDED_SMOOTHING


def test_heights_below_the_path_by_the_fall():
    """Beyond the largest load the height falls at a constant rate: F grows as the depth squared."""
    model = smoothable("inverted", "polynomial")
    pose = trained(model, 1, low=1.0)[0] - HALF_HEIGHT * np.eye(6)[4]
    deeper = pose - HALF_HEIGHT * np.eye(6)[4]
    roots = np.sqrt(model.loads([pose, deeper]).array[:, 1] / model.largest)
    # s = 2 root - 1 falls by one for `fall`
    assert roots[1] - roots[0] == pytest.approx(0.5 * HALF_HEIGHT / model.fall, rel=1e-9)
