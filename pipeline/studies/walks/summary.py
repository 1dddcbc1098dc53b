"""Summary of a walk: peaks of joint moments, knee loads, and the simulated gait cycle."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dynamics.simulator.result import SimulationResult
from pipeline.files import plain
from pipeline.flagged_instants import flagged_sentence
from pipeline.reports.judgement import judgement
from pipeline.simulation import compare_cycles
from pipeline.studies.outputs import OUTPUTS, model_errors
from pipeline.studies.walks.in_vivo import IN_VIVO_PEAK
from pipeline.studies.walks.loads import Walk
from pipeline.studies.walks.schema import WalkFile


class Peak(NamedTuple):
    """A peak of the textbook pattern of joint moments.

    Laboratories agree about the ankle. About hip and knee at push-off, they differ by factors of
    three to five (hip flexion 0.4 in Winter, 1.35 in Kirtley; knee extension 0.16 and 0.85:
    Biomch-L, 29 April 1996). The ranges are therefore wide, with round limits.

    Parameters
    ----------
    joint, name, sign : int, str, float
        Index of the joint in `MOMENTS`, name of the peak, and sign of the moment.
    phase, expected : (float, float)
        First and last instant [% of the stride]; least and largest magnitude [N m/kg].
    """

    joint: int
    name: str
    sign: float
    phase: tuple[float, float]
    expected: tuple[float, float]

    @property
    def limits(self) -> tuple[float, float]:
        """Least and largest moment [N m/kg]."""
        low, high = self.expected
        return (low, high) if self.sign > 0.0 else (-high, -low)


#: Joints in the order of `dynamics.walking.LegLoads.moments`, and their positive sense.
MOMENTS = ("hip extension", "knee extension", "ankle plantarflexion")
PATTERN = (
    Peak(0, "hip extension, early stance", 1.0, (0.0, 25.0), (0.3, 1.2)),
    Peak(0, "hip flexion, push-off", -1.0, (40.0, 65.0), (0.4, 1.4)),
    Peak(1, "knee extension, early stance", 1.0, (5.0, 25.0), (0.2, 1.2)),
    Peak(1, "knee flexion, late stance", -1.0, (30.0, 55.0), (0.1, 0.6)),
    Peak(2, "ankle plantarflexion, push-off", 1.0, (40.0, 60.0), (1.1, 1.8)),
)


def moment_peaks(walk: Walk, mass: float) -> list[dict[str, Any]]:
    """Return size [N m/kg] and instant [%] of the peaks of `PATTERN`, and whether as expected.

    The mass is that of the body [kg].
    """
    percent, rows = walk.knee.percent, []
    for peak in PATTERN:
        inside = np.flatnonzero((percent >= peak.phase[0]) & (percent <= peak.phase[1]))
        moment = peak.sign * walk.leg.moments[inside, peak.joint] / mass
        size = float(moment.max())
        rows.append(
            {
                "peak": peak.name,
                "found_Nm_per_kg": size,
                "at_percent": float(percent[inside[moment.argmax()]]),
                "expected_Nm_per_kg": list(peak.expected),
                "as_expected": bool(peak.expected[0] <= size <= peak.expected[1]),
            }
        )
    return rows


def summarise(
    file: WalkFile,
    walk: Walk,
    results: dict[str, SimulationResult],
    outputs: dict[str, dict[str, float]],
    table: pd.DataFrame,
) -> dict[str, Any]:
    """Return the content of `walk.json` except the times.

    The results and their outputs are those of each model; `table` is the table of the results by
    `pipeline.simulation.simulation_table`.
    """
    knee, subject = walk.knee, file.subject
    early, late = knee.peaks(walk.body_weight)
    judged = judgement(Path(file.walk.run))
    surrogate = results["surrogate"]
    kinds = [each.flag.kind for each in surrogate.flags]
    return plain(
        {
            "name": file.walk.name,
            "run": file.walk.run,
            "subject": subject.model_dump(exclude_none=True),
            "measured": file.measured.model_dump(),
            "muscles": file.muscles.model_dump(),
            "recognised": dict(walk.recognised),
            "force_moved_m": walk.force_moved,
            "stride_s": [walk.trial.time[0], walk.trial.time[-1]],
            "body_weight_N": walk.body_weight,
            "moments": moment_peaks(walk, subject.mass_kg),
            "knee": {
                "peak_BW": max(early, late),
                "early_peak_BW": early,
                "late_peak_BW": late,
                "in_vivo_peak_BW": IN_VIVO_PEAK,
                "ap_force_N": [knee.ap_force.min(), knee.ap_force.max()],
                "internal_torque_Nm": [knee.internal_torque.min(), knee.internal_torque.max()],
                "adduction_moment_Nm": [knee.adduction_moment.min(), knee.adduction_moment.max()],
                "external_adduction_moment_Nm": [
                    knee.external_adduction_moment.min(),
                    knee.external_adduction_moment.max(),
                ],
                "flexion_deg": np.degrees([knee.flexion.min(), knee.flexion.max()]),
            },
            "outputs": outputs,
            "verdict": judged,
            "model_errors": model_errors(OUTPUTS, outputs["surrogate"], judged),
            "warnings": list(walk.warnings),
            "flags": [str(each.flag) for each in surrogate.flags],
            "not_trusted": flagged_sentence(surrogate.flagged, len(surrogate.time), kinds),
            "differences": [row.content() for row in compare_cycles(table)]
            if "original" in results
            else [],
        }
    )
