"""Measured markers, their distances from those of a model, and markers that do not fit."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dynamics.csv_table import read_text
from dynamics.motion.c3d import LENGTHS, is_c3d, read_c3d
from dynamics.motion.motion_tables import MotionTable
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

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
    source: Path

    def between(self, start: float | None, stop: float | None) -> Self:
        """Return the markers at the instants from start to stop [s], by default all."""
        slack = 1e-6 if len(self.time) < 2 else 1e-3 * float(np.diff(self.time).min())
        first = self.time[0] if start is None else start
        last = self.time[-1] if stop is None else stop
        rows = (self.time >= first - slack) & (self.time <= last + slack)
        return replace(self, time=self.time[rows], positions=self.positions[rows])

    def seen(self) -> Self:
        """Return the markers that have a position at some instant."""
        gone = np.asarray(self.missing.all(axis=0))
        return self.only([n for n, is_gone in zip(self.names, gone, strict=True) if not is_gone])

    def only(self, names: Collection[str]) -> Self:
        """Return the markers with these names."""
        columns = [k for k, name in enumerate(self.names) if name in names]
        names = tuple(self.names[k] for k in columns)
        return replace(self, names=names, positions=self.positions[:, columns])

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
    names, time, positions = _c3d(source) if is_c3d(source) else _trc(source)
    if np.isinf(positions).any():
        raise InputError(f"{path}: expected finite coordinates, found infinite ones")
    at_origin = (positions == 0.0).all(axis=2)
    positions = np.where(at_origin[:, :, None], np.nan, positions)
    return MeasuredMarkers(names, time, positions, source)


def _c3d(source: Path) -> tuple[tuple[str, ...], FloatArray, FloatArray]:
    """Return names (M,), instants (N,) [s] and positions (N, M, 3) [m] of a C3D file."""
    file = read_c3d(source)
    names, positions = file.markers
    _check_names(f"{source}, POINT:LABELS", names)
    return names, file.time(len(positions)), positions


def _trc(source: Path) -> tuple[tuple[str, ...], FloatArray, FloatArray]:
    """Return names (M,), instants (N,) [s] and positions (N, M, 3) [m] of a `.trc` file."""
    text = read_text(source)
    lines = [line.split("\t") for line in text.splitlines()]
    if len(lines) < _HEAD + 3 or not lines[0][0].startswith("PathFileType"):
        raise InputError(
            f"{source}: expected a .trc file of {_HEAD + 3} lines or more that begins with "
            f"PathFileType, found {len(lines)} lines that begin with {text[:12]!r}"
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
    return names, table[:, 0], places


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


def marker_notes(
    markers: MeasuredMarkers, weighted: Collection[str], known: Collection[str]
) -> tuple[str, ...]:
    """Return notes on markers without position or with gaps."""
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
    missing = markers.missing.sum(axis=0)
    gaps = [k for k in used if missing[k]]
    if gaps:
        text = ", ".join(f"{markers.names[k]} at {missing[k]}" for k in gaps)
        notes.append(
            f"{file}: markers without a position at some or all of {count} instants: "
            f"{text}; {follows} there: fill the gaps if the motion jumps"
        )
    return tuple(notes)


#: Largest distance of a marker, and root mean square of all distances at an instant, that OpenSim
#: recommends for inverse kinematics (OpenSim documentation, Getting Started with Inverse
#: Kinematics: less than 2 to 4 cm, and less than 2 cm) [m].
LARGEST, LARGEST_RMS = 0.04, 0.02


class MarkerFit(NamedTuple):
    """Distances of a marker over time."""

    name: str
    weight: float
    #: Root mean square and largest distance [m].
    rms: float
    largest: float
    #: Instant of the largest distance [s].
    at: float
    #: Number of instants without a measured position.
    missing: int
    #: Distance at each instant [m], NaN where the marker is missing.
    distances: tuple[float, ...]


def marker_fits(
    found: MotionTable, measured: MeasuredMarkers, weights: Mapping[str, float]
) -> tuple[MarkerFit, ...]:
    """Return the fits of markers with weights, from places in columns NAME_tx to NAME_tz [m]."""
    rows = np.abs(measured.time[:, None] - found.time).argmin(axis=0)
    fits = []
    for k, name in enumerate(measured.names):
        if name not in weights or f"{name}_tx" not in found.names:
            continue
        place = np.column_stack([found.column(f"{name}_t{axis}") for axis in "xyz"])
        distances = np.linalg.norm(place - measured.positions[rows, k], axis=1)
        seen = np.isfinite(distances)
        if not seen.any():
            continue
        worst = int(np.where(seen, distances, -1.0).argmax())
        rms = float(np.sqrt((distances[seen] ** 2).mean()))
        fits.append(
            MarkerFit(
                name, weights[name], rms, float(distances[worst]), float(found.time[worst]),
                int((~seen).sum()), tuple(distances.tolist()),
            )
        )  # fmt: skip
    return tuple(sorted(fits, key=lambda fit: -fit.largest))


def instant_errors(fits: tuple[MarkerFit, ...], time: FloatArray) -> MotionTable:
    """Return OpenSim's table of errors at instants (N,) [s]: sum of squares, RMS, largest."""
    distances = np.array([fit.distances for fit in fits])
    seen = np.isfinite(distances)
    distances = np.where(seen, distances, 0.0)
    total = (distances**2).sum(axis=0)
    rms = np.sqrt(total / np.maximum(seen.sum(axis=0), 1))
    names = ("total_squared_error", "marker_error_RMS", "marker_error_max")
    return MotionTable(names, time, np.column_stack([total, rms, distances.max(axis=0)]))


def total_rms(fits: tuple[MarkerFit, ...]) -> float:
    """Return the largest root mean square of the distances at an instant [m]."""
    time = np.arange(float(len(fits[0].distances)))
    return float(instant_errors(fits, time).column("marker_error_RMS").max())


def fit_notes(source: str, fits: tuple[MarkerFit, ...]) -> tuple[str, ...]:
    """Return a note on distances that are larger than OpenSim recommends."""
    if not fits:
        return ()
    rms, far = total_rms(fits), [fit for fit in fits if fit.largest > LARGEST]
    if not far and rms <= LARGEST_RMS:
        return ()
    text = ", ".join(f"{f.name} {1e3 * f.largest:.0f} mm at {f.at:.4g} s" for f in far)
    return (
        f"{source}: expected markers within {1e3 * LARGEST:.0f} mm of the model and "
        f"{1e3 * LARGEST_RMS:.0f} mm RMS, found up to {1e3 * fits[0].largest:.0f} mm (at "
        f"{fits[0].at:.4g} s) and {1e3 * rms:.0f} mm RMS{': ' * bool(far)}{text}; check names, "
        "unit and places of the markers and the size of the model",
    )


#: Distance of a marker from its place on the model that no walk is found with [m].
FARTHEST = 0.2
#: Fewest markers that tell the vertical, and least cosine between it and where they are higher.
_FEWEST, _UPRIGHT = 4, 0.5
_AXES = "xyz"


def check_upright(
    measured: MeasuredMarkers, places: Mapping[str, FloatArray], up: FloatArray
) -> None:
    """Refuse markers whose vertical differs from that of places (3,) [m] in the default pose."""
    markers = measured.only(places.keys()).seen()
    if len(markers.names) < _FEWEST:
        return
    heights = np.array([places[name] @ up for name in markers.names])
    middles = np.nanmean(markers.positions, axis=0)
    rise = (heights - heights.mean()) @ (middles - middles.mean(axis=0))
    if rise @ up < _UPRIGHT * np.linalg.norm(rise):
        k = int(np.abs(rise).argmax())
        raise InputError(
            f"{measured.source}: expected markers of a person who stands upright along "
            f"{_AXES[int(np.abs(up).argmax())]} as the model does, found "
            f"{'-' if rise[k] < 0.0 else ''}{_AXES[k]} upwards; turn the axes so that x is "
            "forward, y up and z right"
        )


def misfit(measured: MeasuredMarkers, fits: tuple[MarkerFit, ...]) -> InputError | None:
    """Return the error on markers that are too far off, or None."""
    far = [fit for fit in fits if fit.largest > FARTHEST]
    if not far:
        return None
    names = ", ".join(f"{fit.name} {1e3 * fit.largest:.0f} mm at {fit.at:.4g} s" for fit in far[:4])
    more = f" and {len(far) - 4} others" if len(far) > 4 else ""
    remedy = (
        "check the unit, names, sides and places of these markers, and the size of the model; a "
        "marker that the model has in another place, or that jumps, gets the weight 0 "
        "(inverse_kinematics.weights)"
    )
    return InputError(
        f"{measured.source}: expected markers within {1e3 * FARTHEST:.0f} mm of the model, found "
        f"{names}{more} ({1e3 * total_rms(fits):.0f} mm RMS over all); {remedy}"
    )
