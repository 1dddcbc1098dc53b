"""Expressions of CasADi against the compiled evaluation."""

from dataclasses import replace
from functools import cache

import made
import made_knees
import numpy as np
import pytest
from lazily import casadi as ca
from made_designs import designs_of, knee_over_designs, off
from made_knees import knee_of
from surrogate_arrays import arrays

from foundation.base.errors import InputError
from surrogates.expressions.compartment import CRITERIA
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.domain import Domain, beyond
from surrogates.formulations.training_data import FORMULATIONS

pytestmark = pytest.mark.casadi

FAMILIES = ("kriging", "polynomial", "poly_fourier", "network", "spline", "beside")
WIDTH = 0.005


def random_knee(formulation, family, width=0.0):
    parts = [made_knees.compartment(formulation, family, seed) for seed in (0, 1)]
    return knee_of(*(replace(part, smoothing=width) for part in parts))


@cache
def smooth(formulation="inverted", family="polynomial"):
    return random_knee(formulation, family, WIDTH).casadi()


@pytest.mark.parametrize(
    ("formulation", "family"),
    [*((name, FAMILIES[k % 4]) for k, name in enumerate(FORMULATIONS)), ("inverted", "spline")],
)
def test_without_smoothing_as_the_kernels(formulation, family):
    knee, pose = random_knee(formulation, family), ca.SX.sym("pose", 6)
    poses = made_knees.poses_about(knee.compartment("medial"), 30)
    loads, jacobian, _ = arrays(knee, poses)
    values = ca.vec(knee.casadi()(pose)[0])
    both = ca.Function("both", [pose], [values, ca.jacobian(values, pose)])
    rows = zip(*([np.array(v) for v in both(p)] for p in poses), strict=True)
    found, slopes = (np.reshape(own, (30, 2, 12, -1)) for own in rows)
    assert off(found[..., 0], loads) < 1e-9
    assert off(slopes[:, :, :6], jacobian) < 1e-9


def test_the_domain_is_that_of_the_criteria():
    function = smooth()
    medial = replace(made_knees.compartment("inverted", "polynomial"), smoothing=WIDTH)
    pose = made_knees.poses_about(medial, 6)[0]
    domain, loads = np.array(function(pose)[1]), np.array(function(pose)[0])
    assert len(CRITERIA) == 12
    x = medial.space.scaled(pose[None], np.zeros(1))[0][0, :5]
    assert domain[:5, 0] == pytest.approx(x * x, rel=1e-12)
    top = medial.space.load[1]
    assert domain[5, 0] == pytest.approx(loads[1, 0] / top, rel=1e-12)
    assert domain[6, 0] < 1e-20  # of a domain without limits
    assert (domain[9:] == 0.0).all()


def test_pairs_have_a_column_for_each_compartment():
    parts = {"only": made_knees.compartment("inverted", "polynomial")}
    assert ContactSurrogate(parts).casadi().size_out(0) == (12, 1)


def test_of_designs_one_is_taken_first():
    for form in ("casadi", "jax"):
        with pytest.raises(InputError, match="call `at` with the values of size_0_mm"):
            getattr(knee_over_designs("direct", "polynomial"), form)()


def test_smoothing_reaches_single_designs_and_arrays():
    knee = knee_over_designs("inverted", "polynomial").smoothed()
    assert {part.smoothing for part in knee.at(designs_of(knee, 1)[0]).parts} == {0.005}
    part = knee.by_name["medial"]
    again = type(part).from_arrays(part.formulation, part.space, part.to_arrays())
    assert again.smoothing == 0.005
    plain = part.smoothed(0.0)
    assert "smoothing" not in plain.to_arrays()
    assert type(part).from_arrays(part.formulation, part.space, plain.to_arrays()).smoothing == 0.0
    with pytest.raises(InputError, match="smoothing width"):
        knee.smoothed(0.3)


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
