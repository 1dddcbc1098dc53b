"""Pictures of the report on the knee, its path and the simulated cycle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dynamics.simulator.knee_simulator import APPLIED_COLUMNS
from foundation.base.loads import COMPARTMENTS, WRENCH_COLUMNS
from foundation.base.quantities import QUANTITIES
from pipeline.reports import figures as fig
from pipeline.reports.charts import chart, cycle_chart, line, lines_of
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


def path_pictures(files: RunFiles) -> Iterator[Picture]:
    """Yield the reference path over flexion with the sampled box, a picture per coordinate."""
    space = files.config["space"]
    low, high = space["flexion_deg"]
    flexion = np.linspace(low, high, 200)
    curve = files.path.path.poses(np.radians(flexion))
    gait = next(iter(files.cycles.values()), None)
    for k, column in enumerate(POSE_COLUMNS[1:], start=1):
        quantity = QUANTITIES[column]
        values = quantity.for_people(curve[:, k])
        lines = [line("path", values, x=flexion, colour=fig.BLUE, width=2.0)]
        if (half := space.get(quantity.column_for_people)) is not None:
            for word, edge in (("most", values + half), ("least", values - half)):
                name = f"{word} sampled"
                lines.append(line(name, edge, x=flexion, colour=fig.GREY, width=1.0))
        if gait is not None:
            angle, cycle = np.degrees(gait["flexion_rad"]), quantity.for_people(gait[column])
            lines.append(line("gait cycle", cycle, x=angle, colour=fig.VERMILLION, width=1.2))
        text = f"Reference path: {quantity.label} over flexion"
        across = axis_label(QUANTITIES["flexion_rad"])
        yield chart(f"path-{column}", text, across, axis_label(quantity), lines)


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
    """Yield maps of depth of wear per million cycles, cross-shear and sliding by both models."""
    if files.wear is None or files.maps is None:
        return
    surface = files.maps.vertices, files.maps.faces
    for title, unit, factor, values in (
        ("Depth of wear per million cycles", "µm", 1e12, files.wear.depth_m),
        ("Cross-shear", "", 1.0, files.wear.cross_shear),
        ("Sliding distance in contact", "mm", 1e3, files.wear.distance_m),
    ):
        shown = factor * values
        # At the edge, where little work is done, a triangle may have any cross-shear.
        share = 1.0 if unit else 0.98
        most = float(np.quantile(np.append(shown[shown > 0.0], 1e-12), share))
        for k, name in enumerate(MODELS):
            yield fig.face_map(f"{title}, {name}", surface, shown[k], most, unit)


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
