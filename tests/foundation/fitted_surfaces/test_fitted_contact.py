"""Contact of given smooth surfaces against closed forms, a naive solver and identities."""

from __future__ import annotations

from dataclasses import replace

import fitted
import numpy as np
import pytest
from differences import pose_differences
from fitted import HALF_WIDTH, MODULUS, POSE, UPRIGHT
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import root
from scipy.spatial.transform import Rotation

from foundation.base.errors import PoseError
from foundation.base.flags import Flag, FlagKind
from foundation.base.loads import AREA, CENTRE, FORCE, PEAK_PRESSURE
from foundation.base.pose import Pose, generalised_force
from foundation.contact_laws import EllipticContact, HertzLaw, HookeLaw, effective_radius
from foundation.fitted_surfaces.compartment import FitResidual, FittedCompartment
from foundation.fitted_surfaces.fits import Ellipsoid, Quadric
from foundation.surface_contact import SurfaceContact

RADIUS, DEPTH = 30e-3, 0.3e-3
LAWS = {
    "elliptic": None,
    "Hooke": HookeLaw(5e6),
    "Hertz": HertzLaw(3e8),
    "one of each": (None, HookeLaw(4e6)),
}
STEPS = np.array([1e-6, 1e-6, 1e-6, 1e-7, 1e-7, 1e-7])


@pytest.mark.parametrize("socket", [-45e-3, 60e-3])
def test_spheres_are_those_of_hertz(socket):
    """F = 4/3 E* √R d^(3/2), area π R d, p₀ = 3 F / (2 area) (Johnson 1985, sec. 4.2)."""
    loads = fitted.balls(RADIUS, socket).evaluate(Pose(superior=RADIUS - DEPTH)).medial
    radius = effective_radius(RADIUS, socket)
    force = 4.0 / 3.0 * MODULUS * np.sqrt(radius) * DEPTH**1.5
    assert_allclose(loads.force, [0.0, force, 0.0], rtol=1e-12, atol=1e-9)
    assert_allclose(loads.area, np.pi * radius * DEPTH, rtol=1e-12)
    assert_allclose(loads.peak_pressure, 1.5 * force / loads.area, rtol=1e-12)
    assert_allclose(loads.mean_pressure, force / loads.area, rtol=1e-12)
    assert_allclose(loads.centre_of_pressure, [0.0, 0.0, -HALF_WIDTH], rtol=0.0, atol=1e-12)


def test_a_ball_beside_the_middle_of_its_socket():
    """The common normal joins the centres, whose distance is R_socket - R + d."""
    socket, aside = -45e-3, 4e-3
    model = fitted.balls(RADIUS, socket)
    pose = Pose(anterior=aside, superior=RADIUS - 0.1e-3)
    away = np.array([0.0, -socket]) - [
        aside,
        pose.superior,
    ]  # from the ball's centre to the socket's
    depth = np.linalg.norm(away) - (-socket - RADIUS)
    loads = model.evaluate(pose).medial
    force = 4.0 / 3.0 * MODULUS * np.sqrt(effective_radius(RADIUS, socket)) * depth**1.5
    assert_allclose(loads.force[:2], force * away / np.linalg.norm(away), rtol=1e-10)


@pytest.mark.parametrize("turn", [0.0, 0.6])
def test_stiffness_is_that_of_the_relative_curvatures(turn):
    """Ellipsoid on a saddle whose axes are turned by an angle, at the lowest point."""
    a, b, c = 24e-3, 20e-3, 31e-3  # along x, y, z: curvatures b/a² and b/c²
    matrix = np.diag([1.0 / a**2, 1.0 / b**2, 1.0 / c**2])
    turned = Rotation.from_rotvec([0.0, turn, 0.0]).as_matrix() @ UPRIGHT
    quadrics = [
        Quadric([0, 0, z], turned, [0, 0, 0, -8.0, 0, 14.0, 0, 0, 0])
        for z in (-HALF_WIDTH, HALF_WIDTH)
    ]
    model = fitted.knee_of(
        *((Ellipsoid([0, 0, q.origin[2]], matrix), q) for q in quadrics),
    )
    pose = Pose(superior=b - DEPTH)
    # -w'' along u₁ = z and u₂ = x: the first tibial axis is that of the ellipsoid's second.
    expected = EllipticContact.from_curvatures(
        [b / c**2, b / a**2], [8.0, -14.0], MODULUS, angle=turn
    )
    loads = model.evaluate(pose).medial
    assert_allclose(loads.force[1], expected.force(DEPTH), rtol=1e-10)
    assert_allclose(loads.area, np.pi * np.prod(expected.semi_axes(loads.force[1])), rtol=1e-9)
    assert_allclose(loads.peak_pressure, expected.peak_pressure(loads.force[1]), rtol=1e-9)
    found = model.elliptic_contact(pose, "medial")
    assert_allclose(found.greater_radius, expected.greater_radius, rtol=1e-9)


def naive_meeting(model, pose, start):
    """Solve f₁(x₁) = f₂(x₂) = 0, x₁ - x₂ = d n₁ and n₁ = -n₂ for x₁, x₂ and d by SciPy."""
    surfaces = model.surfaces[0]
    turn = pose.rotation_matrix
    centre = turn @ surfaces.femur.centre + pose.translation
    matrix = turn @ surfaces.femur.matrix @ turn.T
    c, g1, g2, h11, h12, h22, b1, b2, e = surfaces.tibia.coefficients
    linear, square = (
        np.array([g1, g2, -1.0]),
        np.array([[h11, h12, b1], [h12, h22, b2], [b1, b2, e]]),
    )

    def mismatch(x):
        first, second, depth = x[:3], x[3:6], x[6]
        local = surfaces.tibia.axes.T @ (first - surfaces.tibia.origin)
        down = surfaces.tibia.axes @ (linear + square @ local)
        normal = -down / np.linalg.norm(down)
        out = matrix @ (second - centre)
        return np.concatenate(
            [
                [1e3 * (c + linear @ local + 0.5 * local @ square @ local)],
                [(second - centre) @ out - 1.0],
                1e3 * (first - second - depth * normal),
                (normal + out / np.linalg.norm(out))[[0, 2]],
            ]
        )

    found = root(mismatch, np.concatenate([start, start, [0.0]]), tol=1e-14)
    assert np.abs(found.fun).max() < 1e-11
    return found.x[:3], found.x[6]


@pytest.mark.parametrize("seed", range(4))
def test_depth_and_place_are_those_of_a_naive_solver(seed):
    model = fitted.general(seed)
    pose = fitted.pressed(model, POSE, 0.5e-3)
    loads, _, depth = model.compartment_loads(pose, "medial")
    place, expected = naive_meeting(model, pose, loads[CENTRE])
    assert_allclose(depth[0], expected, rtol=1e-9)
    assert_allclose(loads[CENTRE], place, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_loads_are_the_gradient_of_the_energy(law):
    model = fitted.general(law=LAWS[law])
    pose = fitted.pressed(model, POSE, 0.5e-3)
    force = generalised_force(pose, model.evaluate(pose).wrench)
    slope = pose_differences(model.stored_energy, pose, STEPS)
    assert_allclose(force, -slope, rtol=0.0, atol=3e-7 * np.abs(force).max())


def test_the_change_of_the_stiffness_counts():
    """Along the normal alone the force of the elliptic contact has no potential."""
    model = fitted.general()
    pose = fitted.pressed(model, POSE, 0.5e-3)
    loads = model.compartment_loads(pose, "medial")[0]
    (normal,), _ = model.surfaces[0].tibia.normals_and_curvatures(loads[None, CENTRE])
    aside = loads[FORCE] - (loads[FORCE] @ normal) * normal
    assert np.linalg.norm(aside) > 1e-4 * np.linalg.norm(loads[FORCE])


@pytest.mark.parametrize("law", LAWS)
def test_jacobian_is_that_of_differences(law):
    model = fitted.general(law=LAWS[law])
    for depth in (0.05e-3, 0.5e-3):
        pose = fitted.pressed(model, POSE, depth)
        _, jacobian = model.loads_and_jacobian(pose)
        expected = pose_differences(lambda p: model.loads(p).wrench, pose, 1e-2 * STEPS)
        size = np.abs(expected).max(axis=1, keepdims=True)
        assert_allclose(jacobian / size, expected / size, rtol=0.0, atol=1e-5)


def test_force_grows_without_a_step_from_first_contact():
    model = fitted.balls(RADIUS, -45e-3, law=HookeLaw(1e6))
    heights = RADIUS + np.array([1e-9, -1e-9, -2e-9])
    forces = [model.evaluate(Pose(superior=float(h))).medial.force[1] for h in heights]
    assert_allclose(forces, [0.0, 1e-3, 2e-3], rtol=1e-4, atol=0.0)


def test_out_of_contact_loads_are_zero():
    model = fitted.general()
    for height in (40e-3, 0.2):
        loads, jacobian = model.loads_and_jacobian(replace(POSE, superior=height))
        assert_array_equal(loads.wrench, 0.0)
        assert_array_equal(jacobian, 0.0)
        assert np.isnan(loads.centre_of_pressure).all()
        assert model.stored_energy(replace(POSE, superior=height)) == 0.0
    with pytest.raises(PoseError, match="expected a pose in contact"):
        model.elliptic_contact(replace(POSE, superior=0.2), "medial")


def test_a_mirrored_pose_gives_mirrored_loads():
    model = fitted.balls(RADIUS, -45e-3)
    pose = Pose(0.4, 0.004, 0.05, 1e-3, RADIUS - DEPTH, 0.5e-3)
    mirror = Pose(0.4, -0.004, -0.05, 1e-3, RADIUS - DEPTH, -0.5e-3)
    one, other = model.evaluate(pose), model.evaluate(mirror)
    for here, there in ((one.medial, other.lateral), (one.lateral, other.medial)):
        assert_allclose(here.force, there.force * [1, 1, -1], rtol=1e-9, atol=1e-9)
        assert_allclose(here.moment, there.moment * [-1, -1, 1], rtol=1e-9, atol=1e-9)


def test_pressure_over_the_triangles_carries_the_force():
    model = fitted.balls(RADIUS, 1.0, cells=320)
    pose = Pose(superior=RADIUS - DEPTH)
    state, loads = model.spring_state(pose), model.evaluate(pose)
    carried = state.pressure @ model.tibia.areas
    assert_allclose(carried, loads.force[1], rtol=2e-3)
    assert_allclose(state.pressure.max(), loads.peak_pressure, rtol=2e-3)
    assert_allclose(state.indentation.max(), DEPTH, rtol=2e-3)
    assert_allclose(model.tibia.areas[state.pressure > 0.0].sum(), loads.area, rtol=1e-2)


def test_batches_are_the_loads_of_each_pose():
    model = fitted.general()
    poses = [fitted.pressed(model, replace(POSE, flexion=f), 0.3e-3) for f in (0.1, 0.2, 0.3)]
    rows = np.array([pose.array for pose in poses])
    loads = model.evaluate_batch(rows, threads=2)
    for pose, row in zip(poses, loads, strict=True):
        assert_array_equal(row[0], model.compartment_loads(pose, "medial")[0])
        total = model.evaluate(pose)
        assert_array_equal(row[:, :6].sum(axis=0), total.wrench)
        assert total.area == row[:, AREA].sum()
        assert total.peak_pressure == row[:, PEAK_PRESSURE].max()


def test_it_is_a_contact_of_surfaces():
    model = fitted.balls(RADIUS, -45e-3)
    assert isinstance(model, SurfaceContact)
    assert model.compartment_flags(Pose(superior=RADIUS - DEPTH), "lateral") == ()


def test_flags():
    residual = FitResidual(0.0, 0.0, [-5e-3] * 3, [5e-3] * 3)
    wide = FitResidual(0.0, 0.0, [-0.1] * 3, [0.1] * 3)
    pairs = fitted.balls(RADIUS, -45e-3).surfaces
    surfaces = tuple(FittedCompartment(p.femur, p.tibia, wide, residual) for p in pairs)
    base = fitted.balls(RADIUS, -45e-3)
    model = type(base)(
        base.femur, base.tibia, MODULUS, surfaces=surfaces, compartments=base.compartments,
        thickness=0.2e-3,
    )  # fmt: skip
    flags = model.evaluate(Pose(superior=RADIUS - DEPTH)).flags
    assert len(flags) == 4
    assert flags[0] == Flag(FlagKind.PRESSED_THROUGH, "medial", (pytest.approx(1.5), 0.99))
    assert flags[1] == Flag(FlagKind.OUTSIDE_TIBIAL_FIT, "medial", (1.0,))
    assert model.compartment_flags(Pose(superior=RADIUS - DEPTH), "lateral") == flags[3:]
    assert model.evaluate(Pose(superior=RADIUS + DEPTH)).flags == ()
    assert model.compartment_loads(Pose(superior=RADIUS - DEPTH), "medial")[2][1] == pytest.approx(
        1.5
    )


def test_conforming_surfaces_have_no_answer():
    """A ball in a trough of its own radius touches along a line; a wider one at its rim."""
    trough = Quadric([0, 0, 0], UPRIGHT, [0, 0, 0, (1.0 - 1e-6) / RADIUS, 0, 0, 0, 0, 0])
    pair = (fitted.ball(RADIUS), trough)
    model = fitted.knee_of(pair, pair)
    with pytest.raises(PoseError, match="medial: the fitted surfaces conform"):
        model.evaluate(Pose(superior=RADIUS - DEPTH))
    with pytest.raises(PoseError, match="medial"):
        fitted.balls(RADIUS, -25e-3).evaluate(Pose(anterior=1e-3, superior=RADIUS - DEPTH))
