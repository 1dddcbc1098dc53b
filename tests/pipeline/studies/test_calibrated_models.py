"""Compared models that follow samples of the finite elements, and analytical ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from studies import SMOKE, TINY

from foundation.base.errors import PoseError
from foundation.base.pose import Pose
from foundation.contact_laws import HookeLaw, effective_modulus
from foundation.elastic_foundation import CoupledLaw
from foundation.fitted_surfaces.model import FittedSurfaceContact
from pipeline.config.reading import load_config
from pipeline.studies.calibration.fits import FITTED, errors_of
from pipeline.studies.contact_models.analytical import calibrated_on
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


def test_the_modulus_of_hertz_is_that_of_the_layers(knee):
    model = built(knee, "elliptic_hertz").model
    contact = knee.config.contact
    expected = effective_modulus(
        np.inf, 0.3, 1e6 * contact.youngs_modulus_MPa, contact.poissons_ratio
    )
    assert model.modulus == pytest.approx(expected)


def test_the_stiffness_of_hooke_is_that_of_least_squares(knee):
    samples = knee.samples.value
    model = built(knee, "hooke_calibrated").model
    for side, name in enumerate(("medial", "lateral")):
        own = samples.part(samples.compartments == name)
        depth = np.array([model.indentation(Pose.from_array(row), name) for row in own.poses])
        force = np.linalg.norm(own.loads[:, :3], axis=1)
        expected = np.linalg.lstsq(depth[:, None], force, rcond=None)[0][0]
        assert_allclose(model.laws[side].stiffness, expected, rtol=1e-9)


def test_samples_without_a_common_normal_do_not_count(knee, monkeypatch):
    samples = knee.samples.value
    model = built(knee, "elliptic_hertz").model
    first = samples.poses[0]
    whole = FittedSurfaceContact.indentation

    def indentation(self, pose, compartment):
        if np.array_equal(pose.array, first):
            raise PoseError("no common normal")
        return whole(self, pose, compartment)

    monkeypatch.setattr(FittedSurfaceContact, "indentation", indentation)
    found = calibrated_on(model, samples, HookeLaw)
    monkeypatch.undo()
    rest = calibrated_on(model, samples.part(np.arange(len(samples)) > 0), HookeLaw)
    assert [law.stiffness for law in found.laws] == [law.stiffness for law in rest.laws]
