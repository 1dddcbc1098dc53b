"""The stored tables of a run looked at from outside: what they hold, and written for others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.io import savemat

from foundation.errors import InputError
from foundation.wording import counted
from pipeline.files import plain, replacing
from pipeline.store.made_with import check_configuration
from pipeline.store.sample_schema import PEOPLE, UNITS, described, unit_of
from pipeline.store.samples import FAILED, OK, StoreError, read_table, state_of, write_table

FORMATS = ("csv", "parquet", "mat")
#: What MATLAB allows of a name: letters, digits, underscores; at most 63; a letter first.
_LONGEST_NAME = 63


def tables_of(source: Path, wanted: Sequence[str] = ()) -> dict[str, Path]:
    """Return the files of tables by their names: those of a run directory, or one file.

    Parameters
    ----------
    source : Path
        Run directory, or a Parquet file.
    wanted : sequence of str
        Names of the tables; all if left out.

    Raises
    ------
    StoreError
        If there is no table, or none of a wanted name.
    RunError
        If `config.toml` of the run directory was changed since the run was made.
    """
    if source.is_dir():
        check_configuration(source)
        files = [*sorted((source / "samples").glob("*.parquet")), *sorted(source.glob("*.parquet"))]
    else:
        files = [source] if source.is_file() and source.suffix == ".parquet" else []
    found = {file.stem: file for file in files}
    if not found:
        raise StoreError(
            f"{source}: expected a run directory with tables in samples/, or a Parquet file, found "
            "no table; make it with `run`"
        )
    for name in wanted:
        if name not in found:
            raise StoreError(
                f"{source}: no table {name!r}, expected one of {', '.join(sorted(found))}"
            )
    return {name: found[name] for name in wanted or found}


def summary(source: Path) -> list[dict[str, Any]]:
    """Return what the tables of a run directory, or of a file, hold.

    Parameters
    ----------
    source : Path
        Run directory, or a Parquet file.

    Returns
    -------
    list of dict
        Per table `table`, `file`, `checksum` ("matches", "none": version 1, or "damaged: ..."),
        and, unless it is damaged, `rows`, `ok`, `failed` (None without a status), `reasons`
        (reason -> rows) and `columns`: `column`, `unit`, `least`, `greatest`, `missing`.

    Raises
    ------
    StoreError
        If there is no table.
    """
    rows = []
    for name, file in tables_of(source).items():
        row: dict[str, Any] = {"table": name, "file": str(file)}
        try:
            table = read_table(file)
        except StoreError as error:
            rows.append(row | {"checksum": f"damaged: {error}"})
            continue
        rows.append(row | {"checksum": state_of(file)} | _content(table))
    return rows


def _content(table: pd.DataFrame) -> dict[str, Any]:
    status = table["status"] if "status" in table.columns else None
    reasons = [] if status is None else table.loc[status == FAILED, "reason"].to_list()
    return {
        "rows": len(table),
        "ok": None if status is None else int((status == OK).sum()),
        "failed": None if status is None else int((status == FAILED).sum()),
        "reasons": dict(Counter(map(str, reasons)).most_common()),
        "columns": [
            {"column": str(name), "unit": described(str(name))[0], **_range(table[name])}
            for name in table.columns
            if pd.api.types.is_numeric_dtype(table[name])
        ],
    }


def _range(values: pd.Series) -> dict[str, Any]:
    known = values.dropna().to_numpy(dtype=np.float64)
    limits = (known.min(), known.max()) if len(known) else (None, None)
    least, greatest = plain(list(limits))
    return {"least": least, "greatest": greatest, "missing": int(values.isna().sum())}


def summary_text(rows: Sequence[dict[str, Any]]) -> str:
    """Return a summary for people."""
    lines = []
    for row in rows:
        head = f"{row['table']}: "
        if "rows" not in row:
            lines.append(f"{head}{row['checksum']}")
            continue
        counts = "" if row["ok"] is None else f", {row['ok']} ok, {row['failed']} failed"
        lines.append(f"{head}{counted(row['rows'], 'row')}{counts}; checksum: {row['checksum']}")
        lines += [f"  {count} x {reason}" for reason, count in row["reasons"].items()]
        for column in row["columns"]:
            span = (
                "no value"
                if column["least"] is None
                else f"{column['least']:.6g} to {column['greatest']:.6g} {column['unit']}".rstrip()
            )
            missing = f", {column['missing']} missing" if column["missing"] else ""
            lines.append(f"  {column['column']:24} {span}{missing}")
    return "\n".join(lines)


def in_people_units(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in degrees, mm, N, N mm, mm² and MPa, which the columns' names tell."""
    columns = {}
    for name in map(str, table.columns):
        unit = unit_of(name)
        if unit is None or unit.si not in PEOPLE or unit.factor != 1.0:
            columns[name] = table[name]
            continue
        token = PEOPLE[unit.si]
        columns[f"{unit.quantity}_{token}"] = table[name] / UNITS[unit.si][token]
    return pd.DataFrame(columns)


def export_tables(
    source: Path,
    kind: str,
    out: Path,
    *,
    wanted: Sequence[str] = (),
    people: bool = False,
) -> list[Path]:
    """Write tables of a run, or a file, for other programs.

    Parameters
    ----------
    source : Path
        Run directory, or a Parquet file.
    kind : {"csv", "parquet", "mat"}
        CSV with units in the column names, Parquet, or a MATLAB file with a structure for each
        table and `units` of all columns.
    out : Path
        The file; a folder where several tables are written as CSV or Parquet.
    wanted : sequence of str
        Names of the tables; all if left out.
    people : bool
        Whether to write degrees, mm, N mm, mm² and MPa in place of SI units.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    StoreError
        If a table is missing or damaged.
    InputError
        If several tables are to go into one file that is no folder.
    """
    tables = {name: read_table(file) for name, file in tables_of(source, wanted).items()}
    if people:
        tables = {name: in_people_units(table) for name, table in tables.items()}
    if kind == "mat":
        return [_write_matlab(tables, out)]
    if len(tables) == 1:
        targets = [out]
    elif out.is_file():
        raise InputError(
            f"{out}: expected a folder for {len(tables)} tables, found a file; choose another "
            "--out, or one table with --table"
        )
    else:
        targets = [out / f"{name}.{kind}" for name in tables]
    for table, target in zip(tables.values(), targets, strict=True):
        if kind == "parquet":
            write_table(table, target)
        else:
            with replacing(target) as partial:
                table.to_csv(partial, index=False)
    return targets


def _write_matlab(tables: dict[str, pd.DataFrame], out: Path) -> Path:
    content: dict[str, Any] = {}
    units: dict[str, str] = {}
    for name, table in tables.items():
        columns = {}
        for column in map(str, table.columns):
            shown = matlab_name(column)
            units[shown] = described(column)[0]
            columns[shown] = _matlab_column(table[column])
        content[matlab_name(name)] = columns
    with replacing(out) as partial:
        savemat(
            str(partial),
            content | {"units": units},
            appendmat=False,
            long_field_names=True,
            oned_as="column",
        )
    return out


def _matlab_column(values: pd.Series) -> np.ndarray[Any, Any]:
    """Return a column as numbers, logicals, or a cell array of texts."""
    if pd.api.types.is_numeric_dtype(values):
        return values.to_numpy()
    return np.array(values.fillna("").to_list(), dtype=object)


def matlab_name(name: str) -> str:
    """Return a name that MATLAB takes for a variable or a field."""
    valid = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return (valid if valid[:1].isalpha() else f"x{valid}")[:_LONGEST_NAME]
