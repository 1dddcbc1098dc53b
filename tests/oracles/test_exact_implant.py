"""The converged loads of the analytic implant against closed forms and independent quadrature."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.integrate import quad
from some_slow import first_of

from foundation import CondylarImplant
from foundation.implant.condyle import Condyle, Dish
from tests.oracles.exact_implant import (
    RULES,
    PatchError,
    contact_poses,
    exact_loads,
    polyethylene,
    stiffness_of,
)

BALL, BOWL, DEPTH = 20e-3, 23e-3, 0.15e-3
STIFFNESS = stiffness_of(polyethylene())


def ball_in_bowl():
    """Return spheres of radius BALL in spherical dishes of radius BOWL, pressed DEPTH deep."""
    condyle = Condyle(
        posterior_radius=BALL, distal_radius=BALL, anterior_radius=BALL, coronal_radius=BALL
    )
    dish = Dish(sagittal_radius=BOWL, coronal_radius=BOWL, half_length=18e-3)
    implant = CondylarImplant(condyle, condyle, dish, dish)
    home = implant.home_pose(0.3)
    return implant, replace(home, superior=home.superior - DEPTH)


def along_bowl(angle, drop):
    """Return the indentation along the bowl's normal, the ball's centre lying `drop` too low."""
    ahead = drop * np.cos(angle)
    return ahead + np.sqrt(BALL**2 - drop**2 + ahead**2) - BOWL


def force_of_ball(rule):
    """Return the axial force on one ball from a one-dimensional integral."""
    drop = BOWL - BALL + DEPTH
    edge = np.arccos((BOWL**2 + drop**2 - BALL**2) / (2.0 * BOWL * drop))
    ring = 2.0 * np.pi * STIFFNESS * BOWL**2

    def energy(low):
        rim = np.arccos((BOWL**2 + low**2 - BALL**2) / (2.0 * BOWL * low))
        return ring * quad(lambda a: 0.5 * along_bowl(a, low) ** 2 * np.sin(a), 0.0, rim)[0]

    def customary(a):
        return along_bowl(a, drop) * np.cos(a) * np.sin(a)

    def nearest(a):
        down = BOWL * np.cos(a) - drop
        distance = np.hypot(BOWL * np.sin(a), down)
        return (BALL - distance) * down / distance * np.sin(a)

    def hydroelastic(b):
        # b is the angle on the ball; the depth is measured from the bowl's centre.
        from_bowl = np.sqrt(drop**2 + BALL**2 + 2.0 * drop * BALL * np.cos(b))
        return (from_bowl - BOWL) * np.cos(b) * np.sin(b)

    if rule == "consistent":
        step = 1e-7
        return (energy(drop + step) - energy(drop - step)) / (2.0 * step)
    if rule == "hydroelastic":
        rim = np.arcsin(BOWL * np.sin(edge) / BALL)
        return 2.0 * np.pi * STIFFNESS * BALL**2 * quad(hydroelastic, 0.0, rim)[0]
    return ring * quad({"customary": customary, "nearest": nearest}[rule], 0.0, edge)[0]


@pytest.mark.parametrize("rule", RULES)
def test_ball_in_bowl(rule):
    implant, pose = ball_in_bowl()
    loads = exact_loads(implant, pose, rule=rule)
    force = force_of_ball(rule)
    for side in (loads.medial, loads.lateral):
        np.testing.assert_allclose(side.force, [0.0, force, 0.0], rtol=2e-6, atol=1e-6 * force)
    np.testing.assert_allclose(loads.peak_pressure, STIFFNESS * DEPTH, rtol=1e-9)
    # The bearing forces act under the middles of the dishes, so that the total has no moment.
    arm = 0.5 * implant.spacing
    np.testing.assert_allclose(loads.lateral.moment[0], -arm * force, rtol=2e-6)
    np.testing.assert_allclose(loads.moment, 0.0, atol=1e-6 * arm * force)


def test_area_of_ball_in_bowl_is_a_spherical_cap():
    implant, pose = ball_in_bowl()
    drop = BOWL - BALL + DEPTH
    cosine = (BOWL**2 + drop**2 - BALL**2) / (2.0 * BOWL * drop)
    area = exact_loads(implant, pose).medial.area
    np.testing.assert_allclose(area, 2.0 * np.pi * BOWL**2 * (1.0 - cosine), rtol=1e-6)


@cache
def general_pose():
    implant = CondylarImplant()
    return implant, contact_poses(implant, 1, seed=4, low=1500.0, high=1600.0)[0]


@pytest.mark.parametrize("rule", first_of(RULES, 2))
def test_refinement_changes_nothing(rule):
    implant, pose = general_pose()
    loads = exact_loads(implant, pose, rule=rule).total.array
    finer = exact_loads(implant, pose, rule=rule, spokes=600, nodes=40).total.array
    scale = np.repeat([finer[1], np.abs(finer[3:6]).max()], 3)
    np.testing.assert_allclose(loads[:6] / scale, finer[:6] / scale, rtol=0, atol=5e-6)
    np.testing.assert_allclose(loads[6:9], finer[6:9], rtol=5e-6)


@pytest.mark.parametrize("change", [{"lateral": 2e-3}, {"flexion": np.radians(109.0)}])
def test_patch_cut_by_a_rim_is_refused(change):
    implant = CondylarImplant()
    home = implant.home_pose(change.get("flexion", 0.0))
    pose = replace(home, superior=home.superior - 0.3e-3, **change)
    with pytest.raises(PatchError, match="cut by the"):
        exact_loads(implant, pose)
