"""Forces of the ground on a person from the force plates of a C3D file.

Types 1 to 4 of the format (https://www.c3d.org): force with centre of pressure, force with moment
about the origin of the sensors, eight forces of four sensors, and six signals with a calibration
matrix. Axes of a plate follow from its corners, z down; ORIGIN leads from the origin of the sensors
to the middle of the surface.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.constants import g, lbf

from dynamics.walking.c3d_files import LENGTHS, C3dFile, is_c3d, read_c3d
from dynamics.walking.motion_tables import MotionTable, read_motion_table
from dynamics.walking.strikes import CONTACT_THRESHOLD
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

_GROUP = "FORCE_PLATFORM"
#: Signals of a plate by its type.
_SIGNALS = {1: 6, 2: 6, 3: 8, 4: 6}
#: Newtons per unit of force, and newton metres per unit of moment.
_FORCES = (
    {"n": 1.0, "kn": 1e3} | dict.fromkeys(("lb", "lbf"), lbf) | dict.fromkeys(("kg", "kgf"), g)
)
_MOMENTS = {f + length: n * m for f, n in _FORCES.items() for length, m in LENGTHS.items()}
#: Force across a plate of someone who steps on it [N].
_STEP = 100.0
#: Farthest median distance of a centre of pressure from the edge of its plate [m].
_OUTSIDE = 0.5


def read_ground(path: str | Path, *, columns: Collection[str] | None = None) -> MotionTable:
    """Read forces of the ground: a C3D file as `read_plates`, others as `read_motion_table`."""
    if not is_c3d(path):
        return read_motion_table(path, columns=columns)
    table = read_plates(path)
    kept = [k for k, name in enumerate(table.names) if columns is None or name in columns]
    names = tuple(table.names[k] for k in kept)
    return replace(table, names=names, values=table.values[:, kept])


def read_plates(path: str | Path) -> MotionTable:
    """Read the force plates of a C3D file.

    Returns
    -------
    MotionTable
        Of plate k, `ground_force_k_vx` to `vz` [N], the force on the person, its point
        `ground_force_k_px` to `pz` [m] on the surface, and the free torque `ground_torque_k_x` to
        `z` [N m], in the axes of OpenSim. Below 20 N across the plate, the point is between those
        of the neighbouring contacts, and the torque complements the moment.

    Raises
    ------
    InputError
        If the file cannot be read, has no force plate, or a plate is not described as the format
        states.
    """
    file = read_c3d(path)
    if not len(file.corners):
        raise InputError(
            f"{path}: expected force plates, found none ({_GROUP}:USED is 0); take the file in "
            "which the plates were recorded, or a table of forces (.mot, .sto)"
        )
    names, values = [], []
    for k in range(len(file.corners)):
        heads = f"ground_force_{k + 1}_v", f"ground_force_{k + 1}_p", f"ground_torque_{k + 1}_"
        for head, columns in zip(heads, _plate(file, k), strict=True):
            names += [head + axis for axis in "xyz"]
            values.append(columns @ file.axes.T)
    time = file.time(len(file.analogs))
    return MotionTable(tuple(names), time, np.hstack(values), False, str(path))


def _plate(file: C3dFile, k: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return force, point and free torque (N, 3) of a plate, axes of the file [N, m, N m]."""
    axes, corners = file.plate_axes[k], LENGTHS[file.unit] * file.corners[k]
    middle = corners.mean(axis=0)
    force, moment = np.hsplit(_zeroed(file, np.hstack(_wrench(file, k))), 2)
    upward = force @ axes.T @ file.axes[1]
    # Nobody pulls a plate up: such signals are the force on the plate.
    sign = -1.0 if -upward.min() > max(upward.max(), _STEP) else 1.0
    force, moment = sign * force, sign * moment
    bears = np.flatnonzero(np.abs(force[:, 2]) > CONTACT_THRESHOLD)
    point, rows = np.zeros_like(force), np.arange(len(force))
    if len(bears):
        places = np.stack([-moment[bears, 1], moment[bears, 0]]) / force[bears, 2]
        point[:, :2] = np.stack([np.interp(rows, bears, place) for place in places], axis=1)
    steps = np.abs(force[:, 2]) > _STEP
    half = np.abs((corners - middle) @ axes).mean(axis=0)
    outside = np.median(np.abs(point[steps]) - half, axis=0).max() if steps.any() else 0.0
    if outside > _OUTSIDE:
        raise InputError(
            f"{file.path}, force plate {k + 1}: expected centres of pressure on the plate, found "
            f"a median of {outside:.2g} m outside; check the units of its channels (ANALOG:UNITS), "
            f"and CHANNEL, ORIGIN, CAL_MATRIX and CORNERS of {_GROUP}"
        )
    torque = moment - np.cross(point, force)
    return force @ axes.T, middle + point @ axes.T, torque @ axes.T


def _zeroed(file: C3dFile, wrench: FloatArray) -> FloatArray:
    """Return a wrench (N, 6) without its mean in the frames ZERO, unless the plate bears there."""
    frames = file.integers(_GROUP, "ZERO").ravel() - file.first
    each = len(wrench) // max(len(file.points), 1)
    if len(frames) < 2 or not 1 <= frames[0] <= frames[1] <= len(file.points):
        return wrench
    moved = wrench - wrench[each * (frames[0] - 1) : each * frames[1]].mean(axis=0)
    base = np.abs(wrench - moved)[0, 2]
    return moved if np.abs(moved[:, 2]).max() > 2.0 * base else wrench


def _wrench(file: C3dFile, k: int) -> tuple[FloatArray, FloatArray]:
    """Return force, and moment about the middle of the surface (N, 3), of the plate [N, N m]."""
    types = file.integers(_GROUP, "TYPE").ravel()
    kind = int(types[k]) if k < len(types) else 0
    if kind not in _SIGNALS:
        known = "type 1, 2, 3 or 4; export the forces as .mot or .sto in place of type"
        raise InputError(f"{file.path}, {_GROUP}:TYPE of plate {k + 1}: expected {known} {kind}")
    signals, units = _signals(file, k, _SIGNALS[kind])
    # Motion Analysis stores signals of type 4 calibrated, without a matrix.
    if kind == 4 and file.numbers(_GROUP, "CAL_MATRIX").size:
        signals = signals @ _part(file, "CAL_MATRIX", (6, 6), k).T
    length = LENGTHS[file.unit]
    newtons = _FORCES.get((*_plain(file.texts(_GROUP, "UNITS")), "")[0], 1.0)
    forces, moments, lengths = (
        np.array([known.get(unit, usual) for unit in units])
        for known, usual in ((_FORCES, newtons), (_MOMENTS, newtons * length), (LENGTHS, length))
    )
    origin = length * _part(file, "ORIGIN", (3,), k)
    if kind == 3:
        (a, b, depth), (x12, x34, y14, y23, z1, z2, z3, z4) = np.abs(origin), (signals * forces).T
        force = np.stack([x12 + x34, y14 + y23, z1 + z2 + z3 + z4], axis=1)
        about = b * (z1 + z2 - z3 - z4), a * (z2 + z3 - z1 - z4), b * (x34 - x12) + a * (y14 - y23)
        return force, np.stack(about, axis=1) + np.cross(force, [0.0, 0.0, -depth])
    force = signals[:, :3] * forces[:3]
    if kind == 1:
        point = np.pad(signals[:, 3:5] * lengths[3:5], ((0, 0), (0, 1)))
        return force, np.cross(point, force) + np.pad(signals[:, 5:] * moments[5], ((0, 0), (2, 0)))
    # The sensors are below the surface, along +z: some programs store the opposite vector.
    origin = -origin if origin[2] > 0.0 else origin
    return force, signals[:, 3:] * moments[3:] + np.cross(force, origin)


def _signals(file: C3dFile, k: int, count: int) -> tuple[FloatArray, list[str]]:
    """Return the signals (N, count) of a plate as stored, and their units as plain words."""
    stored = file.integers(_GROUP, "CHANNEL")
    table = stored.reshape(stored.shape[0] or 1, -1, order="F") - 1
    channels = table[:count, k] if k < table.shape[1] else table[:0, 0:1]
    if len(channels) < count or not ((channels >= 0) & (channels < file.analogs.shape[1])).all():
        raise file.fault(
            f"{_GROUP}:CHANNEL of plate {k + 1}",
            f"{count} of {file.analogs.shape[1]} analog channels",
            f"{(channels.ravel() + 1).tolist()}",
        )
    if not np.isfinite(file.analogs[:, channels]).all():
        raise file.fault(f"analog channels {channels + 1}", "finite samples", "others")
    units = _plain(file.texts("ANALOG", "UNITS"))
    return file.analogs[:, channels], [units[c] if c < len(units) else "" for c in channels]


def _part(file: C3dFile, name: str, shape: tuple[int, ...], k: int) -> FloatArray:
    """Return the part of a parameter that belongs to a plate."""
    size, stored = int(np.prod(shape)), file.numbers(_GROUP, name).ravel(order="F")
    if len(stored) < size * (k + 1):
        expected = f"{size} numbers of each plate"
        raise file.fault(f"{_GROUP}:{name}", expected, f"{len(stored)}")
    return stored[size * k : size * (k + 1)].reshape(shape, order="F")


def _plain(units: tuple[str, ...]) -> list[str]:
    """Return units as lower-case letters alone: N.mm and N-mm are nmm."""
    return [re.sub("[^a-z]", "", unit.lower()) for unit in units]
