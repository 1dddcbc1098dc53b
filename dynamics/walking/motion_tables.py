"""Tables of motions and forces over time: OpenSim's `.mot` and `.sto`, and CSV.

An OpenSim table is a header of lines `key=value` that `endheader` ends, a line of column names and
one row per instant, separated by tabs or blanks. Versions 1 (with `nRows` and `nColumns`) and 3
(without), and the older `datarows` and `datacolumns`, are read alike; numbers are checked where
they are given.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynamics.csv_table import read_number, read_rows
from foundation.checks import FloatArray, check_array, check_in, frozen
from foundation.errors import InputError

#: Endings of OpenSim's tables.
OPENSIM_ENDINGS = (".mot", ".sto")
#: Names that the column of the time may have.
TIME_COLUMNS = ("time", "time_s")
_HEADER_KEY = re.compile(r"\s*(nrows|datarows|ncolumns|datacolumns|indegrees)[\s=]+(\S+)\s*", re.I)
_DEGREES = {"yes": True, "no": False}


@dataclass(frozen=True, eq=False)
class MotionTable:
    """Columns over time, as a file gives them.

    Parameters
    ----------
    names : tuple of str
        Of the n columns beside the time.
    time : (N,) float64
        Instants [s], increasing.
    values : (N, n) float64
        The columns, in the file's units.
    in_degrees : bool, optional
        Whether angles are in degrees; None where the file does not say.
    source : str
        What messages call the table.

    Raises
    ------
    InputError
        If the shapes do not match, a value is not finite, the time does not increase or a name
        comes twice.
    """

    names: tuple[str, ...]
    time: FloatArray
    values: FloatArray
    in_degrees: bool | None = None
    source: str = "motion table"

    def __post_init__(self) -> None:
        names = tuple(self.names)
        object.__setattr__(self, "names", names)
        twice = [name for name in (*names, "time") if (*names, "time").count(name) > 1]
        if twice:
            raise InputError(f"{self.source}: expected each column once, found {twice[0]!r} twice")
        time = check_array(f"{self.source}, time", self.time, (None,))
        values = check_array(f"{self.source}, values", self.values, (len(time), len(names)))
        if len(time) < 1 or (np.diff(time) <= 0.0).any():
            raise InputError(f"{self.source}, time: expected increasing instants, found {time}")
        object.__setattr__(self, "time", frozen(time))
        object.__setattr__(self, "values", frozen(values))

    def column(self, name: str) -> FloatArray:
        """Return one column (N,) in the file's unit; an InputError names the column if absent."""
        if name not in self.names:
            raise InputError(
                f"{self.source}: expected a column {name!r}, found {', '.join(self.names)}"
            )
        return self.values[:, self.names.index(name)].copy()

    def angle(self, name: str) -> FloatArray:
        """Return one column (N,) of angles [rad].

        A name that ends in `_deg` or `_rad` states its unit; else `in_degrees` does.

        Raises
        ------
        InputError
            If there is no such column, or neither its name nor the table states the unit.
        """
        values = self.column(name)
        suffix = name.rpartition("_")[2]
        degrees = {"deg": True, "rad": False}.get(suffix, self.in_degrees)
        if degrees is None:
            raise InputError(
                f"{self.source}, column {name}: expected a unit of the angle, from inDegrees in "
                f"the header, in_degrees or a name that ends in _deg or _rad, found none"
            )
        return np.radians(values) if degrees else values


def read_motion_columns(path: str | Path) -> tuple[str, ...]:
    """Return the names of a table's columns but the time; see `read_motion_table`."""
    _, names, _ = _read_lines(Path(path))
    return tuple(name for name in names[1] if name not in TIME_COLUMNS)


def read_motion_table(
    path: str | Path, *, in_degrees: bool | None = None, columns: Collection[str] | None = None
) -> MotionTable:
    """Read a motion or a table of forces.

    Parameters
    ----------
    path : path
        `.mot` or `.sto` (OpenSim), else CSV with a header of names and # comments. A column
        `time` or `time_s` [s] is needed, at any place.
    in_degrees : bool, optional
        Whether angles are in degrees, in place of what the header says.
    columns : collection of str, optional
        Names of the columns to read, of those that are there; the cells of others are not looked
        at. By default all.

    Returns
    -------
    MotionTable
        The columns, in the file's units.

    Raises
    ------
    InputError
        If the header does not end, does not fit the table or names a column twice, a row is too
        short or too long, a cell is not a finite number, or the time does not increase; the
        message names the file, and line and column.
    FileNotFoundError
        If there is no such file.
    """
    source = Path(path)
    header, (first, names), rows = _read_lines(source)
    clock = next((name for name in TIME_COLUMNS if name in names), None)
    if clock is None:
        raise InputError(
            f"{source}, line {first}: expected a column time, found {', '.join(names)}"
        )
    others = [n for n in names if n != clock and (columns is None or n in columns)]
    _check_count(source, header, ("ncolumns", "datacolumns"), len(names), "columns")
    chosen = [(names.index(name), name) for name in (clock, *others)]
    table = np.array([_numbers(source, names, *row, chosen) for row in rows])
    _check_count(source, header, ("nrows", "datarows"), len(table), "rows")
    time = table[:, 0]
    for k in np.flatnonzero(np.diff(time) <= 0.0)[:1]:
        raise InputError(
            f"{source}, line {rows[k + 1][0]}, column {clock}: expected more than "
            f"{time[k]:g} s of the row before, found {time[k + 1]:g}"
        )
    if in_degrees is None and "indegrees" in header:
        in_degrees = _DEGREES[check_in(f"{source}, inDegrees", header["indegrees"], _DEGREES)]
    return MotionTable(tuple(others), time, table[:, 1:], in_degrees, str(source))


def write_motion_table(path: str | Path, table: MotionTable, *, title: str = "motion") -> None:
    """Write a table as OpenSim reads it, version 1.

    Parameters
    ----------
    path : path
        `.mot` or `.sto`.
    table : MotionTable
        What to write; numbers are written so that they are read back the same.
    title : str
        First line of the header.

    Raises
    ------
    InputError
        If the path ends in neither, or as `motion_text`.
    """
    target = Path(path)
    check_in("path ending", target.suffix.lower(), OPENSIM_ENDINGS)
    target.write_text(motion_text(table, title=title), encoding="utf-8")


def motion_text(table: MotionTable, *, title: str = "motion") -> str:
    """Return the text that `write_motion_table` writes.

    Raises
    ------
    InputError
        If the table does not say whether angles are in degrees, or a name cannot stand in a line
        whose columns tabs separate.
    """
    if table.in_degrees is None:
        raise InputError(f"{table.source}: expected in_degrees to be True or False, found None")
    for name in table.names:
        if not name or name != " ".join(name.split()):
            raise InputError(
                f"{table.source}: expected names without tabs, line ends and blanks at their "
                f"ends, found {name!r}"
            )
    header = [
        title,
        "version=1",
        f"nRows={len(table.time)}",
        f"nColumns={1 + len(table.names)}",
        f"inDegrees={'yes' if table.in_degrees else 'no'}",
        "endheader",
        "\t".join(("time", *table.names)),
    ]
    rows = np.column_stack([table.time, table.values]).tolist()
    lines = [*header, *("\t".join(map(repr, row)) for row in rows)]
    return "\n".join(lines) + "\n"


def _read_lines(
    source: Path,
) -> tuple[dict[str, str], tuple[int, list[str]], list[tuple[int, list[str]]]]:
    """Return the header, and (number of the line, cells) of the names and of each row."""
    if source.suffix.lower() in OPENSIM_ENDINGS:
        header, lines = _read_opensim(source)
    else:
        header, lines = {}, read_rows(source)
    (first, names), *rows = lines
    for name in names:
        if not name or names.count(name) > 1:
            found = f"{name!r} {names.count(name)} times" if name else "an empty name"
            raise InputError(f"{source}, line {first}: expected each column once, found {found}")
    return header, (first, names), rows


def _read_opensim(source: Path) -> tuple[dict[str, str], list[tuple[int, list[str]]]]:
    """Return what the header says, and (number of the line, cells) of the names and the rows."""
    try:
        text = source.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{source}: expected a table as text, found: {error}") from error
    lines = text.splitlines()
    ends = [i for i, line in enumerate(lines) if line.strip().lower() == "endheader"]
    if not ends:
        raise InputError(
            f"{source}: expected a header that ends with endheader, found none; add it, or let the "
            "file end in .csv if its first line holds the names and commas separate them"
        )
    matches = [_HEADER_KEY.fullmatch(line) for line in lines[: ends[0]]]
    header = {m[1].lower(): m[2].lower() for m in matches if m}
    body = [
        (number, _cells(line))
        for number, line in enumerate(lines[ends[0] + 1 :], ends[0] + 2)
        if line.strip()
    ]
    if len(body) < 2:
        raise InputError(
            f"{source}: expected column names and rows after endheader, found {len(body)} lines"
        )
    return header, body


def _cells(line: str) -> list[str]:
    # Names may hold blanks where tabs separate them.
    separator = "\t" if "\t" in line.strip() else None
    return [cell.strip() for cell in line.strip().split(separator)]


def _numbers(
    source: Path,
    names: Sequence[str],
    line: int,
    cells: Sequence[str],
    chosen: Sequence[tuple[int, str]],
) -> list[float]:
    if len(cells) != len(names):
        raise InputError(
            f"{source}, line {line}: expected {len(names)} cells, {names[0]} to {names[-1]}, "
            f"found {len(cells)}"
        )
    return [
        read_number(f"{source}, line {line}, column {name}", cells[place]) for place, name in chosen
    ]


def _check_count(
    source: Path, header: Mapping[str, str], keys: Sequence[str], found: int, what: str
) -> None:
    for key in keys:
        if key in header and header[key] != str(found):
            raise InputError(
                f"{source}: expected {header[key]} as the header says ({key}), found {found} "
                f"{what}; the file is cut off or was changed: correct it or the header"
            )
