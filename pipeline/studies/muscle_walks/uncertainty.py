"""How far errors of the measurement that residuals do not exclude move the peaks of contact forces.

Frames about the peaks are replayed with each error.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dynamics.musculoskeletal import Comak, ComakResult, OpenSimPlant, RecordedPlant
from dynamics.musculoskeletal.measurement_errors import MeasurementError, measurement_errors
from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS
from pipeline.store.run_documents import Computed
from pipeline.studies.muscle_walks.contact_forces import compartment_forces
from pipeline.studies.muscle_walks.setup import WalkSetup

#: Frames before a peak from which a replay starts.
_BEFORE = 3
#: Expectation beside predicted forces.
EXPECTED = (
    "Instrumented knees of five subjects measured a mean peak of 2.61 body weights in level "
    "walking (Kutzner et al. 2010, J Biomech 43:2164-2173); the best blinded predictions of such "
    "forces were 229 to 312 N (medial) and 238 to 326 N (lateral) off in the root mean square "
    "(Kinney et al. 2013, J Biomech Eng 135:021012)."
)


class ErrorEffect(Computed):
    """Size and residuals of an error, and the changes of the peaks with it [%], least and most."""

    size: float
    unit: str
    residual_force_percent: float
    residual_moment_percent: float
    percent: dict[str, dict[str, list[float]]]


class Uncertainty(Computed):
    """Effects of the errors, and root sums of squares of the largest of each [%]."""

    errors: dict[str, ErrorEffect]
    percent: dict[str, dict[str, float]]


def walk_uncertainty(
    setup: WalkSetup, result: ComakResult, recorded: RecordedPlant
) -> Uncertainty | None:
    """Return how far errors move the peaks of contacts with two compartments; None without any.

    `recorded` is the record of the walk.
    """
    plant = setup.plant
    peaks = _peaks(result)
    if not isinstance(plant, OpenSimPlant) or not peaks:
        return None
    effects = {}
    for error in measurement_errors(plant):
        both = [_changes(setup, result, recorded, sign * error.needed, peaks) for sign in (1, -1)]
        effects[error.name] = _effect(error, both)
    if not effects:
        return None
    together = {
        contact: {
            part: float(np.linalg.norm([np.abs(e.percent[contact][part]).max() for e in rows]))
            for part in parts
        }
        for contact, parts in peaks.items()
        for rows in [list(effects.values())]
    }
    return Uncertainty(errors=effects, percent=together)


def _effect(error: MeasurementError, both: list[dict[str, dict[str, float]]]) -> ErrorEffect:
    one, other = both
    return ErrorEffect(
        size=error.size,
        unit=error.unit,
        residual_force_percent=100.0 * error.force,
        residual_moment_percent=100.0 * error.moment,
        percent={
            contact: {part: sorted([change, other[contact][part]]) for part, change in row.items()}
            for contact, row in one.items()
        },
    )


def _peaks(result: ComakResult) -> dict[str, dict[str, int]]:
    """Return the frame of each peak, by contact with two compartments and by part."""
    found = {}
    for k, name in enumerate(result.contacts):
        parts = compartment_forces(result, k)
        if set(COMPARTMENTS) <= parts.keys():
            found[name] = {part: int(force.argmax()) for part, force in parts.items()}
    return found


def _changes(
    setup: WalkSetup,
    result: ComakResult,
    recorded: RecordedPlant,
    needed: FloatArray,
    peaks: dict[str, dict[str, int]],
) -> dict[str, dict[str, float]]:
    """Return the changes of the forces at the peaks [%] with other needed forces (N, F)."""
    frames = recorded.frames._replace(needed=recorded.frames.needed + needed)
    comak = Comak(replace(recorded, frames=frames), setup.contacts, setup.settings)
    loads = {}
    for frame in {at for parts in peaks.values() for at in parts.values()}:
        first = max(frame - _BEFORE, 1)
        at = result.solution(first - 1)
        for k in range(min(first, frame), frame + 1):
            at, _ = comak.solve(k, at, start=result.values[k])
        loads[frame] = at.loads
    changes: dict[str, dict[str, float]] = {}
    for k, contact in enumerate(result.contacts):
        for part, frame in peaks.get(contact, {}).items():
            before, after = (
                float(np.linalg.norm(each[k][part].force))
                for each in (result.loads[frame], loads[frame])
            )
            changes.setdefault(contact, {})[part] = 100.0 * (after / before - 1.0)
    return changes


def uncertainty_text(found: Uncertainty | None) -> list[str]:
    """Return a sentence for each contact on the uncertainty of its peaks."""
    if found is None:
        return []
    return [
        f"{contact}: errors of forces and mass that the residuals do not exclude move the peaks by "
        f"about ± {', '.join(f'{row:.0f} % ({part})' for part, row in parts.items())}"
        for contact, parts in found.percent.items()
    ]
