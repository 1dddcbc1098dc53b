"""Pictures of laxity tests: curves, laxity over flexion, tensions, draws of parameters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from dynamics.laxity.parameters import Answer
from dynamics.laxity.states import DIRECTIONS, LaxityKnee
from dynamics.ligaments.bundles import ligament_forces
from dynamics.simulator.equilibrium import EquilibriumError
from foundation.base.checks import FloatArray
from pipeline.config.laxity_schema import LaxityTestConfig
from pipeline.reports import figures as fig
from pipeline.reports.charts import Chart, chart, line, lines_of
from pipeline.reports.figures import Picture, picture
from pipeline.studies.laxity.documents import LaxityDocument, Parameter

#: Parameters of the corner plot, tensions of a chart, and states between two loads of a curve.
_CORNER, _TENSIONS, _BETWEEN = 5, 6, 4
#: Radius of a measured point.
_DOT = 3.0
_COLOURS = (fig.BLUE, fig.VERMILLION, fig.GREEN, fig.ORANGE)
_WORDS = {"anterior": "anterior drawer", "internal": "internal rotation", "varus": "varus"}


class Page(NamedTuple):
    """What the pictures show."""

    document: LaxityDocument
    tests: tuple[LaxityTestConfig, ...]
    #: The knee with the calibrated ligaments, or those of the table.
    knee: LaxityKnee
    answer: Answer
    #: Draws of the parameters (M, P) [1, m].
    drawn: FloatArray


def pictures(page: Page) -> dict[str, list[Picture]]:
    """Return the pictures by section of the page."""
    return {
        "laxity": list(_over_flexion(page)),
        "curves": list(_curves(page)),
        "tensions": list(_tensions(page)),
        "corner": [_corner("draws of the parameters that the tests teach most", page)]
        if len(page.drawn)
        else [],
    }


def _over_flexion(page: Page) -> Iterator[Picture]:
    for name, direction in DIRECTIONS.items():
        rows = sorted(
            (row for row in page.document.tests if row.direction == name),
            key=lambda row: row.flexion_deg,
        )
        if not rows:
            continue
        flexion = [row.flexion_deg for row in rows]
        lines = [line("table", [row.given for row in rows], colour=fig.BLUE)]
        if page.document.calibration is not None:
            lines.append(_limit("calibrated", [row.calibrated for row in rows]))
            lines.append(_limit("5 %", [row.low for row in rows], dashed=True))
            lines.append(_limit("95 %", [row.high for row in rows], dashed=True))
        measured = [row.measured for row in rows]
        if any(value is not None for value in measured):
            values = np.array(measured, float)
            lines.append(line("measured", values, colour=fig.INK, points=True, width=_DOT))
        text = f"laxity over flexion, {_WORDS[name]}"
        yield chart(
            f"laxity_{name}", text, "flexion [°]", f"{_WORDS[name]} [{direction.unit}]", lines,
            at=flexion, from_zero=True,
        )  # fmt: skip


def _limit(name: str, values: list[float | None], dashed: bool = False) -> Chart:
    return line(name, np.array(values, float), colour=fig.VERMILLION, dashed=dashed)


def _curves(page: Page) -> Iterator[Picture]:
    for name, direction in DIRECTIONS.items():
        curves: list[Chart] = []
        dots: list[Chart] = []
        for k, test in enumerate(page.tests):
            if test.direction != name:
                continue
            states = page.answer.states[k]
            # A finer path may end where the loads of the test do not.
            with suppress(EquilibriumError):
                states = page.knee.refined(states, _BETWEEN)
            colour = _COLOURS[len(curves) % len(_COLOURS)]
            curves.append(line(test.title, states.displacement, x=states.test.loads, colour=colour))
            if test.measured:
                moved = np.array(test.measured) - test.measured[0]
                dots.append(line("", moved, x=test.loads, colour=colour, points=True, width=_DOT))
        if curves:
            yield chart(
                f"curves_{name}", f"displacement over load, {_WORDS[name]}; dots are measured",
                f"load [{direction.load_unit}]", f"displacement [{direction.unit}]", curves + dots,
            )  # fmt: skip


def _tensions(page: Page) -> Iterator[Picture]:
    """Yield tensions of the bundles that pull most, over flexion, at either end of the tests."""
    for name in DIRECTIONS:
        chosen = [k for k, test in enumerate(page.tests) if test.direction == name]
        chosen.sort(key=lambda k: page.answer.states[k].poses[0, 0])
        for end, word in ((1, "least load"), (-1, "largest load")):
            poses = np.array([page.answer.states[k].poses[end] for k in chosen]).reshape(-1, 6)
            if not len(poses):
                continue
            tensions = ligament_forces(page.knee.ligaments, poses)
            order = np.argsort(-tensions.max(axis=0))[:_TENSIONS]
            lines = lines_of({page.knee.ligaments[k].name: tensions[:, k] for k in order})
            yield chart(
                f"tensions_{name}_{'low' if end == 1 else 'high'}",
                f"tensions over flexion, {_WORDS[name]}, {word}", "flexion [°]", "tension [N]",
                lines, at=np.degrees(poses[:, 0]), title=f"{_WORDS[name]}, {word}",
            )  # fmt: skip


@picture("svg")
def _corner(page: Page) -> Figure:
    """Draw the draws of pairs of the parameters that narrow most."""
    assert page.document.calibration is not None
    parameters = page.document.calibration.parameters
    order = np.argsort([row.width for row in parameters])[:_CORNER]
    count = len(order)
    figure = Figure(figsize=(1.6 * count, 1.6 * count), layout="constrained")
    grid = figure.subplots(count, count, squeeze=False)
    for i, first in enumerate(order):
        for k, second in enumerate(order):
            axes = grid[i, k]
            if k > i:
                axes.set_axis_off()
                continue
            pair = [_shown(page, j) for j in (second, first)]
            if i == k:
                axes.hist(pair[0], bins=12, color=fig.BLUE)
                axes.set_yticks([])
            else:
                axes.plot(*pair, ".", color=fig.BLUE, markersize=3)
            if i == count - 1:
                axes.set_xlabel(_label(parameters[second]), fontsize=6)
            if k == 0 and i > 0:
                axes.set_ylabel(_label(parameters[first]), fontsize=6)
            axes.tick_params(labelsize=6)
    return figure


def _shown(page: Page, k: int) -> FloatArray:
    """Return the draws (M,) of a parameter, in its unit."""
    assert page.document.calibration is not None
    is_factor = page.document.calibration.parameters[k].unit == "%"
    values = page.drawn[:, k]
    return 100.0 * np.expm1(values) if is_factor else 1e3 * values


def _label(row: Parameter) -> str:
    return f"{row.group}\n{row.name} [{row.unit}]"
