"""Tables of the waveforms of a gait cycle."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dynamics.csv_table import SI_FACTORS, TextTable, read_csv_table
from dynamics.simulator.waveforms import GaitCycle
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError


class Plausible(NamedTuple):
    """Plausible values of a column, in its unit."""

    #: Unit as symbol and in words.
    unit: str
    words: str
    #: Least and largest value; a value beyond is an error, or (`usual`) a warning.
    possible: tuple[float, float]
    usual: tuple[float, float]
    #: A column whose largest magnitude is below the first is an error, below the second a warning.
    least: tuple[float, float]


# Figures of ISO 14243-1:2009 and -3:2014 are from memory, not verified (flexion 0 to 58 deg, axial
# 168 to 2600 N, AP -265 to 110 N, torque -1 to 6 N m, AP displacement -5.2 to 0 mm, rotation -1.9
# to 5.7 deg), hence the wide factors. In vivo: up to 5165 N in jogging, 10.5 N m in walking
# (Bergmann et al. 2014, PLoS ONE 9:e86035); kneeling and deep squats reach about 160 deg, with some
# 30 deg of rotation and 30 mm of roll-back.
PLAUSIBLE = {
    "flexion": Plausible(
        "deg", "degrees", (-40.0, 180.0), (-15.0, 165.0), (0.5 * math.pi, math.pi)
    ),
    "axial_force": Plausible("N", "newtons", (0.0, 20e3), (0.0, 8e3), (10.0, 450.0)),
    "ap_force": Plausible("N", "newtons", (-5e3, 5e3), (-1200.0, 1200.0), (0.0, 1.0)),
    "internal_torque": Plausible("N m", "N m", (-100.0, 100.0), (-30.0, 30.0), (0.0, 0.05)),
    "adduction_torque": Plausible("N m", "N m", (-1e3, 1e3), (-150.0, 150.0), (0.0, 0.1)),
    "anterior": Plausible("mm", "millimetres", (-60.0, 60.0), (-30.0, 30.0), (0.0, 0.6)),
    "rotation": Plausible("deg", "degrees", (-90.0, 90.0), (-35.0, 35.0), (0.0, 0.3)),
}


def _check_column(name: str, percent: FloatArray, values: FloatArray, place: str) -> None:
    """Warn about an improbable column (n,) at [%], or raise an `InputError` if impossible."""
    doubt, is_error = _doubt(PLAUSIBLE[name], percent, values)
    message = f"{place}: {doubt}; check unit and sign of the column, its rows and its name"
    if is_error:
        raise InputError(message)
    if doubt:
        warnings.warn(message, stacklevel=3)


def _doubt(rule: Plausible, percent: FloatArray, values: FloatArray) -> tuple[str, bool]:
    """Return the doubt about a column (n,) at [%], "" if none, and whether it is an error."""
    peak = float(np.abs(values).max())
    for is_error, (low, high) in ((True, rule.possible), (False, rule.usual)):
        row = int(np.maximum(low - values, values - high).argmax())
        if not low <= values[row] <= high:
            value = f"{values[row]:g} {rule.unit} at {percent[row]:g} %"
            bounds = f"at least {low:g} and at most {high:g} {rule.unit}"
            return f"expected {bounds}, found {value}", is_error
    constant_motion = rule.unit in ("deg", "mm") and np.ptp(values) == 0.0
    if 0.0 < peak < rule.least[1] and not constant_motion:
        return f"expected {rule.words}, found values of at most {peak:.3g}", peak < rule.least[0]
    return "", False


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
        If the values of a column are improbable.
    """
    table = read_csv_table(Path(path))
    _check_units(table)
    driven = [_drive_column(table, pair) for pair in DRIVE_COLUMNS]
    driven += [ADDUCTION_COLUMN] * (ADDUCTION_COLUMN in table.names)
    columns = {name: table.column(name) for name in (*WAVEFORM_COLUMNS, *driven)}
    columns["axial_force_N"] = axial_scale * columns["axial_force_N"]
    for column, values in columns.items():
        if column != "gait_percent":
            place = f"{table.source}, column {column}"
            _check_column(column.rpartition("_")[0], columns["gait_percent"], values, place)
    signals = {}
    for column, values in columns.items():
        name, _, unit = column.rpartition("_")
        signals[name] = SI_FACTORS[unit] * values
    try:
        return GaitCycle(signals.pop("gait"), period=period_s, **signals)
    except InputError as error:
        name = str(error).split(":")[0]
        column = next((header for header in columns if header.startswith(name)), name)
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
