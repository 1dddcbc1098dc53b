"""Equilibria found by a sweep over AP positions: spheres in dishes and on ridges."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics import EquilibriumError, KneeSimulator
from dynamics.simulator.ap_sweep import settle_from_sweep, sweep_ap
from foundation.base.loads import ContactLoads
from foundation.base.pose import Pose

CENTRED = KneeSimulator(medial_offset=0.0)
LOADS = {"flexion": 0.3, "axial_force": 1000.0}


def starts(low=-12e-3, high=12e-3, count=13, **others):
    return [Pose(anterior=x, **others) for x in np.linspace(low, high, count)]


@pytest.mark.parametrize(
    ("low", "high", "others"),
    [
        (-12e-3, 12e-3, {}),
        (-1e-3, 15e-3, {"lateral": 5e-3, "adduction": 0.05}),
        (-20e-3, 4e-3, {"rotation": -0.1, "superior": 8e-3}),
    ],
)
def test_rest_in_dishes_does_not_depend_on_the_starts(knee, low, high, others):
    simulator = replace(CENTRED, neutral=Pose(anterior=2e-3))
    pose = settle_from_sweep(knee(), simulator, starts=starts(low, high, **others), **LOADS)
    # Dish and spring in series of forces: F x / along + k (x - 2 mm) = 0.
    x = 30e3 * 2e-3 / (1000.0 / 0.08 + 30e3)
    depth = (500.0 / 1.3e9) ** (2 / 3)
    assert_allclose(pose.array[3:], [x, 0.5 * x * x / 0.08 - depth, 0.0], rtol=0.0, atol=1e-8)


def test_held_forces_are_those_of_the_dish(knee):
    """Held at x, the dish pushes back by F x / along."""
    simulator = replace(CENTRED, anterior_stiffness=0.0)
    rests = sweep_ap(knee(), simulator, starts=starts(), **LOADS)
    x = np.array([rest.pose.anterior for rest in rests])
    assert_allclose(x, np.linspace(-12e-3, 12e-3, 13), rtol=0.0, atol=1e-15)
    assert_allclose([rest.ap_force for rest in rests], -1000.0 * x / 0.08, rtol=0.0, atol=1e-3)


def test_rests_of_a_sweep_need_not_be_exact(knee):
    """The lateral force jumps by 1 N in the middle, where no pose is without a residual."""

    class Edged(knee):
        def loads(self, pose, order=0):
            loads = super().loads(pose, 1)
            pull = np.array([0.0, 0.0, -0.5 * np.sign(pose.lateral), 0.0, 0.0, 0.0])
            return ContactLoads.from_wrench(loads.wrench + pull, loads.total_jacobian)

    rests = sweep_ap(Edged(), CENTRED, starts=starts(lateral=1e-3), **LOADS)
    assert len(rests) == 13
    assert_allclose([rest.pose.lateral for rest in rests], 0.0, rtol=0.0, atol=0.2e-3)


def test_ridge_says_which_spring_would_hold(knee):
    """On a ridge of radius 50 mm a spring of more than F / 50 mm holds."""
    ridge = knee(along=-0.05, across=0.06)
    loose = replace(CENTRED, anterior_stiffness=0.5 * 1000.0 / 0.05)
    with pytest.raises(EquilibriumError, match=r"anteriorly by -.*more than 20 N/mm") as error:
        settle_from_sweep(ridge, loose, starts=starts(), **LOADS)
    assert error.value.loose == "anterior"
    with pytest.raises(EquilibriumError, match=r"4.0 to 12.0 mm.* by 40 to 120 N"):
        settle_from_sweep(ridge, loose, starts=starts(4e-3, 12e-3, 5), **LOADS)
    firm = replace(CENTRED, anterior_stiffness=1.1 * 1000.0 / 0.05)
    pose = settle_from_sweep(ridge, firm, starts=starts(), **LOADS)
    assert_allclose(pose.anterior, 0.0, rtol=0.0, atol=1e-8)


def test_the_loose_coordinate_is_named(knee):
    tipping = replace(CENTRED, medial_offset=0.05)
    with pytest.raises(EquilibriumError, match="nothing holds adduction") as error:
        settle_from_sweep(knee(), tipping, starts=starts(), **LOADS)
    assert error.value.loose == "adduction"


@pytest.mark.parametrize("places", [[0.0], [1e-3, 0.0], [0.0, 0.0]])
def test_starts_must_go_forward(knee, places):
    with pytest.raises(ValueError, match="starts: expected two or more"):
        settle_from_sweep(knee(), CENTRED, starts=[Pose(anterior=x) for x in places], **LOADS)
