"""Candidates along gait lie near poses that a knee passes through, at loads of these instants."""

from __future__ import annotations

import numpy as np
import pytest

from dynamics.simulator.equations import SimulationError
from pipeline.config import load_config
from pipeline.errors import StageError
from pipeline.simulation import GaitSimulation, gait_cycle
from pipeline.stages.gait_samples import candidates_along_gait
from pipeline.store.samples import poses_of
from surrogates.files.persistence import load


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


def test_cycles_that_cannot_be_simulated_end_the_stage(walking, monkeypatch):
    def fail(*_, **__):
        raise SimulationError("the knee dislocated")

    monkeypatch.setattr(GaitSimulation, "__call__", fail)
    with pytest.raises(StageError, match=r"the knee dislocated.*design\.gait_samples = 0"):
        drawn(walking)
