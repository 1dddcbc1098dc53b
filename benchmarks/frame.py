"""One frame of all benchmarks: rows of SI values become a table with units, and a command.

    @measured("Cost over mesh size", {"edge [mm]": "g", "triangles": "d", "time [ms]": ".2f"})
    def cost() -> Rows:
        for edge in (2e-3, 1e-3):
            yield edge, count, seconds(...)

    if __name__ == "__main__":
        run(__doc__, [cost])

`cost()` returns a `Table`, whose text is Markdown. The unit in brackets at the end of a column's
name says how to show the SI values of that column: the first word in the brackets is the unit.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import numpy as np

#: Folder of the documentation, whose pictures are under version control.
DOCS = Path(__file__).resolve().parents[1] / "docs"
#: Default folder of the files that benchmarks write, below the current folder.
DEFAULT = Path("runs") / "benchmarks"

#: Factor from the SI value to each unit of a column.
UNITS: Mapping[str, float] = {
    "%": 100.0, "1": 1.0, "1/s": 1.0, "GB": 1e-9, "J": 1.0, "MPa": 1e-6, "N": 1.0, "N m": 1.0,
    "deg": float(np.degrees(1.0)), "kN/mm": 1e-6, "m/s": 1.0, "mm": 1e3, "mm²": 1e6, "ms": 1e3,
    "s": 1.0, "µm": 1e6, "µs": 1e6,
}  # fmt: skip

#: A number [SI], several numbers, text, or None for an empty cell.
Cell = float | str | Sequence[float] | None
Rows = Iterable[Sequence[Any]]
Parameters = ParamSpec("Parameters")


@dataclass(frozen=True)
class Table:
    """A measured table.

    Parameters
    ----------
    title : str
        Heading.
    columns : mapping of str to str
        Name of each column, which ends with its unit in brackets where the values have one, and the
        format of its cells: a specification such as ".2f", or, for cells of several numbers, text
        with fields such as "{:.2f} / {:.2f}".
    rows : sequence of sequences
        A `Cell` for each column.
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


def show(tables: Iterable[object]) -> None:
    """Print tables one after the other, each as soon as it is measured."""
    for each in tables:
        print(each, end="\n\n", flush=True)


def run(
    description: str | None,
    tables: Sequence[Callable[[], object]],
    picture: str | None = None,
    draw: Callable[[Path], None] | None = None,
) -> None:
    """Run a benchmark as a program: print its tables; draw its picture into `--out` or docs."""
    parser = argparse.ArgumentParser(description=description)
    if picture is not None:
        add_target(parser, picture)
    chosen = parser.parse_args()
    show(make() for make in tables)
    if draw is not None:
        write(chosen.out, draw)


def add_target(parser: argparse.ArgumentParser, name: str) -> None:
    """Add `--out` and `--docs` for a file of a benchmark."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--out", type=Path, default=DEFAULT / name, metavar="FILE",
        help="file to write (default: %(default)s)",
    )  # fmt: skip
    where.add_argument(
        "--docs", dest="out", action="store_const", const=DOCS / name,
        help=f"replace docs/{name}, the one that the documentation shows",
    )  # fmt: skip


def write(file: Path, draw: Callable[[Path], None]) -> None:
    """Write a file, make its folder, and print the path."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draw(file)
    print(f"written: {file}")
