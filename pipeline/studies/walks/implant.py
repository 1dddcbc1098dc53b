"""Forces of an instrumented implant beside those of a planar walk."""

from __future__ import annotations

import numpy as np

from dynamics.simulator.result import SimulationResult
from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS
from pipeline.studies.implant_forces.comparison import MeasuredWalk, compare_with_implant
from pipeline.studies.walks.loads import Walk
from pipeline.studies.walks.schema import WalkFile


def measured_walk(file: WalkFile, walk: Walk, result: SimulationResult) -> MeasuredWalk | None:
    """Return the measured forces beside those of a walk; None without measured forces.

    The total force is that of the walk, the forces of the compartments are those of the simulated
    gait cycle.

    Raises
    ------
    InputError
        As of `compare_with_implant`.
    """
    if file.implant_forces is None:
        return None
    knee, columns = walk.knee, result.columns()
    predicted = {"total": knee.axial_force} | {
        part: _at(knee.percent, result.gait_percent, np.asarray(columns[f"{part}_force_y_N"]))
        for part in COMPARTMENTS
    }
    return compare_with_implant(
        file.implant_forces, walk.trial.time, predicted, walk.body_weight, "the planar leg"
    )


def _at(wanted: FloatArray, percent: FloatArray, values: FloatArray) -> FloatArray:
    """Return values of a cycle at other instants [% of the cycle]; the cycle closes."""
    return np.interp(wanted, percent, values, period=100.0)
