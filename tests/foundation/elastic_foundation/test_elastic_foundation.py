"""The contact model against exact answers, by order, and identities; a naive twin."""

from functools import cache, partial

import beds
import naive
import numpy as np
import pytest
import shapes
from beds import LAW, NU, E, H, K
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from foundation.base.flags import FlagKind
from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import LinearLaw, LogarithmicLaw, ModifiedLaw, SeriesLaw
from foundation.surfaces.mesh import TriangleMesh

DEPTH = 0.5e-3

LAWS = {
    "linear": LAW,
    "modified": ModifiedLaw(E, NU, H, f=2.5, m=0.7),
    "logarithmic": LogarithmicLaw(E, NU, H),
    "series": SeriesLaw(ModifiedLaw(E, NU, 3e-3, f=2.0, m=0.5), LogarithmicLaw(2 * E, 0.4, 2e-3)),
}


BOTH = pytest.mark.parametrize("surface", ["flat", "curved"])
#: The customary bed by default: one spring per triangle, on plane facets.
model_of = partial(beds.model_of, surface="flat")


def test_flat_punch_is_exact():
    """F = k A d, no matter how fine: the punch's edge runs along edges of the plate."""
    punch = shapes.plate(20e-3, 1, up=False)
    result = model_of(punch, shapes.plate(40e-3, 8)).loads(Pose(superior=-DEPTH))
    assert result.force == pytest.approx([0, K * 20e-3**2 * DEPTH, 0], rel=1e-12, abs=1e-9)
    assert result.area == pytest.approx(20e-3**2, rel=1e-12)
    assert result.peak_pressure == pytest.approx(K * DEPTH, rel=1e-12)
    assert result.mean_pressure == pytest.approx(K * DEPTH, rel=1e-12)
    assert result.centre_of_pressure == pytest.approx([0, 0, 0], abs=1e-12)
    assert result.medial.force[1] == pytest.approx(result.lateral.force[1], rel=1e-12)


@pytest.fixture(scope="module")
def saddle():
    """A curved pair small enough for the naive twin, in a general pose."""
    femur = shapes.swept(
        lambda x, z: 20 * x**2 + 14 * (np.abs(z) - 8e-3) ** 2 + 3 * x * z, 16e-3, 14, 22, 12e-3
    )
    x_z = shapes.plate(30e-3, 18)
    bowl = x_z.vertices.copy()
    bowl[:, 1] = 9 * bowl[:, 0] ** 2 + 6 * bowl[:, 2] ** 2
    tibia = TriangleMesh(bowl, x_z.faces, "bowl")
    pose = Pose(0.11, 0.02, -0.07, 0.8e-3, -0.35e-3, -0.4e-3)
    return femur, tibia, pose


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_kernel_agrees_with_the_naive_twin(saddle, law):
    femur, tibia, pose = saddle
    result = model_of(femur, tibia, law).loads(pose)
    chosen = shapes.labels(tibia)
    for index, part in enumerate((result.medial, result.lateral)):

        def pressure(depths, index=index):
            # Each compartment is a patch of its own.
            return law.pressure(np.where(chosen == index, depths, 0.0))

        wrench, area, peak = naive.contact(femur, tibia, pose, pressure)
        assert peak > 0
        np.testing.assert_allclose(part.wrench, wrench, rtol=1e-10, atol=1e-10)
        assert part.area == pytest.approx(area, rel=1e-12)
        assert part.peak_pressure == pytest.approx(peak, rel=1e-10)


@BOTH
def test_common_rigid_motion_turns_the_loads(saddle, surface):
    """Both bodies moved together: the same wrench, moved along."""
    femur, tibia, pose = saddle
    base = model_of(femur, tibia, surface=surface).loads(pose)
    motion = Pose(0.3, -0.2, 0.5, 4e-3, -7e-3, 9e-3)
    turn, shift = motion.rotation_matrix, motion.translation
    moved = TriangleMesh(tibia.vertices @ turn.T + shift, tibia.faces, "moved")
    placed = femur.vertices @ pose.rotation_matrix.T + pose.translation
    carried = TriangleMesh(placed @ turn.T + shift, femur.faces, "carried")
    model = model_of(carried, moved, surface=surface, labels=shapes.labels(tibia))
    result = model.loads(Pose())
    force = turn @ base.force
    moment = turn @ base.moment + np.cross(shift, force)
    np.testing.assert_allclose(result.force, force, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(result.moment, moment, rtol=1e-9, atol=1e-10)


@BOTH
def test_thickness_per_triangle_or_vertex_follows_the_mesh(saddle, surface):
    """A triangle's layer is as thick as given, or as the mean of its corners."""
    femur, tibia, pose = saddle
    even = model_of(femur, tibia, surface=surface).spring_state(pose)
    assert (even.pressure > 0).sum() > 20
    by_vertex = H * (1.0 + 10.0 * np.abs(tibia.vertices[:, 0]))
    by_triangle = by_vertex[tibia.faces].mean(axis=1)
    for thickness in (by_vertex, by_triangle):
        model = model_of(femur, tibia, LinearLaw(E, NU, thickness), surface=surface)
        found = model.spring_state(pose).pressure
        np.testing.assert_allclose(found, even.pressure * H / by_triangle, rtol=1e-12)


@BOTH
def test_a_femur_beneath_the_tibia_is_not_in_contact(surface):
    """A ray that meets the femur from outside has not left it."""
    punch = shapes.plate(20e-3, 1, up=True)
    model = model_of(punch, shapes.plate(40e-3, 8), surface=surface)
    assert model.loads(Pose(superior=-DEPTH)).area == 0.0


@BOTH
def test_indentations_beyond_the_search_depth_are_not_seen(surface):
    punch, tibia = shapes.plate(20e-3, 4, up=False), shapes.plate(40e-3, 8)
    model = model_of(punch, tibia, surface=surface, search_depth=3e-3)
    assert model.search_depth == 3e-3
    assert model.loads(Pose(superior=-2.9e-3)).area == pytest.approx(20e-3**2, rel=1e-9)
    assert model.loads(Pose(superior=-3.1e-3)).area == 0.0


@BOTH
def test_pressing_through_the_layer_is_flagged(surface):
    punch = shapes.plate(20e-3, 1, up=False)
    model = model_of(punch, shapes.plate(40e-3, 8), LogarithmicLaw(E, NU, H), surface=surface)
    assert model.loads(Pose(superior=-0.9 * H)).flags == ()
    flags = model.loads(Pose(superior=-0.995 * H)).flags
    assert len(flags) == 2
    assert all(flag.kind is FlagKind.PRESSED_THROUGH for flag in flags)


SMALL = st.floats(-0.1, 0.1)
NEAR = st.floats(-2e-3, 2e-3)
DEPTHS = st.floats(0.1e-3, 1e-3)
#: Poses in which the ellipsoid of `FEMUR` is pressed into the plate.
POSES = st.builds(
    lambda f, a, r, x, d, z: Pose(f, a, r, x, 15e-3 - d, z), SMALL, SMALL, SMALL, NEAR, DEPTHS, NEAR
)
FEMUR = shapes.ellipsoid((30e-3, 15e-3, 25e-3), 2)
TIBIA = shapes.plate(36e-3, 18)


LABELS = shapes.labels(TIBIA)


@cache
def pressed(surface):
    return model_of(FEMUR, TIBIA, surface=surface)


@cache
def mirrored(surface):
    return model_of(FEMUR.mirrored(), TIBIA.mirrored(), surface=surface, labels=1 - LABELS)


@pytest.mark.parametrize("surface", ["flat", "curved"])
@given(pose=POSES)
@settings(max_examples=10)
def test_other_knee_bears_the_mirror_image_of_the_loads(surface, pose):
    right = pressed(surface).loads(pose)
    left = mirrored(surface).loads(Pose.from_array(pose.array * [1, -1, -1, 1, 1, -1]))
    size = np.linalg.norm(right.force)
    # The moment is an axial vector; medial and lateral have changed places with z.
    assert_allclose(left.force, right.force * [1, 1, -1], rtol=0.0, atol=1e-9 * size)
    assert_allclose(left.moment, right.moment * [-1, -1, 1], rtol=0.0, atol=1e-10 * size)
    assert_allclose(left.area, right.area, rtol=1e-9)
    assert_allclose(left.peak_pressure, right.peak_pressure, rtol=1e-9)
    assert_allclose(left.medial.area, right.lateral.area, rtol=1e-9)
