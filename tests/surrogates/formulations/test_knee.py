"""The knee: totals of its compartments, flags in units for people."""

from __future__ import annotations

import warnings
from dataclasses import replace

import manufactured
import numpy as np
import pytest
from made_knees import knee_of

from dynamics.protocol import ContactModel, compiled_contact
from foundation.base.compiling import COMPILED
from foundation.base.flags import FlagKind
from foundation.base.pose import Pose
from surrogates.core.in_numba import knee_loads, knee_wrench
from surrogates.files.persistence import load, save
from surrogates.formulations.outside import OutsideDomainError, OutsideDomainWarning
from surrogates.sampling.space import ReferencePath


@pytest.fixture(scope="module")
def knee():
    return manufactured.knee()


OFFSETS = ["adduction", "rotation", "anterior", "lateral"]


def pose_at(knee, load, flexion=0.5, **changes):
    """A pose on the path at which the medial compartment carries `load`."""
    path = knee.compartment("medial").space.path.poses([flexion])
    held = Pose.from_array(knee.compartment("medial").at_load(path, np.array([load]))[0][0])
    return replace(held, **changes)


def test_the_knee_is_a_contact_model_for_compiled_loops(knee):
    assert isinstance(knee, ContactModel)
    assert compiled_contact(knee) is knee
    assert compiled_contact(knee) is knee
    assert "\n" not in repr(knee)
    assert knee.compartment("medial").formulation in repr(knee)


@pytest.mark.parametrize("family", manufactured.FAMILIES)
def test_totals_are_the_sums_of_the_compartments(family):
    knee = manufactured.knee("inverted", family)
    pose = pose_at(knee, 900.0)
    medial, medial_jacobian, _ = knee.compartment("medial").evaluate(pose.array)
    lateral, lateral_jacobian, _ = knee.compartment("lateral").evaluate(pose.array)
    loads, jacobian = knee.loads_and_jacobian(pose)
    assert loads.flags == ()
    np.testing.assert_array_equal(loads.medial.array, medial)
    np.testing.assert_array_equal(loads.lateral.array, lateral)
    np.testing.assert_allclose(loads.wrench, medial[:6] + lateral[:6], rtol=1e-14, atol=0)
    np.testing.assert_allclose(jacobian, medial_jacobian + lateral_jacobian, rtol=1e-14, atol=0)
    assert loads.area == pytest.approx(medial[6] + lateral[6], rel=1e-14)
    assert loads.peak_pressure == max(medial[7], lateral[7])
    assert medial[1] > 100.0
    assert lateral[1] > 100.0
    np.testing.assert_array_equal(knee.loads(pose).total.array, loads.total.array)


def test_out_of_contact(knee):
    loads, jacobian = knee.loads_and_jacobian(pose_at(knee, 0.0, superior=0.05))
    assert (loads.wrench == 0.0).all()
    assert (jacobian == 0.0).all()
    assert loads.area == loads.peak_pressure == loads.mean_pressure == 0.0
    assert np.isnan(loads.centre_of_pressure).all()
    assert loads.flags == ()


def test_one_compartment_in_contact_alone():
    """The other has no centre and no weight."""
    medial = manufactured.compartment()
    path = medial.coordinates.path
    lowered = ReferencePath(path.flexion, path.pieces - np.eye(5)[3] * np.eye(4)[3, :, None, None])
    coordinates = replace(medial.coordinates, path=lowered)
    knee = knee_of(medial, replace(medial, coordinates=coordinates))
    pose = pose_at(knee, 900.0)
    loads = knee.loads(pose)
    np.testing.assert_array_equal(loads.total.array, loads.medial.array)
    assert loads.force[1] == pytest.approx(900.0, rel=1e-9)
    assert np.isnan(loads.lateral.centre_of_pressure).all()


@pytest.mark.parametrize(
    ("coordinate", "beyond", "text"),
    [
        ("adduction", np.radians(1.5), "adduction by 1.5 deg"),
        ("adduction", -np.radians(1.5), "adduction by 1.5 deg"),
        ("rotation", np.radians(12.0), "rotation by 12 deg"),
        ("anterior", -0.25e-3, "anterior by 0.25 mm"),
        ("lateral", 3e-3, "lateral by 3 mm"),
    ],
)
def test_an_offset_beyond_the_box_is_flagged_with_its_distance(knee, coordinate, beyond, text):
    half = knee.compartment("medial").space.offsets[OFFSETS.index(coordinate)]
    beyond = np.copysign(half, beyond) + beyond
    pose = pose_at(knee, 100.0, superior=0.05)  # out of contact, so that no load is beyond
    moved = replace(pose, **{coordinate: getattr(pose, coordinate) + beyond})
    expected = tuple(
        f"{name}: outside the trained domain, {text} beyond" for name in ("medial", "lateral")
    )
    assert tuple(map(str, knee.loads(moved).flags)) == expected
    for part, flagged in ((1.0 + 1e-6, True), (1.0 - 1e-6, False)):
        border = getattr(pose, coordinate) + np.copysign(part * half, beyond)
        assert (knee.loads(replace(pose, **{coordinate: border})).flags != ()) == flagged


@pytest.mark.parametrize("flexion", [1.0 + np.radians(20.0), np.radians(-20.0)])
def test_flexion_beyond_its_range_is_flagged(knee, flexion):
    path = knee.compartment("medial").space.path.poses([flexion])[0]
    flags = knee.loads(Pose.from_array(path + np.eye(6)[4] * 0.05)).flags
    assert str(flags[0]) == "medial: outside the trained domain, flexion by 20 deg beyond"
    assert len(flags) == 2


def test_a_load_beyond_the_trained_is_flagged_in_newton(knee):
    """The compartments are trained to 2500 and 1600 N."""
    pose = pose_at(knee, 2500.0)
    deeper = replace(pose, superior=pose.superior - 0.2e-3)
    assert knee.loads(pose_at(knee, 1000.0)).flags == ()
    loads = knee.loads(deeper)
    medial, lateral = loads.medial.force[1], loads.lateral.force[1]
    assert tuple(map(str, loads.flags)) == (
        f"medial: outside the trained domain, axial load of {medial:.0f} N, "
        f"{medial - 2500:.0f} N beyond",
        f"lateral: outside the trained domain, axial load of {lateral:.0f} N, "
        f"{lateral - 1600:.0f} N beyond",
    )


def test_two_reasons_are_two_flags(knee):
    pose = pose_at(knee, 100.0, superior=0.05)
    half = knee.compartment("medial").space.offsets[3]
    moved = replace(pose, adduction=pose.adduction + 0.1, lateral=pose.lateral - half - 4e-3)
    medial = [flag for flag in knee.loads(moved).flags if flag.compartment == "medial"]
    kinds = [FlagKind.OUTSIDE_ADDUCTION, FlagKind.OUTSIDE_LATERAL]
    assert [flag.kind for flag in medial] == kinds
    assert medial[1].values == pytest.approx((4.0,))


@pytest.mark.parametrize("formulation", manufactured.ALL)
def test_every_formulation_flags_a_pose_outside_and_a_load_beyond(formulation):
    knee = manufactured.knee(formulation)
    true = manufactured.truth(formulation)
    x = manufactured.draw(1, 3, 0.2)
    pose = Pose.from_array(true.poses(x[:, :5], true.over(x))[0])
    assert knee.loads(pose).flags == ()
    moved = replace(pose, adduction=pose.adduction + 0.1)
    flags = knee.loads(moved).flags
    assert (FlagKind.OUTSIDE_ADDUCTION, "lateral") in [flag.cause for flag in flags]
    if formulation == "inverted":  # that of direct is held
        pressed = knee.loads(replace(pose, superior=pose.superior - 2e-3))
        assert (FlagKind.OUTSIDE_LOAD, "medial") in [flag.cause for flag in pressed.flags]


# ---- outside the domain --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def outside(knee):
    pose = pose_at(knee, 900.0)
    return replace(pose, adduction=pose.adduction + 0.1)


def test_a_pose_outside_may_be_clamped_warned_of_or_refused(knee, outside):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clamped, slope = knee.loads_and_jacobian(outside)
        knee.evaluate_batch(outside.array[None])
    assert knee.outside == "clamp"
    assert clamped.flags
    warned = knee.on_leaving("warning")
    with pytest.warns(OutsideDomainWarning, match="medial: .* adduction by .* deg beyond; "):
        loads, jacobian = warned.loads_and_jacobian(outside)
    np.testing.assert_array_equal(loads.total.array, clamped.total.array)
    np.testing.assert_array_equal(jacobian, slope)
    assert loads.flags == clamped.flags
    strict = knee.on_leaving("error")
    for ask in (strict.loads, strict.loads_and_jacobian):
        with pytest.raises(OutsideDomainError, match=r"^pose: medial: outside the trained domain"):
            ask(outside)
    assert knee.outside == "clamp"
    assert issubclass(OutsideDomainError, ValueError)
    assert issubclass(OutsideDomainWarning, UserWarning)


@pytest.mark.parametrize("answer", ["clamp", "warning", "error"])
def test_a_pose_inside_is_never_spoken_of(knee, answer):
    pose = pose_at(knee, 900.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loads = knee.on_leaving(answer).loads(pose)
        knee.on_leaving(answer).evaluate_batch(pose.array[None])
    assert loads.flags == ()


def test_a_batch_warns_of_or_refuses_poses_outside(knee, outside):
    poses = np.array([pose_at(knee, 900.0).array, outside.array])
    expected = knee.evaluate_batch(poses)
    with pytest.warns(OutsideDomainWarning, match="adduction"):
        found = knee.on_leaving("warning").evaluate_batch(poses)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(OutsideDomainError, match="adduction"):
        knee.on_leaving("error").evaluate_batch(poses)
    assert len(knee.on_leaving("error").evaluate_batch(poses[:1])[0]) == 1


# ---- many poses, and a user's own compiled loop --------------------------------------------------


def many(knee, formulation="inverted", count=40):
    """Poses in and out of contact, inside and outside the box."""
    true = manufactured.truth(formulation)
    x = manufactured.draw(count, 7)
    poses = true.poses(x[:, :5], true.over(x))
    poses[::4, 4] += 5e-3
    poses[1::4, 1] += 0.05
    return poses


@pytest.mark.parametrize("formulation", manufactured.ALL)
def test_a_batch_is_its_poses_one_by_one_bit_for_bit(formulation):
    knee = manufactured.knee(formulation, "kriging")
    poses = many(knee, formulation)
    loads, jacobians, x = knee.evaluate_batch(poses)
    assert (loads.shape, jacobians.shape, x.shape) == ((40, 2, 12), (40, 2, 6, 6), (40, 2, 7))
    for k, pose in enumerate(poses):
        one, jacobian = knee.loads_and_jacobian(Pose.from_array(pose))
        np.testing.assert_array_equal(loads[k], [one.medial.array, one.lateral.array])
        np.testing.assert_array_equal(jacobians[k].sum(axis=0), jacobian)
        assert bool(one.flags) == bool(np.abs(x[k]).max() > 1.0 + 1e-9)


def test_answers_do_not_share_memory(knee):
    """Scratch memory is the surrogate's own, what it returns the caller's."""
    first, slope = knee.loads_and_jacobian(pose_at(knee, 900.0))
    before, kept = first.medial.array, slope.copy()
    knee.loads_and_jacobian(pose_at(knee, 300.0))
    np.testing.assert_array_equal(first.medial.array, before)
    np.testing.assert_array_equal(slope, kept)


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="numba is not installed")
def test_a_users_compiled_loop_is_compiled_once_for_all_surrogates(tmp_path):
    import numba

    @numba.njit
    def sum_of_loads(poses, contact, work):
        total = np.zeros(12)
        loads, jacobian, x = np.empty((2, 12)), np.empty((2, 6, 6)), np.empty((2, 7))
        for i in range(poses.shape[0]):
            knee_loads(poses[i], contact, loads, jacobian, x, work)
            total[:6] += loads[0, :6] + loads[1, :6]
        return total

    one = manufactured.knee("inverted", "polynomial")
    two = manufactured.knee("inverted", "kriging")
    three = knee_of(one.compartment("medial"), manufactured.compartment("direct", "kriging"))
    file = tmp_path / "knee.npz"
    save(two, file)
    for knee in (one, two, three, load(file)):
        poses = many(knee)
        found = sum_of_loads(poses, knee.packed.address, knee.packed.work())
        expected = knee.evaluate_batch(poses)[0][:, :, :6].sum(axis=(0, 1))
        np.testing.assert_allclose(found[:6], expected, rtol=1e-12, atol=1e-9)
    assert len(sum_of_loads.signatures) == 1


@pytest.mark.parametrize("formulation", manufactured.ALL)
def test_standard_errors_are_those_of_the_compartments(formulation):
    """In the domain; beyond it nothing is known of the errors."""
    knee = manufactured.knee(formulation, "kriging")
    inside = 0
    for pose in many(knee, formulation, 12):
        found = knee.standard_error(Pose.from_array(pose))
        for row, name in zip(found, ("medial", "lateral"), strict=True):
            own = knee.compartment(name).standard_error(pose[None])[0]
            if np.abs(knee.compartment(name).evaluate(pose)[2]).max() <= 1.0:
                np.testing.assert_array_equal(row, own)
                inside += 1
            else:
                assert np.isnan(row).all()
    assert inside > 2


def test_standard_errors_heed_what_is_done_outside(knee):
    pose = Pose.from_array(many(knee)[0])
    far = replace(pose, rotation=pose.rotation + 1.0)
    with pytest.raises(OutsideDomainError, match="rotation"):
        knee.on_leaving("error").standard_error(far)


def test_a_pose_that_is_no_number_is_outside(knee):
    inside = many(knee)[:1]
    assert knee.packed.loads(np.full((1, 6), np.nan))[0] == 1
    assert knee.packed.loads(inside)[0] == 0
    assert knee.packed.loads(np.concatenate([inside, np.full((2, 6), np.nan), inside]))[0] == 2


@pytest.mark.parametrize("family", ["kriging", "polynomial", "joint"])
def test_wrench_alone_is_that_of_the_loads(family):
    """In contact, at its border, lifted off, and outside the domain."""
    if family == "joint":  # one regressor of all outputs, as networks are
        part = manufactured.train(manufactured.truth("inverted"), "polynomial", joint=True)
        knee = knee_of(part.surrogate, part.surrogate)
    else:
        knee = manufactured.knee("inverted", family)
    contact, work = knee.packed.address, knee.packed.work()
    lifts = np.linspace(-2e-4, 4e-4, 40)
    poses = many(knee, "inverted", 40) + lifts[:, None] * [0, 0, 0, 0, 1, 0]
    poses[::7, 2] += 1.0
    loads, jacobian, x = np.empty((2, 12)), np.empty((2, 6, 6)), np.empty((2, 7))
    own, variables = np.empty((2, 12)), np.empty((2, 7))
    touching = 0
    for pose in poses:
        outside = knee_loads(pose, contact, loads, jacobian, x, work)
        x[:, 6] = 0.0  # the domain is left out
        assert knee_wrench(pose, contact, own, variables, work) == outside
        scale = np.abs(loads[:, :6]).max()
        np.testing.assert_allclose(own[:, :6], loads[:, :6], rtol=0.0, atol=1e-11 * scale)
        np.testing.assert_allclose(variables, x, rtol=1e-12, atol=1e-12)
        touching += scale > 0.0
    assert 5 < touching < 40
