"""Surrogates of contact pairs with one and three compartments of their own names."""

import json
from copy import deepcopy
from dataclasses import replace

import manufactured
import numpy as np
import pytest

import surrogates
from foundation.base.errors import InputError
from foundation.base.pose import Pose
from surrogates.files import persistence
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.domain import Domain
from surrogates.formulations.outside import OutsideDomainError

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


def test_one_compartment_gives_its_own_loads():
    loads, jacobian, x = ONE.evaluate_batch(POSES)
    wanted = KNEE.compartment("medial").evaluate_batch(POSES)
    assert loads.shape == (len(POSES), 1, 12)
    for found, own in zip((loads, jacobian, x), wanted, strict=True):
        np.testing.assert_array_equal(found[:, 0], own)
    here, slope = ONE.loads_and_jacobian(Pose.from_array(POSES[0]))
    assert here.compartments == ONE.compartments == ("patellofemoral",)
    np.testing.assert_array_equal(here.patellofemoral.array, wanted[0][0])
    np.testing.assert_array_equal(slope, wanted[1][0])
    np.testing.assert_array_equal(
        ONE.standard_error(Pose.from_array(POSES[0]))[0],
        KNEE.compartment("medial").standard_error(POSES[:1])[0],
    )


def test_compartments_of_a_knee_are_the_same_under_other_names():
    loads, jacobian, x = THREE.evaluate_batch(POSES)
    both = KNEE.evaluate_batch(POSES)
    for found, wanted in zip((loads, jacobian, x), both, strict=True):
        np.testing.assert_array_equal(found[:, :2], wanted)
        np.testing.assert_array_equal(found[:, 2], wanted[:, 0])
    total = THREE.loads(Pose.from_array(POSES[0])).total.wrench
    np.testing.assert_allclose(total, loads[0, :, :6].sum(axis=0), rtol=1e-12, atol=1e-12)


def test_a_pose_outside_is_flagged_by_the_name_of_the_compartment():
    away = POSES[0] + np.array([0, 0, 0, 0.05, 0, 0])
    flags = ONE.loads(Pose.from_array(away)).flags
    assert flags
    assert all(str(flag).startswith("patellofemoral: outside") for flag in flags)
    assert ONE.loads(Pose.from_array(POSES[0])).flags == ()
    with pytest.raises(OutsideDomainError, match="patellofemoral"):
        ONE.on_leaving("error").loads(Pose.from_array(away))


@pytest.mark.parametrize("pair", [ONE, THREE])
def test_files_keep_names_in_their_order(pair, tmp_path):
    path = tmp_path / "pair.npz"
    surrogates.save(pair, path)
    again = surrogates.load(path)
    assert isinstance(again, ContactSurrogate)
    assert again.compartments == pair.compartments
    assert again.header["version"] == persistence.VERSION
    np.testing.assert_array_equal(again.evaluate_batch(POSES)[0], pair.evaluate_batch(POSES)[0])
    copied = deepcopy(pair)
    np.testing.assert_array_equal(copied.evaluate_batch(POSES)[0], pair.evaluate_batch(POSES)[0])


def test_a_file_with_names_that_are_no_names_is_refused(tmp_path):
    surrogates.save(ONE, tmp_path / "pair.npz")
    with np.load(tmp_path / "pair.npz") as content:
        arrays = dict(content)
    header = json.loads(arrays.pop("header").tobytes()) | {"compartments": ["total"]}
    header["sha256"] = persistence.digest(header, arrays)
    arrays["header"] = np.frombuffer(json.dumps(header, sort_keys=True).encode(), dtype=np.uint8)
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(surrogates.SurrogateFileError, match="expected one or more distinct names"):
        surrogates.load(tmp_path / "bad.npz")


def test_representation_names_surrogate_and_formulation():
    assert repr(ONE) == "<ContactSurrogate patella: inverted >"


def test_domains_are_taken_one_for_each_compartment():
    domains = [Domain.whole_box() for _ in range(3)]
    for pair in (THREE, replace(THREE, outside="error")):
        found = pair.with_domains(domains)
        assert found.compartments == pair.compartments
        assert found.outside == pair.outside
        assert all(a is b for a, b in zip(found.domains, domains, strict=True))
    with pytest.raises(ValueError, match="argument"):
        THREE.with_domains(domains[:2])


def test_compartments_that_do_not_exist_are_refused():
    with pytest.raises(InputError, match="patellofemoral"):
        ONE.compartment("medial")
    with pytest.raises(InputError, match="compartment_names"):
        ContactSurrogate({"total": KNEE.compartment("medial")})
