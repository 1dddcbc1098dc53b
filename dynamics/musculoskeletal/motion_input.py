"""Motion of a model's coordinates from a file, resampled, filtered and differentiated.

As OpenSim-JAM's COMAKTool prepares the motion: linear resampling, padding by half its length and
a low-pass filter by OpenSim; cubic splines for primary coordinates, quintic ones for prescribed
coordinates, as OpenSim's SimmSpline and GCVSpline of degree 5 interpolate.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline

from dynamics.motion.motion_tables import (
    STATE_VALUE,
    MotionTable,
    read_motion_table,
    write_motion_table,
)
from dynamics.musculoskeletal.comak_settings import ComakSettings
from dynamics.musculoskeletal.opensim_system import OpenSimSystem, opensim
from dynamics.musculoskeletal.plant import CoordinateMotion
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

#: Angles beyond two turns [rad] are in degrees. Three or more that move by no more than half a
#: turn [rad], but one by 10 degrees, and none beyond a turn, are in radians.
_TWO_TURNS, _TURN, _MOVES = 4.0 * np.pi, 7.0, (0.18, np.pi)


class CoordinateTable:
    """Columns of a table that are coordinates of a model, by name or path, also with /value."""

    def __init__(
        self, table: MotionTable, system: OpenSimSystem, *, unstated_degrees: bool = False
    ) -> None:
        self.table = table
        #: Column of each coordinate that the table has, by the name of the coordinate.
        self.columns: dict[str, int] = {}
        for k, label in enumerate(table.names):
            name = label.removesuffix(STATE_VALUE).rsplit("/", 1)[-1]
            if name in system.coordinates:
                self.columns[name] = k
        turns = dict(zip(system.coordinates, system.rotational, strict=True))
        self._angles = [name for name in self.columns if turns[name]]
        states = [n for n in self._angles if table.names[self.columns[n]].endswith(STATE_VALUE)]
        radians = not table.in_degrees
        if table.in_degrees is None and unstated_degrees:
            self._radians = states
        else:
            self._radians = self._angles if radians else []

    def _column(self, name: str) -> FloatArray:
        return self.table.values[:, self.columns[name]]

    def in_si(self, name: str) -> FloatArray:
        """Return the values (N,) of a coordinate [rad, m]."""
        degrees = name in self._angles and name not in self._radians
        return np.radians(self._column(name)) if degrees else self._column(name)

    def check_angles(self) -> None:
        """Refuse angles whose values are those of the other unit."""
        for stated, other, header in (("radians", "degrees", "yes"), ("degrees", "radians", "no")):
            in_radians = stated == "radians"
            names = [name for name in self._angles if (name in self._radians) == in_radians]
            columns = self.table.values[:, [self.columns[name] for name in names]]
            largest = float(np.abs(columns).max(initial=0.0))
            moves = np.ptp(columns, axis=0)
            small = _MOVES[0] <= moves.max(initial=0.0) <= _MOVES[1] and largest <= _TURN
            if largest > _TWO_TURNS if in_radians else small and np.count_nonzero(moves) > 2:
                raise InputError(
                    f"{self.table.source}: expected angles in {stated}, found angles up to "
                    f"{largest:.3g}, as of {other}; state inDegrees={header} in the header if they "
                    f"are in {other}"
                )


#: Slack of instants relative to the time step, and of frequencies.
_SLACK = 1e-6
#: Fewest steps in a period of the filter. The acceleration of a cubic spline through four points of
#: a sine in each period is 22 % too large, 5 % through eight; in OpenSim-JAM's walk, accelerations
#: with four are 11 % off in the root mean square, with two 30 times (docs/muscle_walks.md).
_STEPS = 4.0
#: Least number of rows of a quintic spline.
_ROWS = 6


def read_motion(
    path: str | Path | MotionTable, system: OpenSimSystem, settings: ComakSettings
) -> CoordinateMotion:
    """Read, filter and differentiate a motion; what it lacks is held by the model, or zero."""
    table = path if isinstance(path, MotionTable) else read_motion_table(path)
    path = table.source
    found = CoordinateTable(table, system)
    found.check_angles()
    values = table.values.copy()
    for name, k in found.columns.items():
        values[:, k] = found.in_si(name)
    missing = [name for name in settings.primary if name not in found.columns]
    if missing:
        raise InputError(
            f"{path}: expected columns of all primary coordinates, found none of "
            f"{', '.join(missing)}"
        )
    if len(table.time) < _ROWS:
        raise InputError(f"{path}: expected at least {_ROWS} rows, found {len(table.time)}")
    time, filtered = _filtered(replace(table, values=values, in_degrees=False), settings)
    chosen = _chosen(time, settings, table)
    values = np.zeros((len(time), len(system.coordinates)))
    by_name = dict(zip(system.coordinates, values.T, strict=True))
    for name, column in found.columns.items():
        by_name[name][:] = filtered[:, column]
    # Without secondary coordinates, constraints hold, whatever the file has.
    constrained = not settings.secondary
    if system.locked or constrained or len(found.columns) < len(by_name):
        for name, course in system.held.items():
            if name in system.locked or constrained or name not in found.columns:
                by_name[name][:] = course(time, by_name)
    speeds, accelerations = np.zeros_like(values), np.zeros_like(values)
    solved = {*settings.primary, *(s.name for s in settings.secondary)}
    for k, name in enumerate(system.coordinates):
        degree = 3 if name in solved else 5
        spline = make_interp_spline(time, values[:, k], k=degree)
        speeds[:, k], accelerations[:, k] = spline(time, 1), spline(time, 2)
    return CoordinateMotion(
        system.coordinates,
        system.rotational,
        time[chosen],
        values[chosen],
        speeds[chosen],
        accelerations[chosen],
    )


def _filtered(table: MotionTable, settings: ComakSettings) -> tuple[FloatArray, FloatArray]:
    """Return instants and columns, resampled and filtered by OpenSim."""
    if settings.step is None and settings.lowpass is None:
        return table.time.copy(), table.values.copy()
    _check_lowpass(table, settings)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "motion.sto"
        write_motion_table(path, table)
        storage = opensim().Storage(str(path))
    if settings.step is not None:
        storage.resampleLinear(settings.step)
    if settings.lowpass is not None:
        storage.pad(storage.getSize() // 2)
        storage.lowpassIIR(settings.lowpass)
    rows = [storage.getStateVector(k) for k in range(storage.getSize())]
    time = np.array([row.getTime() for row in rows])
    return time, np.array([_numbers(row.getData(), len(table.names)) for row in rows])


def _check_lowpass(table: MotionTable, settings: ComakSettings) -> None:
    """Refuse steps that do not resolve the filtered motion: OpenSim's filter would blow it up."""
    if settings.lowpass is None:
        return
    longest = 1.0 / (_STEPS * settings.lowpass)
    start = -np.inf if settings.start is None else settings.start
    stop = np.inf if settings.stop is None else settings.stop
    near = (table.time[1:] > start) & (table.time[:-1] < stop)
    rows = float(np.diff(table.time)[near].max(initial=0.0))
    for key, step in (("comak.step_s", settings.step or 0.0), (f"{table.source}, rows", rows)):
        if step > (1.0 + _SLACK) * longest:
            less = f"comak.lowpass_Hz to at most {1.0 / (_STEPS * step):.3g}"
            other = "give a motion with more rows"
            if step != rows:
                other = f"comak.step_s to at most {longest:.3g}"
            raise InputError(
                f"{key}: expected steps of at most {longest:.3g} s, a quarter of a period of the "
                f"filter of {settings.lowpass:g} Hz, to resolve the filtered motion, found "
                f"{step:.4g} s; set {less}, or {other}"
            )


def _numbers(array: Any, count: int) -> list[float]:
    return [array.get(k) for k in range(count)]


def _chosen(time: FloatArray, settings: ComakSettings, table: MotionTable) -> NDArray[np.bool_]:
    """Return which instants are between the first and last; the filter's padding does not count."""
    source, first, last = table.source, float(table.time[0]), float(table.time[-1])
    if len(time) < _ROWS:
        raise InputError(
            f"{source}: expected at least {_ROWS} instants, found {len(time)}; choose a smaller "
            "comak.step_s or a longer motion"
        )
    slack = _SLACK * (time[1] - time[0])
    start = first if settings.start is None else settings.start
    stop = last if settings.stop is None else settings.stop
    row = float(np.diff(table.time).max())
    if start < first - row or stop > last + row:
        raise InputError(
            f"{source}: expected a motion from {start:g} to {stop:g} s, found {first:g} to "
            f"{last:g} s"
        )
    chosen: NDArray[np.bool_] = (time >= start - slack) & (time <= stop + slack)
    if chosen.sum() < 2:
        raise InputError(
            f"{source}: expected at least two instants from comak.start_s to comak.stop_s, found "
            f"{start:g} to {stop:g} s with steps of {time[1] - time[0]:g} s"
        )
    return chosen
