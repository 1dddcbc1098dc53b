"""Designs of a search: each is simulated once, by many workers, and its results are stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from pipeline.design_space.errors import ACCEPTED, expected_errors
from pipeline.design_space.sampling import infeasible
from pipeline.execution import Execution
from pipeline.stages.model_cycles import FAILURES
from pipeline.store.sample_store import SAMPLES, Evaluation, SampleStore
from pipeline.store.samples import FAILED, OK
from pipeline.studies.optimisation.schema import DESIGN_OUTPUTS, EXPECTED, PEAK_PRESSURE
from pipeline.studies.study import DesignTask, opened, setup_of_design

#: Status of what is no design of the run, beside "ok" and "failed".
INFEASIBLE = "infeasible"
#: Parts of the designs of a generation for each worker, so that all workers end at about the same
#: time.
_PARTS_EACH = 4
#: Numbers of a design: its outputs, and the errors that are expected of the surrogate.
_NUMBERS = (*DESIGN_OUTPUTS, *(f"{EXPECTED}{name}" for name in ACCEPTED))


def outcome(task: DesignTask, values: dict[str, float]) -> dict[str, Any]:
    """Return status, reason, flagged instants, outputs and expected errors of a design."""
    run, _ = opened(task)
    found: dict[str, Any] = {"status": INFEASIBLE, "reason": infeasible(run.config, values)}
    found |= {"flagged_instants": 0, **dict.fromkeys(_NUMBERS, np.nan)}
    if found["reason"]:
        return found
    try:
        setup = setup_of_design(task, tuple(values.items()))
        result = setup.simulate(setup.nominal)
        outputs = setup.outputs(setup.nominal, result)
        for name, value in outputs.items():
            if not np.isfinite(value):
                raise InputError(f"{name} is not finite")
        expected = expected_errors(run.knee, values) if task.model == "surrogate" else {}
    except FAILURES as error:
        return found | {"status": FAILED, "reason": " ".join(str(error).split())}
    peak = max(outputs[f"{part}_peak_pressure_MPa"] for part in COMPARTMENTS)
    return {
        **found,
        **{"status": OK, "flagged_instants": result.flagged, PEAK_PRESSURE: peak, **outputs},
        **{f"{EXPECTED}{name}": error for name, error in expected.items()},
    }


def outcomes(task: DesignTask, rows: pd.DataFrame) -> pd.DataFrame:
    """Return designs, a row each with its parameters, and their outcomes."""
    values = [{str(name): value for name, value in row.items()} for row in rows.to_dict("records")]
    found = [outcome(task, row) for row in values]
    return pd.concat([rows, pd.DataFrame(found, index=rows.index)], axis=1)


class Designs:
    """Designs with their outcomes, each evaluated once and stored in a folder."""

    def __init__(self, task: DesignTask, folder: Path, execution: Execution) -> None:
        self.names = list(opened(task)[0].knee.parameters.names)
        self._execution = execution
        evaluation = Evaluation(outcomes, (task,), f"{task.source} {task.model}")
        self._store = SampleStore(folder / SAMPLES, evaluation)
        self._parts: list[pd.DataFrame] = []

    @property
    def table(self) -> pd.DataFrame:
        """All designs: numbers, parameters and outcomes."""
        table = pd.concat(self._parts).drop_duplicates(self.names, ignore_index=True)
        return table.assign(design=np.arange(len(table)))

    def evaluate(self, designs: FloatArray, generation: int, shown: tqdm[Any]) -> pd.DataFrame:
        """Return designs (N, P) [any unit] with their outcomes."""
        rows = pd.DataFrame(designs, columns=pd.Index(self.names))
        missing = self._store.missing(rows.drop_duplicates())
        shown.update(len(rows) - len(missing))
        size = -(-len(missing) // (_PARTS_EACH * self._execution.workers))
        self._store.evaluate(missing, max(size, 1), self._execution, shown)
        found = self._store.with_results(rows)
        self._parts.append(found.assign(generation=generation))
        return found
