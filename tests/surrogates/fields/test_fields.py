"""Pressure fields: surfaces of condyles, laws of springs, fields of spheres on beds, and files."""

from dataclasses import replace

import manufactured
import numpy as np
import pressed_spheres as spheres
import pytest
from some_slow import first_of

import surrogates
from dynamics.wear.cycle_wear import FieldContact
from foundation.base.errors import InputError
from foundation.base.flags import FlagKind
from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import LinearLaw, LogarithmicLaw, ModifiedLaw
from surrogates.fields.condyle_surface import CondyleSurface
from surrogates.fields.field_fit import fit_fields
from surrogates.fields.knee_fields import (
    LOGARITHMIC,
    POWER,
    LayerResponse,
    Skin,
    SpringResponse,
    parts_of,
)

CENTRE = np.array([3e-3, -2e-3, 20e-3])


def torus(count, seed, wide=0.8):
    """Points of a torus around an axis along z: radii of 30 mm and 20 mm."""
    rng = np.random.default_rng(seed)
    theta, phi = rng.uniform(-wide, wide, count), rng.uniform(-0.3, 0.3, count)
    rho = 10e-3 + 20e-3 * np.cos(phi)
    arms = np.column_stack([rho * np.sin(theta), -rho * np.cos(theta), 20e-3 * np.sin(phi)])
    return CENTRE + arms


def rise(surface, point):
    """Signed depth of a point of the femur below its surface, by the compiled kernel."""
    # The femoral frame is the tibial one; the normal is that towards the axis.
    normal = np.array([CENTRE[0] - point[0], CENTRE[1] - point[1], 0.0])
    bed = np.array([[*point, *(normal / np.linalg.norm(normal)), 1e-6]])
    depth, _ = Skin(bed, surface).indentations(np.eye(3), np.zeros(3))
    return depth[0]


@pytest.mark.parametrize("spacing", first_of([1e-3, 2e-3]))
def test_a_torus_is_found_to_the_order_of_cubic_splines(spacing):
    surface, residuals = CondyleSurface.fit(torus(8000, 0), spacing)
    assert np.abs(residuals).max() < 2e3 * spacing**4 * 30.0
    for point in torus(20, 1, wide=0.6):
        inward = CENTRE - point
        inward[2] = 0.0
        inward *= 0.1e-3 / np.linalg.norm(inward)
        assert rise(surface, point + inward) == pytest.approx(0.1e-3, abs=0.5e-6)


def test_a_point_beside_the_condyle_does_not_count():
    points = torus(4000, 0)
    foreign = points.copy()
    foreign[::1000] += [0.0, 3e-3, 0.0]
    fits = [CondyleSurface.fit(each, 1.5e-3)[0] for each in (points, foreign)]
    for point in torus(20, 1, wide=0.6):
        within = point + 1e-3 * (CENTRE - point) / np.linalg.norm(CENTRE - point)
        found = [rise(fit, within) for fit in fits]
        assert found[1] == pytest.approx(found[0], abs=2e-6)


def test_other_points_are_refused():
    with pytest.raises(InputError, match="expected at least 16"):
        CondyleSurface.fit(torus(15, 0), 1e-3)
    with pytest.raises(InputError, match="larger spacing"):
        CondyleSurface.fit(torus(100, 0), 1e-5)
    arrays = CondyleSurface.fit(torus(2000, 0), 2e-3)[0].to_arrays()
    with pytest.raises(InputError, match="missing"):
        CondyleSurface.from_arrays({k: a for k, a in arrays.items() if k != "known"})
    with pytest.raises(InputError, match="known"):
        CondyleSurface.from_arrays(arrays | {"known": arrays["known"][1:]})


COUNT = 30
THICKNESS = np.linspace(4e-3, 9e-3, COUNT)


def pairs(law, share=0.0, seed=0):
    """Triangles, indentations, largest indentations and pressures of a law over 40 poses."""
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(40):
        largest = rng.uniform(0.1e-3, 0.8e-3)
        triangle = rng.permutation(COUNT)[:12]
        depth = rng.uniform(share + 0.05, 1.0, 12) * largest
        depth[0] = largest
        whole = np.zeros(COUNT)
        whole[triangle] = depth
        pressure = law.pressure(whole)[triangle]
        parts.append((triangle, depth, np.full(12, largest), pressure))
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


@pytest.mark.parametrize(
    ("law", "kind", "exponent", "share"),
    [
        (LinearLaw(463e6, 0.46, THICKNESS), POWER, 1.0, 0.0),
        (LogarithmicLaw(5e6, 0.45, THICKNESS), LOGARITHMIC, 1.0, 0.0),
        (ModifiedLaw(463e6, 0.46, THICKNESS, f=4.0, m=0.8), POWER, 0.8, 0.25),
    ],
)
def test_the_law_is_found(law, kind, exponent, share):
    triangle, depth, largest, pressure = pairs(law, share)
    found, known = SpringResponse.fit(triangle, depth, largest, pressure)
    assert found is not None
    assert found.constants == pytest.approx([kind, exponent, share], abs=2e-3)
    depths = np.linspace(0.6e-3, 0.7e-3, len(known))
    fitted = found.pressures(depths, 0.7e-3)
    truth = np.zeros(COUNT)
    truth[known] = depths
    assert fitted == pytest.approx(law.pressure(truth, 0.7e-3)[known], rel=2e-3)


def test_a_layer_is_not_a_bed_of_springs():
    triangle, depth, largest, _ = pairs(LinearLaw(463e6, 0.46, THICKNESS))
    other = np.random.default_rng(3).uniform(0.5, 1.5, len(depth)) * 1e11 * depth
    assert SpringResponse.fit(triangle, depth, largest, other)[0] is None


BED = spheres.bed()
SPACING = 1.5e-3


def fitted(state, count=80):
    samples = spheres.samples(state, BED, spheres.poses(count))
    return fit_fields(samples, spheres.places_of(BED), len(BED.areas), SPACING)


@pytest.fixture(scope="module")
def fields():
    return fitted(spheres.springs(BED))


def test_springs_are_found(fields):
    state = spheres.springs(BED)
    for name in spheres.NAMES:
        assert isinstance(fields.by_name[name].response, SpringResponse)
    for place in spheres.poses(15, seed=1):
        truth = state(Pose.from_array(place)).pressure
        found = fields.pressure(place[None])
        assert np.abs(found - truth).max() < 5e-3 * truth.max()


def test_groups_change_nothing(fields):
    """The kernel skips triangles that the femur cannot reach."""
    skin = fields.by_name["medial"].skin
    limits = np.ones_like(skin.outline.limits)
    plain = replace(skin)
    plain.__dict__["outline"] = skin.outline._replace(limits=limits)
    for place in spheres.poses(10, seed=4):
        skipped, every = (each.indentations(*parts_of(place))[0] for each in (skin, plain))
        contact = every > 0.0
        assert np.array_equal(contact, skipped > 0.0)
        assert skipped[contact] == pytest.approx(every[contact], abs=1e-7)


def test_the_load_and_pressures_of_a_layer_are_learnt():
    bed = spheres.bed(0.5e-3)
    state = spheres.layer(bed)
    samples = spheres.samples(state, bed, spheres.poses(120))
    found = fit_fields(samples, spheres.places_of(bed), len(bed.areas), SPACING)
    assert isinstance(found.by_name["medial"].response, LayerResponse)
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


def test_outside_the_domain_the_field_is_flagged(knee):
    inside = manufactured.truth().poses(np.zeros((1, 5)), np.array([0.2e-3]))[0]
    outside = inside.copy()
    outside[2] += 0.5
    assert knee.pressure_field(Pose.from_array(inside)).flags == ()
    field = knee.pressure_field(Pose.from_array(outside))
    assert any(flag.kind is FlagKind.OUTSIDE_ROTATION for flag in field.flags)
    with pytest.raises(surrogates.OutsideDomainError):
        knee.on_leaving("error").pressure_field(Pose.from_array(outside))
    both = knee.pressure_field(np.array([inside, outside]))
    assert both.pressure.shape == (2, knee.fields.faces)
    assert np.array_equal(both.pressure[1], field.pressure)
    assert both.flags == ((), field.flags)


def test_wear_takes_the_field_of_the_same_mesh(knee):
    contact = FieldContact(knee, BED, BED.compartments)
    assert contact.spring_state(Pose()).pressure.shape == (len(BED.areas),)
    coarse = spheres.bed(1e-3)
    with pytest.raises(InputError, match="mesh of the fields"):
        FieldContact(knee, coarse, coarse.compartments).spring_state(Pose())
    with pytest.raises(InputError, match="compartments"):
        FieldContact(knee, BED, BED.compartments[1:])


def test_a_knee_without_fields_says_so(tmp_path):
    surrogates.save(manufactured.knee(), tmp_path / "knee.npz")
    again = surrogates.load(tmp_path / "knee.npz")
    assert again.fields is None
    with pytest.raises(InputError, match=r"\[surrogate.fields\]"):
        again.pressure_field(Pose())
