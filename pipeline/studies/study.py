"""Studies of gait cycles of a run: of one knee, or over designs."""

from __future__ import annotations

from pathlib import Path

from pipeline.config.reading import ConfigError
from pipeline.reports.judgement import judgement
from pipeline.store.designs_folder import is_over_designs
from pipeline.store.job import Job
from pipeline.studies.design import study_table
from pipeline.studies.design_runs import DesignTask, design_experiment, of_designs
from pipeline.studies.experiment import Experiment, study_of_runs
from pipeline.studies.factors import CYCLES, check_applicable
from pipeline.studies.runs import CycleSetup, Task, run_rows
from pipeline.studies.schema import StudyConfig, StudyFile


def study_task(file: StudyFile) -> Task:
    """Return the common settings of the runs of a study; raises as `Task.of` does."""
    study, folder = file.study, Path(file.study.run)
    kind = DesignTask if is_over_designs(folder) else Task
    return kind.of(folder, study.model, file.simulation, outside=study.outside)


def _prepare(file: StudyFile, _: Job) -> Experiment:
    """Return the simulations of a study, prepared and checked.

    Raises `SimulationError` or `EquilibriumError` if the nominal cycle cannot be simulated.
    """
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
    return Experiment(
        study, CYCLES, table, nominal, result.gait_percent, study.run, study.model, task, run_rows,
        judged,
    )  # fmt: skip


CYCLE_STUDY = study_of_runs(StudyFile, _prepare)
