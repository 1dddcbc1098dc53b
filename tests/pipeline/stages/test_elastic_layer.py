"""The contact model against the elastic layer: equal loads, known cases, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from studies import SMOKE

from dynamics.simulator.result import SimulationResult, Statistics
from foundation.base.errors import InputError
from foundation.base.loads import AXIAL_FORCE
from foundation.base.pose import Pose
from foundation.elastic_foundation import (
    CoupledLaw,
    ElasticFoundation,
    LinearLaw,
)
from foundation.implant import CondylarImplant
from foundation.surface_contact import SurfaceContact
from pipeline.config.reading import load_config
from pipeline.originals import layer_reference
from pipeline.stages import elastic_layer as stage
from pipeline.stages.elastic_layer import elastic_layer
from pipeline.stages.equal_loads import chosen_instants, equal_loads
from pipeline.store.layer_document import ElasticLayer
from tests.oracles.flat_layer import ball, flat_bed

POLYETHYLENE = 463e6, 0.46, 8e-3
CONFIG = load_config(SMOKE)


def bed(law: Any, **options: Any) -> ElasticFoundation:
    """Return springs of a law over the built-in implant, of edges of 2.5 mm."""
    femur, tibia, labels = CondylarImplant().tessellate(2.5e-3)
    return ElasticFoundation(femur, tibia, law, compartments=labels, **options)


def cycle(model: SurfaceContact, poses: np.ndarray) -> SimulationResult:
    """Return a cycle of given poses (N, 6) [rad, m], as if a model had driven it."""
    loads = model.evaluate_batch(poses).swapaxes(0, 1)
    at = np.linspace(0.0, 100.0, len(poses))
    cost = Statistics(1, 0, 1, 1, 1, 0.0)
    applied = np.zeros((len(poses), 3))
    return SimulationResult(at, at, poses, 0.0 * poses, loads, loads.sum(axis=0), applied, cost)


def pressed(deeper: float = 2e-4, count: int = 41) -> np.ndarray:
    """Return poses (N, 6) of the implant, pressed in deepest in the middle of the cycle."""
    home = CondylarImplant().home_pose(flexion=np.radians(15.0)).array
    depth = deeper * np.sin(np.linspace(0.0, np.pi, count))
    poses = np.tile(home, (count, 1))
    poses[:, 4] -= depth
    return poses


@pytest.fixture(scope="module")
def linear() -> ElasticFoundation:
    return bed(LinearLaw(*POLYETHYLENE))


def compared(model: ElasticFoundation, deeper: float = 2e-4) -> ElasticLayer:
    return elastic_layer(CONFIG, model, cycle(model, pressed(deeper)))


def test_linear_springs_are_stiffer_and_press_harder_than_the_layer(linear) -> None:
    found = compared(linear)
    assert (found.model, found.reference, found.reason) == ("linear springs", "coupled springs", "")
    assert set(found.compartments) == {"medial", "lateral"}
    for part in found.compartments.values():
        off = part.at_peak
        assert 0.25 < off.peak_pressure < 0.7
        assert 0.3 < off.stiffness < 0.8
        assert -0.45 < off.approach < -0.2
        assert part.peak_pressure_Pa == pytest.approx(
            part.layer_peak_pressure_Pa * (1.0 + off.peak_pressure), rel=1e-12
        )
        # At equal load the mean pressure goes by the reciprocal of the area.
        assert (1.0 + off.mean_pressure) * (1.0 + off.area) == pytest.approx(1.0, abs=0.05)
        assert 0.0 < part.uncertainty < 0.2
    assert 0.0 < found.largest_strain < 0.1


def test_loads_are_equal_and_only_the_height_differs(linear) -> None:
    result = cycle(linear, pressed())
    layer = linear.with_law(CoupledLaw(*POLYETHYLENE))
    pairs = list(equal_loads(linear, layer, result, 0))
    assert len(pairs) == len(chosen_instants(result, 0)) > 5
    for pair in pairs:
        assert pair.layer.load == pytest.approx(pair.model.load, rel=1e-5)
        own = result.compartment_loads[0, pair.instant, AXIAL_FORCE]
        assert pair.model.load == pytest.approx(own, rel=1e-12)
        moved = pair.layer.pose.array - pair.model.pose.array
        assert moved[4] < 0.0
        np.testing.assert_array_equal(np.delete(moved, 4), 0.0)


@pytest.mark.parametrize("case", [(0.3, 1e-3, 8.0, 0.3), (0.46, 8e-3, 1.0, 0.1)])
def test_ball_on_a_flat_layer_differs_as_the_exact_layer_tells(case: Any, monkeypatch: Any) -> None:
    """Johnson's thin layer, where linear springs are exact, and a layer as thick as the patch."""
    monkeypatch.setattr(stage, "_DEEP", 1.0)  # the configuration has no flat layer
    ratio, thickness, _, radius = case
    known, exact = ball(*case)
    law = LinearLaw(known.layer.youngs_modulus, ratio, thickness)
    springs = flat_bed(known, exact).with_law(law)
    # Springs of stiffness k under a paraboloid: F = pi R k d^2, p = k d.
    stiffness = law.confined_modulus / thickness
    depth = np.sqrt(exact.load / (np.pi * radius * stiffness))
    poses = np.array([Pose(superior=-depth).array] * 3)
    (part,) = elastic_layer(CONFIG, springs, cycle(springs, poses)).compartments.values()
    assert part.load_N == pytest.approx(exact.load, rel=0.01)
    expected = stiffness * depth / exact.peak_pressure - 1.0
    assert part.at_peak.peak_pressure == pytest.approx(expected, abs=0.015)
    assert part.at_peak.approach == pytest.approx(depth / exact.approach - 1.0, abs=0.015)


@pytest.mark.slow
def test_deep_layers_are_finite_elements(monkeypatch: Any, linear) -> None:
    """A layer pressed in by a twentieth of its thickness is no flat layer of coupled springs."""
    seen = []

    def elements(config: Any, area: float) -> Any:
        seen.append(area)
        return "finite elements", linear

    monkeypatch.setattr(stage, "element_layer", elements)
    assert compared(linear).reference == "coupled springs"
    assert seen == []
    found = compared(linear, 6e-4)
    assert found.reference == "finite elements"
    assert found.compartments["medial"].at_peak.peak_pressure == pytest.approx(0.0, abs=1e-5)
    assert 5e-5 < seen[0] < 5e-4

    def folded(config: Any, area: float) -> Any:
        raise InputError("574 of 56210 elements folded")

    monkeypatch.setattr(stage, "element_layer", folded)
    assert compared(linear, 6e-4).reference == "coupled springs"
    refused = compared(bed(CoupledLaw(*POLYETHYLENE)))
    assert (refused.compartments, refused.reason) == ({}, "574 of 56210 elements folded")
    assert refused.known_error == 0.03
    assert compared(bed(CoupledLaw(*POLYETHYLENE)), 6e-4).known_error == 0.08


def test_coupled_springs_are_compared_with_finite_elements(monkeypatch: Any) -> None:
    monkeypatch.setattr(layer_reference, "_SPACINGS_MM", (2.0, 2.0))
    config = load_config(SMOKE, ("contact.law='coupled'",))
    found = elastic_layer(config, model := bed(CoupledLaw(*POLYETHYLENE)), cycle(model, pressed()))
    assert found.reference == "finite elements, nodes 2 mm apart"
    for part in found.compartments.values():
        assert abs(part.at_peak.mean_pressure) < 0.2
        assert abs(part.at_peak.approach) < 0.15
