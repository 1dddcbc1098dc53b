"""Choice of the cheapest surrogate of a wanted error, and compression of Kriging."""

from dataclasses import replace
from functools import cache

import manufactured
import numpy as np

from foundation.base.errors import InputError
from surrogates.families.network import NetworkSettings
from surrogates.families.registry import fit_family
from surrogates.families.spline import SplineSettings
from surrogates.formulations import selection
from surrogates.formulations.compartment_fit import Fitter, fit_compartment
from surrogates.formulations.selection import (
    Drawn,
    Fitters,
    compressions,
    fit_cheapest,
)
from surrogates.formulations.training_data import Samples

TRUE = manufactured.truth()
#: A network that is trained in a second, and is worse than a quadratic of a quadratic truth.
NETWORK = Fitter(
    lambda x, y, w: fit_family(
        "network", x, y, NetworkSettings(8, 1, base_degree=1, steps=300), None, w
    ),
    True,
)
KRIGING = replace(manufactured.FAMILIES["kriging"], trend="quadratic")
FITTERS = Fitters(Fitter(lambda x, y, w: fit_family("kriging", x, y, KRIGING)), (NETWORK,))
SPLINES = SplineSettings(degree=3, pieces=4)


def samples(count, noise=0.0):
    """Samples of the truth, their heights off by `noise` [m]."""
    x = np.concatenate([manufactured.design(), manufactured.draw(count, 3)])
    found = TRUE.samples(x)
    poses = found.poses.copy()
    poses[:, 4] += noise * np.random.default_rng(4).standard_normal(len(poses))
    return Samples(poses, found.loads)


@cache
def drawn(count=3000, kept=True):
    """Candidates of the truth, all or none of them feasible."""
    x = manufactured.draw(count, 5)
    poses = TRUE.poses(x[:, :5], TRUE.over(x))
    return Drawn(poses, TRUE.loads(poses)[:, 1], lambda loads: np.full(len(loads), kept))


def selected(found, wanted, candidates=None):
    return fit_cheapest(
        TRUE.space, found, candidates or drawn(), FITTERS, wanted, SPLINES, TRUE.degree
    )


def errors_at_poses(surrogate, seed=8):
    """RMS errors of forces and moments at poses over their peaks, and of the height [m]."""
    x = manufactured.draw(400, seed)
    poses = TRUE.poses(x[:, :5], TRUE.over(x))
    loads = TRUE.loads(poses)[:, :6]
    miss = surrogate.loads(poses).array[:, :6] - loads
    height = surrogate.at_load(poses, loads[:, 1])[0][:, 4] - poses[:, 4]
    nrmse = np.sqrt((miss**2).mean(axis=0)) / np.abs(loads).max(axis=0)
    return nrmse.max(), np.sqrt((height**2).mean())


def test_the_first_degree_that_reaches_the_wanted_error_is_taken():
    found = selected(samples(2500), 1e-4)
    assert {point.family for point in found.front} == {"spline"}
    assert found.chosen == len(found.front) - 1
    assert all(point.load_error > 1e-4 for point in found.front[:-1])
    assert found.point.load_error < 1e-4
    assert errors_at_poses(found.trained.surrogate)[0] < 1e-4


def test_out_of_reach_the_cheapest_of_about_the_least_error_is_taken():
    found = selected(samples(2500, noise=2e-6), 1e-5)
    families = [point.family for point in found.front]
    assert families[-1] == "network"
    assert families.count("spline") >= 2
    least = min(point.load_error for point in found.front)
    near = [point for point in found.front if point.load_error <= 1.1 * least]
    assert found.point.operations == min(point.operations for point in near)
    assert found.point.family == "spline"


def test_few_samples_are_learnt_by_kriging_and_compressed():
    found = selected(samples(40), 5e-3)
    assert found.front[0].family == "kriging"
    assert found.point.family == "spline of kriging"
    assert found.point.operations < found.front[0].operations
    assert not len(found.trained.surrogate.regressors[0].points)
    assert found.point.load_error <= 5e-3
    assert errors_at_poses(found.trained.surrogate)[0] < 3.0 * found.point.load_error


def test_without_candidates_kriging_stays():
    found = selected(samples(40), 1e-4, drawn(kept=False))
    assert [point.family for point in found.front] == ["kriging"]
    assert len(found.trained.surrogate.regressors[0].points)


def test_the_error_of_a_compression_is_in_its_residuals_and_standard_errors():
    few = samples(40)
    learnt = fit_compartment("inverted", TRUE.space, few, FITTERS.kriging, TRUE.degree)
    inputs = learnt.surrogate.inputs_at_load(drawn().poses, drawn().load)
    coarse, fine = (
        next(compressions(learnt, few, inputs, SplineSettings(degree=d, pieces=p), (252,)))
        for d, p in ((1, 2), (3, 4))
    )
    x = manufactured.draw(300, 9)
    poses = TRUE.poses(x[:, :5], TRUE.over(x))
    load = TRUE.loads(poses)[:, 1]
    for made, factor in ((coarse, 2.0), (fine, 5.0)):
        (check,) = made.checks.values()
        actual = np.abs(made.surrogate.at_load(poses, load)[0][:, 4] - poses[:, 4])
        rms = np.sqrt((actual**2).mean())
        own = np.sqrt((check.residuals[:, 0] ** 2).mean())
        assert rms / factor < own < rms * factor
        told = made.surrogate.errors_at_load(poses, load)[0]
        assert np.mean(actual <= 1.96 * told) > 0.6
    assert errors_at_poses(fine.surrogate)[0] < 0.2 * errors_at_poses(coarse.surrogate)[0]


def test_samples_of_low_weight_do_not_count_as_many(monkeypatch):
    monkeypatch.setattr(selection, "MOST_FOR_KRIGING", 300)
    found = samples(400)
    weights = np.where(np.arange(len(found.poses)) < 200, 1.0, 0.03)
    few = Samples(found.poses, found.loads, weights)
    chosen = selected(few, 1e-4)
    assert chosen.front[0].family == "kriging"
    assert chosen.front[0].size == 200


def test_a_load_that_is_always_zero_has_no_error():
    found = samples(2500)
    loads = found.loads.copy()
    loads[:, 0] = 0.0
    chosen = selected(Samples(found.poses, loads), 1e-3)
    assert np.isfinite(chosen.point.load_error)
    assert chosen.point.load_error < 1e-3


def test_samples_of_one_flexion_stay_with_kriging(monkeypatch):
    def refused(*_):
        raise InputError("X: expected a first input that varies")

    monkeypatch.setattr(selection, "fit_splines", refused)
    found = selected(samples(40), 1e-4)
    assert [point.family for point in found.front] == ["kriging"]
