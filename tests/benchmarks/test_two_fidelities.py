"""A network of springs and Kriging of the difference as one regressor, and both kinds of errors."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import pytest
from made_knees import knee_of

from benchmarks.fidelity_knee import learnt_knee
from benchmarks.fidelity_learners import (
    Level,
    Pair,
    fit_alone,
    fit_on_springs,
    fit_on_surrogate,
    merged,
    outputs_of,
)
from benchmarks.fidelity_samples import Compartment
from benchmarks.two_fidelities import ALONE, ON_NETWORK, Row, draw, table_of
from foundation.base.errors import InputError
from foundation.base.pose import Pose
from foundation.elastic_foundation import ElasticFoundation, LinearLaw
from foundation.implant import CondylarImplant
from foundation.statics.height import pose_at_load
from pipeline.config.schema import SurrogateConfig
from pipeline.config.surrogate_schema import NetworkConfig
from pipeline.stages.fitting import family_fitter
from pipeline.stages.trained_run import TrainedRun
from surrogates import ReferencePath, SampleSpace
from surrogates.families.kriging import KrigingSettings, fit_kriging
from surrogates.families.network import NetworkSettings, fit_network
from surrogates.files.persistence import load, save
from surrogates.formulations.compartment import CompartmentSurrogate

SETTINGS = SurrogateConfig(network=NetworkConfig(hidden=8, networks=1, steps=200, base_degree=2))


def _values(x: np.ndarray) -> np.ndarray:
    return np.column_stack([np.sin(2.0 * x[:, 0]) * x[:, 1], np.cos(x[:, 1]) + x[:, 2]])


@pytest.mark.slow
@pytest.mark.parametrize("correlation", ["squared_exponential", "mixed"])
def test_merged_is_factors_times_network_plus_kriging(correlation: str) -> None:
    rng = np.random.default_rng(1)
    many = rng.uniform(-1.0, 1.0, (200, 3)) * [1.0, 2.0, 0.5] + [0.0, 1.0, 0.3]
    few = rng.uniform(-0.8, 0.8, (60, 3)) * [1.0, 2.0, 0.5] + [0.1, 1.0, 0.3]
    network = fit_network(many, _values(many), NetworkSettings(8, steps=50), rng).regressor
    chosen = KrigingSettings(correlation, (1,))
    kriging = fit_kriging(few, _values(few) - network.predict(few), chosen, rng).regressor
    factors = np.array([1.3, 0.9])
    whole = merged(network, kriging, factors)
    wanted = factors * network.predict(many) + kriging.predict(many)
    np.testing.assert_allclose(whole.predict(many), wanted, rtol=0.0, atol=1e-9)
    own, jacobian = whole.predict_with_jacobian(many[0])
    jacobians = [part.predict_with_jacobian(many[0])[1] for part in (network, kriging)]
    np.testing.assert_allclose(own, wanted[0], rtol=0.0, atol=1e-9)
    summed = factors[:, None] * jacobians[0] + jacobians[1]
    np.testing.assert_allclose(jacobian, summed, rtol=0.0, atol=1e-8)


@pytest.fixture(scope="module")
def samples() -> tuple[SampleSpace, Pair]:
    """Springs of two moduli at the same poses and loads."""
    femur, insert, labels = CondylarImplant().tessellate(3e-3)
    beds = [
        ElasticFoundation(femur, insert, LinearLaw(modulus, 0.46, 8e-3), compartments=labels)
        for modulus in (700e6, 463e6)
    ]
    path = ReferencePath.constant(0.0, [0.0, 0.0, 0.0, 33e-3, 0.0])
    flexion, offsets = np.radians([0.0, 30.0]), [np.radians(1), np.radians(4), 2e-3, 1e-3]
    space = SampleSpace(path, flexion, offsets, [2.0, 2000.0])
    poses, load = space.draw(np.random.default_rng(3).random((200, 6)), spread=2.0)
    levels = []
    for bed in beds:
        found = [
            pose_at_load(bed, Pose.from_array(pose), "medial", float(axial))
            for pose, axial in zip(poses, load, strict=True)
        ]
        parts = [f.pose.array for f in found], [f.loads for f in found]
        levels.append(Level(*map(np.array, parts)))
    return space, Pair(*levels)


@pytest.fixture(scope="module")
def base(samples: tuple[SampleSpace, Pair]) -> CompartmentSurrogate:
    """A network of the coarse samples."""
    space, pair = samples
    return fit_alone(space, pair.coarse, SETTINGS, "network", 1).surrogate


@pytest.mark.slow
@pytest.mark.parametrize("fit", [fit_on_surrogate, fit_on_springs])
def test_a_difference_reproduces_its_samples(samples, base, fit) -> None:
    _, pair = samples
    learnt = fit(base, pair, family_fitter(SETTINGS, "kriging", 1))
    wrong = learnt.outputs(pair)[:, 0] - outputs_of(base, pair.fine)[:, 0]
    moved = outputs_of(base, pair.coarse)[:, 0] - outputs_of(base, pair.fine)[:, 0]
    assert np.abs(moved).max() > 20e-6
    # The errors of the network, of few samples here, are partly noise to Kriging.
    assert np.std(wrong) < 0.3 * np.sqrt(np.mean(moved**2))


@pytest.mark.slow
def test_a_sum_finds_the_load_at_a_pose(samples, base) -> None:
    _, pair = samples
    surrogate = fit_on_surrogate(base, pair, family_fitter(SETTINGS, "kriging", 1)).surrogate
    load = np.full(len(pair.fine.poses), 500.0)
    poses, loads = surrogate.at_load(pair.fine.poses, load)
    found, _, _ = surrogate.evaluate_batch(poses)
    np.testing.assert_allclose(found[:, :6], loads[:, :6], rtol=1e-6, atol=1e-6)


@pytest.mark.slow
def test_a_sum_is_stored_like_any_surrogate(samples, base, tmp_path: Path) -> None:
    _, pair = samples
    learnt = fit_on_surrogate(base, pair, family_fitter(SETTINGS, "kriging", 1)).surrogate
    save(knee_of(learnt, learnt), tmp_path / "knee.npz")
    stored = load(tmp_path / "knee.npz").compartment("lateral")
    expected, jacobian, _ = learnt.evaluate_batch(pair.fine.poses)
    found = stored.evaluate_batch(pair.fine.poses)
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_array_equal(found[1], jacobian)


def _numbered(first: int, count: int) -> Pair:
    level = Level(np.arange(first, first + count)[:, None] * np.ones(6), np.ones((count, 12)))
    return Pair(level, level)


@pytest.mark.parametrize(("count", "along"), [(10, 3), (20, 6), (26, 8), (32, 12)])
def test_training_has_the_asked_number_of_samples(count: int, along: int) -> None:
    """Three tenths lie along gait; more if the box has too few samples."""
    nothing = _numbered(0, 0)
    samples = Compartment(_numbered(0, 20), _numbered(100, 12), nothing, nothing, nothing.fine)
    assert samples.most == 32
    found = samples.training(count).fine.poses[:, 0]
    assert found.tolist() == [*range(count - along), *range(100, 100 + along)]


def test_more_solves_than_the_run_has_are_refused() -> None:
    few = _numbered(0, 3)
    samples = {"medial": Compartment(few, few, few, few, few.fine)}
    with pytest.raises(InputError, match="at most the 6 samples of the run, found 7"):
        learnt_knee(cast(TrainedRun, None), samples, 7)


@pytest.mark.slow
def test_table_and_figure_have_all_rows(tmp_path: Path) -> None:
    rows = [
        Row(method, "kriging", count, {"height": 3.21 / count, "wear": 0.5}, 1.0)
        for method in (ALONE, ON_NETWORK)
        for count in (100, 50)
    ]
    lines = str(table_of("implant", rows)).splitlines()
    assert [line.split("|")[1].strip() for line in lines[-4:]] == ["50", "50", "100", "100"]
    assert "0.064" in lines[-4]
    draw({"implant": rows}, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
