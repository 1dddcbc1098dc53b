"""Prescribed motions as tables over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline

from dynamics.csv_table import check_once, read_number, read_rows
from foundation.checks import FloatArray, check_array, frozen
from foundation.errors import InputError

#: Degree of the spline; its second derivative is then a cubic spline, accurate to fourth order.
DEGREE = 5
_SI = {"deg": np.pi / 180.0, "rad": 1.0, "m": 1.0, "mm": 1e-3}
# Share of the table's span by which rounding may carry a time beyond its ends.
_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Motion:
    """Quantities over time, with first and second derivatives.

    The quintic spline passes through every row (ends "not-a-knot"). It follows noise as well, and
    the second derivative amplifies it: measured data are to be smoothed before.

    Parameters
    ----------
    time : (T,) float64
        Strictly increasing [s], T >= 6.
    values : (T, K) float64
        The quantities, one in each column [rad or m].

    Raises
    ------
    InputError
        If a number is not finite, the shapes do not agree, or the times do not increase.
    """

    time: FloatArray
    values: FloatArray

    def __post_init__(self) -> None:
        time = check_array("motion: time", self.time, (None,))
        if len(time) <= DEGREE:
            raise InputError(
                f"motion: time: expected at least {DEGREE + 1} rows, found {len(time)}"
            )
        steps = np.diff(time)
        if steps.min() <= 0.0:
            row = int(np.argmin(steps > 0.0)) + 1
            raise InputError(
                f"motion: time: expected increasing times, found {time[row]:g} s in row {row} "
                f"after {time[row - 1]:g} s"
            )
        values = check_array("motion: values", self.values, (len(time), None))
        object.__setattr__(self, "time", frozen(time))
        object.__setattr__(self, "values", frozen(values))

    @property
    def columns(self) -> int:
        """Number of quantities, K."""
        return self.values.shape[1]

    def at(self, time: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the quantities, their rates and their accelerations.

        Parameters
        ----------
        time : float
            Instant [s], inside the table.

        Returns
        -------
        value, rate, acceleration : (K,) float64
            [rad, rad/s, rad/s² or m, m/s, m/s²].

        Raises
        ------
        InputError
            If the time is not inside the table.
        """
        self.check_covers("time", time)
        value, rate, acceleration = (spline(time) for spline in self._splines)
        return value, rate, acceleration

    def check_covers(self, name: str, time: float) -> None:
        """Raise an InputError that calls the time by a name unless it is inside the table."""
        start, end = self.time[0], self.time[-1]
        slack = _SLACK * (end - start)
        if not start - slack <= time <= end + slack:
            raise InputError(
                f"{name}: expected {start:g} to {end:g} s, which the table covers, found {time:g}"
            )

    @cached_property
    def _splines(self) -> tuple[BSpline, BSpline, BSpline]:
        spline = make_interp_spline(self.time, self.values, k=DEGREE)
        return spline, spline.derivative(1), spline.derivative(2)


def load_motion(path: str | Path, names: Sequence[str]) -> Motion:
    """Read a motion from a table.

    Parameters
    ----------
    path : path
        Comma-separated table with a header: `time_s` and for each name one column called by it and
        its unit, `_deg`, `_rad`, `_m` or `_mm`; in any order, others are ignored. Lines that start
        with # are comments.
    names : sequence of str
        Quantities to read, in the order of the columns of the motion: the segments of a chain for
        their angles, or ("x", "y") for the path of its base.

    Returns
    -------
    Motion
        The motion, in SI units.

    Raises
    ------
    InputError
        If a column is missing, a cell is not a finite number, or `Motion` refuses the rows; the
        message names the file.
    FileNotFoundError
        If there is no such file.
    """
    source = Path(path)
    (_, header), *rows = read_rows(source)
    check_once(source, header, "time_s")
    time = _read_column(source, header, "time_s", rows)
    values = []
    for name in names:
        unit = _unit_of(source, header, name)
        values.append(_SI[unit] * _read_column(source, header, f"{name}_{unit}", rows))
    try:
        return Motion(time, np.array(values).reshape(len(values), -1).T)
    except InputError as error:
        raise InputError(f"{source}: {error}") from error


def _unit_of(source: Path, header: Sequence[str], name: str) -> str:
    """Return the unit that the header gives to a quantity."""
    found = [unit for unit in _SI for cell in header if cell == f"{name}_{unit}"]
    if len(found) != 1:
        raise InputError(
            f"{source}: expected one column of {', '.join(f'{name}_{unit}' for unit in _SI)}, "
            f"found {len(found)} in {', '.join(header)}"
        )
    return found[0]


def _read_column(
    source: Path, header: Sequence[str], name: str, rows: Sequence[tuple[int, Sequence[str]]]
) -> FloatArray:
    index = header.index(name)
    cells = [(number, row[index] if index < len(row) else "") for number, row in rows]
    return np.array(
        [read_number(f"{source}, line {number}, column {name}", cell) for number, cell in cells]
    )
