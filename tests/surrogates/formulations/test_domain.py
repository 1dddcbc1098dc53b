"""Domains: the compiled measure and its plain twin, what is learnt of a box, files, flags, C."""

from dataclasses import replace

import manufactured
import numpy as np
import pytest
from some_slow import first_rows
from surrogate_arrays import arrays

from foundation.base.flags import Flag, FlagKind
from foundation.base.pose import Pose
from surrogates import load, save
from surrogates.families.regressor import no_outputs
from surrogates.formulations import domain_fit
from surrogates.formulations.domain import NO_LIMIT, Domain
from surrogates.formulations.domain_fit import (
    DomainSamples,
    fit_domain,
)

LIMITS = np.array([0.2, 0.25, 1.9e7])
#: Limits that no load of a manufactured compartment comes near to.
WIDE = np.array([10.0, 10.0, 1e9])


def box_samples(true, count, seed=3):
    """Samples over the box of a truth, as a study has them."""
    samples = true.samples(manufactured.draw(count, seed))
    ratios = np.abs(samples.loads[:, [0, 2]]) / samples.loads[:, 1:2]
    shares = np.column_stack([ratios, samples.loads[:, 7]]) / LIMITS
    return DomainSamples(samples.poses, samples.loads, (shares <= 1.0).all(axis=1))


@pytest.fixture(scope="module")
def domain():
    return Domain(LIMITS, learnt(), np.ones(12), no_outputs(6), lifted=6e-4)


def learnt(seed=5):
    """Polynomial of the box's variables with three outputs of about 1 in size."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.0, 1.0, (200, 6))
    targets = manufactured.quadratic(x, seed, 3) * [3.0, 3.0, 4.0]
    return manufactured.fitter().fit(x, targets, None).regressor


@pytest.fixture(scope="module")
def knee(domain):
    other = replace(domain, regressor=learnt(6))
    plain = manufactured.knee()
    return plain.with_domains([domain, other])


@pytest.fixture(scope="module")
def poses(knee):
    """In and out of contact, in and out of the box, at and beyond the limits."""
    true = manufactured.truth()
    inside = true.samples(manufactured.draw(150, 8, within=1.1)).poses
    lifted = inside[:40] + np.eye(6)[4] * np.linspace(0.0, 1e-3, 40)[:, None]
    return np.concatenate([inside, lifted])


def gaps_of(model, poses):
    """Heights (N,) over the poses of first contact, zero below them."""
    inside = model.space.held(poses)
    return np.maximum(inside[:, 4] - model.at_load(inside, np.zeros(len(poses)))[0][:, 4], 0.0)


def criteria(domain, variables, loads, gaps):
    """Shares of limits (N, 6): of predicted loads, then of what was learnt, one by one."""
    found = np.zeros((len(variables), 6))
    for row, x, own, gap in zip(found, variables, loads, gaps, strict=True):
        if own[1] > 0.0:
            row[0] = abs(own[0]) / own[1] / domain.limits[0]
            row[1] = abs(own[2]) / own[1] / domain.limits[1]
            row[2] = own[7] / domain.limits[2]
        ap, ml, error = domain.regressor.predict(np.clip(x[None, :6], -1.0, 1.0))[0]
        row[3:] = abs(ap), abs(ml), 1.0 + error
        row[3:] *= max(1.0 - gap / domain.lifted, 0.0)
    return found


def test_compiled_is_its_plain_twin(knee, poses):
    loads, _, variables = arrays(knee, poses)
    decisive = set()
    for c, domain in enumerate(knee.domains):
        model = knee.compartment(("medial", "lateral")[c])
        gaps = gaps_of(model, poses)
        shares = criteria(domain, variables[:, c], loads[:, c], gaps)
        decisive |= set(np.argmax(shares, axis=1).tolist())
        plain = domain.extrapolation(variables[:, c], loads[:, c], model.gaps(poses))
        for found in (variables[:, c, 6], plain):
            np.testing.assert_allclose(found, shares.max(axis=1), rtol=1e-9, atol=1e-9)
        assert ((gaps > 0.0) & (gaps < domain.lifted)).sum() > 5
        assert (gaps > domain.lifted).sum() > 5
        assert (variables[gaps > domain.lifted, c, 6] == 0.0).all()
    assert decisive >= {0, 2, 3, 4, 5}


def test_a_pose_is_flagged_where_the_extrapolation_is_beyond_1(knee, poses):
    _, _, variables = arrays(knee, poses)
    outside = (np.abs(variables) > 1.0 + 1e-9).any(axis=(1, 2))
    learnt_alone = outside & (np.abs(variables[..., :6]) <= 1.0).all(axis=(1, 2))
    assert learnt_alone.sum() > 20
    assert (~outside).sum() > 10
    for pose, beyond in zip(poses, outside, strict=True):
        assert (knee.loads(Pose.from_array(pose)).flags != ()) == beyond


KINDS = (
    FlagKind.OUTSIDE_AP_RATIO,
    FlagKind.OUTSIDE_ML_RATIO,
    FlagKind.OUTSIDE_PEAK_PRESSURE,
    FlagKind.OUTSIDE_AP_SAMPLES,
    FlagKind.OUTSIDE_ML_SAMPLES,
    FlagKind.OUTSIDE_ERRORS,
)


def test_every_reason_has_its_kind(domain):
    rng = np.random.default_rng(2)
    x = rng.uniform(-1.0, 1.0, (600, 6))
    loads = np.zeros((600, 12))
    loads[:300, 1] = 100.0
    loads[:100, 0], loads[100:200, 2], loads[200:300, 7] = 300.0, -300.0, 2e8
    shares = criteria(domain, x, loads, np.zeros(600))
    kinds = [flag.kind for flag in domain.flags("medial", x, loads)]
    assert kinds == [KINDS[k] for k in shares.argmax(axis=1)]
    assert set(kinds) == set(KINDS)
    ratio = Flag(FlagKind.OUTSIDE_AP_RATIO, "medial", (pytest.approx(3.0), 0.2))
    assert domain.flags("medial", x[:1], loads[:1]) == [ratio]


def test_files_keep_it(knee, poses, tmp_path):
    save(knee, tmp_path / "knee.npz")
    again = load(tmp_path / "knee.npz")
    for before, after in zip(arrays(knee, poses), arrays(again, poses), strict=True):
        np.testing.assert_array_equal(before, after)
    np.testing.assert_array_equal(
        again.compartment("medial").domain.inflation, knee.compartment("medial").domain.inflation
    )
    assert again.compartment("medial").domain.lifted == knee.compartment("medial").domain.lifted


def with_a_rim(samples, limit=0.3):
    """Samples whose femur stands on a rim where the second variable of the box is large."""
    space = manufactured.truth().space
    x, _ = space.scaled(samples.poses, samples.loads[:, 1])
    rim = x[:, 3] > limit
    loads = samples.loads.copy()
    loads[rim, 0] = 0.8 * loads[rim, 1]
    return DomainSamples(samples.poses, loads, samples.feasible & ~rim), rim


@pytest.mark.slow
def test_a_rim_that_the_surrogate_knows_nothing_of_is_outside():
    model = manufactured.compartment()
    samples, _ = with_a_rim(box_samples(manufactured.truth(), 1500))
    domain = fit_domain(model, samples, LIMITS, 0.1)
    fresh, rim = with_a_rim(box_samples(manufactured.truth(), 1500, seed=4))
    x, _ = model.space.scaled(fresh.poses, fresh.loads[:, 1])
    clear = np.abs(x[:, 3] - 0.3) > 0.15
    outside = replace(model, domain=domain).loads(fresh.poses).variables[:, 6] > 1.0
    assert outside[rim & clear].mean() > 0.99
    assert outside[fresh.feasible & clear].mean() < 0.02
    # Of its own loads the surrogate would have trusted most of the rim.
    own = replace(model, domain=Domain.within(1.05 * LIMITS))
    assert (own.loads(fresh.poses).variables[rim, 6] > 1.0).mean() < 0.5


@pytest.mark.parametrize(("part", "share"), first_rows([(0.1, 1.0), (0.002, 0.0)]))
def test_a_surrogate_with_large_errors_anywhere_is_trusted_nowhere(part, share):
    """Large errors of a few samples follow no pattern that the other criteria could tell."""
    model = manufactured.compartment()
    samples = box_samples(manufactured.truth(), 1000)
    loads = samples.loads.copy()
    off = np.random.default_rng(0).permutation(len(loads))[: round(part * len(loads))]
    loads[off, 0] += 0.3 * model.largest
    domain = fit_domain(model, samples._replace(loads=loads), WIDE, 0.1)
    fresh = box_samples(manufactured.truth(), 300, seed=4)
    outside = replace(model, domain=domain).loads(fresh.poses).variables[:, 6] > 1.0
    assert outside.mean() == share


def test_intervals_are_widened_to_hold_what_they_promise():
    model = manufactured.compartment("inverted", "kriging")
    rng = np.random.default_rng(0)

    def noisy(seed):
        samples = box_samples(manufactured.truth(), 800, seed)
        noise = 0.004 * rng.standard_normal(len(samples.loads)) * model.largest
        loads = samples.loads + np.eye(12)[0] * noise[:, None]
        return DomainSamples(samples.poses, loads, np.ones(len(loads), dtype=bool))

    domain = fit_domain(model, noisy(3), WIDE, 0.1)
    fresh = noisy(4)
    covered = []
    for tried in (model, replace(model, domain=domain)):
        error = np.abs(tried.loads(fresh.poses).array - fresh.loads)
        covered.append((error <= 1.96 * tried.standard_error(fresh.poses))[:, 0].mean())
    assert covered[0] < 0.8
    assert covered[1] > 0.93
    assert (domain.inflation >= 1.0).all()


def test_a_condyle_is_lifted_for_certain_beyond_the_gaps_of_samples_in_contact():
    model = manufactured.compartment("inverted")
    samples = box_samples(manufactured.truth(), 600)
    x, _ = model.space.scaled(samples.poses, samples.loads[:, 1])
    ridge = x[:, 0] > 0.7
    raised = samples.poses + ridge[:, None] * np.eye(6)[4] * 2e-3
    known = samples._replace(poses=raised, feasible=samples.feasible & ~ridge)
    domain = fit_domain(model, known, LIMITS, 0.1)
    widest = gaps_of(model, raised).max()
    assert 1e-3 < widest < 2e-3
    assert domain.lifted == pytest.approx(2.0 * widest, rel=1e-6)
    told = replace(model, domain=domain)
    for height, outside in ((0.3, True), (2.1, False)):
        touch = model.at_load(samples.poses[ridge], np.zeros(ridge.sum()))[0]
        poses = touch + height * widest * np.eye(6)[4]
        assert (told.loads(poses).array[:, 1] == 0.0).all()
        assert (told.loads(poses).variables[:, 6] > 1.0).any() == outside
    # Where all samples are predicted in contact, a fraction of a millimetre is enough.
    assert fit_domain(model, samples, LIMITS, 0.1).lifted < 4e-4


def test_without_heights_no_condyle_is_lifted_for_certain():
    model = manufactured.compartment("direct")
    domain = fit_domain(model, box_samples(manufactured.truth("direct"), 300), LIMITS, 0.1)
    assert domain.lifted == NO_LIMIT
    lifted = model.space.path.poses([0.5]) + 0.1 * np.eye(6)[4]
    assert (model.gaps(lifted) == 0.0).all()


def test_few_samples_leave_the_predicted_loads_to_decide():
    model = manufactured.compartment()
    few = box_samples(manufactured.truth(), 50)
    domain = fit_domain(model, few, LIMITS, 0.2)
    np.testing.assert_allclose(domain.limits, 1.1 * LIMITS, rtol=1e-14, atol=0)
    assert domain.regressor.outputs == domain.errors.outputs == 0


def test_samples_of_the_fit_tell_nothing_of_errors():
    model = manufactured.compartment()
    samples = box_samples(manufactured.truth(), 400)
    domain = fit_domain(model, samples._replace(fitted=True), LIMITS, 0.1)
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (50, 6))
    assert (domain.regressor.predict(x)[:, 2] < -1.0).all()
    assert (domain.inflation == 1.0).all()


def test_lifted_by_less_than_the_error_of_the_height_it_may_touch():
    model = manufactured.compartment("inverted", "kriging")
    touch = model.at_load(model.space.path.poses([0.5]), np.zeros(1))[0]
    error = model.errors_at_load(touch, np.zeros(1))[0][0]
    gaps = error * np.array([0.01, 0.5, 2.0])
    poses = touch + gaps[:, None] * np.eye(6)[4]
    found = model.standard_error(poses)
    assert (model.loads(poses).array[:, 1] == 0.0).all()
    assert found[0, 1] > found[1, 1] > 0.0
    assert (found[2] == 0.0).all()
    # The load of the depth that is missing: that of a femur lower by as much.
    lower = touch - (error - gaps[0]) * np.eye(6)[4]
    assert found[0, 1] == pytest.approx(model.loads(lower).array[0, 1], rel=0.3)


@pytest.mark.parametrize(
    ("ratios", "far", "wanted"),
    [
        ([3.6] * 8 + [2.0], 0, 1.2),  # all but five of a thousand are told by 1.2 times the errors
        ([3.6] * 5, 0, 1.0),
        ([3.6] * 5, 1, 1.2),  # one is told by a flag alone
        ([7.0] * 8, 0, 1.0),  # no factor up to 2 tells seven standard errors
        ([3.6] * 8, 6, 1.0),
    ],
)
def test_standard_errors_are_raised_before_borders_are_lowered(ratios, far, wanted):
    largest, count = 1000.0, 1000
    residuals, errors = np.zeros((count, 12)), np.full((count, 12), 10.0)
    residuals[: len(ratios), 1] = 10.0 * np.array(ratios)
    residuals[count - far :, 0] = 200.0
    off = np.arange(count) >= count - far
    found = domain_fit._error_inflation(residuals, errors, off, largest)
    assert found == pytest.approx(wanted)
    wrong = domain_fit.is_wrong(residuals, found * errors * (1.0 + 1e-9), largest) | off
    assert (wrong.mean() <= 0.005) == (max(ratios) < 6.0 and far < 6)


def test_flags_of_many_poses_are_those_of_each(knee, poses):
    loads, _, variables = arrays(knee, poses)
    each = [knee.loads(Pose.from_array(pose)).flags for pose in poses]
    assert knee.flags_of(variables, loads) == each
    assert len({flag.kind for flags in each for flag in flags}) > 3
    assert knee.flags_of(variables[:0], loads[:0]) == []
