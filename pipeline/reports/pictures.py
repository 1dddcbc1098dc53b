"""Pictures of the report on the knee, its path and the simulated cycle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dynamics.simulator.knee_simulator import APPLIED_COLUMNS
from foundation.base.loads import COMPARTMENTS, WRENCH_COLUMNS
from pipeline.reports import figures as fig
from pipeline.reports.charts import chart, cycle_chart, lines_of
from pipeline.reports.figures import Picture
from pipeline.reports.inputs import PEAK_COLUMNS, RunFiles, nearest_rows
from pipeline.reports.units import number
from pipeline.store.quantities import axis_label, quantity_of
from pipeline.store.run_documents import MODELS
from pipeline.store.samples import POSE_COLUMNS

#: Columns that are drawn over the cycle, by the section of the page.
OVER_CYCLE = {
    "inputs": ("flexion_rad", *(f"input_{column}" for column in APPLIED_COLUMNS)),
    "kinematics": POSE_COLUMNS[1:],
    "loads": (
        *(f"total_{column}" for column in WRENCH_COLUMNS),
        *(f"{name}_force_y_N" for name in COMPARTMENTS),
        *PEAK_COLUMNS,
        "total_area_m2",
    ),
}


def cycle_pictures(files: RunFiles, section: str) -> Iterator[Picture]:
    """Yield the quantities of a section over the cycle, all models overlaid; inputs are shared."""
    tables = dict(list(files.cycles.items())[: 1 if section == "inputs" else None])
    for column in OVER_CYCLE[section]:
        quantity = quantity_of(column)
        lines = {
            name: (table["gait_percent"], quantity.for_people(table[column]))
            for name, table in tables.items()
            if column in table and quantity.name not in files.hidden
        }
        if lines:
            text = f"Gait cycle, {' and '.join(tables)}: {quantity.label}"
            yield cycle_chart(f"cycle-{column}", text, lines, axis_label(quantity))


def peaks_picture(files: RunFiles) -> Picture:
    """Return the peak pressures of both models at the stored instants."""
    assert files.frames is not None
    at = files.frames.gait_percent
    lines = []
    for name, cycle in files.cycles.items():
        rows = nearest_rows(cycle, at)
        dashed: dict[str, Any] = {"dashed": True, "width": 1.2} if name == MODELS[1] else {}
        peaks = {side: 1e-6 * rows[c] for side, c in zip(COMPARTMENTS, PEAK_COLUMNS, strict=True)}
        for each in lines_of(peaks, **dashed):
            lines.append(each | {"name": f"{each['name']}, {name}"})
    return chart(
        "peak-pressures", "Peak pressures over the gait cycle", "gait cycle [%]",
        "peak pressure [MPa]", lines, size=(9.0, 2.2), at=at, range=[0.0, 100.0], from_zero=True,
    )  # fmt: skip


def wear_pictures(files: RunFiles) -> Iterator[Picture]:
    """Yield maps of the depth of wear per million cycles by both models."""
    if files.wear is None or files.maps is None:
        return
    surface = files.maps.vertices, files.maps.faces
    depths = 1e12 * files.wear.depth_m
    for name, depth in zip(MODELS, depths, strict=True):
        text = f"Depth of wear per million cycles, {name}"
        yield fig.face_map(text, surface, depth, float(depths.max()), "µm")


def peak_picture(files: RunFiles) -> tuple[float, Picture] | None:
    """Return the instant [% of the cycle] and the map of the highest peak; None without frames."""
    if (fields := files.fields) is None:
        return None
    at, values = fields.frames.gait_percent, 1e-6 * fields.values
    rows = nearest_rows(files.cycles[MODELS[0]], at)
    peaks = 1e-6 * np.nan_to_num(rows[PEAK_COLUMNS].to_numpy(dtype=np.float64))
    k = int(peaks.max(axis=1).argmax())
    titles = [
        f"{name}: {number(peak)} MPa"
        for name, peak in zip(COMPARTMENTS, peaks[k].tolist(), strict=True)
    ]
    text = (
        f"Pressure on the tibial plateau at {number(at[k])} % of the gait cycle: "
        f"peaks {', '.join(titles)}"
    )
    tibia = 1e3 * fields.frames.tibia_vertices, fields.frames.tibia_faces
    limit = float(values[k].max()) or 1.0
    return float(at[k]), fig.plateau_map(text, tibia, values[k], limit, titles, "MPa")
