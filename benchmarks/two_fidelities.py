"""Error of a surrogate over the number of finite-element solves: alone, and with springs beside.

`python -m benchmarks.two_fidelities` prints a table for each knee and draws the figure; `--docs`
replaces docs/two_fidelities.png, `--knee` chooses one knee. The runs and all tables are kept in
runs/benchmarks/two_fidelities, so that a second call fits nothing twice.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from threadpoolctl import threadpool_limits

from benchmarks.fidelity_learners import (
    Learnt,
    fit_alone,
    fit_on_springs,
    fit_on_surrogate,
    outputs_of,
)
from benchmarks.fidelity_samples import (
    Compartment,
    compartments,
    finished_run,
    gait_figures,
)
from benchmarks.frame import DEFAULT, Table, add_target, alike, show, write
from benchmarks.measures import rms
from benchmarks.timing import clocked
from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from pipeline.config.reading import load_config, shipped_config
from pipeline.originals.candidates import sample_space
from pipeline.stages.fitting import family_fitter
from pipeline.stages.trained_run import TrainedRun
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.validation import errors_at_pose

FOLDER = DEFAULT / "two_fidelities"
#: Configuration of a knee and the keys that give enough samples, one solve each.
KNEES = {
    "implant": (
        "finite_element_implant",
        (
            "design.candidates=8192", "design.budget=4000", "design.rounds=1",
            'design.infill="sequence"', 'design.follow="pose"', "design.gait_samples=2200",
            'surrogate.family="polynomial"', "surrogate.compare=[]", "validation.points=500",
        ),
    ),
    "grand_challenge": ("finite_element_grand_challenge", ()),
}  # fmt: skip
#: Numbers of samples of finite elements of a compartment.
COUNTS = (50, 100, 200, 500, 1000, 2000, 5000)
#: Kriging of more points takes minutes; networks want some hundred samples.
_MOST_DIFFERENCES, _FEWEST_FOR_NETWORK = 2000, 1000
#: Samples of springs and most of finite elements for co-Kriging, which searches slowly.
_SPRINGS_OF_MFK, _MOST_OF_MFK = 500, 200
ALONE, ON_SPRINGS, ON_NETWORK, CO_KRIGING = (
    "finite elements alone", "springs + difference", "network of springs + difference",
    "co-Kriging (SMT's MFK)",
)  # fmt: skip
COLUMNS = {
    "height": "height [µm]", "AP": "AP/axial [%]", "ML": "ML/axial [%]", "centre": "centre [mm]",
    "peak": "peak [%]", "gait height": "height along gait [µm]", "pose": "loads at a pose [%]",
    "gait force": "gait: force [%]", "gait AP": "gait: AP [%]", "gait peak": "gait: peak [%]",
    "wear": "wear [%]",
}  # fmt: skip


#: What the figure shows, the lines of a panel and the names of the knees.
_SHOWN = ("height", "pose", "gait force", "gait peak")
_LINES = (
    (ALONE, "kriging"), (ALONE, "polynomial"), (ALONE, "network"),
    (ON_SPRINGS, "kriging"), (ON_NETWORK, "kriging"), (CO_KRIGING, "kriging"),
)  # fmt: skip
_TITLES = {"implant": "implant", "grand_challenge": "Grand Challenge"}


class Row(NamedTuple):
    """Errors of one method with one number of samples of a compartment; the worse compartment's."""

    method: str
    family: str
    count: int
    figures: dict[str, float]
    seconds: float


class Study:
    """The samples of one knee, and networks of its springs."""

    def __init__(self, name: str) -> None:
        configuration, changes = KNEES[name]
        config = load_config(shipped_config(configuration), changes)
        self.run: TrainedRun = finished_run(config, FOLDER / name)
        self.space = sample_space(self.run.config, self.run.path)
        self.settings, self.seed = config.surrogate, config.run.seed
        self.samples: dict[str, Compartment] = compartments(self.run)
        self.kriging = family_fitter(self.settings, "kriging", self.seed)
        self._networks: dict[str, Any] = {}

    def network(self, side: str) -> Any:
        """Return the network that has learnt the springs of a compartment."""
        if side not in self._networks:
            learnt = fit_alone(
                self.space, self.samples[side].springs, self.settings, "network", self.seed
            )
            self._networks[side] = learnt.surrogate
        return self._networks[side]

    def learnt(self, method: str, family: str, side: str, count: int) -> Learnt:
        """Return a compartment learnt from `count` samples of finite elements by a method."""
        pair = self.samples[side].training(count)
        if method == ALONE:
            return fit_alone(self.space, pair.fine, self.settings, family, self.seed)
        fit = fit_on_springs if method == ON_SPRINGS else fit_on_surrogate
        return fit(self.network(side), pair, self.kriging)

    def row(self, method: str, family: str, count: int) -> Row:
        """Return the errors of a method with `count` samples of each compartment."""
        both, spent = clocked(
            lambda: {side: self.learnt(method, family, side, count) for side in COMPARTMENTS},
            perf_counter,
        )
        parts = [errors(both[side], self.samples[side]) for side in COMPARTMENTS]
        figures = {key: max(part[key] for part in parts) for key in parts[0]}
        if method != ON_SPRINGS:  # springs are not a surrogate: no cycle is driven
            knee = ContactSurrogate({side: both[side].surrogate for side in COMPARTMENTS})
            try:
                figures |= gait_figures(self.run, knee)
            except (SimulationError, EquilibriumError, InputError) as error:
                print(f"{method}, {count}: {error}")
        return Row(method, family, count, figures, spent)

    def co_kriging(self, count: int) -> Row:
        """Return the error of the height by SMT's MFK, medial compartment."""
        from smt.applications.mfk import MFK  # an import of seconds

        begun = perf_counter()
        samples, base = self.samples["medial"], self.network("medial")
        fine = samples.training(count).fine
        coarse = samples.springs.rows(slice(_SPRINGS_OF_MFK))
        levels = [
            (base.inputs_at_load(each.poses, each.loads[:, 1]), outputs_of(base, each)[:, :1])
            for each in (coarse, fine)
        ]
        model = MFK(theta0=[0.05] * 6, print_global=False, n_start=3)
        model.set_training_values(*levels[0], name=0)
        model.set_training_values(*levels[1])
        model.train()
        figures = {}
        for key, held in (("height", samples.held_out), ("gait height", samples.held_out_gait)):
            x = base.inputs_at_load(held.fine.poses, held.fine.loads[:, 1])
            wrong = model.predict_values(x)[:, 0] - outputs_of(base, held.fine)[:, 0]
            figures[key] = 1e6 * rms(wrong)
        return Row(CO_KRIGING, "kriging", count, figures, perf_counter() - begun)


def errors(learnt: Learnt, samples: Compartment) -> dict[str, float]:
    """Return errors at held-out samples of the box, of the height along gait, and at poses."""
    held = samples.held_out
    wrong = learnt.outputs(held) - outputs_of(learnt.surrogate, held.fine)
    loads, base = held.fine.loads, learnt.surrogate
    root = (loads[:, 1] / base.largest) ** ((base.degree - 1.0) / base.degree)
    centre = wrong[:, 9:] + wrong[:, :1] * [0.0, 1.0, 0.0]
    along = samples.held_out_gait
    figures = {
        "height": 1e6 * rms(wrong[:, 0]),
        "AP": 100.0 * rms(wrong[:, 1]),
        "ML": 100.0 * rms(wrong[:, 2]),
        "centre": 1e3 * rms(np.linalg.norm(centre, axis=1)),
        "peak": 100.0 * rms(wrong[:, 7] * root / loads[:, 7]),
        "gait height": 1e6 * rms(learnt.outputs(along)[:, 0] - outputs_of(base, along.fine)[:, 0]),
    }
    if learnt.factors is None:
        at_pose = errors_at_pose(base, held.fine.poses, loads)
        figures["pose"] = 100.0 * max(f.nrmse for f in list(at_pose.values())[:6])
    return figures


def tasks(study: Study) -> Iterator[Callable[[], Row]]:
    """Yield what makes each row of the table."""
    most = min(samples.most for samples in study.samples.values())
    for count in (count for count in COUNTS if count <= most):
        yield partial(study.row, ALONE, "kriging", count)
        if count >= _FEWEST_FOR_NETWORK:
            yield partial(study.row, ALONE, "network", count)
        if count >= 100:
            yield partial(study.row, ALONE, "polynomial", count)
        if count <= _MOST_DIFFERENCES:
            yield partial(study.row, ON_SPRINGS, "kriging", count)
            yield partial(study.row, ON_NETWORK, "kriging", count)
    for count in (count for count in COUNTS if count <= _MOST_OF_MFK):  # the slowest come last
        yield partial(study.co_kriging, count)


def rows_of(name: str) -> list[Row]:
    """Return the rows of a knee, of an earlier call or made now."""
    stored = FOLDER / f"{name}.json"
    known = [Row(**row) for row in json.loads(stored.read_text())] if stored.exists() else []
    done = {row[:3] for row in known}
    for task in tasks(Study(name)):
        key = _key(task)
        if key in done:
            continue
        row = task()
        print(f"{name}: {row}", flush=True)
        known.append(row)
        stored.write_text(json.dumps([each._asdict() for each in known], indent=1))
    return known


def _key(task: Any) -> tuple[str, str, int]:
    arguments = task.args
    return arguments if len(arguments) == 3 else (CO_KRIGING, "kriging", *arguments)


def table_of(name: str, rows: list[Row]) -> Table:
    """Return the table of a knee."""
    columns = {"samples": "d", "method": "", **alike(COLUMNS.values(), "")}
    cells = [
        (
            row.count, row.method if row.method != ALONE else f"{ALONE}, {row.family}",
            *(f"{row.figures[key]:.2g}" if key in row.figures else None for key in COLUMNS),
        )
        for row in sorted(rows, key=lambda row: row.count)
    ]  # fmt: skip
    return Table(name, columns, cells)


def draw(found: dict[str, list[Row]], file: Path) -> None:
    """Write the figure: errors over the number of finite-element solves of a compartment."""
    figure = Figure(figsize=(12.0, 0.8 + 2.9 * len(found)), layout="constrained", dpi=110)
    panels = figure.subplots(len(found), len(_SHOWN), squeeze=False)
    for line, (name, rows) in zip(panels, found.items(), strict=True):
        for axes, key in zip(line, _SHOWN, strict=True):
            _draw_panel(axes, [row for row in rows if key in row.figures], key)
            axes.set_title(f"{_TITLES.get(name, name)}: {COLUMNS[key]}", fontsize="medium")
    for axes in panels[-1]:
        axes.set_xlabel("solves of a compartment")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize="small")
    figure.savefig(file)


def _draw_panel(axes: Axes, rows: list[Row], key: str) -> None:
    for method, family in _LINES:
        own = sorted((r.count, r.figures[key]) for r in rows if r[:2] == (method, family))
        if own:
            number = _LINES.index((method, family))
            axes.plot(
                *zip(*own, strict=True), "osD^vP"[number] + "-", color=f"C{number}", markersize=4,
                label=method if (method, family) in _LINES[3:] else f"{method}, {family}",
            )  # fmt: skip
    axes.set(xscale="log", yscale="log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())
    axes.grid(visible=True, which="major", alpha=0.3)


def main() -> None:
    """Print the tables and draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--knee", choices=tuple(KNEES), help="one knee alone")
    add_target(parser, "two_fidelities.png")
    chosen = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    found = {}
    # One thread: sums in threaded linear algebra depend on the number of cores.
    with threadpool_limits(1):
        for name in KNEES if chosen.knee is None else (chosen.knee,):
            found[name] = rows_of(name)
    show(table_of(name, rows) for name, rows in found.items())
    write(chosen.out, partial(draw, found))


if __name__ == "__main__":
    main()
