"""Summary of a walk with muscles: peaks of contact, ligaments and muscles; convergence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.constants import g as STANDARD_GRAVITY

from dynamics.musculoskeletal import ComakResult, MarkerMotion
from dynamics.musculoskeletal.ground_balance import LARGEST_FORCE, LARGEST_MOMENT, RECOMMENDED
from dynamics.musculoskeletal.knee_reaction import KneeLoads
from foundation.base.checks import FloatArray
from foundation.base.loads import ContactLoads
from pipeline.reports.judgement import joint, judgement, judgement_lines
from pipeline.store.run_documents import Computed
from pipeline.store.verdict_document import Judgement
from pipeline.studies.implant_forces.comparison import (
    ImplantComparison,
    MeasuredWalk,
    comparison_lines,
)
from pipeline.studies.muscle_walks.charts import shown_secondary
from pipeline.studies.muscle_walks.contact_forces import (
    SharedLoad,
    bundled,
    compartment_forces,
    contact_flags,
    interposed_loads,
    jump_flags,
    largest_first,
    not_trusted,
    shared_loads,
    shared_text,
)
from pipeline.studies.muscle_walks.knee_waveforms import (
    KneeSummary,
    knee_summary,
    knee_text,
    reserve_flags,
)
from pipeline.studies.muscle_walks.models import ContactSide, contact_sides
from pipeline.studies.muscle_walks.schema import MuscleWalkFile
from pipeline.studies.muscle_walks.setup import WalkSetup
from pipeline.studies.muscle_walks.uncertainty import EXPECTED, Uncertainty, uncertainty_text


class MarkerFit(Computed):
    """Distance of a marker of the model from the measured one, and instants without position."""

    weight: float
    rms_mm: float | None
    largest_mm: float | None
    largest_at_s: float
    missing: int


class MarkerErrors(Computed):
    """Distances of the markers that the motion follows from those of the model.

    In all, and for each marker, the largest distance first; `unknown` are the markers with a weight
    that the model does not have.
    """

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


class ContactPeaks(Computed):
    """Largest force, pressure and area of a contact, in total or of a compartment."""

    peak_N: float | None
    peak_BW: float | None
    peak_at_s: float
    mean_N: float | None
    peak_pressure_MPa: float | None
    largest_area_mm2: float | None


class Extremes(Computed):
    """Least and largest value of a coordinate in its unit."""

    unit: str
    least: float | None
    most: float | None


class Peak(Computed):
    """Largest force of a muscle or ligament, and its instant."""

    peak_N: float | None
    peak_at_s: float


class MuscleWalkSummary(Computed):
    """`walk.json` of an OpenSim model: convergence, and peaks of contact, muscles, ligaments."""

    name: str
    model: str
    mass_kg: float
    body_weight_N: float
    surrogates: dict[str, str]
    replay: str | None
    interval_s: list[float]
    frames: int
    converged: int
    iterations_mean: float
    tolerance: float
    acceleration_error_max: float | None
    residuals: Residuals | None
    sides: dict[str, ContactSide]
    contact: dict[str, dict[str, ContactPeaks]]
    shared: dict[str, dict[str, SharedLoad]]
    secondary: dict[str, Extremes]
    muscles: dict[str, Peak]
    ligaments: dict[str, Peak]
    reserves_max: dict[str, float | None]
    markers: MarkerErrors | None
    implant: ImplantComparison | None = None
    uncertainty: Uncertainty | None = None
    knee: KneeSummary | None = None
    expected: str = EXPECTED
    verdict: Judgement | None
    warnings: list[str]
    flags: list[str]
    not_trusted: str | None
    seconds: dict[str, float]


def body_weight(setup: WalkSetup) -> float:
    """Return the weight of the model [N]."""
    return setup.model.mass * STANDARD_GRAVITY


def summarise(
    file: MuscleWalkFile,
    setup: WalkSetup,
    result: ComakResult,
    tensions: FloatArray,
    measured: MeasuredWalk | None,
    seconds: dict[str, float],
    uncertainty: Uncertainty | None = None,
    knee: KneeLoads | None = None,
) -> MuscleWalkSummary:
    """Return the summary of a walk.

    `tensions` are (N, L) [N], `measured` the forces of an implant, `seconds` the times by part [s],
    `knee` the loads of a knee without articular contact.
    """
    weight = body_weight(setup)
    return MuscleWalkSummary(
        name=file.walk.name,
        model=file.walk.model,
        mass_kg=setup.model.mass,
        body_weight_N=weight,
        surrogates=file.walk.surrogates,
        replay=file.walk.replay,
        interval_s=[result.time[0], result.time[-1]],
        frames=len(result.time),
        converged=int(result.converged.sum()),
        iterations_mean=float(result.iterations.mean()),
        tolerance=setup.settings.tolerance,
        acceleration_error_max=float(result.errors.max()),
        residuals=_residuals(setup),
        sides=contact_sides(setup.model, setup.springs),
        contact={name: _contact_peaks(result, k, weight) for k, name in enumerate(result.contacts)},
        shared=shared_loads(interposed_loads(setup, setup.contacts, result), result.time),
        secondary=_ranges(setup, result),
        muscles=_peaks(bundled(result.muscles, result.muscle_forces), result.time),
        ligaments=_peaks(bundled(setup.plant.ligaments.names, tensions), result.time),
        reserves_max=dict(
            zip(result.free, np.abs(result.reserves).max(axis=0).tolist(), strict=True)
        ),
        markers=marker_errors(setup.markers),
        implant=None if measured is None else measured.comparison,
        uncertainty=uncertainty,
        knee=knee_summary(setup.knee, knee, weight) if knee and setup.knee else None,
        verdict=joint({c: judgement(Path(run)) for c, run in file.walk.surrogates.items()}),
        warnings=[*setup.warnings, *(measured.warnings if measured else ())],
        flags=[
            *setup.flags,
            *contact_flags(result),
            *result.flags,
            *jump_flags(setup.plant.motion, result.free, result.time, result.imbalance),
            *reserve_flags(setup, result),
        ],
        not_trusted=not_trusted(result),
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


def _contact_peaks(result: ComakResult, contact: int, weight: float) -> dict[str, ContactPeaks]:
    rows = {}
    for part, force in compartment_forces(result, contact).items():
        loads: list[ContactLoads] = [frame[contact] for frame in result.loads]
        pressure = np.array([each[part].peak_pressure for each in loads])
        rows[part] = ContactPeaks(
            peak_N=force.max(),
            peak_BW=force.max() / weight,
            peak_at_s=result.time[force.argmax()],
            mean_N=force.mean(),
            peak_pressure_MPa=1e-6 * np.nan_to_num(pressure).max(),
            largest_area_mm2=1e6 * max(each[part].area for each in loads),
        )
    return rows


def _ranges(setup: WalkSetup, result: ComakResult) -> dict[str, Extremes]:
    return {
        name: Extremes(unit=unit, least=shown.min(), most=shown.max())
        for name, unit, shown in shown_secondary(setup.plant.motion, result)
    }


def _peaks(forces: dict[str, FloatArray], time: FloatArray) -> dict[str, Peak]:
    """Return the peak of each group of forces, the largest first."""
    return {
        name: Peak(peak_N=force.max(), peak_at_s=time[force.argmax()])
        for name, force in largest_first(forces).items()
    }


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
    lines += uncertainty_text(summary.uncertainty)
    lines += shared_text(summary.shared)
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
