"""Contact of curved surfaces against exact answers: a sphere, and the built-in implant's shapes."""

from __future__ import annotations

from functools import cache

import beds
import numpy as np
import pytest
import shapes
from beds import IMPLANT, K
from scipy.spatial.transform import Rotation
from smooth_shapes import RADIUS, sphere
from some_slow import first_rows

from foundation.base.pose import Pose
from tests.oracles.exact_implant import contact_poses, exact_loads, polyethylene


def sphere_errors(level, width, cells, depth, *, count=30, surface="curved"):
    """Relative errors of force, area and peak pressure (count, 3), the sphere turned at random."""
    tibia = shapes.plate(width, cells)
    model = beds.model_of(sphere(level), tibia, surface=surface)
    exact = np.array(
        [
            K * np.pi * depth**2 * (3 * RADIUS - depth) / 3,
            np.pi * depth * (2 * RADIUS - depth),
            K * depth,
        ]
    )
    rng = np.random.default_rng(0)
    found = []
    for turn in Rotation.random(count, random_state=1).as_matrix():
        # Anywhere over the plate's triangles.
        anterior, lateral = rng.uniform(-0.5, 0.5, 2) * width / cells
        loads = model.evaluate(shapes.turned_pose(turn, RADIUS - depth, anterior, lateral))
        found.append([loads.force[1], loads.area, loads.peak_pressure])
    return np.array(found) / exact - 1.0


@pytest.mark.slow
@pytest.mark.parametrize("cells", [15, 30])
def test_light_contact_of_a_sphere_at_an_edge_length_of_one_millimetre(cells):
    """F = K pi d² (3 R - d) / 3; the patch is 1.9 mm in radius, few triangles wide."""
    errors = sphere_errors(5, 16.5e-3, cells, 0.06e-3)
    force, area, peak = errors.T
    assert np.abs(force).max() < 5e-3
    assert np.abs(force.mean()) < 2e-4
    assert force.std() < 1e-3
    assert np.abs(area).max() < 6e-3
    assert np.abs(peak).max() < 1e-4


def root_mean_square(levels, surface):
    errors = [sphere_errors(n, 16e-3, 50, 0.5e-3, count=8, surface=surface) for n in levels]
    return np.sqrt(np.mean([e[:, 0] ** 2 for e in errors], axis=1))


def test_curved_femur_converges_at_fourth_order():
    """Edges of 4.4 and 2.2 mm on a fine plate; flat facets are of second order."""
    curved, flat = (root_mean_square((3, 4), surface) for surface in ("curved", "flat"))
    assert (np.log2(curved[:-1] / curved[1:]) > 3.0).all()
    assert np.log2(flat[-2] / flat[-1]) == pytest.approx(2.0, abs=0.3)
    assert curved[-1] < 1e-3 * flat[-1]


@pytest.mark.slow
def test_both_surfaces_refined_together():
    """Beside the surface's error that of the patch's edge on the bed, of order 2.5."""
    errors = [
        sphere_errors(level, 17.6e-3, cells, 0.3e-3, count=30)[:, 0]
        for level, cells in ((3, 4), (4, 8), (5, 16))
    ]
    size = np.sqrt(np.mean(np.square(errors), axis=1))
    assert np.log2(size[0] / size[2]) / 2 > 2.4


@cache
def implant_poses():
    return contact_poses(IMPLANT, 2, seed=7)


def implant_model(conservative=False):
    return beds.implant_model(polyethylene(), edge=0.7e-3, conservative=conservative)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("conservative", "rule"),
    first_rows([(False, "customary"), (True, "consistent")]),
    ids=lambda v: str(v),
)
def test_implant_has_the_loads_of_its_analytic_surfaces(conservative, rule):
    """At edges of 0.7 mm and 100 to 4000 N; the two rules differ by 0.1 % in axial force."""
    model = implant_model(conservative)
    for pose in implant_poses():
        found, exact = model.evaluate(pose), exact_loads(IMPLANT, pose, rule=rule)
        for part, wanted in zip(
            (found.medial, found.lateral), (exact.medial, exact.lateral), strict=True
        ):
            size = np.linalg.norm(wanted.force)
            if size < 20.0:
                continue
            np.testing.assert_allclose(part.force, wanted.force, rtol=0, atol=1e-3 * size)
            arm = 1e-3 * size * 25e-3
            np.testing.assert_allclose(part.moment, wanted.moment, rtol=0, atol=arm)
            assert part.area == pytest.approx(wanted.area, rel=3e-3)
            assert part.mean_pressure == pytest.approx(wanted.mean_pressure, rel=3e-3)
        assert found.force[1] == pytest.approx(exact.force[1], rel=3e-4)
        assert found.area == pytest.approx(exact.area, rel=1.5e-3)
        assert found.peak_pressure == pytest.approx(exact.peak_pressure, rel=1e-4)
        np.testing.assert_allclose(
            found.centre_of_pressure, exact.centre_of_pressure, rtol=0, atol=1e-6
        )


@pytest.mark.slow
def test_the_rules_are_told_apart():
    """The customary bed does not meet the consistent loads, and the reverse."""
    pose = implant_poses()[0]
    customary, consistent = (implant_model(c).evaluate(pose).force[1] for c in (False, True))
    assert consistent < (1 - 5e-4) * customary


def along_a_path(surface):
    """Forces (N, 3) and stiffnesses (N, 3, 3) along 0.1 um steps in the transverse plane."""
    model = beds.implant_model(polyethylene(), surface, edge=1.5e-3)
    start = shapes.pressed_poses(IMPLANT, 1, seed=5, deepest=0.0)[0].array
    start[4] -= 0.03e-3
    along = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.2])
    poses = [Pose.from_array(start + 1e-7 * k * along) for k in range(400)]
    results = [model.loads_and_jacobian(pose) for pose in poses]
    return np.array([r[0].force for r in results]), np.array([r[1][:3, 3:] for r in results])


@pytest.mark.slow
def test_loads_are_smooth_along_a_path():
    """Springs of flat facets come into contact one by one, each with a kink.

    On curved surfaces the stiffness varies smoothly. What the force itself has left are steps below
    a millionth, where an element changes between the rule for cut and that for whole ones.
    """
    steps = {}
    for surface in ("curved", "flat"):
        force, stiffness = along_a_path(surface)
        assert force[:, 1].min() > 200.0
        turning = np.abs(np.diff(stiffness, axis=0)).max() / np.abs(stiffness).max()
        steps[surface] = turning, np.abs(np.diff(force, 2, axis=0)).max() / force[0, 1]
    assert steps["curved"][0] < steps["flat"][0] / 50.0
    assert steps["curved"][1] < min(1e-6, steps["flat"][1])
