"""Cells of tables of measurements: text with any separator, OpenSim's tables, and workbooks.

Numbers become floats, other cells text, and empty cells None. A merged cell of a workbook fills all
cells that it covers.
"""

from __future__ import annotations

import csv
import math
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from foundation.base.errors import InputError

#: A cell of a table.
Cell = float | str | None
Grid = list[list[Cell]]

#: Endings of workbooks.
WORKBOOKS = (".xlsx", ".xlsm")
#: Endings of formats that other programs convert.
_OLD = (".xls", ".ods", ".mat", ".c3d")
#: Separators of cells, the likeliest first.
_SEPARATORS = ("\t", ";", ",")
#: Lines in which the separator is searched.
_SAMPLE = 200
#: Numbers with separators of thousands beside a decimal sign: 1,177.4 and 1.177,4.
_THOUSANDS = (re.compile(r"[+-]?\d{1,3}(,\d{3})+\.\d*"), re.compile(r"[+-]?\d{1,3}(\.\d{3})+,\d*"))
#: Cells that stand for no value.
_NOTHING = frozenset({"", "-", "--", "nan", "na", "n/a", "#n/a", "null", "none"})


def read_grids(path: Path) -> dict[str, Grid]:
    """Return the cells of each sheet of a file by name; a text file is a sheet without a name.

    Raises
    ------
    InputError
        If the file does not exist, is no table, or openpyxl is needed and not installed.
    """
    if not path.is_file():
        found = "a folder" if path.is_dir() else "no such file"
        raise InputError(f"{path}: expected a table, found {found}; check implant_forces.file")
    ending = path.suffix.lower()
    if ending in WORKBOOKS:
        return _workbook(path)
    if ending in _OLD:
        raise InputError(
            f"{path}: expected text (.csv, .txt, .sto) or a workbook (.xlsx), found {ending}; "
            "save the table as .xlsx or .csv"
        )
    return {"": text_grid(_text(path))}


def text_grid(text: str) -> Grid:
    """Return the cells of a text; lines that start with # are left out.

    The separator is the tab, semicolon or comma that splits most lines, or else blanks. A comma is
    a decimal point where another separator splits the cells.
    """
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    separator = _separator(lines)
    if separator is None:
        rows = _split_at_blanks(lines)
    else:
        rows = list(csv.reader(lines, delimiter=separator))
    comma = separator != ","
    return [[_cell(each, decimal_comma=comma) for each in row] for row in rows]


def _split_at_blanks(lines: list[str]) -> list[list[str]]:
    """Return the cells of lines that blanks separate.

    Two or more blanks separate cells if they do so in most lines: names may then have blanks.
    """
    wide = [re.split(r"\s{2,}", line.strip()) for line in lines]
    if 2 * sum(len(cells) > 1 for cells in wide) > len(lines):
        return wide
    return [_with_units(line.split()) for line in lines]


def _with_units(words: list[str]) -> list[str]:
    """Return words with each word in brackets, such as [N], joined to the word before."""
    cells: list[str] = []
    for word in words:
        if cells and word[0] in "[(":
            cells[-1] += f" {word}"
        else:
            cells.append(word)
    return cells


def _separator(lines: list[str]) -> str | None:
    """Return the separator of most lines, None for blanks."""
    sample = [line for line in lines if line.strip()][-_SAMPLE:]
    for separator in _SEPARATORS:
        if 2 * sum(separator in line.strip(" ") for line in sample) > len(sample):
            return separator
    return None


def _text(path: Path) -> str:
    """Return the text of a file in UTF-8, UTF-16 or Windows' encoding of Western Europe."""
    content = path.read_bytes()
    if b"\0" in content and content[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{path}: expected a table as text or a workbook (.xlsx), found binary")
    for encoding in ("utf-8-sig", "utf-16") if b"\0" not in content else ("utf-16",):
        try:
            return content.decode(encoding)
        except UnicodeError:
            continue
    return content.decode("cp1252", errors="replace")


def _cell(text: str, *, decimal_comma: bool) -> Cell:
    """Return a cell of text as a number, as text, or as None."""
    text = " ".join(text.replace("\xa0", " ").split())
    if text.casefold() in _NOTHING:
        return None
    number = text
    if _THOUSANDS[0].fullmatch(text):
        number = text.replace(",", "")
    elif _THOUSANDS[1].fullmatch(text):
        number = text.replace(".", "").replace(",", ".")
    elif decimal_comma and "." not in text:
        number = text.replace(",", ".")
    try:
        value = float(number)
    except ValueError:
        return text
    return value if math.isfinite(value) else None


def _workbook(path: Path) -> dict[str, Grid]:
    """Return the cells of the sheets of a workbook."""
    if find_spec("openpyxl") is None:
        raise InputError(
            f"{path}: Excel workbooks need openpyxl, which is not installed: pip install "
            "knee-contact[xlsx]; or save the sheet as .csv"
        )
    # pandas leaves merged cells empty, which openpyxl lists.
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        book = load_workbook(path, data_only=True)
    except (BadZipFile, InvalidFileException, KeyError, OSError, ValueError) as error:
        raise InputError(f"{path}: expected a workbook of Excel, found: {error}") from error
    return {sheet.title: _sheet_grid(sheet) for sheet in book.worksheets}


def _sheet_grid(sheet: Any) -> Grid:
    """Return the cells of a sheet; merged cells fill the cells that they cover."""
    grid = [[_sheet_cell(value) for value in row] for row in sheet.iter_rows(values_only=True)]
    for area in sheet.merged_cells.ranges:
        value = grid[area.min_row - 1][area.min_col - 1]
        for row in grid[area.min_row - 1 : area.max_row]:
            row[area.min_col - 1 : area.max_col] = [value] * (area.max_col - area.min_col + 1)
    return grid


def _sheet_cell(value: Any) -> Cell:
    """Return a cell of a sheet as a number, as text, or as None."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if math.isfinite(value) else None
    return _cell(str(value), decimal_comma=False)
