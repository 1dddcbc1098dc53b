"""Fits of the formulations: joint, weighted, as arrays; what is refused."""

from __future__ import annotations

from dataclasses import replace

import manufactured
import numpy as np
import pytest
from compartment_twin import poses_of, scattered
from manufactured import truth

from surrogates.families.regressor import no_outputs
from surrogates.formulations.compartment_fit import (
    CompartmentSurrogate,
    Fitter,
    FormulationSettings,
    Samples,
    fit_compartment,
)
from surrogates.sampling.condyle_coordinates import CondyleCoordinates

FORMULATIONS = manufactured.ALL
FAMILIES = tuple(manufactured.FAMILIES)
BOTH = [(name, family) for name in FORMULATIONS for family in FAMILIES]


@pytest.fixture(scope="module", params=BOTH, ids="-".join)
def model(request):
    return manufactured.compartment(*request.param)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_one_regressor_of_all_outputs_gives_the_same_numbers(formulation):
    true = truth(formulation)
    trained = manufactured.train(true, joint=True)
    model = trained.surrogate
    assert [part.outputs for part in model.regressors[2:]] == [0, 0]
    names = [name for name in trained.checks if name != "reference"]
    separate = manufactured.train(true)
    assert names == ["+".join(name for name in separate.checks if name != "reference")]
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
    true = truth("touch_stiffness")
    trained = manufactured.train(true, "kriging")
    assert list(trained.checks) == ["reference", "stiffness", "ratios", "quantities"]
    assert trained.checks["reference"].residuals.shape == (240, 1)
    assert trained.checks["ratios"].residuals.shape[1] == 5
    assert trained.checks["quantities"].residuals.shape[1] == 6


@pytest.mark.parametrize("joint", [False, True])
def test_folds_check_every_regressor_by_fitting_again(joint):
    """Every row is predicted once by fits without it; the surrogate is the same."""
    true = truth()
    samples = replace(true.samples(manufactured.design()), reference=None)
    settings = manufactured.settings_of(true)
    fit = manufactured.fitter("kriging", joint)
    bare = fit_compartment("inverted", true.space, samples, fit, settings)
    folded = fit_compartment("inverted", true.space, samples, fit._replace(folds=3), settings)
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


def test_weights_reach_the_fits_whose_rows_they_are_of():
    """First contact has samples of its own, and no weights."""
    true = truth()
    samples = true.samples(manufactured.design())
    weights = np.linspace(1.0, 2.0, len(samples.poses))
    given = []

    def fit(x, y, weights):
        given.append(None if weights is None else len(weights))
        return manufactured.fitter().fit(x, y, None)

    settings = manufactured.settings_of(true)
    weighed = replace(samples, weights=weights)
    fit_compartment("inverted", true.space, weighed, Fitter(fit), settings)
    assert given == [None, 240, 240]
    given.clear()
    fit_compartment("inverted", true.space, replace(weighed, reference=None), Fitter(fit), settings)
    assert given == [240, 240, 240]


def test_arrays_round_trip(model):
    again = CompartmentSurrogate.from_arrays(model.formulation, model.space, model.to_arrays())
    for ours, theirs in zip(
        model.evaluate_batch(scattered(model)), again.evaluate_batch(scattered(model)), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    assert model.standard_error(scattered(model)).tobytes() == (
        again.standard_error(scattered(model)).tobytes()
    )


def test_missing_arrays_are_named():
    good = manufactured.compartment("touch_stiffness")
    arrays = good.to_arrays()
    for name in ("constants", "coordinates/half", "first/weights", "reference/points"):
        others = {key: array for key, array in arrays.items() if key != name}
        with pytest.raises(ValueError, match=f"missing .*{name.split('/')[-1]}"):
            CompartmentSurrogate.from_arrays(good.formulation, good.space, others)
    bare = {key: array for key, array in arrays.items() if not key.startswith("reference/")}
    with pytest.raises(ValueError, match=r"expected \(1, 12\) outputs for 'touch_stiffness'"):
        CompartmentSurrogate.from_arrays(good.formulation, good.space, bare)


def test_regressors_of_other_sizes_are_refused():
    """The kernels do not check what they read."""
    good = manufactured.compartment()
    reference, height, ratios, quantities = good.regressors
    with pytest.raises(ValueError, match=r"expected \(0, 12\) outputs for 'inverted', found"):
        replace(good, regressors=(reference, ratios, ratios, quantities))
    with pytest.raises(ValueError, match="expected 5 and 6 inputs, found 6 and"):
        replace(good, regressors=(height, height, ratios, quantities))
    with pytest.raises(ValueError, match="expected 5 and 6 inputs, found 5 and"):
        replace(good, regressors=(reference, no_outputs(5), ratios, quantities))
    twelve = manufactured.compartment("direct").regressors[1]
    with pytest.raises(ValueError, match="expected the height in the first one"):
        replace(good, regressors=(reference, no_outputs(6), twelve, no_outputs(6)))
    stiff = manufactured.compartment("touch_stiffness")
    with pytest.raises(ValueError, match=r"expected \(1, 12\) outputs for 'touch_stiffness'"):
        replace(stiff, regressors=(reference, *stiff.regressors[1:]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"formulation": "inverse"}, "formulation: expected one of"),
        ({"largest": 0.0}, "largest: expected > 0"),
        ({"degree": 0.9}, "degree: expected >= 1"),
        ({"reference_root": 1.1}, "reference_root: expected"),
        ({"depth": [0.0, 0.0]}, "depth: expected a half range > 0"),
        ({"depth": [0.0]}, r"depth: expected shape \(2\)"),
    ],
)
def test_bad_constants_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(manufactured.compartment(), **change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loads": lambda s: s.loads * (np.arange(240) != 3)[:, None]}, "axial load > 0 .* 0 N"),
        ({"loads": lambda s: s.loads[:-1]}, r"loads: expected shape \(240, 12\)"),
        ({"poses": lambda s: s.poses[:, :5]}, r"poses: expected shape \(any, 6\)"),
        ({"energy": lambda s: np.zeros(240)}, "energy: expected > 0 J in every sample, found 0"),
        ({"energy": lambda s: np.ones(3)}, r"energy: expected shape \(240\)"),
        ({"reference": lambda s: np.zeros((3, 5))}, r"reference: expected shape \(any, 6\)"),
        ({"weights": lambda s: np.ones(7)}, r"weights: expected shape \(240\)"),
    ],
)
def test_bad_samples_are_refused(change, message):
    good = truth().samples(manufactured.design())
    changed = {name: change_(good) for name, change_ in change.items()}
    with pytest.raises(ValueError, match=message):
        replace(good, **changed)


def test_no_samples_are_refused():
    with pytest.raises(ValueError, match="poses: expected at least one sample"):
        Samples(np.zeros((0, 6)), np.zeros((0, 12)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"load_degree": 0.5}, "load_degree: expected >= 1"),
        ({"reference_load": -1.0}, "reference_load: expected >= 0 N"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        FormulationSettings(**settings)


def test_formulations_say_what_they_lack():
    true = truth("inverted")
    samples = replace(true.samples(manufactured.design()), reference=None)
    fit = manufactured.fitter()
    with pytest.raises(ValueError, match="'energy' needs their stored energy, found none"):
        fit_compartment("energy", true.space, samples, fit)
    with pytest.raises(ValueError, match="need poses at the reference load, found none"):
        fit_compartment("touch_stiffness", true.space, samples, fit)
    with pytest.raises(ValueError, match="formulation: expected one of"):
        fit_compartment("inverse", true.space, samples, fit)
    level = samples.poses.copy()
    u, over, points = CondyleCoordinates.fit(level, samples.loads, at_centre=False).variables(level)
    del u, points
    level[:, 4] -= over
    with pytest.raises(ValueError, match="poses: expected samples of different heights"):
        fit_compartment("direct", true.space, replace(samples, poses=level[:1].repeat(9, 0),
                                                      loads=samples.loads[:9]), fit)  # fmt: skip


def test_a_regressor_without_outputs_evaluates_to_nothing():
    for inputs in (5, 6):
        assert no_outputs(inputs).predict(np.zeros((3, inputs))).shape == (3, 0)
