"""Designs of a search with their outcomes: evaluated in parallel, each once, and stored."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray
from pipeline.execution.backends import Execution
from pipeline.store.samples import read_table, write_table
from pipeline.studies.optimisation.gaits import (
    EXPECTED_COLUMNS,
    ModelName,
    SearchTask,
    number_columns,
    outcomes,
)

#: Parts of the designs of a generation for each worker, so that all workers end at about the same
#: time.
_PARTS_EACH = 4
#: Columns of a design beside parameters and outcome.
_NUMBERS = ("design", "generation")


class EvaluatedDesigns:
    """Designs with their outcomes, each evaluated once, in the order of their first evaluation.

    The table of the designs, `file`, is written after each generation. Designs that it holds
    already are not evaluated again.
    """

    def __init__(self, task: SearchTask, file: Path, execution: Execution) -> None:
        self._task, self._file, self._execution = task, file, execution
        self._names = list(task.run.knee.parameters.names)
        self._stored: dict[bytes, dict[Hashable, Any]] = {}
        self._rows: dict[bytes, dict[Hashable, Any]] = {}
        if file.exists():
            columns = (*_NUMBERS, *self._names, "status", *number_columns(task), *EXPECTED_COLUMNS)
            self._stored = self._by_design(read_table(file, columns))

    @property
    def table(self) -> pd.DataFrame:
        """All designs: numbers, parameters and outcomes."""
        table = pd.DataFrame(list(self._rows.values()))
        return table.assign(design=np.arange(len(table)))

    def evaluate(
        self, designs: FloatArray, generation: int, done: Callable[[int], object]
    ) -> pd.DataFrame:
        """Return designs (N, P) [any unit] with their outcomes, and store them.

        `done` takes the number of designs that have been evaluated.
        """
        keys = [row.tobytes() for row in designs]
        missing = [k for k, key in enumerate(keys) if key not in self._stored]
        done(len(keys) - len(missing))
        table = pd.DataFrame(designs[missing], columns=pd.Index(self._names))
        for part in evaluated_parts(self._task, table, self._execution, "surrogate"):
            self._stored |= self._by_design(part.assign(generation=generation))
            done(len(part))
        for key in keys:
            self._rows.setdefault(key, self._stored[key])
        if missing:
            write_table(self.table, self._file)
        return pd.DataFrame([self._rows[key] for key in keys])

    def _by_design(self, table: pd.DataFrame) -> dict[bytes, dict[Hashable, Any]]:
        values = np.ascontiguousarray(table[self._names].to_numpy(dtype=np.float64))
        rows = table.to_dict("records")
        return {value.tobytes(): row for value, row in zip(values, rows, strict=True)}


def evaluated_parts(
    task: SearchTask, table: pd.DataFrame, execution: Execution, model: ModelName
) -> Iterator[pd.DataFrame]:
    """Yield parts of a table of designs with their outcomes by a model, as they are evaluated."""
    if table.empty:
        return
    count = min(len(table), _PARTS_EACH * execution.workers)
    parts = [(table.iloc[k::count], model) for k in range(count)]
    for _, found in execution.results(outcomes, parts, task):
        yield found
