"""Bounds of stage e from the gait cycle of the original model."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.simulator.equilibrium import EquilibriumError
from foundation.base.errors import InputError
from foundation.base.pose import Pose
from pipeline.config.schema import Config
from pipeline.errors import StageError
from pipeline.stages import gait_bounds
from pipeline.stages.gait_bounds import with_gait_bounds

#: Loads of two compartments at two instants; at the second the lateral one is out of contact.
LOADS = np.zeros((2, 2, 12))
LOADS[0, 0, :3] = [30.0, 300.0, -6.0]
LOADS[0, 1, :3] = [-50.0, 250.0, 1.0]
LOADS[1, 0, :3] = [10.0, 1000.0, 30.0]
LOADS[1, 1, :3] = [5.0, 0.0, 9.0]
LOADS[:, :, 7] = [[4e6, 20e6], [8e6, 0.0]]

BOUNDED = {"feasibility": {"bounds": "gait"}, "design": {"gait_samples": 0}}


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


def test_a_cycle_that_does_not_end_names_the_key(cycle):
    with pytest.raises(StageError, match=r"feasibility\.bounds: .* does not settle; set"):
        with_gait_bounds(Config(), None, None)


@pytest.mark.parametrize(
    "tree",
    [
        {"simulation": {"kind": "none"}},
        {"original": {"kind": "table", "file": "loads.csv"}},
    ],
)
def test_bounds_of_gait_need_a_contact_model_that_walks(tree):
    with pytest.raises((InputError, ValueError), match=r'feasibility\.bounds: expected "keys"'):
        Config.model_validate(tree | BOUNDED)


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
