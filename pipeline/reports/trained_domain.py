"""What the surrogate of a run says over its domain: flags of held-out samples, and sensitivity.

The sensitivity of the loads is given by Sobol indices over the trained domain and by the stiffness
at poses. Both evaluate the surrogate alone, a thousand poses in some hundredths of a second.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray
from foundation.base.loads import LOAD_COLUMNS, WRENCH_COLUMNS
from foundation.base.quantities import QUANTITIES, unit_token
from pipeline.config.schema import FeasibilityConfig
from pipeline.reports.inputs import RunFiles
from pipeline.reports.units import row_of
from pipeline.stages.assessment import feasible
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
#: Quantities at a given load.
_ANSWERS = ("force_x_N", "force_z_N", "area_m2", "peak_pressure_Pa", "cop_x_m", "cop_z_m")
#: Pose coordinates in their order: name, unit for people, factor from the SI unit.
COORDINATES = tuple(
    (q.name, unit_token(q.unit_for_people), q.factor)
    for q in (QUANTITIES[column] for column in POSE_COLUMNS)
)


def domain_content(files: RunFiles) -> dict[str, Any] | None:
    """Return the numbers of held-out samples with a flag, and of wrong answers without a flag.

    None for a run without the file of its surrogate.
    """
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
) -> dict[str, Any]:
    """Return how many of the evaluated samples of a compartment are flagged, wrong and far off.

    With the numbers of those without a flag and of feasible samples, and the part of the forces
    without a flag in their 95 % intervals; `rows` are samples that the original model answered.
    """
    poses, truth = poses_of(rows), loads_of(rows)
    loads, _, variables = surrogate.evaluate_batch(poses)
    flagged = is_flagged(variables)
    error = np.abs(loads - truth)[:, :3]
    largest = float(surrogate.space.load[1])
    expected = surrogate.standard_error(poses)[:, :3]
    wrong, far = is_wrong(loads - truth, expected, largest), is_far_off(loads - truth, largest)
    kept = rows.index.isin(feasible(rows, feasibility).index)
    known = np.isfinite(expected) & ~flagged[:, None]
    covered = error[known] <= NORMAL_95 * expected[known]
    return {
        "points": len(rows),
        "flagged": flagged.sum(),
        "feasible": kept.sum(),
        "feasible_flagged": (flagged & kept).sum(),
        "wrong": wrong.sum(),
        "wrong_without_flag": (wrong & ~flagged).sum(),
        "far_off": far.sum(),
        "far_off_without_flag": (far & ~flagged).sum(),
        "covered_without_flag_percent": 100.0 * float(covered.mean()) if covered.size else None,
    }


def is_flagged(variables: FloatArray) -> np.ndarray:
    """Return whether poses are outside the domain (N,), by their variables (N, 7) [1]."""
    return np.asarray(beyond(variables).any(axis=1))


def sensitivity_content(
    knee: ContactSurrogate | None, held_out: pd.DataFrame, not_given: Collection[str] = ()
) -> dict[str, Any] | None:
    """Return the sensitivity of the loads of each compartment, or None without a surrogate.

    Parameters
    ----------
    knee : ContactSurrogate, optional
        Surrogate of the run.
    held_out : DataFrame
        Feasible held-out samples of all compartments; `stiffness` has the root mean square of the
        change of each load per degree or mm of each pose coordinate at their poses.
    not_given : collection of str
        Columns that the original model, a table, does not contain. Of other quantities, `sobol`
        has the total Sobol indices of `INPUTS` over the trained domain at given loads; None for
        formulations that give no height at a load.
    """
    if knee is None:
        return None
    stiffness, sobol = {}, {}
    for name in dict.fromkeys(held_out["compartment"]):
        surrogate = knee.compartment(name)
        poses = poses_of(held_out[held_out["compartment"] == name])
        stiffness[name] = stiffness_rows(surrogate.evaluate_batch(poses)[1])
        if surrogate.learns_heights:
            sobol[name] = sobol_rows(surrogate, not_given)
    return {"stiffness": stiffness, "sobol": sobol or None, "base": _BASE, "seed": _SEED}


def stiffness_rows(jacobian: FloatArray) -> list[dict[str, Any]]:
    """Return the root mean square of d(load)/d(coordinate), a row per load.

    The Jacobian (N, 6, 6) has the six loads by the coordinates [N/rad, N/m, N·m/rad, N·m/m].
    """
    rows = []
    changes = np.sqrt((jacobian**2).mean(axis=0))
    for load, per_coordinate in zip([QUANTITIES[c] for c in WRENCH_COLUMNS], changes, strict=True):
        row = row_of(load)
        for (name, unit, steps), value in zip(COORDINATES, per_coordinate, strict=True):
            token = unit_token(load.unit_for_people)
            row[f"{name}_{token}_per_{unit}"] = load.factor * float(value) / steps
        rows.append(row)
    return rows


def sobol_rows(
    surrogate: CompartmentSurrogate, not_given: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Return the total Sobol indices of quantities at given load, a row per quantity [%].

    Quantities that do not vary and those `not_given` have no row.
    """
    unit = unit_design("sobol", _BASE, len(INPUTS), _SEED)
    loads = surrogate.at_load(*surrogate.space.draw(unit, spread=1.0))[1]
    rows = []
    for column in (name for name in _ANSWERS if name not in not_given):
        indices = sobol_indices(list(INPUTS), loads[:, LOAD_COLUMNS.index(column)], _SEED)
        if indices is not None:
            row: dict[str, Any] = {
                "key": QUANTITIES[column].name,
                "label": QUANTITIES[column].label,
            }
            for name, kind in product(INPUTS, ("total", "total_half_width", "first")):
                row[f"{name}_{kind}_percent"] = 100.0 * indices[name][kind]
            rows.append(row)
    return rows
