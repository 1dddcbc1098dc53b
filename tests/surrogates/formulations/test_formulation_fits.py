"""Fits of the formulations: joint, weighted, as arrays; what is refused."""

from __future__ import annotations

from dataclasses import replace

import manufactured
import numpy as np
import pytest
from compartment_twin import poses_of
from manufactured import truth

from surrogates.families.regressor import no_outputs
from surrogates.formulations.compartment_fit import (
    Fitter,
    fit_compartment,
)

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
    for ours, theirs in zip(
        model.evaluate_batch(poses), separate.surrogate.evaluate_batch(poses), strict=True
    ):
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


def test_checks_are_of_the_samples():
    trained = manufactured.train(truth(), "kriging")
    shapes = {name: check.residuals.shape for name, check in trained.checks.items()}
    assert shapes == {"height": (240, 1), "ratios": (240, 5), "quantities": (240, 6)}


@pytest.mark.parametrize("joint", [False, True])
def test_folds_check_every_regressor_by_fitting_again(joint):
    """Every row is predicted once by fits without it; the surrogate is the same."""
    true = truth()
    samples = true.samples(manufactured.design())
    fit = manufactured.fitter("kriging", joint)
    bare = fit_compartment("inverted", true.space, samples, fit, true.degree)
    folded = fit_compartment("inverted", true.space, samples, fit._replace(folds=3), true.degree)
    names = ["height+ratios+quantities"] if joint else ["height", "ratios", "quantities"]
    assert list(bare.checks) == names
    assert set(folded.checks) == {*names, *(f"{name}, 3 folds" for name in names)}
    for name in names:
        check = folded.checks[f"{name}, 3 folds"]
        assert check.kind == "k-fold"
        assert sorted(check.rows.tolist()) == list(range(240))
        assert check.residuals.shape == bare.checks[name].residuals.shape
    poses = poses_of(bare.surrogate)
    for ours, theirs in zip(
        bare.surrogate.evaluate_batch(poses), folded.surrogate.evaluate_batch(poses), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_weights_reach_the_fits():
    true = truth()
    samples = true.samples(manufactured.design())
    given = []

    def fit(x, y, weights):
        given.append(None if weights is None else len(weights))
        return manufactured.fitter().fit(x, y, None)

    weighed = replace(samples, weights=np.linspace(1.0, 2.0, len(samples.poses)))
    for each in (weighed, samples):
        fit_compartment("inverted", true.space, each, Fitter(fit), true.degree)
    assert given == [240, 240, 240, None, None, None]


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_peak_pressure_has_more_influence_on_a_joint_fit(formulation, weighted):
    true = manufactured.truth(formulation)
    samples = true.samples(manufactured.design())
    peaks = samples.loads[:, 7]
    weights = np.linspace(1.0, 2.0, len(peaks))
    samples = replace(samples, weights=weights if weighted else None)
    given = []

    def fit(x, y, weights):
        given.append((y, weights))
        return manufactured.fitter().fit(x, y, None)

    fitter = Fitter(fit, joint=True, peak_influence=4.0)
    fit_compartment(formulation, true.space, samples, fitter, true.degree)
    ((outputs, found),) = given
    ratio = found / (weights if weighted else np.ones_like(weights))[:, None]
    (peak,) = np.flatnonzero(ratio[0] > 1.0)
    expected = np.ones(outputs.shape)
    expected[:, peak] = 4.0
    np.testing.assert_allclose(ratio, expected)
    root = (samples.loads[:, 1] / true.space.load[1]) ** 0.5
    learnt = peaks / root if formulation == "inverted" else peaks
    np.testing.assert_allclose(outputs[:, peak], learnt, rtol=1e-9)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_quantities_have_less_influence_on_a_joint_fit(formulation):
    """Area, pressures and centre of pressure, which are the last six outputs."""
    true = manufactured.truth(formulation)
    samples = true.samples(manufactured.design())
    given = []

    def fit(x, y, weights):
        given.append((y, weights))
        return manufactured.fitter().fit(x, y, None)

    fitter = Fitter(fit, joint=True, peak_influence=4.0, quantities_influence=0.1)
    fit_compartment(formulation, true.space, samples, fitter, true.degree)
    ((outputs, found),) = given
    np.testing.assert_allclose(found[0], [*[1.0] * 6, 0.1, 0.4, *[0.1] * 4])
    root = (samples.loads[:, 1] / true.space.load[1]) ** 0.5
    area = samples.loads[:, 6]
    learnt = area / root if formulation == "inverted" else area
    np.testing.assert_allclose(outputs[:, 6], learnt, rtol=1e-9)


def test_a_regressor_without_outputs_evaluates_to_nothing():
    for inputs in (5, 6):
        assert no_outputs(inputs).predict(np.zeros((3, inputs))).shape == (3, 0)
