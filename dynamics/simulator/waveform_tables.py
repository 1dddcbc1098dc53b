"""Tables of the waveforms of a gait cycle."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
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
    #: Largest magnitude below which a column is an error, a warning; zeros are neither.
    least: tuple[float, float]
    #: Least and largest magnitude of tests, by which a mistake is recognised.
    common: tuple[float, float]
    #: Units that tables have by mistake, and their factors to the unit.
    units: Mapping[str, float]

    def has(self, values: FloatArray) -> bool:
        """Return whether values (n,) [the unit] are those of a common test."""
        low, high = self.usual
        within = low <= values.min() and values.max() <= high
        return bool(within and self.common[0] <= np.abs(values).max() <= self.common[1])


_RADIANS = {"radians": 180.0 / math.pi}
#: Of a body of 75 kg.
_WEIGHTS = {"kilonewtons": 1e3, "body weights": 735.0}
_AXIAL = _WEIGHTS | {"per cent of the body weight": 7.35, "kilograms-force": 9.81}
_TORQUES = {"N mm": 1e-3, "N cm": 1e-2, "kN m": 1e3}
# Figures of ISO 14243-1:2009 and -3:2014 are from memory, not verified (flexion 0 to 58 deg, axial
# 168 to 2600 N, AP -265 to 110 N, torque -1 to 6 N m, AP displacement -5.2 to 0 mm, rotation -1.9
# to 5.7 deg), hence the wide factors. In vivo: up to 5165 N in jogging, 10.5 N m in walking
# (Bergmann et al. 2014, PLoS ONE 9:e86035); kneeling and deep squats reach about 160 deg, with some
# 30 deg of rotation and 30 mm of roll-back.
PLAUSIBLE = {
    "flexion": Plausible(
        *("deg", "degrees", (-40.0, 180.0), (-15.0, 165.0), (0.5 * math.pi, math.pi)),
        *((15.0, 165.0), _RADIANS),
    ),
    "axial_force": Plausible(
        *("N", "newtons", (0.0, 20e3), (0.0, 8e3), (10.0, 450.0), (500.0, 8e3), _AXIAL)
    ),
    "ap_force": Plausible(
        *("N", "newtons", (-5e3, 5e3), (-1200.0, 1200.0), (0.0, 1.0), (10.0, 1200.0), _WEIGHTS)
    ),
    "internal_torque": Plausible(
        *("N m", "N m", (-100.0, 100.0), (-30.0, 30.0), (0.0, 0.05), (1.0, 30.0), _TORQUES)
    ),
    "adduction_torque": Plausible(
        *("N m", "N m", (-1e3, 1e3), (-150.0, 150.0), (0.0, 0.1), (3.0, 150.0), _TORQUES)
    ),
    "anterior": Plausible(
        *("mm", "millimetres", (-60.0, 60.0), (-30.0, 30.0), (0.0, 0.6), (1.0, 30.0)),
        {"metres": 1e3, "centimetres": 10.0, "micrometres": 1e-3},
    ),
    "rotation": Plausible(
        *("deg", "degrees", (-90.0, 90.0), (-35.0, 35.0), (0.0, 0.3), (1.0, 35.0), _RADIANS)
    ),
}
#: Least distance of a spike from the curve through the rows beside it, over the range of a column
#: and over that of most rows, which is large in noise; a spike leaves 2/3 of it with the opposite
#: sign in both rows beside it, a corner or a step does not.
_SPIKE, _NOISE, _BESIDE = 0.1, 4.0, 0.4


def check_columns(
    percent: FloatArray, columns: Mapping[str, FloatArray], places: Mapping[str, str]
) -> None:
    """Warn about improbable columns (n,) at [%], or raise an `InputError` if impossible."""
    # Rows are at instants (n,) [%]; `places` has file and column of each signal for messages.
    for name, values in columns.items():
        doubt, is_error = _doubt(name, percent, columns)
        if is_error:
            raise InputError(f"{places[name]}: {doubt}")
        for text in filter(None, (doubt, _spike(percent, values, PLAUSIBLE[name].unit))):
            warnings.warn(f"{places[name]}: {text}", stacklevel=3)


def _doubt(name: str, percent: FloatArray, columns: Mapping[str, FloatArray]) -> tuple[str, bool]:
    """Return the doubt about a column, "" if there is none, and whether it is an error."""
    rule, values = PLAUSIBLE[name], columns[name]
    peak = float(np.abs(values).max())
    hint = _hint(name, columns)
    for is_error, (low, high) in ((True, rule.possible), (False, rule.usual)):
        row = int(np.maximum(low - values, values - high).argmax())
        if not low <= values[row] <= high:
            found = f"{values[row]:g} {rule.unit} at {percent[row]:g} %{hint}"
            bounds = f"at least {low:g} and at most {high:g} {rule.unit}"
            return f"expected {bounds}, found {found}", is_error
    constant_motion = rule.unit in ("deg", "mm") and np.ptp(values) == 0.0
    if 0.0 < peak < rule.least[1] and not constant_motion:
        found = f"values of at most {peak:.3g}{hint}"
        return f"expected {rule.words}, found {found}", peak < rule.least[0]
    return "", False


def _hint(name: str, columns: Mapping[str, FloatArray]) -> str:
    """Return the likely mistake and its remedy: columns exchanged, another unit, another sign."""
    rule, values = PLAUSIBLE[name], columns[name]
    for other, others in columns.items():
        if other != name and PLAUSIBLE[other].has(values) and rule.has(others):
            return f"; the column seems to be exchanged with that of {other.replace('_', ' ')}"
    factors = {rule.words: 1.0} | dict(rule.units)
    for sign, words in ((1.0, ""), (-1.0, " of the opposite sign")):
        names = [unit for unit, factor in factors.items() if rule.has(sign * factor * values)]
        if names:
            return f", which look like {' or '.join(names)}{words}; convert the column"
    return "; check unit and sign of the column, and its rows"


def _spike(percent: FloatArray, values: FloatArray, unit: str) -> str:
    """Return what is told about a row far from the curve through the rows beside it, or ""."""
    within = percent[0] >= 0.0 and percent[-1] < 100.1
    if len(values) < 7 or not within or (np.diff(percent) <= 0.0).any():
        return ""  # `GaitCycle` rejects such rows
    at = np.concatenate([percent[-3:-1] - 100.0, percent, percent[1:3] + 100.0])
    row = np.concatenate([values[-3:-1], values, values[1:3]])
    beside = [at[k : k + len(values)] for k in (0, 1, 3, 4)]
    curve = np.zeros(len(values))
    for k, (x, shift) in enumerate(zip(beside, (0, 1, 3, 4), strict=True)):
        rest = beside[:k] + beside[k + 1 :]
        weight = np.prod([(percent - other) / (x - other) for other in rest], axis=0)
        curve += weight * row[shift : shift + len(values)]
    away = values - curve
    worst = int(np.abs(away).argmax())
    # The last row is the first of the next cycle.
    around = away[[worst - 1 if worst else -2, worst + 1 if worst + 1 < len(away) else 1]]
    usual = max(_NOISE * np.quantile(np.abs(away), 0.8), 1e-9 * np.abs(values).max())
    if abs(away[worst]) <= max(_SPIKE * np.ptp(values), usual):
        return ""
    if (around * np.sign(away[worst]) > -_BESIDE * abs(away[worst])).any():
        return ""
    return (
        f"expected about {curve[worst]:.4g} {unit} at {percent[worst]:g} % by the rows beside it, "
        f"found {values[worst]:g} {unit}; correct the row if it is a spike"
    )


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
