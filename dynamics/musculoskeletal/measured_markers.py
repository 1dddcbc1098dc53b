"""Measured markers of `.trc` and C3D files: gaps, units, and what OpenSim would not tell."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from math import log
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dynamics.csv_table import read_text
from dynamics.motion.c3d import LENGTHS, is_c3d, read_c3d
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

#: Extent of the markers of a person at an instant, and a usual one [m].
_EXTENTS, _PERSON = (0.01, 20.0), 1.2
#: Metres per unit, by the words for the unit.
_WORDS = dict(
    zip(("millimetres", "centimetres", "metres", "inches"), LENGTHS.values(), strict=True)
)
#: A marker that moves less does not move, while half of the others move more [m].
_STILL, _MOVING = 1e-5, 0.02
#: Texts of a missing number in files of Windows programs, such as -nan(ind) and 1.#QNAN.
_NO_NUMBER = re.compile(r"[+-]?(nan(\(\w*\))?|1\.#(qnan|snan|ind|nan)\d*)", re.I)
#: Lines before the names of the markers.
_HEAD = 3


@dataclass(frozen=True, eq=False)
class MeasuredMarkers:
    """Positions (N, M, 3) [m] of M markers at N instants."""

    names: tuple[str, ...]
    #: Instants (N,) [s], increasing.
    time: FloatArray
    #: Positions in the laboratory (N, M, 3) [m]; NaN where a marker is missing.
    positions: FloatArray
    #: Where the file has 0, 0, 0, as programs write what they did not see (N, M).
    at_origin: NDArray[np.bool_]
    source: Path

    def between(self, start: float | None, stop: float | None) -> Self:
        """Return the markers at the instants from start to stop [s], by default all."""
        slack = 1e-6 if len(self.time) < 2 else 1e-3 * float(np.diff(self.time).min())
        first = self.time[0] if start is None else start
        last = self.time[-1] if stop is None else stop
        rows = (self.time >= first - slack) & (self.time <= last + slack)
        return replace(
            self,
            time=self.time[rows],
            positions=self.positions[rows],
            at_origin=self.at_origin[rows],
        )

    def seen(self) -> Self:
        """Return the markers that have a position at some instant."""
        gone = np.asarray(self.missing.all(axis=0))
        return self.only([n for n, each in zip(self.names, gone, strict=True) if not each])

    def only(self, names: Collection[str]) -> Self:
        """Return the markers with these names."""
        kept = [k for k, name in enumerate(self.names) if name in names]
        return replace(
            self,
            names=tuple(self.names[k] for k in kept),
            positions=self.positions[:, kept],
            at_origin=self.at_origin[:, kept],
        )

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Whether each marker is missing at each instant, (N, M)."""
        return np.asarray(np.isnan(self.positions).any(axis=2))

    def text(self) -> str:
        """Return a `.trc` file [m] with nan where a marker is missing, for OpenSim."""
        count, markers = len(self.time), len(self.names)
        rate = 1.0 if count < 2 else (count - 1) / (self.time[-1] - self.time[0])
        keys = ("DataRate", "CameraRate", "NumFrames", "NumMarkers", "Units", "OrigDataRate",
                "OrigDataStartFrame", "OrigNumFrames")  # fmt: skip
        values = (rate, rate, count, markers, "m", rate, 1, count)
        axes = [f"{axis}{k + 1}" for k in range(markers) for axis in "XYZ"]
        lines = [
            "PathFileType\t4\t(X/Y/Z)\tmarkers.trc",
            "\t".join(keys),
            "\t".join(map(str, values)),
            "Frame#\tTime\t" + "\t\t\t".join(self.names) + "\t\t",
            "\t\t" + "\t".join(axes),
            "",
        ]
        for k, (at, row) in enumerate(zip(self.time.tolist(), self.positions, strict=True)):
            # OpenSim reads nan as a gap; of empty cells, it drops those at the end of a line.
            gaps = np.isnan(row).any(axis=1)
            cells = map(repr, np.where(gaps[:, None], np.nan, row).ravel().tolist())
            lines.append("\t".join([str(k + 1), repr(at), *cells]))
        return "\n".join(lines) + "\n"


def read_markers(path: str | Path) -> MeasuredMarkers:
    """Return the markers of a `.trc` or C3D file; 0, 0, 0 stands for a missing one."""
    source = Path(path)
    if not source.is_file():
        raise InputError(f"{path}: no such file; check the path of the markers")
    found = _c3d(source) if is_c3d(source) else _trc(source)
    if np.isinf(found.positions).any():
        raise InputError(f"{path}: expected finite coordinates, found infinite ones")
    at_origin = (found.positions == 0.0).all(axis=2)
    positions = np.where(at_origin[:, :, None], np.nan, found.positions)
    markers = MeasuredMarkers(found.names, found.time, positions, at_origin, source)
    _check_unit(markers, found.unit)
    return markers


class _Stored(NamedTuple):
    """Names (M,), instants (N,) [s] and positions (N, M, 3) [m] of a file, and its unit."""

    names: tuple[str, ...]
    time: FloatArray
    positions: FloatArray
    unit: str


def _c3d(source: Path) -> _Stored:
    """Return the markers of a C3D file."""
    file = read_c3d(source)
    names, positions = file.markers
    _check_names(f"{source}, POINT:LABELS", names)
    return _Stored(names, file.time(len(positions)), positions, file.unit)


def _trc(source: Path) -> _Stored:
    """Return the markers of a `.trc` file."""
    lines = [line.split("\t") for line in read_text(source).splitlines()]
    if len(lines) < _HEAD + 3 or not lines[0][0].startswith("PathFileType"):
        raise InputError(
            f"{source}: expected a .trc file that begins with PathFileType, found another first "
            "line"
        )
    keys, values = ([cell.strip() for cell in line if cell.strip()] for line in lines[1:_HEAD])
    unit = dict(zip(keys, values, strict=False)).get("Units", "")
    if unit not in LENGTHS:
        raise InputError(f"{source}, Units: expected one of {', '.join(LENGTHS)}, found {unit!r}")
    names = tuple(cell.strip() for cell in lines[_HEAD] if cell.strip())[2:]
    _check_names(f"{source}, line {_HEAD + 1}", names)
    rows = [
        (number, line)
        for number, line in enumerate(lines[_HEAD + 2 :], _HEAD + 3)
        if line[0].strip()
    ]
    table = np.array([_numbers(source, number, line, len(names)) for number, line in rows])
    if not len(table) or not np.isfinite(table[:, 0]).all() or (np.diff(table[:, 0]) <= 0.0).any():
        raise InputError(
            f"{source}: expected rows at increasing instants, found times that do not increase"
        )
    places = LENGTHS[unit] * table[:, 1:].reshape(len(table), len(names), 3)
    return _Stored(names, table[:, 0], places, unit)


def _check_names(where: str, names: tuple[str, ...]) -> None:
    """Raise an `InputError` unless there are markers, each with a name of its own."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if not names or twice:
        raise InputError(
            f"{where}: expected each marker once, found "
            f"{', '.join(twice) + ' twice' if twice else 'no marker'}; rename the markers, or take "
            "another file"
        )


def _numbers(source: Path, number: int, line: list[str], markers: int) -> list[float]:
    """Return the instant and the coordinates of a row, NaN for empty cells."""
    cells = [cell.strip() for cell in line[1:]]
    cells += [""] * (1 + 3 * markers - len(cells))
    if len(cells) > 1 + 3 * markers and any(cells[1 + 3 * markers :]):
        raise InputError(
            f"{source}, line {number}: expected {3 * markers} coordinates of {markers} markers, "
            f"found {len(cells) - 1}"
        )
    try:
        return [
            np.nan if not cell or _NO_NUMBER.fullmatch(cell) else float(cell)
            for cell in cells[: 1 + 3 * markers]
        ]
    except ValueError as error:
        raise InputError(f"{source}, line {number}: expected numbers, found {error}") from error


def _check_unit(markers: MeasuredMarkers, unit: str) -> None:
    """Raise an `InputError` if the markers are spread as those of no person."""
    missing = markers.missing
    seen = markers.positions[~missing.all(axis=1)][:, ~missing.all(axis=0)]
    if seen.shape[1] < 2:
        return
    with np.errstate(invalid="ignore"):
        extent = float(
            np.nanmedian(np.nanmax(seen, axis=1) - np.nanmin(seen, axis=1), axis=0).max()
        )
    low, high = _EXTENTS
    if not low <= extent <= high:
        raise InputError(
            f"{markers.source}: expected markers that are spread over {low:g} to {high:g} m, found "
            f"{extent:.3g} m with the unit {unit} of the header; "
            f"{likely_unit(extent / _PERSON, 3.0)}"
        )


def likely_unit(ratio: float, near: float) -> str:
    """Return the unit that explains lengths `ratio` times too long, up to a factor `near` [1]."""
    if not ratio > 0.0:  # all markers at one place
        return "check the columns of the file"
    pairs = [(true, stated) for true in _WORDS for stated in _WORDS if true != stated]
    off, true, stated = min(
        (abs(log(ratio * _WORDS[true] / _WORDS[stated])), true, stated) for true, stated in pairs
    )
    if off > log(near):
        return "check the unit"
    return f"the values look like {true}, stated as {stated}: correct the unit (Units)"


def marker_notes(
    markers: MeasuredMarkers, weighted: Collection[str], known: Collection[str]
) -> tuple[str, ...]:
    """Return notes on markers without position, with gaps, or still while others move."""
    file, count = markers.source.name, len(markers.time)
    unmeasured = [name for name in weighted if name in known and name not in markers.names]
    used = [k for k, name in enumerate(markers.names) if name in weighted and name in known]
    follows = "the motion follows the other markers"
    notes = []
    if unmeasured:
        notes.append(
            f"{file}: {', '.join(unmeasured)}: weights of markers that the file does not have; "
            f"{follows}"
        )
    missing, at_origin = markers.missing.sum(axis=0), markers.at_origin.sum(axis=0)
    zeros = [markers.names[k] for k in used if at_origin[k] == count]
    if zeros:
        notes.append(
            f"{file}: {', '.join(zeros)}: stored as 0, 0, 0 throughout, which counts as not "
            f"measured; {follows}"
        )
    empty = [markers.names[k] for k in used if at_origin[k] < missing[k] == count]
    if empty:
        notes.append(f"{file}: {', '.join(empty)}: without a position throughout; {follows}")
    gaps = [k for k in used if 0 < missing[k] < count]
    if gaps:
        each = ", ".join(f"{markers.names[k]} at {missing[k]}" for k in gaps)
        stored = "" if not at_origin[gaps].any() else " or stored as 0, 0, 0"
        notes.append(
            f"{file}: markers without a position{stored} at some of {count} instants: {each}; "
            f"{follows} there: fill the gaps if the motion jumps"
        )
    still = _still(markers, used)
    if still:
        notes.append(
            f"{file}: {', '.join(still)}: at the same place throughout while the other markers "
            "move; check these markers, or give them the weight 0"
        )
    return tuple(notes)


def _still(markers: MeasuredMarkers, used: list[int]) -> list[str]:
    """Return the names of markers that do not move while half of all do."""
    seen = [k for k in used if not markers.missing[:, k].all()]
    if len(markers.time) < 2 or not seen:
        return []
    positions = markers.positions[:, seen]
    ways = (np.nanmax(positions, axis=0) - np.nanmin(positions, axis=0)).max(axis=1)
    if np.median(ways) < _MOVING:
        return []
    return [markers.names[k] for k, way in zip(seen, ways, strict=True) if way < _STILL]
