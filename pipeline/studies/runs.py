"""The runs of a study: a row of input values to a simulated cycle and its outputs, in processes."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dynamics.protocol import ContactModel
from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from dynamics.simulator.result import SimulationResult
from dynamics.simulator.variation import VariedContact
from dynamics.wear.cycle_wear import SpringContact, Wear, WearLaw, bed_wear, surrogate_wear
from dynamics.wear.wear_map import Patch
from foundation.checks import FloatArray
from foundation.errors import InputError
from foundation.pose import Pose
from pipeline.config.simulation_schema import SimulationConfig
from pipeline.simulation import GaitSimulation, simulate_gait
from pipeline.stages.trained_run import TrainedRun
from pipeline.store.documents import read_arrays
from pipeline.store.samples import FAILED, OK
from pipeline.studies.factors import varied
from pipeline.studies.inputs import Inputs

#: What a run may fail of; anything else is a fault of the program.
FAILURES = (
    *(SimulationError, EquilibriumError, InputError),
    *(ArithmeticError, np.linalg.LinAlgError),
)
_DEGREES = 180.0 / np.pi
_MILLIONS = 1e6


class Output(NamedTuple):
    """An output of a run: name for people and unit."""

    label: str
    unit: str


#: Outputs of a run, by their columns.
OUTPUTS = {
    **{
        f"{part}_force_{kind}_N": Output(f"{part} axial force, {kind}", "N")
        for part in ("medial", "lateral")
        for kind in ("peak", "mean")
    },
    **{
        f"{part}_peak_pressure_MPa": Output(f"{part} peak pressure", "MPa")
        for part in ("medial", "lateral")
    },
    "area_max_mm2": Output("contact area, largest", "mm²"),
    **{
        f"{name}_{kind}_{unit}": Output(f"{label}, {kind}", shown)
        for name, label, unit, shown in (
            ("anterior", "AP position", "mm", "mm"),
            ("rotation", "internal rotation", "deg", "°"),
            ("adduction", "adduction", "deg", "°"),
        )
        for kind in ("range", "min", "max")
    },
    **{
        f"{part}_wear_mm3_per_million_cycles": Output(f"{part} wear", "mm³ per million cycles")
        for part in ("medial", "lateral", "total")
    },
}
#: Waveforms that are kept of a run, by their columns: name for people and unit.
WAVES = {
    "anterior_mm": Output("AP position", "mm"),
    "rotation_deg": Output("internal rotation", "°"),
    "adduction_deg": Output("adduction", "°"),
    "medial_force_N": Output("medial axial force", "N"),
    "lateral_force_N": Output("lateral axial force", "N"),
}
#: Columns that a run adds to its row.
RUN_COLUMNS = (
    *("status", "reason", *OUTPUTS, "flagged_instants", "flags", "evaluations", "seconds"),
    *(f"wave_{name}" for name in WAVES),
)


@dataclass(frozen=True)
class Task:
    """What every run of a study shares, as a worker process is told it.

    Parameters
    ----------
    folder : str
        Run directory.
    model : {"surrogate", "original"}
        What gives the contact loads.
    simulation : str
        The run's [simulation], with what the study replaces, as JSON.
    outside : {"flag", "fail"}
        What is done with a run that leaves the trained domain.
    source : str
        Digest of all this and the run's files.
    """

    folder: str
    model: str
    simulation: str
    outside: str
    source: str

    @classmethod
    def of(cls, folder: Path, model: str, simulation: SimulationConfig, outside: str) -> Task:
        """Return the task of a run directory."""
        settings = simulation.model_dump_json()
        content = hashlib.sha256(f"{model} {settings} {outside}".encode())
        for name in ("knee.npz", "path.json", "config.toml", "wear.npz"):
            file = folder / name
            content.update(file.read_bytes() if file.exists() else b"")
        return cls(str(folder.resolve()), model, settings, outside, content.hexdigest())


@dataclass(frozen=True, eq=False)
class Setting:
    """What a process needs for its runs; loaded once.

    Parameters
    ----------
    model : ContactModel
        The contact.
    springs : SpringContact, optional
        The original model, where it gives the loads.
    config : SimulationConfig
        Tolerances, method, instants.
    nominal : Inputs
        Inputs where no factor changes them.
    start : Pose
        Near the static equilibrium at the start of the nominal cycle.
    patch : Patch
        The original's contact patches, for the wear.
    """

    model: ContactModel
    springs: SpringContact | None
    config: SimulationConfig
    nominal: Inputs
    start: Pose
    patch: Patch


@lru_cache(maxsize=2)
def setting_of(task: Task) -> Setting:
    """Load what a task names, and find the nominal equilibrium, where every run begins.

    Raises
    ------
    SimulationError, EquilibriumError
        If the nominal cycle itself cannot be simulated.
    """
    folder = Path(task.folder)
    config = SimulationConfig.model_validate_json(task.simulation)
    run = TrainedRun.open(folder)
    springs: SpringContact | None = None
    lacking = run.surrogate.header.get("not_given", [])
    if {"area_m2", "peak_pressure_Pa", "mean_pressure_Pa", "cop_x_m"}.intersection(lacking):
        raise InputError(
            f"{folder}: a study tells areas, pressures and wear, and the run was made of a table "
            f"without {', '.join(lacking)}; give them in the table"
        )
    model: ContactModel = run.surrogate
    if task.model == "original":
        model = springs = run.contact
    gait = GaitSimulation.of(config, run.path)
    nominal = Inputs(gait.cycle, gait.simulator, wear_factor=gait.wear_law.factor)
    short = config.model_copy(update={"cycles": 1, "samples": 11})
    start = Pose.from_array(replace(gait, config=short)(model).poses[0])
    return Setting(model, springs, config, nominal, start, _patch(folder / "wear.npz"))


def _patch(file: Path) -> Patch:
    """Return the contact patches of the run's own cycle; round ones if it has none."""
    if not file.exists():
        return Patch(np.ones(2), None)
    return Patch(**read_arrays(file, {"aspect": (2,), "ratio": (2,)}))


def simulate_inputs(setting: Setting, inputs: Inputs) -> SimulationResult:
    """Simulate one cycle with its inputs, beginning where the nominal contact stands."""
    model = setting.model
    start = setting.start
    if inputs.offset.any() or inputs.stiffness != 1.0:
        model = VariedContact(model, inputs.offset, inputs.stiffness)
        start = Pose.from_array(start.array - inputs.offset)
    return simulate_gait(model, inputs.simulator, setting.config, start, cycle=inputs.cycle)


def wear_of(setting: Setting, inputs: Inputs, result: SimulationResult) -> Wear:
    """Return the wear of a simulated cycle, by the springs where the original model was used."""
    law = WearLaw(inputs.wear_factor)
    # Loads are those in the frame of the offset tibia, and so must the poses be.
    there = replace(result, poses=result.poses + inputs.offset) if inputs.offset.any() else result
    if setting.springs is None:
        patch = setting.patch
        return surrogate_wear(there, law, aspect=patch.aspect, ratio=patch.ratio)
    return bed_wear(setting.springs, there, law)


def outputs_of(result: SimulationResult, wear: Wear) -> dict[str, float]:
    """Return the outputs of a run, in the order of `OUTPUTS`."""
    forces = result.compartment_loads[:, :, 1]
    percent = result.gait_percent
    means = [np.trapezoid(force, percent) / np.ptp(percent) for force in forces]
    pressures = 1e-6 * np.nan_to_num(result.compartment_loads[:, :, 7]).max(axis=1)
    found = [
        *(value for pair in zip(forces.max(axis=1), means, strict=True) for value in pair),
        *pressures,
        1e6 * result.loads[:, 6].max(),
    ]
    waves = waves_of(result)
    for name in ("anterior_mm", "rotation_deg", "adduction_deg"):
        found += [np.ptp(waves[name]), waves[name].min(), waves[name].max()]
    # Cubic metres of a cycle to cubic millimetres of a million.
    found += [1e9 * _MILLIONS * volume for volume in (*wear.volume, wear.total_volume)]
    return dict(zip(OUTPUTS, map(float, found), strict=True))


def waves_of(result: SimulationResult) -> dict[str, FloatArray]:
    """Return the waveforms of a run, (N,) each, in the order of `WAVES`."""
    forces = result.compartment_loads[:, :, 1]
    values = (
        1e3 * result.poses[:, 3],
        _DEGREES * result.poses[:, 2],
        _DEGREES * result.poses[:, 1],
        *forces,
    )
    return dict(zip(WAVES, values, strict=True))


def run_once(task: Task, values: Mapping[str, float]) -> dict[str, Any]:
    """Carry out one run and return what it adds to its row, by `RUN_COLUMNS`.

    A run that fails keeps the status "failed", the reason, and NaN outputs.
    """
    setting = setting_of(task)
    begun = time.perf_counter()
    try:
        inputs = varied(setting.nominal, values)
        result = simulate_inputs(setting, inputs)
        told = "; ".join(flag.message for flag in result.flags)
        if result.flags and task.outside == "fail":
            raise SimulationError(f"{told} (at {result.flags[0].time:.4g} s)")
        found = outputs_of(result, wear_of(setting, inputs, result))
        unknown = [name for name, value in found.items() if not np.isfinite(value)]
        if unknown:
            raise SimulationError(f"{unknown[0]} is not finite")
    except FAILURES as error:
        row = _failed(setting.config.samples, " ".join(str(error).split()))
    else:
        row = {"status": OK, "reason": "", **found}
        row["flagged_instants"] = max((flag.samples for flag in result.flags), default=0)
        row["flags"] = told
        row["evaluations"] = result.statistics.evaluations
        row |= {f"wave_{k}": v.astype(np.float32) for k, v in waves_of(result).items()}
    return row | {"seconds": time.perf_counter() - begun}


def _failed(samples: int, reason: str) -> dict[str, Any]:
    nothing = np.full(samples, np.nan, dtype=np.float32)
    return {
        **{"status": FAILED, "reason": reason},
        **dict.fromkeys(OUTPUTS, np.nan),
        **{"flagged_instants": 0, "flags": "", "evaluations": 0},
        **{f"wave_{name}": nothing for name in WAVES},
    }


def run_rows(task: Task, rows: pd.DataFrame) -> pd.DataFrame:
    """Carry out the runs of a table: its number and the input values of each row."""
    names = [name for name in rows.columns if name not in ("run", "source")]
    found = [run_once(task, dict(zip(names, values, strict=True)))
             for values in rows[names].to_numpy(dtype=np.float64).tolist()]  # fmt: skip
    results = pd.DataFrame(found, columns=pd.Index(RUN_COLUMNS), index=rows.index)
    return pd.concat([rows, results], axis=1)
