"""Summary of a walk with muscles: peaks of contact, ligaments and muscles; convergence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from scipy.constants import g as STANDARD_GRAVITY

from dynamics.musculoskeletal import ComakResult, MarkerMotion
from dynamics.musculoskeletal.ground_balance import LARGEST_FORCE, LARGEST_MOMENT, RECOMMENDED
from foundation.base.checks import FloatArray
from foundation.base.loads import ContactLoads
from pipeline.files import plain
from pipeline.flagged_instants import flagged_sentence, without_numbers
from pipeline.reports.judgement import joint, judgement, judgement_lines
from pipeline.studies.muscle_walks.charts import for_people
from pipeline.studies.muscle_walks.frames import Frames
from pipeline.studies.muscle_walks.schema import MuscleWalkFile
from pipeline.studies.muscle_walks.setup import WalkSetup
from pipeline.studies.muscle_walks.sides import contact_sides

#: Number at the end of the name of a bundle or a head, before its side.
_NUMBER = re.compile(r"\d+(?=(_[rl])?$)")
#: Force of surfaces that touch [N].
_LEAST_FORCE = 1e-3


def body_weight(setup: WalkSetup) -> float:
    """Return the weight of the model [N]."""
    return setup.model.mass * STANDARD_GRAVITY


def compartment_forces(result: Frames, contact: int) -> dict[str, FloatArray]:
    """Return the size of the contact force (N,) [N] in total and of each compartment, by name."""
    loads = [frame[contact] for frame in result.loads]
    parts = loads[0].compartments
    return {
        part: np.array([np.linalg.norm(each[part].force) for each in loads])
        for part in ("total", *(parts if len(parts) > 1 else ()))
    }


def group_of(name: str) -> str:
    """Return the name of a bundle or head without its number."""
    return _NUMBER.sub("", name)


def bundled(names: tuple[str, ...], forces: FloatArray) -> dict[str, FloatArray]:
    """Return the sums (N,) of forces (N, K) [any unit] whose names differ in their number alone."""
    sums: dict[str, FloatArray] = {}
    for name, force in zip(names, forces.T, strict=True):
        group = group_of(name)
        sums[group] = sums.get(group, 0.0) + force
    return sums


def unconverged(setup: WalkSetup, result: ComakResult) -> list[float]:
    """Return the instants of frames that did not converge [s]."""
    return [float(t) for t in result.time[~(result.errors < setup.settings.tolerance)]]


def contact_flags(result: Frames) -> list[str]:
    """Return contacts that never touch, and each flag of a contact once with its instants."""
    found: dict[str, list[float]] = {}
    for time, frame in zip(result.time, result.loads, strict=True):
        for name, loads in zip(result.contacts, frame, strict=True):
            for flag in loads.flags:
                found.setdefault(f"{name}: {without_numbers(flag)}", []).append(float(time))
    told = [f"{text} ({len(at)} frames, first at {at[0]:g} s)" for text, at in found.items()]
    return [*_untouched(result), *told]


def not_trusted(result: Frames) -> str | None:
    """Return the sentence on the frames in which a contact has a flag, None without such frames."""
    texts = [[flag for loads in frame for flag in loads.flags] for frame in result.loads]
    kinds = {without_numbers(text): text for frame in texts for text in frame}
    return flagged_sentence(sum(map(bool, texts)), len(texts), kinds.values(), "frames")


def _untouched(result: Frames) -> list[str]:
    """Return a flag for each contact without a force in any frame, as wrong meshes give none."""
    count = len(result.time)
    return [
        f"{name}: the surfaces touch in none of {count} frames; check its mesh files in the model "
        "and in walk.meshes or forward.meshes, unless the joint is meant to stay lifted off"
        for k, name in enumerate(result.contacts)
        if compartment_forces(result, k)["total"].max(initial=0.0) < _LEAST_FORCE
    ]


def summarise(
    file: MuscleWalkFile, setup: WalkSetup, result: ComakResult, tensions: FloatArray
) -> dict[str, Any]:
    """Return the content of `walk.json` except the times; `tensions` are (N, L) [N]."""
    weight, settings = body_weight(setup), setup.settings
    failed = unconverged(setup, result)
    return plain(
        {
            "name": file.walk.name,
            "model": file.walk.model,
            "mass_kg": setup.model.mass,
            "body_weight_N": weight,
            "surrogates": file.walk.surrogates,
            "replay": file.walk.replay,
            "interval_s": [result.time[0], result.time[-1]],
            "frames": len(result.time),
            "converged": len(result.time) - len(failed),
            "iterations_mean": float(result.iterations.mean()),
            "tolerance": settings.tolerance,
            "acceleration_error_max": float(result.errors.max()),
            "residuals": _residuals(setup),
            "sides": contact_sides(setup.model, setup.springs),
            "contact": {
                name: _contact_peaks(result, k, weight) for k, name in enumerate(result.contacts)
            },
            "secondary": _ranges(setup, result),
            "muscles": _peaks(bundled(result.muscles, result.muscle_forces), result.time),
            "ligaments": _peaks(bundled(setup.plant.ligaments.names, tensions), result.time),
            "reserves_max": dict(
                zip(result.free, np.abs(result.reserves).max(axis=0).tolist(), strict=True)
            ),
            "markers": marker_errors(setup.markers),
            "verdict": joint({c: judgement(Path(run)) for c, run in file.walk.surrogates.items()}),
            "warnings": list(setup.warnings),
            "flags": [*setup.flags, *contact_flags(result), *result.flags],
            "not_trusted": not_trusted(result),
        }
    )


def marker_errors(found: MarkerMotion | None) -> dict[str, Any] | None:
    """Return how far the markers that the motion follows are off the model; None without markers.

    In all, and for each marker, the largest distance first; `unknown` are the markers with a weight
    that the model does not have.
    """
    if found is None:
        return None
    largest, rms = (found.errors.column(f"marker_error_{kind}") for kind in ("max", "RMS"))
    return {
        "rms_mm": 1e3 * float(np.sqrt((rms**2).mean())),
        "largest_mm": 1e3 * float(largest.max()),
        "largest_at_s": float(found.errors.time[largest.argmax()]),
        "unknown": list(found.unknown),
        "fits": {
            fit.name: {
                "weight": fit.weight,
                "rms_mm": 1e3 * fit.rms,
                "largest_mm": 1e3 * fit.largest,
                "largest_at_s": fit.at,
                "missing": fit.missing,
            }
            for fit in found.fits
        },
    }


def marker_text(summary: dict[str, Any]) -> list[str]:
    """Return no or one sentence on the errors of the markers."""
    found = summary["markers"]
    if found is None:
        return []
    worst = next(iter(found["fits"]), "")
    unknown = f"; not in the model: {', '.join(found['unknown'])}" if found["unknown"] else ""
    return [
        f"markers: {found['rms_mm']:.1f} mm RMS off the model, at most {found['largest_mm']:.0f} "
        f"mm ({worst} at {found['largest_at_s']:.4g} s){unknown}"
    ]


def _residuals(setup: WalkSetup) -> dict[str, Any] | None:
    """Return the largest residuals, and their limits in per cent; None where they are unknown."""
    balance = setup.plant.balance
    if balance is None:
        return None
    force, moment = balance.parts
    return {
        "body": balance.body,
        "force_max_N": balance.force.max(),
        "force_at_s": balance.time[balance.force.argmax()],
        "force_max_percent": 100.0 * force,
        "moment_max_Nm": balance.moment.max(),
        "moment_at_s": balance.time[balance.moment.argmax()],
        "moment_max_percent": 100.0 * moment,
        "vertical_share": balance.share,
        "recommended_percent": [100.0 * limit for limit in RECOMMENDED],
        "limits_percent": [100.0 * limit for limit in (LARGEST_FORCE, LARGEST_MOMENT)],
    }


def _contact_peaks(result: ComakResult, contact: int, weight: float) -> dict[str, Any]:
    rows = {}
    for part, force in compartment_forces(result, contact).items():
        loads: list[ContactLoads] = [frame[contact] for frame in result.loads]
        pressure = np.array([each[part].peak_pressure for each in loads])
        rows[part] = {
            "peak_N": force.max(),
            "peak_BW": force.max() / weight,
            "peak_at_s": result.time[force.argmax()],
            "mean_N": force.mean(),
            "peak_pressure_MPa": 1e-6 * np.nan_to_num(pressure).max(),
            "largest_area_mm2": 1e6 * max(each[part].area for each in loads),
        }
    return rows


def _ranges(setup: WalkSetup, result: ComakResult) -> dict[str, Any]:
    rows = {}
    for name, values in zip(result.secondary, result.values.T, strict=True):
        shown, unit = for_people(setup.plant.motion, name, values)
        rows[name] = {"unit": unit, "least": shown.min(), "most": shown.max()}
    return rows


def _peaks(forces: dict[str, FloatArray], time: FloatArray) -> dict[str, Any]:
    """Return the peak of each group of forces, the largest first."""
    ordered = sorted(forces.items(), key=lambda item: -item[1].max())
    return {
        name: {"peak_N": force.max(), "peak_at_s": time[force.argmax()]} for name, force in ordered
    }


def summary_text(summary: dict[str, Any], folder: Any) -> str:
    """Return the lines on the terminal for a walk."""
    begin, end = summary["interval_s"]
    lines = [
        f"{summary['converged']} of {summary['frames']} frames converged, {begin:g} to {end:g} s",
    ]
    for name, parts in summary["contact"].items():
        told = ", ".join(f"{part} {row['peak_BW']:.2f}" for part, row in parts.items())
        pressure = parts["total"]["peak_pressure_MPa"]
        lines.append(f"{name}: peak force {told} body weights; peak pressure {pressure:.1f} MPa")
    lines += marker_text(summary)
    if residuals := summary.get("residuals"):
        lines.append(
            f"residuals on {residuals['body']}: force at most {residuals['force_max_N']:.0f} N "
            f"({residuals['force_max_percent']:.0f} %), moment {residuals['moment_max_Nm']:.0f} "
            f"N m ({residuals['moment_max_percent']:.1f} %)"
        )
    lines += [f"flag: {flag}" for flag in summary["flags"][:5]]
    if len(summary["flags"]) > 5:
        lines.append(f"and {len(summary['flags']) - 5} flags more in walk.json")
    lines += judgement_lines(summary["verdict"])
    seconds = summary["seconds"]
    lines.append(f"{seconds['simulation']:.1f} s for the frames, {seconds['all']:.1f} s in all")
    lines += [f"page: {folder / 'walk.html'}"]
    return "\n".join([*lines, *([told] if (told := summary["not_trusted"]) else [])])
