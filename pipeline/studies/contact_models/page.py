"""Page of a comparison: table, errors over time, pressure maps, cycles, and the weighted sum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from foundation.base.checks import FloatArray
from foundation.base.loads import AXIAL_FORCE, COMPARTMENTS, PEAK_PRESSURE
from foundation.base.pose import ANTERIOR, ROTATION
from pipeline.reports import charts
from pipeline.reports import figures as fig
from pipeline.reports.figures import Picture, picture
from pipeline.reports.pictures import PeakPressure, bounds_of, peak_map
from pipeline.reports.pressure_field import vertex_pressures
from pipeline.studies.contact_models.content import (
    ComparedColumn,
    ComparedModel,
    ModelComparison,
)
from pipeline.studies.contact_models.knee import ComparedKnee
from pipeline.studies.contact_models.measurement import Measured, Truth, gait_poses
from pipeline.studies.contact_models.registry import ELEMENTS

#: Colour of each group of models; a marker tells the models of a group apart.
COLOURS = {
    "finite elements": fig.INK,
    "springs": fig.BLUE,
    "surrogate": fig.VERMILLION,
}
MARKERS = "osD^vP*X"
#: Columns of the pictures of errors over time.
_OVER_TIME = ("force_percent", "peak_pressure_percent", "anterior_mm", "wear_percent")
#: Size of these pictures [inch], and colours of the models over the cycle.
_SIZE = (4.6, 3.2)
_OTHER_LINES = (fig.BLUE, fig.VERMILLION, fig.GREEN, fig.ORANGE, "#CC79A7", "#56B4E9", "#000000")


def comparison_page(
    knee: ComparedKnee,
    content: ModelComparison,
    measured: Mapping[str, Measured],
    truth: Truth,
) -> dict[str, Any]:
    """Return the content of `compared_models.html`; `measured` is by the model's name."""
    labels = {row.name: row.label for row in content.models}
    groups: dict[str, list[ComparedColumn]] = {}
    for column in content.columns:
        groups.setdefault(column.group, []).append(column)
    return {
        **{name: getattr(content, name) for name in ModelComparison.model_fields},
        "groups": groups,
        "pictures": {
            "over_time": list(_over_time(content)),
            "cycles": list(_cycles(labels, measured, truth)),
            "maps": _maps(knee, labels, measured),
        },
    }


def _over_time(content: ModelComparison) -> Iterator[Picture]:
    """Yield a picture per error, over the time of an evaluation."""
    columns = {column.key: column for column in content.columns}
    for key in _OVER_TIME:
        points = [
            (row, time, abs(error))
            for row in content.models
            if (time := row.figures["evaluation_us"]) and (error := row.figures[key])
        ]
        label = f"{columns[key].label}, error [{columns[key].unit}]"
        if points:
            yield _scatter(f"{label}, over the time of an evaluation", points, label)


@picture("svg")
def _scatter(points: list[tuple[ComparedModel, float, float]], label: str) -> Figure:
    """Draw errors over the time of an evaluation, a marker per model, both axes logarithmic."""
    figure, axes = fig.panel(_SIZE, x="time of one evaluation [µs]", y=label)
    counts: dict[str, int] = {}
    for row, time, error in points:
        marker = MARKERS[counts.setdefault(row.group, 0) % len(MARKERS)]
        counts[row.group] += 1
        axes.plot([time], [error], marker, color=COLOURS[row.group], ms=7.0, label=row.label)
    axes.set(xscale="log", yscale="log")
    for axis in (axes.xaxis, axes.yaxis):
        # In less than two decades, ticks at powers of ten are too few.
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(fig.plain_number))
        axis.set_minor_locator(NullLocator())
    axes.margins(0.12)
    figure.legend(loc="outside lower center", ncols=2, fontsize=7.0)
    return figure


def _cycles(
    labels: Mapping[str, str], measured: Mapping[str, Measured], truth: Truth
) -> Iterator[Picture]:
    """Yield pictures over the gait cycle with every model on its own cycle."""
    sources = {labels[name]: found.arrays for name, found in measured.items()}
    known = {name: a for name, a in sources.items() if "cycle_loads" in a}
    exact = {"cycle_loads": truth.cycle_loads, "cycle_poses": truth.cycle_poses}
    at = next(iter(known.values()))["gait_percent"]
    shown = {"truth": exact, **known}
    quantities: list[tuple[str, str, str, int, float]] = [
        *(
            (f"{side}_force", f"{side} axial force [N]", "cycle_loads", AXIAL_FORCE, 1.0)
            for side in COMPARTMENTS
        ),
        *(
            (f"{side}_peak", f"{side} peak pressure [MPa]", "cycle_loads", PEAK_PRESSURE, 1e-6)
            for side in COMPARTMENTS
        ),
        ("anterior", "AP position [mm]", "cycle_poses", ANTERIOR, 1e3),
        ("rotation", "internal rotation [°]", "cycle_poses", ROTATION, 180.0 / np.pi),
    ]
    for name, label, key, index, factor in quantities:
        side = COMPARTMENTS.index("lateral") if name.startswith("lateral") else 0
        lines = []
        for k, (model, arrays) in enumerate(shown.items()):
            values = arrays[key] if key == "cycle_poses" else arrays[key][side]
            lines.append(_line(model, k, factor * values[:, index]))
        text = f"{label}, over the gait cycle of each model"
        yield charts.chart(name, text, "gait cycle [%]", label, lines, at=at, range=[0.0, 100.0])


def _line(model: str, place: int, values: FloatArray) -> charts.Chart:
    if place == 0:
        return charts.line(model, values, colour=fig.INK, width=3.0)
    colour = _OTHER_LINES[(place - 1) % len(_OTHER_LINES)]
    return charts.line(model, values, colour=colour, dashed=place > 2, width=1.4)


def _maps(
    knee: ComparedKnee, labels: Mapping[str, str], measured: Mapping[str, Measured]
) -> list[dict[str, str | Picture | None]]:
    """Return the maps of each model at the pose of the highest load, on one colour scale."""
    tibia = 1e3 * np.asarray(knee.surfaces.tibia.vertices), np.asarray(knee.surfaces.tibia.faces)
    driven = measured[ELEMENTS]
    percent = driven.arrays["gait_percent"][gait_poses(driven, 1).instant]
    found: list[tuple[str, list[PeakPressure | None]]] = []
    for name, model in measured.items():
        if "pressures" in model.arrays:
            pair = [pressed(knee, tibia, percent, p) for p in model.arrays["pressures"]]
            found.append((labels[name], pair))
    known = [each for _, pair in found for each in pair if each is not None]
    if not known:
        return []
    limit, corners = bounds_of(known)
    return [
        {
            "label": label,
            "at_pose": _map(pair[0], limit, corners),
            "at_load": _map(pair[1], limit, corners),
        }
        for label, pair in found
    ]


def _map(found: PeakPressure | None, limit: float, corners: FloatArray) -> Picture | None:
    return None if found is None else peak_map(found, limit, corners)[1]


def pressed(
    knee: ComparedKnee, tibia: Any, percent: float, pressure: FloatArray
) -> PeakPressure | None:
    """Return a pressure (F,) [Pa] at an instant for a map; None where the model gave none."""
    if not np.isfinite(pressure).all():
        return None
    sides = np.asarray(knee.surfaces.compartments)
    peaks = 1e-6 * np.array([pressure[sides == side].max(initial=0.0) for side in range(2)])
    vertices = np.asarray(knee.surfaces.tibia.vertices)
    (shown,) = vertex_pressures(vertices, tibia[1], pressure[np.newaxis])
    return PeakPressure(float(percent), tibia, 1e-6 * shown, peaks)
