"""Comparison of contact models on one knee: from the configuration to the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from foundation.base.checks import FloatArray
from foundation.base.loads import AXIAL_FORCE, COMPARTMENTS, PEAK_PRESSURE
from foundation.base.pose import ANTERIOR, ROTATION
from foundation.base.threads import one_thread
from pipeline.config.schema import Config, require_knee
from pipeline.originals.finite_element_layer import CONDENSED
from pipeline.progress import bar, say
from pipeline.reports import charts
from pipeline.reports import figures as fig
from pipeline.reports.figures import Picture, picture
from pipeline.reports.judgement import judgement_lines
from pipeline.reports.pictures import PeakPressure, bounds_of, peak_map
from pipeline.reports.pressure_field import vertex_pressures
from pipeline.reports.units import number
from pipeline.store.job import Job, JobKind
from pipeline.studies.conduct import Outcome, Study, Table
from pipeline.studies.contact_models.content import (
    COARSE,
    ELEMENTS,
    MODELS,
    ComparedColumn,
    ComparedModel,
    ModelComparison,
    ModelKind,
    chosen,
    comparison_content,
    table_of,
)
from pipeline.studies.contact_models.knee import TIMES, ComparedKnee
from pipeline.studies.contact_models.measurement import (
    FOLDER,
    REASONS,
    GaitPoses,
    Measured,
    Truth,
    gait_poses,
    measure_at,
    measure_cycle,
    read_measured,
    truth_of,
    write_measured,
)

#: Colour of each group of models; a marker tells the models of a group apart.
COLOURS = {
    "finite elements": fig.INK,
    "springs": fig.BLUE,
    "surrogate": fig.VERMILLION,
}
MARKERS = "osD^vP*X"
#: Columns of the pictures of errors over time.
_OVER_TIME = ("force_percent", "peak_pressure_percent", "anterior_mm", "wear_percent")
#: Colours of the models over the cycle.
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
    figure, axes = fig.panel(fig.WIDE, x="time of one evaluation [µs]", y=label)
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


def _prepare(config: Config, job: Job) -> ComparedKnee:
    """Return the knee of a comparison, checked."""
    require_knee(config.knee, "a comparison of contact models")
    knee = ComparedKnee(config, job.folder, job.resume)
    knee.check()
    return knee


def _carry_out(knee: ComparedKnee, _: Job) -> Outcome:
    """Measure the models; a failure of a model but the finite elements is a row with its reason."""
    with one_thread:
        measured = _measure_all(knee, chosen(knee.settings.models))
        truth = truth_of(measured[ELEMENTS], measured.get(COARSE))
        content = comparison_content(knee, measured, truth)
        page = comparison_page(knee, content, measured, truth)
    flagged = [row.label.replace("µ", "u") for row in content.models if row.flags]
    told = f"{', '.join(flagged)}: instants of the cycle have flags"
    return Outcome(
        content,
        summary_lines(content),
        [f"{told}: do not trust the results there; see the page"] if flagged else (),
        page,
        {"compared_models.csv": Table(table_of(content), "%.6g")},
    )


def _measure_all(knee: ComparedKnee, kinds: tuple[ModelKind, ...]) -> dict[str, Measured]:
    """Measure the models one after the other; each is stored when it is done."""
    measured: dict[str, Measured] = {}
    given: GaitPoses | None = None
    for place, kind in enumerate(kinds):
        head = f"{place + 1}/{len(kinds)} {kind.label}"
        found = read_measured(knee.folder, kind.name) if knee.resume else None
        say(f"{head}{'' if found is None else ': known'}")
        if found is None:
            found = _measured(knee, kind, measured, given)
            write_measured(knee.folder, kind.name, found)
        measured[kind.name] = found
        if given is None:
            given = gait_poses(found, knee.settings.poses)
        for part, reason in found.failures.items():
            say(f"  {part}: {reason}")
    return measured


def _measured(
    knee: ComparedKnee, kind: ModelKind, earlier: dict[str, Measured], given: GaitPoses | None
) -> Measured:
    """Return the measurements of a model; a model that cannot be made has the reason alone."""
    try:
        built = kind.build(knee)
        gait = knee.gait
    except REASONS as error:
        return Measured(failures={"set-up": str(error)})
    teacher = earlier.get(built.teacher or "")
    with bar(100, "%", kind.label) as shown:

        def advance(part: float) -> None:
            shown.update(int(100 * part) - shown.n)

        patch = None if teacher is None else teacher.patch_on(knee.surfaces.tibia)
        found = measure_cycle(built, gait, patch, advance)
    if given is None and "cycle_poses" in found.arrays:
        given = gait_poses(found, knee.settings.poses)
    if given is not None:
        measure_at(built, found, given)
    return found


def summary_lines(content: ModelComparison) -> list[str]:
    """Return the lines on the terminal for a comparison."""
    shown = ("force_percent", "peak_pressure_percent", "wear_percent", "evaluation_us")
    columns = [column for column in content.columns if column.key in shown]
    lines = []
    for row in content.models:
        figures = (f"{c.label} {number(row.figures[c.key])} {c.unit}" for c in columns)
        known = any(value is not None for value in row.figures.values())
        text = ", ".join(figures) if known else "; ".join(row.failures.values())
        lines.append(f"{row.label}: {text}".replace("µ", "u"))
    for row in content.models:
        lines += judgement_lines(row.verdict)
    return lines


MODEL_COMPARISON = Study(
    # Weights change only the page, and a measured model does not depend on the other models.
    JobKind("comparison", "run", "comparison.toml", ("comparison.weights.", "comparison.models")),
    Config,
    "compared_models.json",
    "compared_models.html",
    _prepare,
    _carry_out,
    files=("compared_models.csv",),
    kept=(
        *(FOLDER, CONDENSED, TIMES),
        *(kind.name for kind in MODELS if kind.group == "surrogate"),
    ),
    ending="_comparison",
)
