"""Tables of the waveforms of a gait cycle."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dynamics.csv_table import SI_FACTORS, TextTable, read_csv_table
from dynamics.simulator.waveforms import GaitCycle
from foundation.base.errors import InputError

#: Columns of every waveform table; the units are part of the names.
WAVEFORM_COLUMNS = ("gait_percent", "flexion_deg", "axial_force_N")
#: Pairs of columns; a table has one column of each: AP and rotation follow a load or a motion.
DRIVE_COLUMNS = (("ap_force_N", "anterior_mm"), ("internal_torque_Nm", "rotation_deg"))
#: Column that a table may have.
ADDUCTION_COLUMN = "adduction_torque_Nm"
_TABLES = Path(__file__).with_name("tables")
#: The shipped level-walking pattern.
LEVEL_WALKING = _TABLES / "level_walking.csv"
#: Shipped patterns by name; the head of each table states its sources.
ACTIVITIES = {
    name: _TABLES / f"{name}.csv"
    for name in ("level_walking", "stair_ascent", "stair_descent", "squat", "deep_flexion")
}


def load_gait_cycle(path: str | Path, period_s: float) -> GaitCycle:
    """Read a gait cycle from a waveform table.

    Parameters
    ----------
    path : str or Path
        Comma-separated table with a header of `WAVEFORM_COLUMNS` and one of each pair of
        `DRIVE_COLUMNS`, and optionally `ADDUCTION_COLUMN`, in any order; other columns are
        ignored. Lines that start with # are comments.
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
        radians, or `GaitCycle` rejects the rows; the message names the file and the column.
    FileNotFoundError
        If the file does not exist.
    """
    table = read_csv_table(Path(path))
    driven = [_drive_column(table, pair) for pair in DRIVE_COLUMNS]
    driven += [ADDUCTION_COLUMN] * (ADDUCTION_COLUMN in table.names)
    columns = {name: table.column(name) for name in (*WAVEFORM_COLUMNS, *driven)}
    flexion = columns["flexion_deg"]
    largest = np.abs(flexion).max()
    if 0.0 < largest < 0.5 * np.pi and np.ptp(flexion) > 0.0:
        raise InputError(
            f"{table.source}, column flexion_deg: expected degrees, found values of at most "
            f"{largest:g}, which look like radians; convert the column"
        )
    if largest > 180.0:
        raise InputError(
            f"{table.source}, column flexion_deg: expected at most 180 degrees, found {largest:g}"
        )
    signals = {}
    for column, values in columns.items():
        name, _, unit = column.rpartition("_")
        signals[name] = SI_FACTORS[unit] * values
    try:
        return GaitCycle(signals.pop("gait"), period=period_s, **signals)
    except InputError as error:
        name = str(error).split(":")[0]
        column = next((each for each in columns if each.startswith(name)), name)
        reason = str(error).removeprefix(f"{column}: ")
        raise InputError(f"{table.source}, column {column}: {reason}") from error


def _drive_column(table: TextTable, pair: tuple[str, str]) -> str:
    """Return the column of a pair that the table has."""
    present = [name for name in pair if name in table.names]
    if len(present) != 1:
        raise InputError(
            f"{table.source}, column {pair[0]}: expected either this column (prescribed load) or "
            f"{pair[1]} (prescribed motion), found {' and '.join(present) or 'neither'} in "
            f"{', '.join(table.names)}"
        )
    return present[0]
