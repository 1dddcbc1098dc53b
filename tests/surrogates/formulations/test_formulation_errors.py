"""Heights at given loads and standard errors."""

from dataclasses import replace
from functools import cache

import manufactured
import numpy as np
import pytest
from compartment_twin import poses_of, twin_variables
from manufactured import truth

from surrogates.families.cross_validation import NORMAL_95
from surrogates.families.registry import fit_family
from surrogates.formulations.compartment_fit import Fitter, fit_compartment
from surrogates.formulations.training_data import Samples

FAMILIES = tuple(manufactured.FAMILIES)


@pytest.mark.parametrize("family", FAMILIES)
def test_at_load_is_the_inverse_of_evaluate(family):
    model = manufactured.compartment("inverted", family)
    poses = poses_of(model, 30)
    loads = model.loads(poses).array
    asked = poses.copy()
    asked[:, 4] = 123.0  # the height is not read
    found, given = model.at_load(asked, loads[:, 1])
    np.testing.assert_allclose(found, poses, rtol=0, atol=1e-12)
    size = np.abs(loads).max(axis=0)
    np.testing.assert_allclose(given / size, loads / size, rtol=0, atol=1e-8)


def test_at_load_holds_poses_outside_the_box_as_evaluate_does():
    model = manufactured.compartment()
    inside = poses_of(model, 12)
    around = model.space.path.poses(inside[:, 0])
    poses = around + 2.5 * (inside - around)
    poses[:6, 0] += 1.3
    axial = np.linspace(50.0, 2300.0, 12)
    found, given = model.at_load(poses, axial)
    np.testing.assert_array_equal(found[:, [0, 1, 2, 3, 5]], poses[:, [0, 1, 2, 3, 5]])
    loads = model.loads(found).array
    size = np.abs(loads).max(axis=0)
    np.testing.assert_allclose(loads / size, given / size, rtol=0, atol=1e-7)


def nudged(model, part, output, step):
    """The same model with one output of one regressor raised by a step."""
    offset = model.regressors[part].y_offset.copy()
    offset[output] += step
    parts = list(model.regressors)
    parts[part] = replace(parts[part], y_offset=offset)
    return replace(model, regressors=tuple(parts))


def propagated(model, answer, inputs):
    """Errors of what `answer(model)` (N, m) gives, the outputs' errors being independent."""
    total = 0.0
    for part, regressor in enumerate(model.regressors):
        errors = regressor.standard_error(inputs) if regressor.outputs else np.empty((0, 0))
        for k in range(regressor.outputs):
            step = 0.1 * np.median(errors[:, k])
            ahead = answer(nudged(model, part, k, step))
            slope = (ahead - answer(nudged(model, part, k, -step))) / (2.0 * step)
            total = total + (slope * errors[:, [k]]) ** 2
    return np.sqrt(total)


@cache
def noisy(degree=2.0, family="kriging"):
    """A compartment of noisy samples, whose errors are not those of rounding."""
    true = truth(degree=degree)
    samples = true.samples(manufactured.design(8, 30))
    rng = np.random.default_rng(3)
    poses, loads = samples.poses.copy(), samples.loads.copy()
    poses[:, 4] += rng.normal(0.0, 2e-6, len(poses))
    noise = 0.02 * rng.normal(size=(len(loads), 11)) * np.abs(loads[:, 1:]).mean(axis=0)
    loads[:, [0, 2]] += noise[:, :2] * loads[:, [1]] / 2500.0
    given = Samples(poses, loads)
    fit = manufactured.fitter(family)
    if family == "kriging":
        own = replace(manufactured.FAMILIES["kriging"], nugget=(1e-9, 1e-1), iterations=25)
        fit = Fitter(lambda x, y, weights: fit_family("kriging", x, y, own))
    return fit_compartment("inverted", true.space, given, fit, degree).surrogate


@pytest.mark.parametrize("degree", [2.0, 1.8])
def test_errors_at_a_load_are_those_of_the_outputs(degree):
    model = noisy(degree)
    poses = poses_of(model, 10)
    axial = np.linspace(50.0, 2400.0, 10)
    inputs = model.inputs_at_load(poses, axial)

    def answer(changed):
        found, loads = changed.at_load(poses, axial)
        return np.column_stack([found[:, 4], loads])

    height, loads = model.errors_at_load(poses, axial)
    expected = propagated(model, answer, inputs)
    found = np.column_stack([height, loads])
    assert (found[:, 2] == 0.0).all()  # the axial load is given
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("degree", [2.0, 1.8])
def test_errors_at_a_pose_are_those_of_the_outputs(degree):
    model = noisy(degree)
    poses = poses_of(model, 10)
    axial = model.loads(poses).array[:, 1]
    inputs = model.inputs_at_load(poses, axial)
    expected = propagated(model, lambda changed: changed.loads(poses).array, inputs)
    found = model.standard_error(poses)
    assert (found[:, :9] > 0.0).all()
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-12)


def test_errors_of_learnt_loads_are_those_of_the_outputs():
    model = manufactured.compartment("direct", "kriging")
    poses = poses_of(model, 10)
    u, over, _, _ = twin_variables(model, poses)
    inputs = np.column_stack([u, (over - model.depth[0]) / model.depth[1]])
    expected = propagated(model, lambda changed: changed.loads(poses).array, inputs)
    np.testing.assert_allclose(model.standard_error(poses), expected, rtol=1e-4, atol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_errors_cover_the_truth(family):
    """Of noise they are those of the mean, hence small; never far too small or large."""
    model = noisy(family=family)
    true = truth()
    x = manufactured.draw(300, 21)
    poses = true.poses(x[:, :5], true.over(x))
    noise = np.random.default_rng(8).normal(0.0, 2e-6, len(poses))
    loads = true.loads(poses)
    height, _ = model.errors_at_load(poses, loads[:, 1])
    found = model.at_load(poses, loads[:, 1])[0]
    inside = np.abs(poses[:, 4] + noise - found[:, 4]) < NORMAL_95 * height
    assert 0.9 < inside.mean() <= 1.0
    assert np.median(height) < 1e-5
    shifted = poses + noise[:, None] * np.eye(6)[4]
    error = np.abs(model.loads(shifted).array[:, 1] - loads[:, 1])
    covered = error < NORMAL_95 * model.standard_error(shifted)[:, 1]
    assert 0.9 < covered.mean() <= 1.0
