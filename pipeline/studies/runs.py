"""Runs of a study: from the input values of a row to a simulated cycle and its outputs."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
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
from foundation.base.errors import InputError
from foundation.base.flags import Flag, worded
from foundation.base.pose import Pose
from pipeline.advice import command_line
from pipeline.config.reading import ConfigError, explain, shipped_configs
from pipeline.config.stage_schema import SimulationConfig
from pipeline.flagged_instants import joined_kinds
from pipeline.simulation import GaitSimulation, ligament_places
from pipeline.stages.model_cycles import FAILURES, ModelCycle, cycle_outputs, cycle_waves
from pipeline.stages.run_folder import TrainedRun
from pipeline.store.documents import make_results, read_arrays
from pipeline.store.job import RunError, check_single_knee
from pipeline.store.quantities import FOR_WEAR
from pipeline.store.samples import FAILED, OK
from pipeline.studies.factors import CYCLES, Catalogue, Inputs, varied


@dataclass(frozen=True)
class Task:
    """Common settings of the runs of a study, as sent to worker processes."""

    #: Files of the run that change the results.
    names: ClassVar[tuple[str, ...]] = "knee.npz", "path.json", "config.toml", "wear.npz"
    #: Run directory.
    folder: str
    #: Model of the contact loads: "surrogate" or "original".
    model: str
    #: The [simulation] of the run, with the replacements of the study.
    simulation: SimulationConfig
    #: What becomes of a run that leaves the trained domain: "flag" or "fail".
    outside: str
    #: SHA-256 of these settings, the files of the run, and the draws.
    source: str
    #: Table of draws of ligaments; "" for none.
    draws: str = ""

    @classmethod
    def of(
        cls,
        folder: Path,
        model: str,
        changes: Mapping[str, Any],
        *,
        outside: str = "flag",
        draws: str = "",
    ) -> Self:
        """Return the task of a finished run with `changes` of its [simulation], key -> value."""
        simulation = replaced(cls.stated(folder), changes)
        content = hashlib.sha256(f"{model} {simulation.model_dump_json()} {outside}".encode())
        for file in (folder / name for name in (*cls.names, draws)):
            content.update(file.read_bytes() if file.is_file() else b"")
        source = content.hexdigest()
        return cls(str(folder.resolve()), model, simulation, outside, source, draws)

    @staticmethod
    def stated(folder: Path) -> SimulationConfig:
        """Return the [simulation] of a finished run."""
        check_single_knee(folder)
        if not (folder / "run.json").is_file():
            state = "has not finished" if folder.is_dir() else "does not exist"
            command = make_results(folder)
            if folder.name in shipped_configs() and not folder.exists():
                command = command_line("run", folder.name, "--out", folder)
            raise RunError(f"{folder}: the run {state}; make it with `{command}` or name another")
        return TrainedRun.open(folder).config.simulation

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
        found = SimulationConfig.model_validate(simulation.model_dump() | dict(changes))
    except ValidationError as error:
        raise ConfigError(explain("[simulation]", error, SimulationConfig)) from error
    return found.state_knee(simulation.knee)


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
    """Return the results of one run by `CYCLES.columns`; `values` are in units of the factors."""

    def simulate() -> dict[str, Any]:
        setup, others = task.prepared(values)
        return _simulated(task, setup, varied(setup.nominal, others))

    return tried(simulate, CYCLES, task.simulation.samples)


def tried(
    simulate: Callable[[], dict[str, Any]], catalogue: Catalogue, instants: int
) -> dict[str, Any]:
    """Return the results of a run and its time."""
    started = time.perf_counter()
    try:
        row = simulate()
    except FAILURES as error:
        undefined = np.full(instants, np.nan, dtype=np.float32)
        row = {
            **{"status": FAILED, "reason": " ".join(str(error).split())},
            **dict.fromkeys(catalogue.outputs, np.nan),
            **{"flagged_instants": 0, "flags": "", "flag_kinds": "", "evaluations": 0},
            **{f"wave_{name}": undefined for name in catalogue.waves},
        }
    return row | {"seconds": time.perf_counter() - started}


def _simulated(task: Task, setup: CycleSetup, inputs: Inputs) -> dict[str, Any]:
    """Return the results of a run; raises one of `FAILURES`."""
    result = setup.simulate(inputs)
    flags = [*setup.flags, *(each.flag for each in result.flags)]
    if flags and task.outside == "fail":
        since = 0.0 if setup.flags else result.flags[0].time
        raise SimulationError(f"{worded(flags)} (at {since:.4g} s)")
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


def run_rows(task: Task, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a study, number of the run and input values, with their results."""
    return with_results(rows, partial(run_once, task), CYCLES)


def with_results(
    rows: pd.DataFrame, run: Callable[[dict[str, float]], dict[str, Any]], catalogue: Catalogue
) -> pd.DataFrame:
    """Return rows of a study with the results of `run`, which takes the values of a row."""
    names = [name for name in rows.columns if name != "run"]
    values = rows[names].to_numpy(dtype=np.float64).tolist()
    results = [run(dict(zip(names, row, strict=True))) for row in values]
    table = pd.DataFrame(results, columns=pd.Index(catalogue.columns), index=rows.index)
    return pd.concat([rows, table], axis=1)
