"""The sheet of a file that has implant forces: its columns at common instants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from pipeline.config.data_folder import data_file
from pipeline.studies.implant_forces.cells import read_grids
from pipeline.studies.implant_forces.columns import Column, sheet_columns
from pipeline.studies.implant_forces.roles import CELLS, FORCES, roles_of
from pipeline.studies.implant_forces.schema import ImplantForcesConfig

#: Roles of one of which a total force follows.
_SUFFICIENT = ({"total"}, {"medial", "lateral"}, set(CELLS), *({role} for role in FORCES))
#: Steps of the median, and seconds, that a gap between instants exceeds.
_GAP_STEPS, _GAP = 5.0, 0.05
#: Rounding error of a written time [s].
_ROUNDING = 1e-6


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
    """

    source: str
    time: FloatArray
    percent: bool
    columns: Mapping[str, Column]

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
        raise InputError(
            f"{path}: expected columns of a total force, of both compartments, of Fx, Fy and Fz or "
            f"of the cells PM, AM, AL and PL, found {', '.join(names) or 'no numbers with names'}; "
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
    courses = {}
    for name, at in places.items():
        clock = max((k for k in times if k < at), default=min(times))
        courses[name] = _course(columns[clock], columns[at], source)
    # Blocks of a sheet may have times and rates of their own.
    grid = max((time for time, _ in courses.values()), key=len)
    at_grid = {
        name: Column(columns[places[name]].names, at_times(grid, *course))
        for name, course in courses.items()
    }
    return ForceTable(source, grid, "time" not in times.values(), at_grid)


def _course(clock: Column, column: Column, source: str) -> tuple[FloatArray, FloatArray]:
    """Return the known instants and values of a column, in the order of the time."""
    known = np.isfinite(clock.values) & np.isfinite(column.values)
    time, values = clock.values[known], column.values[known]
    order = np.argsort(time, kind="stable")
    time, values = time[order], values[order]
    again = np.append(False, np.diff(time) == 0.0)
    if (again & np.append(False, np.diff(values) != 0.0)).any():
        at = float(time[again][0])
        raise InputError(
            f"{source}, {clock.name}: expected each instant once, found {at:g} twice with other "
            f"values of {column.name}; keep one trial in the table"
        )
    if unit_of_time(clock) == "ms":
        time = 1e-3 * time
    return time[~again], values[~again]


def unit_of_time(clock: Column) -> str:
    """Return the unit of a column of times, "s" or "ms", by its name."""
    text = clock.name.casefold()
    return "ms" if any(word in text for word in ("[ms]", "(ms)", "_ms", "msec", "milli")) else "s"


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
