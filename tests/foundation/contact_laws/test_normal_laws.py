"""Elastic contact laws against their formulas, and the checks that all laws share."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from foundation.contact_laws.normal import (
    FloresLaw,
    HertzLaw,
    HookeLaw,
    HuntCrossleyLaw,
    KelvinVoigtLaw,
    LankaraniNikraveshLaw,
    LinearHysteresisLaw,
)

K = 3e5
LAWS = [
    HookeLaw(K),
    HertzLaw(K),
    LinearHysteresisLaw(K, 0.4),
    KelvinVoigtLaw(K, 0.4, 1.5),
    HuntCrossleyLaw(K, 0.4),
    LankaraniNikraveshLaw(K, 0.4),
    FloresLaw(K, 0.4, exponent=2.0),
]
every_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)


def test_hooke_and_hertz():
    assert_allclose(HookeLaw(K).force([1e-3, 4e-3]), [300.0, 1200.0], rtol=1e-14)
    assert_allclose(HertzLaw(K).force([1e-2, 4e-2]), [300.0, 2400.0], rtol=1e-14)


@every_law
def test_energy_is_the_work_of_the_elastic_part(law):
    # At zero rate every law is elastic.
    depth = np.linspace(0.0, 5e-3, 20001)
    force = law.force(depth, 0.0, 0.3)
    work = ((force[1:] + force[:-1]) / 2.0 * np.diff(depth)).sum()
    assert_allclose(law.energy(5e-3), work, rtol=1e-7)
    assert_allclose(law.force(2e-3, 0.0, 0.3), K * 2e-3**law.exponent, rtol=1e-14)
    assert law.energy(-1e-3) == 0.0
    # Continued beyond the surface, it is odd.
    bonded = [law.bonded_force(depth, 0.0, 0.3) for depth in (-2e-3, 2e-3)]
    assert_allclose(bonded[0], -bonded[1], rtol=1e-14)


@every_law
def test_no_force_out_of_contact_and_no_pull(law):
    rates = np.linspace(-10.0, 10.0, 41)
    assert_array_equal(law.force(np.zeros(41), rates, 0.3), np.zeros(41))
    assert_array_equal(law.force(np.full(41, -1e-3), rates, 0.3), np.zeros(41))
    forces = law.force(1e-5, rates, 0.3)
    assert forces.min() >= 0.0
    bonded = law.bonded_force(1e-5, rates, 0.3)
    assert_array_equal(forces, np.maximum(bonded, 0.0))
    if type(law) not in (HookeLaw, HertzLaw, LinearHysteresisLaw):
        assert bonded.min() < 0.0


@every_law
def test_dissipation_is_never_negative(law):
    depth, rate = np.meshgrid(np.linspace(1e-4, 5e-3, 7), np.linspace(-0.3, 0.3, 13))
    lost = (law.force(depth, rate, 0.3) - law.force(depth, 0.0, 0.3)) * rate
    assert lost.min() >= 0.0


@every_law
def test_shapes_broadcast_to_float64(law):
    assert np.ndim(law.force(1e-3, 0.1, 0.3)) == 0
    assert law.force([1, 2, 3], 0.1, 0.3).shape == (3,)
    force = law.force(np.full((2, 1), 1e-3), [0.1, 0.2, 0.3], 0.3)
    assert force.shape == (2, 3)
    assert force.dtype == np.float64
    # One answer for a value, alone or among others.
    assert_array_equal(force[1, 2], law.force(1e-3, 0.3, 0.3))
    assert law.force([], 0.1, 0.3).shape == (0,)
