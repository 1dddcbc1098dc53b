"""One frame of all benchmarks: rows of SI values become a table with units; clocks and measures.

    @measured("Cost over mesh size", {"edge [mm]": "g", "triangles": "d", "time [ms]": ".2f"})
    def cost() -> Rows:
        for edge in (2e-3, 1e-3):
            yield edge, count, seconds(...)

    TABLES = (cost,)

`cost()` returns a `Table`, whose text is Markdown. The unit in brackets at the end of a column's
name says how to show the SI values of that column: the first word in the brackets is the unit.
`python -m benchmarks` prints the `TABLES` of the modules.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

DOCS = Path(__file__).resolve().parents[1] / "docs"

#: Factor from the SI value to each unit of a column.
UNITS: Mapping[str, float] = {
    "%": 100.0, "1/s": 1.0, "N": 1.0, "MPa": 1e-6, "deg": float(np.degrees(1.0)), "kN/mm": 1e-6,
    "mm": 1e3, "mm²": 1e6, "ms": 1e3, "s": 1.0, "µm": 1e6, "µs": 1e6,
}  # fmt: skip

#: A number [SI], several numbers, text, or None for an empty cell.
Cell = float | str | Sequence[float] | None
Rows = Iterable[Sequence[Any]]
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Table:
    """A measured table.

    Names of columns end with the unit in brackets where the values have one; the formats of their
    cells are specifications such as ".2f", or, for cells of several numbers, text with fields such
    as "{:.2f} / {:.2f}". A row has a `Cell` for each column.
    """

    title: str
    columns: Mapping[str, str]
    rows: Sequence[Sequence[Cell]]

    def __str__(self) -> str:
        """Return the table as Markdown under its title."""
        formats = list(self.columns.items())
        lines = [
            " | ".join(shown(cell, *column) for cell, column in zip(row, formats, strict=True))
            for row in self.rows
        ]
        head = [" | ".join(self.columns), "|".join(["---"] * len(formats))]
        return "\n".join([f"### {self.title}", "", f"| {head[0]} |", f"|{head[1]}|",
                          *(f"| {line} |" for line in lines)])  # fmt: skip


def shown(cell: Cell, name: str, form: str) -> str:
    """Return the text of a cell under a column's name and format."""
    if cell is None or isinstance(cell, str):
        return cell or ""
    unit = re.search(r"\[([^\]]+)\]$", name)
    scale = 1 if unit is None else UNITS[unit[1].split()[0]]
    if "{" in form:
        return form.format(*(scale * value for value in np.atleast_1d(cell)))
    return format(scale * cell, form)  # type: ignore[operator]


def measured(
    title: str, columns: Mapping[str, str]
) -> Callable[[Callable[Parameters, Rows]], Callable[Parameters, Table]]:
    """Return a decorator: a function that yields rows becomes one that returns a `Table`."""

    def decorate(rows: Callable[Parameters, Rows]) -> Callable[Parameters, Table]:
        @wraps(rows)
        def make(*args: Parameters.args, **options: Parameters.kwargs) -> Table:
            return Table(title, columns, [tuple(row) for row in rows(*args, **options)])

        return make

    return decorate


def alike(names: Iterable[str], form: str) -> dict[str, str]:
    """Return columns of one format."""
    return dict.fromkeys(names, form)


def seconds(function: Callable[[], object], budget: float = 0.5) -> float:
    """Return the median time of a call, from as many calls as the budget [s] allows."""
    function()  # compiles, fills caches
    times: list[float] = []
    while sum(times) < budget and len(times) < 1000:
        times.append(clocked(function, time.perf_counter)[1])
    return float(np.median(times))


def clocked(
    function: Callable[[], Result], clock: Callable[[], float] = time.process_time
) -> tuple[Result, float]:
    """Return the result of one call and its time [s], by default that of the processor."""
    start = clock()
    result = function()
    return result, clock() - start


def rms(values: ArrayLike) -> float:
    """Return the root of the mean square."""
    return float(np.sqrt(np.mean(np.square(values))))


def height_at(force: Callable[[float], float], wanted: float, start: float, step: float) -> float:
    """Return the height [m] at which a femur that is lowered in steps [m] carries a force [N].

    `force` is the axial force [N] at a height; it grows as the femur sinks from `start` [m].
    """
    high = start
    while force(high) < wanted:
        high -= step
    return float(brentq(lambda height: force(height) - wanted, high, high + step, xtol=1e-9))
