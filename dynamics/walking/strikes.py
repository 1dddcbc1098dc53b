"""Heel strikes and toe-offs of a foot from its vertical ground force, or from its motion."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BSpline
from scipy.signal import find_peaks

from dynamics.walking.motion_tables import MotionTable
from dynamics.walking.smoothing import smoothed
from foundation.base.checks import FloatArray, check_array, check_number
from foundation.base.errors import InputError

#: Vertical force above which a foot is on the ground [N].
CONTACT_THRESHOLD = 20.0
#: Shorter contacts and gaps count as noise [s].
SHORTEST = 0.1
#: Shortest stride [s], and least forward and backward swing of the foot about the pelvis [m].
SHORTEST_STRIDE = 0.6
_LEAST_SWING = 0.15
#: Largest difference of posture at the two ends of a stride [rad], and the time that weights the
#: rates of the angles in it [s].
_SAME_POSTURE, _RATE_TIME = np.radians(5.0), 0.05
#: Cut-off frequency of the motion for heel strikes from the motion [Hz], and their resolution [s].
_CUTOFF, _RESOLUTION = 6.0, 1e-3


def foot_events(
    time: ArrayLike, vertical: ArrayLike, *, threshold: float = CONTACT_THRESHOLD
) -> tuple[FloatArray, FloatArray]:
    """Return the instants of heel strike and of toe-off.

    Parameters
    ----------
    time : (N,) array_like
        Increasing instants [s].
    vertical : (N,) array_like
        Vertical ground force on the foot [N].
    threshold : float
        Force at strike and toe-off [N], > 0; the instants are interpolated.

    Returns
    -------
    strikes, offs : (s,), (o,) float64
        Instants [s]. A contact at the start or end of the record has no strike or no toe-off. Gaps
        and contacts shorter than 0.1 s do not count.
    """
    instants = check_array("time", time, (None,))
    force = check_array("vertical force", vertical, (len(instants),))
    force = force - check_number("threshold", threshold, above=0.0, unit="N")
    above = force > 0.0
    changes = np.flatnonzero(above[1:] != above[:-1])
    share = force[changes] / (force[changes] - force[changes + 1])
    crossings = instants[changes] + share * (instants[changes + 1] - instants[changes])
    rising = above[changes + 1]
    # Remove gaps within a contact first, then short contacts: a foot that bounces strikes once.
    for first_rises in (False, True):
        short = (np.diff(crossings) < SHORTEST) & (rising[:-1] == first_rises)
        stays = ~(np.append(short, False) | np.insert(short, 0, False))[: len(crossings)]
        crossings, rising = crossings[stays], rising[stays]
    return crossings[rising], crossings[~rising]


def find_stride(
    time: ArrayLike,
    vertical: ArrayLike,
    *,
    threshold: float = CONTACT_THRESHOLD,
    name: str = "vertical force",
) -> tuple[float, float]:
    """Return start and end [s] of a stride: the first two heel strikes of a foot.

    In a record with one strike and two toe-offs, the toe-offs yield the duration of the stride,
    which starts or, if the record is too short, ends with the strike.

    Parameters
    ----------
    time, vertical, threshold
        As of `foot_events`, (N,) [s] and (N,) [N].
    name : str
        Name of the force in messages.

    Raises
    ------
    InputError
        If the record does not contain a stride.
    """
    strikes, offs = foot_events(time, vertical, threshold=threshold)
    if len(strikes) > 1:
        return float(strikes[0]), float(strikes[1])
    instants = np.asarray(time, dtype=np.float64)
    if len(strikes) == 1 and len(offs) > 1:
        strike, period = float(strikes[0]), float(offs[1] - offs[0])
        for start in (strike, strike - period):
            if start >= instants[0] and start + period <= instants[-1]:
                return start, start + period
    raise InputError(
        f"{name}: expected two heel strikes (or one, and two toe-offs) between "
        f"{instants[0]:g} and {instants[-1]:g} s, found {len(strikes)} strikes and {len(offs)} "
        f"toe-offs at {threshold:g} N in a force of {np.min(vertical):g} to {np.max(vertical):g} "
        f"N; check unit, sign and column, or state the stride"
    )


def kinematic_strikes(motion: MotionTable, foot: ArrayLike, pelvis: ArrayLike) -> FloatArray:
    """Return the heel strikes of a foot from the motion alone.

    The foot strikes the ground about when the foot is farthest ahead of the pelvis (Zeni, Richards
    & Higginson 2008, Gait Posture 27:710-714). A force plate sees the strike some hundredths of a
    second earlier or later, by about the same time at each strike.

    Parameters
    ----------
    motion : MotionTable
        Table of the N instants.
    foot, pelvis : (N,) array_like
        Forward positions [m].

    Returns
    -------
    (s,) float64
        Instants [s], at least `SHORTEST_STRIDE` apart.
    """
    count = len(motion.time)
    ahead = check_array("foot", foot, (count,)) - check_array("pelvis", pelvis, (count,))
    spline = _smooth(motion, ahead[:, None])
    fine = np.arange(motion.time[0], motion.time[-1], _RESOLUTION)
    course = spline(fine)[:, 0]
    if np.ptp(course) < _LEAST_SWING:
        return np.empty(0)
    middle = 0.5 * (course.min() + course.max())
    steps = round(SHORTEST_STRIDE / _RESOLUTION)
    peaks, _ = find_peaks(course, distance=steps, height=middle)
    strikes: FloatArray = fine[peaks]
    return strikes


def same_posture(
    motion: MotionTable, angles: ArrayLike, strike: float, first: float, last: float
) -> float | None:
    """Return the instant [s] at which a leg is as at a heel strike, one stride later or earlier.

    The instant between `first` and `last` with the smallest root mean square of the differences of
    angles and of rates times 50 ms, at least `SHORTEST_STRIDE` from the strike; None if the
    difference is larger than 5 degrees. A later instant comes before an earlier one.

    Parameters
    ----------
    motion : MotionTable
        Table of the N instants.
    angles : (N, k) array_like
        Joint angles [rad].
    strike, first, last : float
        Heel strike, and limits of the search [s].
    """
    spline = _smooth(motion, check_array("angles", angles, (len(motion.time), None)))
    fine = np.arange(first, last + 0.5 * _RESOLUTION, _RESOLUTION)
    fine = np.minimum(fine, last)
    offsets = [spline(fine) - spline(strike), spline(fine, 1) - spline(strike, 1)]
    away = np.sqrt((offsets[0] ** 2 + (_RATE_TIME * offsets[1]) ** 2).mean(axis=1))
    for side in (fine >= strike + SHORTEST_STRIDE, fine <= strike - SHORTEST_STRIDE):
        masked = np.where(side, away, np.inf)
        best = int(masked.argmin())
        if masked[best] <= _SAME_POSTURE:
            return float(fine[best])
    return None


def _smooth(motion: MotionTable, signals: FloatArray) -> BSpline:
    """Return a spline through signals (N, k) [any unit], filtered if the rate allows."""
    rate = (len(motion.time) - 1) / float(motion.time[-1] - motion.time[0])
    return smoothed(motion, signals, "motion_cutoff", _CUTOFF if rate > 2.6 * _CUTOFF else None)
