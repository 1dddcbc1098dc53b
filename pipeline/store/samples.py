"""Sample tables: one row per sample, columns with units, written atomically.

A column is `<quantity>_<unit>`. The stored tables are in SI units and radians; tables of users may
be in units for people. Any program can compute the digest of a table.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import AXIAL_FORCE, LOAD_COLUMNS
from foundation.base.pose import POSE_COLUMNS as POSE_COLUMNS
from foundation.base.quantities import QUANTITIES, unit_token
from pipeline.files import replacing
from pipeline.store.documents import make_again
from pipeline.store.quantities import OTHERS


def arrow_table(table: pd.DataFrame) -> pa.Table:
    """Return a table of types that every reader of Parquet knows, without pandas' own metadata."""
    content = pa.Table.from_pandas(table, preserve_index=False)
    fields = [
        field.with_type(pa.string()) if pa.types.is_large_string(field.type) else field
        for field in content.schema
    ]
    return content.cast(pa.schema(fields))


def content_digest(table: pa.Table) -> str:
    """Return a SHA-256 over each column's name and type, each ended by a zero, and its values."""
    content = hashlib.sha256()
    for name, column in zip(table.column_names, table.columns, strict=True):
        content.update(f"{name}\0{_kind(column.type)}\0".encode())
        for part in _values(column.combine_chunks()):
            content.update(part)
    return content.hexdigest()


def _kind(kind: pa.DataType) -> str:
    """Return the name of a type; a list's elements are called otherwise in a file."""
    listed = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return f"list<{kind.value_type}>" if listed else str(kind)


def _values(column: pa.Array) -> Iterator[bytes]:
    """Return the values of a column: numbers little-endian, texts ended by a zero.

    A missing number is NaN, a missing text empty; lists begin with their lengths.
    """
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from _values(pc.list_value_length(column))
        yield from _values(column.flatten())
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        yield "".join(f"{text or ''}\0" for text in column.to_pylist()).encode()
    elif pa.types.is_floating(kind):
        values = column.fill_null(np.nan).to_numpy(zero_copy_only=False)
        # One NaN for all: a missing value comes back as another one.
        yield _bytes(np.where(np.isnan(values), np.nan, values))
    elif not pa.types.is_null(kind):
        yield _bytes(column.to_numpy(zero_copy_only=False))


def _bytes(values: NDArray[Any]) -> bytes:
    return values.astype(values.dtype.newbyteorder("<")).tobytes()


#: Units that a column may end with, by the SI unit that they measure: factor to the SI unit.
UNITS: dict[str, dict[str, float]] = {
    "rad": {"rad": 1.0, "deg": float(np.pi / 180.0)},
    "m": {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "inch": 0.0254},
    "N": {"N": 1.0, "kN": 1e3},
    "Nm": {"Nm": 1.0, "Nmm": 1e-3},
    "m2": {"m2": 1.0, "cm2": 1e-4, "mm2": 1e-6},
    "Pa": {"Pa": 1.0, "kPa": 1e3, "MPa": 1e6},
}
#: Units for people, by SI units; the others are the same for people.
PEOPLE = {
    unit_token(quantity.unit): unit_token(quantity.unit_for_people)
    for quantity in QUANTITIES.values()
    if quantity.unit != quantity.unit_for_people
}
_WORDS = {
    **{"Nm": "N m", "Nmm": "N mm", "m2": "m^2", "cm2": "cm^2", "mm2": "mm^2"},
    **{"percent": "%", "J": "J", "s": "s", "ratio": "1"},
    **{"rad_per_s": "rad/s", "m_per_s": "m/s"},
    "mm3_per_million_cycles": "mm^3 per million cycles",
}
_MEANINGS = {q.name: q.description for q in (*QUANTITIES.values(), *OTHERS.values())}
_LOADS = {QUANTITIES[column].name: QUANTITIES[column].description for column in LOAD_COLUMNS}
_PLAIN = {
    "compartment": "medial or lateral, or the name of another compartment",
    "index": "number of the design's point",
    "first": "whether it is evaluated in stage b",
    "status": "ok, or failed",
    "reason": "why it failed",
    "evaluations": "analyses of the original model",
    "screening": "evaluated, kept or dropped by stage e",
    "drop_reason": "why stage e dropped it",
    "weight": "weight in the fit",
    "role": "sample, or reference",
    "model": "original or surrogate",
    "combination": "name of the combination of inputs",
    "run": "number of the run",
}
_PREFIXES = {
    "predicted_": "by the surrogate: ",
    "error_": "predicted standard error: ",
    "input_": "applied: ",
    "medial_": "medial compartment: ",
    "lateral_": "lateral compartment: ",
    "total_": "all compartments: ",
    "wave_": "over the cycle: ",
}
#: All units, the longest first: "..._mm2" ends with no "m2" of its own.
_TOKENS = sorted({*_WORDS, *(u for units in UNITS.values() for u in units)}, key=len, reverse=True)


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


def described(column: str) -> tuple[str, str]:
    """Return the unit and the meaning of a column, "" for what its name does not say."""
    if column in _PLAIN:
        return "", _PLAIN[column]
    ends = (t for t in _TOKENS if column.endswith(f"_{t}") and not column.endswith(f"_per_{t}"))
    unit = next(ends, "")
    return _WORDS.get(unit, unit), _meaning(column.removesuffix(f"_{unit}" if unit else ""))


def _meaning(quantity: str) -> str:
    if quantity in _MEANINGS:
        return _MEANINGS[quantity]
    if quantity.endswith("_rate"):
        return f"rate of change: {_meaning(quantity.removesuffix('_rate'))}"
    for prefix, words in _PREFIXES.items():
        rest = quantity.removeprefix(prefix)
        if rest != quantity and (meaning := _meaning(rest)):
            return words + meaning
    # The loads of a compartment with a name of its own.
    for name, meaning in _LOADS.items():
        if quantity.endswith(f"_{name}"):
            return f"{quantity.removesuffix(f'_{name}')} compartment: {meaning}"
    return ""


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


def write_table(table: pd.DataFrame, path: Path, notes: Mapping[str, str] | None = None) -> None:
    """Write a table as Parquet; a reader sees the old file or the whole new one.

    Each column carries its unit and a description; the file carries the format's name and version,
    a SHA-256 of its content, and `notes`.
    """
    content = arrow_table(table)
    columns, shown = [], {}
    for field in content.schema:
        unit, description = described(field.name)
        shown[field.name] = {"unit": unit, "description": description}
        columns.append(field.with_metadata(shown[field.name]))
    told = {
        **{"format": FORMAT, "version": str(VERSION), "sha256": content_digest(content)},
        # Once more for readers to which the columns' own metadata are out of reach.
        "columns": json.dumps(shown),
        **(notes or {}),
    }
    described_table = content.cast(pa.schema(columns, metadata=told))
    with replacing(path) as partial:
        pq.write_table(described_table, partial, write_page_checksum=True)


def read_table(path: Path, columns: Collection[str] = ()) -> pd.DataFrame:
    """Read a table; `columns` are those that it must have.

    Tables of other programs, without this metadata, are read as well.

    Raises
    ------
    StoreError
        If the file is missing, truncated, altered, no Parquet file, of another version or lacks a
        column.
    """
    table = _read(path, columns)
    try:
        return table.to_pandas(use_threads=False)
    except ValueError as error:  # metadata of pandas that is no JSON
        raise _damaged(path, " ".join(str(error).split())) from error


def _read(path: Path, columns: Collection[str]) -> pa.Table:
    """Return a table as it is stored, checked."""
    if not path.is_file():
        raise StoreError(f"{path}: does not exist; make it with `{make_again(path)}`")
    try:
        # One thread: without the memory for others, Arrow waits for them forever.
        with pq.ParquetFile(path, page_checksum_verification=True, pre_buffer=False) as file:
            table = file.read(use_threads=False)
        told = notes_of(table)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise _damaged(path, " ".join(str(error).split())) from error
    if told.get("format", FORMAT) != FORMAT:
        raise _damaged(path, f"expected the format {FORMAT!r}, found {told['format']!r}")
    if told.get("version", str(VERSION)) != str(VERSION):
        raise StoreError(
            f"{path}: expected a table of version {VERSION}, found {told['version']!r}; "
            "read it with the version of knee-contact that wrote it"
        )
    missing = [name for name in columns if name not in table.column_names]
    if missing:
        raise _damaged(path, f"lacks the columns {', '.join(missing)}")
    if "sha256" in told and content_digest(table) != told["sha256"]:
        raise _damaged(path, "its content does not match its checksum")
    return table


def notes_of(table: pa.Table) -> dict[str, str]:
    """Return the metadata of a stored table as text."""
    return {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}


def _damaged(path: Path, what: str) -> DamagedTableError:
    return DamagedTableError(
        f"{path}: the table is damaged ({what}); delete the file and continue with "
        f"`{make_again(path)}`, which computes the table again"
    )


def digest(table: pd.DataFrame) -> str:
    """Return a SHA-256 over a table's names, types and values."""
    return content_digest(arrow_table(table))
