"""Studies of gait cycles over designs: parameters of the design and of gait vary together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pipeline.design_space.base_design import base_values
from pipeline.design_space.errors import exceeded, output_errors
from pipeline.design_space.trained_designs import TrainedDesigns
from pipeline.stages.cycle_outputs import OUTPUTS
from pipeline.studies.design import study_table
from pipeline.studies.design_factors import of_designs, with_whole_design
from pipeline.studies.design_runs import DesignTask, design_catalogue, opened
from pipeline.studies.experiment import Experiment
from pipeline.studies.factors import DESIGN, check_applicable
from pipeline.studies.runs import FAILURES, nominal_inputs, run_once, run_rows
from pipeline.studies.schema import StudyConfig


def design_experiment(study: StudyConfig, task: DesignTask) -> Experiment:
    """Return the simulations of a study with all parameters of the designs, checked.

    Raises `ConfigError` as `with_whole_design` and `study_table`, and `InputError` if a factor is
    not one of the gait cycle of the run.
    """
    run, gait = opened(task)
    whole, notes = with_whole_design(study, run.config)
    catalogue = design_catalogue(run)
    table = study_table(whole, catalogue)
    design = set(of_designs(table.columns))
    others = [name for name in table.columns[1:] if name not in design]
    check_applicable(nominal_inputs(gait), others)
    first = dict(zip(table.columns[1:], table.iloc[0, 1:].astype(float), strict=True))
    nominal, told = _nominal(task, run, first)
    percent = np.linspace(0.0, 100.0, task.simulation.samples)
    return Experiment(
        whole, catalogue, table, nominal, percent, study.run, study.model, task, run_rows,
        notes=(*notes, *told, *_doubted(study, run)),
        errors=output_errors(run.knee, OUTPUTS) if study.model == "surrogate" else {},
    )  # fmt: skip


def _nominal(
    task: DesignTask, run: TrainedDesigns, first: Mapping[str, float]
) -> tuple[dict[str, float | None], list[str]]:
    """Return the outputs of the base design, and why there are none.

    The simulation compiles the kernels in this process, so that the workers find them compiled;
    without a base design, that of the first run.
    """
    base = {DESIGN + name: each.value for name, each in base_values(run.config).items()}
    try:
        setup, _ = task.prepared(base)
        return dict(setup.outputs(setup.nominal, setup.simulate(setup.nominal))), []
    except FAILURES as error:
        run_once(task, first)
        told = f"no nominal outputs, the base design has no cycle: {' '.join(str(error).split())}"
        return dict.fromkeys(OUTPUTS), [told]


def _doubted(study: StudyConfig, run: TrainedDesigns) -> list[str]:
    """Return what the held-out designs say of the surrogate."""
    if study.model == "original":
        return []
    found = exceeded(run.knee)
    return [f"surrogate of {study.run}: {'; '.join(found)}"] if found else []
