"""Tables of motions and forces over time: OpenSim's `.mot` and `.sto`, and CSV.

An OpenSim table is a header of lines `key=value` up to `endheader`, a line of column names and one
row per instant, separated by tabs or blanks. Versions 1 (with `nRows` and `nColumns`) and 3
(without), and the older `datarows` and `datacolumns`, are all read; the stated numbers of rows and
columns must fit the table.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynamics.csv_table import TextTable, read_csv_table, read_text
from foundation.base.checks import FloatArray, check_array, check_fields, check_in
from foundation.base.errors import InputError

#: Endings of OpenSim's tables.
OPENSIM_ENDINGS = (".mot", ".sto")
_HEADER_KEY = re.compile(r"\s*(nrows|datarows|ncolumns|datacolumns|indegrees)[\s=]+(\S+)\s*", re.I)
_DEGREES = {"yes": True, "no": False}
#: End of the name of a column with the value of a coordinate in OpenSim's states [rad, m].
STATE_VALUE = "/value"
#: Names of the time column.
TIME_COLUMNS = ("time", "time_s")
ANGLE_UNITS = ("deg", "rad")


def unit_in_name(column: str, units: Collection[str] = ANGLE_UNITS) -> str | None:
    """Return the unit, one of `units`, with which the name of a column ends, or None."""
    suffix = column.rpartition("_")[2]
    return suffix if suffix in units else None


@dataclass(frozen=True, eq=False)
class MotionTable:
    """Columns over time, in the units of a file."""

    names: tuple[str, ...]
    #: (N,) [s], increasing.
    time: FloatArray
    #: The n columns, (N, n).
    values: FloatArray
    #: Whether angles are in degrees; None where the file does not state the unit.
    in_degrees: bool | None = None
    #: Name of the table in messages.
    source: str = "motion table"

    def __post_init__(self) -> None:
        names = tuple(self.names)
        object.__setattr__(self, "names", names)
        twice = [name for name in (*names, "time") if (*names, "time").count(name) > 1]
        if twice:
            raise InputError(f"{self.source}: expected each column once, found {twice[0]!r} twice")
        time = check_array(f"{self.source}, time", self.time, (None,))
        check_fields(self, f"{self.source}, ", time=(None,), values=(len(time), len(names)))
        if len(time) < 1 or (np.diff(time) <= 0.0).any():
            raise InputError(f"{self.source}, time: expected increasing instants, found {time}")

    def column(self, name: str) -> FloatArray:
        """Return one column (N,) in the unit of the file [1]."""
        if name not in self.names:
            raise InputError(
                f"{self.source}: expected a column {name!r}, found {', '.join(self.names)}"
            )
        return self.values[:, self.names.index(name)].copy()

    def angle(self, name: str) -> FloatArray:
        """Return one column (N,) of angles [rad], of which name or table state the unit."""
        # By the ending `_deg` or `_rad` of the name, else `in_degrees`; a state variable of
        # OpenSim, whose name ends in `/value`, is in radians without either.
        values = self.column(name)
        unit = unit_in_name(name)
        degrees = self.in_degrees if unit is None else unit == "deg"
        if degrees is None and name.endswith(STATE_VALUE):
            degrees = False
        if degrees is None:
            raise InputError(
                f"{self.source}, column {name}: expected the unit of the angle in the header "
                "(inDegrees), in_degrees or the ending _deg or _rad of the name, found none"
            )
        return np.radians(values) if degrees else values


def read_motion_columns(path: str | Path) -> tuple[str, ...]:
    """Return the names of the columns of a table except the time; see `read_motion_table`."""
    _, table = _read_cells(Path(path))
    return tuple(name for name in table.names if name not in TIME_COLUMNS)


def read_motion_table(
    path: str | Path, *, in_degrees: bool | None = None, columns: Collection[str] | None = None
) -> MotionTable:
    """Read `.mot` or `.sto` (OpenSim), else CSV with a column `time` or `time_s` [s]."""
    # `columns` are those to read, by default all; cells of other columns are not read.
    header, table = _read_cells(Path(path))
    names = table.names
    clock = next((name for name in TIME_COLUMNS if name in names), None)
    if clock is None:
        raise InputError(
            f"{table.source}, line {table.first}: expected a column time, found {', '.join(names)}"
        )
    others = [n for n in names if n != clock and (columns is None or n in columns)]
    _check_count(table.source, header, ("ncolumns", "datacolumns"), len(names), "columns")
    values = np.array(
        [[table.number(line, n, row[n]) for n in (clock, *others)] for line, row in table.rows()]
    )
    _check_count(table.source, header, ("nrows", "datarows"), len(values), "rows")
    time = values[:, 0]
    for k in np.flatnonzero(np.diff(time) <= 0.0)[:1]:
        raise InputError(
            f"{table.where(table.lines[k + 1][0], clock)}: expected a time after {time[k]:g} s, "
            f"that of the previous row, found {time[k + 1]:g} s"
        )
    if in_degrees is None and "indegrees" in header:
        stated = check_in(f"{table.source}, inDegrees", header["indegrees"], _DEGREES)
        in_degrees = _DEGREES[stated]
    return MotionTable(tuple(others), time, values[:, 1:], in_degrees, str(table.source))


def write_motion_table(path: str | Path, table: MotionTable, *, title: str = "motion") -> None:
    """Write a table in OpenSim's format, version 1; numbers are read back unchanged."""
    target = Path(path)
    check_in("path ending", target.suffix.lower(), OPENSIM_ENDINGS)
    target.write_text(motion_text(table, title=title), encoding="utf-8")


def motion_text(table: MotionTable, *, title: str = "motion") -> str:
    """Return the text that `write_motion_table` writes; the table must say whether in degrees."""
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


def _read_cells(source: Path) -> tuple[dict[str, str], TextTable]:
    """Return the keys of the header and the table."""
    if source.suffix.lower() in OPENSIM_ENDINGS:
        header, table = _read_opensim(source)
    else:
        header, table = {}, read_csv_table(source)
    for name in table.names:
        count = table.names.count(name)
        if not name or count > 1:
            found = f"{name!r} {count} times" if name else "an empty name"
            raise InputError(
                f"{source}, line {table.first}: expected each column once, found {found}"
            )
    return header, table


def _read_opensim(source: Path) -> tuple[dict[str, str], TextTable]:
    lines = read_text(source).splitlines()
    ends = [i for i, line in enumerate(lines) if line.strip().lower() == "endheader"]
    if not ends:
        raise InputError(
            f"{source}: expected a header that ends with endheader, found none; add endheader, or "
            "rename the file to .csv if commas separate the columns and line 1 has their names"
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
    (first, names), *rows = body
    return header, TextTable(source, first, names, rows)


def _cells(line: str) -> list[str]:
    # Names may contain blanks where tabs separate them.
    separator = "\t" if "\t" in line.strip() else None
    return [cell.strip() for cell in line.strip().split(separator)]


def _check_count(
    source: Path, header: Mapping[str, str], keys: tuple[str, ...], count: int, items: str
) -> None:
    for key in keys:
        if key in header and header[key] != str(count):
            raise InputError(
                f"{source}: expected {header[key]} {items} as stated in the header ({key}), found "
                f"{count} {items}; the file is cut off or edited: correct the table or the header"
            )
