"""The knee: totals of its compartments, flags in units for people; pairs of other compartments."""

import warnings
from copy import deepcopy
from dataclasses import replace

import manufactured
import numpy as np
import pytest
from made_knees import knee_of
from surrogate_arrays import arrays
from surrogate_files import parts, signed

import surrogates
from foundation.base.pose import Pose
from foundation.core.library import CORE, address
from surrogates.files import persistence
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.domain import OutsideDomainError, OutsideDomainWarning


@pytest.fixture(scope="module")
def knee():
    return manufactured.knee()


OFFSETS = ["adduction", "rotation", "anterior", "lateral"]


def pose_at(knee, load, flexion=0.5, **changes):
    """A pose on the path at which the medial compartment carries `load`."""
    path = knee.compartment("medial").space.path.poses([flexion])
    held = Pose.from_array(knee.compartment("medial").at_load(path, np.array([load]))[0][0])
    return replace(held, **changes)


@pytest.mark.parametrize("family", manufactured.FAMILIES)
def test_totals_are_the_sums_of_the_compartments(family):
    knee = manufactured.knee("inverted", family)
    pose = pose_at(knee, 900.0)
    medial, medial_jacobian, _ = arrays(knee.compartment("medial"), pose)
    lateral, lateral_jacobian, _ = arrays(knee.compartment("lateral"), pose)
    loads = knee.loads(pose, 1)
    jacobian = loads.total_jacobian
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


@pytest.fixture(scope="module")
def outside(knee):
    pose = pose_at(knee, 900.0)
    return replace(pose, adduction=pose.adduction + 0.1)


def test_a_pose_outside_may_be_clamped_warned_of_or_refused(knee, outside):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clamped = knee.loads(outside, 1)
        arrays(knee, outside.array[None])
    assert knee.outside == "clamp"
    assert clamped.flags
    warned = knee.on_leaving("warning")
    with pytest.warns(OutsideDomainWarning, match="medial: .* adduction by .* deg beyond; "):
        loads = warned.loads(outside, 1)
    np.testing.assert_array_equal(loads.total.array, clamped.total.array)
    np.testing.assert_array_equal(loads.jacobian, clamped.jacobian)
    assert loads.flags == clamped.flags
    strict = knee.on_leaving("error")
    for pose, order in [(outside, 0), (outside, 1), (outside, 2), (outside.array[None], 0)]:
        with pytest.raises(OutsideDomainError, match=r"^pose: medial: outside the trained domain"):
            strict.loads(pose, order)
    assert knee.outside == "clamp"
    assert issubclass(OutsideDomainError, ValueError)
    assert issubclass(OutsideDomainWarning, UserWarning)


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
    loads, jacobians, x = arrays(knee, poses)
    assert (loads.shape, jacobians.shape, x.shape) == ((40, 2, 12), (40, 2, 6, 6), (40, 2, 7))
    for k, pose in enumerate(poses):
        one = knee.loads(Pose.from_array(pose), 1)
        np.testing.assert_array_equal(loads[k], [one.medial.array, one.lateral.array])
        np.testing.assert_array_equal(jacobians[k].sum(axis=0), one.total_jacobian)
        assert bool(one.flags) == bool(np.abs(x[k]).max() > 1.0 + 1e-9)


@pytest.mark.parametrize("formulation", manufactured.ALL)
def test_standard_errors_are_those_of_the_compartments(formulation):
    """In the domain; beyond it nothing is known of the errors."""
    knee = manufactured.knee(formulation, "kriging")
    inside = 0
    for pose in many(knee, formulation, 12):
        found = knee.standard_error(Pose.from_array(pose))
        for row, name in zip(found, ("medial", "lateral"), strict=True):
            own = knee.compartment(name).standard_error(pose[None])[0]
            if np.abs(knee.compartment(name).loads(pose).variables).max() <= 1.0:
                np.testing.assert_array_equal(row, own)
                inside += 1
            else:
                assert np.isnan(row).all()
    assert inside > 2


@pytest.mark.parametrize("family", ["kriging", "polynomial", "joint"])
def test_wrench_alone_is_that_of_the_loads(family):
    """In contact, at its border, lifted off, and outside the domain."""
    if family == "joint":  # one regressor of all outputs, as networks are
        part = manufactured.train(manufactured.truth("inverted"), "polynomial", joint=True)
        knee = knee_of(part.surrogate, part.surrogate)
    else:
        knee = manufactured.knee("inverted", family)
    work = knee.packed.work()
    lifts = np.linspace(-2e-4, 4e-4, 40)
    poses = many(knee, "inverted", 40) + lifts[:, None] * [0, 0, 0, 0, 1, 0]
    poses[::7, 2] += 1.0
    loads, jacobian, x = np.empty((2, 12)), np.empty((2, 6, 6)), np.empty((2, 7))
    own, variables = np.empty((2, 12)), np.empty((2, 7))
    touching = 0

    def fill(pose, *filled, few):
        places = [address(each) if each is not None else 0 for each in (*filled, work)]
        return CORE.fill_knee(
            knee.packed.address, 2, 1, address(pose), int(not few), int(few), *places
        )

    for pose in poses:
        outside = fill(pose, loads, jacobian, None, x, few=False)
        x[:, 6] = 0.0  # the domain is left out
        assert fill(pose, own, None, None, variables, few=True) == outside
        scale = np.abs(loads[:, :6]).max()
        np.testing.assert_allclose(own[:, :6], loads[:, :6], rtol=0.0, atol=1e-11 * scale)
        np.testing.assert_allclose(variables, x, rtol=1e-12, atol=1e-12)
        touching += scale > 0.0
    assert 5 < touching < 40


KNEE = manufactured.knee()
ONE = ContactSurrogate({"patellofemoral": KNEE.compartment("medial")}, {"name": "patella"})
THREE = ContactSurrogate(
    {
        "c": KNEE.compartment("medial"),
        "b": KNEE.compartment("lateral"),
        "a": KNEE.compartment("medial"),
    }
)
POSES = manufactured.truth().samples(manufactured.draw(20, 5)).poses


def test_compartments_of_a_knee_are_the_same_under_other_names():
    loads, jacobian, x = arrays(THREE, POSES)
    both = arrays(KNEE, POSES)
    for found, wanted in zip((loads, jacobian, x), both, strict=True):
        np.testing.assert_array_equal(found[:, :2], wanted)
        np.testing.assert_array_equal(found[:, 2], wanted[:, 0])
    total = THREE.loads(Pose.from_array(POSES[0])).total.wrench
    np.testing.assert_allclose(total, loads[0, :, :6].sum(axis=0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("pair", [ONE, THREE])
def test_files_keep_names_in_their_order(pair, tmp_path):
    path = tmp_path / "pair.npz"
    surrogates.save(pair, path)
    again = surrogates.load(path)
    assert isinstance(again, ContactSurrogate)
    assert again.compartments == pair.compartments
    assert again.header["version"] == persistence.VERSION
    np.testing.assert_array_equal(again.loads(POSES).values, pair.loads(POSES).values)
    copied = deepcopy(pair)
    np.testing.assert_array_equal(copied.loads(POSES).values, pair.loads(POSES).values)


def test_a_file_with_names_that_are_no_names_is_refused(tmp_path):
    surrogates.save(ONE, tmp_path / "pair.npz")
    arrays, header = parts(tmp_path / "pair.npz")
    bad = signed(arrays, header | {"compartments": ["total"]})
    (tmp_path / "bad.npz").write_bytes(bad)
    with pytest.raises(surrogates.SurrogateFileError, match="expected one or more distinct names"):
        surrogates.load(tmp_path / "bad.npz")
