"""Infill: where a sample would change the load most, and the error of the load that is left."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import manufactured
import numpy as np
import pytest

from surrogates.families.cross_validation import CrossCheck
from surrogates.families.kriging import local_error
from surrogates.formulations.compartment_fit import fit_compartment
from surrogates.formulations.infill import largest_errors, load_error


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
    ahead, behind = (surrogate.evaluate_batch(at + s * step)[0][:, 1] for s in (1, -1))
    steep = np.abs(ahead - behind) / 2e-7
    scale = local_error(surrogate.regressors[0], check, inputs)
    return steep * surrogate.regressors[0].standard_error(inputs)[:, 0] * scale


def test_the_first_candidate_is_that_of_the_largest_error_of_the_load():
    (surrogate, checks), _ = trained()
    poses, load = candidates()
    expected = error_of_the_load(surrogate, checks["height"], poses, load)
    found = largest_errors(surrogate, checks["height"], poses, load, 1)
    assert found.tolist() == [int(np.argmax(expected))]


def test_candidates_are_taken_where_the_error_is_large_and_never_twice():
    (surrogate, checks), _ = trained()
    poses, load = candidates()
    found = largest_errors(surrogate, checks["height"], poses, load, 25)
    assert len(set(found.tolist())) == 25
    error = error_of_the_load(surrogate, checks["height"], poses, load)
    assert np.median(error[found]) > 2.0 * np.median(error)
    every = largest_errors(surrogate, checks["height"], poses, load, len(poses))
    assert sorted(every.tolist()) == list(range(len(poses)))
    np.testing.assert_array_equal(every[:25], found)


def test_two_of_the_same_place_are_not_taken_one_after_the_other():
    (surrogate, checks), _ = trained()
    poses, load = candidates()
    first = largest_errors(surrogate, checks["height"], poses, load, 1)[0]
    poses, load = np.vstack([poses[first], poses]), np.append(load[first], load)
    found = largest_errors(surrogate, checks["height"], poses, load, 10)
    assert not {0, first + 1} <= set(found.tolist())


def test_a_sample_taken_lowers_the_error_of_the_load():
    (surrogate, checks), samples = trained()
    true = manufactured.truth()
    poses, load = candidates()
    before = surrogate.evaluate_batch(poses)[0][:, 1] - load
    found = largest_errors(surrogate, checks["height"], poses, load, 40)
    more = replace(
        samples,
        poses=np.vstack([samples.poses, poses[found]]),
        loads=np.vstack([samples.loads, true.loads(poses[found])]),
    )
    fit = manufactured.fitter("kriging")
    better = fit_compartment("inverted", true.space, more, fit, true.degree).surrogate
    others = np.setdiff1d(np.arange(len(poses)), found)
    after = better.evaluate_batch(poses)[0][:, 1] - load
    assert np.sqrt(np.mean(after[others] ** 2)) < 0.5 * np.sqrt(np.mean(before[others] ** 2))


def test_error_of_the_load_is_that_of_the_height_times_its_fall():
    (surrogate, _), samples = trained()
    inputs = surrogate.inputs_at_load(samples.poses, samples.loads[:, 1])
    rows = np.arange(5, 60, 3)
    residuals = np.random.default_rng(0).normal(0.0, 1e-6, (len(rows), 1))
    check = CrossCheck(rows, residuals, np.abs(residuals), "leave-one-out")
    at = surrogate.at_load(samples.poses[rows], samples.loads[rows, 1])[0]
    shift = residuals * np.eye(6)[4]
    moved = surrogate.evaluate_batch(at + shift)[0] - surrogate.evaluate_batch(at - shift)[0]
    expected = np.sqrt(np.mean((0.5 * moved[:, 1]) ** 2)) / 2500.0
    assert load_error(surrogate, check, inputs) == pytest.approx(expected, rel=1e-3)
    # Only the first output is the height.
    wide = check._replace(residuals=np.column_stack([residuals, 9.0 * np.ones(len(rows))]))
    assert load_error(surrogate, wide, inputs) == load_error(surrogate, check, inputs)


def test_the_error_counts_with_the_degree_of_the_load():
    true = manufactured.truth(degree=1.8)
    surrogate, checks = manufactured.train(true, "kriging")
    poses, load = candidates(100)
    expected = error_of_the_load(surrogate, checks["height"], poses, load)
    found = largest_errors(surrogate, checks["height"], poses, load, 1)
    assert found.tolist() == [int(np.argmax(expected))]
