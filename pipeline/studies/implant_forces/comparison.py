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
from pipeline.studies.implant_forces.forces import at_times, read_implant_forces
from pipeline.studies.implant_forces.schema import ImplantForcesConfig

#: Parts of a tibiofemoral force, in the order of tables.
PARTS = ("total", "medial", "lateral")
#: Correlation of the total forces below which the clock is doubted [1].
_ALIKE = 0.5
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
    """Comparison of a walk with measured forces: what was read, and the errors."""

    file: str
    contact: str
    facts: list[str]
    shift_s: float
    instants: int
    of_instants: int
    parts: dict[str, PartErrors]


@dataclass(frozen=True, eq=False)
class MeasuredWalk:
    """Measured and predicted forces (M,) [N] at the instants of a walk."""

    comparison: ImplantComparison
    #: Instants of the walk, (M,) [s].
    time: FloatArray
    #: Axial forces by part, (M,) [N]; NaN where the table has none.
    measured: Mapping[str, FloatArray]
    #: Axial forces by part, (M,) [N].
    predicted: Mapping[str, FloatArray]
    #: What is doubtful about the file.
    warnings: tuple[str, ...]

    def table(self) -> pd.DataFrame:
        """Return instants, measured and predicted forces [s, N]."""
        columns = {"time_s": self.time}
        for kind, forces in (("measured", self.measured), ("predicted", self.predicted)):
            columns |= {f"{kind}_{part}_N": force for part, force in forces.items()}
        return pd.DataFrame(columns)


def compare_with_implant(
    config: ImplantForcesConfig,
    time: FloatArray,
    predicted: Mapping[str, FloatArray],
    body_weight: float,
    contact: str,
) -> MeasuredWalk:
    """Compare axial forces by part (M,) [N], at instants (M,) [s] of a walk, with measured ones.

    The body weight is in newtons; `contact` names what is compared, such as a contact. Raises
    `InputError` if the file cannot be used, or has values at less than three instants of the walk.
    """
    forces = read_implant_forces(config, body_weight)
    start, scale = (
        (time[0], 0.01 * float(np.ptp(time)))
        if config.time_unit == "percent"
        else (0.0, 1e-3 if config.time_unit == "ms" else 1.0)
    )
    times = start + scale * forces.time + config.shift_s
    measured = {
        part: at_times(time, times, forces.parts[part])
        for part in PARTS
        if part in forces.parts and part in predicted
    }
    known = np.isfinite(measured["total"])
    if known.sum() < 3:
        raise InputError(
            f"{forces.source}: expected values from {time[0]:g} to {time[-1]:g} s, the times of "
            f"the walk, found {times[0]:g} to {times[-1]:g} s with a shift of {config.shift_s:g} "
            "s; state implant_forces.shift_s, or time_unit"
        )
    comparison = ImplantComparison(
        file=Path(config.file).name,
        contact=contact,
        facts=list(forces.facts),
        shift_s=config.shift_s,
        instants=int(known.sum()),
        of_instants=len(time),
        parts={
            part: _errors(time, force, predicted[part], body_weight)
            for part, force in measured.items()
        },
    )
    shown = {part: predicted[part] for part in measured}
    warnings = (*forces.warnings, *_shift_doubts(forces.source, comparison))
    return MeasuredWalk(comparison, time, measured, shown, warnings)


def _shift_doubts(source: str, found: ImplantComparison) -> tuple[str, ...]:
    """Return a warning if the courses of both total forces have little in common."""
    correlation = found.parts["total"].correlation
    if correlation is None or correlation >= _ALIKE:
        return ()
    return (
        f"{source}: measured and predicted total force correlate by {correlation:.2f}; check the "
        f"shift of the times (implant_forces.shift_s, now {found.shift_s:g} s)",
    )


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
    lines = [f"measured forces of {found.file}: {'; '.join(found.facts)}"]
    for part, row in found.parts.items():
        fit = "" if row.r2 is None else f", R² {row.r2:.2f}"
        lines.append(
            f"{part}: {row.rms_N:.0f} N RMS ({row.rms_BW:.2f} body weights){fit}; peak predicted "
            f"{row.predicted_peak_BW:.2f}, measured {row.measured_peak_BW:.2f} body weights"
        )
    return lines
