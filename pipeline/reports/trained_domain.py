"""What the surrogate of a run says over its domain: flags of held-out samples, and sensitivity.

The sensitivity of the loads is given by Sobol indices over the trained domain and by the stiffness
at poses. Both evaluate the surrogate alone, a thousand poses in some hundredths of a second.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray
from foundation.base.loads import LOAD_COLUMNS, WRENCH_COLUMNS
from foundation.base.quantities import QUANTITIES, unit_token
from pipeline.config.schema import FeasibilityConfig
from pipeline.reports.inputs import RunFiles
from pipeline.stages.assessment import feasible
from pipeline.store.run_documents import Part
from pipeline.store.samples import POSE_COLUMNS, loads_of, poses_of, usable
from surrogates.families.cross_validation import NORMAL_95
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.domain_fit import ERRORS, FAR, WRONG, is_far_off, is_wrong
from surrogates.formulations.outside import beyond
from surrogates.sampling.sensitivity import sobol_indices, unit_design

#: Rows of each base matrix of Sobol's design, and its seed.
_BASE, _SEED = 1024, 1
#: Inputs that vary over the trained domain, in the order of `SampleSpace.draw`.
INPUTS = ("flexion", "adduction", "rotation", "anterior", "lateral", "load")
_INDICES = ("total", "total_half_width", "first")
#: Quantities at a given load.
_ANSWERS = ("force_x_N", "force_z_N", "area_m2", "peak_pressure_Pa", "cop_x_m", "cop_z_m")
#: Pose coordinates in their order: name, unit for people, factor from the SI unit.
COORDINATES = tuple(
    (q.name, unit_token(q.unit_for_people), q.factor)
    for q in (QUANTITIES[column] for column in POSE_COLUMNS)
)


class Sensitivity(Part):
    """RMS change of each load by each coordinate, and Sobol indices at a given load [%], if known.

    Keys of `stiffness` are `<coordinate>_<unit of the load>_per_<unit of the coordinate>`.
    """

    stiffness: dict[str, list[dict[str, Any]]]
    sobol: dict[str, list[dict[str, Any]]] | None
    base: int
    seed: int

    @property
    def widest_percent(self) -> float:
        """Largest half width of the 95 % intervals of the total indices [%]."""
        rows = [row for found in (self.sobol or {}).values() for row in found]
        widths = (row[f"{name}_total_half_width_percent"] for row in rows for name in INPUTS)
        return max(widths, default=0.0)


def domain_of(files: RunFiles) -> dict[str, Any] | None:
    """Return numbers of held-out samples with a flag, and of wrong answers without one."""
    if files.knee is None:
        return None
    feasibility = FeasibilityConfig.model_validate(
        {k: tuple(v) if isinstance(v, list) else v for k, v in files.config["feasibility"].items()}
    )
    return {
        "wrong_percent_of_largest": 100.0 * WRONG,
        "standard_errors": ERRORS,
        "far_off_percent_of_largest": 100.0 * FAR,
        "compartments": {
            name: judged(files.knee.compartment(name), usable(files.held_out, name), feasibility)
            for name in files.compartments
        },
    }


def judged(
    surrogate: CompartmentSurrogate, rows: pd.DataFrame, feasibility: FeasibilityConfig
) -> dict[str, float | None]:
    """Return how many samples of a compartment are flagged, feasible, wrong and far off."""
    poses, truth = poses_of(rows), loads_of(rows)
    found = surrogate.loads(poses, order=1)
    loads, flagged = found.array, is_flagged(found.variables)
    error = np.abs(loads - truth)[:, :3]
    largest = float(surrogate.space.load[1])
    expected = surrogate.standard_error(poses)[:, :3]
    wrong, far = is_wrong(loads - truth, expected, largest), is_far_off(loads - truth, largest)
    kept = rows.index.isin(feasible(rows, feasibility).index)
    known = np.isfinite(expected) & ~flagged[:, None]
    covered = error[known] <= NORMAL_95 * expected[known]
    return {
        "points": len(rows),
        "flagged": int(flagged.sum()),
        "feasible": int(kept.sum()),
        "feasible_flagged": int((flagged & kept).sum()),
        "wrong": int(wrong.sum()),
        "wrong_without_flag": int((wrong & ~flagged).sum()),
        "far_off": int(far.sum()),
        "far_off_without_flag": int((far & ~flagged).sum()),
        "covered_without_flag_percent": 100.0 * float(covered.mean()) if covered.size else None,
    }


def is_flagged(variables: FloatArray) -> np.ndarray:
    """Return whether poses are outside the domain (N,), by their variables (N, 7) [1]."""
    return np.asarray(beyond(variables).any(axis=1))


def sensitivity_of(
    knee: ContactSurrogate | None, held_out: pd.DataFrame, not_given: Collection[str] = ()
) -> Sensitivity | None:
    """Return the sensitivity of each compartment at held-out samples; None without a surrogate."""
    if knee is None:
        return None
    stiffness, sobol = {}, {}
    for name in dict.fromkeys(held_out["compartment"]):
        surrogate = knee.compartment(name)
        poses = poses_of(held_out[held_out["compartment"] == name])
        stiffness[name] = stiffness_rows(surrogate.loads(poses, order=1).jacobian)
        if surrogate.learns_heights:
            sobol[name] = sobol_rows(surrogate, not_given)
    return Sensitivity(stiffness=stiffness, sobol=sobol or None, base=_BASE, seed=_SEED)


def stiffness_rows(jacobian: FloatArray) -> list[dict[str, Any]]:
    """Return the RMS of d(load)/d(coordinate), a row per load, of a Jacobian (N, 6, 6) [SI]."""
    changes = np.sqrt((jacobian**2).mean(axis=0))
    return [
        {
            "label": load.label,
            "unit": load.unit_for_people,
            **{
                stiffness_key(name, load.unit_for_people, unit): load.factor * float(value) / steps
                for (name, unit, steps), value in zip(COORDINATES, per_coordinate, strict=True)
            },
        }
        for load, per_coordinate in zip(
            [QUANTITIES[c] for c in WRENCH_COLUMNS], changes, strict=True
        )
    ]


def stiffness_key(coordinate: str, load_unit: str, unit: str) -> str:
    """Return the key of the change of a load by a coordinate."""
    return f"{coordinate}_{unit_token(load_unit)}_per_{unit}"


def sobol_rows(
    surrogate: CompartmentSurrogate, not_given: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Return the total Sobol indices of quantities at given load, a row per quantity [%]."""
    unit = unit_design("sobol", _BASE, len(INPUTS), _SEED)
    loads = surrogate.at_load(*surrogate.space.draw(unit, spread=1.0))[1]
    rows = []
    for column in (name for name in _ANSWERS if name not in not_given):
        indices = sobol_indices(list(INPUTS), loads[:, LOAD_COLUMNS.index(column)], _SEED)
        if indices is not None:
            shares = {
                f"{name}_{kind}_percent": 100.0 * indices[name][kind]
                for name in INPUTS
                for kind in _INDICES
            }
            quantity = QUANTITIES[column]
            rows.append({"key": quantity.name, "label": quantity.label, **shares})
    return rows
