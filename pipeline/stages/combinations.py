"""Original against surrogate on eleven combinations of motion and load inputs.

Lin, Haftka, Queipo & Fregly (2010, Med Eng Phys 32:584-594) judged their surrogate by eleven
simulations of a wear simulator with large variations in its motion and load inputs. Here the
inputs of the study are multiplied by the factors of `COMBINATIONS`: each input alone, higher and
lower, and all loads together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np
import pandas as pd

from dynamics.protocol import ContactModel
from dynamics.simulator.result import SimulationResult
from dynamics.simulator.waveforms import GaitCycle
from dynamics.wear.wear_law import WearLaw
from dynamics.wear.wear_map import Patch
from foundation.base.checks import FloatArray
from foundation.surface_contact import SurfaceContact
from pipeline.execution.backends import IN_THIS_PROCESS, Execution
from pipeline.simulation import simulation_table
from pipeline.stages.frames import WearOfCycle
from pipeline.stages.model_cycles import compare, flag_texts
from pipeline.store.run_documents import LOADS, MODELS, MOTION, PRESSURES, Ended, Failed, Failure
from pipeline.store.samples import POSE_COLUMNS

#: Columns of the table of all cycles.
TABLE_COLUMNS = ("combination", "model", "gait_percent", *POSE_COLUMNS, *LOADS, *PRESSURES)
# A cycle may prescribe a motion in place of a load.
_MOTIONS = {"ap_force": "anterior", "internal_torque": "rotation"}


@dataclass(frozen=True)
class Combination:
    """Factors on the inputs of a gait cycle, the waveforms by name [1]; `name` is for people."""

    name: str
    axial_force: float = 1.0
    ap_force: float = 1.0
    internal_torque: float = 1.0
    flexion: float = 1.0

    @property
    def factors(self) -> dict[str, float]:
        """Factors by the name of the waveform [1]."""
        return {name: value for name, value in asdict(self).items() if name != "name"}

    def applied_to(self, cycle: GaitCycle) -> GaitCycle:
        """Return the cycle with its inputs, or motions in their place, multiplied."""
        varied = {}
        for name, factor in self.factors.items():
            for driver in (name, _MOTIONS.get(name, name)):
                values = getattr(cycle, driver)
                if values is not None:
                    varied[driver] = factor * values
        return replace(cycle, **varied)


#: The eleven combinations, the unchanged inputs first.
COMBINATIONS = (
    Combination("nominal"),
    Combination("axial force +20 %", axial_force=1.2),
    Combination("axial force −20 %", axial_force=0.8),
    Combination("AP force +25 %", ap_force=1.25),
    Combination("AP force −25 %", ap_force=0.75),
    Combination("torque +25 %", internal_torque=1.25),
    Combination("torque −25 %", internal_torque=0.75),
    Combination("flexion +10 %", flexion=1.1),
    Combination("flexion −10 %", flexion=0.9),
    Combination("all loads high", 1.2, 1.25, 1.25),
    Combination("all loads low", 0.8, 0.75, 0.75),
)


#: Simulation of a cycle with a contact model.
Drive = Callable[[ContactModel, GaitCycle], SimulationResult]


def compare_combinations(
    model: SurfaceContact,
    surrogate: ContactModel,
    drive: Drive,
    cycle: GaitCycle,
    law: WearLaw,
    *,
    nominal: Mapping[str, SimulationResult] | None = None,
    wear: WearOfCycle | None = None,
    execution: Execution = IN_THIS_PROCESS,
    done: Callable[[], object] = lambda: None,
) -> tuple[list[Ended | Failed], pd.DataFrame]:
    """Return the entry [SI] of every combination, simulated with both models, and a table.

    `nominal` are results for the nominal inputs, with their `wear`, if they are known.
    """
    patch = None if wear is None else Patch(wear.aspect, wear.ratio)
    shared = model, surrogate, drive, law, patch
    found: dict[int, tuple[Ended | Failed, pd.DataFrame]] = {}
    if nominal is not None and wear is not None:
        found[0] = _entry(COMBINATIONS[0], dict(nominal), wear.volume_m3.tolist())
        done()
    jobs = [(each, each.applied_to(cycle)) for each in COMBINATIONS[len(found) :]]
    for position, entry in execution.results(_simulated, jobs, *shared):
        found[len(COMBINATIONS) - len(jobs) + position] = entry
        done()
    rows, tables = zip(*(found[k] for k in range(len(COMBINATIONS))), strict=True)
    known = [table for table in tables if len(table)]
    return list(rows), pd.concat(known or tables[:1], ignore_index=True)


def _simulated(
    model: SurfaceContact,
    surrogate: ContactModel,
    drive: Drive,
    law: WearLaw,
    patch: Patch | None,
    combination: Combination,
    cycle: GaitCycle,
) -> tuple[Ended | Failed, pd.DataFrame]:
    """Return the entry of a combination and the table of its cycles, simulated with both models."""
    models = {"original": lambda: model, "surrogate": lambda: surrogate}
    found = compare(models, lambda driving: drive(driving, cycle), law, patch)
    results = {name: each.result for name, each in found.cycles.items()}
    if found.failures:
        name, reason = next(iter(found.failures.items()))
        failure = Failure(model=name, reason=reason)
        head = {"name": combination.name, "factors": combination.factors}
        return Failed.model_validate({**head, "failure": failure}), _table(combination, results)
    volumes = [each.wear.volume.tolist() for each in found.cycles.values()]
    return _entry(combination, results, volumes)


def _entry(
    combination: Combination, results: dict[str, SimulationResult], volumes: list[list[float]]
) -> tuple[Ended, pd.DataFrame]:
    """Return the entry of a combination and the table of its cycles; `volumes` are worn [m³]."""
    content = {"name": combination.name, "factors": combination.factors}
    entry = Ended.model_validate(content | _compared(results, volumes))
    return entry, _table(combination, results)


def _table(combination: Combination, results: dict[str, SimulationResult]) -> pd.DataFrame:
    """Return the table of the cycles of a combination that were completed."""
    if not results:
        return pd.DataFrame(columns=list(TABLE_COLUMNS))
    return simulation_table(results).assign(combination=combination.name)[list(TABLE_COLUMNS)]


def _compared(
    results: Mapping[str, SimulationResult], volumes: list[list[float]]
) -> dict[str, object]:
    """Return the differences of two cycles, in SI units, and their wear, cost and flags."""
    tables = {name: result.columns() for name, result in results.items()}
    groups = {"loads": LOADS, "motion": MOTION, "pressure": PRESSURES}
    differences = {
        group: {c: _difference(tables, c) for c in columns} for group, columns in groups.items()
    }
    return differences | {
        "failure": None,
        "wear": dict(zip(MODELS, volumes, strict=True)),
        "statistics": {name: asdict(result.statistics) for name, result in results.items()},
        "flags": {name: flag_texts(result) for name, result in results.items()},
    }


def _difference(tables: Mapping[str, Mapping[str, FloatArray]], column: str) -> dict[str, float]:
    truth, other = tables["original"][column], tables["surrogate"][column]
    return {
        "rms": float(np.sqrt(np.mean((other - truth) ** 2))),
        "peak": float(np.abs(truth).max()),
        "range": float(np.ptp(truth)),
        "surrogate_peak": float(np.abs(other).max()),
    }
