"""Plausibility of a stride and its ground force: units, signs, columns, subject.

Impossible gait data are rejected; unusual data give a warning. The limits are round numbers, wide
enough for impaired gait:

- angles within the ranges of motion of the joints plus some degrees;
- over a stride of steady walking the mean vertical force of one foot is about half the body weight;
- the force acts under the foot: between heel and metatarsal heads, below the ankle;
- the free torque is small, since a sole hardly twists the ground.
"""

from __future__ import annotations

import numpy as np
from scipy.constants import g as STANDARD_GRAVITY

from dynamics.walking.columns import TRIAL_COORDINATES
from dynamics.walking.inverse_dynamics import LegLoads
from dynamics.walking.knee_mechanism import FLEXION_RANGE
from dynamics.walking.strikes import foot_events
from dynamics.walking.trial import GaitTrial
from foundation.base.checks import FloatArray, check_number
from foundation.base.errors import InputError

#: Ranges of angles [deg].
ANGLE_RANGES = {
    "pelvis_tilt": (-60.0, 60.0),
    "hip_flexion": (-45.0, 130.0),
    "knee_flexion": tuple(np.degrees(FLEXION_RANGE)),
    "ankle_dorsiflexion": (-70.0, 50.0),
}
#: Least range of motion of hip or knee in a stride [deg].
_LEAST_MOTION = 3.0
#: Largest difference of the first and last angles of a stride [deg].
_CLOSED = 10.0
# Limits of the mean vertical force over body weight; upper limits of the distances of force and
# foot [m] forward, up and across, and of the free torque over mass [N m/kg].
_SHARE_WARNING, _SHARE_ERROR = (0.4, 0.6), (0.1, 1.0)
_DISTANCES = (
    ("ahead of or behind the foot", 0.06, 0.15, "motion and ground force (leg, plate, unit, axes)"),
    ("above or below the sole", 0.12, 0.30, "the height of the pelvis and the lengths of the leg"),
    ("beside the ankle", 0.06, 0.15, "the lateral position of the pelvis (pelvis_z)"),
)
_TORQUE_WARNING = 0.5
#: Largest possible free torque over mass [N m/kg].
TORQUE_ERROR = 2.0


def check_walk(trial: GaitTrial, leg: LegLoads, mass: float) -> tuple[str, ...]:
    """Check that a stride is plausible; return warnings as sentences.

    Parameters
    ----------
    trial : GaitTrial
        Stride.
    leg : LegLoads
        Inverse dynamics of the stride.
    mass : float
        Body mass [kg], > 0.

    Returns
    -------
    tuple of str
        One sentence per unusual property.

    Raises
    ------
    InputError
        If an angle is out of range, hip and knee hardly move, or the ground force does not fit foot
        or body.
    """
    weight = check_number("mass", mass, above=0.0, unit="kg") * STANDARD_GRAVITY
    _check_angles(trial)
    vertical = trial.force[:, 1]
    mean = float(vertical.mean()) / weight
    unusual = _judged(
        mean,
        _SHARE_WARNING,
        _SHARE_ERROR,
        "vertical ground force: expected a mean over the stride of about 0.5 body weights",
        f"{mean:.2f} of {weight:.0f} N; check unit and sign of the force, the plate, the stride "
        f"and the mass",
    )
    bears = vertical > 0.2 * weight
    if bears.any():
        unusual += _force_under_foot(trial, leg, np.where(bears, vertical, 0.0))
        torque = float(np.linalg.norm(trial.torque[bears], axis=1).max())
        unusual += _judged(
            torque / mass,
            (0.0, _TORQUE_WARNING),
            (0.0, TORQUE_ERROR),
            f"ground torque: expected less than {_TORQUE_WARNING * mass:.0f} N m about the point "
            "of application",
            f"{torque:.0f} N m; check the unit and the point of application",
        )
    return (*unusual, *_phases(trial, weight))


def _judged(
    value: float,
    usual: tuple[float, float],
    possible: tuple[float, float],
    expected: str,
    found: str,
) -> list[str]:
    """Return a warning for an unusual value; raise an error for an impossible value."""
    if usual[0] <= value <= usual[1]:
        return []
    text = f"{expected}, found {found}"
    if not possible[0] <= value <= possible[1]:
        raise InputError(text)
    return [text]


def _check_angles(trial: GaitTrial) -> None:
    for name, (low, high) in ANGLE_RANGES.items():
        angle = np.degrees(trial.coordinate(name))
        worst = int(np.argmax(np.maximum(low - angle, angle - high)))
        if not low <= angle[worst] <= high:
            raise InputError(
                f"{name}: expected {low:g} to {high:g} deg, found {angle[worst]:.1f} deg at "
                f"{trial.time[worst]:.3f} s; check unit and sign of the column"
            )
    hip, knee = (
        float(np.degrees(np.ptp(trial.coordinate(name))))
        for name in ("hip_flexion", "knee_flexion")
    )
    if max(hip, knee) < _LEAST_MOTION:
        raise InputError(
            f"hip_flexion, knee_flexion: expected a motion of at least {_LEAST_MOTION:g} deg, "
            f"found {hip:.1f} and {knee:.1f} deg; check the stride and that the angles are not "
            "radians read as degrees"
        )


def _force_under_foot(trial: GaitTrial, leg: LegLoads, weights: FloatArray) -> list[str]:
    """Return warnings on the force-weighted mean distances of the force from the foot."""
    x, y, z = trial.centre_of_pressure.T
    back, front = np.sort([leg.heel[:, 0], leg.toe[:, 0]], axis=0)
    beyond = np.maximum(back - x, 0.0) + np.maximum(x - front, 0.0)
    sole = np.minimum(leg.heel[:, 1], leg.toe[:, 1])
    distances = np.abs([beyond, y - sole, z - leg.ankle.centre[:, 2]]) @ weights / weights.sum()
    unusual = []
    for distance, (where, usual, possible, cause) in zip(distances, _DISTANCES, strict=True):
        unusual += _judged(
            float(distance),
            (0.0, usual),
            (0.0, possible),
            f"centre of pressure: expected at most {usual:g} m {where} in the mean",
            f"{distance:.3g} m; check {cause}",
        )
    return unusual


def _phases(trial: GaitTrial, weight: float) -> list[str]:
    """Return warnings on the order of events in the stride."""
    unusual, percent, forward = [], trial.percent, trial.force[:, 0] / weight
    change = np.degrees(np.abs(trial.coordinates[-1, 3:] - trial.coordinates[0, 3:]))
    worst = int(change.argmax())
    if change[worst] > _CLOSED:
        unusual.append(
            f"stride: expected equal first and last angles, found {TRIAL_COORDINATES[3 + worst]} "
            f"{change[worst]:.0f} deg apart; check the stride"
        )
    strikes, offs = (
        100.0 * (events - trial.time[0]) / np.ptp(trial.time)
        for events in foot_events(trial.time, trial.force[:, 1])
    )
    middle = strikes[(strikes > 10.0) & (strikes < 90.0)]
    if len(middle):
        unusual.append(
            f"stride: expected the only heel strike at the start, found a heel strike at "
            f"{middle[0]:.0f} %; check the stride"
        )
    elif not ((offs > 40.0) & (offs < 80.0)).any():
        found = ", ".join(f"{off:.0f} %" for off in offs) or "none"
        unusual.append(
            f"stride: expected a toe-off between 40 and 80 %, found {found}; check the stride"
        )
    early, late = (
        float(forward[(percent >= begin) & (percent < end)].mean())
        for begin, end in ((0.0, 30.0), (30.0, 65.0))
    )
    if early > late:
        unusual.append(
            "fore-aft ground force: expected braking before propulsion, found means of "
            f"{early:+.3f} and then {late:+.3f} body weights; check the sign and the stride"
        )
    return unusual
