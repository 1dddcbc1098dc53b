"""Lengths, moment arms and pulls of muscles over bones."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.walking.muscle_paths import MuscleGeometry, muscle_geometry
from dynamics.walking.muscle_tables import load_leg_muscles
from dynamics.walking.muscles import LegMuscles, Muscle

QUADRICEPS = ("rectus_femoris", "vastus_medialis", "vastus_intermedius", "vastus_lateralis")
HAMSTRINGS = ("biceps_femoris_long", "biceps_femoris_short", "semimembranosus", "semitendinosus")
GASTROCNEMII = ("gastrocnemius_medial", "gastrocnemius_lateral")


@pytest.fixture(scope="module")
def leg() -> LegMuscles:
    return load_leg_muscles()


def geometry(leg: LegMuscles, hip, knee, ankle) -> MuscleGeometry:
    """Of angles in degrees that need not be of the same number."""
    return muscle_geometry(leg, *np.broadcast_arrays(*map(np.radians, ([hip], [knee], [ankle]))))


def knee_arms(leg: LegMuscles, names, knee) -> np.ndarray:
    """Return the moment arms of some muscles at the knee [mm], (N, n)."""
    angles = np.radians(knee)
    still = np.zeros_like(angles)
    return 1e3 * muscle_geometry(leg.select(names), still, angles, still).arms[:, 1]


def random_postures(number: int) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(7)
    bounds = ((-0.4, 1.0), (-0.1, 1.9), (-0.4, 0.4))
    return tuple(random.uniform(low, high, number) for low, high in bounds)


# By OpenSim 4.6 for the same points over pin joints in the same places, at hip 20, knee 60 and
# ankle 10 deg, where no rod but that of iliopsoas is touched: length and arms about hip, knee and
# ankle [m].
OPENSIM = {
    "gluteus_maximus": (0.0929556, 0.0496522, 0.0, 0.0),
    "biceps_femoris_long": (0.3850416, 0.0647682, -0.0322344, 0.0),
    "biceps_femoris_short": (0.1921767, 0.0, -0.0348455, 0.0),
    "semimembranosus": (0.3930632, 0.0564701, -0.0416875, 0.0),
    "semitendinosus": (0.381009, 0.0677697, -0.04913, 0.0),
    "gastrocnemius_medial": (0.4369457, 0.0, -0.0183312, 0.044928),
    "gastrocnemius_lateral": (0.4334174, 0.0, -0.0181723, 0.044928),
    "soleus": (0.299199, 0.0, 0.0, 0.0428134),
    "tibialis_anterior": (0.0606213, 0.0, 0.0, -0.0473862),
}
# The same with the moving knee of Delp et al. (1990): arms about the knee [m].
OPENSIM_MOVING_KNEE = {
    "biceps_femoris_long": -0.030394,
    "biceps_femoris_short": -0.033113,
    "semimembranosus": -0.039843,
    "semitendinosus": -0.047283,
    "gastrocnemius_medial": -0.017823,
    "gastrocnemius_lateral": -0.017666,
}


def test_opensim_lengths_and_arms(leg) -> None:
    found = geometry(leg.select(tuple(OPENSIM)), 20.0, 60.0, 10.0)
    expected = np.array(list(OPENSIM.values()))
    assert_allclose(found.lengths[0], expected[:, 0], rtol=0, atol=1e-7)
    assert_allclose(found.arms[0].T, expected[:, 1:], rtol=0, atol=1e-7)


def test_pin_knee_is_close_to_the_moving_knee(leg) -> None:
    names = tuple(OPENSIM_MOVING_KNEE)
    expected = 1e3 * np.array(list(OPENSIM_MOVING_KNEE.values()))
    assert_allclose(
        geometry(leg.select(names), 20.0, 60.0, 10.0).arms[0, 1] * 1e3, expected, 0, 1.9
    )


def test_arms_are_derivatives_of_the_length(leg) -> None:
    postures, step = random_postures(60), 1e-5
    arms = muscle_geometry(leg, *postures).arms
    for joint in range(3):
        shift = np.zeros((3, 1))
        shift[joint] = step
        ahead = muscle_geometry(leg, *(np.array(postures) + shift)).lengths
        behind = muscle_geometry(leg, *(np.array(postures) - shift)).lengths
        assert_allclose(arms[:, joint], (ahead - behind) / (2.0 * step), rtol=0, atol=1e-9)


def test_pull_about_the_knee_is_the_moment_arm(leg) -> None:
    """Statics and virtual work agree, for the quadriceps by way of the patellar tendon."""
    found = muscle_geometry(leg, *random_postures(60))
    assert_allclose(found.pulls[:, :, 5], found.arms[:, 1], rtol=0, atol=1e-15)


def test_pull_is_as_large_as_the_tension(leg) -> None:
    found = muscle_geometry(leg, *random_postures(20))
    size = np.linalg.norm(found.pulls[:, :, :3], axis=2)
    for m, muscle in enumerate(leg.muscles):
        if muscle.name in QUADRICEPS:
            assert_allclose(size[:, m], found.tendon_ratios[:, m], rtol=1e-14)
        else:
            crosses = muscle.name in HAMSTRINGS + GASTROCNEMII
            assert_allclose(size[:, m], float(crosses), rtol=0, atol=1e-14)
            assert np.all(found.tendon_ratios[:, m] == 0.0)


def test_right_angles_by_hand(leg) -> None:
    """A vertical muscle behind a straight knee, and a horizontal one on a bent one."""
    above, below = [leg.knee[0] - 0.02, leg.knee[1] + 0.2, 0.03], [-0.02, -0.05, 0.03]
    points = np.array([above, below])
    cord = Muscle("cord", 1e-3, 0.1, ("femur", "tibia"), points, ("fixed", "fixed"))
    found = geometry(replace(leg, muscles=(cord,)), 0.0, 0.0, 0.0)
    assert_allclose(found.lengths, 0.25, rtol=1e-14)
    assert_allclose(found.arms[0, :, 0], [0.0, -0.02, 0.0], rtol=0, atol=1e-15)
    # r x F of a unit force upwards at (-0.02, -0.05, 0.03).
    assert_allclose(found.pulls[0, 0], [0.0, 1.0, 0.0, -0.03, 0.0, -0.02], rtol=0, atol=1e-14)
    bent = geometry(replace(leg, muscles=(cord,)), 0.0, 90.0, 0.0)
    line = np.array([-0.2 + 0.02, -0.02 + 0.05, 0.0])
    line /= np.linalg.norm(line)
    assert_allclose(bent.pulls[0, 0, :3], line, rtol=0, atol=1e-14)


def naive_length(path: list[np.ndarray], passages: tuple[str, ...]) -> float:
    """Return the shortest length over all choices of rods that keep each on its side."""
    rods = [i for i, passage in enumerate(passages) if passage != "fixed"]
    best = np.inf
    for number in range(len(rods) + 1):
        for chosen in combinations(rods, number):
            kept = [i for i in range(len(path)) if i in chosen or passages[i] == "fixed"]
            if all(allowed(path, passages, kept, i) for i in rods):
                best = min(best, unrolled(path, passages, kept))
    return best


def allowed(path, passages, kept, rod) -> bool:
    """Whether the path passes a rod on its side, or bends over it the right way."""
    before = max(i for i in kept if i < rod)
    after = min(i for i in kept if i > rod)
    chord, offset = path[after] - path[before], path[rod] - path[before]
    left = chord[0] * offset[1] - chord[1] * offset[0]
    outside = left > 0.0 if passages[rod] == "anterior" else left < 0.0
    return outside == (rod in kept)


def unrolled(path, passages, kept) -> float:
    fixed = [i for i, passage in enumerate(passages) if passage == "fixed"]
    total = 0.0
    for start, end in pairwise(fixed):
        stretch = [path[i][:2] for i in kept if start <= i <= end]
        sagittal = sum(float(np.linalg.norm(b - a)) for a, b in pairwise(stretch))
        total += np.hypot(sagittal, path[end][2] - path[start][2])
    return total


def test_taut_path_against_all_choices_of_rods(leg) -> None:
    hips, knees, ankles = random_postures(80)
    found = muscle_geometry(leg, hips, knees, ankles).lengths
    for m, muscle in enumerate(leg.muscles):
        for n, posture in enumerate(zip(hips, knees, ankles, strict=True)):
            path = [naive_point(leg, muscle, i, *posture) for i in range(len(muscle.bodies))]
            assert_allclose(found[n, m], naive_length(path, muscle.passages), rtol=1e-12)


def test_taut_path_over_many_rods(leg) -> None:
    """In the order of the path, on bones that have no other rods in the tables."""
    random = np.random.default_rng(3)
    for _ in range(30):
        depth = np.linspace(-0.1, -0.35, 6)
        x = 0.03 + np.where(np.arange(6) % 5, random.uniform(0.0, 0.02, 6), 0.0)
        points = np.stack([x, depth, random.uniform(-0.02, 0.02, 6)], axis=1)
        passages = ("fixed", *["anterior"] * 4, "fixed")
        cord = Muscle("cord", 1e-3, 0.1, ("femur",) * 6, points, passages)
        found = geometry(replace(leg, muscles=(cord,)), 0.0, 0.0, 0.0).lengths[0, 0]
        assert_allclose(found, naive_length(list(points), passages), rtol=1e-12)


def naive_point(leg, muscle, i, hip, knee, ankle) -> np.ndarray:
    """Return a point in the femoral frame by matrices."""

    def turn(angle: float) -> np.ndarray:
        return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    body, (x, y, z) = muscle.bodies[i], muscle.points[i]
    point = np.array([x, y])
    if body == "foot":
        point = leg.ankle + turn(ankle) @ point
    if body in ("foot", "tibia"):
        point = leg.knee + turn(-knee) @ point
    if body == "pelvis":
        point = turn(-hip) @ point
    if body == "patella":
        mechanism = leg.mechanism
        tibial = mechanism.pole(knee) + turn(mechanism.patella_angle(knee)) @ point
        point = [mechanism.tibia_x(knee), mechanism.tibia_y(knee)] + turn(-knee) @ tibial
    return np.array([*point, z])


# Ranges of the joint angle in which gait2392 has the point: name, rod, joint and angle [deg].
GAIT2392_LIFTS = [
    ("gastrocnemius_medial", 1, "knee", 45.0),
    ("gastrocnemius_lateral", 1, "knee", 45.0),
    ("semimembranosus", 1, "knee", 32.0),
    ("semitendinosus", 1, "knee", 19.0),
    ("vastus_medialis", 1, "knee", 69.3),
    ("vastus_medialis", 2, "knee", 102.0),
    ("vastus_intermedius", 1, "knee", 81.4),
    ("vastus_lateralis", 1, "knee", 69.3),
    ("rectus_femoris", 1, "knee", 83.65),
    ("iliopsoas", 1, "hip", 45.0),
]


@pytest.mark.parametrize(("name", "rod", "joint", "angle"), GAIT2392_LIFTS)
def test_gait2392_angles_at_which_a_point_is_left(leg, name, rod, joint, angle) -> None:
    """Without the rod the length changes only on one side of the stated angle, +-2 deg."""
    (muscle,) = leg.select((name,)).muscles
    kept = [i for i in range(len(muscle.bodies)) if i != rod]
    without = replace(
        muscle,
        bodies=tuple(muscle.bodies[i] for i in kept),
        points=muscle.points[kept],
        passages=tuple(muscle.passages[i] for i in kept),
    )
    angles = np.radians([angle - 2.0, angle + 2.0])
    postures = (
        (angles, 0 * angles, 0 * angles) if joint == "hip" else (0 * angles, angles, 0 * angles)
    )
    lengths = [
        muscle_geometry(replace(leg, muscles=(each,)), *postures).lengths[:, 0]
        for each in (muscle, without)
    ]
    touches = lengths[0] > lengths[1] + 1e-12
    assert touches[0] != touches[1]


def test_arms_and_pulls_are_continuous_where_rods_are_left(leg) -> None:
    knees = np.radians(np.arange(0.0, 115.0, 0.02))
    found = muscle_geometry(leg, np.zeros_like(knees), knees, np.zeros_like(knees))
    # 0.02 deg of a line that turns with the bone is 3.5e-4.
    assert np.abs(np.diff(found.arms, axis=0)).max() < 2e-5
    assert np.abs(np.diff(found.pulls, axis=0)).max() < 5e-4


def test_patellar_tendon_arm_of_35_to_55_mm_that_falls_with_flexion(leg) -> None:
    """In vivo 20-50 mm, the larger the straighter the knee (dynamic MRI, PMC2753825)."""
    knees = np.radians(np.arange(0.0, 76.0, 5.0))
    found = muscle_geometry(leg.select(("vastus_intermedius",)), 0 * knees, knees, 0 * knees)
    arms = 1e3 * found.arms[:, 1, 0] / found.tendon_ratios[:, 0]
    assert np.all(np.diff(arms) < 0.0)
    assert 50.0 < arms[0] < 55.0
    assert 35.0 < arms[-1] < 40.0


def test_patellar_tendon_by_hand(leg) -> None:
    """From the tuberosity at (39, -82, 0) to the pole at (49.6, -22.7, 2.4) mm when straight."""
    pull = geometry(leg.select(("vastus_lateralis",)), 0.0, 0.0, 0.0).pulls[0, 0]
    line = np.array([10.6, 59.3, 2.4]) / np.linalg.norm([10.6, 59.3, 2.4])
    assert_allclose(pull[:3] / np.linalg.norm(pull[:3]), line, rtol=0, atol=1e-12)
    # The knee's centre is at (-3.89, -12.86) mm.
    expected = np.cross([42.89e-3, -69.14e-3, 0.0], pull[:3])
    assert_allclose(pull[3:], expected, rtol=0, atol=1e-12)


def test_patellar_tendon_turns_from_anterior_to_posterior(leg) -> None:
    """It runs upwards and forwards below 60 deg of flexion, backwards above (PMC1945121)."""
    knees = np.radians([0.0, 20.0, 40.0, 75.0, 90.0])
    pulls = muscle_geometry(leg.select(("vastus_medialis",)), 0 * knees, knees, 0 * knees).pulls
    assert np.all(pulls[:3, 0, 0] > 0.0)
    assert np.all(pulls[3:, 0, 0] < 0.0)
    assert np.all(pulls[:, 0, 1] > 0.0)


def test_published_ranges_of_moment_arms(leg) -> None:
    """By name [mm]: effective quadriceps arm in vivo 31.5-47.1 from 50 to 10 deg (PMC4662057);
    hamstrings 20-55, gastrocnemius 12-25 (Spoor & van Leeuwen 1992, Buford et al. 1997)."""
    knees = np.arange(10.0, 51.0, 5.0)
    quadriceps = knee_arms(leg, QUADRICEPS, knees)
    assert np.all((quadriceps > 31.5) & (quadriceps < 52.0))
    hamstrings = -knee_arms(leg, HAMSTRINGS, np.arange(0.0, 76.0, 5.0))
    assert np.all((hamstrings > 20.0) & (hamstrings < 55.0))
    gastrocnemius = -knee_arms(leg, GASTROCNEMII, np.arange(0.0, 76.0, 5.0))
    assert np.all((gastrocnemius > 12.0) & (gastrocnemius < 25.0))


def test_published_ranges_at_ankle_and_hip(leg) -> None:
    """Achilles 35-60 mm, tibialis anterior 30-50 mm, larger the more it shortens the opposite."""
    ankles = np.radians(np.arange(-20.0, 21.0, 5.0))
    chosen = leg.select(("soleus", "tibialis_anterior", "gluteus_maximus", "iliopsoas"))
    arms = 1e3 * muscle_geometry(chosen, 0 * ankles, 0 * ankles, ankles).arms[:, 2]
    assert np.all((arms[:, 0] > 35.0) & (arms[:, 0] < 60.0))
    assert np.all(np.diff(arms[:, 0]) < 0.0)
    assert np.all((-arms[:, 1] > 30.0) & (-arms[:, 1] < 50.0))
    hips = np.radians(np.arange(-20.0, 41.0, 10.0))
    arms = 1e3 * muscle_geometry(chosen, hips, 0 * hips, 0 * hips).arms[:, 0]
    assert np.all((arms[:, 2] > 35.0) & (arms[:, 2] < 65.0))
    assert np.all((-arms[:, 3] > 30.0) & (-arms[:, 3] < 50.0))


def test_scaled_body_has_scaled_arms_and_the_same_lines(leg) -> None:
    postures = random_postures(10)
    small, large = (muscle_geometry(each, *postures) for each in (leg, leg.scaled(1.2 * 1.80)))
    assert_allclose(large.lengths, 1.2 * small.lengths, rtol=1e-12)
    assert_allclose(large.arms, 1.2 * small.arms, rtol=1e-10, atol=1e-14)
    assert_allclose(large.pulls[..., :3], small.pulls[..., :3], rtol=1e-10, atol=1e-13)
    assert_allclose(large.tendon_ratios, small.tendon_ratios, rtol=1e-10)
