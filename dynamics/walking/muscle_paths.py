"""Lengths, moment arms and pulls of the muscles of a leg.

All vectors are in the tibial frame: origin at the knee, x anterior, y superior, z lateral. The line
from ankle to knee is inclined backwards from the y axis of the bone by 0.5 degrees. Between two
fixed points a muscle is the shortest line that passes the rods on their side; since the rods are
lateral, the unrolled line is straight, of length √(s² + Δz²) with the sagittal length s. The moment
arm about a joint is dL/dq by virtual work, with hip flexion, knee flexion or dorsiflexion q, hence
positive for hip extension, knee extension and plantarflexion.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from dynamics.walking.knee_mechanism import FLEXION_RANGE, QUARTER, rotated
from dynamics.walking.muscles import LegMuscles, Muscle
from foundation.base.checks import FloatArray, check_array
from foundation.base.errors import InputError

#: Joints with moments balanced by muscles: hip and knee extension, ankle plantarflexion.
JOINTS = ("hip", "knee", "ankle")


@dataclass(frozen=True, eq=False)
class MuscleGeometry:
    """Muscles of a leg at N instants.

    Parameters
    ----------
    lengths : (N, n) float64
        Path lengths from first to last point [m].
    arms : (N, 3, n) float64
        Moment per tension about `JOINTS` [m], positive in extension and plantarflexion.
    pulls : (N, n, 6) float64
        Force [1] and moment about the knee [m] on the leg below the knee per tension, tibial frame.
        The quadriceps act through the patellar tendon.
    tendon_ratios : (N, n) float64
        Tension of the patellar tendon per muscle tension [1]; zero except for the quadriceps.
    """

    lengths: FloatArray
    arms: FloatArray
    pulls: FloatArray
    tendon_ratios: FloatArray


@dataclass(frozen=True, eq=False)
class _Posture:
    """Angles of the joints [rad], each (N,)."""

    hip: FloatArray
    knee: FloatArray
    ankle: FloatArray


def muscle_geometry(
    leg: LegMuscles, hip: ArrayLike, knee: ArrayLike, ankle: ArrayLike
) -> MuscleGeometry:
    """Return lengths, moment arms and pulls of the muscles.

    Parameters
    ----------
    leg : LegMuscles
        Leg with n muscles.
    hip, knee, ankle : (N,) array_like
        Flexion of hip and knee, dorsiflexion of the ankle [rad].

    Raises
    ------
    InputError
        If an angle is not finite, the shapes differ or the knee is outside `FLEXION_RANGE`.
    """
    posture = _check_posture(hip, knee, ankle)
    tendon = _patellar_tendon(leg, posture.knee)
    count = len(posture.knee)
    lengths = np.empty((count, len(leg.muscles)))
    arms = np.empty((count, len(JOINTS), len(leg.muscles)))
    pulls = np.zeros((count, len(leg.muscles), 6))
    ratios = np.zeros_like(lengths)
    for m, muscle in enumerate(leg.muscles):
        points, rates = _taut_path(muscle, *_path_points(muscle, leg, posture))
        steps = np.diff(points, axis=1)
        sizes = np.linalg.norm(steps, axis=2)
        lines = steps / np.where(sizes > 0.0, sizes, 1.0)[..., None]
        lengths[:, m] = sizes.sum(axis=1)
        arms[:, :, m] = np.einsum("nkx,nkjx->nj", lines[..., :2], np.diff(rates, axis=1))
        if muscle.bodies[-1] == "patella":
            ratios[:, m] = arms[:, 1, m] / tendon[:, 5]
            pulls[:, m] = ratios[:, m, None] * tendon
        else:
            pulls[:, m] = _pull(muscle, points, lines)
    return MuscleGeometry(lengths, arms, pulls, ratios)


def _check_posture(hip: ArrayLike, knee: ArrayLike, ankle: ArrayLike) -> _Posture:
    flexion = check_array("knee", knee, (None,))
    posture = _Posture(
        check_array("hip", hip, flexion.shape), flexion, check_array("ankle", ankle, flexion.shape)
    )
    outside = np.flatnonzero((flexion < FLEXION_RANGE[0]) | (flexion > FLEXION_RANGE[1]))
    if outside.size:
        low, high = np.degrees(FLEXION_RANGE)
        raise InputError(
            f"knee: expected a flexion of {low:g} to {high:g} deg, found "
            f"{np.degrees(flexion[outside[0]]):g} deg at instant {outside[0]}"
        )
    return posture


def _patellar_tendon(leg: LegMuscles, knee: FloatArray) -> FloatArray:
    """Return force and moment about the knee on the tibia per tension of the tendon, (N, 6)."""
    pole = np.empty((len(knee), 3))
    pole[:, :2] = leg.mechanism.pole(knee) - leg.mechanism_knee
    pole[:, 2] = leg.pole_z
    return _wrench(np.broadcast_to(leg.tuberosity, pole.shape), pole - leg.tuberosity)


def _pull(muscle: Muscle, points: FloatArray, lines: FloatArray) -> FloatArray:
    """Return force and moment per tension below the knee; zero unless the muscle crosses it."""
    below = [body in ("tibia", "foot") for body in muscle.bodies]
    if all(below) or not any(below):
        return np.zeros((len(points), 6))
    first = below.index(True)
    return _wrench(points[:, first], -lines[:, first - 1])


def _wrench(points: FloatArray, lines: FloatArray) -> FloatArray:
    units = lines / np.linalg.norm(lines, axis=1)[:, None]
    return np.concatenate([units, np.cross(points, units)], axis=1)


def _path_points(
    muscle: Muscle, leg: LegMuscles, posture: _Posture
) -> tuple[FloatArray, FloatArray]:
    """Return the points (N, m, 3) and derivatives of x and y by the three angles (N, m, 3, 2)."""
    count, size = len(posture.knee), len(muscle.bodies)
    points = np.empty((count, size, 3))
    rates = np.zeros((count, size, 3, 2))
    points[:, :, 2] = muscle.points[:, 2]
    for i, body in enumerate(muscle.bodies):
        local = np.broadcast_to(muscle.points[i, :2], (count, 2))
        if body == "tibia":
            points[:, i, :2] = local
        elif body == "foot":
            arm = rotated(posture.ankle, local)
            points[:, i, :2] = leg.ankle + arm
            rates[:, i, 2] = arm @ QUARTER.T
        else:
            femoral, hip_rate, knee_rate = _in_femur(leg, posture, body, local)
            points[:, i, :2] = rotated(posture.knee, femoral - leg.knee)
            rates[:, i, 0] = rotated(posture.knee, hip_rate)
            rates[:, i, 1] = points[:, i, :2] @ QUARTER.T + rotated(posture.knee, knee_rate)
    return points, rates


def _in_femur(
    leg: LegMuscles, posture: _Posture, body: str, local: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a point (N, 2) in the femoral frame, and its derivatives by hip and knee flexion."""
    still = np.zeros_like(local)
    if body == "pelvis":
        position = rotated(-posture.hip, local)
        return position, -position @ QUARTER.T, still
    if body == "patella":
        position, rate = leg.mechanism.in_femur(posture.knee, local[0])
        return position, still, rate
    return local, still, still


def _taut_path(
    muscle: Muscle, points: FloatArray, rates: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the path; rods without contact coincide with the next or previous point."""
    rods = [i for i, passage in enumerate(muscle.passages) if passage != "fixed"]
    touches = np.ones(points.shape[:2], dtype=bool)
    for _ in rods:
        for i in rods:
            before = _nearest_touched(points, touches, muscle.passages, i, -1)
            after = _nearest_touched(points, touches, muscle.passages, i, 1)
            chord, offset = after - before, points[:, i, :2] - before
            # Positive where the rod is to the left, that is anterior, of the downward chord.
            side = chord[:, 0] * offset[:, 1] - chord[:, 1] * offset[:, 0]
            touches[:, i] &= side > 0.0 if muscle.passages[i] == "anterior" else side < 0.0
    # A rod above the knee joins the previous point, a rod below the knee the next point, so that
    # the same segment always crosses the knee.
    above = [i for i in rods if muscle.bodies[i] in ("pelvis", "femur")]
    below = [i for i in reversed(rods) if i not in above]
    for i, other in [(i, i - 1) for i in above] + [(i, i + 1) for i in below]:
        off = ~touches[:, i]
        points[off, i] = points[off, other]
        rates[off, i] = rates[off, other]
    _unroll(muscle, points)
    return points, rates


def _nearest_touched(
    points: FloatArray, touches: np.ndarray, passages: tuple[str, ...], start: int, step: int
) -> FloatArray:
    """Return the next sagittal point (N, 2) in contact, in one direction from a rod."""
    end = start + step
    while passages[end] != "fixed":
        end += step
    nearest = points[:, end, :2]
    for i in range(end - step, start, -step):
        nearest = np.where(touches[:, i, None], points[:, i, :2], nearest)
    return nearest


def _unroll(muscle: Muscle, points: FloatArray) -> None:
    """Set z between fixed points in proportion to the sagittal length."""
    fixed = [i for i, passage in enumerate(muscle.passages) if passage == "fixed"]
    for start, end in pairwise(fixed):
        steps = np.diff(points[:, start : end + 1, :2], axis=1)
        along = np.cumsum(np.linalg.norm(steps, axis=2), axis=1)
        share = along / np.where(along[:, -1:] > 0.0, along[:, -1:], 1.0)
        rise = points[:, end, 2] - points[:, start, 2]
        points[:, start + 1 : end, 2] = points[:, start, 2, None] + share[:, :-1] * rise[:, None]
