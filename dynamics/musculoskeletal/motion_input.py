"""Motion of a model's coordinates from a file, resampled, filtered and differentiated.

As OpenSim-JAM's COMAKTool prepares the motion: linear resampling, padding by half its length and
a low-pass filter by OpenSim; cubic splines for primary coordinates, quintic ones for prescribed
coordinates, as OpenSim's SimmSpline and GCVSpline of degree 5 interpolate.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline

from dynamics.musculoskeletal.comak_settings import ComakSettings
from dynamics.musculoskeletal.opensim_system import OpenSimSystem
from dynamics.musculoskeletal.plant import CoordinateMotion
from dynamics.musculoskeletal.wheel import opensim
from dynamics.walking.filter_edges import edge_notes
from dynamics.walking.motion_tables import MotionTable, read_motion_table, write_motion_table
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

#: Slack of instants relative to the time step, and of frequencies.
_SLACK = 1e-6
#: Largest angle of a motion [rad].
_LARGEST_ANGLE = 4.0 * np.pi
#: Angles in radians: all at most half a turn, and one moves by more than 10 degrees, or, where
#: fewer than three move, by more than 70 degrees [rad].
_HALF_TURN, _MOVING, _MOVING_ALONE, _FEW = np.pi, 0.18, 1.2, 3
#: Angles in degrees: half of those that move are beyond this, as radians more than half a turn.
_BEYOND_HALF_TURN = 3.5
#: Largest translation of a motion, and of the bones of a joint with secondary coordinates [m].
_FAR, _FAR_IN_JOINT = 100.0, 1.0
#: Least number of rows of a quintic spline.
_ROWS = 6


def read_motion(
    path: str | Path | MotionTable, system: OpenSimSystem, settings: ComakSettings
) -> CoordinateMotion:
    """Read, filter and differentiate a motion.

    Parameters
    ----------
    path : str, Path or MotionTable
        OpenSim's `.mot` or `.sto` with a column per coordinate: its name, or its path in the model
        with or without `/value`; or its table as it is read.
    system : OpenSimSystem
        The model.
    settings : ComakSettings
        Time step, filter, first and last instant, and the kind of each coordinate.

    Returns
    -------
    CoordinateMotion
        Motion of all coordinates between the first and the last instant. A coordinate that the
        file does not have is zero.

    Raises
    ------
    InputError
        If the file cannot be read, lacks a primary coordinate, has angles that can only be degrees
        but are stated as radians, has translations in millimetres, or does not cover the time.
    """
    table = path if isinstance(path, MotionTable) else read_motion_table(path)
    path = table.source
    columns = coordinate_columns(table.names, system.coordinates)
    _check_unit(table, system, columns)
    check_lengths(table, system, tuple(s.name for s in settings.secondary))
    missing = [name for name in settings.primary if name not in columns]
    if missing:
        raise InputError(
            f"{path}: expected columns of all primary coordinates, found none of "
            f"{', '.join(missing)}"
        )
    if len(table.time) < _ROWS:
        raise InputError(f"{path}: expected at least {_ROWS} rows, found {len(table.time)}")
    time, filtered = _filtered(_in_si(table, system, columns), settings)
    chosen = _chosen(time, settings, str(path))
    values = np.zeros((len(time), len(system.coordinates)))
    for k, name in enumerate(system.coordinates):
        if name in columns:
            values[:, k] = filtered[:, columns[name]]
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


def coordinate_columns(labels: tuple[str, ...], coordinates: tuple[str, ...]) -> dict[str, int]:
    """Return the column of each coordinate that the table has."""
    columns = {}
    for k, label in enumerate(labels):
        parts = label.split("/")
        name = parts[-2] if parts[-1] == "value" and len(parts) > 1 else parts[-1]
        if name in coordinates:
            columns[name] = k
    return columns


def angle_unit_notes(
    table: MotionTable, system: OpenSimSystem, *, unstated: bool = False
) -> tuple[str, ...]:
    """Return a note if angles of a table that count as degrees look like radians.

    All of them are within half a turn as radians, and one moves by more than 10 degrees as
    radians; where fewer than three move, as in a test of a joint, by more than 70. A motion that
    is as small in degrees is rare, but possible; single columns in radians, which OpenSim-JAM's
    tables have, are not found.

    Parameters
    ----------
    table : MotionTable
        Motion of coordinates, in the unit of the file.
    system : OpenSimSystem
        The model.
    unstated : bool
        Whether angles count as degrees where the header states no unit, but for columns that end
        in `/value`.

    Returns
    -------
    tuple of str
        No or one sentence.
    """
    angles = _angles(table, system, paths=table.in_degrees is not None)
    degrees = unstated if table.in_degrees is None else table.in_degrees
    if not degrees or not angles.size:
        return ()
    largest, ranges = float(np.abs(angles).max()), np.ptp(angles, axis=0)
    least = _MOVING if (ranges > 0.0).sum() >= _FEW else _MOVING_ALONE
    if largest > _HALF_TURN or ranges.max() < least:
        return ()
    stated = "although the header states inDegrees=yes"
    if table.in_degrees is None:
        stated = "and count as degrees, since the header states no unit"
    return (
        f"{table.source}: the angles look like radians, {stated}: "
        f"none is beyond {largest:.3g} degrees; state inDegrees=no if they are in radians",
    )


def filter_edge_notes(
    table: MotionTable, time: FloatArray, settings: ComakSettings
) -> tuple[str, ...]:
    """Return a note for each end of the motion whose distance to the frames is too small.

    As of `dynamics.walking.filter_edges.edge_notes`, for a motion as read and instants (N,) of the
    frames [s].
    """
    return edge_notes(
        table.source, table.time, time, settings.lowpass, ("comak.start_s", "comak.stop_s")
    )


def _angles(table: MotionTable, system: OpenSimSystem, *, paths: bool) -> FloatArray:
    """Return the angles (N, k) of a table in the unit of the file, without or with `…/value`."""
    chosen = [
        k
        for name, k in coordinate_columns(table.names, system.coordinates).items()
        if _turns(system, name) and (paths or not table.names[k].endswith("/value"))
    ]
    return table.values[:, chosen]


def check_lengths(table: MotionTable, system: OpenSimSystem, secondary: tuple[str, ...]) -> None:
    """Check that translations can be in metres.

    Parameters
    ----------
    table : MotionTable
        Motion of coordinates, in the unit of the file.
    system : OpenSimSystem
        The model.
    secondary : tuple of str
        Coordinates of joints whose surfaces touch.

    Raises
    ------
    InputError
        If a translation is beyond 100 m, or one of the secondary coordinates beyond 1 m.
    """
    for name, k in coordinate_columns(table.names, system.coordinates).items():
        largest = float(np.abs(table.values[:, k]).max())
        limit = _FAR_IN_JOINT if name in secondary else _FAR
        if not _turns(system, name) and largest > limit:
            raise InputError(
                f"{table.source}, column {name}: expected metres, at most {limit:g}, found "
                f"{largest:.4g}; the motion's translations look like millimetres: divide them by "
                "1000"
            )


def _turns(system: OpenSimSystem, name: str) -> bool:
    """Return whether a coordinate is an angle."""
    return system.rotational[system.coordinates.index(name)]


def _check_unit(table: MotionTable, system: OpenSimSystem, columns: dict[str, int]) -> None:
    """Raise an `InputError` if angles that are not stated as degrees turn too far for radians."""
    if table.in_degrees:
        return
    reason = "as the header has no inDegrees=yes"
    for name, k in columns.items():
        if _turns(system, name):
            check_radians(table, k, name, reason)
    check_half_turns(table, system, columns, reason)


def check_half_turns(
    table: MotionTable, system: OpenSimSystem, columns: dict[str, int], reason: str
) -> None:
    """Raise an `InputError` if most angles that move turn too far for joints in radians.

    `columns` are those that count as radians, `reason` says why.
    """
    moving = {
        name: float(np.abs(table.values[:, k]).max())
        for name, k in columns.items()
        if _turns(system, name) and np.ptp(table.values[:, k]) > 0.0
    }
    far = [name for name, largest in moving.items() if largest > _BEYOND_HALF_TURN]
    if far and 2 * len(far) >= len(moving):
        raise InputError(
            f"{table.source}: expected radians, {reason}, found {len(far)} of {len(moving)} angles "
            f"beyond half a turn, such as {far[0]} up to {moving[far[0]]:.3g}; state inDegrees=yes "
            "in the header if the angles are in degrees"
        )


def check_radians(table: MotionTable, k: int, name: str, reason: str) -> None:
    """Raise an `InputError` if column k of a table turns too far for radians.

    The error names the column by `name`; `reason` says why its angles count as radians.
    """
    largest = float(np.abs(table.values[:, k]).max())
    if largest > _LARGEST_ANGLE:
        raise InputError(
            f"{table.source}, column {name}: expected radians, {reason}, found {largest:.3g}; "
            "state inDegrees=yes in the header if the angles are in degrees"
        )


def _in_si(table: MotionTable, system: OpenSimSystem, columns: dict[str, int]) -> MotionTable:
    """Return the table with angles in radians."""
    values = table.values.copy()
    if table.in_degrees:
        for name, k in columns.items():
            if _turns(system, name):
                values[:, k] = np.radians(values[:, k])
    return MotionTable(table.names, table.time, values, False, table.source)


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
    """Raise an `InputError` for a filter above half the sampling rate, with which motions blow up.

    OpenSim refuses no frequency.
    """
    step = settings.step or float(np.diff(table.time).min())
    highest = 0.5 / step
    if settings.lowpass is not None and settings.lowpass >= (1.0 - _SLACK) * highest:
        raise InputError(
            f"lowpass: expected a frequency below {highest:g} Hz, half the sampling rate of "
            f"steps of {step:g} s, found {settings.lowpass:g} Hz; set comak.lowpass_Hz or "
            "comak.step_s"
        )


def _numbers(array: Any, count: int) -> list[float]:
    return [array.get(k) for k in range(count)]


def _chosen(time: FloatArray, settings: ComakSettings, source: str) -> NDArray[np.bool_]:
    """Return which instants are between the first and the last one."""
    if len(time) < _ROWS:
        raise InputError(
            f"{source}: expected at least {_ROWS} instants, found {len(time)}; choose a smaller "
            "comak.step_s or a longer motion"
        )
    slack = _SLACK * (time[1] - time[0])
    start = time[0] if settings.start is None else settings.start
    stop = time[-1] if settings.stop is None else settings.stop
    if start < time[0] - slack or stop > time[-1] + slack:
        raise InputError(
            f"{source}: expected a motion from {start:g} to {stop:g} s, found {time[0]:g} to "
            f"{time[-1]:g} s"
        )
    chosen: NDArray[np.bool_] = (time >= start - slack) & (time <= stop + slack)
    if chosen.sum() < 2:
        raise InputError(
            f"{source}: expected at least two instants from comak.start_s to comak.stop_s, found "
            f"{start:g} to {stop:g} s with steps of {time[1] - time[0]:g} s"
        )
    return chosen
