"""Expressions of CasADi against the compiled evaluation, alone and over designs."""

from dataclasses import replace
from functools import cache

import made
import made_knees
import numpy as np
import pytest
from lazily import casadi as ca
from made_designs import designs_of, fourth_order, knee_over_designs, off, poses_of_design
from made_knees import knee_of
from some_slow import first_rows, slow_rows
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


FEW = [("inverted", "network"), ("direct", "polynomial"), ("inverted", "spline")]


def differentiated(knee, second=False):
    """Loads, domain (N, C, 12) and Jacobians of the loads (N, C, 12, 6 or P) at poses.

    With `second` also the derivatives (N, C, 12, 6, 6 + P) of the Jacobian by the pose.
    """
    function = knee.casadi()
    pose, design = ca.MX.sym("pose", 6), ca.MX.sym("design", len(knee.parameters))
    loads, domain = function(pose, design)
    slopes = ca.jacobian(loads, pose), ca.jacobian(loads, design)
    outputs = [loads.T, domain.T, *slopes]
    if second:
        outputs.append(ca.jacobian(slopes[0], ca.vertcat(pose, design)))
    every = ca.Function("every", [pose, design], outputs)

    def at(poses, values):
        rows = [[np.array(v) for v in every(own, values)] for own in poses]
        found = [np.array(v) for v in zip(*rows, strict=True)]
        parts = found[0].shape[1]
        found[2:4] = [v.reshape(len(poses), parts, 12, -1) for v in found[2:4]]
        for k in range(4, len(found)):
            shaped = found[k].reshape(len(poses), 6, parts, 12, -1)
            found[k] = shaped.transpose(0, 2, 3, 1, 4)
        return found

    return at


def check_without_smoothing(formulation, family, count):
    knee = knee_over_designs(formulation, family)
    at = differentiated(knee)
    for design in designs_of(knee):
        poses = poses_of_design(knee, design, count)
        single = knee.at(design)
        wanted, jacobian, _ = arrays(single, poses)
        assert (wanted[:, :, 1] > 0.0).mean() > 0.3
        loads, _, by_pose, by_design = at(poses, design)
        assert off(loads, wanted) < 1e-12
        assert off(by_pose[:, :, :6], jacobian) < 1e-10
        slopes = knee.loads_and_slopes(poses, design)[1]
        slopes[np.isnan(by_design)] = np.nan  # centres out of contact
        assert off(by_design, slopes) < 1e-10


@pytest.mark.parametrize(("formulation", "family"), FEW)
def test_without_smoothing_as_single_designs(formulation, family):
    check_without_smoothing(formulation, family, 40)


@pytest.mark.parametrize(("formulation", "family"), first_rows(FEW, 2))
def test_smoothed_as_single_designs(formulation, family):
    """Values and slopes, also beyond the samples, where the fall depends on the design."""
    knee = knee_over_designs(formulation, family, width=0.05)
    at, design = differentiated(knee), designs_of(knee, 1)[0]
    poses = poses_of_design(knee, design, 40)
    wanted, jacobian, variables = arrays(knee.at(design), poses)
    assert (variables[..., 5] > 1.0).sum() > 5
    loads, _, by_pose, by_design = at(poses, design)
    assert off(loads, wanted) < 1e-12
    assert off(by_pose[:, :, :6], jacobian) < 1e-11
    steps = 2e-5 * np.ptp([knee.parameters.low, knee.parameters.high], axis=0)
    slopes = fourth_order(lambda d: knee.at(d).loads(poses).values, design, steps)
    assert off(by_design, slopes) < 1e-7


@pytest.mark.parametrize(
    ("formulation", "family"), [FEW[0], *slow_rows([FEW[1], FEW[2], ("inverted", "beside")])]
)
def test_second_derivatives(formulation, family):
    """By pose and pose those of a single design, by pose and design differences."""
    knee = knee_over_designs(formulation, family, width=0.05)
    design = designs_of(knee, 1)[0]
    poses = poses_of_design(knee, design, 12)
    bends = differentiated(knee, second=True)(poses, design)[4][:, :, :6]
    assert off(bends[..., :6], knee.at(design).loads(poses, 2).hessian) < 1e-9
    steps = 2e-5 * np.ptp([knee.parameters.low, knee.parameters.high], axis=0)
    mixed = fourth_order(lambda d: knee.at(d).loads(poses, 1).jacobian, design, steps)
    assert off(bends[..., 6:], mixed) < 1e-6


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_domain_is_that_of_single_designs(formulation):
    knee = knee_over_designs(formulation, "polynomial", width=0.01, with_domain=True)
    function, design = knee.casadi(), designs_of(knee, 1)[0]
    alone = knee.at(design).casadi()
    poses = poses_of_design(knee, design, 20)
    wanted = np.array([np.array(alone(pose)[1]) for pose in poses])
    assert (np.ptp(wanted[:, 9:], axis=(0, 2)) > 0.1).all()
    found = np.array([np.array(function(pose, design)[1]) for pose in poses])
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9)


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
