"""Write the tables of docs/comparison.md and draw docs/comparison.png from finished comparisons.

Run it from the repository, with the folders of `knee-contact compare-models`:
`python docs/comparison.py runs/finite_element_implant_comparison ...`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

sys.path.insert(0, str(Path(__file__).parent.parent))

from pipeline.reports.units import number
from pipeline.studies.contact_models.page import COLOURS, MARKERS

PAGE = Path(__file__).with_suffix(".md")
HEAD, TAIL = "<!-- tables -->\n", "<!-- end of tables -->\n"
#: Names of the knees by that of the run.
KNEES = {
    "finite_element_implant": "Built-in implant",
    "finite_element_grand_challenge": "Grand Challenge implant",
    "finite_element_lenhart": "Lenhart cartilage, two layers",
}
#: Errors that the picture shows, a row each.
SHOWN = ("force_percent", "gait_peak_pressure_percent")


def tables(content: dict[str, Any]) -> str:
    """Return heading, errors and costs of a comparison as Markdown."""
    truth = content["truth"]
    spacing = truth["node_spacing_mm"]
    parts = [
        f"### {KNEES.get(content['name'], content['name'])}\n",
        f"Nodes {spacing:g} and {2 * spacing:g} mm apart; {truth['poses']} poses; the truth wears "
        f"{number(truth['wear_mm3_per_million_cycles'])} mm³ in a million cycles.\n",
        _table(content, ("at given poses",)),
        _table(content, ("over the gait cycle",)),
        _table(content, ("cost",)),
        _marks(content),
    ]
    reasons = [
        f"- {row['label']}, {part}: {text}"
        for row in content["models"]
        for part, text in row["failures"].items()
    ]
    return "\n".join([*parts, *([*reasons, ""] if reasons else [])])


def _table(content: dict[str, Any], groups: tuple[str, ...]) -> str:
    columns = [column for column in content["columns"] if column["group"] in groups]
    head = [groups[0], *(f"{column['label']} [{column['unit']}]" for column in columns)]
    rows = [
        [row["label"], *(number(row["figures"][column["key"]]) for column in columns)]
        for row in content["models"]
    ]
    return _markdown(head, rows)


def _marks(content: dict[str, Any]) -> str:
    head = ["marks", *content["criteria"].values(), "weighted sum"]
    rows = [
        [
            row["label"],
            *(number(row["marks"][key], 2) for key in content["criteria"]),
            number(row["weighted_sum"], 3),
        ]
        for row in content["models"]
    ]
    return _markdown(head, rows)


def _markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:], ""])


def draw(comparisons: list[dict[str, Any]]) -> None:
    """Draw errors over the time of an evaluation, a column of panels per knee."""
    width, count = 4.0 * len(comparisons), len(comparisons)
    figure, panels = plt.subplots(
        len(SHOWN), count, figsize=(width, 6.6), squeeze=False, layout="constrained"
    )
    for content, column in zip(comparisons, panels.T, strict=True):
        names = {c["key"]: f"{c['label']} {c['group']} [%]" for c in content["columns"]}
        column[0].set_title(KNEES.get(content["name"], content["name"]))
        for key, axes in zip(SHOWN, column, strict=True):
            counts: dict[str, int] = {}
            for row in content["models"]:
                place = counts[row["group"]] = counts.get(row["group"], -1) + 1
                time, error = row["figures"]["evaluation_us"], row["figures"][key]
                if time and error:
                    style = MARKERS[place % len(MARKERS)], COLOURS[row["group"]]
                    axes.plot([time], [error], style[0], color=style[1], label=row["label"])
            axes.set(xscale="log", yscale="log", ylabel=names[key])
            axes.grid(color="#e3e3e3", lw=0.7)
        column[-1].set_xlabel("time of one evaluation [µs]")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    figure.savefig(PAGE.with_suffix(".png"), dpi=110)


def main(folders: list[str]) -> None:
    """Write the tables and the picture."""
    files = [Path(folder) / "compared_models.json" for folder in folders]
    comparisons = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(HEAD)
    after = rest.split(TAIL)[1]
    written = "\n".join(map(tables, comparisons))
    PAGE.write_text(f"{before}{HEAD}\n{written}\n{TAIL}{after}", encoding="utf-8")
    draw(comparisons)


if __name__ == "__main__":
    main(sys.argv[1:])
