"""The knee: totals of its compartments, flags in units for people."""

from __future__ import annotations

from dataclasses import replace

import manufactured
import numpy as np
import pytest

from dynamics.protocol import ContactModel
from foundation.pose import Pose
from surrogates.knee import KneeSurrogate


@pytest.fixture(scope="module")
def knee():
    return manufactured.knee()


def pose_at(knee, load, flexion=0.5, **changes):
    """A pose on the path at which the medial compartment carries `load`."""
    path = knee.medial.space.path.poses([flexion])
    held = Pose.from_array(knee.medial.at_load(path, np.array([load]))[0][0])
    return replace(held, **changes)


def test_the_knee_is_a_contact_model(knee):
    assert isinstance(knee, ContactModel)


@pytest.mark.parametrize("family", manufactured.FITS)
def test_totals_are_the_sums_of_the_compartments(family):
    knee = manufactured.knee(family)
    pose = pose_at(knee, 900.0)
    medial, medial_jacobian, _ = knee.medial.evaluate(pose.array)
    lateral, lateral_jacobian, _ = knee.lateral.evaluate(pose.array)
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
    medial, lateral = manufactured.inverted(), manufactured.inverted()
    lifted = replace(
        lateral.space.path, coordinates=lateral.space.path.coordinates - [0, 0, 0, 1, 0]
    )
    lateral = type(lateral)(
        replace(lateral.space, path=lifted), lateral.height, lateral.ratios, lateral.quantities
    )
    knee = KneeSurrogate(medial, lateral)
    pose = pose_at(knee, 900.0)
    loads = knee.loads(pose)
    np.testing.assert_array_equal(loads.total.array, loads.medial.array)
    assert loads.force[1] == pytest.approx(900.0, rel=1e-9)
    assert np.isnan(loads.lateral.centre_of_pressure).all()


@pytest.mark.parametrize(
    ("coordinate", "beyond", "text"),
    [
        # Half widths: 0.02 rad, 0.1 rad, 4 mm, 1 mm.
        ("adduction", 0.02 + np.radians(1.5), "adduction by 1.5 deg"),
        ("adduction", -0.02 - np.radians(1.5), "adduction by 1.5 deg"),
        ("rotation", 0.1 + np.radians(12.0), "rotation by 12 deg"),
        ("anterior", -4e-3 - 0.25e-3, "anterior by 0.25 mm"),
        ("lateral", 1e-3 + 3e-3, "lateral by 3 mm"),
    ],
)
def test_an_offset_beyond_the_box_is_flagged_with_its_distance(knee, coordinate, beyond, text):
    pose = pose_at(knee, 100.0, superior=0.05)  # out of contact, so that no load is beyond
    moved = replace(pose, **{coordinate: getattr(pose, coordinate) + beyond})
    expected = tuple(
        f"{name}: outside the trained domain, {text} beyond" for name in ("medial", "lateral")
    )
    assert knee.loads(moved).flags == expected
    at_border = replace(pose, **{coordinate: getattr(pose, coordinate) + 0.999 * beyond})
    assert knee.loads(at_border).flags != ()
    inside = replace(pose, **{coordinate: getattr(pose, coordinate) + 0.2 * beyond})
    assert knee.loads(inside).flags == ()


@pytest.mark.parametrize("flexion", [1.0 + np.radians(20.0), np.radians(-20.0)])
def test_flexion_beyond_its_range_is_flagged(knee, flexion):
    path = knee.medial.space.path.poses([flexion])[0]
    flags = knee.loads(Pose.from_array(path + np.eye(6)[4] * 0.05)).flags
    assert flags[0] == "medial: outside the trained domain, flexion by 20 deg beyond"
    assert len(flags) == 2


def test_a_load_beyond_the_trained_is_flagged_in_newton(knee):
    """The compartments are trained to 2500 and 1600 N."""
    pose = pose_at(knee, 2500.0)
    deeper = replace(pose, superior=pose.superior - 0.2e-3)
    loads = knee.loads(deeper)
    medial, lateral = loads.medial.force[1], loads.lateral.force[1]
    assert loads.flags == (
        f"medial: outside the trained domain, axial load of {medial:.0f} N, "
        f"{medial - 2500:.0f} N beyond",
        f"lateral: outside the trained domain, axial load of {lateral:.0f} N, "
        f"{lateral - 1600:.0f} N beyond",
    )


def test_two_reasons_are_two_flags(knee):
    pose = pose_at(knee, 100.0, superior=0.05)
    moved = replace(pose, adduction=pose.adduction + 0.1, lateral=pose.lateral - 5e-3)
    medial = [flag for flag in knee.loads(moved).flags if flag.startswith("medial")]
    assert len(medial) == 2
    assert "adduction" in medial[0]
    assert "lateral by 4 mm" in medial[1]


def test_a_direct_surrogate_flags_the_height_as_a_height():
    """Its sixth variable is no load."""
    direct = manufactured.direct()
    knee = KneeSurrogate(direct, direct)
    pose = Pose.from_array(direct.space.path.poses([0.5])[0])
    assert knee.loads(pose).flags == ()
    middle, half = direct.height_range
    for side in (-1.0, 1.0):
        over = pose.superior + middle + side * (half + 2e-3)
        flags = knee.loads(replace(pose, superior=over)).flags
        assert flags[0] == "medial: outside the trained domain, superior by 2 mm beyond"


def test_compartments_by_name(knee):
    assert knee.compartment("medial") is knee.medial
    assert knee.compartment("lateral") is knee.lateral
    with pytest.raises(ValueError, match="expected one of"):
        knee.compartment("header")
