"""The gaits that every design walks with, and the outputs of a design over all of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from dynamics.protocol import ContactModel
from dynamics.simulator.variation import VariedContact
from foundation.base.errors import InputError
from foundation.base.pose import Pose
from pipeline.config.reading import ConfigError, checked_section
from pipeline.design_space.design_gait import gait_of_design, patch_at
from pipeline.design_space.drawn_designs import infeasible
from pipeline.design_space.trained_designs import TrainedDesigns
from pipeline.stages.cycle_outputs import OUTPUTS
from pipeline.store.samples import FAILED, OK
from pipeline.studies.design import study_table
from pipeline.studies.factors import Inputs, varied
from pipeline.studies.optimisation.laxity import Laxity
from pipeline.studies.optimisation.outputs import (
    LAXITY,
    PEAK_PRESSURE,
    Measure,
    measured,
    with_peak,
)
from pipeline.studies.optimisation.schema import OptimisationConfig, dumped
from pipeline.studies.runs import FAILURES, CycleSetup
from pipeline.studies.schema import DesignConfig
from surrogates.sampling.space import ReferencePath

ModelName = Literal["surrogate", "original"]

#: Statuses of a design beside "ok": not a design of the run, or a design without a cycle.
INFEASIBLE = "infeasible"
#: Columns of the outcome of a design that are not of its outputs.
_PLAIN = ("status", "reason", "flagged_instants", "instants")
#: Files of a run that determine the outcomes of its surrogate.
_FILES = ("config.toml", "knee.npz")


@dataclass(frozen=True)
class DesignTask:
    """Common settings of the designs of a search, as sent to worker processes.

    Parameters
    ----------
    folder : str
        Directory of a run over designs.
    names : tuple of str
        Varied inputs of the gaits.
    gaits : tuple of tuple of float
        Value of each varied input in each gait, in the unit of its name; one empty row for the
        gait of the run alone.
    measures : tuple of Measure
        Measures of objectives and limits.
    laxity : Laxity, optional
        Loads of the passive AP travel, if that is an output.
    source : str
        SHA-256 of these settings and the files of the run.
    """

    folder: str
    names: tuple[str, ...]
    gaits: tuple[tuple[float, ...], ...]
    measures: tuple[Measure, ...]
    laxity: Laxity | None
    source: str

    @classmethod
    def of(cls, config: OptimisationConfig) -> DesignTask:
        """Return the task of a search.

        Raises
        ------
        RunError
            If the folder is not a finished run over designs.
        ConfigError, InputError
            If a factor gives a value that is not allowed, or changes what the gait of the run does
            not have.
        """
        folder = Path(config.run)
        opened = TrainedDesigns.open(folder)
        laxity = Laxity.of(config.laxity, opened.knee) if config.needs_laxity else None
        names, gaits = _gaits(config)
        task = cls(
            str(folder.resolve()), names, gaits, config.measures, laxity, _source(folder, config)
        )
        _check_applicable(opened, task)
        return task

    @property
    def opened(self) -> TrainedDesigns:
        """The run over designs."""
        return _opened(self.folder, self.source)


@lru_cache(maxsize=2)
def _opened(folder: str, source: str) -> TrainedDesigns:
    del source  # another one is another run
    return TrainedDesigns.open(Path(folder))


def _source(folder: Path, config: OptimisationConfig) -> str:
    content = hashlib.sha256(json.dumps(dumped(config), sort_keys=True).encode())
    for name in _FILES:
        content.update((folder / name).read_bytes())
    return content.hexdigest()


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
        raise ConfigError(str(error).replace("study.factor", "optimisation.factor")) from error
    names = tuple(factor.name for factor in config.factor)
    return names, tuple(map(tuple, table[list(names)].to_numpy(dtype=np.float64).tolist()))


def _check_applicable(opened: TrainedDesigns, task: DesignTask) -> None:
    """Raise an InputError unless the gait of the run has what each factor changes."""
    middle = 0.5 * (opened.knee.parameters.low + opened.knee.parameters.high)
    setup = cycles_of(opened, opened.knee.parameters.named(middle), "surrogate")
    for gait in task.gaits[:1]:
        for name, value in zip(task.names, gait, strict=True):
            try:
                varied(setup.nominal, {name: value})
            except InputError as error:
                raise InputError(f"optimisation.factor: {name}: {error}") from error


def cycles_of(opened: TrainedDesigns, values: Mapping[str, float], model: ModelName) -> CycleSetup:
    """Return the cycles of a design by a model of its contact.

    Parameters
    ----------
    opened : TrainedDesigns
        The run over designs.
    values : mapping of str to float
        Value of each parameter, in the unit of its name.
    model : {"surrogate", "original"}
        Model of the contact loads.

    Raises
    ------
    InputError
        If a parameter is outside its range, or the original model cannot be built.
    """
    gait = gait_of_design(opened.config, opened.knee, values)
    contact = opened.knee.at(values) if model == "surrogate" else opened.original(values).model
    return CycleSetup(contact, gait, patch_at(opened.knee, values))


def outcome(task: DesignTask, values: Mapping[str, float], model: ModelName) -> dict[str, Any]:
    """Return the outcome of a design over all gaits.

    Parameters
    ----------
    task : DesignTask
        Gaits and measures.
    values : mapping of str to float
        Value of each parameter of the design, in the unit of its name.
    model : {"surrogate", "original"}
        Model of the contact loads.

    Returns
    -------
    dict
        "status" ("ok", "infeasible" or "failed"), "reason", "flagged_instants" and "instants" of
        all gaits, and, of a design with a cycle for every gait, the mean of each output and the
        measures by their columns.
    """
    opened = task.opened
    if reason := infeasible(opened.config, values):
        return {"status": INFEASIBLE, "reason": reason, "flagged_instants": 0, "instants": 0}
    try:
        return _over_gaits(task, cycles_of(opened, values, model), opened.knee.path(values))
    except FAILURES as error:
        reason = " ".join(str(error).split())
    return {"status": FAILED, "reason": reason, "flagged_instants": 0, "instants": 0}


def _over_gaits(task: DesignTask, setup: CycleSetup, path: ReferencePath) -> dict[str, Any]:
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


def outcomes(task: DesignTask, rows: pd.DataFrame, model: ModelName = "surrogate") -> pd.DataFrame:
    """Return designs, a row each with its parameters, and their outcomes (`outcome`)."""
    names = list(task.opened.knee.parameters.names)
    found = [
        outcome(task, dict(zip(names, map(float, row), strict=True)), model)
        for row in rows[names].to_numpy(dtype=np.float64)
    ]
    table = pd.DataFrame(found, index=rows.index)
    # A chunk without any cycle has the columns as well.
    columns = [*_PLAIN, *number_columns(task)]
    return pd.concat([rows, table.reindex(columns=columns)], axis=1)


def number_columns(task: DesignTask) -> tuple[str, ...]:
    """Return the columns with the outputs of a design and its measures."""
    outputs = [PEAK_PRESSURE, *OUTPUTS, *([LAXITY] if task.laxity is not None else [])]
    return tuple(dict.fromkeys([*outputs, *(measure.column for measure in task.measures)]))
