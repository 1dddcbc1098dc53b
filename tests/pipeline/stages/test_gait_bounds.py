"""Bounds of stage e and candidates from the gait cycle."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.simulator.equilibrium import EquilibriumError
from foundation.base.pose import Pose
from pipeline.config import load_config
from pipeline.config.schema import Config
from pipeline.simulation import gait_cycle
from pipeline.stages import gait_bounds
from pipeline.stages.gait_bounds import with_gait_bounds
from pipeline.stages.gait_samples import candidates_along_gait
from pipeline.store.samples import poses_of
from surrogates.files.persistence import load

#: Loads of two compartments at two instants; at the second the lateral one is out of contact.
LOADS = np.zeros((2, 2, 12))
LOADS[0, 0, :3] = [30.0, 300.0, -6.0]
LOADS[0, 1, :3] = [-50.0, 250.0, 1.0]
LOADS[1, 0, :3] = [10.0, 1000.0, 30.0]
LOADS[1, 1, :3] = [5.0, 0.0, 9.0]
LOADS[:, :, 7] = [[4e6, 20e6], [8e6, 0.0]]


class Contact:
    """A contact model that knows the loads of two poses."""

    def evaluate_batch(self, poses):
        assert len(poses) == 2
        return LOADS


@pytest.fixture
def cycle(monkeypatch):
    def simulated(model):
        if model is None:
            raise EquilibriumError("the knee does not settle")
        return SimpleNamespace(poses=np.zeros((2, 6)))

    monkeypatch.setattr(
        gait_bounds, "GaitSimulation", SimpleNamespace(of=lambda config, path: simulated)
    )


@pytest.mark.parametrize("factor", [1.0, 2.5])
def test_the_bounds_are_the_largest_values_of_loaded_compartments(cycle, factor):
    before = Config.model_validate(
        {"feasibility": {"bounds": "gait", "gait_factor": factor, "margin": 0.3}}
    )
    after = with_gait_bounds(before, Contact(), None)
    found = after.feasibility
    assert_allclose([found.ap_ratio, found.ml_ratio], [0.2 * factor, 0.03 * factor], rtol=1e-12)
    assert_allclose(found.peak_pressure_MPa, 20.0 * factor, rtol=1e-12)
    # Nothing else changes, and the configuration that was given stays.
    assert found.margin == 0.3
    assert after.model_copy(update={"feasibility": before.feasibility}) == before
    assert before.feasibility.ap_ratio == 0.3


@pytest.mark.slow
def test_the_bounds_hold_all_loads_of_the_cycle_of_the_built_in_implant():
    """The loads of a compartment, one pose at a time, from the model's evaluation of a pose."""
    from pipeline.originals.contact_original import build_knee
    from pipeline.simulation import GaitSimulation

    config = Config.model_validate({"feasibility": {"bounds": "gait", "gait_factor": 1.0}})
    knee = build_knee(config)
    path = knee.reference_path(config)
    bounds = with_gait_bounds(config, knee.model, path).feasibility
    cycle = GaitSimulation.of(config.simulation, path)(knee.model)
    parts = [
        knee.model.evaluate(Pose.from_array(pose))[name]
        for pose in cycle.poses
        for name in ("medial", "lateral")
    ]
    ratios = np.abs([part.force / part.force[1] for part in parts if part.force[1] > 0.0])
    assert_allclose(ratios[:, 0].max(), bounds.ap_ratio, rtol=1e-9)
    assert_allclose(ratios[:, 2].max(), bounds.ml_ratio, rtol=1e-9)
    pressure = max(part.peak_pressure for part in parts)
    assert_allclose(1e-6 * pressure, bounds.peak_pressure_MPa, rtol=1e-9)


@pytest.fixture(scope="module")
def walking(tiny_run):
    """Return configuration, sample space and surrogate of a trained run."""
    surrogate = load(tiny_run / "knee.npz")
    space = surrogate.compartment("medial").space
    return load_config(tiny_run / "config.toml").simulation, space, surrogate


def drawn(walking, seed: int = 1):
    return candidates_along_gait(*walking, 12, 100, np.random.default_rng(seed))


def test_candidates_are_near_gait(walking):
    table = drawn(walking)
    assert table["index"].tolist() == [*range(100, 112)] * 2
    simulation, space, _ = walking
    poses, gait = poses_of(table), gait_cycle(simulation).flexion
    assert gait.min() < poses[:, 0].min()
    assert poses[:, 0].max() < 1.13 * gait.max()
    assert np.ptp(poses[:, 0]) > 0.5 * np.ptp(gait)
    assert table["load_N"].between(*space.load).all()
    assert drawn(walking).equals(table)
    assert not drawn(walking, 2).equals(table)
