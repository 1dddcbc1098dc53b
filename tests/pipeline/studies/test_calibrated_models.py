"""Compared models that follow samples of the finite elements."""

import numpy as np
import pytest
from studies import SMOKE, TINY

from foundation.elastic_foundation import CoupledLaw
from pipeline.config.reading import load_config
from pipeline.studies.calibration.fits import FITTED, errors_of
from pipeline.studies.contact_models.knee import ComparedKnee
from pipeline.studies.contact_models.registry import MODELS

FEW = (
    *TINY,
    "contact.model='finite_element'",
    "contact.finite_element.node_spacing_mm=1.5",
    "calibration.samples=10",
)


@pytest.fixture(scope="module")
def knee(tmp_path_factory):
    return ComparedKnee(load_config(SMOKE, FEW), tmp_path_factory.mktemp("models"))


def built(knee, name):
    return next(kind for kind in MODELS if kind.name == name).build(knee)


@pytest.mark.slow
def test_samples_lie_along_the_cycle_at_varied_loads(knee):
    samples = knee.samples.value
    assert len(samples) == 20
    assert sorted(set(samples.compartments)) == ["lateral", "medial"]
    flexion = np.degrees(samples.poses[:, 0])
    assert flexion.min() < 15.0 < 45.0 < flexion.max()
    assert samples.loads[:, 1].max() > 4.0 * samples.loads[:, 1].min()
    assert (samples.stiffness > 0.0).all()


@pytest.mark.slow
def test_the_coupled_law_is_nearer_to_finite_elements_than_the_linear_law(knee):
    samples = knee.samples.value
    coupled = built(knee, "coupled").model
    assert isinstance(coupled.law, CoupledLaw)
    linear = built(knee, "linear").model
    force = [np.abs(errors_of(model, samples)[:, 0]).mean() for model in (coupled, linear)]
    assert force[0] < 0.15 * force[1]


@pytest.mark.slow
@pytest.mark.parametrize("law", ["coupled", "modified"])
def test_calibration_brings_the_fitted_figures_nearer(knee, law):
    samples = knee.samples.value
    given, fitted = (built(knee, name) for name in (law, f"{law}_calibrated"))
    # The loss of the fit counts residuals beyond 0.05 linearly.
    loss = [
        np.sum(np.sqrt(1.0 + (errors_of(b.model, samples)[:, FITTED] / 0.05) ** 2) - 1.0)
        for b in (given, fitted)
    ]
    assert loss[1] < loss[0]
    assert fitted.seconds > knee.samples.seconds
