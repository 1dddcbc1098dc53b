"""Page of a walk: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from dynamics.simulator.result import SimulationResult
from foundation.base.loads import COMPARTMENTS
from pipeline.reports.charts import cycle_chart
from pipeline.reports.figures import Picture
from pipeline.reports.pages import write_page
from pipeline.stages.cycle_outputs import OUTPUTS, WAVES, cycle_waves, peak_pressures
from pipeline.studies.implant_forces.comparison import MeasuredWalk
from pipeline.studies.implant_forces.page import implant_charts
from pipeline.studies.walks.in_vivo import IN_VIVO_PEAK
from pipeline.studies.walks.loads import Walk
from pipeline.studies.walks.summary import MOMENTS, PATTERN, WalkSummary

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


def write_walk_page(
    folder: Path,
    summary: WalkSummary,
    walk: Walk,
    results: Mapping[str, SimulationResult],
    implant: MeasuredWalk | None,
    config: str,
) -> None:
    """Write `walk.html` to a folder.

    `results` are the simulated gait cycles of each model, `implant` the measured forces, and
    `config` is the resolved walk as TOML.
    """
    outputs = summary.outputs["surrogate"]
    write_page(
        folder / "walk.html",
        summary=summary,
        tiles=[(OUTPUTS[name], outputs[name]) for name in _TILES],
        outputs=OUTPUTS,
        pictures={
            "moments": list(_moments(walk, summary.subject["mass_kg"])),
            "knee": list(_knee(walk)),
            "implant": list(implant_charts(implant, walk.body_weight)),
            "muscles": [_muscles(walk)],
            "cycle": list(_cycle(results)),
        },
        config_text=config,
    )


def _moments(walk: Walk, mass: float) -> Iterator[Picture]:
    """Yield the joint moments per body mass over the stride."""
    for joint, name in enumerate(MOMENTS):
        expected = [(peak.phase, peak.limits) for peak in PATTERN if peak.joint == joint]
        yield cycle_chart(
            f"{name.replace(' ', '-')}-moment",
            f"{name} moment over the stride, with the expected peaks",
            {"": (walk.knee.percent, walk.leg.moments[:, joint] / mass)},
            f"{name} [N·m/kg]",
            expected=expected,
        )


def _knee(walk: Walk) -> Iterator[Picture]:
    """Yield the loads of the knee over the stride."""
    knee = walk.knee
    yield cycle_chart(
        "axial-force",
        "Tibiofemoral axial force over the stride, and the mean peak in vivo",
        {"this walk": (knee.percent, knee.axial_force / walk.body_weight)},
        "axial force [body weights]",
        reference=("mean peak in vivo", IN_VIVO_PEAK),
    )
    for name, label, values in (
        ("knee-flexion", "knee flexion [°]", np.degrees(knee.flexion)),
        ("ap-force", "AP force on the tibia [N]", knee.ap_force),
        ("internal-torque", "internal torque on the tibia [N·m]", knee.internal_torque),
    ):
        yield cycle_chart(name, label, {"": (knee.percent, values)}, label)
    label = "adduction moment on the tibia [N·m]"
    moments = {
        "external": (knee.percent, knee.external_adduction_moment),
        "after the muscles": (knee.percent, knee.adduction_moment),
    }
    yield cycle_chart("adduction-moment", label, moments, label)


def _muscles(walk: Walk) -> Picture:
    """Return the forces of the muscles over the stride."""
    groups = {}
    for group, heads in GROUPS.items():
        members = [name.startswith(heads) for name in walk.muscles.names]
        groups[group] = (walk.knee.percent, walk.muscles.forces[:, members].sum(axis=1))
    return cycle_chart("muscle-forces", "Forces of groups of muscles", groups, "muscle force [N]")


def _cycle(results: Mapping[str, SimulationResult]) -> Iterator[Picture]:
    """Yield the simulated gait cycle of each model."""
    waves = {
        model: [
            *cycle_waves(result).values(),
            np.maximum(*(peak_pressures(result, part) for part in COMPARTMENTS)),
        ]
        for model, result in results.items()
    }
    labels = {name: wave.axis for name, wave in WAVES.items()}
    labels["peak_pressure_MPa"] = "peak pressure [MPa]"
    for k, (name, label) in enumerate(labels.items()):
        lines = {model: (results[model].gait_percent, waves[model][k]) for model in results}
        text = f"Simulated {label.partition(' [')[0]}"
        yield cycle_chart(f"simulated-{name}", text, lines, label)
