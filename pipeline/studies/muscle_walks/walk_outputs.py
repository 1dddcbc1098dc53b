"""Outputs of a walk with muscles, for studies: scalars and waveforms in practical units."""

from __future__ import annotations

import numpy as np

from dynamics.musculoskeletal import ComakResult
from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS
from pipeline.stages.cycle_outputs import Output
from pipeline.studies.catalogue import Catalogue
from pipeline.studies.muscle_walks.charts import shown_secondary, sign_of
from pipeline.studies.muscle_walks.contact_forces import (
    bundled,
    compartment_forces,
    group_of,
    medial_share,
)
from pipeline.studies.muscle_walks.setup import WalkSetup
from pipeline.studies.muscle_walks.summary import body_weight
from pipeline.studies.muscle_walks.tables import ligament_forces
from pipeline.studies.muscle_walks.variation import walk_factors

#: Instants of the waveforms of a study [% of the walk].
PERCENT = np.linspace(0.0, 100.0, 101)


def walk_catalogue(setup: WalkSetup, result: ComakResult) -> Catalogue:
    """Return the inputs and outputs of a walk; the result is that without changes."""
    outputs, waves, keys = {}, {}, []
    for k, contact in enumerate(result.contacts):
        parts = compartment_forces(result, k)
        for part in parts:
            name = f"{contact}_{part}"
            words = contact if part == "total" else f"{contact} {part}"
            outputs[f"{name}_force_peak_BW"] = Output(f"{words} force, peak", "BW")
            outputs[f"{name}_force_mean_BW"] = Output(f"{words} force, mean", "BW")
            pressure = f"{name}_peak_pressure"
            outputs[f"{pressure}_MPa"] = Output(f"{words} peak pressure", "MPa", f"{pressure}_Pa")
            waves[f"{name}_force_BW"] = Output(f"{words} force", "BW")
        if set(COMPARTMENTS) <= parts.keys():
            outputs[f"{contact}_medial_share_percent"] = Output(
                f"{contact} medial share of the mean force", "%"
            )
            keys.append(f"{contact}_medial_share_percent")
        keys += [f"{contact}_total_force_peak_BW", f"{contact}_total_peak_pressure_MPa"]
    for name, unit, _ in shown_secondary(setup.plant.motion, result):
        waves[f"{name}_{unit}"] = Output(name, sign_of(unit))
        for kind in ("range", "min", "max"):
            outputs[f"{name}_{kind}_{unit}"] = Output(f"{name}, {kind}", sign_of(unit))
    for group in dict.fromkeys(map(group_of, setup.plant.ligaments.names)):
        outputs[f"{group}_force_peak_N"] = Output(f"{group} force, peak", "N")
    for group in dict.fromkeys(map(group_of, result.muscles)):
        outputs[f"{group}_muscle_peak_N"] = Output(f"{group} muscle force, peak", "N")
    return Catalogue(
        walk_factors(setup),
        outputs,
        waves,
        tuple(keys),
        subject="walks",
        axis="walk [%]",
        note=" ".join(
            [
                "BW are body weights; compartments have forces of their own.",
                *map(_said, setup.flags),
            ]
        ),
        flagged="have frames that did not converge, left the range of the record or a surrogate, "
        "or external loads that do not fit the motion",
    )


def _said(flag: str) -> str:
    return f"The walk has a flag: {flag}."


def walk_outputs(setup: WalkSetup, result: ComakResult) -> dict[str, float]:
    """Return the outputs of a walk by the names of its catalogue."""
    weight, values = body_weight(setup), {}
    for k, contact in enumerate(result.contacts):
        parts = compartment_forces(result, k)
        for part, force in parts.items():
            pressure = [frame[k][part].peak_pressure for frame in result.loads]
            values[f"{contact}_{part}_force_peak_BW"] = force.max() / weight
            values[f"{contact}_{part}_force_mean_BW"] = force.mean() / weight
            values[f"{contact}_{part}_peak_pressure_MPa"] = 1e-6 * np.nanmax(pressure)
        if (share := medial_share(parts)) is not None:
            values[f"{contact}_medial_share_percent"] = 100.0 * share
    for name, unit, shown in shown_secondary(setup.plant.motion, result):
        for kind, statistic in (("range", np.ptp), ("min", np.min), ("max", np.max)):
            values[f"{name}_{kind}_{unit}"] = statistic(shown)
    tensions = ligament_forces(setup, result)
    for group, force in bundled(setup.plant.ligaments.names, tensions).items():
        values[f"{group}_force_peak_N"] = force.max()
    for group, force in bundled(result.muscles, result.muscle_forces).items():
        values[f"{group}_muscle_peak_N"] = force.max()
    return {name: float(value) for name, value in values.items()}


def walk_waves(setup: WalkSetup, result: ComakResult) -> dict[str, FloatArray]:
    """Return the waveforms (101,) of a walk by name [body weights, deg, mm]."""
    weight, waves = body_weight(setup), {}
    span = result.time[-1] - result.time[0]
    percent = 100.0 * (result.time - result.time[0]) / span
    for k, contact in enumerate(result.contacts):
        for part, force in compartment_forces(result, k).items():
            waves[f"{contact}_{part}_force_BW"] = force / weight
    for name, unit, shown in shown_secondary(setup.plant.motion, result):
        waves[f"{name}_{unit}"] = shown
    return {name: np.interp(PERCENT, percent, wave) for name, wave in waves.items()}
