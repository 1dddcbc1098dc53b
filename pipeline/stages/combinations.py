"""Original against surrogate on eleven combinations of motion and load inputs.

Lin, Haftka, Queipo & Fregly (2010, Med Eng Phys 32:584-594) judged their surrogate by eleven
simulations of a wear simulator with large variations in its motion and load inputs. Here the
inputs of the study are multiplied by the factors of `COMBINATIONS`: each input alone, higher and
lower, and all loads together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd

from dynamics.protocol import ContactModel
from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from dynamics.simulator.result import Flag, SimulationResult
from dynamics.simulator.waveforms import GaitCycle
from dynamics.wear.cycle_wear import bed_wear, surrogate_wear
from dynamics.wear.wear_law import WearLaw
from dynamics.wear.wear_map import Patch, measured_patch
from foundation.checks import FloatArray
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.loads import COMPARTMENTS, WRENCH_COLUMNS
from pipeline.simulation import simulation_table
from pipeline.store.samples import POSE_COLUMNS

#: Loads compared: the wrench of the knee, and how the compartments share the axial force.
LOADS = (
    *(f"total_{column}" for column in WRENCH_COLUMNS),
    *(f"{name}_force_y_N" for name in COMPARTMENTS),
)
#: Coordinates compared.
MOTION = ("anterior_m", "rotation_rad")
PRESSURES = tuple(f"{name}_peak_pressure_Pa" for name in COMPARTMENTS)
#: Columns of the table of all cycles.
TABLE_COLUMNS = ("combination", "model", "gait_percent", *POSE_COLUMNS, *LOADS, *PRESSURES)
# What a cycle may prescribe in place of a load.
_MOTIONS = {"ap_force": "anterior", "internal_torque": "rotation"}


@dataclass(frozen=True)
class Combination:
    """Factors on the inputs of a gait cycle.

    Parameters
    ----------
    name : str
        For people.
    axial_force, ap_force, internal_torque, flexion : float
        What the waveform is multiplied by.
    """

    name: str
    axial_force: float = 1.0
    ap_force: float = 1.0
    internal_torque: float = 1.0
    flexion: float = 1.0

    @property
    def factors(self) -> dict[str, float]:
        """The factors by the name of the waveform."""
        return {name: value for name, value in asdict(self).items() if name != "name"}

    def applied_to(self, cycle: GaitCycle) -> GaitCycle:
        """Return the cycle with its inputs multiplied.

        Where a motion is prescribed in place of a load, it takes the load's factor.
        """
        found = {}
        for name, factor in self.factors.items():
            for driver in (name, _MOTIONS.get(name, name)):
                values = getattr(cycle, driver)
                if values is not None:
                    found[driver] = factor * values
        return replace(cycle, **found)


#: The eleven, the unchanged inputs first.
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


class Drive(Protocol):
    """How a model is taken through a cycle."""

    def __call__(self, model: ContactModel, cycle: GaitCycle) -> SimulationResult:
        """Return the simulated cycle."""
        ...


def compare_combinations(
    model: ElasticFoundation,
    surrogate: ContactModel,
    drive: Drive,
    cycle: GaitCycle,
    law: WearLaw,
    *,
    nominal: Mapping[str, SimulationResult] | None = None,
    done: Callable[[], object] = lambda: None,
) -> tuple[list[dict[str, Any]], pd.DataFrame]:
    """Simulate every combination with both models and compare.

    Parameters
    ----------
    model : ElasticFoundation
        The original model.
    surrogate : ContactModel
        What stands in for it.
    drive : callable
        Takes a model and a cycle and returns the simulation; the same for both models.
    cycle : GaitCycle
        The nominal inputs.
    law : WearLaw
        Material of the insert.
    nominal : mapping, optional
        Results of both models ("original", "surrogate") for the nominal inputs, if known.
    done : callable
        Told after each combination.

    Returns
    -------
    rows : list of dict
        One per combination, in SI units: `compare_results`, or `failure` if either model could
        not be taken through the cycle.
    table : pandas.DataFrame
        All cycles, columns `TABLE_COLUMNS`.
    """
    models = {"original": model, "surrogate": surrogate}
    rows, tables = [], []
    patch: Patch | None = None
    for combination in COMBINATIONS:
        row: dict[str, Any] = {"name": combination.name, "factors": combination.factors}
        varied = combination.applied_to(cycle)
        known = nominal if combination == COMBINATIONS[0] else None
        results, failure = _both(models, drive, varied, known or {})
        row["failure"] = failure
        if failure is None:
            if patch is None:
                # Of the first cycle, as a rule the nominal one: a property of the surfaces.
                patch = measured_patch(model, results["original"])
            row |= compare_results(model, results, law, patch)
        if results:
            table = simulation_table(results).assign(combination=combination.name)
            tables.append(table[list(TABLE_COLUMNS)])
        rows.append(row)
        done()
    if not tables:
        return rows, pd.DataFrame(columns=list(TABLE_COLUMNS))
    return rows, pd.concat(tables, ignore_index=True)


def _both(
    models: Mapping[str, ContactModel],
    drive: Drive,
    cycle: GaitCycle,
    known: Mapping[str, SimulationResult],
) -> tuple[dict[str, SimulationResult], dict[str, str] | None]:
    """Return the results of the models that ended, and the first failure."""
    results, failure = {}, None
    for name, model in models.items():
        try:
            results[name] = known[name] if name in known else drive(model, cycle)
        except (EquilibriumError, SimulationError) as error:
            failure = failure or {"model": name, "reason": str(error)}
    return results, failure


def compare_results(
    model: ElasticFoundation,
    results: Mapping[str, SimulationResult],
    law: WearLaw,
    patch: Patch,
) -> dict[str, Any]:
    """Return how far the surrogate-driven cycle is from the original-driven one, in SI units.

    Parameters
    ----------
    model : ElasticFoundation
        The original model.
    results : mapping
        "original" and "surrogate" -> result at the same instants.
    law : WearLaw
        Material of the insert.
    patch : Patch
        The original's contact patches, for the surrogate's wear.

    Returns
    -------
    dict
        `loads`, `motion`, `pressure`: column -> `rms` difference, largest magnitude of the
        original (`peak`) and of the surrogate (`surrogate_peak`), and `range` of the original;
        `wear`: model -> volumes of both compartments [m³ per cycle]; `statistics` and `flags` of
        each model.
    """
    tables = {name: result.columns() for name, result in results.items()}
    compared = {
        group: {column: _difference(tables, column) for column in columns}
        for group, columns in (("loads", LOADS), ("motion", MOTION), ("pressure", PRESSURES))
    }
    wear = {
        "original": bed_wear(model, results["original"], law).volume.tolist(),
        "surrogate": surrogate_wear(results["surrogate"], law, **patch._asdict()).volume.tolist(),
    }
    return {
        **compared,
        "wear": wear,
        "statistics": {name: asdict(result.statistics) for name, result in results.items()},
        "flags": {name: [told(flag) for flag in r.flags] for name, r in results.items()},
    }


def _difference(tables: Mapping[str, Mapping[str, FloatArray]], column: str) -> dict[str, float]:
    truth, found = tables["original"][column], tables["surrogate"][column]
    return {
        "rms": float(np.sqrt(np.mean((found - truth) ** 2))),
        "peak": float(np.abs(truth).max()),
        "range": float(np.ptp(truth)),
        "surrogate_peak": float(np.abs(found).max()),
    }


def told(flag: Flag) -> str:
    """Return a flag in words."""
    return f"{flag.message} at {flag.time:.3f} s, the first of {flag.samples} instants"
