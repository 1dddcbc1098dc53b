"""Reading of the rows and cells of a table."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

from foundation.errors import InputError


def read_rows(source: Path) -> list[tuple[int, list[str]]]:
    """Return (number of the line, cells) of the header and the rows of a CSV table.

    Empty lines and those that start with # are left out.

    Raises
    ------
    InputError
        If it is no text, or has no row; the message names the file.
    FileNotFoundError
        If there is no such file.
    """
    try:
        text = source.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{source}: expected a table as text, found: {error}") from error
    lines = [
        (number, [cell.strip() for cell in next(csv.reader([line]))])
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if len(lines) < 2:
        raise InputError(f"{source}: expected a header and rows, found {len(lines)} lines")
    return lines


def check_once(source: Path, header: Sequence[str], name: str) -> None:
    """Raise an InputError that names file and column unless the header has the column once."""
    if header.count(name) != 1:
        raise InputError(
            f"{source}, column {name}: expected it once in the header, found "
            f"{header.count(name)} in {', '.join(header)}"
        )


def read_number(where: str, cell: str) -> float:
    """Return the finite number of a cell; an InputError says where and what else it is."""
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{where}: expected a finite number, found {cell or 'nothing'}")
    return value
