"""C3D files of motion capture, which `ezc3d` reads: markers, and forces of the force plates.

Axes of a plate follow from its corners, z down (https://www.c3d.org).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics.motion.motion_tables import MotionTable, read_motion_table
from dynamics.motion.plates import CONTACT_THRESHOLD
from foundation.base.checks import FloatArray, check_number
from foundation.base.errors import InputError

#: Metres per unit of length of a file.
LENGTHS = {"mm": 1e-3, "cm": 1e-2, "m": 1.0, "inch": 0.0254}
#: Lists of points that are results of a model, not places.
_RESULTS = ("ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS")
#: Axes by the names that X_SCREEN and Y_SCREEN give to them.
_AXES = {
    sign + axis: factor * np.eye(3)[k]
    for k, axis in enumerate("XYZ")
    for sign, factor in (("", 1.0), ("+", 1.0), ("-", -1.0))
}
#: Signs of x and y of the corners of a plate.
_QUADRANTS = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
#: Least mean part of the normals of level plates along an axis [1].
_LEVEL = 0.9
#: Least way of markers that travel [m].
_TRAVEL = 0.5
#: Second byte of a C3D file; number of the processors that store the largest byte first.
_MARK, _MIPS = 0x50, 86
#: Byte of the type of texts.
_TEXT = 255
_GROUP = "FORCE_PLATFORM"
#: Units of force and moment that are not those of `ezc3d`, unless the file has this length.
_OTHER_UNITS = {"kn", "lb", "lbf", "kgf", "nm", "ncm", "nmm"}
#: Force across a plate of someone who steps on it [N].
_STEP = 100.0
#: Farthest median distance of a centre of pressure from the edge of its plate [m].
_OUTSIDE = 0.5


def is_c3d(path: str | Path | None) -> bool:
    """Return whether the name of a file is that of a C3D file."""
    return path is not None and Path(path).suffix.lower() == ".c3d"


@dataclass(frozen=True, eq=False)
class C3dFile:
    """A C3D file in its own axes; points (F, P, 3) [any unit]."""

    path: Path
    #: Parameters by group and name.
    groups: Mapping[str, Mapping[str, Any]]
    #: Points of the frames (F, P, 3); NaN where a point is missing.
    points: FloatArray
    #: Force plates as `ezc3d` reads them: force, moment, center_of_pressure, Tz (3, A).
    plates: Sequence[Mapping[str, Any]]
    #: Number of the first frame, from 0.
    first: int

    def _value(self, group: str, name: str) -> Any:
        return self.groups.get(group, {}).get(name, {}).get("value", ())

    def numbers(self, group: str, name: str) -> FloatArray:
        """Return the numbers of a parameter, (n, ...) [any unit]; none if the file lacks them."""
        found = np.asarray(self._value(group, name))
        if found.size and (found.dtype.kind not in "iuf" or not np.isfinite(found).all()):
            raise self.fault(f"{group}:{name}", "finite numbers", str(found.ravel()))
        return np.array(found if found.size else (), dtype=np.float64)

    def integers(self, group: str, name: str) -> NDArray[np.int64]:
        """Return the numbers of a parameter without decimals, (n, ...), at most 10⁹ in size [1]."""
        return np.clip(self.numbers(group, name), -1e9, 1e9).astype(np.int64)

    def texts(self, group: str, name: str) -> tuple[str, ...]:
        """Return the texts of a parameter and of those that continue it (LABELS2, LABELS3)."""
        texts, number = list(self._value(group, name)), 2
        while more := list(self._value(group, f"{name}{number}")):
            texts, number = texts + more, number + 1
        # A text in another encoding than UTF-8 has surrogates.
        raw = [str(text).encode("utf-8", "surrogateescape") for text in texts]
        return tuple(text.decode("utf-8", "replace").strip() for text in raw)

    def fault(self, name: str, expected: str, found: str) -> InputError:
        """Return the error of a parameter with an unexpected value."""
        return InputError(
            f"{self.path}, {name}: expected {expected}, found {found}; correct the parameter in "
            "the program that recorded the motion and export the file again"
        )

    @property
    def unit(self) -> str:
        """Unit of lengths, one of `LENGTHS`."""
        stated = (*self.texts("POINT", "UNITS"), "")[0]
        if stated.lower() not in LENGTHS:
            raise self.fault("POINT:UNITS", f"one of {', '.join(LENGTHS)}", repr(stated))
        return stated.lower()

    def time(self, samples: int) -> FloatArray:
        """Return the instants (A,) [s] of A samples, of which each frame has the same number."""
        rate = float((*self.numbers("POINT", "RATE").ravel(), 0.0)[0])
        check_number(f"{self.path}, POINT:RATE", rate, above=0.0, unit="Hz")
        steps = np.arange(samples, dtype=np.float64) * (len(self.points) / max(samples, 1))
        return np.asarray((self.first + steps) / rate, dtype=np.float64)

    @cached_property
    def _places(self) -> tuple[tuple[str, ...], FloatArray]:
        """Names and positions (F, M, 3) [m] of the points that are markers, axes of the file."""
        results = {"", *(text for kind in _RESULTS for text in self.texts("POINT", kind))}
        labels = self.texts("POINT", "LABELS")[: self.points.shape[1]]
        kept = {k: n for k, n in enumerate(labels) if n not in results and not n.startswith("*")}
        alone = len({name.rpartition(":")[0] for name in kept.values()}) == 1
        names = tuple(name.rpartition(":")[2] if alone else name for name in kept.values())
        return names, LENGTHS[self.unit] * self.points[:, list(kept)]

    @property
    def markers(self) -> tuple[tuple[str, ...], FloatArray]:
        """Names and positions (F, M, 3) [m] of the points that have a name, axes of OpenSim."""
        # Without results of models, and without the name of the only subject before a colon.
        names, places = self._places
        return names, places @ self.axes.T

    @cached_property
    def corners(self) -> FloatArray:
        """Corners (n, 4, 3) of the force plates, axes of the file [any unit]."""
        plates = max(0, *self.integers("FORCE_PLATFORM", "USED").ravel()[:1].tolist(), 0)
        stored = self.numbers("FORCE_PLATFORM", "CORNERS").ravel(order="F")
        if len(stored) < 12 * plates:
            expected = f"four corners of each of {plates} plates"
            raise self.fault("FORCE_PLATFORM:CORNERS", expected, f"{len(stored)} numbers")
        return stored[: 12 * plates].reshape(plates, 4, 3)

    @property
    def plate_axes(self) -> FloatArray:
        """Axes x, y and z of each plate, columns (n, 3, 3), in the axes of the file [1]."""
        x, y = (np.tensordot(signs, self.corners, (0, 1)) for signs in _QUADRANTS.T)
        z = np.cross(x, y)
        sizes = np.linalg.norm([x, z], axis=2)[:, :, None]
        if not (sizes > 0.0).all():
            found = f"{self.corners.tolist()}"
            raise self.fault("FORCE_PLATFORM:CORNERS", "corners of rectangles", found)
        x, z = x / sizes[0], z / sizes[1]
        return np.stack([x, np.cross(z, x), z], axis=2)

    @cached_property
    def axes(self) -> FloatArray:
        """Axes x, y and z of OpenSim, rows (3, 3), in the axes of the file [1]; y is up."""
        # x is the axis along which the markers travel, else POINT:X_SCREEN, else the first level
        # axis.
        up = self._up()
        level = self._travel() * (up == 0.0)
        axis = int(np.abs(level).argmax())
        forward = np.sign(level[axis]) * np.eye(3)[axis]
        if abs(level[axis]) < _TRAVEL:
            stated = self._screen("X_SCREEN")
            choices = (*(() if stated is None else (stated,)), *np.eye(3))
            forward = next(each for each in choices if not each @ up)
        return np.array([forward, up, np.cross(forward, up)])

    def _screen(self, name: str) -> FloatArray | None:
        """Return the axis that X_SCREEN or Y_SCREEN names (3,) [1]."""
        return _AXES.get((*self.texts("POINT", name), "")[0].upper())

    def _travel(self) -> FloatArray:
        """Return the median way of the markers (3,) from where each is first seen [m]."""
        places = self._places[1]
        seen = np.asarray(~np.isnan(places).any(axis=2))
        some = np.flatnonzero(seen.any(axis=0))
        first, last = seen.argmax(axis=0), len(seen) - 1 - seen[::-1].argmax(axis=0)
        ways = places[last[some], some] - places[first[some], some]
        return np.asarray(np.median(ways, axis=0)) if len(some) else np.zeros(3)

    def _up(self) -> FloatArray:
        """Return the axis of the file that points up (3,) [1]."""
        # The normal of level plates, else POINT:Y_SCREEN, else the widest spread of markers, else
        # y.
        screen, places = self._screen("Y_SCREEN"), self._places[1]
        weights = np.abs(self.plate_axes[:, :, 2]).mean(axis=0) if len(self.corners) else None
        if weights is None or weights.max() < _LEVEL:
            if screen is not None:
                return screen
            gone = np.isnan(places).any(axis=2, keepdims=True)
            high = np.where(gone, -np.inf, places).max(axis=1, initial=-np.inf)
            low = np.where(gone, np.inf, places).min(axis=1, initial=np.inf)
            spread = (high - low)[np.isfinite(high).all(axis=1)]
            weights = np.median(spread, axis=0) if spread.size else np.eye(3)[1]
        axis = np.eye(3)[int(weights.argmax())]
        return screen if screen is not None and screen @ axis else axis


def read_c3d(path: str | Path, *, plates: bool = False) -> C3dFile:
    """Return the content of a C3D file, or raise `InputError` if it or `ezc3d` is missing."""
    source = Path(path)
    try:
        import ezc3d
    except ImportError as error:
        raise InputError(
            f"{path}: C3D files need ezc3d, which is not installed: pip install "
            '"knee-contact[c3d]"; or export markers as .trc and forces as .mot'
        ) from error
    if not source.is_file():
        raise InputError(f"{path}: no such file; check the path of the C3D file")
    told = "export or copy the file again"
    try:
        frames = _check_parameters(source.read_bytes())
        stored = ezc3d.c3d(str(source), extract_forceplat_data=plates)
    except Exception as error:  # ezc3d raises all kinds of errors
        raise InputError(f"{path}: expected a whole C3D file, found {error}; {told}") from error
    data = stored["data"]
    seen = np.isfinite(data["points"][:3]) & (data["meta_points"]["residuals"] >= 0.0)
    points = np.where(seen, data["points"][:3], np.nan)
    if points.shape[2] < frames:
        found = f"{points.shape[2]}: the file is cut off"
        raise InputError(f"{path}: expected {frames} frames, found {found}; {told}")
    places = np.ascontiguousarray(points.transpose(2, 1, 0))
    return C3dFile(
        source,
        stored["parameters"],
        places,
        data.get("platform", ()),
        stored["header"]["points"]["first_frame"],
    )


def _check_parameters(content: bytes) -> int:
    """Return the number of frames that the header states, or raise an InputError."""
    # ezc3d crashes at some files that are damaged there, or never ends.
    content = content.lstrip(b"\0")
    start, size = 512 * (content[0] - 1) if content else 0, len(content)
    if size < max(start, 512) + 4 or content[1] != _MARK:
        raise InputError("no header of such a file")
    order: Any = "big" if content[start + 3] == _MIPS else "little"
    at, step, groups, counts = start + 4, 1, {b"": 0}, Counter[tuple[int, bytes]]()
    while step:
        end = at + 2 + _size(content[at]) if at < size else size
        if end + 4 > size:
            raise InputError("an end within the parameters")
        if not content[at]:
            break
        name, group = content[at + 2 : end].rstrip(b"0123456789"), content[at + 1]
        step, last = int.from_bytes(content[end : end + 2], order), end + 2
        if group < 128:  # a parameter, and not a group
            shape = content[end + 4 : end + 4 + content[end + 3]]
            last += 2 + len(shape) + _size(content[end + 2]) * math.prod(shape)
            counts[group, name] += math.prod(shape)
            group *= bool(shape) or content[end + 2] != _TEXT  # a text without a length
        else:
            groups[name] = 256 - group
        last += 1 + content[min(last, size - 1)]  # the description
        if not group or last > size or (step and last != end + step):
            raise InputError(f"damaged parameters at byte {at}")
        at = end + step
    channels, first, final, per_frame = (
        int.from_bytes(content[k : k + 2], order) for k in (4, 6, 8, 18)
    )
    for name in (b"OFFSET", b"SCALE"):
        known = counts[groups.get(b"ANALOG", 0), name] * per_frame
        if known < channels:
            raise InputError(f"ANALOG:{name.decode()} of {known // per_frame} channels")
    return final - first + 1


def _size(byte: int) -> int:
    """Return the size of a signed byte [1]."""
    return min(byte, 256 - byte)


def read_ground(path: str | Path) -> MotionTable:
    """Read forces of the ground: a C3D file as `read_plates`, others as `read_motion_table`."""
    return read_plates(path) if is_c3d(path) else read_motion_table(path)


def read_plates(path: str | Path) -> MotionTable:
    """Return the force plates of a C3D file as columns of OpenSim, in its axes [N, m, N m]."""
    # Of plate k, `ground_force_k_vx` to `vz`, the force on the person, its point
    # `ground_force_k_px` to `pz` on the surface, and the free torque `ground_torque_k_x` to `z`.
    # Below 20 N, the point is between those of the neighbouring contacts, and the torque
    # complements the moment.
    file = read_c3d(path, plates=True)
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
    time = file.time(len(values[0]))
    return MotionTable(tuple(names), time, np.hstack(values), False, str(path))


def _plate(file: C3dFile, k: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return force, point and free torque (N, 3) of a plate, axes of the file [N, m, N m]."""
    axes, corners = file.plate_axes[k], LENGTHS[file.unit] * file.corners[k]
    middle = corners.mean(axis=0)
    force, moment = np.hsplit(_zeroed(file, _wrench(file, k, middle)), 2)
    force, moment = force @ axes, moment @ axes
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
            f"a median of {outside:.2g} m outside; check UNITS, CHANNEL, ORIGIN, CAL_MATRIX and "
            f"CORNERS of {_GROUP}"
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


def _wrench(file: C3dFile, k: int, middle: FloatArray) -> FloatArray:
    """Return force, and moment about the middle (3,) [m], axes of the file (N, 6) [N, N m]."""
    plate, length = file.plates[k], LENGTHS[file.unit]
    channels = file.integers(_GROUP, "CHANNEL")[:, k] - 1
    units = [re.sub("[^a-z]", "", text.lower()) for text in file.texts("ANALOG", "UNITS")]
    stated = {units[c] for c in channels if 0 <= c < len(units)}
    if other := stated & _OTHER_UNITS - {f"n{file.unit}"}:
        expected = f"N and N {file.unit}"
        raise file.fault(f"ANALOG:UNITS of force plate {k + 1}", expected, ", ".join(sorted(other)))
    force, moment = plate["force"].T, length * plate["moment"].T
    if file.integers(_GROUP, "TYPE").ravel()[k] == 1:  # Force, centre of pressure, free torque.
        point = length * plate["center_of_pressure"].T
        moment = length * plate["Tz"].T + np.cross(point - middle, force)
    return np.hstack([force, moment])
