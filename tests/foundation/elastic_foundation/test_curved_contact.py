"""Contact of curved surfaces against exact answers: a sphere, and the built-in implant's shapes."""

from functools import cache

import beds
import numpy as np
import pytest
import shapes
from beds import IMPLANT, NU, E, H, K
from scipy.spatial.transform import Rotation
from smooth_shapes import RADIUS, sphere
from some_slow import first_rows

from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import ModifiedLaw, SeriesLaw
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
        loads = model.loads(shapes.turned_pose(turn, RADIUS - depth, anterior, lateral))
        found.append([loads.force[1], loads.area, loads.peak_pressure])
    return np.array(found) / exact - 1.0


def root_mean_square(levels, surface):
    errors = [sphere_errors(n, 16e-3, 50, 0.5e-3, count=8, surface=surface) for n in levels]
    return np.sqrt(np.mean([e[:, 0] ** 2 for e in errors], axis=1))


def test_curved_femur_converges_at_fourth_order():
    """Edges of 4.4 and 2.2 mm on a fine plate; flat facets are of second order."""
    curved, flat = (root_mean_square((3, 4), surface) for surface in ("curved", "flat"))
    assert (np.log2(curved[:-1] / curved[1:]) > 3.0).all()
    assert np.log2(flat[-2] / flat[-1]) == pytest.approx(2.0, abs=0.3)
    assert curved[-1] < 1e-3 * flat[-1]


@pytest.mark.parametrize("exponent", [0.5, 1.5])
def test_force_of_a_power_of_the_indentation(exponent):
    """Springs at the edge are smoothed by the leading term of their law."""
    given = {"f": np.inf, "m": exponent, "reference_indentation": 1e-3}
    for law in (
        ModifiedLaw(E, NU, H, **given),
        SeriesLaw(*[ModifiedLaw(E, NU, H / 2, **given)] * 2),
    ):
        model = beds.model_of(sphere(4), shapes.plate(16e-3, 16), law)
        found = model.loads(Pose(superior=RADIUS - 0.4e-3)).force[1]
        depth = np.linspace(0.0, 0.4e-3, 5001)
        height = RADIUS - 0.4e-3 + depth  # of rings 2 pi r dr = 2 pi height d(height)
        assert found == pytest.approx(
            np.trapezoid(2.0 * np.pi * height * law.pressure(depth), depth), rel=1e-3
        )


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
        found, exact = model.loads(pose), exact_loads(IMPLANT, pose, rule=rule)
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
