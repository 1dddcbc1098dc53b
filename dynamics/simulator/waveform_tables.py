"""Tables of waveforms, as files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from dynamics.csv_table import check_once, read_rows
from dynamics.simulator.waveforms import GaitCycle
from foundation.checks import FloatArray
from foundation.errors import InputError

#: Columns of every waveform table; the units are part of the names.
WAVEFORM_COLUMNS = ("gait_percent", "flexion_deg", "axial_force_N")
#: Columns of which a table has one of each pair: AP and rotation are driven by a load or moved.
DRIVE_COLUMNS = (("ap_force_N", "anterior_mm"), ("internal_torque_Nm", "rotation_deg"))
_SI = {"mm": 1e-3, "deg": np.pi / 180.0, "N": 1.0, "Nm": 1.0, "percent": 1.0}
#: The shipped level-walking pattern.
LEVEL_WALKING = Path(__file__).with_name("tables") / "level_walking.csv"


def load_gait_cycle(path: str | Path, period_s: float) -> GaitCycle:
    """Read a waveform table.

    Parameters
    ----------
    path : path
        Comma-separated table with a header of `WAVEFORM_COLUMNS` and one of each pair of
        `DRIVE_COLUMNS`, in any order (others are ignored); lines that start with # are comments.
    period_s : float
        Duration of the cycle [s].

    Returns
    -------
    GaitCycle
        The cycle, in SI units.

    Raises
    ------
    InputError
        If a column is missing, a cell is not a finite number, the flexion seems to be in
        radians, or `GaitCycle` refuses the rows; the message names the file and the column.
    FileNotFoundError
        If there is no such file.
    """
    source = Path(path)
    table = _read_table(source)
    flexion = table["flexion_deg"]
    largest = np.abs(flexion).max()
    if 0.0 < largest < 0.5 * np.pi and np.ptp(flexion) > 0.0:
        raise InputError(
            f"{source}, column flexion_deg: expected degrees, found values of at most "
            f"{largest:g}, which look like radians; convert the column"
        )
    if largest > 180.0:
        raise InputError(
            f"{source}, column flexion_deg: expected at most 180 degrees, found {largest:g}"
        )
    signals = {}
    for column, values in table.items():
        name, _, unit = column.rpartition("_")
        signals[name] = _SI[unit] * values
    try:
        return GaitCycle(signals.pop("gait"), period=period_s, **signals)
    except InputError as error:
        raise InputError(f"{source}, column {_column_of(str(error), table)}: {error}") from error


def _column_of(message: str, columns: Iterable[str]) -> str:
    """Return the column of the table that a message of `GaitCycle` speaks of."""
    name = message.split(":")[0]
    return next((c for c in columns if c.startswith(name)), name)


def _read_table(source: Path) -> dict[str, FloatArray]:
    (_, header), *rows = read_rows(source)
    driven = [_drive_column(source, header, pair) for pair in DRIVE_COLUMNS]
    table = {}
    for name in (*WAVEFORM_COLUMNS, *driven):
        check_once(source, header, name)
        table[name] = _read_column(source, name, header.index(name), rows)
    return table


def _drive_column(source: Path, header: Sequence[str], pair: tuple[str, str]) -> str:
    """Return which of a pair of columns the table has."""
    found = [name for name in pair if name in header]
    if len(found) != 1:
        raise InputError(
            f"{source}, column {pair[0]}: expected it (driven by the load) or {pair[1]} (moved), "
            f"found {' and '.join(found) or 'neither'} in {', '.join(header)}"
        )
    return found[0]


def _read_column(
    source: Path, name: str, index: int, rows: Sequence[tuple[int, Sequence[str]]]
) -> FloatArray:
    values = []
    for number, cells in rows:
        cell = cells[index] if index < len(cells) else "nothing"
        try:
            value = float(cell)
        except ValueError:
            value = np.nan
        if not np.isfinite(value):
            raise InputError(
                f"{source}, column {name}: expected a finite number in line {number}, found {cell}"
            )
        values.append(value)
    return np.array(values)
