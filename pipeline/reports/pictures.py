"""Pictures of the report on the knee, its path and the simulated cycle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dynamics.simulator.knee_simulator import APPLIED_COLUMNS
from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS, WRENCH_COLUMNS
from foundation.base.quantities import QUANTITIES
from pipeline.reports import figures as fig
from pipeline.reports.charts import chart, cycle_chart, line
from pipeline.reports.figures import Picture, Triangles, picture
from pipeline.reports.inputs import PEAK_COLUMNS, RunFiles, nearest_rows
from pipeline.reports.overview_section import knots_of
from pipeline.reports.pressure_field import vertex_pressures
from pipeline.reports.units import number
from pipeline.store.quantities import axis_label, quantity_of
from pipeline.store.run_documents import MODELS
from pipeline.store.samples import POSE_COLUMNS

_CYCLE_LOADS = (
    *(f"total_{column}" for column in WRENCH_COLUMNS),
    *(f"{name}_force_y_N" for name in COMPARTMENTS),
    *(f"{name}_peak_pressure_Pa" for name in COMPARTMENTS),
    "total_area_m2",
)
_INPUTS = ("flexion_rad", *(f"input_{column}" for column in APPLIED_COLUMNS))
#: Columns drawn for all combinations: factor and unit of the differences.
_DRAWN = {
    "anterior_m": (1e3, "µm"),
    "rotation_rad": (1.0, "°"),
    "medial_force_y_N": (1.0, "N"),
    "medial_peak_pressure_Pa": (1.0, "MPa"),
    "lateral_peak_pressure_Pa": (1.0, "MPa"),
}
#: Colour of each kind of input that a combination changes (Okabe-Ito).
INPUT_COLOURS = {
    "nominal": fig.INK,
    "axial force": fig.BLUE,
    "AP force": fig.ORANGE,
    "torque": fig.GREEN,
    "flexion": "#CC79A7",
    "all loads": fig.VERMILLION,
}
_DASHES: Any = (0, (4.0, 1.5))


def path_pictures(files: RunFiles) -> Iterator[Picture]:
    """Yield the reference path over flexion with the sampled box, a picture per coordinate."""
    knots, space = knots_of(files.path), files.config["space"]
    low, high = space["flexion_deg"]
    flexion = np.linspace(low, high, 200)
    curve = files.path.path.poses(np.radians(flexion))
    gait = next(iter(files.cycles.values()), None)
    for k, column in enumerate(POSE_COLUMNS[1:], start=1):
        quantity = QUANTITIES[column]
        lines = {
            "knots": (knots["flexion_deg"], knots[quantity.column_for_people]),
            "path": (flexion, quantity.for_people(curve[:, k])),
        }
        if gait is not None:
            angle = np.degrees(gait["flexion_rad"])
            lines["gait cycle"] = angle, quantity.for_people(gait[column])
        text = f"Reference path: {quantity.label} over flexion"
        half_width = space.get(quantity.column_for_people)
        yield _path(f"path-{column}", text, lines, half_width, axis_label(quantity))


def _path(
    name: str, text: str, lines: dict[str, Any], half_width: float | None, label: str
) -> Picture:
    """Return the path, the cycle and the borders of the sampled box as a chart."""
    flexion, value = lines["path"]
    shown = [line("path", value, x=flexion, colour=fig.BLUE, width=2.0)]
    if half_width is not None:
        shown += [
            line(
                f"{word} sampled", value + side * half_width, x=flexion, colour=fig.GREY, width=1.0
            )
            for word, side in (("most", 1.0), ("least", -1.0))
        ]
    if "gait cycle" in lines:
        angle, cycle = lines["gait cycle"]
        shown.append(line("gait cycle", cycle, x=angle, colour=fig.VERMILLION, width=1.2))
    across = axis_label(QUANTITIES["flexion_rad"])
    return chart(name, text, across, label, shown)


def input_pictures(files: RunFiles) -> Iterator[Picture]:
    """Yield the inputs of the simulator over the cycle, the prescribed flexion first."""
    cycle = next(iter(files.cycles.values()))
    for column in (name for name in _INPUTS if name in cycle.columns):
        quantity = quantity_of(column)
        lines = {"": (cycle["gait_percent"], quantity.for_people(cycle[column]))}
        text = f"Input: {quantity.label}"
        label = axis_label(quantity)
        yield cycle_chart(f"input-{column}", text, lines, label, size=(3.3, 2.2))


def kinematics_pictures(files: RunFiles) -> Iterator[Picture]:
    """Yield the five free coordinates over the cycle, both models overlaid."""
    return _over_cycle(files, POSE_COLUMNS[1:])


def load_pictures(files: RunFiles) -> Iterator[Picture]:
    """Yield loads, pressures and area over the cycle, both models overlaid."""
    return _over_cycle(files, _CYCLE_LOADS)


def _over_cycle(files: RunFiles, columns: tuple[str, ...]) -> Iterator[Picture]:
    tables = files.cycles
    for quantity, column in ((quantity_of(column), column) for column in columns):
        if quantity.name not in files.hidden:
            lines = {
                name: (table["gait_percent"], quantity.for_people(table[column]))
                for name, table in tables.items()
            }
            text = f"Gait cycle, {' and '.join(tables)}: {quantity.label}"
            yield cycle_chart(f"cycle-{column}", text, lines, axis_label(quantity))


def pressure_pictures(files: RunFiles) -> Iterator[Picture]:
    """Yield the pressure on the plateau at each instant, both models beside each other."""
    if (maps := files.maps) is None:
        return
    bands = fig.bands_of(1e-6 * float(maps.pressure_Pa.max()))
    for k, percent in enumerate(maps.gait_percent.tolist()):
        pressure = 1e-6 * vertex_pressures(maps.vertices, maps.faces, maps.pressure_Pa[:, k])
        yield fig.plateau_pair(
            f"Pressure at {percent:.0f} % of the gait cycle",
            (1e3 * maps.vertices, maps.faces),
            pressure,
            [
                f"pose of the {name}, peak {number(max(float(values.max()), 0.0))} MPa"
                for name, values in zip(MODELS, pressure, strict=True)
            ],
            "pressure [MPa]",
            size=(6.4, 2.5),
            scale=fig.band_scale(bands),
            bands=bands,
            centres=[_centres(files, name, percent) for name in MODELS],
        )


def _centres(files: RunFiles, model: str, percent: float) -> list[FloatArray]:
    """Return the centres of pressure [mm] at the reported instant nearest to `percent`."""
    table = files.cycles[model]
    row = table.iloc[int((table["gait_percent"] - percent).abs().argmin())]
    return [
        1e3 * np.array([row[f"{name}_cop_{axis}_m"] for axis in "xyz"], dtype=np.float64)
        for name in COMPARTMENTS
    ]


def wear_pictures(files: RunFiles) -> Iterator[Picture]:
    """Yield the depths of wear per million cycles by both models, beside each other."""
    if files.wear is not None and files.maps is not None:
        maps = {
            # Of a million cycles, in micrometres.
            ("Depth of wear", "depth [µm per million cycles]"): 1e6 * 1e6 * files.wear.depth_m,
            ("Cross-shear", "cross-shear"): files.wear.cross_shear,
            ("Sliding distance", "sliding distance in contact [mm]"): 1e3 * files.wear.distance_m,
        }
        for (title, label), values in maps.items():
            yield fig.plateau_pair(
                f"{title}, original and surrogate",
                (1e3 * files.maps.vertices, files.maps.faces),
                values,
                ("original, by its pressures", "surrogate, from its loads"),
                label,
                size=(8.2, 3.3),
                scale=Normalize(0.0, max(float(np.max(values)), 1e-12)),
            )


def combination_pictures(files: RunFiles) -> Iterator[Picture]:
    """Yield a picture per quantity with all combinations, both models overlaid."""
    if files.combination_cycles is None:
        return
    parts = dict(list(files.combination_cycles.groupby(["combination", "model"], sort=False)))
    both = [name for name, model in parts if model == MODELS[0] and (name, MODELS[1]) in parts]
    for column, (factor, unit) in _DRAWN.items() if both else ():
        quantity = quantity_of(column)
        lines = {
            str(name): [quantity.for_people(parts[name, model][column]) for model in MODELS]
            for name in both
        }
        percent = parts[both[0], MODELS[0]]["gait_percent"].to_numpy()
        text = f"All combinations, both models: {quantity.label}"
        labels = axis_label(quantity), f"difference [{unit}]"
        yield _combinations(text, percent, lines, labels, factor)


@picture("png")
def _combinations(
    percent: FloatArray, lines: dict[str, list[FloatArray]], labels: tuple[str, str], factor: float
) -> Figure:
    """Draw a quantity over the cycle for all combinations, and the differences below."""
    figure = Figure(figsize=(4.6, 3.9), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    for name, (original, surrogate) in lines.items():
        colour = colour_of(name)
        upper.plot(percent, original, color=colour, lw=3.0, alpha=0.35)
        upper.plot(percent, surrogate, color=colour, lw=0.9, ls=_DASHES)
        lower.plot(percent, factor * (surrogate - original), color=colour, lw=0.8)
    upper.set_ylabel(labels[0])
    lower.set(xlabel="gait cycle [%]", ylabel=labels[1], xlim=(0.0, 100.0))
    handles = [
        Line2D([], [], color=fig.GREY, lw=3.0, alpha=0.5, label="original"),
        Line2D([], [], color=fig.INK, lw=0.9, ls=_DASHES, label="surrogate"),
        *(Line2D([], [], color=c, lw=2.0, label=n) for n, c in INPUT_COLOURS.items()),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4, handlelength=1.8)
    return figure


def colour_of(combination: str) -> str:
    """Return the colour of the input that a combination changes."""
    colours = (c for name, c in INPUT_COLOURS.items() if combination.startswith(name))
    return next(colours, fig.GREY)


# Width of the picture and of its parts [inch], and heights of title and labels.
_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 5.6, 0.62, 0.8, 0.34, 0.5


class PeakPressure(NamedTuple):
    """Pressure (V,) [MPa] on the plateau at an instant of the cycle."""

    #: Instant [% of the cycle].
    percent: float
    #: Vertices (V, 3) [mm], tibial frame, and triangles (F, 3) of the plateau.
    tibia: Triangles
    #: Pressure at the vertices, negative out of contact, (V,) [MPa].
    pressure: FloatArray
    #: Peak pressure of the cycle's model at the instant, medial and lateral, (2,) [MPa].
    peaks_MPa: FloatArray


def peak_pressure(files: RunFiles) -> PeakPressure | None:
    """Return the stored pressure with the highest peak of the original's cycle, None if none is."""
    fields, maps = files.fields, files.maps
    if fields is not None:
        frames, values = fields.frames, fields.values[MODELS[0]]
        at, surface = frames.gait_percent, (frames.tibia_vertices, frames.tibia_faces)
    elif maps is not None:
        at, surface = maps.gait_percent, (maps.vertices, maps.faces)
        values = vertex_pressures(*surface, maps.pressure_Pa[0])
    else:
        return None
    rows = nearest_rows(files.cycles[MODELS[0]], at)
    peaks = 1e-6 * np.nan_to_num(rows[PEAK_COLUMNS].to_numpy(dtype=np.float64))
    k = int(peaks.max(axis=1).argmax())
    return PeakPressure(float(at[k]), (1e3 * surface[0], surface[1]), 1e-6 * values[k], peaks[k])


def peak_picture(files: RunFiles) -> tuple[float, Picture] | None:
    """Return the instant of the highest peak pressure [% of the cycle] and the map at it."""
    found = peak_pressure(files)
    return None if found is None else peak_map(found, *bounds_of([found]))


def bounds_of(pressures: Sequence[PeakPressure]) -> tuple[float, FloatArray]:
    """Return the highest pressure [MPa] and the corners (2, 3) of the box of plateaus [mm]."""
    corners = np.concatenate([found.tibia[0][np.unique(found.tibia[1])] for found in pressures])
    limit = max(float(found.pressure.max()) for found in pressures)
    return limit or 1.0, np.array([corners.min(axis=0), corners.max(axis=0)])


def peak_map(found: PeakPressure, limit: float, corners: FloatArray) -> tuple[float, Picture]:
    """Return the instant [% of the cycle] and the map of a pressure within corners (2, 3) [mm]."""
    words = ", ".join(
        f"{name} peak {number(float(peak))} MPa"
        for name, peak in zip(COMPARTMENTS, found.peaks_MPa, strict=True)
    )
    text = f"Pressure on the tibial plateau at {number(found.percent)} % of the gait cycle: {words}"
    return found.percent, _map(text, found, limit, corners)


@picture("png")
def _map(found: PeakPressure, limit: float, corners: FloatArray) -> Figure:
    """Draw the plateau from above, lateral to the right and anterior up, both sides named."""
    margin = 0.03 * np.ptp(corners, axis=0)
    low, high = corners[0] - margin, corners[1] + margin
    deep, _, wide = high - low
    across = _WIDTH - _LEFT - _RIGHT
    tall = across * deep / wide
    height = tall + _TOP + _BOTTOM
    figure = Figure(figsize=(_WIDTH, height))
    place = (_LEFT / _WIDTH, _BOTTOM / height, across / _WIDTH, tall / height)
    axes = figure.add_axes(place)
    bands = fig.bands_of(limit)
    fig.pressure_map(axes, found.tibia, found.pressure, bands)
    axes.set(xlim=(low[2], high[2]), ylim=(low[0], high[0]))
    axes.set_xlabel("lateral [mm]", labelpad=1.0)
    axes.set_ylabel("anterior [mm]", labelpad=1.0)
    for x, name, peak in zip((0.25, 0.75), COMPARTMENTS, found.peaks_MPa, strict=True):
        words: Any = {"transform": axes.transAxes, "ha": "center", "va": "bottom"}
        axes.text(x, 1.02, f"{name}: {number(float(peak))} MPa", size=11, weight="bold", **words)
    bar = figure.add_axes((1.0 - 0.62 / _WIDTH, place[1], 0.14 / _WIDTH, place[3]))
    figure.colorbar(ScalarMappable(fig.band_scale(bands), fig.SHADES), cax=bar)
    bar.set_title("MPa", size=9.0, loc="left")
    return figure
