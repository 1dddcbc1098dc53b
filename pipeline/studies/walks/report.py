"""The page of a walk: one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dynamics.simulator.result import SimulationResult
from pipeline.files import write_text
from pipeline.reports import figures
from pipeline.reports.pages import page_template
from pipeline.reports.units import number
from pipeline.studies.runs import OUTPUTS, WAVES, waves_of
from pipeline.studies.walks import figures as walking
from pipeline.studies.walks.loads import Walk
from pipeline.studies.walks.summary import IN_VIVO_PEAK, MOMENTS, PATTERN

#: Muscles that are drawn as one, by the beginnings of their names.
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
        Where to write.
    summary : dict
        The content of `walk.json`.
    walk : Walk
        The loads of the walk.
    results : dict
        The simulated cycle by model.
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


def _item(uri: str, text: str) -> dict[str, str]:
    return {"uri": uri, "text": text}


def _moments(walk: Walk, mass: float) -> list[dict[str, str]]:
    items = []
    for joint, name in enumerate(MOMENTS):
        boxes = [
            (
                peak.phase,
                tuple(sorted((peak.sign * peak.expected[0], peak.sign * peak.expected[1]))),
            )
            for peak in PATTERN
            if peak.joint == joint
        ]
        moment = walk.leg.moments[:, joint] / mass
        uri = walking.moment_panel(walk.knee.percent, moment, name, boxes)
        items.append(_item(uri, f"{name} moment over the stride, with the expected peaks"))
    return items


def _knee(walk: Walk) -> list[dict[str, str]]:
    knee = walk.knee
    force = walk.knee.axial_force / walk.body_weight
    items = [
        _item(
            walking.axial_panel(knee.percent, force, IN_VIVO_PEAK),
            "Tibiofemoral axial force over the stride, and the mean peak in vivo",
        )
    ]
    for values, label in (
        (np.degrees(knee.flexion), "knee flexion [°]"),
        (knee.ap_force, "AP force on the tibia [N]"),
        (knee.internal_torque, "internal torque on the tibia [N·m]"),
        (knee.adduction_moment, "adduction moment on the tibia [N·m]"),
    ):
        items.append(_item(walking.lines_panel(knee.percent, {"": values}, label), label))
    return items


def _muscles(walk: Walk) -> list[dict[str, str]]:
    names, forces = walk.muscles.names, walk.muscles.forces
    groups = {
        group: forces[:, [name.startswith(heads) for name in names]].sum(axis=1)
        for group, heads in GROUPS.items()
    }
    label = "muscle force [N]"
    uri = walking.lines_panel(walk.knee.percent, groups, label)
    return [_item(uri, "Forces of groups of muscles")]


def _cycle(results: dict[str, SimulationResult]) -> list[dict[str, str]]:
    percent = {model: result.gait_percent for model, result in results.items()}
    waves = {model: waves_of(result) for model, result in results.items()}
    items = []
    for name, output in WAVES.items():
        values = {model: wave[name] for model, wave in waves.items()}
        uri = figures.cycle_panel(percent, values, f"{output.label} [{output.unit}]")
        items.append(_item(uri, f"Simulated {output.label}"))
    pressure = {
        model: 1e-6 * np.nan_to_num(result.compartment_loads[:, :, 7]).max(axis=0)
        for model, result in results.items()
    }
    uri = figures.cycle_panel(percent, pressure, "peak pressure [MPa]")
    return [*items, _item(uri, "Simulated peak pressure")]
