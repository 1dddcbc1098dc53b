"""Tables of poses and contact loads from elsewhere: a finite-element code, a test rig, a program.

A row is a pose of one compartment (column `compartment`), or of both (`medial_force_y_N`, ...).
Columns end with their unit. The loads are those on the femur, moments about the tibial origin, in
the tibial frame (x anterior, y superior, z lateral).
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from foundation.loads import COMPARTMENTS, LOAD_COLUMNS, QUANTITY_COLUMNS, WRENCH_COLUMNS
from pipeline.config.key_names import renamed
from pipeline.originals.pose_load_checks import (
    CONTACT_PART,
    TableError,
    check_columns,
    check_heights,
    check_numbers,
    check_rows,
    check_signs,
    check_units,
)
from pipeline.store.sample_schema import UNITS, unit_of
from pipeline.store.samples import (
    CANDIDATE_COLUMNS,
    FAILED,
    OK,
    POSE_COLUMNS,
    RESULT_COLUMNS,
    StoreError,
    digest,
    read_table,
)

#: Coordinates and loads that change their sign where a left knee is mirrored.
_MIRRORED = (
    *("adduction_rad", "rotation_rad", "lateral_m"),
    *("force_z_N", "moment_x_Nm", "moment_y_Nm", "cop_z_m"),
)


@dataclass(frozen=True, eq=False)
class PoseLoads:
    """A table of poses and loads, checked.

    Parameters
    ----------
    rows : DataFrame
        `CANDIDATE_COLUMNS` and `RESULT_COLUMNS`, one row per compartment and pose in contact;
        `index` is the row of the table, from 0. Quantities that are not given are NaN.
    name : str
        Name of the file.
    count : int
        Poses of the table.
    out_of_contact, no_answer : int
        Rows of a compartment left out: without contact, or marked as failed.
    not_given : tuple of str
        Columns of `QUANTITY_COLUMNS` that the table has not.
    ignored : tuple of str
        Columns that were not used.
    digest : str
        SHA-256 of `rows`.
    """

    rows: pd.DataFrame
    name: str
    count: int
    out_of_contact: int
    no_answer: int
    not_given: tuple[str, ...]
    ignored: tuple[str, ...]
    digest: str


def read_pose_loads(path: Path, side: str = "right") -> PoseLoads:
    """Read a table of poses and loads.

    Parameters
    ----------
    path : Path
        CSV (`#` begins a comment) or Parquet.
    side : {"right", "left"}
        A table of a left knee whose third axis is the body's right is mirrored.

    Raises
    ------
    TableError
        If it cannot be read, lacks a column, or holds what no knee's table can.
    """
    raw = _read(path)
    values, ignored, given_as = _in_si(path, raw)
    try:
        return _checked(path, raw, values, ignored, side)
    except TableError as error:
        # Not as they are called inside, but as in the file.
        raise TableError(renamed(str(error), given_as)) from error


def _checked(
    path: Path, raw: pd.DataFrame, values: dict[str, pd.Series], ignored: tuple[str, ...], side: str
) -> PoseLoads:
    """Return the usable rows of a table whose known columns are in SI units."""
    parts = _by_compartment(path, raw, values)
    table = pd.concat(parts, ignore_index=True)
    answered = table["status"] != FAILED
    table, failed = table[answered], int((~answered).sum())
    check_numbers(path, table, (*POSE_COLUMNS, *WRENCH_COLUMNS))
    check_units(path, table)
    largest = float(table["force_y_N"].max())
    check_signs(path, table, largest)
    touching = table["force_y_N"] > CONTACT_PART * largest
    rows = table[touching]
    given = [name for name in QUANTITY_COLUMNS if name in rows.columns]
    check_numbers(path, rows, given)
    if side == "left":
        rows = rows.assign(**{c: -rows[c] for c in _MIRRORED if c in rows.columns})
    check_rows(path, rows, side)
    check_heights(path, rows)
    missing = tuple(name for name in QUANTITY_COLUMNS if name not in given)
    rows = rows.assign(
        **dict.fromkeys(missing, np.nan), load_N=rows["force_y_N"], status=OK, reason="",
        evaluations=1,
    )  # fmt: skip
    columns = dict.fromkeys((*CANDIDATE_COLUMNS, *RESULT_COLUMNS))
    rows = rows[list(columns)].reset_index(drop=True)
    return PoseLoads(
        rows, path.name, len(raw), int((~touching).sum()), failed, missing, ignored, digest(rows)
    )  # fmt: skip


def _read(path: Path) -> pd.DataFrame:
    """Return the table as it stands in the file, its names without blanks around them."""
    try:
        table = read_table(path) if path.suffix == ".parquet" else _read_csv(path)
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror}); correct the path") from error
    except pd.errors.ParserWarning as error:
        raise TableError(
            f"{path}: a row has more cells than the header has names; save the table with "
            "commas between cells and with decimal points"
        ) from error
    except StoreError as error:
        raise _no_table(path, error) from error
    if table.empty:
        raise TableError(f"{path}: is empty, expected rows of poses and loads")
    table = table.rename(columns=lambda name: str(name).strip())
    if len(table.columns) == 1 and (found := re.search("[;\t]", table.columns[0])):
        raise TableError(
            f"{path}: expected comma-separated columns, found {found[0]!r} between columns; save "
            "the table with commas between cells and with decimal points"
        )
    return table


def _read_csv(path: Path) -> pd.DataFrame:
    with warnings.catch_warnings():
        # Cells without a name would else be left out, and the others read as they come.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            return pd.read_csv(path, comment="#", skipinitialspace=True, index_col=False)
        except ValueError as error:
            raise _no_table(path, error) from error


def _no_table(path: Path, error: Exception) -> TableError:
    told = " ".join(str(error).split())
    return TableError(f"{path}: expected a table (CSV or .parquet), found: {told}")


def _in_si(
    path: Path, raw: pd.DataFrame
) -> tuple[dict[str, pd.Series], tuple[str, ...], dict[str, str]]:
    """Return the known columns by their names in SI units, the names of the others, and theirs."""
    known = {name.rpartition("_")[0]: name for name in (*POSE_COLUMNS, *LOAD_COLUMNS)}
    for part in COMPARTMENTS:
        known |= {f"{part}_{q}": f"{part}_{known[q]}" for q in list(known) if known[q] in _LOADS}
    values: dict[str, pd.Series] = {}
    ignored, given_as = [], {}
    for column in raw.columns:
        unit = unit_of(column)
        quantity = column if unit is None else unit.quantity
        name = known.get(quantity)
        if name is None:
            # A quantity with a unit that is none would else be left out without a word.
            name = next((n for q, n in known.items() if column.startswith(f"{q}_")), None)
            if name is None or column in _OWN:
                ignored.append(column)
                continue
            unit = None
        si = name.rpartition("_")[2]
        if unit is None or unit.si != si:
            raise TableError(
                f"{path}: column {column!r}: expected a name that ends with a unit, "
                f"{', '.join(UNITS[si])} (such as {name})"
            )
        if name in values:
            raise TableError(
                f"{path}: expected {name} once, found two columns, the second is {column!r}"
            )
        given_as[name] = str(column)
        values[name] = unit.factor * _numbers(path, raw[column])
    return values, tuple(name for name in ignored if name not in _OWN), given_as


_LOADS = frozenset(LOAD_COLUMNS)
#: Columns of the tables of a run that mean nothing here, or are read otherwise.
_OWN = frozenset(("compartment", "index", "load_N", "first", *RESULT_COLUMNS[:3]))


def _numbers(path: Path, column: pd.Series) -> pd.Series:
    found = pd.to_numeric(column, errors="coerce").astype(np.float64)
    wrong = found.isna() & column.notna()
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise TableError(
            f"{path}: row {row + 1}, {column.name}: expected a number with a decimal point, found "
            f"{column.iloc[row]!r}"
        )
    return found


def _by_compartment(
    path: Path, raw: pd.DataFrame, values: dict[str, pd.Series]
) -> list[pd.DataFrame]:
    """Return a table of each compartment, from rows of one compartment or of both."""
    wide = [name for name in values if name.startswith(_PARTS) and name not in POSE_COLUMNS]
    if "compartment" not in raw.columns and not wide:
        raise TableError(
            f"{path}: expected the loads of each compartment (a column compartment with medial and "
            "lateral, or columns such as medial_force_y_N and lateral_force_y_N), found loads of "
            "the whole knee or none; a surrogate is fitted to each compartment: separate the loads"
        )
    status = raw["status"] if "status" in raw.columns else pd.Series(OK, index=raw.index)
    base = pd.DataFrame(values).assign(index=np.arange(len(raw)), status=status)
    if wide:
        parts = [_of_part(base, name) for name in COMPARTMENTS]
    else:
        names = raw["compartment"].astype(str).str.strip().str.lower()
        other = np.flatnonzero(~names.isin(COMPARTMENTS))
        if len(other):
            raise TableError(
                f"{path}: row {other[0] + 1}: compartment: expected medial or lateral, found "
                f"{raw['compartment'].iloc[other[0]]!r}"
            )
        parts = [base[names == name].assign(compartment=name) for name in COMPARTMENTS]
    for name, part in zip(COMPARTMENTS, parts, strict=True):
        check_columns(path, part, f"{name}_" if wide else "")
    return parts


_PARTS = tuple(f"{name}_" for name in COMPARTMENTS)


def _of_part(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the poses and the loads of one compartment of a table of both."""
    loads = {f"{name}_{c}": c for c in LOAD_COLUMNS if f"{name}_{c}" in table.columns}
    kept = [*(c for c in POSE_COLUMNS if c in table.columns), "index", "status", *loads]
    return table[kept].rename(columns=loads).assign(compartment=name)
