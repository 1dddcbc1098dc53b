"""Summary of a walk: peaks, convergence, residuals, markers, knee of a model without contact."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from dynamics.musculoskeletal import ComakResult
from dynamics.musculoskeletal.ground_balance import LARGEST_FORCE, LARGEST_MOMENT, RECOMMENDED
from dynamics.musculoskeletal.knee_reaction import Knee, KneeLoads, knee_loads
from dynamics.musculoskeletal.marker_kinematics import MarkerMotion
from dynamics.simulator.waveform_tables import load_gait_cycle
from dynamics.simulator.waveforms import lead_back
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from pipeline.reports import figures as fig
from pipeline.reports.figures import Picture
from pipeline.reports.judgement import joint, judgement, judgement_lines
from pipeline.store.run_documents import Computed, Judgement
from pipeline.store.samples import write_csv
from pipeline.studies.implant_forces import (
    ImplantComparison,
    MeasuredWalk,
    comparison_lines,
)
from pipeline.studies.muscle_walks.frames import (
    FrameCharts,
    FrameSummary,
    contact_flags,
    frame_figures,
    jump_flags,
)
from pipeline.studies.muscle_walks.schema import MuscleWalkFile
from pipeline.studies.muscle_walks.setup import WalkSetup

#: Waveforms in the folder of a walk.
WAVEFORMS = "waveforms.csv"
#: Least axial force of the waveforms [N]: a knee without ligaments stays in contact in swing.
LEAST_FORCE = 100.0
#: Recommended part of the largest moment on a coordinate that its reserve gives (OpenSim's guide to
#: static optimisation), and reserves too small to matter [1, N m].
_RESERVE, _SMALL = 0.1, 1.0


class KneeSummary(Computed):
    """Cycle and loads of the knee: peak of the axial force, and least and largest values."""

    joint: str
    leg: str
    cycle_s: list[float]
    period_s: float
    peak_N: float | None
    peak_BW: float | None
    peak_at_s: float
    least_axial_force_N: float
    flexion_deg: list[float]
    axial_force_N: list[float]
    ap_force_N: list[float]
    internal_torque_Nm: list[float]
    adduction_moment_Nm: list[float]


def loads_of_knee(setup: WalkSetup, result: ComakResult) -> KneeLoads | None:
    """Return the loads of the knee of a walk; None for a model with articular contact."""
    if setup.knee is None:
        return None
    return knee_loads(setup.model, setup.knee.joint, setup.plant, result)


def write_waveforms(folder: Path, knee: Knee, loads: KneeLoads) -> tuple[str, ...]:
    """Write the waveforms of a knee; return no or one flag: why `run` would refuse them."""
    path = folder / WAVEFORMS
    write_csv(waveform_table(knee, loads), path, "%.9g")
    try:
        load_gait_cycle(path, knee.stop - knee.start)
    except InputError as error:
        return (str(error),)
    return ()


def waveform_table(knee: Knee, loads: KneeLoads) -> pd.DataFrame:
    """Return the cycle of a knee in the columns of `load_gait_cycle`, and the adduction moment."""
    part = np.linspace(0.0, 1.0, 101)

    def closed(signal: FloatArray) -> FloatArray:
        instants = knee.start + (knee.stop - knee.start) * part
        return lead_back(part, np.interp(instants, loads.time, signal))

    return pd.DataFrame(
        {
            "gait_percent": 100.0 * part,
            "flexion_deg": np.degrees(closed(loads.flexion)),
            "axial_force_N": np.maximum(closed(loads.axial_force), LEAST_FORCE),
            "ap_force_N": closed(loads.ap_force),
            "internal_torque_Nm": closed(loads.internal_torque),
            "adduction_moment_Nm": closed(loads.adduction_moment),
        }
    )


def knee_summary(knee: Knee, loads: KneeLoads, weight: float) -> KneeSummary:
    """Return the summary of a knee; `weight` is that of the body [N]."""
    peak = int(loads.axial_force.argmax())

    def ends(values: FloatArray) -> list[float]:
        return [float(values.min()), float(values.max())]

    return KneeSummary(
        joint=loads.joint,
        leg=loads.leg or "unknown",
        cycle_s=[knee.start, knee.stop],
        period_s=knee.stop - knee.start,
        peak_N=loads.axial_force[peak],
        peak_BW=loads.axial_force[peak] / weight,
        peak_at_s=loads.time[peak],
        least_axial_force_N=LEAST_FORCE,
        flexion_deg=ends(np.degrees(loads.flexion)),
        axial_force_N=ends(loads.axial_force),
        ap_force_N=ends(loads.ap_force),
        internal_torque_Nm=ends(loads.internal_torque),
        adduction_moment_Nm=ends(loads.adduction_moment),
    )


def reserve_flags(setup: WalkSetup, result: ComakResult) -> list[str]:
    """Return flags on a knee that no muscle moves, and coordinates whose reserve gives much."""
    if setup.knee is None:
        return []
    none, flags, joint = np.zeros(0), [], setup.knee.joint
    if not set(joint.coordinates) & set(result.free):
        flags.append(
            f"{joint.name}: expected muscles that give the moment of the knee, found none, so that "
            f"its load lacks them; the coordinates that muscles move are {', '.join(result.free)}"
        )
    needed = [setup.plant.forces(frame, none, none).needed for frame in range(len(result.time))]
    moments = np.abs(needed).max(axis=0)
    for k, name in enumerate(result.free):
        reserve = np.abs(result.reserves[:, k])
        peak = int(reserve.argmax())
        if reserve[peak] > max(_RESERVE * moments[k], _SMALL):
            flags.append(
                f"reserve of {name}: expected at most {100.0 * _RESERVE:g} % of the largest moment "
                f"of {moments[k]:.0f} N m, found {reserve[peak]:.1f} N m at "
                f"{result.time[peak]:.4g} s: the muscles are too weak, or motion and forces "
                "do not fit the model"
            )
    return flags


def knee_text(knee: KneeSummary | None, folder: Path) -> list[str]:
    """Return no lines, or those on a knee and on the run that its waveforms drive."""
    if knee is None:
        return []
    start, stop = knee.cycle_s
    ap, torque = knee.ap_force_N, knee.internal_torque_Nm
    return [
        f"{knee.joint} ({knee.leg}), cycle of {start:.4g} to {stop:.4g} s: axial force at most "
        f"{knee.peak_BW:.2f} body weights ({knee.peak_N:.0f} N at {knee.peak_at_s:.4g} s), AP "
        f"force {ap[0]:.0f} to {ap[1]:.0f} N, torque {torque[0]:.1f} to {torque[1]:.1f} N m",
        f"next: knee-contact run walking_implant --set simulation.waveforms="
        f"{folder / WAVEFORMS} --set simulation.period_s={knee.period_s:.4g}",
    ]


def knee_charts(charts: FrameCharts, loads: KneeLoads | None, weight: float) -> Iterator[Picture]:
    """Yield the charts of the loads of a knee; `weight` is that of the body [N]."""
    if loads is None:
        return
    for name, title, label, values in (
        ("axial-force", "Axial force", "force [body weights]", loads.axial_force / weight),
        ("ap-force", "AP force on the tibia", "force to the front [N]", loads.ap_force),
        ("torque", "Torque on the tibia", "internal torque [N m]", loads.internal_torque),
        ("adduction", "Adduction moment", "moment [N m]", loads.adduction_moment),
        ("flexion", "Flexion", "flexion [°]", np.degrees(loads.flexion)),
    ):
        size = {"size": fig.WIDE} if name == "axial-force" else {}
        yield charts.chart(f"knee-{name}", f"{loads.joint}: {title}", label, {"": values}, **size)


#: Expectation beside predicted forces.
EXPECTED = (
    "Instrumented knees of five subjects measured a mean peak of 2.61 body weights in level "
    "walking (Kutzner et al. 2010, J Biomech 43:2164-2173); the best blinded predictions of such "
    "forces were 229 to 312 N (medial) and 238 to 326 N (lateral) off in the root mean square "
    "(Kinney et al. 2013, J Biomech Eng 135:021012)."
)


class MarkerFit(Computed):
    """Distance of a marker of the model from the measured one, and instants without position."""

    weight: float
    rms_mm: float | None
    largest_mm: float | None
    largest_at_s: float
    missing: int


class MarkerErrors(Computed):
    """Distances of markers in all and of each; `unknown` have a weight and are not in the model."""

    rms_mm: float | None
    largest_mm: float | None
    largest_at_s: float
    unknown: list[str]
    fits: dict[str, MarkerFit]


class Residuals(Computed):
    """Largest residual force and moment, and their limits in per cent."""

    body: str
    force_max_N: float | None
    force_at_s: float
    force_max_percent: float | None
    moment_max_Nm: float | None
    moment_at_s: float
    moment_max_percent: float | None
    vertical_share: float | None
    recommended_percent: list[float]
    limits_percent: list[float]


class MuscleWalkSummary(FrameSummary):
    """`walk.json` of an OpenSim model: convergence, and peaks of contact, muscles, ligaments."""

    surrogates: dict[str, str]
    frames: int
    converged: int
    iterations_mean: float
    tolerance: float
    acceleration_error_max: float | None
    residuals: Residuals | None
    reserves_max: dict[str, float | None]
    markers: MarkerErrors | None
    implant: ImplantComparison | None = None
    knee: KneeSummary | None = None
    expected: str = EXPECTED
    verdict: Judgement | None


def summarise(
    file: MuscleWalkFile,
    setup: WalkSetup,
    result: ComakResult,
    tensions: FloatArray,
    measured: MeasuredWalk | None,
    seconds: dict[str, float],
    knee: KneeLoads | None = None,
) -> MuscleWalkSummary:
    """Return the summary of a walk; `tensions` are (N, L) [N], `seconds` the times by part [s]."""
    figures = frame_figures(setup, setup.springs, result, tensions)
    weight = figures["body_weight_N"]
    return MuscleWalkSummary(
        **figures,
        name=file.walk.name,
        model=file.walk.model,
        surrogates=file.walk.surrogates,
        frames=len(result.time),
        converged=int(result.converged.sum()),
        iterations_mean=float(result.iterations.mean()),
        tolerance=setup.settings.tolerance,
        acceleration_error_max=float(result.errors.max()),
        residuals=_residuals(setup),
        reserves_max=dict(
            zip(result.free, np.abs(result.reserves).max(axis=0).tolist(), strict=True)
        ),
        markers=marker_errors(setup.markers),
        implant=None if measured is None else measured.comparison,
        knee=knee_summary(setup.knee, knee, weight) if knee and setup.knee else None,
        verdict=joint({c: judgement(Path(run)) for c, run in file.walk.surrogates.items()}),
        warnings=[*setup.notes, *(measured.warnings if measured else ())],
        flags=[
            *setup.flags,
            *contact_flags(result),
            *result.flags,
            *jump_flags(setup.plant.motion, result.free, result.time, result.imbalance),
            *reserve_flags(setup, result),
        ],
        seconds=seconds,
    )


def marker_errors(found: MarkerMotion | None) -> MarkerErrors | None:
    """Return the distances of the markers that the motion follows; None without markers."""
    if found is None:
        return None
    largest, rms = (found.errors.column(f"marker_error_{kind}") for kind in ("max", "RMS"))
    return MarkerErrors(
        rms_mm=1e3 * float(np.sqrt((rms**2).mean())),
        largest_mm=1e3 * float(largest.max()),
        largest_at_s=float(found.errors.time[largest.argmax()]),
        unknown=list(found.unknown),
        fits={
            fit.name: MarkerFit(
                weight=fit.weight,
                rms_mm=1e3 * fit.rms,
                largest_mm=1e3 * fit.largest,
                largest_at_s=fit.at,
                missing=fit.missing,
            )
            for fit in found.fits
        },
    )


def marker_text(found: MarkerErrors | None) -> list[str]:
    """Return no or one sentence on the errors of the markers."""
    if found is None:
        return []
    worst = next(iter(found.fits), "")
    unknown = f"; not in the model: {', '.join(found.unknown)}" if found.unknown else ""
    return [
        f"markers: {found.rms_mm:.1f} mm RMS off the model, at most {found.largest_mm:.0f} "
        f"mm ({worst} at {found.largest_at_s:.4g} s){unknown}"
    ]


def residual_text(residuals: Residuals | None) -> list[str]:
    """Return no or one sentence on the residuals of the ground force."""
    if residuals is None:
        return []
    return [
        f"residuals on {residuals.body}: force at most {residuals.force_max_N:.0f} N "
        f"({residuals.force_max_percent:.0f} %), moment {residuals.moment_max_Nm:.0f} "
        f"N m ({residuals.moment_max_percent:.1f} %)"
    ]


def first_lines(setup: WalkSetup) -> list[str]:
    """Return what is known of a walk before its frames: distances of markers, and residuals."""
    flags = [f"flag: {flag}" for flag in setup.flags]
    found = marker_text(marker_errors(setup.markers))
    return [*found, *residual_text(_residuals(setup)), *flags]


def _residuals(setup: WalkSetup) -> Residuals | None:
    """Return the largest residuals; None where they are unknown."""
    balance = setup.plant.balance
    if balance is None:
        return None
    force, moment = balance.parts
    return Residuals(
        body=balance.body,
        force_max_N=balance.force.max(),
        force_at_s=balance.time[balance.force.argmax()],
        force_max_percent=100.0 * force,
        moment_max_Nm=balance.moment.max(),
        moment_at_s=balance.time[balance.moment.argmax()],
        moment_max_percent=100.0 * moment,
        vertical_share=balance.share,
        recommended_percent=[100.0 * limit for limit in RECOMMENDED],
        limits_percent=[100.0 * limit for limit in (LARGEST_FORCE, LARGEST_MOMENT)],
    )


def summary_lines(summary: MuscleWalkSummary, folder: Path) -> list[str]:
    """Return the lines on the terminal for a walk."""
    begin, end = summary.interval_s
    lines = [
        f"{summary.converged} of {summary.frames} frames converged, {begin:g} to {end:g} s",
    ]
    for name, parts in summary.contact.items():
        told = ", ".join(f"{part} {row.peak_BW:.2f}" for part, row in parts.items())
        pressure = parts["total"].peak_pressure_MPa
        lines.append(f"{name}: peak force {told} body weights; peak pressure {pressure:.1f} MPa")
    lines += knee_text(summary.knee, folder)
    lines += comparison_lines(summary.implant)
    lines += marker_text(summary.markers)
    lines += residual_text(summary.residuals)
    lines += [f"flag: {flag}" for flag in summary.flags[:5]]
    if len(summary.flags) > 5:
        lines.append(f"and {len(summary.flags) - 5} flags more in walk.json")
    lines += judgement_lines(summary.verdict)
    seconds = summary.seconds
    lines.append(f"{seconds['simulation']:.1f} s for the frames, {seconds['all']:.1f} s in all")
    return lines
