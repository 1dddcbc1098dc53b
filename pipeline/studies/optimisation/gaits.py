"""Designs of a search: their gaits and outcomes, evaluated in parallel."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from dynamics.protocol import ContactModel
from dynamics.simulator.equilibrium import settle
from dynamics.simulator.knee_simulator import KneeSimulator
from dynamics.simulator.variation import VariedContact
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.pose import Pose
from pipeline.config.reading import ConfigError, checked_section
from pipeline.design_space.errors import ACCEPTED, expected_errors
from pipeline.design_space.sampling import infeasible
from pipeline.design_space.taken_design import TrainedDesigns
from pipeline.execution import Execution
from pipeline.progress import bar
from pipeline.stages.model_cycles import FAILURES, OUTPUTS
from pipeline.store.samples import FAILED, OK, read_table, write_table
from pipeline.studies.factors import check_applicable, varied
from pipeline.studies.optimisation.schema import (
    EXPECTED,
    LAXITY,
    PEAK_PRESSURE,
    LaxityConfig,
    Measure,
    OptimisationConfig,
    OptimisationFile,
    measured,
    with_peak,
)
from pipeline.studies.runs import CycleSetup, nominal_inputs
from pipeline.studies.schema import DesignConfig
from pipeline.studies.study import DesignTask, opened, setup_of_design
from pipeline.studies.summary import study_table
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.sampling.parameters import Parameters
from surrogates.sampling.space import ReferencePath


@dataclass(frozen=True)
class Laxity:
    """Loads of the passive AP travel."""

    #: Flexion [rad].
    flexion: float
    #: Axial force [N].
    axial_force: float
    #: Size of the AP force on the tibia [N].
    ap_force: float

    @classmethod
    def of(cls, config: LaxityConfig, knee: ContactSurrogate) -> Self:
        """Return the loads of a configuration; raises if the flexion is not trained."""
        flexion = float(np.deg2rad(config.flexion_deg))
        low, high = np.array([part.space.flexion for part in knee.by_name.values()]).T
        if not low.max() <= flexion <= high.min():
            raise InputError(
                f"optimisation.laxity.flexion_deg: expected {np.rad2deg(low.max()):g} to "
                f"{np.rad2deg(high.min()):g}, where the surrogate is trained, found "
                f"{config.flexion_deg:g}"
            )
        return cls(flexion, config.axial_force_N, config.ap_force_N)

    def travel(self, model: ContactModel, simulator: KneeSimulator, start: Pose) -> float:
        """Return the AP travel of the resting knee [mm], which rests near `start`."""
        rests = [
            settle(
                model,
                simulator,
                flexion=self.flexion,
                axial_force=self.axial_force,
                ap_force=sign * self.ap_force,
                start=start,
            )
            for sign in (-1.0, 1.0)
        ]
        return 1e3 * abs(rests[1].anterior - rests[0].anterior)


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
        """Return the task of a search; raises as `DesignTask.of`, or if a factor cannot be used."""
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
        """Return the gait cycle of a design with a contact model; values as in `outcome`."""
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
    """Return status, outputs, measures and expected errors of a design over all gaits."""
    status, reason = INFEASIBLE, infeasible(task.run.config, values)
    if not reason:
        try:
            knee = task.run.knee
            found = _over_gaits(task, task.cycles_of(values, model), knee.path_of(values))
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
            start = path.poses([task.laxity.flexion])[0] - inputs.offset
            model = VariedContact(setup.model, inputs.offset, inputs.stiffness)
            travel = task.laxity.travel(model, inputs.simulator, Pose.from_array(start))
            outputs[LAXITY] = travel
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


#: Parts of the designs of a generation for each worker, so that all workers end at about the same
#: time.
_PARTS_EACH = 4
#: Columns of a design beside parameters and outcome.
_NUMBERS = ("design", "generation")


class EvaluatedDesigns:
    """Designs with their outcomes, each evaluated once, stored in `file` after each generation."""

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
        """Return designs (N, P) [any unit] with outcomes; `done` takes how many are evaluated."""
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


def evaluated(
    task: SearchTask, table: pd.DataFrame, execution: Execution, model: ModelName, told: str
) -> pd.DataFrame:
    """Return a table of designs with their outcomes by a model, in the same order, with a bar."""
    parts = []
    with bar(len(table), "design", told) as shown:
        for part in evaluated_parts(task, table, execution, model):
            parts.append(part)
            shown.update(len(part))
    return pd.concat(parts).loc[table.index]


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


#: Values of a parameter along a slice.
_POINTS = 9


def slices_through(
    task: SearchTask, designs: pd.DataFrame, parameters: Parameters, execution: Execution
) -> pd.DataFrame:
    """Return outcomes "along" each parameter through designs, whose index is their number."""
    rows = []
    for number, design in designs[list(parameters.names)].iterrows():
        for name, low, high in zip(parameters.names, parameters.low, parameters.high, strict=True):
            # The value of the design itself is one of those of its slice.
            values = np.union1d(np.linspace(low, high, _POINTS), float(design[name]))
            for value in values:
                rows.append({"design": number, "along": name, **design, name: float(value)})
    return evaluated(task, pd.DataFrame(rows), execution, "surrogate", "slices")
