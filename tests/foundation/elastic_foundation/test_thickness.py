"""Thickness of layers: a femoral layer that varies, and a worn insert."""

from dataclasses import replace

import numpy as np
import pytest
from plates import H, covered_plate, round_implant
from shapes import plate, swept

from foundation import ElasticFoundation
from foundation.base.errors import InputError
from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import (
    LinearLaw,
    LogarithmicLaw,
    ModifiedLaw,
    SeriesLaw,
)
from foundation.surfaces.worn_surface import vertex_depths

TIBIA = plate(0.03, 12)
FEMUR = swept(lambda x, z: 18.0 * x**2 + 9.0 * z**2, 0.014, 14, 14, 0.014)
#: The femur is flexed, so that the places on it are not those on the bed.
POSE = Pose(flexion=0.12, adduction=0.05, rotation=0.2, superior=-4e-4, anterior=1e-3)


def bed(law, *, femur=FEMUR, surface="curved", excess=None):
    return ElasticFoundation(
        femur,
        TIBIA,
        law,
        surface=surface,
        compartments=np.zeros(len(TIBIA.faces), dtype=np.int8),
        compartment_names=("joint",),
        femur_excess=excess,
    )


def linear(thickness):
    return LinearLaw(5e6, 0.4, thickness)


def series(thickness):
    return SeriesLaw(LinearLaw(5e6, 0.4, 2e-3), LinearLaw(3e6, 0.3, thickness))


@pytest.mark.parametrize("make", [linear, series, lambda t: LogarithmicLaw(5e6, 0.4, t)])
@pytest.mark.parametrize("surface", ["curved", "flat"])
def test_an_even_excess_is_a_thicker_layer(make, surface):
    wanted = bed(make(5e-3), surface=surface).loads(POSE, 1)
    jacobian = wanted.total_jacobian
    scale = 1e-7 * np.abs(jacobian).max()
    for count in (len(FEMUR.faces), len(FEMUR.vertices)):
        found = bed(make(3e-3), surface=surface, excess=np.full(count, 2e-3))
        loads = found.loads(POSE, 1)
        np.testing.assert_allclose(loads.values, wanted.values, rtol=1e-12)
        np.testing.assert_allclose(loads.total_jacobian, jacobian, rtol=1e-9, atol=scale)
        assert loads.force[1] > 10.0


@pytest.mark.parametrize("make", [linear, series, lambda t: LogarithmicLaw(5e6, 0.4, t)])
def test_the_jacobian_has_the_slope_of_the_thickness(make):
    x, z = FEMUR.vertices[:, 0], FEMUR.vertices[:, 2]
    model = bed(make(2e-3), excess=2e-3 + 0.15 * x + 0.1 * z)
    jacobian = model.loads(POSE, 1).total_jacobian
    step = 1e-7
    q = POSE.array
    wanted = [
        (model.loads(Pose.from_array(q + h)).wrench - model.loads(Pose.from_array(q - h)).wrench)
        / (2.0 * step)
        for h in step * np.eye(6)
    ]
    wanted = np.transpose(wanted)
    scale = np.abs(wanted).max(axis=1)
    off = np.abs(jacobian - wanted).max(axis=1)
    assert (off <= 2e-6 * scale).all()


@pytest.mark.parametrize(
    ("law", "excess", "message"),
    [
        (linear(2e-3), np.full(len(FEMUR.vertices), -2e-3), "layer of the law that is thicker"),
        (linear(2e-3), np.zeros(5), r"one per femoral triangle \(392\) or vertex \(225\), found 5"),
        (ModifiedLaw(5e6, 0.4, 2e-3, f=2.0, m=0.5), np.zeros(len(FEMUR.faces)), "ModifiedLaw"),
    ],
)
def test_what_cannot_vary_is_refused(law, excess, message):
    with pytest.raises(InputError, match=message):
        bed(law, excess=excess)


def test_facets_have_the_thickness_where_the_springs_meet_them():
    """On flat facets, each spring is that of a bed as thick as the facet that it meets."""
    rng = np.random.default_rng(1)
    excess = rng.uniform(0.0, 3e-3, len(FEMUR.faces))
    found = bed(linear(2e-3), surface="flat", excess=excess).spring_state(POSE)
    inside = found.indentation > 0.0
    stiff = linear(2e-3).confined_modulus
    thickness = stiff * found.indentation[inside] / found.pressure[inside] - 2e-3
    # The exit of the line along minus the normal, by the plane of each facet.
    turn = POSE.rotation_matrix
    corners = FEMUR.vertices[FEMUR.faces] @ turn.T + POSE.translation
    for place, own in zip(TIBIA.centroids[inside], thickness, strict=True):
        flat = corners[:, :, [0, 2]] - place[[0, 2]]
        after = np.roll(flat, -1, axis=1)
        turns = flat[..., 0] * after[..., 1] - flat[..., 1] * after[..., 0]
        (met,) = np.flatnonzero((turns > 0.0).all(axis=1) | (turns < 0.0).all(axis=1))
        assert own == pytest.approx(excess[met], abs=1e-9)
    assert inside.sum() > 20


PRESSED = 0.1e-3


@pytest.mark.parametrize("surface", ["flat", "curved"])
def test_zero_depth_changes_nothing(surface):
    shape, model = round_implant(surface=surface)
    same = model.worn(np.zeros(len(model.tibia.faces)))
    pose = replace(shape.home_pose(0.3), rotation=0.02)
    pose = replace(pose, superior=pose.superior - 0.1e-3)
    found, expected = (m.loads(pose).total.array for m in (same, model))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("surface", ["flat", "curved"])
def test_plate_worn_evenly_is_pressed_less_deep(surface):
    model = covered_plate(surface)
    worn = model.worn(np.full(len(model.tibia.faces), 0.3 * PRESSED))
    pose = Pose(superior=-PRESSED)
    assert worn.loads(pose).force[1] == pytest.approx(0.7 * model.loads(pose).force[1], rel=1e-9)
    assert worn.law.thickness == H
    np.testing.assert_allclose(worn.tibia.vertices[:, 1], -0.3 * PRESSED, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("per", ["triangle", "vertex"])
def test_variable_thickness_decreases_by_the_depth(per):
    count = {"triangle": 32, "vertex": 25}[per]
    model = covered_plate(thickness=np.full(count, H))
    worn = model.worn(np.full(32, 1e-3))
    np.testing.assert_allclose(worn.law.thickness, H - 1e-3, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize(
    ("depth", "message"),
    [
        (np.zeros(3), r"depth: expected shape \(32\)"),
        (np.full(32, -1e-6), "depth: expected >= 0"),
        (np.full(32, np.nan), "depth: expected finite"),
    ],
)
def test_bad_depths_are_named(depth, message):
    with pytest.raises(ValueError, match=message):
        covered_plate().worn(depth)


def test_vertex_depths_keep_the_volume():
    tibia = plate(20e-3, 5)
    depth = np.random.default_rng(0).uniform(0.0, 1e-4, len(tibia.faces))
    taken = tibia.areas @ vertex_depths(tibia, depth)[tibia.faces].mean(axis=1)
    assert taken == pytest.approx(tibia.areas @ depth, rel=1e-12)


def test_another_law_keeps_the_excess_times_a_factor():
    excess = 1e-3 + 0.1 * FEMUR.vertices[:, 0]
    twice = bed(linear(2e-3), excess=excess).with_law(linear(4e-3), excess_scale=2.0)
    wanted = bed(linear(4e-3), excess=2.0 * excess).loads(POSE)
    np.testing.assert_allclose(twice.loads(POSE).values, wanted.values, rtol=1e-12)
