"""Sharing of joint moments by muscles, and their load on the knee."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.interpolate import PchipInterpolator
from scipy.optimize import minimize

from dynamics.walking.muscle_loads import SHARINGS, MuscleLoads, knee_muscle_loads
from dynamics.walking.muscle_paths import muscle_geometry
from dynamics.walking.muscle_tables import load_leg_muscles
from dynamics.walking.muscles import LegMuscles

QUADRICEPS = ("rectus_femoris", "vastus_medialis", "vastus_intermedius", "vastus_lateralis")
FLEXORS = ("biceps_femoris_short", "gastrocnemius_medial", "gastrocnemius_lateral")
STILL = np.zeros(1)
MASS, WEIGHT = 72.6, 72.6 * 9.81

# A stride of level walking, approximate: points written by hand after the known shape of the curves
# (compare Winter 1991, The Biomechanics and Motor Control of Human Gait), no measurement. In % of
# the stride: flexion of hip and knee, dorsiflexion [deg]; moments of hip and knee extension and
# plantarflexion [N m/kg]; vertical ground force [BW].
WALKING = {
    "hip": "0 22, 10 20, 30 2, 50 -11, 60 -6, 75 18, 85 24, 100 22",
    "knee": "0 4, 5 10, 13 19, 25 13, 40 6, 50 11, 60 38, 72 63, 85 35, 95 5, 100 4",
    "ankle": "0 0, 7 -5, 15 0, 30 5, 45 9, 52 2, 62 -18, 75 -4, 100 0",
    "hip_moment": "0 .25, 5 .5, 12 .45, 25 .1, 40 -.25, 52 -.6, 60 -.3, 70 -.1, 80 .05, "
    "92 .35, 100 .25",
    "knee_moment": "0 -.35, 5 0, 13 .6, 25 .2, 40 -.25, 47 -.15, 53 .12, 58 .2, 68 .08, 80 -.08, "
    "93 -.3, 100 -.35",
    "ankle_moment": "0 0, 4 -.1, 10 .1, 20 .5, 30 .85, 40 1.3, 47 1.6, 52 1.25, 58 .4, 63 0, 100 0",
    "ground": "0 0, 5 .6, 12 1.1, 30 .75, 45 1.12, 50 1.05, 57 .4, 62 0, 100 0",
}
PERCENT = np.linspace(0.0, 100.0, 201)


@pytest.fixture(scope="module")
def leg() -> LegMuscles:
    return load_leg_muscles()


def walking(name: str, percent: np.ndarray = PERCENT) -> np.ndarray:
    points = np.array([pair.split() for pair in WALKING[name].split(", ")], dtype=float)
    return PchipInterpolator(*points.T)(percent)


def walk(leg: LegMuscles, percent: np.ndarray = PERCENT, **options) -> MuscleLoads:
    angles = [np.radians(walking(name, percent)) for name in ("hip", "knee", "ankle")]
    moments = [MASS * walking(f"{name}_moment", percent) for name in ("hip", "knee", "ankle")]
    return knee_muscle_loads(leg, *angles, np.stack(moments, axis=1), **options)


def compression(loads: MuscleLoads) -> np.ndarray:
    """Return the tibiofemoral compression [BW], with shank and foot at rest at 0.06 BW."""
    ground = walking("ground")
    return ground - 0.06 * (ground > 0.0) + loads.knee_force[:, 1] / WEIGHT


def costs(leg: LegMuscles, sharing: str) -> np.ndarray:
    """Return the weights w of the objective Σ w F²."""
    if sharing == "stress":
        return np.array([1.0 / each.area**2 for each in leg.muscles])
    return np.array([each.fibre_length / each.area for each in leg.muscles])


@pytest.mark.parametrize("sharing", SHARINGS)
def test_moments_are_balanced_by_tensions(leg, sharing) -> None:
    loads = walk(leg, sharing=sharing)
    asked = [MASS * walking(f"{name}_moment") for name in ("hip", "knee", "ankle")]
    assert_allclose(loads.moments, np.stack(asked, axis=1), rtol=0, atol=1e-9)
    assert np.all(loads.forces >= 0.0)


@pytest.mark.parametrize("sharing", SHARINGS)
def test_sharing_against_sequential_quadratic_programming(leg, sharing) -> None:
    percent = np.array([3.0, 13.0, 40.0, 47.0, 55.0, 75.0, 93.0])
    loads = walk(leg, percent, sharing=sharing)
    angles = [np.radians(walking(name, percent)) for name in ("hip", "knee", "ankle")]
    arms = muscle_geometry(leg, *angles).arms
    weights = costs(leg, sharing)
    weights = weights / weights.mean()
    scale = 100.0
    for n in range(len(percent)):
        oracle = minimize(
            lambda f: 0.5 * np.sum(weights * f**2),
            np.full(len(weights), 5.0),
            jac=lambda f: weights * f,
            bounds=[(0.0, None)] * len(weights),
            constraints={
                "type": "eq",
                "fun": lambda f, n=n: arms[n] @ f - loads.moments[n] / scale,
                "jac": lambda f, n=n: arms[n],
            },
            method="SLSQP",
            options={"ftol": 1e-11, "maxiter": 500},
        )
        assert_allclose(arms[n] @ oracle.x, loads.moments[n] / scale, rtol=0, atol=1e-8)
        assert_allclose(loads.forces[n], scale * oracle.x, rtol=1e-4, atol=0.05)


@pytest.mark.parametrize("sharing", SHARINGS)
def test_forces_are_stiffness_times_the_shortening_asked_for(leg, sharing) -> None:
    """Kuhn-Tucker: w F = armsᵀ rotation of those that pull, armsᵀ rotation <= 0 of the others."""
    loads = walk(leg, sharing=sharing)
    angles = [np.radians(walking(name)) for name in ("hip", "knee", "ankle")]
    arms, weights = muscle_geometry(leg, *angles).arms, costs(leg, sharing)
    for n in range(0, len(PERCENT), 5):
        if not loads.forces[n].any():
            continue
        pulls = loads.forces[n] > 1e-6
        price = weights * loads.forces[n]
        rotation = np.linalg.lstsq(arms[n][:, pulls].T, price[pulls], rcond=None)[0]
        size = price.max()
        assert_allclose(arms[n][:, pulls].T @ rotation, price[pulls], rtol=0, atol=1e-7 * size)
        assert np.all(arms[n][:, ~pulls].T @ rotation <= 1e-6 * size)


def test_one_extensor_by_hand(leg) -> None:
    """F = M / arm, the tendon M / its arm, the load on the tibia along the tendon."""
    alone, knee = leg.select(("vastus_lateralis",)), np.radians([25.0])
    geometry = muscle_geometry(alone, STILL, knee, STILL)
    loads = knee_muscle_loads(alone, STILL, knee, STILL, [[0.0, 40.0, 0.0]])
    tension = 40.0 / geometry.arms[0, 1, 0]
    assert_allclose(loads.forces, [[tension]], rtol=1e-12)
    assert_allclose(loads.stresses, [[tension / 35.1e-4]], rtol=1e-12)
    assert_allclose(loads.tendon_force, tension * geometry.tendon_ratios[0], rtol=1e-12)
    assert_allclose(np.linalg.norm(loads.knee_force, axis=1), loads.tendon_force, rtol=1e-12)
    assert_allclose(loads.knee_moment[0, 2], 40.0, rtol=1e-12)


def test_torque_is_internal_where_a_lateral_muscle_pulls_forwards(leg) -> None:
    """The lateral point of the tibia moves forwards in internal rotation."""
    loads = walk(leg)
    geometry = muscle_geometry(leg, *(np.radians(walking(n)) for n in ("hip", "knee", "ankle")))
    assert_allclose(
        loads.knee_moment[:, 1],
        np.einsum("nm,nm->n", loads.forces, geometry.pulls[:, :, 4]),
        rtol=1e-12,
    )
    lateral = muscle_geometry(leg.select(("biceps_femoris_long",)), STILL, STILL + 0.5, STILL)
    assert lateral.pulls[0, 0, 0] < 0.0
    assert lateral.pulls[0, 0, 4] < 0.0
    medial = muscle_geometry(leg.select(("semitendinosus",)), STILL, STILL + 0.5, STILL)
    assert medial.pulls[0, 0, 0] < 0.0
    assert medial.pulls[0, 0, 4] > 0.0


def test_antagonists_are_silent_in_single_moments(leg) -> None:
    def active(moment) -> dict[str, bool]:
        loads = knee_muscle_loads(leg, STILL, STILL + 0.3, STILL, [moment])
        return dict(zip(loads.names, loads.forces[0] > 1e-6, strict=True))

    flexion = active([0.0, -30.0, 0.0])
    assert not any(flexion[name] for name in QUADRICEPS)
    assert flexion["biceps_femoris_short"]
    extension = active([0.0, 30.0, 0.0])
    assert all(extension[name] for name in QUADRICEPS[1:])
    assert not any(extension[name] for name in FLEXORS)
    dorsiflexion = active([0.0, 0.0, -15.0])
    assert dorsiflexion["tibialis_anterior"]
    assert not dorsiflexion["soleus"]


def test_no_moment_asks_for_no_force(leg) -> None:
    loads = knee_muscle_loads(leg, STILL, STILL, STILL, np.zeros((1, 3)))
    assert_allclose(loads.forces, 0.0, rtol=0, atol=1e-12)


def test_forces_are_homogeneous_in_the_moments(leg) -> None:
    angles = (STILL + 0.2, STILL + 0.4, STILL - 0.1)
    one, two = (
        knee_muscle_loads(leg, *angles, [np.multiply(k, [20.0, 30.0, 15.0])]) for k in (1, 2)
    )
    assert_allclose(two.forces, 2.0 * one.forces, rtol=1e-9, atol=1e-9)


def test_larger_body_needs_smaller_forces_for_the_same_moments(leg) -> None:
    moments, angles = [[20.0, 30.0, 15.0]], (STILL + 0.2, STILL + 0.4, STILL - 0.1)
    small = knee_muscle_loads(leg, *angles, moments)
    large = knee_muscle_loads(leg.scaled(1.2 * 1.80), *angles, moments)
    assert_allclose(large.forces, small.forces / 1.2, rtol=1e-9, atol=1e-9)
    assert_allclose(large.stresses, small.stresses / 1.2**3, rtol=1e-9, atol=1e-6)


def test_least_stress_is_a_co_contraction_that_keeps_the_moments(leg) -> None:
    moments, angles = [[20.0, 30.0, 15.0]], (STILL + 0.2, STILL + 0.4, STILL - 0.1)
    relaxed = knee_muscle_loads(leg, *angles, moments)
    tense = knee_muscle_loads(leg, *angles, moments, least_stress=2e4)
    assert np.all(tense.stresses >= 2e4 - 1e-6)
    assert_allclose(tense.moments, moments, rtol=0, atol=1e-9)
    assert tense.knee_force[0, 1] > relaxed.knee_force[0, 1]


def test_forces_are_continuous_in_time(leg) -> None:
    """Steps shrink with the time step."""
    coarse, fine = (
        np.abs(np.diff(walk(leg, np.linspace(0.0, 100.0, n)).forces, axis=0)).max()
        for n in (101, 1001)
    )
    assert fine < 0.15 * coarse


def test_textbook_walking_has_two_peaks_of_compression(leg) -> None:
    """Instrumented implants: 2.61 BW on average in level walking (Kutzner et al. 2010)."""
    for sharing in SHARINGS:
        load = compression(walk(leg, sharing=sharing))
        first, second = load[PERCENT <= 28.0].max(), load[(PERCENT > 32.0) & (PERCENT < 60.0)].max()
        valley = load[(PERCENT >= 25.0) & (PERCENT <= 35.0)].min()
        for peak in (first, second):
            assert 1.8 < peak < 4.0
            assert peak > valley + 0.5
    assert_allclose([first, second], [2.8, 3.3], rtol=0, atol=0.1)
    least = compression(walk(leg))
    assert_allclose(least.max(), 2.4, rtol=0, atol=0.1)


def test_textbook_walking_activates_the_muscles_in_their_time(leg) -> None:
    loads = walk(leg)
    peak = dict(zip(loads.names, PERCENT[loads.forces.argmax(axis=0)], strict=True))
    for name in QUADRICEPS[1:]:
        assert 8.0 < peak[name] < 20.0
    for name in ("soleus", "gastrocnemius_medial", "gastrocnemius_lateral"):
        assert 40.0 < peak[name] < 55.0
    assert 45.0 < peak["iliopsoas"] < 60.0
    assert peak["semimembranosus"] > 85.0 or peak["semimembranosus"] < 10.0
