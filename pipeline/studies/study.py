"""Studies of gait cycles: from the configuration to the design, the runs, summary and page."""

from __future__ import annotations

from pathlib import Path

from pipeline.config.reading import ConfigError, load_section
from pipeline.reports.judgement import judgement
from pipeline.store.designs_folder import is_over_designs
from pipeline.store.job import STUDY, Job
from pipeline.studies.catalogue import CYCLES
from pipeline.studies.design import study_table
from pipeline.studies.design_factors import of_designs
from pipeline.studies.design_runs import DesignTask
from pipeline.studies.design_study import design_experiment
from pipeline.studies.experiment import FILES, KEPT, Experiment, simulate_experiment
from pipeline.studies.experiment import summary_text as experiment_text
from pipeline.studies.factors import check_applicable
from pipeline.studies.replaced_keys import with_absolute_waveforms
from pipeline.studies.runs import CycleSetup, Task, run_rows
from pipeline.studies.schema import StudyConfig, StudyFile
from pipeline.studies.summary import StudySummary


def load_study(path: str | Path, overrides: tuple[str, ...] = ()) -> StudyFile:
    """Read the configuration of a study; paths of waveforms are relative to the file.

    Parameters
    ----------
    path : str or Path
        TOML file.
    overrides : tuple of str
        `section.key=value` pairs that replace values of the file.

    Raises
    ------
    ConfigError
        If the file is missing or is not TOML, a key is unknown or a value out of range.
    """
    file = load_section(path, StudyFile, overrides)
    simulation = with_absolute_waveforms(file.simulation, Path(path))
    return file.model_copy(update={"simulation": simulation})


def study_task(file: StudyFile) -> Task:
    """Return the common settings of the runs of a study; raises as `Task.of` does."""
    study, folder = file.study, Path(file.study.run)
    kind = DesignTask if is_over_designs(folder) else Task
    return kind.of(folder, study.model, file.simulation, outside=study.outside)


def simulate_study(
    file: StudyFile,
    folder: Path,
    *,
    resume: bool = False,
    replace: bool = False,
) -> StudySummary:
    """Simulate the gait cycles of a study and write its folder.

    Parameters
    ----------
    file : StudyFile
        Configuration of the study.
    folder : Path
        Folder of the results.
    resume : bool
        Whether to continue an interrupted study in the folder.
    replace : bool
        Whether to replace a study of another configuration in the folder.

    Returns
    -------
    StudySummary
        The content of `summary.json`.

    Raises
    ------
    RunError, ConfigError
        If the study or its run cannot be used.
    SimulationError, EquilibriumError
        If the nominal cycle cannot be simulated.
    """
    # All input is checked before files are written.
    job = Job(STUDY, folder, file, FILES, KEPT, resume=resume, replace=replace)
    job.check()
    task = study_task(file)
    if isinstance(task, DesignTask):
        study, experiment = design_experiment(file.study, task)
    else:
        study, experiment = file.study, _experiment(file.study, task)
    return simulate_experiment(job, study, experiment)


def _experiment(study: StudyConfig, task: Task) -> Experiment:
    """Return the simulations of a study of one knee, prepared and checked."""
    if names := of_designs(factor.name for factor in study.factor):
        raise ConfigError(
            f"study.factor: {names[0]}: expected a run with [design_space], found {study.run}, "
            "a run of one knee"
        )
    table, setup = study_table(study), CycleSetup.of(task)
    check_applicable(setup.nominal, table.columns[1:])
    # Compiles the kernels in this process, so that the workers find them compiled.
    result = setup.simulate(setup.nominal)
    nominal = setup.outputs(setup.nominal, result)
    judged = judgement(Path(study.run), study.model)
    return Experiment(
        CYCLES, table, nominal, result.gait_percent, study.run, study.model, task, run_rows, judged
    )


def summary_text(summary: StudySummary, folder: Path) -> str:
    """Return the lines on the terminal for a study."""
    return experiment_text(summary, folder, CYCLES)
