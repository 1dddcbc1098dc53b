"""Formulations of the whole knee: exact on what they can learn exactly, and honest beyond."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import manufactured
import numpy as np
import pytest
from differences import differences

from dynamics.protocol import ContactModel
from foundation.base.pose import Pose
from surrogates.families.registry import fit_family
from surrogates.families.regressor import no_outputs
from surrogates.files.persistence import SurrogateFileError, load, save
from surrogates.formulations.compartment_fit import Fitter, FormulationSettings
from surrogates.formulations.domain import Domain
from surrogates.formulations.outside import OutsideDomainError, OutsideDomainWarning
from surrogates.formulations.trained_contact import CompiledContact
from surrogates.formulations.whole_knee import KNEE_FORMULATIONS, WholeKneeSurrogate
from surrogates.formulations.whole_knee_fit import fit_whole_knee
from surrogates.sampling.space import ReferencePath, SampleSpace

PATH = ReferencePath.through(
    [0.0, 0.3, 0.7, 1.0],
    [
        [0.01, 0.05, 2e-3, 30e-3, 0.0],
        [0.012, 0.02, 3e-3, 30.4e-3, 1e-4],
        [0.011, -0.03, 1e-3, 31e-3, 3e-4],
        [0.01, -0.06, -1e-3, 30.2e-3, 1e-4],
    ],
)
SPACE = SampleSpace(PATH, [0.0, 1.0], [0.03, 0.1, 4e-3, 1e-3], [25.0, 2000.0])
HALF_HEIGHT = 0.4e-3
ARM = 22e-3
CENTRE = np.array([4e-3, 1e-3, 20e-3])
INVERTED = ("knee_inverted_one", "knee_inverted_two")
P = 2.0


def poses_at(v, height):
    """Poses at scaled offsets (N, 5) from the path and heights (N,) over it."""
    poses = PATH.poses(0.5 + 0.5 * v[:, 0])
    poses[:, [1, 2, 3, 5]] += SPACE.offsets * v[:, 1:]
    poses[:, 4] += height
    return poses


def sides(x, seed, sizes):
    """Quadratics of x for each compartment, (N, 2, k) of these sizes."""
    k = len(sizes)
    return manufactured.quadratic(x, seed, 2 * k).reshape(-1, 2, k) * sizes


def carried(x, axial, root):
    """Loads (N, 2, 12) of which ratios and quantities are quadratics of the inputs x."""
    loads = np.empty((len(x), 2, 12))
    loads[:, :, 1] = axial
    ratios = np.array([0.1, 0.0, 0.02, 1e-3, 5e-3]) + sides(x, 5, [0.1, 0.1, 5e-3, 2e-3, 4e-3])
    loads[:, :, [0, 2, 3, 4, 5]] = ratios * axial[:, :, None]
    fill_quantities(loads, x, root)
    return loads


def fill_quantities(loads, x, root):
    found = np.array([2e-4, 2e7, 1e7]) + sides(x, 6, [5e-5, 3e6, 1e6])
    loads[:, :, 6] = found[:, :, 0] * root
    loads[:, :, 7:9] = found[:, :, 1:] * root[:, :, None] ** (P - 1.0)
    loads[:, :, 9:] = CENTRE + sides(x, 7, [4e-3, 1e-3, 3e-3])


def over_both(x):
    """Poses and loads at (flexion, rotation, anterior, lateral, both scaled roots)."""
    s = x[:, 4:]
    condyles = -HALF_HEIGHT * (s + 1.0) + 4e-5 * manufactured.quadratic(x, 3, 2)
    height = condyles.mean(axis=1)
    adduction = (condyles[:, 0] - condyles[:, 1]) / (2.0 * ARM)
    v = np.column_stack([x[:, 0], adduction / SPACE.offsets[0], x[:, 1:4]])
    root = 0.5 * (s + 1.0)
    return poses_at(v, height), carried(x, SPACE.load[1] * root**P, root)


def over_total(x):
    """Poses and loads at (all five offsets, the scaled root of the total)."""
    root = 0.5 * (x[:, 5] + 1.0)
    total = 2.0 * SPACE.load[1] * root**P
    height = -HALF_HEIGHT * (x[:, 5] + 1.0) + 1e-4 * manufactured.quadratic(x[:, :5], 3)[:, 0]
    medial = 0.5 + 0.3 * manufactured.quadratic(x, 8)[:, 0]
    share = np.column_stack([medial, 1.0 - medial])
    loads = np.empty((len(x), 2, 12))
    loads[:, :, :6] = sides(x, 5, [0.1, 0.0, 0.1, 5e-3, 2e-3, 4e-3])
    loads[:, :, 1] = share
    loads[:, :, :6] *= total[:, None, None]
    fill_quantities(loads, x, np.tile(root[:, None], 2))
    return poses_at(x[:, :5], height), loads


def over_pose(x, degree):
    """Poses and loads at (all five offsets, the scaled height)."""
    sizes = [300.0, 900.0, 200.0, 20.0, 5.0, 20.0, 2e-4, 1e7, 6e6]
    roots = sides(x, 9, np.ones(9)) + np.eye(9)[1] * 1.2
    loads = np.empty((len(x), 2, 12))
    loads[:, :, :9] = sizes * np.sign(roots) * np.abs(roots) ** degree
    loads[:, :, 9:] = CENTRE + sides(x, 7, [4e-3, 1e-3, 3e-3])
    return poses_at(x[:, :5], HALF_HEIGHT * x[:, 5]), loads


def truth(formulation, x):
    if formulation == "knee_inverted_two":
        return over_both(x)
    if formulation == "knee_inverted_one":
        return over_total(x)
    return over_pose(x, 1.0 if formulation == "knee_direct" else P)


def draw(count, seed, size=1.0):
    return size * np.random.default_rng(seed).uniform(-1.0, 1.0, (count, 6))


def fitter(family="polynomial", joint=False, folds=0):
    settings = manufactured.FAMILIES[family]
    return Fitter(lambda x, y, w: fit_family(family, x, y, settings, None, w), joint, folds)


@cache
def trained(formulation, family="polynomial", joint=False):
    poses, loads = truth(formulation, draw(160, 1))
    settings = FormulationSettings(load_degree=P)
    return fit_whole_knee(formulation, SPACE, poses, loads, fitter(family, joint), settings)


def knee(formulation, family="polynomial", joint=False):
    return trained(formulation, family, joint).surrogate


def numerical_jacobians(surrogate, pose):
    return differences(lambda p: surrogate.fill(p[None])[0][0, :, :6], pose, manufactured.STEPS)


def assert_close(found, expected, tolerance):
    """Relative to the largest of each load."""
    scale = np.abs(expected).max(axis=(0, 1))
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0, atol=tolerance)


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("formulation", KNEE_FORMULATIONS)
def test_quadratics_are_learnt_exactly(formulation, joint):
    poses, loads = truth(formulation, draw(50, 2, 0.95))
    found, _, x = knee(formulation, joint=joint).evaluate_batch(poses)
    assert_close(found, loads, 1e-7)
    centre, half = SPACE.centre_and_half
    scaled = (np.sqrt(np.maximum(loads[:, :, 1], 0.0)) - centre[5]) / half[5]
    np.testing.assert_allclose(x[:, :, 5], scaled, rtol=0, atol=1e-7)
    offsets = SPACE.scaled(poses, np.zeros(len(poses)))[0][:, :5]
    np.testing.assert_allclose(x[:, :, :5], np.stack([offsets] * 2, 1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("family", manufactured.FAMILIES)
@pytest.mark.parametrize("formulation", KNEE_FORMULATIONS)
def test_jacobians_are_those_of_central_differences(formulation, family):
    surrogate = knee(formulation, family)
    poses, _ = truth(formulation, draw(14, 3, 0.8))
    _, jacobian, _ = surrogate.evaluate_batch(poses)
    for n, pose in enumerate(poses):
        expected = numerical_jacobians(surrogate, pose)
        scale = np.abs(expected).max(axis=(1, 2), keepdims=True)
        np.testing.assert_allclose(jacobian[n] / scale, expected / scale, rtol=0, atol=2e-5)


@pytest.mark.parametrize("formulation", KNEE_FORMULATIONS)
def test_jacobians_outside_the_box_are_those_of_the_pose_held(formulation):
    surrogate = knee(formulation)
    poses, _ = truth(formulation, draw(8, 4, 0.5))
    for k, pose in enumerate(poses):
        moved = pose + np.eye(6)[(2, 3, 5, 0)[k % 4]] * (0.2, 9e-3, 4e-3, 1.2)[k % 4]
        _, jacobian, _ = surrogate.evaluate_batch(moved[None])
        expected = numerical_jacobians(surrogate, moved)
        scale = np.maximum(np.abs(expected).max(axis=(1, 2), keepdims=True), 1.0)
        np.testing.assert_allclose(jacobian[0] / scale, expected / scale, rtol=0, atol=5e-5)


def test_totals_and_flags_of_a_pose():
    surrogate = knee("knee_inverted_two")
    assert isinstance(surrogate, ContactModel)
    assert not isinstance(surrogate, CompiledContact)
    poses, loads = over_both(draw(3, 5, 0.5))
    pose = Pose.from_array(poses[2])
    found, jacobian = surrogate.loads_and_jacobian(pose)
    assert found.flags == ()
    np.testing.assert_allclose(found.wrench, loads[2].sum(axis=0)[:6], rtol=1e-6, atol=1e-6)
    parts = [surrogate.compartment(name).evaluate(poses[2]) for name in ("medial", "lateral")]
    np.testing.assert_array_equal(jacobian, parts[0][1] + parts[1][1])
    np.testing.assert_array_equal(found.lateral.array, parts[1][0])
    moved = replace(pose, lateral=pose.lateral + 4e-3)
    flags = surrogate.loads(moved).flags
    assert len(flags) == 2
    assert flags[0].startswith("medial: outside the trained domain, lateral by")
    with pytest.warns(OutsideDomainWarning, match="lateral by"):
        surrogate.on_leaving("warning").loads(moved)
    for ask in ("loads", "evaluate_batch"):
        given = moved if ask == "loads" else moved.array[None]
        with pytest.raises(OutsideDomainError, match="lateral by"):
            getattr(surrogate.on_leaving("error"), ask)(given)


@pytest.mark.parametrize("formulation", INVERTED)
def test_out_of_contact_there_is_no_load(formulation):
    poses, _ = truth(formulation, draw(20, 6))
    poses[:, 4] += np.geomspace(2e-3, 0.1, 20)
    loads, jacobian, x = knee(formulation).evaluate_batch(poses)
    assert (loads[:, :, :9] == 0.0).all()
    assert np.isnan(loads[:, :, 9:]).all()
    assert (jacobian == 0.0).all()
    assert (x[:, :, 5] == -1.0).all()


@pytest.mark.parametrize("lifted", [0, 1])
def test_a_condyle_that_lifts_off_carries_nothing_and_turns_about_the_other(lifted):
    surrogate = knee("knee_inverted_two")
    x = draw(12, 7, 0.5)
    x[:, 4 + lifted] = -1.0
    poses, touching = over_both(x)
    # The other condyle stays where it is: the femur turns about it.
    turn = 0.2e-3 / ARM
    poses[:, 1] += turn if lifted == 0 else -turn
    poses[:, 4] += turn * ARM
    loads, jacobian, _ = surrogate.evaluate_batch(poses)
    other = 1 - lifted
    assert (loads[:, lifted, :9] == 0.0).all()
    assert np.isnan(loads[:, lifted, 9:]).all()
    assert (jacobian[:, lifted] == 0.0).all()
    np.testing.assert_allclose(loads[:, other, 1], touching[:, other, 1], rtol=0.1)
    total = surrogate.loads(Pose.from_array(poses[3])).total.array
    # The mean pressure of both is that of their force over their area: two roundings.
    np.testing.assert_allclose(total, loads[3, other], rtol=4.0 * np.finfo(float).eps, atol=0.0)


def test_loads_go_on_through_lifting_off():
    surrogate = knee("knee_inverted_two")
    x = np.tile(draw(3, 8, 0.5)[2], (201, 1))
    start, end = x[:1].copy(), x[:1].copy()
    start[:, 5], end[:, 5] = -0.8, -1.0
    one, other = over_both(start)[0], over_both(end)[0]
    poses = one + np.linspace(0.0, 2.0, 201)[:, None] * (other - one)
    loads = surrogate.evaluate_batch(poses)[0]
    assert loads[0, 1, 1] > 10.0
    assert loads[-1, 1, 1] == 0.0
    steps = np.abs(np.diff(loads[:, :, 1], axis=0)).max(axis=0)
    assert (steps < 3.0).all()


@pytest.mark.parametrize("formulation", INVERTED)
def test_beyond_the_largest_load_it_grows_on(formulation):
    x = draw(6, 9, 0.3)
    x[:, 5], x[:, 4] = 1.0, (1.0 if formulation == "knee_inverted_two" else x[:, 4])
    poses, loads = truth(formulation, x)
    poses[:, 4] -= 0.2e-3
    found = knee(formulation).evaluate_batch(poses)[0]
    pressed, before = found[:, :, 1].sum(axis=1), loads[:, :, 1].sum(axis=1)
    assert (pressed > 1.2 * before).all()
    assert (pressed < 3.0 * before).all()


def test_standard_errors():
    poses, _ = over_pose(draw(30, 10, 0.9), 1.0)
    for formulation in KNEE_FORMULATIONS:
        surrogate = knee(formulation, "kriging")
        errors = surrogate.standard_error(Pose.from_array(poses[5]))
        assert errors.shape == (2, 12)
        assert np.isnan(errors).all() if formulation in INVERTED else (errors > 0.0).all()
    view = knee("knee_direct", "kriging").compartment("lateral")
    poses, loads = over_pose(draw(200, 11, 0.9), 1.0)
    off = np.abs(view.evaluate_batch(poses)[0] - loads[:, 1])[:, :6]
    assert 0.05 < (off / view.standard_error(poses)[:, :6]).mean() < 3.0


@pytest.mark.parametrize("joint", [False, True])
def test_residuals_are_told_by_compartment_and_output(joint):
    poses, loads = over_both(draw(120, 12))
    found = fit_whole_knee("knee_inverted_two", SPACE, poses, loads, fitter(joint=joint, folds=4))
    widths = {"height": 1, "adduction": 1, "ratios": 5, "quantities": 6}
    for name in ("medial", "lateral"):
        told = found.checks[name]
        assert list(told) == [*widths, *(f"{key}, 4 folds" for key in widths)]
        assert [check.residuals.shape[1] for check in told.values()] == [*widths.values()] * 2
    medial, lateral = found.checks["medial"], found.checks["lateral"]
    np.testing.assert_array_equal(medial["height"].residuals, lateral["height"].residuals)
    assert (medial["ratios"].residuals != lateral["ratios"].residuals).any()


@pytest.mark.parametrize("formulation", KNEE_FORMULATIONS)
def test_a_file_gives_back_the_same_bits(formulation, tmp_path):
    surrogate = replace(knee(formulation, "kriging"), header={"name": "knee", "family": "kriging"})
    save(surrogate, tmp_path / "knee.npz")
    read = load(tmp_path / "knee.npz")
    assert isinstance(read, WholeKneeSurrogate)
    assert read.header["formulation"] == {"knee": formulation}
    assert (read.header["version"], read.header["name"]) == (3, "knee")
    poses, _ = truth(formulation, draw(20, 13))
    for ours, theirs in zip(
        read.evaluate_batch(poses), surrogate.evaluate_batch(poses), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("missing", ["constants", "first", "second"])
def test_a_file_that_lacks_a_part_is_refused(missing, tmp_path, monkeypatch):
    surrogate = knee("knee_inverted_one")
    arrays = surrogate.to_arrays()
    kept = {k: v for k, v in arrays.items() if not k.startswith(missing)}
    monkeypatch.setattr(WholeKneeSurrogate, "to_arrays", lambda self: kept)
    save(surrogate, tmp_path / "knee.npz")
    with pytest.raises(SurrogateFileError, match=r"knee\.npz: not a usable surrogate"):
        load(tmp_path / "knee.npz")


@pytest.mark.parametrize("formulation", KNEE_FORMULATIONS)
def test_each_compartment_has_a_domain_of_its_own(formulation, tmp_path):
    model = knee(formulation)
    x = draw(200, 5)
    parts = [
        fitter().fit(x, manufactured.quadratic(x, seed, 3) * [3.0, 3.0, 4.0], None).regressor
        for seed in (6, 7)
    ]
    limits = np.array([0.2, 0.2, 2e7])
    told = replace(
        model,
        domains=tuple(Domain(limits, part, np.ones(12), no_outputs(6)) for part in parts),
    )
    save(told, tmp_path / "knee.npz")
    poses = truth(formulation, draw(60, 3, 1.05))[0]
    plain = model.evaluate_batch(poses)
    for tried in (told, load(tmp_path / "knee.npz")):
        loads, jacobians, variables = tried.evaluate_batch(poses)
        np.testing.assert_array_equal(loads, plain[0])
        np.testing.assert_array_equal(jacobians, plain[1])
        for c, own in enumerate(told.domains):
            expected = own.extrapolation(variables[:, c], loads[:, c])
            np.testing.assert_allclose(variables[:, c, 6], expected, rtol=1e-12, atol=1e-12)
    assert 10 < (variables[..., 6] > 1.0).sum() < 110
    outside = (np.abs(variables) > 1.0 + 1e-9).any(axis=(1, 2))
    for pose, beyond in zip(poses, outside, strict=True):
        assert (told.loads(Pose.from_array(pose)).flags != ()) == beyond
