"""Measured forces and a walk on one clock."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from pipeline.studies.implant_forces.forces import ImplantForces
from pipeline.studies.implant_forces.sheets import at_times

#: Least share of the walk, or of a shorter table, that both have.
_COMMON = 0.8
#: Correlation of a course that another shift must reach, and at which a clock is not doubted [1].
_CLEAR, _GOOD = 0.9, 0.8
#: Shift that muscles or a filter may explain [s].
_DELAY = 0.1
#: Difference of correlations of strides that are alike [1].
_ALIKE = 0.005
#: Step of the shifts that are tried [s].
_STEP = 0.005


@dataclass(frozen=True, eq=False)
class WalkCourse:
    """Course of a walk that measured forces are compared with.

    Parameters
    ----------
    time : (M,) float64
        Instants [s].
    force : (M,) float64
        Total axial force [N].
    flexion : (M,) float64, optional
        Knee flexion [any unit].
    """

    time: FloatArray
    force: FloatArray
    flexion: FloatArray | None = None


@dataclass(frozen=True)
class Alignment:
    """How the times of a table become those of a walk: scale x + shift.

    Parameters
    ----------
    shift, scale : float
        Time that is added [s], and seconds per unit of the table.
    how : str
        How the shift was found.
    warnings : tuple of str
        What is doubtful.
    """

    shift: float
    scale: float
    how: str
    warnings: tuple[str, ...] = ()

    def times(self, measured: ImplantForces) -> FloatArray:
        """Return the instants (N,) of measured forces on the clock of the walk [s]."""
        return self.scale * measured.time + self.shift


def aligned(measured: ImplantForces, walk: WalkCourse, stated: float | None = None) -> Alignment:
    """Return the clock of measured forces.

    In this order: the stated shift; the knee angle of the table against the flexion of the walk;
    the same clock, if the table covers the walk; the course of the force. The last one uses the
    prediction itself, and hence hides an error of its timing: a warning says so.

    Raises
    ------
    InputError
        If the times have too little in common, and no shift brings the courses together.
    """
    span = walk.time[-1] - walk.time[0]
    if measured.percent:
        return Alignment(
            float(walk.time[0]) + (stated or 0.0),
            float(span) / 100.0,
            "0 to 100 % of the table are the whole walk",
        )
    if stated is not None:
        return Alignment(stated, 1.0, "as stated (implant_forces.shift_s)")
    if (by_angle := _by_angle(measured, walk)) is not None:
        return by_angle
    total = measured.parts["total"]
    shift, found = _best_shift(measured.time, total, walk.time, walk.force)
    here = _unshifted(measured, total, walk.time, walk.force)
    same_clock = Alignment(0.0, 1.0, "the table and the walk have one clock")
    if here is None and _covers(measured.time, walk.time) and np.isfinite(total).sum() >= 3:
        return same_clock  # With gaps in the values.
    if here is not None:
        if here >= _GOOD or abs(shift) <= _DELAY or found < _CLEAR:
            return same_clock
        reason = f"with one clock the courses would not correlate (R {here:.2f})"
    elif found >= _CLEAR:
        reason = (
            f"the table, {measured.time[0]:g} to {measured.time[-1]:g} s, does not cover the walk, "
            f"{walk.time[0]:g} to {walk.time[-1]:g} s"
        )
    else:
        best = f"R {found:.2f} at most" if found > -1.0 else "none has 80 % of the walk in common"
        raise InputError(
            f"{measured.source}: expected times of the walk, {walk.time[0]:g} to "
            f"{walk.time[-1]:g} s, found {measured.time[0]:g} to {measured.time[-1]:g} s, and no "
            f"shift that brings the forces together ({best}); set implant_forces.shift_s, state "
            "the unit of the times in the name of their column, or take another interval of the "
            "walk"
        )
    return Alignment(
        shift,
        1.0,
        f"where measured and predicted force correlate best (R {found:.2f})",
        (
            f"{measured.source}: {reason}; the times are shifted by {shift:.3f} s, where measured "
            "and predicted force correlate best. The errors below therefore contain no error of "
            "timing: set implant_forces.shift_s if the shift of the clocks is known",
        ),
    )


def _by_angle(measured: ImplantForces, walk: WalkCourse) -> Alignment | None:
    """Return the clock by a knee angle; None if the angle is missing or is none of this walk."""
    if measured.knee_angle is None or walk.flexion is None:
        return None
    angle = measured.knee_angle
    shifts = [
        (*_best_shift(measured.time, sign * angle, walk.time, walk.flexion), sign)
        for sign in (1.0, -1.0)
    ]
    shift, found, sign = max(shifts, key=lambda item: item[1])
    if found < _CLEAR:
        return None
    here = _unshifted(measured, sign * angle, walk.time, walk.flexion)
    if here is not None and (here >= found - 0.02 or abs(shift) <= _STEP):
        return Alignment(
            0.0, 1.0, f"one clock, as the knee angle of the table confirms (R {here:.2f})"
        )
    return Alignment(
        shift, 1.0, f"by the knee angle of the table and the flexion of the walk (R {found:.2f})"
    )


def _unshifted(
    measured: ImplantForces, values: FloatArray, at: FloatArray, wanted: FloatArray
) -> float | None:
    """Return the correlation with one clock; None if the table does not cover the walk."""
    found = at_times(at, measured.time, values)
    return _correlation(found, wanted, np.ptp(at), np.ptp(measured.time))


def _covers(time: FloatArray, at: FloatArray) -> bool:
    """Return whether a table of instants (N,) has most of a walk of instants (M,) [s]."""
    common = min(time[-1], at[-1]) - max(time[0], at[0])
    return bool(common >= _COMMON * np.ptp(at))


def _best_shift(
    time: FloatArray, values: FloatArray, at: FloatArray, wanted: FloatArray
) -> tuple[float, float]:
    """Return the shift [s] with the largest correlation, and the correlation (-1 if none).

    Strides resemble each other: of maxima that are nearly as large, the one of the smallest shift.
    """
    common = _COMMON * min(np.ptp(at), np.ptp(time))
    even = np.arange(time[0], time[-1], _STEP)
    course = at_times(even, time, values)
    shifts = np.arange(at[0] - time[-1] + common, at[-1] - time[0] - common + _STEP, _STEP)
    found = np.full(len(shifts) + 2, -1.0)  # Lower ends, so that each maximum is between others.
    for k, shift in enumerate(shifts, 1):
        shifted = np.interp(at - shift, even, course, left=np.nan, right=np.nan)
        correlation = _correlation(shifted, wanted, np.ptp(at), np.ptp(time))
        found[k] = -1.0 if correlation is None else correlation
    inner = found[1:-1]
    if inner.max(initial=-1.0) <= -1.0:
        return 0.0, -1.0
    peaks = (inner >= found[:-2]) & (inner >= found[2:]) & (inner >= inner.max() - _ALIKE)
    best = min(np.flatnonzero(peaks), key=lambda k: abs(shifts[k]))
    before, top, after = found[best : best + 3]
    bend = before - 2.0 * top + after
    # The top of the parabola through three neighbours, unless one of them is an end.
    between = 0.5 * (before - after) / bend if bend < 0.0 and min(before, after) > -1.0 else 0.0
    return float(shifts[best] + _STEP * between), float(top)


def _correlation(found: FloatArray, wanted: FloatArray, span: float, length: float) -> float | None:
    """Return the correlation of values (M,) with wanted ones; None if they share too little.

    NaN where a value is unknown; `span` is the duration of the walk, `length` that of the table
    [s].
    """
    known = np.isfinite(found)
    share = known.mean() * max(1.0, span / max(length, 1e-9))
    if known.sum() < 3 or share < _COMMON:
        return None
    one, other = found[known] - found[known].mean(), wanted[known] - wanted[known].mean()
    norm = np.linalg.norm(one) * np.linalg.norm(other)
    return float(one @ other / norm) if norm > 0.0 else None
