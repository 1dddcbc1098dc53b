"""Summary of a walk: peaks of joint moments, knee loads, and the simulated gait cycle."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dynamics.simulator.result import SimulationResult
from foundation.base.checks import FloatArray
from pipeline.flagged_instants import flagged_sentence
from pipeline.reports.judgement import judgement
from pipeline.simulation import compare_cycles
from pipeline.stages.cycle_outputs import OUTPUTS, model_errors
from pipeline.store.run_documents import Computed, Difference
from pipeline.store.verdict_document import Judgement
from pipeline.studies.implant_forces.comparison import ImplantComparison, MeasuredWalk
from pipeline.studies.walks.in_vivo import IN_VIVO_PEAK, InVivo
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


class SimulatedCycles(NamedTuple):
    """Simulated gait cycles of a walk by model: result, outputs, and time of the simulation [s]."""

    results: dict[str, SimulationResult]
    outputs: dict[str, dict[str, float]]
    seconds: dict[str, float]


class MomentPeak(Computed):
    """Peak of `PATTERN` in a walk, and whether its size is as expected."""

    peak: str
    found_Nm_per_kg: float
    at_percent: float
    expected_Nm_per_kg: list[float]
    as_expected: bool


class KneeExtremes(Computed):
    """Peaks of the axial force, and least and largest values of the other loads of the knee."""

    peak_BW: float
    early_peak_BW: float
    late_peak_BW: float
    in_vivo_peak_BW: float
    ap_force_N: list[float]
    internal_torque_Nm: list[float]
    adduction_moment_Nm: list[float]
    external_adduction_moment_Nm: list[float]
    flexion_deg: list[float]


class WalkSummary(Computed):
    """`walk.json` of a planar leg: sections of the configuration, loads, and simulated cycles.

    `outputs` are those of each model, `model_errors` the errors of the surrogate in its outputs.
    """

    name: str
    run: str
    subject: dict[str, Any]
    measured: dict[str, Any]
    muscles: dict[str, Any]
    recognised: dict[str, str]
    force_moved_m: float
    stride_s: list[float]
    body_weight_N: float
    moments: list[MomentPeak]
    knee: KneeExtremes
    outputs: dict[str, dict[str, float | None]]
    verdict: Judgement | None
    model_errors: dict[str, float | None]
    warnings: list[str]
    flags: list[str]
    not_trusted: str | None
    differences: list[Difference]
    in_vivo: InVivo
    implant: ImplantComparison | None = None  # Absent in files of earlier versions.
    simulation_seconds: dict[str, float]
    seconds: float


def moment_peaks(walk: Walk, mass: float) -> list[MomentPeak]:
    """Return the peaks of `PATTERN` in a walk; the mass is that of the body [kg]."""
    percent, rows = walk.knee.percent, []
    for peak in PATTERN:
        inside = np.flatnonzero((percent >= peak.phase[0]) & (percent <= peak.phase[1]))
        moment = peak.sign * walk.leg.moments[inside, peak.joint] / mass
        size = float(moment.max())
        rows.append(
            MomentPeak(
                peak=peak.name,
                found_Nm_per_kg=size,
                at_percent=float(percent[inside[moment.argmax()]]),
                expected_Nm_per_kg=list(peak.expected),
                as_expected=peak.expected[0] <= size <= peak.expected[1],
            )
        )
    return rows


def summarise(
    file: WalkFile,
    walk: Walk,
    cycles: SimulatedCycles,
    table: pd.DataFrame,
    in_vivo: InVivo,
    implant: MeasuredWalk | None,
    seconds: float,
) -> WalkSummary:
    """Return the summary of a walk that took a time [s].

    `table` is the table of the cycles by `pipeline.simulation.simulation_table`, `implant` the
    measured forces.
    """
    judged = judgement(Path(file.walk.run))
    surrogate = cycles.results["surrogate"]
    kinds = [each.flag.kind for each in surrogate.flags]
    return WalkSummary(
        name=file.walk.name,
        run=file.walk.run,
        subject=file.subject.model_dump(exclude_none=True),
        measured=file.measured.model_dump(),
        muscles=file.muscles.model_dump(),
        recognised=dict(walk.recognised),
        force_moved_m=walk.force_moved,
        stride_s=[walk.trial.time[0], walk.trial.time[-1]],
        body_weight_N=walk.body_weight,
        moments=moment_peaks(walk, file.subject.mass_kg),
        knee=_extremes(walk),
        outputs={model: dict(values) for model, values in cycles.outputs.items()},
        verdict=judged,
        model_errors=model_errors(OUTPUTS, cycles.outputs["surrogate"], judged),
        warnings=[*walk.warnings, *(implant.warnings if implant else ())],
        flags=[str(each.flag) for each in surrogate.flags],
        not_trusted=flagged_sentence(surrogate.flagged, len(surrogate.time), kinds),
        differences=compare_cycles(table) if "original" in cycles.results else [],
        in_vivo=in_vivo,
        implant=None if implant is None else implant.comparison,
        simulation_seconds=cycles.seconds,
        seconds=seconds,
    )


def _extremes(walk: Walk) -> KneeExtremes:
    knee = walk.knee
    early, late = knee.peaks(walk.body_weight)
    return KneeExtremes(
        peak_BW=max(early, late),
        early_peak_BW=early,
        late_peak_BW=late,
        in_vivo_peak_BW=IN_VIVO_PEAK,
        ap_force_N=_range(knee.ap_force),
        internal_torque_Nm=_range(knee.internal_torque),
        adduction_moment_Nm=_range(knee.adduction_moment),
        external_adduction_moment_Nm=_range(knee.external_adduction_moment),
        flexion_deg=np.degrees(_range(knee.flexion)).tolist(),
    )


def _range(values: FloatArray) -> list[float]:
    """Return least and largest value [any unit]."""
    return [float(values.min()), float(values.max())]
