"""What the surrogate of a run says over its domain: flags of held-out samples, and sensitivity.

The sensitivity of the loads is given by Sobol indices over the trained domain and by the stiffness
at poses. Both evaluate the surrogate alone, a thousand poses in some hundredths of a second.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd
from pydantic import model_serializer

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


class JudgedFlags(Part):
    """Numbers of evaluated samples of a compartment: flagged, feasible, wrong and far off.

    `covered_without_flag_percent` is the part of the forces without a flag in their 95 % intervals.
    """

    points: int
    flagged: int
    feasible: int
    feasible_flagged: int
    wrong: int
    wrong_without_flag: int
    far_off: int
    far_off_without_flag: int
    covered_without_flag_percent: float | None


class Domain(Part):
    """Numbers of held-out samples with a flag, and of wrong answers without a flag."""

    wrong_percent_of_largest: float
    standard_errors: float
    far_off_percent_of_largest: float
    compartments: dict[str, JudgedFlags]


class StiffnessRow(Part):
    """RMS change of a load per degree or mm of each coordinate.

    The keys in JSON are `<coordinate>_<unit of the load>_per_<unit of the coordinate>`.
    """

    label: str
    unit: str
    changes: dict[str, float]

    @model_serializer(mode="plain")
    def _flat(self) -> dict[str, Any]:
        token = unit_token(self.unit)
        changes = {
            f"{name}_{token}_per_{unit}": self.changes[name] for name, unit, _ in COORDINATES
        }
        return {"label": self.label, "unit": self.unit, **changes}


class SobolShare(Part):
    """Sobol indices of an input: total index, half width of its 95 % interval, first order [%]."""

    total: float
    total_half_width: float
    first: float


class SobolRow(Part):
    """Sobol indices of a quantity at a given load; keys in JSON are `<input>_<index>_percent`."""

    key: str
    label: str
    inputs: dict[str, SobolShare]

    @model_serializer(mode="plain")
    def _flat(self) -> dict[str, Any]:
        shares = {
            f"{name}_{index}_percent": value
            for name, share in self.inputs.items()
            for index, value in share.content().items()
        }
        return {"key": self.key, "label": self.label, **shares}


class Sensitivity(Part):
    """Sensitivity of the loads of each compartment to pose and load.

    `sobol` is None for formulations that give no height at a load; `base` and `seed` are those of
    Sobol's design.
    """

    stiffness: dict[str, list[StiffnessRow]]
    sobol: dict[str, list[SobolRow]] | None
    base: int
    seed: int

    @property
    def widest_percent(self) -> float:
        """Largest half width of the 95 % intervals of the total indices [%]."""
        rows = [row for found in (self.sobol or {}).values() for row in found]
        widths = (share.total_half_width for row in rows for share in row.inputs.values())
        return max(widths, default=0.0)


def domain_of(files: RunFiles) -> Domain | None:
    """Return the numbers of held-out samples with a flag, and of wrong answers without a flag.

    None for a run without the file of its surrogate.
    """
    if files.knee is None:
        return None
    feasibility = FeasibilityConfig.model_validate(
        {k: tuple(v) if isinstance(v, list) else v for k, v in files.config["feasibility"].items()}
    )
    return Domain(
        wrong_percent_of_largest=100.0 * WRONG,
        standard_errors=ERRORS,
        far_off_percent_of_largest=100.0 * FAR,
        compartments={
            name: judged(files.knee.compartment(name), usable(files.held_out, name), feasibility)
            for name in files.compartments
        },
    )


def judged(
    surrogate: CompartmentSurrogate, rows: pd.DataFrame, feasibility: FeasibilityConfig
) -> JudgedFlags:
    """Return how many samples of a compartment are flagged, wrong and far off.

    `rows` are samples that the original model answered.
    """
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
    return JudgedFlags(
        points=len(rows),
        flagged=int(flagged.sum()),
        feasible=int(kept.sum()),
        feasible_flagged=int((flagged & kept).sum()),
        wrong=int(wrong.sum()),
        wrong_without_flag=int((wrong & ~flagged).sum()),
        far_off=int(far.sum()),
        far_off_without_flag=int((far & ~flagged).sum()),
        covered_without_flag_percent=100.0 * float(covered.mean()) if covered.size else None,
    )


def is_flagged(variables: FloatArray) -> np.ndarray:
    """Return whether poses are outside the domain (N,), by their variables (N, 7) [1]."""
    return np.asarray(beyond(variables).any(axis=1))


def sensitivity_of(
    knee: ContactSurrogate | None, held_out: pd.DataFrame, not_given: Collection[str] = ()
) -> Sensitivity | None:
    """Return the sensitivity of the loads of each compartment, or None without a surrogate.

    `held_out` are feasible held-out samples of all compartments; the stiffness is that at their
    poses. `not_given` are columns that the original model, a table, does not contain.
    """
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


def stiffness_rows(jacobian: FloatArray) -> list[StiffnessRow]:
    """Return the root mean square of d(load)/d(coordinate), a row per load.

    The Jacobian (N, 6, 6) has the six loads by the coordinates [N/rad, N/m, N·m/rad, N·m/m].
    """
    changes = np.sqrt((jacobian**2).mean(axis=0))
    return [
        StiffnessRow(
            label=load.label,
            unit=load.unit_for_people,
            changes={
                name: load.factor * float(value) / steps
                for (name, _, steps), value in zip(COORDINATES, per_coordinate, strict=True)
            },
        )
        for load, per_coordinate in zip(
            [QUANTITIES[c] for c in WRENCH_COLUMNS], changes, strict=True
        )
    ]


def sobol_rows(surrogate: CompartmentSurrogate, not_given: Collection[str] = ()) -> list[SobolRow]:
    """Return the total Sobol indices of quantities at given load, a row per quantity [%].

    Quantities that do not vary and those `not_given` have no row.
    """
    unit = unit_design("sobol", _BASE, len(INPUTS), _SEED)
    loads = surrogate.at_load(*surrogate.space.draw(unit, spread=1.0))[1]
    rows = []
    for column in (name for name in _ANSWERS if name not in not_given):
        indices = sobol_indices(list(INPUTS), loads[:, LOAD_COLUMNS.index(column)], _SEED)
        if indices is not None:
            shares = {
                name: SobolShare(**{kind: 100.0 * indices[name][kind] for kind in _INDICES})
                for name in INPUTS
            }
            quantity = QUANTITIES[column]
            rows.append(SobolRow(key=quantity.name, label=quantity.label, inputs=shares))
    return rows
