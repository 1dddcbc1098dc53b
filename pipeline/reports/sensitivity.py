"""What the loads react to: Sobol indices over the trained domain, and the stiffness at poses.

Both ask the surrogate alone, which answers a thousand poses in some hundredths of a second.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from foundation.checks import FloatArray
from foundation.loads import COMPARTMENTS, WRENCH_COLUMNS
from pipeline.reports.units import QUANTITIES
from pipeline.store.samples import poses_of
from pipeline.studies.design import sobol_indices, unit_design
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.whole_knee import AnyKnee

#: Rows of each base matrix of Sobol's design, and its seed.
_BASE, _SEED = 1024, 1
#: What varies over the trained domain, in the order of `SampleSpace.draw`.
INPUTS = ("flexion", "adduction", "rotation", "anterior", "lateral", "load")
#: What is asked for at a given load: column of the answer, by its name in `QUANTITIES`.
_ANSWERS = {
    "force_x_N": 0,
    "force_z_N": 2,
    "area_m2": 6,
    "peak_pressure_Pa": 7,
    "cop_x_m": 9,
    "cop_z_m": 11,
}
#: Pose coordinates in their order: name, unit, how many of it are one of SI.
COORDINATES = (
    *((name, "deg", 180.0 / np.pi) for name in ("flexion", "adduction", "rotation")),
    *((name, "mm", 1e3) for name in ("anterior", "superior", "lateral")),
)


def sensitivity_content(
    knee: AnyKnee | None, held_out: pd.DataFrame, not_given: Collection[str] = ()
) -> dict[str, Any] | None:
    """Return what the loads of each compartment react to, or None without a surrogate.

    Parameters
    ----------
    knee : KneeSurrogate or WholeKneeSurrogate, optional
        The surrogate of the run.
    held_out : DataFrame
        Feasible held-out samples of both compartments; the stiffness is that at their poses.
    not_given : collection of str
        Columns that the samples say nothing of.

    Returns
    -------
    dict, optional
        `stiffness`: compartment -> a row per load with the root mean square of its change per
        degree or mm of each pose coordinate. `sobol`: compartment -> a row per quantity with the
        total Sobol indices of `INPUTS` over the trained domain where the load is given; None for
        formulations that give no height at a load. `base`, `seed` of Sobol's design.
    """
    if knee is None:
        return None
    surrogates = {name: knee.compartment(name) for name in COMPARTMENTS}
    stiffness, sobol = {}, {}
    for name, surrogate in surrogates.items():
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
        Of the six loads by the pose coordinates, in SI units.
    """
    changes = np.sqrt((jacobian**2).mean(axis=0))
    rows = []
    for column, per in zip(WRENCH_COLUMNS, changes, strict=True):
        shown = QUANTITIES[column]
        rows.append(
            {
                "label": shown.label,
                "unit": shown.unit,
                **{
                    f"{name}_{shown.token}_per_{unit}": shown.factor * float(value) / steps
                    for (name, unit, steps), value in zip(COORDINATES, per, strict=True)
                },
            }
        )
    return rows


def sobol_rows(
    surrogate: CompartmentSurrogate, not_given: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Return the total Sobol indices of quantities at given load, a row per quantity [%].

    There is none of what does not vary or is not given.
    """
    unit = unit_design("sobol", _BASE, len(INPUTS), _SEED)
    loads = surrogate.at_load(*surrogate.space.draw(unit, spread=1.0))[1]
    rows = []
    for column, place in _ANSWERS.items():
        if column in not_given:
            continue
        found = sobol_indices(list(INPUTS), loads[:, place], _SEED)
        if found is not None:
            shares = {
                f"{name}_{kind}_percent": 100.0 * found[name][kind]
                for name in INPUTS
                for kind in ("total", "total_half_width", "first")
            }
            quantity = QUANTITIES[column]
            rows.append({"key": quantity.key, "label": quantity.label, **shares})
    return rows
