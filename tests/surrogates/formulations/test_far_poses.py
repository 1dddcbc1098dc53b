"""Poses far outside the box: loads are bounded and flagged, and derivatives are theirs."""

from dataclasses import replace

import manufactured
import numpy as np
import pytest
from compartment_twin import poses_of, wrench_error
from made_knees import HALF_HEIGHT
from surrogate_arrays import arrays

from foundation.base.flags import FlagKind
from foundation.base.pose import Pose
from foundation.core.library import FARTHEST, FOLLOWED, MOST_LOAD
from surrogates.formulations.contact_surrogate import ContactSurrogate

MODELS = [(name, family) for name in manufactured.ALL for family in manufactured.FAMILIES]


@pytest.fixture(scope="module", params=MODELS, ids="-".join)
def model(request):
    return manufactured.compartment(*request.param)


def away(model, count=400, seed=3):
    """Poses of which some coordinates are 1e-3 to 1e3 times the box away from the path."""
    rng = np.random.default_rng(seed)
    size = np.append(model.space.centre_and_half[1][:5], HALF_HEIGHT)[[0, 1, 2, 3, 5, 4]]
    factors = 10.0 ** rng.uniform(-3.0, 3.0, (count, 6)) * rng.choice([-1.0, 1.0], (count, 6))
    return poses_of(model, count, seed) + factors * size * (rng.random((count, 6)) < 0.5)


def test_loads_are_bounded_and_flagged(model):
    poses = away(model)
    loads, jacobian, x = arrays(model, poses)
    offsets = poses - model.space.along_path(poses[:, 0])
    assert np.isfinite(loads[:, :9]).all()
    assert np.isfinite(jacobian).all()
    assert loads[:, 1].max() <= MOST_LOAD * model.largest_load * (1.0 + 1e-9)
    # forces and moments of a trained load, and an arm that is bounded as well
    trained = np.abs(model.loads(poses_of(model, 200, 1, 1.0)).array).max(axis=0)
    assert np.abs(loads[:, :3]).max() <= 2.0 * MOST_LOAD * trained[:3].max()
    assert np.abs(loads[:, 3:6]).max() <= 2.0 * MOST_LOAD * trained[:3].max() * 2.0 * FARTHEST
    outside = (np.abs(x) > 1.0 + 1e-9).any(axis=1)
    beyond = np.abs(offsets[:, [1, 2, 3, 5]]) > model.space.offsets * (1.0 + 1e-9)
    assert outside[beyond.any(axis=1) | (np.abs(offsets[:, 4]) > FARTHEST)].all()
    assert 0.3 < outside.mean() < 1.0


@pytest.mark.parametrize("width", [0.0, 0.05])
def test_derivatives_beyond_are_those_of_the_loads(model, width):
    rough = replace(model, smoothing=width)
    middle, half = rough.space.flexion.mean(), 0.5 * np.ptp(rough.space.flexion)
    flexion = middle + half * np.linspace(1.02, FOLLOWED + 0.3, 240)
    poses = poses_of(rough, 240, 4)
    poses += rough.space.along_path(flexion) - rough.space.along_path(poses[:, 0])
    poses[:, 0] = flexion
    # Beyond the largest load the Jacobian leaves out the change of the tangent.
    poses = poses[np.abs(rough.loads(poses).variables[:, 5]) < 0.99]
    assert len(poses) > 20
    found = rough.loads(poses, 1).jacobian
    slopes = manufactured.differences(lambda p: rough.loads(p).array[:, :6], poses)
    assert wrench_error(found, slopes.transpose(0, 2, 1)).max() < 1e-5
    if width > 0.0:
        return
    deep = poses_of(rough, 5, 4)
    deep[:, 4] -= 0.5 * FARTHEST
    for far in (deep, deep + FARTHEST * np.eye(6)[4]):
        assert (rough.loads(far, 1).jacobian[:, 1, 4] == 0.0).all()
    loads = rough.loads(deep).array
    if rough.learns_heights:
        np.testing.assert_allclose(loads[:, 1], MOST_LOAD * rough.largest, rtol=1e-12)


def test_loads_are_continuous_where_they_are_held(model):
    """Flexion at the end of the path, and the height at the largest load and at `FARTHEST`."""
    pose = poses_of(model, 1, 5)[0]
    middle, half = model.space.flexion.mean(), 0.5 * np.ptp(model.space.flexion)
    along = middle + FOLLOWED * half + np.array([-1e-12, 1e-12])
    turned = np.tile(pose, (2, 1))
    turned[:, 0] = along
    turned[:, 4] = model.space.along_path(along)[0, 4]
    loads = model.loads(turned).array[:, :9]
    np.testing.assert_allclose(loads[0], loads[1], rtol=1e-6, atol=1e-6)
    falling = np.tile(pose, (4000, 1))
    falling[:, 4] += np.linspace(2e-3, -1.1 * FARTHEST, 4000)
    loads = model.loads(falling).array
    assert (np.diff(loads[:, 1]) >= -1e-9 * model.largest).all() or not model.learns_heights
    steps = np.abs(np.diff(loads[:, :6], axis=0)).max(axis=0)
    assert (steps <= 0.1 * np.ptp(loads[:, :6], axis=0)).all()


@pytest.mark.parametrize("rise", [0.4, -0.4])
def test_a_height_of_another_unit_is_told(rise):
    knee = ContactSurrogate({"only": manufactured.compartment("inverted", "polynomial")})
    pose = Pose.from_array(poses_of(knee.parts[0], 1, 6)[0] + rise * np.eye(6)[4])
    loads = knee.loads(pose)
    (flag,) = loads.flags
    if rise < 0.0:
        assert flag.kind is FlagKind.OUTSIDE_LOAD
        return
    assert loads.force[1] == 0.0
    assert flag.kind is FlagKind.OUTSIDE_SUPERIOR
    assert "superior by 35" in str(flag)
    assert len(knee.on_leaving("clamp").loads([pose.array]).variables) == 1
