"""Runs of a study over designs: each with the contact model and the path of its design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from dynamics.protocol import ContactModel
from foundation.base.errors import InputError
from foundation.base.flags import Flag, FlagKind
from pipeline.design_space.base_design import base_values
from pipeline.design_space.design_gait import patch_at
from pipeline.design_space.drawn_designs import infeasible
from pipeline.design_space.errors import doubts, expected_errors, largest_share
from pipeline.design_space.trained_designs import TrainedDesigns
from pipeline.flagged_instants import DESIGN_SAMPLES
from pipeline.simulation import GaitSimulation
from pipeline.studies.catalogue import CYCLES, Catalogue
from pipeline.studies.design_factors import design_factors, split_design
from pipeline.studies.factors import FACTORS
from pipeline.studies.runs import CycleSetup, Task, replaced, task_source

#: Name of the place of a flag of a whole design.
_PLACE = "design"


@dataclass(frozen=True)
class DesignTask(Task):
    """Common settings of the runs of a study over designs; the fields are those of `Task`."""

    @classmethod
    def of(
        cls, folder: Path, model: str, changes: Mapping[str, Any], *, outside: str = "flag"
    ) -> Self:
        """Return the task of a finished run over designs; arguments as of `Task.of`.

        Raises `RunError` if the folder is not a finished run over designs, or its `config.toml` was
        changed, and `ConfigError` if a replaced key of [simulation] cannot be used.
        """
        simulation = replaced(TrainedDesigns.open(folder).config.simulation, changes)
        source = task_source(folder, model, simulation, outside, ("knee.npz", "config.toml"))
        return cls(str(folder.resolve()), model, simulation, outside, source)

    def prepared(self, values: Mapping[str, float]) -> tuple[CycleSetup, Mapping[str, float]]:
        """Return the setup of a design, and the values of the other factors.

        Raises `InputError` if the design is infeasible, outside the trained ranges, or has no
        contact model.
        """
        design, others = split_design(values)
        return setup_of_design(self, tuple(design.items())), others


@lru_cache(maxsize=2)
def opened(task: DesignTask) -> tuple[TrainedDesigns, GaitSimulation]:
    """Return the run of a task, and the gait cycle about the path of its base design."""
    run = TrainedDesigns.open(Path(task.folder))
    base = {name: each.value for name, each in base_values(run.config).items()}
    return run, GaitSimulation.of(task.simulation, run.knee.path(base))


# Runs that differ in other factors alone follow each other where few parameters vary.
@lru_cache(maxsize=2)
def setup_of_design(task: DesignTask, values: tuple[tuple[str, float], ...]) -> CycleSetup:
    """Return the setup of a design, values by the names of the parameters; raises as `prepared`.

    A design with an expected error above the accepted one has a flag.
    """
    run, gait = opened(task)
    design = dict(values)
    path = run.knee.path(design)
    if reason := infeasible(run.config, design):
        raise InputError(f"infeasible: {reason}")
    flags: tuple[Flag, ...] = ()
    model: ContactModel
    if task.model == "original":
        model = run.original(design).model
    else:
        model = run.knee.at(design)
        expected = expected_errors(run.knee, design)
        if doubts(expected):
            flags = (Flag(FlagKind.OUTSIDE_DESIGN, _PLACE, (largest_share(expected),)),)
    return CycleSetup(model, gait.about(path), patch_at(run.knee, design), flags)


def design_catalogue(run: TrainedDesigns) -> Catalogue:
    """Return inputs and outputs of studies of a run over designs."""
    return replace(
        CYCLES,
        factors={**FACTORS, **design_factors(run.config)},
        samples=DESIGN_SAMPLES,
    )
