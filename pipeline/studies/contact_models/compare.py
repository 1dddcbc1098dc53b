"""Comparison of contact models on one knee: the models, their measurement, table and page.

A new model is a row of `MODELS` and a name in `pipeline.config.contact_schema.ComparedModel`; its
`build` returns a model that implements `dynamics.protocol.ContactModel`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from dynamics.protocol import ContactModel
from foundation.base.checks import FloatArray
from foundation.base.threads import one_thread
from foundation.finite_element.model import coarser
from pipeline.config.schema import Config, require_knee
from pipeline.originals.finite_element_layer import CONDENSED
from pipeline.originals.spring_bed import build_bed
from pipeline.progress import say
from pipeline.reports import figures as fig
from pipeline.reports.figures import Picture, picture
from pipeline.reports.units import ASCII, number
from pipeline.store.job import Job, JobKind
from pipeline.store.run_documents import Computed
from pipeline.studies.calibration import FREE_LAWS, fit_law, free_springs, linear_springs
from pipeline.studies.conduct import Outcome, Study, Table
from pipeline.studies.contact_models.knee import (
    ELEMENTS,
    TIMES,
    Built,
    ComparedKnee,
    given_parameters,
    timed,
)
from pipeline.studies.contact_models.measurement import (
    COLUMNS,
    FOLDER,
    REASONS,
    Column,
    Measured,
    Truth,
    figures_of,
    gait_poses,
    measure,
    read_measured,
    truth_of,
    write_measured,
)

COARSE = "finite_elements_coarse"
#: Spring laws of the compared springs.
LAWS = ("linear", "logarithmic", "modified", "coupled")


class ModelKind(NamedTuple):
    """A compared model."""

    #: Name in files and in `[comparison] models`.
    name: str
    #: Name on the page.
    label: str
    #: "finite elements", "springs" or "surrogate".
    group: str
    #: Raises `InputError`, `StageError` or `ExecutionError` where the model cannot be made.
    build: Callable[[ComparedKnee], Built]


def _elements(knee: ComparedKnee) -> Built:
    return knee.condensed_elements(ELEMENTS)


def _coarse_elements(knee: ComparedKnee) -> Built:
    start = time.perf_counter()
    model = coarser(knee.elements)
    return knee.condensed(COARSE, model, time.perf_counter() - start)


def _springs(knee: ComparedKnee, law: str) -> Built:
    config = knee.springs(law, **given_parameters(knee.config, law))
    return timed(lambda: build_bed(config.contact, knee.surfaces))


def _calibrated(knee: ComparedKnee, law: str) -> Built:
    samples = knee.samples

    def fitted() -> ContactModel:
        springs = free_springs(knee, samples.value, linear_springs(knee), law)
        return springs.at(fit_law(springs.free, springs.at, samples.value).values)

    return timed(fitted, samples.seconds)


def _springs_surrogate(knee: ComparedKnee) -> Built:
    seconds = _springs(knee, "linear").seconds
    return knee.trained("springs_surrogate", knee.springs("linear"), seconds)


def _elements_surrogate(knee: ComparedKnee) -> Built:
    return knee.trained("elements_surrogate", knee.elements_config, _elements(knee).seconds)


def _springs_by_law() -> Iterator[ModelKind]:
    for law in LAWS:
        label, build = f"springs, {law} law", partial(_springs, law=law)
        yield ModelKind(law, label, "springs", build)
        if law in FREE_LAWS:
            name, build = f"{law}_calibrated", partial(_calibrated, law=law)
            yield ModelKind(name, f"{label}, calibrated", "springs", build)


_ELEMENTS, _SURROGATE = "finite elements", "surrogate"
#: The compared models; the finite elements come first, since their cycle gives the poses.
MODELS = (
    ModelKind(ELEMENTS, _ELEMENTS, _ELEMENTS, _elements),
    ModelKind(COARSE, f"{_ELEMENTS}, twice the spacing", _ELEMENTS, _coarse_elements),
    *_springs_by_law(),
    ModelKind("springs_surrogate", "surrogate of linear springs", _SURROGATE, _springs_surrogate),
    ModelKind("elements_surrogate", f"surrogate of {_ELEMENTS}", _SURROGATE, _elements_surrogate),
)
#: Rows that every comparison has: the finite elements are what all errors refer to.
ALWAYS = (ELEMENTS, COARSE)


class ComparedModel(Computed):
    """A row of the table: figures by column, and what could not be computed."""

    name: str
    label: str
    group: str
    figures: dict[str, float | None]
    failures: dict[str, str]
    flags: list[str]


class ModelComparison(Computed):
    """`compared_models.json`: every figure of every model.

    `extrapolated` are the groups of columns in which the truth is extrapolated.
    """

    name: str
    node_spacing_mm: float
    extrapolated: list[str]
    poses: int
    columns: list[Column]
    models: list[ComparedModel]


def comparison_content(
    knee: ComparedKnee, measured: dict[str, Measured], truth: Truth
) -> ModelComparison:
    """Return the comparison from the measurements by model."""
    elements = knee.elements_config.contact.finite_element
    assert elements is not None  # the configuration of the finite elements
    rows = [(kind, measured[kind.name]) for kind in MODELS if kind.name in measured]
    return ModelComparison(
        name=knee.config.run.name,
        node_spacing_mm=elements.node_spacing_mm,
        extrapolated=sorted(truth.extrapolated),
        poses=len(truth.touching),
        columns=list(COLUMNS),
        models=[
            ComparedModel(
                name=kind.name,
                label=kind.label,
                group=kind.group,
                figures=figures_of(found, truth),
                failures=found.failures,
                flags=found.flags,
            )
            for kind, found in rows
        ],
    )


def table_of(content: ModelComparison) -> pd.DataFrame:
    """Return a row per model and a column per figure, whose name has the unit."""
    keys = [column.key for column in content.columns]
    return pd.DataFrame(
        {
            "model": row.name,
            **{key: row.figures[key] for key in keys},
            "failures": "; ".join(f"{part}: {text}" for part, text in row.failures.items()),
        }
        for row in content.models
    ).astype(dict.fromkeys(keys, float))


#: Colour of each group of models; a marker tells the models of a group apart.
COLOURS = {
    "finite elements": fig.INK,
    "springs": fig.BLUE,
    "surrogate": fig.VERMILLION,
}
MARKERS = "osD^vP*X"


def comparison_page(content: ModelComparison) -> dict[str, Any]:
    """Return the content of `compared_models.html`."""
    groups: dict[str, list[Column]] = {}
    for column in content.columns:
        groups.setdefault(column.group, []).append(column)
    first = [
        *(f"{row.label}: {flag}" for row in content.models for flag in row.flags),
        *(
            f"{row.label}, {part}: {reason}"
            for row in content.models
            for part, reason in row.failures.items()
        ),
    ]
    pictures = list(_over_time(content))
    return {**dict(content), "groups": groups, "first": first, "pictures": pictures}


def _over_time(content: ModelComparison) -> Iterator[Picture]:
    """Yield an error at given poses, and one under load, over the time of an evaluation."""
    columns = {column.key: column for column in content.columns}
    for key in ("force_percent", "gait_peak_pressure_percent"):
        points = [
            (row, time, error)
            for row in content.models
            if (time := row.figures["evaluation_us"]) and (error := row.figures[key])
        ]
        label = f"{columns[key].label} {columns[key].group}, error [{columns[key].unit}]"
        if points:
            yield _scatter(f"{label}, over the time of an evaluation", points, label)


@picture("svg")
def _scatter(points: list[tuple[ComparedModel, float, float]], label: str) -> Figure:
    """Draw errors over the time of an evaluation, a marker per model, both axes logarithmic."""
    figure, axes = fig.panel(fig.WIDE, x="time of one evaluation [µs]", y=label)
    counts: dict[str, int] = {}
    for row, seconds, error in points:
        marker = MARKERS[counts.setdefault(row.group, 0) % len(MARKERS)]
        counts[row.group] += 1
        axes.plot([seconds], [error], marker, color=COLOURS[row.group], ms=7.0, label=row.label)
    axes.set(xscale="log", yscale="log")
    for axis in (axes.xaxis, axes.yaxis):
        # In less than two decades, ticks at powers of ten are too few.
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(fig.plain_number))
        axis.set_minor_locator(NullLocator())
    axes.margins(0.12)
    figure.legend(loc="outside lower center", ncols=2, fontsize=7.0)
    return figure


def _prepare(config: Config, job: Job) -> ComparedKnee:
    """Return the knee of a comparison, checked."""
    require_knee(config.knee, "a comparison of contact models")
    knee = ComparedKnee(config, job.folder, job.resume)
    knee.check()
    return knee


def _carry_out(knee: ComparedKnee, _: Job) -> Outcome:
    """Measure the models; a failure of a model but the finite elements is a row with its reason."""
    names = knee.settings.models
    with one_thread:
        measured = compare([m for m in MODELS if not names or m.name in (*ALWAYS, *names)], knee)
        truth = truth_of(measured[ELEMENTS], measured.get(COARSE))
    content = comparison_content(knee, measured, truth)
    flagged = ", ".join(row.label for row in content.models if row.flags)
    told = f"{flagged}: instants of the cycle have flags: do not trust the results there; see the"
    return Outcome(
        content,
        summary_lines(content),
        [f"{told} page".translate(ASCII)] if flagged else (),
        comparison_page(content),
        {"compared_models.csv": Table(table_of(content), "%.6g")},
    )


def compare(models: list[ModelKind], knee: ComparedKnee) -> dict[str, Measured]:
    """Measure models one after the other, the finite elements first; each is stored when done."""
    measured: dict[str, Measured] = {}
    poses: FloatArray | None = None
    for place, kind in enumerate(models, start=1):
        found = read_measured(knee.folder, kind.name) if knee.resume else None
        say(f"{place}/{len(models)} {kind.label}{'' if found is None else ': known'}")
        if found is None:
            found = _measured(knee, kind, poses)
            write_measured(knee.folder, kind.name, found)
        measured[kind.name] = found
        if poses is None:
            poses = gait_poses(found, knee.settings.poses)
        for part, reason in found.failures.items():
            say(f"  {part}: {reason}")
    return measured


def _measured(knee: ComparedKnee, kind: ModelKind, poses: FloatArray | None) -> Measured:
    """Return the measurements of a model; a model that cannot be made has the reason alone."""
    try:
        built = kind.build(knee)
        gait = knee.gait
    except REASONS as error:
        return Measured(failures={"set-up": str(error)})
    return measure(built, gait, poses, knee.settings.poses)


#: Figures on the terminal, in words.
_SHOWN = {
    "force_percent": ("force at a pose", "%"),
    "gait_peak_pressure_percent": ("peak pressure over gait", "%"),
    "evaluation_us": ("one evaluation", "us"),
}


def summary_lines(content: ModelComparison) -> list[str]:
    """Return the lines on the terminal for a comparison."""
    lines = []
    for row in content.models:
        known = any(value is not None for value in row.figures.values())
        figures = (
            f"{words} {number(row.figures[key])} {unit}" for key, (words, unit) in _SHOWN.items()
        )
        text = ", ".join(figures) if known else "; ".join(row.failures.values())
        lines.append(f"{row.label}: {text}".translate(ASCII))
    return lines


MODEL_COMPARISON = Study(
    # A measured model does not depend on the other models.
    JobKind("comparison", "run", "comparison.toml", ("comparison.models",)),
    Config,
    "compared_models.json",
    "compared_models.html",
    _prepare,
    _carry_out,
    files=("compared_models.csv",),
    kept=(
        *(FOLDER, CONDENSED, TIMES),
        *(kind.name for kind in MODELS if kind.group == _SURROGATE),
    ),
    ending="_comparison",
)
