"""Results of samples in a file of SQLite: no sample of a model is evaluated twice.

A sample is known by a digest of its model and of all that its evaluation depends on. Interrupted
runs, larger budgets and changed configurations ask for samples, some of which are known.
"""

from __future__ import annotations

import errno
import hashlib
import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from tqdm import tqdm

from pipeline.execution import Execution
from pipeline.files import WriteError, check_present
from pipeline.store.documents import make_again
from pipeline.store.samples import DamagedTableError

#: Name of the file in the folder of a run or a study.
SAMPLES = "samples.sqlite"
#: The same, and the journals that a killed command leaves beside it.
SAMPLE_FILES = (SAMPLES, f"{SAMPLES}-*")
#: Columns that name a row, on which no result depends.
_NAMES = ("index", "run")
#: Chunks for each worker, at least, so that all workers end at about the same time.
_CHUNKS_EACH = 8
_TABLE = "CREATE TABLE IF NOT EXISTS samples (key TEXT PRIMARY KEY, results BLOB) WITHOUT ROWID"
#: Error numbers by the errors of SQLite that are of writing.
_OF_WRITING = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_READONLY: errno.EACCES,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
    sqlite3.SQLITE_BUSY: errno.EBUSY,
}


class Evaluation(NamedTuple):
    """An evaluation of samples, as workers carry it out."""

    #: Function of a module or a partial of one; takes `shared` and samples, adds results.
    function: Callable[..., pd.DataFrame]
    #: First arguments of every call, sent to each worker once.
    shared: tuple[Any, ...] = ()
    #: Digest or name of what the results depend on beside the samples; "" stores no results.
    source: str = ""
    #: Columns of the samples that the evaluation finds, from where a search starts.
    found: tuple[str, ...] = ()


def chunk_size(rows: int, wanted: int, per_second: float = 0.0, workers: int = 1) -> int:
    """Return the rows of a chunk: as many as wanted, or for quick rows about a second's.

    The model is sent to a worker with every chunk; a worker evaluates `per_second` rows.
    """
    return max(wanted, min(int(per_second), rows // (_CHUNKS_EACH * workers)))


class SampleStore:
    """Known results of an evaluation; only one process at a time writes to the file."""

    def __init__(self, file: Path, evaluation: Evaluation) -> None:
        self.file = file
        self._evaluation = evaluation

    def missing(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows without a known result."""
        if not self.file.exists():
            return rows
        return rows[[results is None for results in self._known(rows)]]

    def with_results(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return rows, all of which have a known result, with their results."""
        results = pd.DataFrame(self._known(rows), index=rows.index)
        return rows.assign(**{str(name): results[name] for name in results})

    def evaluate(
        self, rows: pd.DataFrame, size: int, execution: Execution, shown: tqdm[Any]
    ) -> None:
        """Evaluate rows in chunks of a size, and store each chunk as soon as it is done."""
        function, shared, _, _ = self._evaluation
        chunks = [rows.iloc[start : start + size] for start in range(0, len(rows), size)]
        done = 0
        try:
            for place, results in execution.results(function, [(c,) for c in chunks], *shared):
                self._store(chunks[place], results)
                done += len(results)
                shown.update(len(results))
        except WriteError as error:
            error.kept = f"{done} of {len(rows)} missing {shown.unit}s are stored"
            raise

    def _store(self, rows: pd.DataFrame, found: pd.DataFrame) -> None:
        new = [name for name in found if name not in rows or name in self._evaluation.found]
        texts = (
            json.dumps(row, default=np.ndarray.tolist).encode()
            for row in found.loc[rows.index, new].to_dict("records")
        )
        check_present(self.file.parent)
        with self._opened() as table:
            pairs = zip(self._keys(rows), map(zlib.compress, texts), strict=True)
            table.executemany("INSERT OR REPLACE INTO samples VALUES (?, ?)", pairs)

    def _known(self, rows: pd.DataFrame) -> list[dict[str, Any] | None]:
        """Return the stored results of rows by column; None where there are none."""
        ask = "SELECT results FROM samples WHERE key = ?"
        with self._opened() as table:
            stored = [table.execute(ask, (key,)).fetchone() for key in self._keys(rows)]
            return [None if row is None else json.loads(zlib.decompress(*row)) for row in stored]

    def _keys(self, rows: pd.DataFrame) -> list[str]:
        """Return a digest of each row, and of what else its results depend on."""
        left_out = (*_NAMES, *self._evaluation.found)
        inputs = rows[sorted(name for name in rows.columns if name not in left_out)]
        head = [self._evaluation.source, *inputs.columns]
        texts = (json.dumps([*head, *row]) for row in inputs.itertuples(index=False, name=None))
        return [hashlib.sha256(text.encode()).hexdigest() for text in texts]

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open the table for one transaction, which is committed at the end of the block."""
        try:
            with closing(sqlite3.connect(self.file)) as table, table:
                # Whoever reads the file does not keep the command from writing.
                table.execute("PRAGMA journal_mode = WAL")
                table.execute(_TABLE)
                yield table
        except (sqlite3.DatabaseError, zlib.error) as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
            if code in _OF_WRITING:
                number = _OF_WRITING[code]
                raise WriteError(number, f"cannot be written ({error})", str(self.file)) from error
            raise DamagedTableError(
                f"{self.file}: damaged ({error}); delete the file and continue with "
                f"`{make_again(self.file)}`, which evaluates its samples again"
            ) from error
