"""Sensitivity of the loads: Sobol indices over the trained domain, and the stiffness at poses.

Both evaluate the surrogate alone, a thousand poses in some hundredths of a second.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from foundation.checks import FloatArray
from foundation.loads import COMPARTMENTS, LOAD_COLUMNS, WRENCH_COLUMNS
from foundation.quantities import QUANTITIES, unit_token
from pipeline.reports.units import row_of
from pipeline.store.samples import POSE_COLUMNS, poses_of
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.whole_knee import AnyKnee
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


def sensitivity_content(
    knee: AnyKnee | None, held_out: pd.DataFrame, not_given: Collection[str] = ()
) -> dict[str, Any] | None:
    """Return the sensitivity of the loads of each compartment, or None without a surrogate.

    Parameters
    ----------
    knee : KneeSurrogate or WholeKneeSurrogate, optional
        Surrogate of the run.
    held_out : DataFrame
        Feasible held-out samples of both compartments; the stiffness is that at their poses.
    not_given : collection of str
        Columns that the original model, a table, does not contain.

    Returns
    -------
    dict, optional
        `stiffness`: compartment -> a row per load with the root mean square of its change per
        degree or mm of each pose coordinate. `sobol`: compartment -> a row per quantity with the
        total Sobol indices of `INPUTS` over the trained domain at given loads; None for
        formulations that give no height at a load. `base`, `seed` of Sobol's design.
    """
    if knee is None:
        return None
    stiffness, sobol = {}, {}
    for name in COMPARTMENTS:
        surrogate = knee.compartment(name)
        poses = poses_of(held_out[held_out["compartment"] == name])
        stiffness[name] = stiffness_rows(surrogate.evaluate_batch(poses)[1])
        if isinstance(surrogate, CompartmentSurrogate) and surrogate.formulation == "inverted":
            sobol[name] = sobol_rows(surrogate, not_given)
    return {"stiffness": stiffness, "sobol": sobol or None, "base": _BASE, "seed": _SEED}


def stiffness_rows(jacobian: FloatArray) -> list[dict[str, Any]]:
    """Return the root mean square of d(load)/d(coordinate), a row per load.

    Parameters
    ----------
    jacobian : (N, 6, 6) float64
        Derivatives of the six loads by the pose coordinates [N/rad, N/m, N·m/rad, N·m/m].
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
