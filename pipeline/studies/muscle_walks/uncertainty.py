"""How far errors of the measurement that residuals do not exclude move the peaks of contact forces.

Frames about the peaks are replayed with each error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dynamics.musculoskeletal import Comak, ComakResult, RecordedPlant
from dynamics.musculoskeletal.measurement_errors import MeasurementError
from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS
from pipeline.store.run_documents import Computed
from pipeline.studies.muscle_walks.contact_forces import compartment_forces
from pipeline.studies.muscle_walks.setup import WalkSetup

#: Forces at peaks [N], by contact and part.
_Forces = dict[str, dict[str, float]]
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
    setup: WalkSetup,
    result: ComakResult,
    recorded: RecordedPlant,
    errors: Sequence[MeasurementError],
) -> Uncertainty | None:
    """Return how far errors move the peaks of contacts with two compartments; None without any.

    `recorded` is the record of the walk.
    """
    peaks = _peaks(result)
    if not peaks or not errors:
        return None

    def forces(needed: FloatArray) -> _Forces:
        frames = recorded.frames._replace(needed=recorded.frames.needed + needed)
        comak = Comak(replace(recorded, frames=frames), setup.contacts, setup.settings)
        return _replayed(comak, result, peaks)

    nominal = forces(np.zeros_like(recorded.frames.needed))
    effects = {
        error.name: _effect(error, nominal, [forces(sign * error.needed) for sign in (1.0, -1.0)])
        for error in errors
    }
    together = {
        contact: {
            part: float(
                np.linalg.norm([np.abs(e.percent[contact][part]).max() for e in effects.values()])
            )
            for part in parts
        }
        for contact, parts in peaks.items()
    }
    return Uncertainty(errors=effects, percent=together)


def _effect(error: MeasurementError, nominal: _Forces, both: list[_Forces]) -> ErrorEffect:
    return ErrorEffect(
        size=error.size,
        unit=error.unit,
        residual_force_percent=100.0 * error.force,
        residual_moment_percent=100.0 * error.moment,
        percent={
            contact: {
                part: sorted(100.0 * (each[contact][part] / force - 1.0) for each in both)
                for part, force in parts.items()
            }
            for contact, parts in nominal.items()
        },
    )


def _peaks(result: ComakResult) -> dict[str, dict[str, int]]:
    """Return the frame of each peak, by contact with two compartments and by part."""
    found = {}
    for k, name in enumerate(result.contacts):
        parts = compartment_forces(result, k)
        if set(COMPARTMENTS) <= parts.keys():
            found[name] = {
                part: int(force.argmax()) for part, force in parts.items() if force.max() > 0.0
            }
    return found


def _replayed(comak: Comak, result: ComakResult, peaks: dict[str, dict[str, int]]) -> _Forces:
    """Return the forces at the frames of the peaks [N], replayed from frames before."""
    loads = {}
    for frame in {at for parts in peaks.values() for at in parts.values()}:
        first = max(frame - _BEFORE, 0)
        at = result.solution(max(first - 1, 0))
        for k in range(first, frame + 1):
            at, _ = comak.solve(k, at, start=result.values[k])
        loads[frame] = at.loads
    return {
        contact: {
            part: float(np.linalg.norm(loads[frame][result.contacts.index(contact)][part].force))
            for part, frame in parts.items()
        }
        for contact, parts in peaks.items()
    }


def uncertainty_text(found: Uncertainty | None) -> list[str]:
    """Return a sentence for each contact on the uncertainty of its peaks."""
    if found is None:
        return []
    return [
        f"{contact}: errors of forces and mass that the residuals do not exclude move the peaks by "
        f"about ± {', '.join(f'{row:.0f} % ({part})' for part, row in parts.items())}"
        for contact, parts in found.percent.items()
    ]
