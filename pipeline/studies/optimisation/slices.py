"""Objectives along each parameter through a design."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pipeline.execution.backends import Execution
from pipeline.progress import bar
from pipeline.studies.optimisation.evaluated import evaluated_parts
from pipeline.studies.optimisation.gaits import SearchTask
from surrogates.parametric.parameters import Parameters

#: Values of a parameter along a slice.
_POINTS = 9


def slices_through(
    task: SearchTask, designs: pd.DataFrame, parameters: Parameters, execution: Execution
) -> pd.DataFrame:
    """Return the outcomes along each parameter through designs, whose index is their number.

    Rows have "design", "along" (the name of the varied parameter), the parameters and the outcome,
    by increasing values of the varied parameter.
    """
    rows = []
    for number, design in designs[list(parameters.names)].iterrows():
        for name, low, high in zip(parameters.names, parameters.low, parameters.high, strict=True):
            # The value of the design itself is one of those of its slice.
            values = np.union1d(np.linspace(low, high, _POINTS), float(design[name]))
            for value in values:
                rows.append({"design": number, "along": name, **design, name: float(value)})
    table = pd.DataFrame(rows)
    parts = []
    with bar(len(table), "design", "slices") as shown:
        for part in evaluated_parts(task, table, execution, "surrogate"):
            parts.append(part)
            shown.update(len(part))
    return pd.concat(parts).sort_index()
