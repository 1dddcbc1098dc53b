"""Motions prescribed by tables over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline

from dynamics.csv_table import SI_FACTORS, read_csv_table
from foundation.base.checks import FloatArray, check_array, check_fields
from foundation.base.errors import InputError

#: Degree of the spline; its second derivative is then a cubic spline, accurate to fourth order.
DEGREE = 5
#: Units of the columns of a table.
_UNITS = ("deg", "rad", "m", "mm")
# Share of the table's span by which rounding may carry a time beyond its ends.
_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class PrescribedMotion:
    """Quantities prescribed over time, with first and second derivatives.

    The quintic spline interpolates every row (ends "not-a-knot"). The second derivative amplifies
    noise: smooth measured data first.

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
        check_fields(self, "motion: ", time=(None,), values=(len(time), None))

    @property
    def columns(self) -> int:
        """Number of quantities, K."""
        return self.values.shape[1]

    def at(self, time: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return quantities, rates and accelerations (K,) [rad or m; s] at a time in the table."""
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


def load_motion(path: str | Path, names: Sequence[str]) -> PrescribedMotion:
    """Read a prescribed motion from a CSV table with columns `time_s` and `name_unit`."""
    # Units are deg, rad, m or mm; other columns are ignored. Names are the segments of a chain, or
    # ("x", "y") for the path of its base, in the order of the motion's columns.
    table = read_csv_table(Path(path))
    time, values = table.column("time_s"), []
    for name in names:
        units = [unit for unit in _UNITS for cell in table.names if cell == f"{name}_{unit}"]
        if len(units) != 1:
            raise InputError(
                f"{table.source}: expected one column of "
                f"{', '.join(f'{name}_{unit}' for unit in _UNITS)}, found {len(units)} in "
                f"{', '.join(table.names)}"
            )
        values.append(SI_FACTORS[units[0]] * table.column(f"{name}_{units[0]}"))
    try:
        return PrescribedMotion(time, np.array(values).reshape(len(values), -1).T)
    except InputError as error:
        raise InputError(f"{table.source}: {error}") from error
