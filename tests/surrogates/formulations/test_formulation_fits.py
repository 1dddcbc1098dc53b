"""Fits of the formulations: joint, weighted, checked by folds; and where more samples are taken."""

from dataclasses import replace
from functools import cache

import manufactured
import numpy as np
import pytest
from compartment_twin import poses_of
from manufactured import truth
from surrogate_arrays import arrays

from surrogates.families.cross_validation import CrossCheck
from surrogates.families.kriging import local_error
from surrogates.formulations.compartment_fit import (
    Fitter,
    fit_compartment,
)
from surrogates.formulations.selection import largest_errors, load_error

FORMULATIONS = manufactured.ALL


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_one_regressor_of_all_outputs_gives_the_same_numbers(formulation):
    true = truth(formulation)
    trained = manufactured.train(true, joint=True)
    model = trained.surrogate
    assert [part.outputs for part in model.regressors[1:]] == [0, 0]
    separate = manufactured.train(true)
    assert list(trained.checks) == ["+".join(separate.checks)]
    poses = poses_of(model, 20)
    for ours, theirs in zip(arrays(model, poses), arrays(separate.surrogate, poses), strict=True):
        size = np.abs(theirs).max(axis=0)
        size = np.where(size > 0.0, size, 1.0)
        np.testing.assert_allclose(ours / size, theirs / size, rtol=0, atol=1e-9)
    if formulation == "inverted":
        for ours, theirs in zip(
            model.at_load(poses, np.full(20, 500.0)),
            separate.surrogate.at_load(poses, np.full(20, 500.0)),
            strict=True,
        ):
            np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_samples_and_outputs_have_their_influence(formulation, joint, weighted):
    """In a joint fit area, pressures and centre, the last six outputs, have one of their own."""
    true = manufactured.truth(formulation)
    samples = true.samples(manufactured.design())
    weights = np.linspace(1.0, 2.0, len(samples.poses))
    samples = replace(samples, weights=weights if weighted else None)
    given = []

    def fit(x, y, weights):
        given.append((y, weights))
        return manufactured.fitter().fit(x, y, None)

    fitter = Fitter(fit, joint, peak_influence=4.0, quantities_influence=0.1)
    fit_compartment(formulation, true.space, samples, fitter, true.degree)
    if not joint:
        for _, found in given:
            np.testing.assert_array_equal(found, samples.weights)
        return
    ((outputs, found),) = given
    ratio = found / (weights if weighted else np.ones_like(weights))[:, None]
    np.testing.assert_allclose(ratio, [[*[1.0] * 6, 0.1, 0.4, *[0.1] * 4]] * len(ratio))
    root = (samples.loads[:, 1] / true.space.load[1]) ** 0.5
    learnt = samples.loads[:, 6:8] / (root[:, None] if formulation == "inverted" else 1.0)
    np.testing.assert_allclose(outputs[:, 6:8], learnt, rtol=1e-9)


@cache
def trained():
    """A fit to samples of the lower half of the flexion, and the inputs of its samples."""
    true = manufactured.truth()
    x = manufactured.design()
    samples = true.samples(x[x[:, 0] < 0.1])
    fit = manufactured.fitter("kriging")
    return fit_compartment("inverted", true.space, samples, fit, true.degree), samples


def candidates(count=200, seed=6):
    true = manufactured.truth()
    x = manufactured.draw(count, seed)
    poses = true.poses(x[:, :5], true.over(x))
    return poses, true.loads(poses)[:, 1]


def error_of_the_load(surrogate, check, poses, load):
    """The expected error of the load at each candidate, by differences of `evaluate`."""
    inputs = surrogate.inputs_at_load(poses, load)
    at = surrogate.at_load(poses, load)[0]
    step = 1e-7 * np.eye(6)[4]
    ahead, behind = (surrogate.loads(at + s * step).array[:, 1] for s in (1, -1))
    steep = np.abs(ahead - behind) / 2e-7
    scale = local_error(surrogate.regressors[0], check, inputs)
    return steep * surrogate.regressors[0].standard_error(inputs)[:, 0] * scale


def test_candidates_are_taken_where_the_error_is_large_and_never_twice():
    (surrogate, checks), _ = trained()
    poses, load = candidates()
    error = error_of_the_load(surrogate, checks["height"], poses, load)
    every = largest_errors(surrogate, checks["height"], poses, load, len(poses))
    assert sorted(every.tolist()) == list(range(len(poses)))
    assert every[0] == np.argmax(error)
    assert np.median(error[every[:25]]) > 2.0 * np.median(error)
    few = largest_errors(surrogate, checks["height"], poses, load, 25)
    np.testing.assert_array_equal(few, every[:25])


def test_error_of_the_load_is_that_of_the_height_times_its_fall():
    (surrogate, _), samples = trained()
    inputs = surrogate.inputs_at_load(samples.poses, samples.loads[:, 1])
    rows = np.arange(5, 60, 3)
    residuals = np.random.default_rng(0).normal(0.0, 1e-6, (len(rows), 1))
    check = CrossCheck(rows, residuals, np.abs(residuals), "leave-one-out")
    at = surrogate.at_load(samples.poses[rows], samples.loads[rows, 1])[0]
    shift = residuals * np.eye(6)[4]
    moved = surrogate.loads(at + shift).array - surrogate.loads(at - shift).array
    expected = np.sqrt(np.mean((0.5 * moved[:, 1]) ** 2)) / 2500.0
    assert load_error(surrogate, check, inputs) == pytest.approx(expected, rel=1e-3)
    # Only the first output is the height.
    wide = check._replace(residuals=np.column_stack([residuals, 9.0 * np.ones(len(rows))]))
    assert load_error(surrogate, wide, inputs) == load_error(surrogate, check, inputs)
