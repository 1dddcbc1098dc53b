"""Export of the stored tables of a run for other programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from foundation.base.errors import InputError
from pipeline.files import replacing
from pipeline.store.job import check_configuration
from pipeline.store.samples import (
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
        If a table is missing or damaged, or `config.toml` was changed since the run was made.
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
