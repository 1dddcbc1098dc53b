"""Sample tables and their store: one row per sample, columns with units, written atomically."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from foundation.checks import FloatArray
from foundation.loads import LOAD_COLUMNS
from pipeline.files import replacing

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
#: Files that the finished chunks of a table are spread over at most.
_MOST_CHUNKS = 400


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
    content = pa.Table.from_pandas(table, preserve_index=False)
    with replacing(path) as partial:
        pq.write_table(content, partial, write_page_checksum=True)


def read_table(path: Path, columns: Collection[str] = ()) -> pd.DataFrame:
    """Read a table; `columns` are those that it must have.

    Raises
    ------
    StoreError
        If the file is missing, truncated, altered, no Parquet file or lacks a column.
    """
    if not path.is_file():
        raise StoreError(f"{path}: no such file; make it with `run ... --resume`")
    try:
        table = pq.read_table(path, page_checksum_verification=True).to_pandas()
    except (OSError, pa.ArrowException) as error:
        raise _damaged(path, " ".join(str(error).split())) from error
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise _damaged(path, f"lacks the columns {', '.join(missing)}")
    return table


def _damaged(path: Path, what: str) -> StoreError:
    return StoreError(
        f"{path}: expected a whole table of samples, found it damaged ({what}); delete it and go "
        "on with `run ... --resume`, which computes it again"
    )


def digest(table: pd.DataFrame) -> str:
    """Return a SHA-256 over a table's names and values."""
    content = hashlib.sha256("\n".join(table.columns).encode())
    content.update(pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes())
    return content.hexdigest()


def chunk_size(rows: int, wanted: int) -> int:
    """Return how many rows a chunk has: as many as wanted, or more, lest there be many files."""
    return max(wanted, rows // _MOST_CHUNKS)


class ChunkStore:
    """Finished chunks of a running evaluation, so that a killed run loses at most one chunk.

    Parameters
    ----------
    folder : Path
        Where the chunks are kept until the stage ends.
    columns : collection of str
        Columns that the results of an evaluation have.
    """

    def __init__(self, folder: Path, columns: Collection[str] = RESULT_COLUMNS) -> None:
        self.folder = folder
        self.columns = columns

    def evaluate(
        self,
        table: pd.DataFrame,
        size: int,
        compute: Callable[[list[pd.DataFrame]], Iterator[tuple[int, pd.DataFrame]]],
        advance: Callable[[int], None],
    ) -> pd.DataFrame:
        """Return the results of all rows, computing only those that are not stored yet.

        A chunk's file is named after a digest of the whole table and its first row: what belongs
        to other samples is never taken, and chunks of another size are.

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
        if table.empty:
            return table.assign(**{name: [] for name in self.columns})
        key = digest(table)[:16]
        done = self._stored(key)
        advance(sum(map(len, done.values())))
        starts, missing = _missing(table, done, size)
        for position, result in compute(missing):
            write_table(result, self.folder / f"{key}-{starts[position]:07d}.parquet")
            done[starts[position]] = result
            advance(len(result))
        return pd.concat([done[start] for start in sorted(done)], ignore_index=True)

    def _stored(self, key: str) -> dict[int, pd.DataFrame]:
        """Return the readable chunks of a table by their first row; others are computed again."""
        done = {}
        for path in self.folder.glob(f"{key}-*.parquet"):
            with suppress(StoreError):
                done[int(path.stem.rpartition("-")[2])] = read_table(path, self.columns)
        return done

    def clear(self) -> None:
        """Remove the chunks, once their stage's table is written."""
        if self.folder.is_dir():
            for file in self.folder.iterdir():
                file.unlink()
            self.folder.rmdir()


def _missing(
    table: pd.DataFrame, done: dict[int, pd.DataFrame], size: int
) -> tuple[list[int], list[pd.DataFrame]]:
    """Return the first rows of the chunks that are not done, and those chunks."""
    limits = [(start, start + len(rows)) for start, rows in sorted(done.items())]
    ends = [0, *(stop for _, stop in limits)]
    begins = [*(start for start, _ in limits), len(table)]
    starts, chunks = [], []
    for low, high in zip(ends, begins, strict=True):
        for start in range(low, high, size):
            starts.append(start)
            chunks.append(table.iloc[start : min(start + size, high)])
    return starts, chunks
