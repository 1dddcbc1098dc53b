"""Section of the report on the simulated gait cycle: differences, cost, speed and flags."""

from __future__ import annotations

from typing import Any

from foundation.base.quantities import unit_token
from pipeline.flagged_instants import flagged_sentence
from pipeline.reports.combinations import combinations_of, frames_of, wear_of
from pipeline.reports.inputs import MODELS, RunFiles
from pipeline.reports.knee_figures import wears
from pipeline.reports.mesh_resolution import spacing_of
from pipeline.reports.units import scaled
from pipeline.stages.frames import WearOfCycle
from pipeline.store.run_documents import Cost, Difference, Part, Simulation


class Gait(Part):
    """The simulated gait cycle.

    Without an original model `models` is the surrogate alone, and comparisons are None. Without a
    simulation there are no models.
    """

    models: list[str]
    differences: list[dict[str, Any]]
    statistics: dict[str, dict[str, Any]]
    speed: dict[str, float | None] | None
    instants_percent: list[float] | None
    map_peak_pressure_MPa: dict[str, list[float]] | None
    flags: list[dict[str, str]]
    not_trusted: str | None
    frames: list[dict[str, float]] | None
    wear: dict[str, Any] | None
    combinations: dict[str, Any] | None
    node_spacing: dict[str, Any] | None

    @property
    def rms_over_range_percent(self) -> dict[str, float | None]:
        """RMS differences of both cycles over the range by column [%]."""
        return {row["column"]: row["rms_over_range_percent"] for row in self.differences}


#: The gait cycle of a run without a simulation.
_NO_GAIT = Gait(
    models=[],
    differences=[],
    statistics={},
    speed=None,
    instants_percent=None,
    map_peak_pressure_MPa=None,
    flags=[],
    not_trusted=None,
    frames=None,
    wear=None,
    combinations=None,
    node_spacing=None,
)


def gait_of(files: RunFiles) -> Gait:
    """Return the section on the gait cycle of the report of a run."""
    simulation, maps = files.simulation, files.maps
    if simulation is None:
        return _NO_GAIT
    costs = {name: simulation.statistics.get(name) for name in MODELS}
    statistics = {name: _cost(cost) for name, cost in costs.items() if cost is not None}
    peaks = None
    if maps is not None:
        found = (1e-6 * maps.pressure_Pa.max(axis=2)).tolist()
        peaks = dict(zip(MODELS, found, strict=True))
    worn, varied = worn_files(files), files.combinations
    return Gait(
        models=list(statistics),
        differences=[_difference(row) for row in simulation.differences],
        statistics=statistics,
        speed=_speed(simulation),
        instants_percent=None if maps is None else maps.gait_percent.tolist(),
        map_peak_pressure_MPa=peaks,
        flags=[
            {"model": model, "message": message}
            for model, messages in simulation.flags.items()
            for message in messages
        ],
        not_trusted=_not_trusted(simulation),
        frames=None if files.frames is None else frames_of(files.frames),
        wear=None if worn is None else wear_of(worn),
        combinations=None if varied is None else combinations_of(varied),
        node_spacing=spacing_of(simulation.node_spacing),
    )


def worn_files(files: RunFiles) -> WearOfCycle | None:
    """Return the wear of the cycle, None without wear or of a layer that does not wear."""
    return files.wear if wears(files.config["contact"]) else None


def _not_trusted(simulation: Simulation) -> str | None:
    """Return a sentence on the flagged instants of the surrogate, None without any."""
    flagged, instants = simulation.flagged.get("surrogate", [0, 0])
    return flagged_sentence(flagged, instants, simulation.flag_kinds.get("surrogate", []))


def _difference(row: Difference) -> dict[str, Any]:
    """Return a difference of `simulation.json`; the unit ends the keys of its figures."""
    content, token = row.content(), unit_token(row.unit)
    share = scaled(content.pop("rms_over_range"), 100.0)
    return {
        f"{key}_{token}" if isinstance(value, float) else key: value
        for key, value in content.items()
    } | {"rms_over_range_percent": share}


def _cost(cost: Cost) -> dict[str, Any]:
    """Return a cost of `simulation.json`."""
    content = cost.content()
    return {"elapsed_s": content.pop("elapsed"), **content}


def _speed(simulation: Simulation) -> dict[str, float | None] | None:
    """Return the times of an evaluation and of a cycle by both models, and their ratios."""
    if (speed := simulation.speed) is None:
        return None
    original_s, surrogate_s = (simulation.statistics[name].elapsed for name in MODELS)
    return {
        "original_evaluation_us": speed.original_us,
        "surrogate_evaluation_us": speed.surrogate_us,
        "surrogate_call_us": speed.surrogate_call_us,
        "evaluation_ratio": speed.ratio,
        "original_cycle_s": original_s,
        "surrogate_cycle_s": surrogate_s,
        "cycle_ratio": original_s / surrogate_s if original_s and surrogate_s else None,
    }
