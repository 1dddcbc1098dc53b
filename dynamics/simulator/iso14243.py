"""Gait cycles from tables in the layout of ISO 14243-1 (loads) and -3 (displacements).

The numbers of the standard are under copyright and not part of this package: the user types or
exports the own copy. The frame of the standard is that of the tibial component: AP force and AP
displacement positive to the front, torque and rotation positive inwards, all of the tibia. Editions
and laboratories differ in these signs (Wang et al. 2018, PLoS ONE 13:e0206496), so that both can be
reversed.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from dynamics.csv_table import SI_FACTORS, TextTable, read_lines
from dynamics.simulator.waveform_tables import check_columns
from dynamics.simulator.waveforms import GaitCycle
from foundation.base.checks import FloatArray, check_in
from foundation.base.errors import InputError

#: Directions that can be reversed: AP force or displacement, torque or rotation.
DIRECTIONS = ("ap", "rotation")


class _Column(NamedTuple):
    """Name, words of the header, unit, and factor to the signal of `GaitCycle` in SI units."""

    name: str
    words: str
    unit: str
    factor: float


#: Column of each signal; a header is that of the first signal with its words. The prescribed
#: coordinate `anterior` is that of the femur, opposite to the displacement of the tibia.
_COLUMNS = {
    "percent": _Column("the percentage of the cycle", r"cycle|percent|^%", "%", 1.0),
    "flexion": _Column("the flexion angle", r"flexion", "deg", SI_FACTORS["deg"]),
    "axial_force": _Column("the axial force", r"axial", "N", 1.0),
    "ap_force": _Column("the AP force", r"\b(ap|a-p|anterior).*force", "N", 1.0),
    "anterior": _Column(
        "the AP displacement",
        r"\b(ap|a-p|anterior).*(displacement|translation)",
        "mm",
        -SI_FACTORS["mm"],
    ),
    "internal_torque": _Column("the tibial rotation torque", r"torque|moment", "Nm", 1.0),
    "rotation": _Column("the tibial rotation", r"rotation", "deg", SI_FACTORS["deg"]),
}
#: Columns of both parts of the standard, and one column each of these.
_NEEDED = ("percent", "flexion", "axial_force")
_DRIVES = {"ap": ("ap_force", "anterior"), "rotation": ("internal_torque", "rotation")}
_UNIT_NAMES = {"°": "deg", "degrees": "deg", "degree": "deg", "n": "N", "nm": "Nm", "percent": "%"}
#: Units that a header may end with, without brackets.
_BARE = re.compile(
    r"(?<![^\s_,;:/])(%?bw|[km]?n|k?n[ ·.*⋅]?m?m|deg(?:rees?)?|°|rad(?:ians?)?|[cmµu]?m|kgf?|lbf?|"
    r"m?s)$",
    re.IGNORECASE,
)


def load_iso14243(
    path: str | Path,
    period_s: float,
    *,
    reversed_directions: Collection[str] = (),
    axial_scale: float = 1.0,
) -> GaitCycle:
    """Read a gait cycle from a table in the layout of ISO 14243-1 or -3.

    Parameters
    ----------
    path : str or Path
        Text with a header and rows, separated by commas, semicolons or tabs; with semicolons and
        tabs, decimal commas too. The header names, in any order: percentage of the cycle [%],
        flexion angle [deg], axial force [N], AP force [N] or AP displacement [mm], and tibial
        rotation torque [N m] or tibial rotation [deg]. A unit in brackets must be that one. Lines
        that start with # are comments.
    period_s : float
        Duration of the cycle [s].
    reversed_directions : collection of {"ap", "rotation"}
        Directions with the opposite sign in the file.
    axial_scale : float
        Factor on the axial force of the table [1], > 0.

    Returns
    -------
    GaitCycle
        The cycle in SI units and in the signs of the package; a displacement of the tibia to the
        front is a motion of the femur to the back.

    Raises
    ------
    InputError
        If the file is a workbook or not a table, a column is missing, doubled or in another unit,
        a value is impossible, or `GaitCycle` rejects the rows; the message names file and column.
    FileNotFoundError
        If the file does not exist.

    Warns
    -----
    UserWarning
        As of `dynamics.load_gait_cycle`.
    """
    for name in reversed_directions:
        check_in("reversed_directions", name, DIRECTIONS)
    table = _read_table(Path(path))
    headers = _headers(table)
    waves: dict[str, FloatArray] = {}
    for signal in (*_NEEDED, *(_driven(table, headers, pair) for pair in _DRIVES.values())):
        if signal not in headers:
            raise InputError(
                f"{table.source}: expected a column of {_described(signal)}, found "
                f"{', '.join(table.names)}"
            )
        waves[signal] = table.column(headers[signal])
    waves["axial_force"] = axial_scale * waves["axial_force"]
    percent = waves.pop("percent")
    places = {signal: f"{table.source}, column {headers[signal]}" for signal in waves}
    check_columns(percent, waves, places)
    signals = {signal: _COLUMNS[signal].factor * wave for signal, wave in waves.items()}
    for direction in reversed_directions:
        for signal in _DRIVES[direction]:
            if signal in signals:
                signals[signal] = -signals[signal]
    try:
        return GaitCycle(percent, period=period_s, **signals)
    except InputError as error:
        raise InputError(f"{table.source}: {error}") from error


def _read_table(source: Path) -> TextTable:
    if source.suffix.lower() in (".xlsx", ".xls", ".ods"):
        raise InputError(
            f"{source}: expected a table as text, found a workbook; save the sheet as CSV"
        )
    lines = read_lines(source)
    separator = next((mark for mark in "\t;," if mark in lines[0][1]), ",")
    rows = [(number, [cell.strip() for cell in line.split(separator)]) for number, line in lines]
    (first, names), *cells = rows
    if separator != ",":
        cells = [(number, [cell.replace(",", ".") for cell in row]) for number, row in cells]
    return TextTable(source, first, names, cells)


def _headers(table: TextTable) -> dict[str, str]:
    """Return the header of each signal that the table has."""
    headers: dict[str, str] = {}
    for name in table.names:
        signal = _signal(name)
        if signal is None:
            continue
        if signal in headers:
            raise InputError(
                f"{table.source}: expected one column of {_described(signal)}, found "
                f"{headers[signal]!r} and {name!r}"
            )
        unit = _unit(name)
        if unit not in ("", _COLUMNS[signal].unit):
            raise InputError(
                f"{table.source}, column {name}: expected {_described(signal)}, found the unit "
                f"{unit}; convert the column"
            )
        headers[signal] = name
    return headers


def _signal(header: str) -> str | None:
    words = header.lower()
    found = (name for name, column in _COLUMNS.items() if re.search(column.words, words))
    return next(found, None)


def _unit(header: str) -> str:
    """Return the unit in the last brackets of a header, or at its end; "" without a unit."""
    found = re.findall(r"[(\[]([^)\]]*)[)\]]", header) or _BARE.findall(header.strip())
    text = re.sub(r"[\s·.*⋅]", "", found[-1]) if found else ""
    return _UNIT_NAMES.get(text.lower(), text)


def _driven(table: TextTable, headers: dict[str, str], pair: tuple[str, str]) -> str:
    """Return the signal of a pair that the table has."""
    present = [name for name in pair if name in headers]
    if len(present) != 1:
        raise InputError(
            f"{table.source}: expected a column of {_described(pair[0])} (ISO 14243-1) or of "
            f"{_described(pair[1])} (ISO 14243-3), found {' and '.join(present) or 'neither'} in "
            f"{', '.join(table.names)}"
        )
    return present[0]


def _described(signal: str) -> str:
    return f"{_COLUMNS[signal].name} ({_COLUMNS[signal].unit})"
