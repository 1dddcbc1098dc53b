"""Pressure fields of spheres on beds, fitted to the fields of samples, and their files."""

from __future__ import annotations

from dataclasses import replace

import manufactured
import numpy as np
import pressed_spheres as spheres
import pytest
from surrogate_files import parts, signed

import surrogates
from dynamics.wear.field_contact import FieldContact
from foundation.base.errors import InputError
from foundation.base.flags import FlagKind
from foundation.base.pose import Pose
from surrogates.fields.field_fit import FieldSettings, fit_fields
from surrogates.fields.knee_fields import KneeFields
from surrogates.fields.layer_response import LayerResponse
from surrogates.fields.samples import FieldSamples
from surrogates.fields.skin import parts_of
from surrogates.fields.spring_response import SpringResponse

BED = spheres.bed()
SETTINGS = FieldSettings(spacing=1.5e-3)


def fitted(state, count=80):
    samples = spheres.samples(state, BED, spheres.poses(count))
    return fit_fields(samples, spheres.places_of(BED), len(BED.areas), SETTINGS)


@pytest.fixture(scope="module")
def fields():
    return fitted(spheres.springs(BED))


def test_springs_are_found(fields):
    state = spheres.springs(BED)
    for name in spheres.NAMES:
        assert isinstance(fields.compartment(name).response, SpringResponse)
    for place in spheres.poses(15, seed=1):
        truth = state(Pose.from_array(place)).pressure
        found = fields.pressure(place[None])
        assert np.abs(found - truth).max() < 5e-3 * truth.max()


def test_lifted_spheres_have_no_pressure(fields):
    place = spheres.poses(1, seed=1)[0]
    place[4] += 1e-3
    assert not fields.pressure(place[None]).any()


def test_groups_change_nothing(fields):
    """The kernel skips triangles that the femur cannot reach."""
    skin = fields.medial.skin
    limits = np.ones_like(skin.outline.limits)
    plain = replace(skin)
    plain.__dict__["outline"] = skin.outline._replace(limits=limits)
    for place in spheres.poses(10, seed=4):
        skipped, every = (each.indentations(*parts_of(place))[0] for each in (skin, plain))
        contact = every > 0.0
        assert np.array_equal(contact, skipped > 0.0)
        assert skipped[contact] == pytest.approx(every[contact], abs=1e-7)


def test_the_threshold_of_the_modified_law_is_found():
    def law(depth, largest):
        return 1e10 * np.maximum(depth - 0.4 * largest, 0.0) ** 0.9

    state = spheres.springs(BED, law)
    found = fitted(state)
    assert found.medial.response.constants == pytest.approx([0.0, 0.9, 0.4], abs=0.01)
    place = spheres.poses(1, seed=1)[0]
    truth = state(Pose.from_array(place)).pressure
    assert np.abs(found.pressure(place[None]) - truth).max() < 0.03 * truth.max()


def test_the_load_and_pressures_of_a_layer_are_learnt():
    bed = spheres.bed(0.5e-3)
    state = spheres.layer(bed)
    samples = spheres.samples(state, bed, spheres.poses(120))
    found = fit_fields(samples, spheres.places_of(bed), len(bed.areas), SETTINGS)
    assert isinstance(found.medial.response, LayerResponse)
    loads, errors = [], []
    for place in spheres.poses(10, seed=1):
        truth = state(Pose.from_array(place)).pressure
        field = found.pressure(place[None])
        for side in range(2):
            at = bed.compartments == side
            loads.append(field[at].sum() / truth[at].sum() - 1.0)
        patch = (truth > 0.0) | (field > 0.0)
        errors.append(np.sqrt(((field - truth)[patch] ** 2).mean()) / truth.max())
    assert np.abs(loads).max() < 0.03
    assert np.median(errors) < 0.04


@pytest.mark.slow
def test_triangles_interpolate_between_places():
    """Triangles at the places themselves, and half way to the next."""
    bed = spheres.bed(0.5e-3)
    samples = spheres.samples(spheres.layer(bed), bed, spheres.poses(120))
    near = [np.argsort(np.linalg.norm(bed.centroids - x, axis=1))[1] for x in bed.centroids]
    places, faces = spheres.places_of(bed), len(bed.areas)
    plain = fit_fields(samples, places, faces, SETTINGS)
    for name, own in places.items():
        number = np.full(faces, -1)
        number[own.triangles] = np.arange(len(own.triangles))
        beside = number[np.array(near)[own.triangles]]
        corners = np.column_stack([number[own.triangles], beside, beside])
        shares = np.tile([0.5, 0.3, 0.2], (len(corners), 1))
        places[name] = replace(own, corners=corners, shares=shares)
    between = fit_fields(samples, places, faces, SETTINGS)
    place = spheres.poses(1, seed=1)
    at_places, found = plain.pressure(place), between.pressure(place)
    wanted = 0.5 * at_places + 0.5 * at_places[near]
    assert found == pytest.approx(wanted, abs=1e-9 * wanted.max())
    again = KneeFields.from_arrays(between.to_arrays())
    assert np.array_equal(again.pressure(place), found)
    damaged = between.to_arrays()
    damaged["medial/corners"] = damaged["medial/corners"] + 10**6
    with pytest.raises(InputError, match="corners"):
        KneeFields.from_arrays(damaged)


@pytest.fixture
def knee(fields):
    return replace(manufactured.knee(), fields=fields)


def test_a_file_keeps_the_fields(knee, tmp_path):
    surrogates.save(knee, tmp_path / "knee.npz")
    again = surrogates.load(tmp_path / "knee.npz")
    assert again.fields.faces == len(BED.areas)
    arrays = knee.fields.to_arrays()
    found = again.fields.to_arrays()
    assert arrays.keys() == found.keys()
    assert all(np.array_equal(arrays[name], found[name]) for name in arrays)


def test_a_knee_without_fields_says_so(tmp_path):
    surrogates.save(manufactured.knee(), tmp_path / "knee.npz")
    again = surrogates.load(tmp_path / "knee.npz")
    assert again.fields is None
    with pytest.raises(InputError, match=r"\[surrogate.fields\]"):
        again.pressure_field(Pose())
    with pytest.raises(InputError, match="fields"):
        again.pressure_fields(np.zeros((2, 6)))


def test_later_and_damaged_fields_are_refused(knee, tmp_path):
    arrays = knee.fields.to_arrays()
    with pytest.raises(InputError, match="version 2, found 3"):
        KneeFields.from_arrays(arrays | {"version": np.array(3)})
    with pytest.raises(InputError, match="missing"):
        KneeFields.from_arrays({k: a for k, a in arrays.items() if k != "faces"})
    with pytest.raises(InputError, match="triangles"):
        KneeFields.from_arrays(arrays | {"faces": np.array(3)})
    name = "medial/triangles"
    with pytest.raises(InputError, match="triangles"):
        KneeFields.from_arrays(arrays | {name: np.zeros_like(arrays[name])})
    file = tmp_path / "knee.npz"
    surrogates.save(knee, file)
    content, header = parts(file)
    content["fields/medial/bed"] = content["fields/medial/bed"][:, :6]
    file.write_bytes(signed(content, header))
    with pytest.raises(surrogates.SurrogateFileError, match="bed"):
        surrogates.load(file)


def test_outside_the_domain_the_field_is_flagged(knee):
    inside = manufactured.truth().poses(np.zeros((1, 5)), np.array([0.2e-3]))[0]
    outside = inside.copy()
    outside[2] += 0.5
    assert knee.pressure_field(Pose.from_array(inside)).flags == ()
    field = knee.pressure_field(Pose.from_array(outside))
    assert any(flag.kind is FlagKind.OUTSIDE_ROTATION for flag in field.flags)
    with pytest.raises(surrogates.OutsideDomainError):
        knee.on_leaving("error").pressure_field(Pose.from_array(outside))
    both = knee.pressure_fields(np.array([inside, outside]))
    assert both.shape == (2, knee.fields.faces)
    assert np.array_equal(both[1], field.pressure)


def test_wear_takes_the_field_of_the_same_mesh(knee):
    contact = FieldContact(knee, BED, BED.compartments)
    assert contact.spring_state(Pose()).pressure.shape == (len(BED.areas),)
    coarse = spheres.bed(1e-3)
    with pytest.raises(InputError, match="mesh of the fields"):
        FieldContact(knee, coarse, coarse.compartments).spring_state(Pose())
    with pytest.raises(InputError, match="compartments"):
        FieldContact(knee, BED, BED.compartments[1:])


def test_samples_are_checked():
    own = spheres.samples(spheres.springs(BED), BED, spheres.poses(3))["medial"]
    with pytest.raises(InputError, match="starts"):
        FieldSamples(own.poses, own.starts[:-1], *(
            getattr(own, name) for name in ("place", "indentation", "pressure")
        ))  # fmt: skip
    assert own.largest() == pytest.approx(
        [own.indentation[own.rows() == k].max() for k in range(len(own.poses))]
    )
