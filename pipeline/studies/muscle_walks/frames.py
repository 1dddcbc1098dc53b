"""Figures that walks and forward simulations share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.constants import g as STANDARD_GRAVITY

from dynamics.musculoskeletal import JointContact, SimulatedFrames
from foundation.base.checks import FloatArray
from pipeline.store.run_documents import Computed
from pipeline.studies.muscle_walks.charts import shown_secondary
from pipeline.studies.muscle_walks.contact_forces import (
    SharedLoad,
    bundled,
    compartment_forces,
    interposed_loads,
    largest_first,
    not_trusted,
    shared_loads,
)
from pipeline.studies.muscle_walks.models import ContactSide, contact_sides
from pipeline.studies.muscle_walks.tables import Simulated


class Peak(Computed):
    """Force at the end, and the largest one with its instant."""

    end_N: float | None
    peak_N: float | None
    peak_at_s: float


class ContactPeaks(Peak):
    """Largest force, pressure and area of a contact, in total or of a compartment."""

    peak_BW: float | None
    mean_N: float | None
    peak_pressure_MPa: float | None
    largest_area_mm2: float | None


class Course(Computed):
    """First and last, least and largest value of a coordinate in its unit."""

    unit: str
    start: float | None
    end: float | None
    least: float | None
    most: float | None


class FrameSummary(Computed):
    """What the documents of walks and forward simulations have in common."""

    name: str
    model: str
    mass_kg: float
    body_weight_N: float
    interval_s: list[float]
    sides: dict[str, ContactSide]
    contact: dict[str, dict[str, ContactPeaks]]
    shared: dict[str, dict[str, SharedLoad]]
    secondary: dict[str, Course]
    muscles: dict[str, Peak]
    ligaments: dict[str, Peak]
    warnings: list[str]
    flags: list[str]
    not_trusted: str | None
    seconds: dict[str, float]


def body_weight(setup: Simulated) -> float:
    """Return the weight of the model [N]."""
    return setup.model.mass * STANDARD_GRAVITY


def frame_figures(
    setup: Simulated,
    springs: Iterable[JointContact],
    contacts: Sequence[JointContact],
    result: SimulatedFrames,
    tensions: FloatArray,
) -> dict[str, Any]:
    """Return the figures of a simulation by fields of `FrameSummary`.

    `springs` are the contacts of the model and `contacts` those of the simulation, `tensions` those
    of the ligaments (N, L) [N].
    """
    weight, time = body_weight(setup), result.time
    return {
        "mass_kg": setup.model.mass,
        "body_weight_N": weight,
        "interval_s": [time[0], time[-1]],
        "sides": contact_sides(setup.model, springs),
        "contact": {
            name: dict(_contact_peaks(result, k, weight)) for k, name in enumerate(result.contacts)
        },
        "shared": shared_loads(interposed_loads(setup, contacts, result), time),
        "secondary": {
            name: Course(
                unit=unit, start=shown[0], end=shown[-1], least=shown.min(), most=shown.max()
            )
            for name, unit, shown in shown_secondary(setup.plant.motion, result)
        },
        "muscles": _peaks(bundled(result.muscles, result.muscle_forces), time),
        "ligaments": _peaks(bundled(setup.plant.ligaments.names, tensions), time),
        "not_trusted": not_trusted(result),
    }


def _peak(force: FloatArray, time: FloatArray) -> dict[str, float]:
    peak = int(force.argmax())
    return {"end_N": force[-1], "peak_N": force[peak], "peak_at_s": time[peak]}


def _peaks(forces: dict[str, FloatArray], time: FloatArray) -> dict[str, Peak]:
    """Return the peak of each group of forces, the largest first."""
    return {name: Peak(**_peak(force, time)) for name, force in largest_first(forces).items()}


def _contact_peaks(
    result: SimulatedFrames, contact: int, weight: float
) -> Iterator[tuple[str, ContactPeaks]]:
    for part, force in compartment_forces(result, contact).items():
        loads = [frame[contact][part] for frame in result.loads]
        pressure = np.array([each.peak_pressure for each in loads])
        yield (
            part,
            ContactPeaks(
                **_peak(force, result.time),
                peak_BW=force.max() / weight,
                mean_N=force.mean(),
                peak_pressure_MPa=1e-6 * np.nan_to_num(pressure).max(),
                largest_area_mm2=1e6 * max(each.area for each in loads),
            ),
        )
