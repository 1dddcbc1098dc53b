"""The sheet of a file that has implant forces: its columns at common instants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from pipeline.config.data_folder import data_file
from pipeline.studies.implant_forces.cells import read_grids
from pipeline.studies.implant_forces.columns import Column, sheet_columns, unit_texts
from pipeline.studies.implant_forces.roles import CELLS, FORCES, roles_of
from pipeline.studies.implant_forces.schema import ImplantForcesConfig

#: Roles of one of which a total force follows.
_SUFFICIENT = ({"total"}, {"medial", "lateral"}, set(CELLS), *({role} for role in FORCES))
#: Steps of the median, and seconds, that a gap between instants exceeds.
_GAP_STEPS, _GAP = 5.0, 0.05
#: Rounding error of a written time [s].
_ROUNDING = 1e-6
#: Seconds by unit of time.
_SECONDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "\u00b5s", "\u03bcs", "microseconds"), 1e-6),
    **dict.fromkeys(("min", "minute", "minutes"), 60.0),
}
#: Least step of times without a unit that are milliseconds: an implant measures more often than
#: every half second. Longest measurement [s].
_LEAST_STEP, _LONGEST = 0.5, 3600.0


@dataclass(frozen=True, eq=False)
class ForceTable:
    """Columns of a sheet at common instants, in the units of the file.

    Parameters
    ----------
    source : str
        Name of the file and the sheet.
    time : (N,) float64
        Increasing instants [s]; [%] if `percent`.
    percent : bool
        Whether the sheet has parts of a cycle in place of times.
    columns : mapping
        Columns by role, and by name those that are no role; NaN where the sheet has no value.
    facts, warnings : tuple of str
        What was recognised in the times, and what is doubtful in the cells.
    """

    source: str
    time: FloatArray
    percent: bool
    columns: Mapping[str, Column]
    facts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def values(self, name: str) -> FloatArray:
        """Return the numbers (N,) of a column [any unit]."""
        return self.columns[name].values


def read_force_table(config: ImplantForcesConfig) -> ForceTable:
    """Return the sheet of a file that has forces.

    Raises
    ------
    InputError
        If the file cannot be read, no or several sheets have forces, a stated column does not
        exist, or the instants cannot be put in order.
    """
    path = data_file(config.file)
    grids = read_grids(path)
    if config.sheet is not None:
        if config.sheet not in grids:
            raise InputError(
                f"{path}: expected a sheet {config.sheet!r} (implant_forces.sheet), found "
                f"{', '.join(filter(None, grids)) or 'a table of text, which has no sheets'}"
            )
        grids = {config.sheet: grids[config.sheet]}
    sheets = {name: sheet_columns(grid) for name, grid in grids.items()}
    found = {}
    for name, columns in sheets.items():
        source = f"{path.name}, sheet {name}" if name else path.name
        roles = roles_of(columns, config.columns, source) if columns else {}
        if any(roles.keys() >= needed for needed in _SUFFICIENT):
            found[source] = columns, roles
    if not found:
        names = [column.name for columns in sheets.values() for column in columns]
        if not names:
            raise InputError(
                f"{path}: expected a row of names above three or more rows of numbers, found none; "
                "write the names of the columns, such as time,medial,lateral, above the numbers"
            )
        raise InputError(
            f"{path}: expected columns of a total force, of both compartments, of Fx, Fy and Fz or "
            f"of the cells PM, AM, AL and PL, found {', '.join(names)}; "
            "state them in implant_forces.columns"
        )
    if len(found) > 1:
        raise InputError(
            f"{path}: expected one sheet with forces, found {len(found)}: {'; '.join(found)}; "
            "state one as implant_forces.sheet"
        )
    [(source, (columns, roles))] = found.items()
    return _table(source, columns, roles, config.medial or {})


def _table(
    source: str, columns: list[Column], roles: Mapping[str, list[int]], extra: Mapping[str, float]
) -> ForceTable:
    """Return the columns of the roles, and those with the names of `extra`."""
    times = {k: role for role in ("time", "percent") for k in roles.get(role, ())}
    if "time" in times.values():
        times = {k: role for k, role in times.items() if role == "time"}
    if not times:
        raise InputError(
            f"{source}: expected a column of times or of parts of the cycle, found "
            f"{', '.join(column.name for column in columns)}; state one as "
            "implant_forces.columns.time or implant_forces.columns.percent"
        )
    places = {role: at[0] for role, at in roles.items() if role not in ("time", "percent")}
    for name in extra:
        same = [at for at, column in enumerate(columns) if column.is_named(name)]
        if len(same) != 1:
            raise InputError(
                f"{source}: expected one column {name!r} (implant_forces.medial), found "
                f"{len(same)} among {', '.join(repr(column.name) for column in columns)}"
            )
        places[name] = same[0]
    courses, clocks = {}, dict[int, tuple[FloatArray, str]]()
    for name, at in places.items():
        clock = max((k for k in times if k < at), default=min(times))
        clocks.setdefault(clock, _clock(columns[clock], times[clock], source))
        courses[name] = _course(columns[clock], clocks[clock][0], columns[at], source)
    # Blocks of a sheet may have times and rates of their own.
    grid = max((time for time, _ in courses.values()), key=len)
    at_grid = {
        name: Column(columns[places[name]].names, at_times(grid, *course))
        for name, course in courses.items()
    }
    strays = tuple(
        f"{source}, {columns[at].name}: expected numbers, found text in "
        f"{len(columns[at].strays)} cells, the first {columns[at].strays[0]!r}; there, the table "
        "counts as without a value"
        for at in dict.fromkeys((*clocks, *places.values()))
        if columns[at].strays
    )
    facts = tuple(dict.fromkeys(fact for _, fact in clocks.values() if fact))
    return ForceTable(source, grid, "time" not in times.values(), at_grid, facts, strays)


def _clock(column: Column, role: str, source: str) -> tuple[FloatArray, str]:
    """Return the numbers (N,) of a column of times in seconds, or in per cent, and a fact on them.

    Raises an `InputError` if the times are longer than a measurement.
    """
    values = column.values
    if role == "percent":
        fraction = float(np.nanmax(values)) <= 1.0 + _ROUNDING
        return (100.0 * values, "parts of the cycle from 0 to 1") if fraction else (values, "")
    seconds, fact = unit_of_time(column), ""
    if seconds is None:
        seconds = 1.0
        step = float(np.median(np.diff(np.unique(values[np.isfinite(values)]))))
        if step >= _LEAST_STEP:
            seconds, fact = 1e-3, f"times in ms, which the file does not state: a step is {step:g}"
    length = seconds * float(np.nanmax(values) - np.nanmin(values))
    if length > _LONGEST:
        raise InputError(
            f"{source}, {column.name}: expected times of a walk, found {length:.4g} s; state the "
            "unit of the times in the name of the column, such as [s] or [ms]"
        )
    return seconds * values, fact


def _course(
    clock: Column, instants: FloatArray, column: Column, source: str
) -> tuple[FloatArray, FloatArray]:
    """Return the known instants and values of a column, in the order of the time."""
    known = np.isfinite(instants) & np.isfinite(column.values)
    time, values = instants[known], column.values[known]
    order = np.argsort(time, kind="stable")
    time, values = time[order], values[order]
    again = np.append(False, np.diff(time) == 0.0)
    if (again & np.append(False, np.diff(values) != 0.0)).any():
        at = float(time[again][0])
        raise InputError(
            f"{source}, {clock.name}: expected each instant once, found {at:g} twice with other "
            f"values of {column.name}; keep one trial in the table"
        )
    return time[~again], values[~again]


def unit_of_time(clock: Column) -> float | None:
    """Return the seconds per unit of a column of times by its name; None without a unit."""
    texts = (text.casefold() for text in unit_texts(clock))
    return next((_SECONDS[text] for text in texts if text in _SECONDS), None)


def at_times(wanted: FloatArray, time: FloatArray, values: FloatArray) -> FloatArray:
    """Return values (M,) [any unit] at other instants [s]; NaN outside of the rows and in gaps.

    Values are linear between the rows. A gap is longer than five steps and 0.05 s.
    """
    if len(time) < 2:
        return np.full(len(wanted), np.nan)
    step = float(np.median(np.diff(time)))
    at = np.clip(wanted, time[0], time[-1])
    after = np.clip(np.searchsorted(time, at), 1, len(time) - 1)
    wide = time[after] - time[after - 1] > max(_GAP_STEPS * step, _GAP)
    between = wide & (at != time[after]) & (at != time[after - 1])
    # Times are written with rounding errors.
    outside = np.abs(wanted - at) > _ROUNDING
    return np.where(between | outside, np.nan, np.interp(at, time, values))
