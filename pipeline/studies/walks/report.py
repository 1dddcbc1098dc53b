"""Page of a walk: one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dynamics.simulator.result import SimulationResult
from foundation.loads import COMPARTMENTS
from pipeline.files import write_text
from pipeline.reports.figures import cycle_panel
from pipeline.reports.pages import page_template
from pipeline.reports.pictures import Picture
from pipeline.reports.units import number
from pipeline.studies import figures
from pipeline.studies.outputs import OUTPUTS, WAVES, cycle_waves, peak_pressures
from pipeline.studies.walks.loads import Walk
from pipeline.studies.walks.summary import IN_VIVO_PEAK, MOMENTS, PATTERN

#: Muscles drawn as one, by the beginnings of their names.
GROUPS = {
    "quadriceps": ("rectus_femoris", "vastus"),
    "hamstrings": ("biceps_femoris", "semimembranosus", "semitendinosus"),
    "gastrocnemius": ("gastrocnemius",),
    "soleus": ("soleus",),
    "gluteus maximus": ("gluteus_maximus",),
}
_TILES = (
    "medial_peak_pressure_MPa",
    "anterior_range_mm",
    "rotation_range_deg",
    "total_wear_mm3_per_million_cycles",
)


def write_page(
    path: Path,
    summary: dict[str, Any],
    walk: Walk,
    results: dict[str, SimulationResult],
    config: str,
) -> None:
    """Write `walk.html`.

    Parameters
    ----------
    path : Path
        The page.
    summary : dict
        The content of `walk.json`.
    walk : Walk
        Loads of the walk.
    results : dict
        Simulated gait cycle of each model.
    config : str
        The resolved walk as TOML.
    """
    outputs = summary["outputs"]["surrogate"]
    page = page_template("walk.html", num=number).render(
        summary=summary,
        tiles=[(OUTPUTS[name], outputs[name]) for name in _TILES],
        outputs=OUTPUTS,
        moments=_moments(walk, summary["subject"]["mass_kg"]),
        knee=_knee(walk),
        muscles=_muscles(walk),
        cycle=_cycle(results),
        config_text=config,
    )
    write_text(path, page)


def _moments(walk: Walk, mass: float) -> list[Picture]:
    """Return the joint moments per body mass over the stride."""
    pictures = []
    for joint, name in enumerate(MOMENTS):
        peaks = [peak for peak in PATTERN if peak.joint == joint]
        ranges = [sorted(peak.sign * limit for limit in peak.expected) for peak in peaks]
        boxes = [(peak.phase, (low, high)) for peak, (low, high) in zip(peaks, ranges, strict=True)]
        moment = walk.leg.moments[:, joint] / mass
        uri = figures.moment_panel(walk.knee.percent, moment, name, boxes)
        pictures.append(Picture(uri, f"{name} moment over the stride, with the expected peaks"))
    return pictures


def _knee(walk: Walk) -> list[Picture]:
    """Return the loads of the knee over the stride."""
    knee = walk.knee
    uri = figures.axial_panel(knee.percent, knee.axial_force / walk.body_weight, IN_VIVO_PEAK)
    text = "Tibiofemoral axial force over the stride, and the mean peak in vivo"
    rows = (
        (np.degrees(knee.flexion), "knee flexion [°]"),
        (knee.ap_force, "AP force on the tibia [N]"),
        (knee.internal_torque, "internal torque on the tibia [N·m]"),
        (knee.adduction_moment, "adduction moment on the tibia [N·m]"),
    )
    return [
        Picture(uri, text),
        *(
            Picture(figures.lines_panel(knee.percent, {"": values}, label), label)
            for values, label in rows
        ),
    ]


def _muscles(walk: Walk) -> list[Picture]:
    """Return the forces of the muscles over the stride."""
    names, forces = walk.muscles.names, walk.muscles.forces
    groups = {
        group: forces[:, [name.startswith(heads) for name in names]].sum(axis=1)
        for group, heads in GROUPS.items()
    }
    uri = figures.lines_panel(walk.knee.percent, groups, "muscle force [N]")
    return [Picture(uri, "Forces of groups of muscles")]


def _cycle(results: dict[str, SimulationResult]) -> list[Picture]:
    """Return the simulated gait cycle of each model."""
    percent = {model: result.gait_percent for model, result in results.items()}
    waves = {model: cycle_waves(result) for model, result in results.items()}
    pictures = []
    for name, wave in WAVES.items():
        values = {model: of_model[name] for model, of_model in waves.items()}
        uri = cycle_panel(percent, values, f"{wave.label} [{wave.unit}]")
        pictures.append(Picture(uri, f"Simulated {wave.label}"))
    pressure = {
        model: np.maximum(*(peak_pressures(result, part) for part in COMPARTMENTS))
        for model, result in results.items()
    }
    uri = cycle_panel(percent, pressure, "peak pressure [MPa]")
    return [*pictures, Picture(uri, "Simulated peak pressure")]
