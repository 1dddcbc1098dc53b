"""Identities of the contact of any pose: both bodies moved, both mirrored."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import shapes
from beds import model_of
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from some_slow import first_of

from foundation.base.pose import Pose
from foundation.surfaces.mesh import TriangleMesh

SMALL = st.floats(-0.1, 0.1)
NEAR = st.floats(-2e-3, 2e-3)
DEPTHS = st.floats(0.1e-3, 1e-3)
#: Poses in which the ellipsoid of `FEMUR` is pressed into the plate.
POSES = st.builds(
    lambda f, a, r, x, d, z: Pose(f, a, r, x, 15e-3 - d, z), SMALL, SMALL, SMALL, NEAR, DEPTHS, NEAR
)
FEMUR = shapes.ellipsoid((30e-3, 15e-3, 25e-3), 2)
TIBIA = shapes.plate(36e-3, 18)
SURFACES = ("flat", "curved")


LABELS = shapes.labels(TIBIA)


@cache
def pressed(surface):
    return model_of(FEMUR, TIBIA, surface=surface)


@cache
def mirrored(surface):
    return model_of(FEMUR.mirrored(), TIBIA.mirrored(), surface=surface, labels=1 - LABELS)


@pytest.mark.parametrize("surface", first_of(["curved", "flat"]))
@given(pose=POSES, by=st.tuples(*[st.floats(-0.1, 0.1)] * 3).map(np.array))
@settings(max_examples=5)
def test_both_bodies_moved_alike_bear_the_same_loads(surface, pose, by):
    """The moment about the tibial origin, which stays, changes by that of the force."""
    before = pressed(surface).evaluate(pose)
    tibia = TriangleMesh(TIBIA.vertices + by, TIBIA.faces)
    after = model_of(FEMUR, tibia, surface=surface, labels=LABELS).evaluate(
        Pose.from_array(pose.array + np.array([0, 0, 0, *by]))
    )
    size = np.linalg.norm(before.force)
    assert size > 0.0
    assert_allclose(after.force, before.force, rtol=0.0, atol=1e-9 * size)
    moment = before.moment + np.cross(by, before.force)
    assert_allclose(after.moment, moment, rtol=0.0, atol=1e-10 * size)
    assert_allclose(after.centre_of_pressure, before.centre_of_pressure + by, rtol=0.0, atol=1e-11)
    for name in ("area", "peak_pressure", "mean_pressure"):
        assert_allclose(getattr(after, name), getattr(before, name), rtol=1e-9)


@pytest.mark.parametrize("surface", SURFACES)
@given(pose=POSES)
@settings(max_examples=10)
def test_other_knee_bears_the_mirror_image_of_the_loads(surface, pose):
    right = pressed(surface).evaluate(pose)
    left = mirrored(surface).evaluate(Pose.from_array(pose.array * [1, -1, -1, 1, 1, -1]))
    size = np.linalg.norm(right.force)
    # The moment is an axial vector; medial and lateral have changed places with z.
    assert_allclose(left.force, right.force * [1, 1, -1], rtol=0.0, atol=1e-9 * size)
    assert_allclose(left.moment, right.moment * [-1, -1, 1], rtol=0.0, atol=1e-10 * size)
    assert_allclose(left.area, right.area, rtol=1e-9)
    assert_allclose(left.peak_pressure, right.peak_pressure, rtol=1e-9)
    assert_allclose(left.medial.area, right.lateral.area, rtol=1e-9)
