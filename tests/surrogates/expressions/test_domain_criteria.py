"""Criteria of the trained domain against the flags of the compiled evaluation."""

from dataclasses import replace

import made
import made_knees
import numpy as np
import pytest
from made_knees import knee_of
from surrogate_arrays import arrays

from surrogates.formulations.domain import Domain, beyond

pytestmark = pytest.mark.casadi


@pytest.fixture(scope="module")
def knee():
    """A smoothed knee whose domain has limits and learnt criteria."""
    part = made_knees.compartment("inverted", "polynomial")
    learnt = made.polynomial(6, 3, 2, seed=4)
    size = np.array([0.4, 0.4, 0.5])
    learnt = replace(learnt, y_offset=np.array([0.0, 0.0, -0.7]), y_scale=0.25 * size)
    domain = Domain(np.array([0.12, 0.1, 1.2e7]), learnt, np.ones(12), made.polynomial(6, 12, 1))
    part = replace(part, domain=replace(domain, lifted=2e-4))
    return knee_of(part, part).smoothed()


def test_criteria_hold_where_nothing_is_flagged(knee):
    """But within the widths of the smoothing, and for light loads, of the limits."""
    poses = made_knees.poses_about(knee.compartment("medial"), 1500)
    loads, _, x = arrays(knee, poses)
    function = knee.casadi()
    worst = np.array([np.array(function(pose)[1]).max(axis=0) for pose in poses])
    flagged = beyond(x).any(axis=2)
    light = loads[:, :, 1] < 0.05 * knee.compartment("medial").space.load[1]
    near = np.abs(worst - 1.0) < 0.03
    sure = ~(light | near)
    assert (sure & flagged).sum() > 250
    assert (sure & ~flagged).sum() > 100
    assert np.array_equal((worst > 1.0)[sure], flagged[sure])


def test_a_lifted_condyle_is_well_inside_the_limits_of_its_loads(knee):
    poses = made_knees.poses_about(knee.compartment("medial"), 300)
    loads = knee.loads(poses).values
    lifted = poses[(loads[:, :, 1] == 0.0).all(axis=1)]
    assert len(lifted) > 20
    function = knee.casadi()
    domain = np.array([np.array(function(pose)[1]) for pose in lifted])
    assert domain[:, 5:9].max() < 1e-12
