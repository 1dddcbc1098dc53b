"""Sections of the report on the accuracy of the surrogate and on its trained domain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray
from foundation.base.loads import WRENCH_COLUMNS
from foundation.base.quantities import QUANTITIES, Quantity
from pipeline.config.schema import FeasibilityConfig
from pipeline.reports import figures as fig
from pipeline.reports.figures import Picture, picture
from pipeline.reports.inputs import RunFiles
from pipeline.reports.units import largest
from pipeline.stages.assessment import feasible
from pipeline.store import figures as stored
from pipeline.store.figures import AT_LOAD, AT_POSE, Figures, Standardised, of_model
from pipeline.store.quantities import CATALOGUE, axis_label, to_display
from pipeline.store.run_documents import Part
from pipeline.store.samples import FAILED, loads_of, poses_of, usable
from surrogates.families.cross_validation import NORMAL_95
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.domain import beyond
from surrogates.formulations.domain_fit import ERRORS, FAR, WRONG, is_far_off, is_wrong
from surrogates.sampling.space import VARIABLES, SampleSpace


def domain_of(files: RunFiles) -> dict[str, Any] | None:
    """Return numbers of held-out samples with a flag, and of wrong answers without one."""
    if files.knee is None:
        return None
    feasibility = FeasibilityConfig.model_validate(
        {k: tuple(v) if isinstance(v, list) else v for k, v in files.config["feasibility"].items()}
    )
    return {
        "wrong_percent_of_largest": 100.0 * WRONG,
        "standard_errors": ERRORS,
        "far_off_percent_of_largest": 100.0 * FAR,
        "compartments": {
            name: judged(files.knee.compartment(name), usable(files.held_out, name), feasibility)
            for name in files.compartments
        },
    }


def judged(
    surrogate: CompartmentSurrogate, rows: pd.DataFrame, feasibility: FeasibilityConfig
) -> dict[str, float | None]:
    """Return how many samples of a compartment are flagged, feasible, wrong and far off."""
    poses, truth = poses_of(rows), loads_of(rows)
    found = surrogate.loads(poses, order=1)
    loads, flagged = found.array, is_flagged(found.variables)
    error = np.abs(loads - truth)[:, :3]
    largest = float(surrogate.space.load[1])
    expected = surrogate.standard_error(poses)[:, :3]
    wrong, far = is_wrong(loads - truth, expected, largest), is_far_off(loads - truth, largest)
    kept = rows.index.isin(feasible(rows, feasibility).index)
    known = np.isfinite(expected) & ~flagged[:, None]
    covered = error[known] <= NORMAL_95 * expected[known]
    return {
        "points": len(rows),
        "flagged": int(flagged.sum()),
        "feasible": int(kept.sum()),
        "feasible_flagged": int((flagged & kept).sum()),
        "wrong": int(wrong.sum()),
        "wrong_without_flag": int((wrong & ~flagged).sum()),
        "far_off": int(far.sum()),
        "far_off_without_flag": int((far & ~flagged).sum()),
        "covered_without_flag_percent": 100.0 * float(covered.mean()) if covered.size else None,
    }


def is_flagged(variables: FloatArray) -> np.ndarray:
    """Return whether poses are outside the domain (N,), by their variables (N, 7) [1]."""
    return np.asarray(beyond(variables).any(axis=1))


#: Expected coverage of 95 % intervals on held-out loads [%].
COVERAGE_RANGE = (90.0, 99.0)
#: Errors at a given load by which users judge a surrogate: column, statistic, words.
JUDGED_AT_LOAD = (
    ("height_m", "rmse", "height, RMS"),
    ("force_x_over_axial", "rmse", "AP force over axial force, RMS"),
    ("force_z_over_axial", "rmse", "ML force over axial force, RMS"),
    ("cop_distance_m", "rmse", "centre of pressure, RMS distance"),
    ("cop_distance_m", "maximum", "centre of pressure, largest distance"),
)


class Accuracy(Part):
    """Held-out samples, and the surrogates judged by them, that of the run first."""

    seed: int
    design: str
    points_per_compartment: int
    failed: int
    wanted_error_percent: float | None
    models: list[dict[str, Any]]
    compartments: list[str]
    quantiles: dict[str, Any]
    worst_cases: list[dict[str, Any]]
    too_narrow: list[str]
    learning_curve: list[dict[str, Any]]
    front: list[dict[str, Any]]


def accuracy_of(files: RunFiles) -> Accuracy:
    """Return the section on the accuracy of the report of a run."""
    validation, settings = files.validation, files.config["validation"]
    shown: dict[str, Any] = to_display(validation)
    low, _ = COVERAGE_RANGE
    covered = [
        (row, row.displayed["value"])
        for row in files.figures.of(AT_POSE, "coverage", *WRENCH_COLUMNS)
    ]
    return Accuracy(
        seed=files.run.held_out_seed,
        design="rows of the table" if files.run.triangles is None else settings["kind"],
        points_per_compartment=settings["points"],
        failed=int((files.held_out["status"] == FAILED).sum()),
        wanted_error_percent=files.config["surrogate"].get("wanted_error_percent"),
        models=shown["models"],
        compartments=list(validation.parts),
        quantiles=shown["standardised"],
        worst_cases=shown["worst"],
        too_narrow=[
            f"{row.part} {CATALOGUE[row.quantity].label} ({value:.0f} %)"
            for row, value in covered
            if value is not None and value < low
        ],
        learning_curve=[
            {"stage": "g: final" if k == len(validation.learning_curve) else f"c: round {k}", **row}
            for k, row in enumerate(shown["learning_curve"], start=1)
        ],
        front=shown.get("front", []),
    )


def worst_load(figures: Figures, model: int = 0) -> stored.Figure:
    """Return the largest NRMSE of the six loads at a given pose; undefined is largest."""
    found = figures.worst(of_model(AT_POSE, model), "nrmse", *WRENCH_COLUMNS)
    assert found is not None  # `Validation` has them
    return found


def height_error(figures: Figures, statistic: str = "rmse", model: int = 0) -> stored.Figure | None:
    """Return the height error at a given load of the worse compartment, None if undefined."""
    found = figures.worst(of_model(AT_LOAD, model), statistic, "height_m")
    return None if found is None or found.value is None else found


def model_row(figures: Figures, model: int) -> dict[str, float | None]:
    """Return the errors of a model for people: worst load, axial force, and height at a load."""
    axial = largest(row.value for row in figures.of(of_model(AT_POSE, model), "nrmse", "force_y_N"))
    height = height_error(figures, model=model)
    return {
        "worst_load": worst_load(figures, model).displayed["value"],
        "axial_force": None if axial is None else 100.0 * axial,
        "height": None if height is None else height.displayed["value"],
    }


def verdict_of_coverage(percent: float | None) -> str:
    """Return "low" or "high" for a coverage outside of `COVERAGE_RANGE`, else ""."""
    low, high = COVERAGE_RANGE
    if percent is None or low <= percent <= high:
        return ""
    return "low" if percent < low else "high"


_PARITY = (*WRENCH_COLUMNS, "area_m2", "peak_pressure_Pa")
_RESIDUAL = ("force_y_N", "force_x_N", "peak_pressure_Pa")
_MOST_ERRORS = 6.0
#: Pairs of variables of the box that the domain is drawn over.
_PAIRS = ((0, 3), (4, 1))
#: Pose columns of the variables of the box but the load, for their units.
_UNITS = [
    QUANTITIES[name]
    for name in ("flexion_rad", "adduction_rad", "rotation_rad", "anterior_m", "lateral_m")
]

Values = Mapping[str, ArrayLike]


def _by_compartment(
    files: RunFiles, values: pd.Series[float], quantity: Quantity
) -> dict[str, FloatArray]:
    """Return values of the held-out samples in units for people, by compartment."""
    compartment = files.predictions["compartment"]
    return {name: quantity.for_people(values[compartment == name]) for name in files.compartments}


def _scatter(axes: Axes, x: Values, y: Values, size: float) -> None:
    """Draw a point per sample, by compartment."""
    for name, (colour, marker) in fig.compartment_styles(x).items():
        axes.scatter(
            x[name], y[name], s=size, c=colour, marker=marker, alpha=0.55, lw=0,
            label=name, rasterized=True, zorder=2,
        )  # fmt: skip


def _diagonal(axes: Axes, ends: FloatArray, ticks: int) -> None:
    """Draw the diagonal of square axes between two ends."""
    axes.plot(ends, ends, color=fig.GREY, lw=1.0, zorder=1)
    axes.set(xlim=ends, ylim=ends, aspect="equal")
    axes.locator_params(nbins=ticks)


def parity_pictures(files: RunFiles) -> Iterator[Picture]:
    """Yield predicted over true loads of the held-out samples, a picture per quantity."""
    table = files.predictions
    for column in (c for c in _PARITY if QUANTITIES[c].name not in files.hidden):
        quantity = QUANTITIES[column]
        truth, predicted = (
            _by_compartment(files, table[c], quantity) for c in (column, f"predicted_{column}")
        )
        text = f"Surrogate over original: {quantity.label}"
        yield parity_panel(text, truth, predicted, axis_label(quantity))


@picture("svg")
def parity_panel(truth: Values, prediction: Values, title: str) -> Figure:
    """Draw predicted over true values (N,) [unit in `title`] of both compartments in one panel."""
    figure, axes = fig.panel(fig.SQUARE, x="original", y="surrogate", title=title)
    values = np.concatenate([np.ravel(v) for v in (*truth.values(), *prediction.values())])
    known = values[np.isfinite(values)]
    ends = np.array([known.min(), known.max()]) if known.size else np.array([0.0, 1.0])
    # A nearly constant quantity still needs a frame of some width.
    ends = ends + np.array([-1.0, 1.0]) * max(0.04 * np.ptp(ends), 1e-9 * np.abs(ends).max(), 1e-12)
    _diagonal(axes, ends, 5)
    _scatter(axes, truth, prediction, 9)
    axes.legend(loc="upper left", handletextpad=0.1, borderaxespad=0.1, markerscale=1.6)
    return figure


def residual_pictures(files: RunFiles) -> Iterator[Picture]:
    """Yield surrogate less original of the held-out samples, over load, flexion, axial force."""
    table = files.predictions
    for column in (c for c in _RESIDUAL if QUANTITIES[c].name not in files.hidden):
        quantity = QUANTITIES[column]
        residual = _by_compartment(files, table[f"predicted_{column}"] - table[column], quantity)
        label = f"{quantity.label}, residual [{quantity.unit_for_people}]"
        for below in dict.fromkeys((column, "flexion_rad", "force_y_N")):
            other = QUANTITIES[below]
            text = f"Residual of the {quantity.label} over {other.label}"
            over = _by_compartment(files, table[below], other)
            yield _residuals(text, over, residual, axis_label(other), label)


@picture("svg")
def _residuals(over: Values, residual: dict[str, FloatArray], x: str, y: str) -> Figure:
    figure, axes = fig.panel(fig.SQUARE, x=x, y=y)
    rms = float(np.sqrt(np.nanmean(np.concatenate(list(residual.values())) ** 2)))
    axes.axhspan(-rms, rms, color=fig.GREY, alpha=0.14, lw=0, label="± RMS", zorder=0)
    axes.axhline(0.0, color=fig.GREY, lw=1.0, zorder=1)
    _scatter(axes, over, residual, 12)
    axes.locator_params(axis="x", nbins=5)
    fig.legend_above(axes, 3)
    return figure


def learning_pictures(rows: Sequence[Mapping[str, Any]], *, both: bool) -> Iterator[Picture]:
    """Yield the learning curve of one or `both` compartments, a picture for each known error."""
    counts = np.array([row["samples"] for row in rows], dtype=float)
    for key, label, unit in (
        ("load_error_percent", "axial load at a pose", "% of the largest"),
        ("height_um", "height at a load", "µm"),
    ):
        # None, an unknown error, becomes NaN.
        crossed, held_out = (
            np.array([row.get(name) for row in rows], dtype=float)
            for name in (key, f"held_out_{key}")
        )
        if np.isfinite([*crossed, *held_out]).any():
            name = f"Learning curve: {label}"
            yield _learning(name, counts, crossed, held_out, f"{label} [{unit}]", both)


@picture("svg")
def _learning(
    counts: FloatArray, crossed: FloatArray, held_out: FloatArray, label: str, both: bool
) -> Figure:
    """Draw the cross-validated and held-out errors; the last surrogates are the final ones."""
    figure, axes = fig.panel(x=f"samples{' of both compartments' if both else ''}", y=label)
    for values, colour, line, name in (
        (crossed, fig.BLUE, "o-", "cross-validated"),
        (held_out, fig.VERMILLION, "s--", "held-out samples"),
    ):
        known = np.isfinite(values)
        if known.any():
            axes.plot(counts[known], values[known], line, color=colour, lw=1.8, ms=4.5, label=name)
            if known[-1]:
                axes.plot(counts[-1:], values[-1:], line[0], color=colour, ms=8.0)
    values = np.concatenate([crossed, held_out])
    low, high = np.nanmin(values), np.nanmax(values)
    if low > 0.0:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(fig.plain_number))
        # Less than two decades have hardly a major tick.
        few = high < 100.0 * low
        axes.yaxis.set_minor_formatter(FuncFormatter(fig.plain_number) if few else NullFormatter())
        axes.yaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
        axes.set_ylim(0.7 * low, 1.4 * high)
    axes.locator_params(axis="x", nbins=5)
    fig.legend_above(axes, 2)
    return figure


def quantile_pictures(compartments: Mapping[str, Standardised]) -> Iterator[Picture]:
    """Yield the quantile plots of the standardised residuals of compartments."""
    styles = fig.compartment_styles(compartments)
    for name, style in styles.items():
        pair = compartments[name]
        if pair.normal_ratio:
            normal, held_out = np.array(pair.normal_ratio), np.array(pair.held_out_ratio)
            text = f"Quantiles of standardised residuals, {name}"
            yield _quantiles(text, name, normal, held_out, style)


@picture("svg")
def _quantiles(
    compartment: str, normal: FloatArray, held_out: FloatArray, style: tuple[str, str]
) -> Figure:
    figure, axes = fig.panel(
        fig.SQUARE, x="normal quantile", y="residual over standard error", title=compartment
    )
    reach = 1.08 * min(max(np.abs(normal).max(), np.abs(held_out).max()), _MOST_ERRORS)
    ends = np.array([-reach, reach])
    axes.axvspan(-NORMAL_95, NORMAL_95, color=fig.GREY, alpha=0.12, lw=0)
    _diagonal(axes, ends, 7)
    colour, marker = style
    points = normal, np.clip(held_out, *ends)
    axes.plot(*points, marker, color=colour, ms=3.2, mew=0.0, alpha=0.8, clip_on=False, zorder=2)
    return figure


def domain_pictures(files: RunFiles) -> Iterator[Picture]:
    """Yield held-out poses over pairs of variables, trusted and flagged, with the gait cycle."""
    if files.knee is None:
        return
    cycle = next(iter(files.cycles.values()), None)
    for name in files.compartments:
        surrogate = files.knee.compartment(name)
        poses = poses_of(usable(files.held_out, name))
        flagged = is_flagged(surrogate.loads(poses).variables)
        points = _offsets(surrogate.space, poses)
        path = None if cycle is None else _offsets(surrogate.space, poses_of(cycle))
        for pair in _PAIRS:
            first, second = (VARIABLES[k] for k in pair)
            text = f"Poses of the {name} compartment over {first} and {second}: trusted and flagged"
            yield _domain(text, points, flagged, path, pair, name)


def _offsets(space: SampleSpace, poses: FloatArray) -> FloatArray:
    """Return flexion and offsets from the path (N, 5) in units for people."""
    scaled, _ = space.scaled(poses, np.zeros(len(poses)))
    centre, half = space.centre_and_half
    raw = centre + half * scaled
    return np.column_stack([unit.for_people(raw[:, k]) for k, unit in enumerate(_UNITS)])


@picture("svg")
def _domain(
    points: FloatArray,
    flagged: np.ndarray,
    path: FloatArray | None,
    pair: tuple[int, int],
    title: str,
) -> Figure:
    x, y = (
        f"{VARIABLES[k]}{' from the path' if k else ''} [{_UNITS[k].unit_for_people}]" for k in pair
    )
    figure, axes = fig.panel(fig.SQUARE, x=x, y=y)
    axes.set_title(title, loc="left", pad=20)
    for chosen, label, colour, marker in (
        (flagged, "flagged", fig.VERMILLION, "x"),
        (~flagged, "trusted", fig.BLUE, "o"),
    ):
        axes.scatter(
            points[chosen, pair[0]], points[chosen, pair[1]], s=12, c=colour, marker=marker, lw=0.8,
            alpha=0.6, label=label, rasterized=True,
        )  # fmt: skip
    if path is not None:
        axes.plot(*path[:, pair].T, color=fig.INK, lw=1.4, label="gait cycle")
    fig.legend_above(axes, 3)
    return figure
