"""Tables as Arrow's, and a digest of their content that any program can compute."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


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
