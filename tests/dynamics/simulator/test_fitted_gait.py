"""The knee simulator driven by analytical contact laws on fitted surfaces."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics import KneeSimulator, load_gait_cycle, simulate
from dynamics.protocol import ContactModel
from dynamics.simulator.waveform_tables import LEVEL_WALKING
from foundation.contact_laws import HertzLaw
from foundation.fitted_surfaces.model import FittedSurfaceContact
from foundation.implant import CondylarImplant


@pytest.mark.slow
@pytest.mark.parametrize("law", [None, HertzLaw(6e8)])
def test_a_gait_cycle_closes(law):
    """The second cycle begins where it ends, and carries the axial force all along."""
    implant = CondylarImplant()
    femur, insert, sides = implant.tessellate(2e-3)
    flexions = np.radians(np.arange(-10.0, 71.0, 10.0))
    poses = [implant.home_pose(float(flexion)) for flexion in flexions]
    rest = implant.home_pose(0.0)
    model = FittedSurfaceContact(femur, insert, 6e8, poses, law=law, compartments=sides)
    assert isinstance(model, ContactModel)
    cycle = load_gait_cycle(LEVEL_WALKING, 1.0)
    result = simulate(model, KneeSimulator(neutral=rest), cycle, start=rest, cycles=2, samples=41)
    assert result.flags == ()
    assert_allclose(result.poses[0], result.poses[-1], rtol=0.0, atol=1e-6)
    assert_allclose(result.loads[:, 1], result.applied[:, 0], rtol=0.02)
