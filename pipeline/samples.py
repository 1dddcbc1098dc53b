"""Sample tables and their store: one row per sample, columns with units, written atomically."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from foundation.checks import FloatArray
from foundation.loads import LOAD_COLUMNS

POSE_COLUMNS = (
    "flexion_rad",
    "adduction_rad",
    "rotation_rad",
    "anterior_m",
    "superior_m",
    "lateral_m",
)
#: Columns of a candidate: who it is, where, and the axial load of its compartment.
CANDIDATE_COLUMNS = ("compartment", "index", *POSE_COLUMNS, "load_N")
#: Columns that an evaluation adds. Status is "ok" or "failed"; the reason names the failure.
RESULT_COLUMNS = ("status", "reason", "evaluations", *LOAD_COLUMNS)
OK = "ok"
FAILED = "failed"


class StoreError(RuntimeError):
    """A sample file that cannot be used."""


def poses_of(table: pd.DataFrame) -> FloatArray:
    """Return the poses of a table, (N, 6) [rad, m]."""
    return np.ascontiguousarray(table[list(POSE_COLUMNS)].to_numpy(dtype=np.float64))


def loads_of(table: pd.DataFrame) -> FloatArray:
    """Return the loads of a table, (N, 12), in the order of `foundation.loads.LOAD_COLUMNS`."""
    return np.ascontiguousarray(table[list(LOAD_COLUMNS)].to_numpy(dtype=np.float64))


def usable(table: pd.DataFrame, compartment: str) -> pd.DataFrame:
    """Return the rows of one compartment that the original model answered."""
    return table[(table["status"] == OK) & (table["compartment"] == compartment)]


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table as Parquet; a reader sees the old file or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False), partial)
    os.replace(partial, path)


def read_table(path: Path) -> pd.DataFrame:
    """Read a table.

    Raises
    ------
    StoreError
        If the file is missing, truncated or no Parquet file.
    """
    try:
        return pq.read_table(path).to_pandas()
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"{path}: cannot be read as a sample table ({error})") from error


def digest(table: pd.DataFrame) -> str:
    """Return a SHA-256 over a table's names and values."""
    content = hashlib.sha256("\n".join(table.columns).encode())
    content.update(pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes())
    return content.hexdigest()


class ChunkStore:
    """Finished chunks of a running evaluation, so that a killed run loses at most one chunk.

    Parameters
    ----------
    folder : Path
        Where the chunks are kept until the stage ends.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def chunks(self, table: pd.DataFrame, size: int) -> Iterator[tuple[Path, pd.DataFrame]]:
        """Yield the chunks of a table with the file each one's result belongs in.

        The file's name holds a digest of the chunk's rows: a chunk of other samples is never
        taken for it.
        """
        for number, start in enumerate(range(0, len(table), size)):
            rows = table.iloc[start : start + size]
            yield self.folder / f"{number:05d}-{digest(rows)[:16]}.parquet", rows

    def evaluate(
        self,
        table: pd.DataFrame,
        size: int,
        compute: Callable[[list[pd.DataFrame]], Iterator[tuple[int, pd.DataFrame]]],
        advance: Callable[[int], None],
    ) -> pd.DataFrame:
        """Return the results of all rows, computing only the chunks that are not stored yet.

        Parameters
        ----------
        table : DataFrame
            What to evaluate.
        size : int
            Rows of a chunk.
        compute : callable
            Takes the missing chunks and yields (position in that list, result) as they end.
        advance : callable
            Told how many rows have ended.
        """
        chunks = list(self.chunks(table, size))
        done = {path: read_table(path) for path, _ in chunks if path.exists()}
        advance(sum(len(rows) for rows in done.values()))
        missing = [(path, rows) for path, rows in chunks if path not in done]
        for position, result in compute([rows for _, rows in missing]):
            path = missing[position][0]
            write_table(result, path)
            done[path] = result
            advance(len(result))
        if not chunks:
            return table.assign(**{name: [] for name in RESULT_COLUMNS})
        return pd.concat([done[path] for path, _ in chunks], ignore_index=True)

    def clear(self) -> None:
        """Remove the chunks, once their stage's table is written."""
        if self.folder.is_dir():
            for file in self.folder.iterdir():
                file.unlink()
            self.folder.rmdir()
