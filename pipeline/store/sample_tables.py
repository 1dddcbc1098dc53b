"""Summary of the stored tables of a run, and their export for other programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import Field

from foundation.base.errors import InputError
from foundation.base.wording import counted
from pipeline.files import replacing
from pipeline.store.job import check_configuration
from pipeline.store.run_documents import Computed
from pipeline.store.samples import (
    FAILED,
    OK,
    PEOPLE,
    UNITS,
    StoreError,
    read_table,
    unit_of,
    write_table,
)


def _table_files(source: Path, wanted: Sequence[str] = ()) -> dict[str, Path]:
    """Return the files of the wanted tables by name; by default of all tables."""
    files: list[Path] = []
    if source.is_dir():
        check_configuration(source)
        files = [*sorted((source / "samples").glob("*.parquet")), *sorted(source.glob("*.parquet"))]
    elif source.is_file() and source.suffix == ".parquet":
        files = [source]
    tables = {file.stem: file for file in files}
    if not tables:
        raise StoreError(
            f"{source}: expected a run directory with tables in samples/, or a Parquet file; make "
            "the run with `run`"
        )
    for name in wanted:
        if name not in tables:
            raise StoreError(
                f"{source}: no table {name!r}, expected one of {', '.join(sorted(tables))}"
            )
    return {name: tables[name] for name in wanted or tables}


class ColumnSummary(Computed):
    """Range of a numeric column, and the number of rows without a value."""

    column: str
    least: float | None
    greatest: float | None
    missing: int


class TableSummary(Computed):
    """Counts of a stored table, and the ranges of its numeric columns.

    `damaged` says what is wrong with a table, which then has no counts. `ok` and `failed` are None
    without a status; `reasons` are the numbers of failed rows.
    """

    table: str
    file: str
    damaged: str = ""
    rows: int | None = None
    ok: int | None = None
    failed: int | None = None
    reasons: dict[str, int] = Field(default_factory=dict)
    columns: list[ColumnSummary] = Field(default_factory=list)


def summary(source: Path) -> list[TableSummary]:
    """Return a summary of the tables of a run directory, or of a single Parquet file.

    Raises
    ------
    StoreError
        If there are no tables.
    RunError
        If `config.toml` of the run directory was changed since the run was made.
    """
    return [_summary(name, file) for name, file in _table_files(source).items()]


def _summary(name: str, file: Path) -> TableSummary:
    try:
        table = read_table(file)
    except StoreError as error:
        return TableSummary(table=name, file=str(file), damaged=str(error))
    ok, failed, reasons = None, None, {}
    if "status" in table.columns:
        ok, failed = (int((table["status"] == status).sum()) for status in (OK, FAILED))
        told = table.loc[table["status"] == FAILED, "reason"].astype(str).value_counts()
        reasons = {str(reason): int(count) for reason, count in told.items()}
    numeric = [c for c in table.columns if pd.api.types.is_numeric_dtype(table[c])]
    return TableSummary(
        table=name,
        file=str(file),
        rows=len(table),
        ok=ok,
        failed=failed,
        reasons=reasons,
        columns=[_range(table[column]) for column in numeric],
    )


def _range(values: pd.Series[float]) -> ColumnSummary:
    known = values.dropna().to_numpy(dtype=np.float64)
    return ColumnSummary(
        column=str(values.name),
        least=known.min() if len(known) else None,
        greatest=known.max() if len(known) else None,
        missing=len(values) - len(known),
    )


def summary_text(rows: Sequence[TableSummary]) -> str:
    """Return the lines on the terminal for a summary."""
    lines = []
    for row in rows:
        if row.rows is None:
            lines.append(f"{row.table}: damaged: {row.damaged}")
            continue
        counts = "" if row.ok is None else f", {row.ok} ok, {row.failed} failed"
        lines.append(f"{row.table}: {counted(row.rows, 'row')}{counts}")
        lines += [f"  {count} x {reason}" for reason, count in row.reasons.items()]
        for column in row.columns:
            span = "no value"
            if column.least is not None:
                span = f"{column.least:.6g} to {column.greatest:.6g}"
            missing = f", {column.missing} missing" if column.missing else ""
            lines.append(f"  {column.column:24} {span}{missing}")
    return "\n".join(lines)


def in_people_units(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in degrees, mm, N, N mm, mm² and MPa, with these units in the names."""
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
    source: Path, kind: str, out: Path, *, wanted: Sequence[str] = (), people: bool = False
) -> list[Path]:
    """Write tables of a run, or a single table, for other programs; return the written files.

    Parameters
    ----------
    source : Path
        Run directory, or a Parquet file.
    kind : {"csv", "parquet"}
        CSV with units in the column names, or Parquet.
    out : Path
        The file; a folder for several tables.
    wanted : sequence of str
        Names of the tables; by default all tables.
    people : bool
        Whether to write degrees, mm, N mm, mm² and MPa in place of SI units.

    Raises
    ------
    StoreError, RunError
        As `summary`, or if a table is missing or damaged.
    InputError
        If `out` is a file and should be a folder.
    """
    tables = {name: read_table(file) for name, file in _table_files(source, wanted).items()}
    if people:
        tables = {name: in_people_units(table) for name, table in tables.items()}
    targets = [out] if len(tables) == 1 else [out / f"{name}.{kind}" for name in tables]
    if len(tables) > 1 and out.is_file():
        raise InputError(
            f"{out}: expected a folder for {len(tables)} tables, found a file; choose another "
            "--out, or one table with --table"
        )
    write = write_table if kind == "parquet" else write_csv
    for table, target in zip(tables.values(), targets, strict=True):
        write(table, target)
    return targets


def write_csv(table: pd.DataFrame, path: Path, float_format: str | None = None) -> None:
    """Write a table as CSV; a reader sees the old file or the complete new file."""
    with replacing(path) as partial:
        table.to_csv(partial, index=False, float_format=float_format)
