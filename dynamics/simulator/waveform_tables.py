"""Tables of the waveforms of a gait cycle."""

from __future__ import annotations

from pathlib import Path

from dynamics.csv_table import SI_FACTORS, TextTable, read_csv_table
from dynamics.simulator.waveform_ranges import check_columns
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


def load_gait_cycle(path: str | Path, period_s: float, *, axial_scale: float = 1.0) -> GaitCycle:
    """Read a gait cycle from a waveform table.

    Parameters
    ----------
    path : str or Path
        Comma-separated table with a header of `WAVEFORM_COLUMNS` and one of each pair of
        `DRIVE_COLUMNS`, and optionally `ADDUCTION_COLUMN`, in any order; other columns are
        ignored. Lines that start with # are comments.
    period_s : float
        Duration of the cycle [s].
    axial_scale : float
        Factor on the axial force of the table [1], > 0.

    Returns
    -------
    GaitCycle
        The cycle, in SI units.

    Raises
    ------
    InputError
        If a column is missing or in another unit, a cell is not a finite number, a value is
        impossible, or `GaitCycle` rejects the rows; the message names the file and the column.
    FileNotFoundError
        If the file does not exist.

    Warns
    -----
    UserWarning
        If a column is improbable: likely another unit, a spike, or columns exchanged.
    """
    table = read_csv_table(Path(path))
    _check_units(table)
    driven = [_drive_column(table, pair) for pair in DRIVE_COLUMNS]
    driven += [ADDUCTION_COLUMN] * (ADDUCTION_COLUMN in table.names)
    columns = {name: table.column(name) for name in (*WAVEFORM_COLUMNS, *driven)}
    columns["axial_force_N"] = axial_scale * columns["axial_force_N"]
    waves = {column.rpartition("_")[0]: column for column in columns if column != "gait_percent"}
    check_columns(
        columns["gait_percent"],
        {signal: columns[column] for signal, column in waves.items()},
        {signal: f"{table.source}, column {column}" for signal, column in waves.items()},
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


def _check_units(table: TextTable) -> None:
    """Raise an InputError if a column is there in another unit only."""
    for columns in (*((name,) for name in (*WAVEFORM_COLUMNS, ADDUCTION_COLUMN)), *DRIVE_COLUMNS):
        if set(columns) & set(table.names):
            continue
        for column in columns:
            stem = column.rpartition("_")[0]
            if (other := next((n for n in table.names if n.startswith(stem)), None)) is not None:
                raise InputError(
                    f"{table.source}, column {other}: expected {column}, whose name has the unit; "
                    "convert and rename the column"
                )


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
