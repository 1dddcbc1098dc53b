"""Sample tables: one row per sample, columns with units, written atomically; export."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import AXIAL_FORCE, LOAD_COLUMNS
from foundation.base.pose import POSE_COLUMNS as POSE_COLUMNS
from pipeline.files import replacing
from pipeline.store.documents import make_again
from pipeline.store.job import check_configuration
from pipeline.store.quantities import display

#: Units that a column may end with, by the SI unit that they measure: factor to the SI unit.
UNITS: dict[str, dict[str, float]] = {
    "rad": {"rad": 1.0, "deg": float(np.pi / 180.0)},
    "m": {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "inch": 0.0254},
    "N": {"N": 1.0, "kN": 1e3},
    "Nm": {"Nm": 1.0, "Nmm": 1e-3},
    "m2": {"m2": 1.0, "cm2": 1e-4, "mm2": 1e-6},
    "Pa": {"Pa": 1.0, "kPa": 1e3, "MPa": 1e6},
}


class Unit(NamedTuple):
    """Name of a column without its unit, the SI unit, and the factor to the SI unit."""

    quantity: str
    si: str
    factor: float


def unit_of(column: str) -> Unit | None:
    """Return the unit of a column, None if the name ends with none of `UNITS`."""
    quantity, _, token = column.rpartition("_")
    if not quantity or quantity.endswith("_per"):
        return None
    for si, units in UNITS.items():
        if token in units:
            return Unit(quantity, si, units[token])
    return None


#: Columns of a candidate: who it is, where, and the axial load of its compartment.
CANDIDATE_COLUMNS = ("compartment", "index", *POSE_COLUMNS, "load_N")
#: Columns that an evaluation adds. Status is "ok" or "failed"; the reason names the failure.
RESULT_COLUMNS = ("status", "reason", "evaluations", *LOAD_COLUMNS)
OK = "ok"
FAILED = "failed"
#: Name and version of the tables' format, as their metadata tell it; those of others have none.
FORMAT, VERSION = "knee-contact samples", 2


class StoreError(InputError):
    """A sample file that cannot be used."""


class DamagedTableError(StoreError):
    """A damaged sample file."""


def candidate_table(
    poses: FloatArray, load: FloatArray, compartment: str, first: int = 0
) -> pd.DataFrame:
    """Return candidates of a compartment from poses (N, 6) [rad, m] and axial loads (N,) [N]."""
    table = pd.DataFrame(poses, columns=pd.Index(POSE_COLUMNS))
    table = table.assign(compartment=compartment, index=first + np.arange(len(poses)), load_N=load)
    return table[list(CANDIDATE_COLUMNS)]


def poses_of(table: pd.DataFrame) -> FloatArray:
    """Return the poses of a table, (N, 6) [rad, m]."""
    return np.ascontiguousarray(table[list(POSE_COLUMNS)].to_numpy(dtype=np.float64))


def loads_of(table: pd.DataFrame) -> FloatArray:
    """Return the loads of a table, (N, 12) [SI].

    In the order of `foundation.base.loads.LOAD_COLUMNS`. Quantities that a table does not give are
    NaN in the table and are replaced here by values that
    can be learnt: area and pressures by 0, the centre of pressure by the point where the line of
    action crosses the plane y = 0.
    """
    loads = np.ascontiguousarray(table[list(LOAD_COLUMNS)].to_numpy(dtype=np.float64))
    lacking = np.isnan(loads).any(axis=1) & (loads[:, AXIAL_FORCE] > 0.0)
    if lacking.any():
        rows = loads[lacking]
        filled = np.column_stack([rows[:, :6], np.zeros((len(rows), 3)), line_of_action(rows)])
        loads[lacking] = np.where(np.isnan(rows), filled, rows)
    return loads


def without(table: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return a table with unknown loads, and columns that end with their names, set to NaN."""
    unknown = [column for column in table.columns if column.endswith(tuple(names))]
    return table.assign(**dict.fromkeys(unknown, np.nan))


def line_of_action(loads: FloatArray) -> FloatArray:
    """Return where the lines of action of loads (N, 6 or more) cross the plane y = 0, (N, 3) [m].

    The line along a force F about which its moment M is parallel to F goes through F x M / |F|^2.
    """
    force, moment = loads[:, :3], loads[:, 3:6]
    point = np.cross(force, moment) / (force**2).sum(axis=1)[:, None]
    return np.asarray(point - (point[:, 1] / force[:, 1])[:, None] * force)


def usable(table: pd.DataFrame, compartment: str) -> pd.DataFrame:
    """Return the rows of one compartment that the original model answered."""
    return table[(table["status"] == OK) & (table["compartment"] == compartment)]


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table as Parquet, with the format's name and version; readers see a whole file.

    Its types are those that every reader of Parquet knows, without pandas' own metadata.
    """
    content = pa.Table.from_pandas(table, preserve_index=False)
    fields = [
        field.with_type(pa.string()) if pa.types.is_large_string(field.type) else field
        for field in content.schema
    ]
    schema = pa.schema(fields, metadata={"format": FORMAT, "version": str(VERSION)})
    with replacing(path) as partial:
        pq.write_table(content.cast(schema), partial, write_page_checksum=True)


def read_table(path: Path, columns: Collection[str] = ()) -> pd.DataFrame:
    """Read a table; `columns` are those that it must have.

    Tables of other programs, without this metadata, are read as well.

    Raises
    ------
    StoreError
        If the file is missing, damaged, no Parquet file, of another version or lacks a column.
    """
    # Metadata of pandas may be damaged, as no checksum covers them.
    return _read(path, columns).replace_schema_metadata().to_pandas(use_threads=False)


def _read(path: Path, columns: Collection[str]) -> pa.Table:
    """Return a table as it is stored, after checks of its format, version and columns."""
    if not path.is_file():
        raise StoreError(f"{path}: does not exist; make it with `{make_again(path)}`")
    try:
        # One thread: where memory lacks for more threads, Arrow waits for them forever.
        with pq.ParquetFile(path, page_checksum_verification=True, pre_buffer=False) as file:
            table = file.read(use_threads=False)
        metadata = table.schema.metadata or {}
        stated = {key.decode(): value.decode() for key, value in metadata.items()}
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise _damaged(path, " ".join(str(error).split())) from error
    if stated.get("format", FORMAT) != FORMAT:
        raise _damaged(path, f"expected the format {FORMAT!r}, found {stated['format']!r}")
    if stated.get("version", str(VERSION)) != str(VERSION):
        raise StoreError(
            f"{path}: expected a table of version {VERSION}, found {stated['version']!r}; "
            "read it with the version of knee-contact that wrote it"
        )
    missing = [name for name in columns if name not in table.column_names]
    if missing:
        raise _damaged(path, f"lacks the columns {', '.join(missing)}")
    return table


def _damaged(path: Path, what: str) -> DamagedTableError:
    return DamagedTableError(
        f"{path}: the table is damaged ({what}); delete the file and continue with "
        f"`{make_again(path)}`, which computes the table again"
    )


def digest(table: pd.DataFrame) -> str:
    """Return a SHA-256 over a table's names and values."""
    content = hashlib.sha256("\0".join(map(str, table.columns)).encode())
    content.update(pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes())
    return content.hexdigest()


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
    shown = {name: display(str(name)) for name in table}
    return pd.DataFrame(
        {
            column: table[name] if factor == 1.0 else factor * table[name]
            for name, (column, factor) in shown.items()
        }
    )


def export_tables(
    source: Path, out: Path, *, wanted: Sequence[str] = (), people: bool = False
) -> list[Path]:
    """Write the wanted tables of a run, or a Parquet file, as CSV; return the written files.

    `people` asks for degrees, mm, N mm, mm² and MPa in place of SI units.
    """
    tables = {name: read_table(file) for name, file in _table_files(source, wanted).items()}
    if people:
        tables = {name: in_people_units(table) for name, table in tables.items()}
    targets = [out] if len(tables) == 1 else [out / f"{name}.csv" for name in tables]
    if len(tables) > 1 and out.is_file():
        raise InputError(
            f"{out}: expected a folder for {len(tables)} tables, found a file; choose another "
            "--out, or one table with --table"
        )
    if len(tables) == 1 and out.suffix.lower() != ".csv":
        raise InputError(f"{out}: expected an ending of .csv, as tables are written as CSV")
    for table, target in zip(tables.values(), targets, strict=True):
        write_csv(table, target)
    return targets


def write_csv(table: pd.DataFrame, path: Path, float_format: str | None = None) -> None:
    """Write a table as CSV; a reader sees the old file or the complete new file."""
    with replacing(path) as partial:
        table.to_csv(partial, index=False, float_format=float_format)
