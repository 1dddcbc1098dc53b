"""Studies of gait cycles of a run, of one knee or over designs: from values to outputs."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from pydantic import ValidationError

from dynamics.ligaments.bundle_tables import LigamentDraw, load_ligament_draws
from dynamics.protocol import ContactModel
from dynamics.simulator.equations import SimulationError
from dynamics.simulator.result import SimulationResult
from dynamics.simulator.variation import VariedContact
from dynamics.wear.cycle_wear import Patch
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.flags import Flag, FlagKind, worded
from foundation.base.pose import Pose
from foundation.base.wording import counted
from pipeline.config.data_folder import data_file
from pipeline.config.reading import ConfigError, design_space_of, explain
from pipeline.config.schema import Config
from pipeline.config.schema_base import near
from pipeline.config.stage_schema import SimulationConfig
from pipeline.design_space.designs import TrainedDesigns, base_values, infeasible, patch_at
from pipeline.design_space.errors import (
    doubts,
    exceeded,
    expected_errors,
    largest_share,
    output_errors,
)
from pipeline.execution import Execution
from pipeline.files import write_npz
from pipeline.flagged_instants import DESIGN_SAMPLES, joined_kinds
from pipeline.flagged_instants import SAMPLES as RUN_SAMPLES
from pipeline.progress import bar, say
from pipeline.reports.judgement import judgement
from pipeline.simulation import (
    FAILURES,
    OUTPUTS,
    WAVES,
    GaitSimulation,
    ModelCycle,
    cycle_outputs,
    cycle_waves,
    ligament_places,
)
from pipeline.stages.run_folder import TrainedRun
from pipeline.store.documents import read_arrays
from pipeline.store.job import Job, JobKind, is_over_designs
from pipeline.store.quantities import FOR_WEAR
from pipeline.store.run_documents import Judgement
from pipeline.store.sample_store import SAMPLE_FILES, SAMPLES, Evaluation, SampleStore
from pipeline.store.samples import FAILED, OK, read_table, write_table
from pipeline.studies.conduct import Outcome, Study
from pipeline.studies.experiment import (
    quantile,
    study_page,
    study_table,
    summarise,
    summary_lines,
)
from pipeline.studies.factors import (
    DESIGN,
    FACTORS,
    LIGAMENT_DRAW,
    Factor,
    Inputs,
    check_applicable,
    unit_of,
    varied,
)
from pipeline.studies.schema import FactorConfig, StudyConfig, StudyFile


@dataclass(frozen=True)
class Task:
    """Common settings of the runs of a study, as sent to worker processes."""

    #: Files of the run that change the results.
    names: ClassVar[tuple[str, ...]] = "knee.npz", "path.json", "config.toml", "wear.npz"
    #: Kind of the finished run.
    kind: ClassVar[type[TrainedRun | TrainedDesigns]] = TrainedRun
    #: Run directory.
    folder: str
    #: Model of the contact loads: "surrogate" or "original".
    model: str
    #: The [simulation] of the run, with the replacements of the study.
    simulation: SimulationConfig
    #: SHA-256 of these settings, the files of the run, and the draws.
    source: str
    #: Table of draws of ligaments; "" for none.
    draws: str = ""

    @classmethod
    def of(cls, folder: Path, model: str, changes: Mapping[str, Any], draws: str = "") -> Self:
        """Return the task of a finished run with `changes` of its [simulation], key -> value."""
        simulation = replaced(cls.kind.open(folder).config.simulation, changes)
        content = hashlib.sha256(f"{model} {simulation.model_dump_json()}".encode())
        for file in (folder / name for name in (*cls.names, draws)):
            content.update(file.read_bytes() if file.is_file() else b"")
        source = content.hexdigest()
        return cls(str(folder.resolve()), model, simulation, source, draws)

    @property
    def ligament_draws(self) -> tuple[LigamentDraw, ...]:
        """Draws of ligaments in the frames of the bones."""
        if not self.draws:
            return ()
        return load_ligament_draws(self.draws, **ligament_places(self.simulation))

    def prepared(self, values: Mapping[str, float]) -> tuple[CycleSetup, Mapping[str, float]]:
        """Return the setup of a run, and the values of the factors that change its inputs."""
        return CycleSetup.of(self), values


def replaced(simulation: SimulationConfig, changes: Mapping[str, Any]) -> SimulationConfig:
    """Return a [simulation] with replaced keys; a ConfigError names the keys that do not fit."""
    try:
        changed = SimulationConfig.model_validate(simulation.model_dump() | dict(changes))
    except ValidationError as error:
        raise ConfigError(explain("[simulation]", error, SimulationConfig)) from error
    return changed.state_knee(simulation.knee)


@dataclass(frozen=True, eq=False)
class CycleSetup:
    """Models and nominal inputs of the gait cycles of a task."""

    model: ContactModel
    #: Nominal gait cycle, which starts from the equilibrium of the contact.
    gait: GaitSimulation
    #: Contact patches of the original model, for the wear of a surrogate.
    patch: Patch
    #: Why no instant can be trusted.
    flags: tuple[Flag, ...] = ()
    #: Ligaments that runs draw.
    draws: tuple[LigamentDraw, ...] = ()

    @classmethod
    @lru_cache(maxsize=2)
    def of(cls, task: Task) -> CycleSetup:
        """Return the setup of a task."""
        folder = Path(task.folder)
        run = TrainedRun.open(folder)
        lacking = run.surrogate.header.get("not_given", [])
        if FOR_WEAR.intersection(lacking):
            raise InputError(
                f"{folder}: a study needs areas, pressures and wear, and the table of this run "
                f"lacks {', '.join(lacking)}; add the columns to the table"
            )
        model: ContactModel = run.reference_model if task.model == "original" else run.surrogate
        gait = GaitSimulation.of(task.simulation, run.path)
        short = task.simulation.model_copy(update={"cycles": 1, "samples": 11})
        start = Pose.from_array(replace(gait, config=short)(model).poses[0])
        patch = Patch(np.ones(2), None)
        if (file := folder / "wear.npz").exists():
            arrays = read_arrays(file, {"aspect": (2,), "ratio": (2,)})
            patch = Patch(arrays["aspect"], arrays["ratio"])
        if gait.wear_law.by_point:
            patch = patch._replace(tibia=run.reference_model.tibia)
        return cls(model, replace(gait, start=start), patch, draws=task.ligament_draws)

    @property
    def nominal(self) -> Inputs:
        """Inputs without changes."""
        return nominal_inputs(self.gait, self.draws)

    def simulate(self, inputs: Inputs) -> SimulationResult:
        """Simulate the cycle from near the nominal equilibrium of the contact."""
        gait = replace(self.gait, simulator=inputs.simulator, cycle=inputs.cycle)
        if not inputs.offset.any() and inputs.stiffness == 1.0:
            return gait(self.model)
        start = Pose.from_array(self.gait.start.array - inputs.offset)
        model = VariedContact(self.model, inputs.offset, inputs.stiffness)
        return replace(gait, start=start)(model)

    def outputs(self, inputs: Inputs, result: SimulationResult) -> dict[str, float]:
        """Return the outputs of a simulated cycle; wear by the pressures of an original model."""
        # Loads are in the frame of the offset tibia; so must the poses be.
        at_contact = replace(result, poses=result.poses + inputs.offset)
        law = self.gait.wear_law
        if inputs.wear_factor is not None:
            law = replace(law, factor=inputs.wear_factor)
        return cycle_outputs(result, ModelCycle(self.model, at_contact, law, self.patch).wear)


def nominal_inputs(gait: GaitSimulation, draws: tuple[LigamentDraw, ...] = ()) -> Inputs:
    """Return the inputs of a gait cycle without changes, and ligaments to draw."""
    factor = gait.wear_law.factor if gait.config.wear_law == "factor" else None
    return Inputs(gait.cycle, gait.simulator, wear_factor=factor, draws=draws)


def run_once(task: Task, values: Mapping[str, float]) -> dict[str, Any]:
    """Return the results of one run by `COLUMNS`; `values` are in units of the factors."""
    started = time.perf_counter()
    try:
        setup, others = task.prepared(values)
        row = _simulated(setup, varied(setup.nominal, others))
    except FAILURES as error:
        undefined = np.full(task.simulation.samples, np.nan, dtype=np.float32)
        row = {
            **{"status": FAILED, "reason": " ".join(str(error).split())},
            **dict.fromkeys(OUTPUTS, np.nan),
            **{"flagged_instants": 0, "flags": "", "flag_kinds": "", "evaluations": 0},
            **{f"wave_{name}": undefined for name in WAVES},
        }
    return row | {"seconds": time.perf_counter() - started}


def _simulated(setup: CycleSetup, inputs: Inputs) -> dict[str, Any]:
    """Return the results of a run; raises one of `FAILURES`."""
    result = setup.simulate(inputs)
    flags = [*setup.flags, *(contact_flag.flag for contact_flag in result.flags)]
    outputs = setup.outputs(inputs, result)
    for name, value in outputs.items():
        if not np.isfinite(value):
            raise SimulationError(f"{name} is not finite")
    return {
        **{"status": OK, "reason": "", **outputs},
        "flagged_instants": len(result.time) if setup.flags else result.flagged,
        "flags": worded(flags),
        "flag_kinds": joined_kinds(flag.kind for flag in flags),
        "evaluations": result.statistics.evaluations,
        **{f"wave_{name}": wave.astype(np.float32) for name, wave in cycle_waves(result).items()},
    }


#: Columns that a simulation adds to its row.
COLUMNS = (
    *("status", "reason", *OUTPUTS),
    *("flagged_instants", "flags", "flag_kinds", "evaluations", "seconds"),
    *(f"wave_{name}" for name in WAVES),
)


def run_rows(task: Task, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a study, number of the run and input values, with their results."""
    names = [name for name in rows.columns if name != "run"]
    values = rows[names].to_numpy(dtype=np.float64).tolist()
    results = [run_once(task, dict(zip(names, row, strict=True))) for row in values]
    table = pd.DataFrame(results, columns=pd.Index(COLUMNS), index=rows.index)
    return pd.concat([rows, table], axis=1)


#: Largest share of an unbounded distribution outside the trained range, where runs fail [1].
_MOST_OUTSIDE = 0.01


def design_factors(config: Config) -> dict[str, Factor]:
    """Return the parameters of the designs of a configuration as factors, by name."""
    factors = {}
    for parameter in design_space_of(config).parameter:
        text = f"parameter {parameter.key} of the design"
        label_unit, of_key = unit_of(parameter.label), unit_of(parameter.key)
        # A parameter with a name of its own may have its unit in the key alone.
        unit, si = label_unit if label_unit[0] else of_key
        factors[DESIGN + parameter.label] = Factor(unit, si, "design", parameter.label, text)
    return factors


def split_design(values: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the parameters of the design by their own names, and the other values by theirs."""
    design = {n.removeprefix(DESIGN): v for n, v in values.items() if n.startswith(DESIGN)}
    return design, {n: v for n, v in values.items() if not n.startswith(DESIGN)}


def of_designs(names: Iterable[str]) -> list[str]:
    """Return those names of factors that are parameters of designs."""
    return [name for name in names if name.startswith(DESIGN)]


def with_whole_design(study: StudyConfig, config: Config) -> tuple[StudyConfig, list[str]]:
    """Return a study in which every parameter has a distribution, and the added ones in words.

    Parameters that the study does not name are fixed at their `base_values`.
    """
    known = design_factors(config)
    for factor in study.factor:
        if factor.name.startswith(DESIGN) and factor.name not in known:
            raise ConfigError(
                f"study.factor: expected one of {', '.join(known)}, found "
                f"{factor.name}{near(factor.name, known)}"
            )
    named = {factor.name: factor for factor in study.factor}
    for parameter in design_space_of(config).parameter:
        name = DESIGN + parameter.label
        if name in named:
            _check_range(named[name], known[name].unit, *parameter.range)
    added, notes = [], []
    for label, base in base_values(config).items():
        name = DESIGN + label
        if name not in named:
            added.append(FactorConfig(name=name, distribution="fixed", value=base.value))
            unit = known[name].unit
            notes.append(f"{name} is fixed at {base.value:g} {unit}".strip() + f" ({base.origin})")
    return study.model_copy(update={"factor": (*study.factor, *added)}), notes


def _check_range(factor: FactorConfig, unit: str, low: float, high: float) -> None:
    """Raise a ConfigError unless a distribution is within a range, but for a small share."""
    stated = {"low": factor.low, "high": factor.high, "value": factor.value}
    outside = {k: v for k, v in stated.items() if v is not None and not low <= v <= high}
    expected = f"study.factor: {factor.name}: expected values within {low:g} to {high:g} {unit}"
    expected = f"{expected.strip()}, the trained range of the parameter"
    if outside:
        bounds = ", ".join(f"{key} = {value:g}" for key, value in outside.items())
        raise ConfigError(f"{expected}, found {bounds}")
    values = quantile(factor, (np.arange(10_000) + 0.5) / 10_000)
    share = np.mean((values < low) | (values > high))
    if share > _MOST_OUTSIDE:
        raise ConfigError(
            f"{expected}, found {100.0 * share:.2g} % of a {factor.distribution} distribution "
            'outside; choose distribution = "truncated_normal" or "uniform", with low and high '
            "in the range"
        )


#: Beginning of the reason of a run whose design is infeasible.
NOT_FEASIBLE = "infeasible: "
#: Name of the place of a flag of a whole design.
_PLACE = "design"


@dataclass(frozen=True)
class DesignTask(Task):
    """Common settings of the runs of a study over designs; the fields are those of `Task`."""

    names: ClassVar[tuple[str, ...]] = "knee.npz", "config.toml"
    kind = TrainedDesigns

    def prepared(self, values: Mapping[str, float]) -> tuple[CycleSetup, Mapping[str, float]]:
        """Return the setup of a design, and the values of the other factors."""
        design, others = split_design(values)
        return setup_of_design(self, tuple(design.items())), others


@lru_cache(maxsize=2)
def open_designs(task: DesignTask) -> tuple[TrainedDesigns, GaitSimulation]:
    """Return the run of a task, and the gait cycle about the path of its base design."""
    run = TrainedDesigns.open(Path(task.folder))
    base = {name: base_value.value for name, base_value in base_values(run.config).items()}
    return run, GaitSimulation.of(task.simulation, run.knee.path_of(base))


# Runs that differ in other factors alone follow each other where few parameters vary.
@lru_cache(maxsize=2)
def setup_of_design(task: DesignTask, values: tuple[tuple[str, float], ...]) -> CycleSetup:
    """Return the setup of a design, with a flag if an expected error is above the accepted one."""
    run, gait = open_designs(task)
    design = dict(values)
    path = run.knee.path_of(design)
    if reason := infeasible(run.config, design):
        raise InputError(f"{NOT_FEASIBLE}{reason}")
    flags: tuple[Flag, ...] = ()
    model: ContactModel
    if task.model == "original":
        model = run.original(design).model
    else:
        model = run.knee.at(design)
        expected = expected_errors(run.knee, design)
        if doubts(expected):
            flags = (Flag(FlagKind.OUTSIDE_DESIGN, _PLACE, (largest_share(expected),)),)
    patch = patch_at(run.knee, design)
    if gait.wear_law.by_point:
        patch = patch._replace(tibia=run.original(design).model.tibia)
    return CycleSetup(model, gait.about(path), patch, flags, task.ligament_draws)


@dataclass(frozen=True, eq=False)
class Experiment:
    """Simulations of a study, prepared and checked, with waveforms at instants (K,) [%]."""

    study: StudyConfig
    task: Task
    #: A row per simulation: number of the run and values of the inputs.
    table: pd.DataFrame
    #: Outputs of the simulation without changes; None where there is none.
    nominal: Mapping[str, float | None]
    #: Instants of the waveforms, (K,) [%].
    percent: FloatArray
    #: Inputs by name.
    factors: Mapping[str, Factor] = field(default_factory=lambda: FACTORS)
    #: Verdict on the contact model (`pipeline.reports.judgement`).
    judged: Judgement | None = None
    #: What else the results say of the study.
    notes: tuple[str, ...] = ()
    #: Errors of the model in outputs [%] that the verdict does not have.
    errors: Mapping[str, float] = field(default_factory=dict)


def design_experiment(study: StudyConfig, task: DesignTask) -> Experiment:
    """Return the simulations of a study with all parameters of the designs, checked."""
    run, gait = open_designs(task)
    whole, notes = with_whole_design(study, run.config)
    factors = {**FACTORS, **design_factors(run.config)}
    table = study_table(whole, factors)
    design = set(of_designs(table.columns))
    others = [name for name in table.columns[1:] if name not in design]
    check_applicable(nominal_inputs(gait, task.ligament_draws), others)
    nominal, base_notes = _nominal(task, run)
    percent = np.linspace(0.0, 100.0, task.simulation.samples)
    return Experiment(
        whole, task, table, nominal, percent, factors,
        notes=(*notes, *base_notes, *_error_notes(study, run)),
        errors=output_errors(run.knee, OUTPUTS) if study.model == "surrogate" else {},
    )  # fmt: skip


def _nominal(task: DesignTask, run: TrainedDesigns) -> tuple[dict[str, float | None], list[str]]:
    """Return the outputs of the base design, and why there are none."""
    base = {DESIGN + name: base_value.value for name, base_value in base_values(run.config).items()}
    try:
        setup, _ = task.prepared(base)
        return dict(setup.outputs(setup.nominal, setup.simulate(setup.nominal))), []
    except FAILURES as error:
        note = f"no nominal outputs, the base design has no cycle: {' '.join(str(error).split())}"
        return dict.fromkeys(OUTPUTS), [note]


def _error_notes(study: StudyConfig, run: TrainedDesigns) -> list[str]:
    """Return a note on errors at the held-out designs above the accepted ones, if any."""
    if study.model == "original":
        return []
    excess = exceeded(run.knee)
    return [f"surrogate of {study.run}: {'; '.join(excess)}"] if excess else []


def study_task(file: StudyFile) -> Task:
    """Return the common settings of the runs of a study; raises as `Task.of` does."""
    study, folder = file.study, Path(file.study.run)
    kind = DesignTask if is_over_designs(folder) else Task
    draws = next((str(data_file(factor.table)) for factor in study.factor if factor.table), "")
    if draws and not Path(draws).is_file():
        raise ConfigError(
            f"study.factor: {LIGAMENT_DRAW}: expected a table of draws of a study with [laxity], "
            f"found no file {draws}; name its ligament_draws.csv or prior_draws.csv"
        )
    return kind.of(folder, study.model, file.simulation, draws)


def _prepare(file: StudyFile, _: Job) -> Experiment:
    """Return the simulations of a study, prepared and checked."""
    task = study_task(file)
    if isinstance(task, DesignTask):
        return design_experiment(file.study, task)
    return _experiment(file.study, task)


def _experiment(study: StudyConfig, task: Task) -> Experiment:
    """Return the simulations of a study of one knee."""
    if names := of_designs(factor.name for factor in study.factor):
        raise ConfigError(
            f"study.factor: {names[0]}: expected a run with [design_space], found {study.run}, "
            "a run of one knee"
        )
    table, setup = study_table(study), CycleSetup.of(task)
    check_applicable(setup.nominal, table.columns[1:])
    result = setup.simulate(setup.nominal)
    nominal = setup.outputs(setup.nominal, result)
    judged = judgement(Path(study.run), study.model)
    return Experiment(study, task, table, nominal, result.gait_percent, judged=judged)


def _carry_out(experiment: Experiment, job: Job) -> Outcome:
    """Simulate the runs of a study, and return its summary and page."""
    folder, study, task = job.folder, experiment.study, experiment.task
    store = SampleStore(folder / SAMPLES, Evaluation(run_rows, (task,), task.source))
    say(f"{study.name}: {counted(len(experiment.table), 'run')}")
    missing = store.missing(experiment.table)
    with bar(len(missing), "run", study.name) as shown:
        store.evaluate(missing, study.chunk, Execution.of(study), shown)
    _write_runs(folder, store.with_results(experiment.table), experiment.percent)
    runs = read_table(folder / "runs.parquet", ("run", "status", "reason", *OUTPUTS))
    summary = summarise(
        study, runs, experiment.nominal, experiment.judged, job.seconds, experiment.notes,
        experiment.errors, DESIGN_SAMPLES if isinstance(task, DesignTask) else RUN_SAMPLES,
    )  # fmt: skip
    return Outcome(
        summary,
        summary_lines(summary),
        [summary.not_trusted] if summary.not_trusted else (),
        study_page(folder, summary, runs, experiment.factors),
    )


def _write_runs(folder: Path, done: pd.DataFrame, percent: FloatArray) -> None:
    """Write the waveforms, and the other results with a row per run."""
    waves = {name: np.array(done[f"wave_{name}"].to_list(), dtype=np.float32) for name in WAVES}
    arrays: dict[str, Any] = {"gait_percent": percent, "run": done["run"].to_numpy()}
    write_npz(folder / "waveforms.npz", **arrays, **waves)
    write_table(done.drop(columns=[f"wave_{name}" for name in WAVES]), folder / "runs.parquet")


CYCLE_STUDY = Study(
    JobKind("study", "study"),
    StudyFile,
    "summary.json",
    "study.html",
    _prepare,
    _carry_out,
    files=("runs.parquet", "waveforms.npz"),
    kept=SAMPLE_FILES,
)
