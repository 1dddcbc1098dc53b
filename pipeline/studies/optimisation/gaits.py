"""The gaits that every design walks with, and the outputs of a design over all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from dynamics.protocol import ContactModel
from dynamics.simulator.variation import VariedContact
from foundation.base.errors import InputError
from foundation.base.pose import Pose
from pipeline.config.reading import ConfigError, checked_section
from pipeline.design_space.drawn_designs import infeasible
from pipeline.design_space.errors import ACCEPTED, expected_errors
from pipeline.design_space.trained_designs import TrainedDesigns
from pipeline.stages.cycle_outputs import OUTPUTS
from pipeline.store.samples import FAILED, OK
from pipeline.studies.design import study_table
from pipeline.studies.design_runs import DesignTask, opened, setup_of_design
from pipeline.studies.factors import Inputs, check_applicable, varied
from pipeline.studies.optimisation.laxity import Laxity
from pipeline.studies.optimisation.outputs import (
    EXPECTED,
    LAXITY,
    PEAK_PRESSURE,
    Measure,
    measured,
    with_peak,
)
from pipeline.studies.optimisation.schema import OptimisationConfig, OptimisationFile
from pipeline.studies.runs import FAILURES, CycleSetup, nominal_inputs
from pipeline.studies.schema import DesignConfig
from surrogates.sampling.space import ReferencePath

ModelName = Literal["surrogate", "original"]

#: Statuses of a design beside "ok": not a design of the run, or a design without a cycle.
INFEASIBLE = "infeasible"
#: Columns of the outcome of a design that are not of its outputs.
_PLAIN = ("status", "reason", "flagged_instants", "instants")
#: Columns of the expected errors of the surrogate.
EXPECTED_COLUMNS = tuple(f"{EXPECTED}{name}" for name in ACCEPTED)


@dataclass(frozen=True)
class SearchTask:
    """Common settings of the designs of a search, as sent to worker processes."""

    #: The run over designs, its surrogate as contact model.
    designs: DesignTask
    #: Varied inputs of the gaits.
    names: tuple[str, ...]
    #: Their values in each gait, in the unit of the name; one empty row for the run's gait alone.
    gaits: tuple[tuple[float, ...], ...]
    #: Measures of objectives and limits.
    measures: tuple[Measure, ...]
    #: Loads of the passive AP travel, if that is an output.
    laxity: Laxity | None

    @classmethod
    def of(cls, file: OptimisationFile) -> SearchTask:
        """Return the task of a search.

        Raises `RunError` if the folder is not a finished run over designs, and `ConfigError` or
        `InputError` if a key of [simulation] cannot be used, or a factor gives a value that is not
        allowed or changes what the gait does not have.
        """
        config = file.optimisation
        designs = DesignTask.of(Path(config.run), "surrogate", file.simulation)
        run, gait = opened(designs)
        laxity = Laxity.of(config.laxity, run.knee) if config.needs_laxity else None
        names, gaits = _gaits(config)
        for name in names:
            try:
                check_applicable(nominal_inputs(gait), [name])
            except InputError as error:
                raise InputError(_of_optimisation(error)) from error
        return cls(designs, names, gaits, config.measures, laxity)

    @property
    def run(self) -> TrainedDesigns:
        """The run over designs."""
        return opened(self.designs)[0]

    @property
    def source(self) -> str:
        """SHA-256 of what the outcome of a design depends on."""
        kept = self.names, self.gaits, self.measures, self.laxity
        return hashlib.sha256(f"{self.designs.source} {kept}".encode()).hexdigest()

    def cycles_of(self, values: Mapping[str, float], model: ModelName) -> CycleSetup:
        """Return the gait cycle of a design with a contact model; values as in `outcome`.

        Raises `InputError` if the design is infeasible, outside the ranges, or has no contact
        model.
        """
        return setup_of_design(replace(self.designs, model=model), tuple(values.items()))


def _gaits(config: OptimisationConfig) -> tuple[tuple[str, ...], tuple[tuple[float, ...], ...]]:
    """Return the varied inputs, and their values in each gait: a Latin hypercube."""
    if config.cycles == 1:
        return (), ((),)
    keys = {
        "name": config.name,
        "kind": "latin_hypercube",
        "runs": config.cycles,
        "seed": config.seed,
        "factor": [factor.model_dump(exclude_none=True) for factor in config.factor],
    }
    design = checked_section(keys, DesignConfig, "[optimisation]")
    try:
        table = study_table(design)
    except ConfigError as error:
        raise ConfigError(_of_optimisation(error)) from error
    names = tuple(factor.name for factor in config.factor)
    return names, tuple(map(tuple, table[list(names)].to_numpy(dtype=np.float64).tolist()))


def _of_optimisation(error: InputError) -> str:
    """Return the message of an error about a study as one about a search."""
    return str(error).replace("study.factor", "optimisation.factor")


def outcome(task: SearchTask, values: Mapping[str, float], model: ModelName) -> dict[str, Any]:
    """Return the outcome of a design, values in the units of their names, over all gaits.

    It has "status" ("ok", "infeasible" or "failed"), "reason", "flagged_instants" and "instants" of
    all gaits, and, of a design with a cycle for every gait, the mean of each output and the
    measures by their columns, and the expected errors of the surrogate.
    """
    status, reason = INFEASIBLE, infeasible(task.run.config, values)
    if not reason:
        try:
            knee = task.run.knee
            found = _over_gaits(task, task.cycles_of(values, model), knee.path(values))
            expected = expected_errors(knee, values) if model == "surrogate" else {}
            return found | {f"{EXPECTED}{name}": error for name, error in expected.items()}
        except FAILURES as error:
            status, reason = FAILED, " ".join(str(error).split())
    return {"status": status, "reason": reason, "flagged_instants": 0, "instants": 0}


def _over_gaits(task: SearchTask, setup: CycleSetup, path: ReferencePath) -> dict[str, Any]:
    """Return the outcome of a design with a cycle for every gait; raises one of `FAILURES`."""
    cycles, flagged, instants = [], 0, 0
    for gait in task.gaits:
        inputs = varied(setup.nominal, dict(zip(task.names, gait, strict=True)))
        result = setup.simulate(inputs)
        outputs = with_peak(setup.outputs(inputs, result))
        if task.laxity is not None:
            outputs[LAXITY] = _ap_travel(task.laxity, setup.model, inputs, path)
        for name, value in outputs.items():
            if not np.isfinite(value):
                raise InputError(f"{name} is not finite")
        cycles.append(outputs)
        flagged += result.flagged
        instants += len(result.time)
    return {
        **{"status": OK, "reason": "", "flagged_instants": flagged, "instants": instants},
        **measured(task.measures, cycles),
    }


def _ap_travel(laxity: Laxity, contact: ContactModel, inputs: Inputs, path: ReferencePath) -> float:
    """Return the passive AP travel of a design in one of its gaits [mm]."""
    start = Pose.from_array(laxity.start(path).array - inputs.offset)
    model = VariedContact(contact, inputs.offset, inputs.stiffness)
    return laxity.travel(model, inputs.simulator, start)


def outcomes(task: SearchTask, rows: pd.DataFrame, model: ModelName = "surrogate") -> pd.DataFrame:
    """Return designs, a row each with its parameters, and their outcomes (`outcome`)."""
    names = list(task.run.knee.parameters.names)
    found = [
        outcome(task, dict(zip(names, map(float, row), strict=True)), model)
        for row in rows[names].to_numpy(dtype=np.float64)
    ]
    table = pd.DataFrame(found, index=rows.index)
    # A chunk without any cycle has the columns as well.
    columns = [*_PLAIN, *number_columns(task), *EXPECTED_COLUMNS]
    return pd.concat([rows, table.reindex(columns=columns)], axis=1)


def number_columns(task: SearchTask) -> tuple[str, ...]:
    """Return the columns with the outputs of a design and its measures."""
    outputs = [PEAK_PRESSURE, *OUTPUTS, *([LAXITY] if task.laxity is not None else [])]
    return tuple(dict.fromkeys([*outputs, *(measure.column for measure in task.measures)]))
