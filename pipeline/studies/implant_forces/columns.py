"""Columns of a sheet of measurements: names over several rows, units and numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from foundation.base.checks import FloatArray
from pipeline.studies.implant_forces.cells import Cell, Grid

#: Rows of names above the numbers at most.
_HEADER_ROWS = 6
#: Rows of numbers at least.
_LEAST_ROWS = 3
_BRACKETS = re.compile(r"[\[(]([^\])]*)[\])]")


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a sheet.

    Parameters
    ----------
    names : tuple of str
        Cells above the numbers, the lowest first; empty cells are left out.
    values : (N,) float64
        Numbers [any unit]; NaN where a cell has none.
    strays : tuple of str
        Cells among the numbers that are text.
    """

    names: tuple[str, ...]
    values: FloatArray
    strays: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the column as people read it, the highest row first."""
        return " ".join(reversed(self.names))

    def is_named(self, text: str) -> bool:
        """Return whether a text is the name of the column, or one of the cells of the name."""
        wanted = _plain(text)
        return wanted in {_plain(self.name), *map(_plain, self.names), *_bare(self.names)}


def sheet_columns(grid: Grid) -> list[Column]:
    """Return the columns of a sheet with a name and numbers, from left to right.

    The numbers are the longest block of rows with numbers; the rows directly above have the names.
    A cell above the lowest row of names that has no text continues the cell to its left, as a
    merged cell does in a table of text.
    """
    width = max(map(len, grid), default=0)
    rows = [row + [None] * (width - len(row)) for row in grid]
    begin, end = _numbers(rows)
    if end - begin < _LEAST_ROWS:
        return []
    header = _header(rows[:begin])
    columns = []
    for at in range(width):
        values = np.array([_number(row[at]) for row in rows[begin:end]])
        cells = [row[at] for row in header]
        names = tuple(dict.fromkeys(text for text in map(_words, cells) if text))
        if names and np.isfinite(values).sum() >= _LEAST_ROWS:
            strays = tuple(cell for row in rows[begin:end] if isinstance(cell := row[at], str))
            columns.append(Column(names, values, strays))
    return columns


def _numbers(rows: Grid) -> tuple[int, int]:
    """Return the longest block of rows of numbers: its first row, and the row after its last."""
    best, begin = (0, 0), None
    end: list[Cell] = ["end"]
    for at, row in enumerate([*rows, end]):
        numbers = sum(isinstance(cell, float) for cell in row)
        texts = sum(isinstance(cell, str) for cell in row)
        if numbers >= 2 and numbers > texts:
            begin = at if begin is None else begin
            continue
        if begin is not None and texts:
            if at - begin > best[1] - best[0]:
                best = begin, at
            begin = None
    return best


def _header(rows: Grid) -> Grid:
    """Return the rows of names above the numbers, the lowest first."""
    header: Grid = []
    for row in reversed(rows):
        texts = [cell for cell in row if isinstance(cell, str)]
        if not texts:
            if header:
                break
            continue
        if header and len(texts) < 2:
            break  # A title or a note of one cell.
        header.append(_continued(row) if header else row)
        if len(header) == _HEADER_ROWS:
            break
    return header


def _continued(row: list[Cell]) -> list[Cell]:
    """Return a row in which empty cells continue the cell to their left."""
    filled: list[Cell] = []
    for cell in row:
        filled.append(filled[-1] if cell is None and filled else cell)
    return filled


def unit_texts(column: Column) -> list[str]:
    """Return the texts of a name that may be a unit: in brackets, after "_" or ",", or alone."""
    found = []
    for name in column.names:
        found += [text.strip() for text in _BRACKETS.findall(name)]
        outside = _BRACKETS.sub(" ", name)
        found += [outside.rpartition("_")[2].strip(), outside.rpartition(",")[2].strip()]
        found += [outside.rpartition(" ")[2].strip()]
    return [text for text in found if text]


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _bare(names: tuple[str, ...]) -> set[str]:
    """Return cells of a name without the text in brackets."""
    return {_plain(_BRACKETS.sub(" ", name)) for name in names}


def _words(cell: Cell) -> str:
    return " ".join(cell.split()) if isinstance(cell, str) else ""


def _number(cell: Cell) -> float:
    return cell if isinstance(cell, float) else np.nan
