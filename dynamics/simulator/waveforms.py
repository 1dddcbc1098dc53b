"""Periodic inputs of the knee simulator over one gait cycle."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline

from dynamics.core.problem import ADDUCTION, AP, AXIAL, INPUTS, TORQUE
from dynamics.simulator.knee_simulator import AppliedLoads
from foundation.base.checks import FloatArray, check_array, check_in, check_number, frozen
from foundation.base.errors import InputError
from foundation.base.pose import Pose

#: Signals of a gait cycle and their indices in the inputs of the equations of motion.
SIGNALS = {
    "flexion": 0,
    "rotation": 2,
    "anterior": 3,
    "axial_force": AXIAL,
    "ap_force": AP,
    "internal_torque": TORQUE,
    "adduction_torque": ADDUCTION,
}
# A first and a last row that differ by at most this share of the range count as equal.
_PERIODIC = 0.01
_OVERSHOOT = 0.05
# Share at the end of a stride (late swing) over which the signal is blended to its first value.
_BLENDED = 0.15
# Of each motion the unit, the largest plausible value, and the unit of larger values.
_MOTION_UNITS = {
    "flexion": ("radians", np.pi, "degrees with numpy.radians"),
    "rotation": ("radians", np.pi, "degrees with numpy.radians"),
    "anterior": ("metres", 0.1, "millimetres"),
}


@dataclass(frozen=True, eq=False)
class GaitCycle:
    """Flexion, applied loads and prescribed motions as smooth periodic functions of time.

    AP and rotation are each driven either by a load (ISO 14243-1) or by a prescribed motion (ISO
    14243-3).

    A periodic cubic spline interpolates the rows: value, rate and acceleration are continuous, as
    an integrator of order five requires for long steps. A monotone interpolant would not overshoot,
    but its acceleration jumps at every row. Tables that the spline overshoots by more than 5 % of
    the range of a signal are rejected.

    Parameters
    ----------
    percent : (n,) float64
        Instants of the rows, from 0 to 100, increasing [% of the cycle]; n >= 5.
    flexion : (n,) float64
        Flexion of the knee [rad].
    axial_force : (n,) float64
        Force that presses the femur onto the tibia [N]; >= 0.
    ap_force : (n,) float64, optional
        Force on the tibia, anterior positive [N]; by default none.
    internal_torque : (n,) float64, optional
        Torque on the tibia, internal positive [N m]; by default none.
    period : float
        Duration of the cycle [s].
    anterior : (n,) float64, optional
        Prescribed coordinate `anterior` relative to the neutral pose of the simulator [m], instead
        of an AP force.
    rotation : (n,) float64, optional
        Prescribed coordinate `rotation` relative to the neutral pose [rad], instead of a torque.
    adduction_torque : (n,) float64, optional
        Torque on the tibia about the anterior axis through the tibial origin [N m], positive where
        it loads the medial compartment; by default none. It acts besides the moment of the axial
        force about the origin.

    Raises
    ------
    InputError
        If the rows do not increase from 0 to 100, the first and last value of a signal differ by
        more than 1 % of its range (smaller differences are averaged), the axial force is negative,
        there are too few rows for the spline, or both a motion and its load are stated.
    """

    percent: FloatArray
    flexion: FloatArray
    axial_force: FloatArray
    ap_force: FloatArray | None = None
    internal_torque: FloatArray | None = None
    period: float = 1.0
    anterior: FloatArray | None = None
    rotation: FloatArray | None = None
    adduction_torque: FloatArray | None = None
    _spline: CubicSpline = field(init=False, repr=False)

    def __post_init__(self) -> None:
        percent = _check_percent(self.percent)
        object.__setattr__(self, "percent", frozen(percent))
        period = check_number("period", self.period, above=0.0, unit="s")
        object.__setattr__(self, "period", period)
        for load, motion in (("ap_force", "anterior"), ("internal_torque", "rotation")):
            if getattr(self, load) is not None and getattr(self, motion) is not None:
                raise InputError(f"{motion}: expected either {motion} or {load}, found both")
        for name in self.signals:
            signal = check_array(name, getattr(self, name), (len(percent),))
            object.__setattr__(self, name, frozen(_close(name, signal)))
        if self.axial_force.min() < 0.0:
            row = int(self.axial_force.argmin())
            raise InputError(
                f"axial_force: expected >= 0 N (compression), found {self.axial_force[row]:g} N at "
                f"{percent[row]:g} %"
            )
        for name in self.prescribed:
            unit, most, other = _MOTION_UNITS[name]
            largest = np.abs(getattr(self, name)).max()
            if largest > most:
                raise InputError(f"{name}: expected {unit}, found {largest:g}; convert {other}")
        signals = np.zeros((len(percent), INPUTS))
        for name in self.signals:
            signals[:, SIGNALS[name]] = getattr(self, name)
        spline = CubicSpline(1e-2 * period * percent, signals, bc_type="periodic")
        _check_overshoot(spline, signals)
        object.__setattr__(self, "_spline", spline)

    @property
    def signals(self) -> tuple[str, ...]:
        """Names of the signals of the cycle, of `SIGNALS`."""
        return tuple(name for name in SIGNALS if getattr(self, name) is not None)

    @property
    def prescribed(self) -> tuple[str, ...]:
        """Prescribed coordinates: flexion, and rotation or anterior where the cycle has them."""
        return tuple(name for name in ("flexion", "rotation", "anterior") if name in self.signals)

    def pieces(self, neutral: Pose) -> tuple[FloatArray, FloatArray]:
        """Return the inputs as arguments of the equations of motion.

        Parameters
        ----------
        neutral : Pose
            Pose from which prescribed motions count.

        Returns
        -------
        breaks : (n,) float64
            Knots [s].
        pieces : (4, n - 1, 10) float64
            Cubic pieces of six prescribed coordinates and the applied loads [rad, m, N, N m].
        """
        pieces = np.array(self._spline.c)
        for name in self.prescribed[1:]:
            pieces[3, :, SIGNALS[name]] += getattr(neutral, name)
        return np.array(self._spline.x), pieces

    def scaled(self, *, axial: float = 1.0, ap: float = 1.0, torque: float = 1.0) -> Self:
        """Return the cycle with its loads multiplied by factors [1]."""
        factors = {
            "axial_force": check_number("axial", axial, above=0.0),
            "ap_force": check_number("ap", ap),
            "internal_torque": check_number("torque", torque),
        }
        scaled = {n: f * getattr(self, n) for n, f in factors.items() if n in self.signals}
        return replace(self, **scaled)

    def delayed(self, signal: str, percent: float) -> FloatArray:
        """Return a signal (n,) [rad, m, N, N m] of `signals` at the rows, delayed [%]."""
        instants = np.mod(self.percent - percent, 100.0)
        return self._evaluate(1e-2 * self.period * instants, 0)[:, SIGNALS[signal]]

    def at(self, time: float) -> tuple[float, AppliedLoads]:
        """Return flexion [rad] and applied loads at a time [s] of any cycle."""
        values = self._evaluate(time, 0)
        return float(values[0]), AppliedLoads(*values[AXIAL:].tolist())

    def motion(self, coordinate: str, time: ArrayLike) -> FloatArray:
        """Return a prescribed motion, its rate and its acceleration, stacked along a first axis.

        Parameters
        ----------
        coordinate : str
            One of `prescribed`.
        time : array_like
            Times [s], of any shape.

        Returns
        -------
        (3, ...) float64
            [rad or m], per second, per second squared.
        """
        column = SIGNALS[check_in("coordinate", coordinate, self.prescribed)]
        return np.stack([self._evaluate(time, order)[..., column] for order in range(3)])

    def applied(self, time: ArrayLike) -> FloatArray:
        """Return the loads (..., 4) [N, N m] of `APPLIED_COLUMNS` at times (...) [s]."""
        return self._evaluate(time, 0)[..., AXIAL:]

    def _evaluate(self, time: ArrayLike, order: int) -> FloatArray:
        return np.asarray(self._spline(np.asarray(time, dtype=np.float64), order))


def lead_back(part: FloatArray, signal: FloatArray) -> FloatArray:
    """Return a signal (N,) [any unit] of a measured stride, closed for `GaitCycle`."""
    # At instants (N,), shares of the stride, 0 to 1: a measured stride does not end exactly as it
    # began, so that its last 15 %, late swing, are blended smoothly to the first value.
    ramp = np.clip((part - 1.0 + _BLENDED) / _BLENDED, 0.0, 1.0)
    led: FloatArray = signal + ramp**2 * (3.0 - 2.0 * ramp) * (signal[0] - signal[-1])
    return led


def _check_percent(percent: ArrayLike) -> FloatArray:
    checked = check_array("gait_percent", percent, (None,))
    if len(checked) < 5:
        raise InputError(f"gait_percent: expected at least 5 rows, found {len(checked)}")
    if (np.diff(checked) <= 0.0).any():
        row = int(np.argmax(np.diff(checked) <= 0.0))
        raise InputError(
            f"gait_percent: expected increasing values, found {checked[row + 1]:g} "
            f"after {checked[row]:g}"
        )
    if abs(checked[0]) > 1e-6 or abs(checked[-1] - 100.0) > 1e-6:
        step = float(np.median(np.diff(checked)))
        if abs(checked[0]) <= 1e-6 and 100.0 - checked[-1] < 1.5 * step:
            remedy = "repeat the first row at 100"
        else:
            remedy = "give the rows of a whole cycle, in percent of its duration"
        raise InputError(
            f"gait_percent: expected to cover 0 to 100, found {checked[0]:g} to {checked[-1]:g}; "
            f"{remedy}"
        )
    checked[0], checked[-1] = 0.0, 100.0
    return checked


def _close(name: str, signal: FloatArray) -> FloatArray:
    """Average first and last value of a signal, which must almost agree."""
    span = np.ptp(signal)
    if abs(signal[-1] - signal[0]) > _PERIODIC * span:
        raise InputError(
            f"{name}: expected equal first and last values, found {signal[0]:g} at 0 % and "
            f"{signal[-1]:g} at 100 % (range {span:g})"
        )
    signal[0] = signal[-1] = 0.5 * (signal[0] + signal[-1])
    return signal


def _check_overshoot(spline: CubicSpline, signals: FloatArray) -> None:
    """Reject a table that the spline overshoots, or in which the axial force becomes negative."""
    knots = spline.x
    fine = (knots[:-1, None] + np.diff(knots)[:, None] * np.linspace(0.0, 0.95, 20)).ravel()
    values = spline(fine)
    span = np.ptp(signals, axis=0)
    beyond = np.maximum(values - signals.max(axis=0), signals.min(axis=0) - values)
    # The axial force must not be negative beyond what is negligible over a cycle.
    pull = -values[:, AXIAL].min() - 0.005 * signals[:, AXIAL].max()
    for name, k in SIGNALS.items():
        row = int(beyond[:, k].argmax())
        if beyond[row, k] > _OVERSHOOT * span[k] + 1e-12 or (k == AXIAL and pull > 0.0):
            raise InputError(
                f"{name}: expected rows smooth enough for a cubic spline, found the spline "
                f"{beyond[row, k]:.3g} outside the table (range {span[k]:g}) at "
                f"{100.0 * fine[row] / knots[-1]:.1f} %; correct a spike, or add rows where the "
                "signal changes fast"
            )
