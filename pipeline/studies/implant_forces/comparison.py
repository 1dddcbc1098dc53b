"""Measured beside predicted forces of a walk: errors of each part, peaks, and the table of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from pipeline.store.run_documents import Computed
from pipeline.studies.implant_forces.alignment import WalkCourse, aligned
from pipeline.studies.implant_forces.forces import read_implant_forces
from pipeline.studies.implant_forces.schema import ImplantForcesConfig
from pipeline.studies.implant_forces.sheets import at_times

#: Parts of a tibiofemoral force, in the order of tables.
PARTS = ("total", "medial", "lateral")
#: Table of measured and predicted forces in the folder of a walk.
TABLE = "implant_forces.csv"


class PartErrors(Computed):
    """Errors of a predicted force over the instants with measured values, and both peaks.

    `r2` is 1 less the sum of squared errors over that of the deviations of the measured force from
    its mean; `correlation` is Pearson's.
    """

    rms_N: float
    rms_BW: float
    mean_error_N: float
    r2: float | None
    correlation: float | None
    measured_peak_N: float
    measured_peak_BW: float
    measured_peak_at_s: float
    predicted_peak_N: float
    predicted_peak_BW: float
    predicted_peak_at_s: float


class ImplantComparison(Computed):
    """Comparison of a walk with measured forces: what was read, the clock, and the errors."""

    file: str
    contact: str
    facts: list[str]
    shift_s: float
    aligned_by: str
    instants: int
    of_instants: int
    parts: dict[str, PartErrors]


@dataclass(frozen=True, eq=False)
class MeasuredWalk:
    """Measured and predicted forces at the instants of a walk.

    Parameters
    ----------
    comparison : ImplantComparison
        The errors.
    time : (M,) float64
        Instants of the walk [s].
    measured, predicted : mapping
        Axial forces (M,) [N] by part; measured ones are NaN where the table has none.
    warnings : tuple of str
        What is doubtful about file and clock.
    """

    comparison: ImplantComparison
    time: FloatArray
    measured: Mapping[str, FloatArray]
    predicted: Mapping[str, FloatArray]
    warnings: tuple[str, ...]

    def table(self) -> pd.DataFrame:
        """Return instants, measured and predicted forces [s, N]."""
        columns = {"time_s": self.time}
        for kind, forces in (("measured", self.measured), ("predicted", self.predicted)):
            columns |= {f"{kind}_{part}_N": force for part, force in forces.items()}
        return pd.DataFrame(columns)


def compare_with_implant(
    config: ImplantForcesConfig,
    walk: WalkCourse,
    predicted: Mapping[str, FloatArray],
    body_weight: float,
    contact: str,
) -> MeasuredWalk:
    """Compare the forces of a walk with measured ones.

    Parameters
    ----------
    config : ImplantForcesConfig
        File of the measured forces.
    walk : WalkCourse
        Instants, total force and flexion of the walk.
    predicted : mapping
        Axial forces (M,) [N] by part.
    body_weight : float
        Body weight [N].
    contact : str
        What is compared, such as the name of a contact.

    Raises
    ------
    InputError
        If the file cannot be used, or has no value at any instant of the walk.
    """
    forces = read_implant_forces(config, body_weight)
    clock = aligned(forces, walk, config.shift_s)
    times = clock.times(forces)
    measured = {
        part: at_times(walk.time, times, forces.parts[part])
        for part in PARTS
        if part in forces.parts and part in predicted
    }
    known = np.isfinite(measured["total"])
    if known.sum() < 3:
        raise InputError(
            f"{forces.source}: expected values from {walk.time[0]:g} to {walk.time[-1]:g} s, found "
            f"{times[0]:g} to {times[-1]:g} s with a shift of {clock.shift:g} s; check "
            "implant_forces.shift_s"
        )
    comparison = ImplantComparison(
        file=Path(config.file).name,
        contact=contact,
        facts=list(forces.facts),
        shift_s=clock.shift,
        aligned_by=clock.how,
        instants=int(known.sum()),
        of_instants=len(walk.time),
        parts={
            part: _errors(walk.time, force, predicted[part], body_weight)
            for part, force in measured.items()
        },
    )
    shown = {part: predicted[part] for part in measured}
    return MeasuredWalk(comparison, walk.time, measured, shown, (*forces.warnings, *clock.warnings))


def _errors(
    time: FloatArray, measured: FloatArray, predicted: FloatArray, weight: float
) -> PartErrors:
    known = np.isfinite(measured)
    time, measured, predicted = time[known], measured[known], predicted[known]
    error = predicted - measured
    rms = float(np.sqrt((error**2).mean()))
    spread = measured - measured.mean()
    other = predicted - predicted.mean()
    norms = float(np.linalg.norm(spread) * np.linalg.norm(other))
    varies = float((spread**2).sum())
    high, found = int(measured.argmax()), int(predicted.argmax())
    return PartErrors(
        rms_N=rms,
        rms_BW=rms / weight,
        mean_error_N=float(error.mean()),
        r2=1.0 - float((error**2).sum()) / varies if varies > 0.0 else None,
        correlation=float(spread @ other) / norms if norms > 0.0 else None,
        measured_peak_N=measured[high],
        measured_peak_BW=measured[high] / weight,
        measured_peak_at_s=time[high],
        predicted_peak_N=predicted[found],
        predicted_peak_BW=predicted[found] / weight,
        predicted_peak_at_s=time[found],
    )


def comparison_lines(found: ImplantComparison | None) -> list[str]:
    """Return the lines on the terminal for a comparison; none without one."""
    if found is None:
        return []
    lines = [f"measured forces of {found.file}: {found.facts[0]}; {found.aligned_by}"]
    for part, row in found.parts.items():
        fit = "" if row.r2 is None else f", R² {row.r2:.2f}"
        lines.append(
            f"{part}: {row.rms_N:.0f} N RMS ({row.rms_BW:.2f} body weights){fit}; peak predicted "
            f"{row.predicted_peak_BW:.2f}, measured {row.measured_peak_BW:.2f} body weights"
        )
    return lines
