"""Tables of text cells, with messages that name file, line and column."""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from foundation.base.checks import FloatArray, check_in
from foundation.base.errors import InputError

#: Factor to SI units of the units with which names of columns end.
SI_FACTORS = {
    "deg": np.pi / 180.0, "rad": 1.0, "m": 1.0, "mm": 1e-3, "N": 1.0, "Nm": 1.0, "percent": 1.0
}  # fmt: skip


class TextTable(NamedTuple):
    """Cells of a table as text."""

    source: Path
    #: Line number of the header.
    first: int
    names: list[str]
    #: Line number and cells of every row.
    lines: list[tuple[int, list[str]]]

    def where(self, line: int, column: str) -> str:
        """Return the place of a cell for a message: file, line and column."""
        return f"{self.source}, line {line}, column {column}"

    def rows(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield line number and cells by column of every row, as many as the header has."""
        for line, cells in self.lines:
            if len(cells) != len(self.names):
                raise InputError(
                    f"{self.source}, line {line}: expected {len(self.names)} cells, "
                    f"{self.names[0]} to {self.names[-1]}, found {len(cells)}"
                )
            yield line, dict(zip(self.names, cells, strict=True))

    def number(self, line: int, column: str, cell: str) -> float:
        """Return the finite number in a cell; an InputError names file, line and column."""
        try:
            value = float(cell)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            place = self.where(line, column)
            raise InputError(f"{place}: expected a finite number, found {cell or 'an empty cell'}")
        return value

    def column(self, name: str) -> FloatArray:
        """Return the finite numbers of a column, (n,) [1], in the unit of the file."""
        self.check_once(name)
        place = self.names.index(name)
        cells = ((line, row[place] if place < len(row) else "") for line, row in self.lines)
        return np.array([self.number(line, name, cell) for line, cell in cells])

    def check_once(self, name: str) -> None:
        """Raise an InputError that names the file unless the header has a column once."""
        if self.names.count(name) != 1:
            raise InputError(
                f"{self.source}, column {name}: expected once in the header, found "
                f"{self.names.count(name)} times in {', '.join(self.names)}"
            )

    def check_columns(self, needed: Collection[str], optional: Collection[str] = ()) -> None:
        """Raise an InputError unless the header has the needed columns and no unknown ones."""
        for name in self.names:
            check_in(f"{self.source}, header", name, (*needed, *optional))
        for name in (*needed, *(option for option in optional if option in self.names)):
            self.check_once(name)


def read_text(source: Path) -> str:
    """Return the UTF-8 text of a file; raise an InputError that names a file that is not text."""
    if source.suffix.lower() == ".c3d" and source.is_file():
        raise InputError(
            f"{source}: expected a table as text, found a C3D file; give its markers as "
            "inverse_kinematics.markers, and its force plates as walk.external_loads or "
            "measured.ground"
        )
    try:
        return source.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{source}: expected a table as text, found: {error}") from error


def read_lines(source: Path) -> list[tuple[int, str]]:
    """Return number and text of each line that is not empty or a # comment, at least two."""
    lines = [
        (number, line)
        for number, line in enumerate(read_text(source).splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if len(lines) < 2:
        raise InputError(f"{source}: expected a header and rows, found {len(lines)} lines")
    return lines


def read_csv_table(source: Path) -> TextTable:
    """Read a comma-separated table with a header; skip empty lines and lines that start with #."""
    (first, names), *rows = [
        (number, [cell.strip() for cell in next(csv.reader([line]))])
        for number, line in read_lines(source)
    ]
    if len(names) == 1 and (separator := next((s for s in ";\t" if s in names[0]), "")):
        raise InputError(
            f"{source}: expected columns separated by commas, found {separator!r} in the header; "
            "export the table with commas between columns and points in decimal numbers"
        )
    return TextTable(source, first, names, rows)
