"""Uncertainty of the peaks of a walk by replays with errors, on a made plant."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dynamics.musculoskeletal import Comak
from dynamics.musculoskeletal.measurement_errors import MeasurementError
from pipeline.studies.muscle_walks.uncertainty import uncertainty_text, walk_uncertainty
from tests.dynamics.musculoskeletal.synthetic import contact, record, settings


@pytest.fixture(scope="module")
def walk():
    plant = record()
    setup = SimpleNamespace(contacts=(contact(),), settings=settings())
    return setup, Comak(plant, setup.contacts, setup.settings).run(plant.start), plant


def error(plant, force):
    """Return an error by which the height needs another force [N]."""
    needed = np.zeros_like(plant.frames.needed)
    needed[:, 2] = force
    return MeasurementError(f"{force:g} N", "N", force, 0.1, 0.02, needed)


def test_peaks_move_as_in_a_walk_with_the_error(walk):
    setup, result, plant = walk
    errors = [error(plant, force) for force in (0.0, 3.0, 4.0)]
    found = walk_uncertainty(setup, result, plant, errors)
    none, some, _ = (each.percent["touch"] for each in found.errors.values())
    assert none["total"] == pytest.approx([0.0, 0.0], abs=1e-6)
    forces = np.array([[row[0].force[1] for row in result.loads]])
    frames = plant.frames._replace(needed=plant.frames.needed + errors[1].needed)
    other = Comak(replace(plant, frames=frames), setup.contacts, setup.settings).run(plant.start)
    at = forces.argmax()
    change = 100.0 * (other.loads[at][0].force[1] / forces.max() - 1.0)
    assert abs(change) > 0.5
    assert np.abs(np.array(some["total"]) - change).min() < 0.05 * abs(change)
    largest = [np.abs(e.percent["touch"]["medial"]).max() for e in found.errors.values()]
    assert found.percent["touch"]["medial"] == pytest.approx(np.linalg.norm(largest))
    assert "move the peaks by about ±" in uncertainty_text(found)[0]


def test_nothing_is_uncertain_without_errors(walk):
    assert walk_uncertainty(*walk, []) is None
    assert uncertainty_text(None) == []
