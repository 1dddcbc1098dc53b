"""Write the table of docs/comparison.md and draw docs/comparison.png from finished comparisons.

Run it from the repository, with the folders of comparisons:
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
from pipeline.studies.contact_models.compare import COLOURS, MARKERS

PAGE = Path(__file__).with_suffix(".md")
HEAD, TAIL = "<!-- tables -->\n", "<!-- end of tables -->\n"
#: Names of the knees by that of the run.
KNEES = {
    "finite_element_implant": "Built-in implant",
    "finite_element_grand_challenge": "Grand Challenge implant",
    "finite_element_lenhart": "Lenhart cartilage, two layers",
}
#: Figures of the table.
COLUMNS = (
    *("force_percent", "stiffness_percent", "anterior_mm", "gait_peak_pressure_percent"),
    *("evaluation_us", "cycle_s", "set_up_s"),
)
#: Errors that the picture shows, a row each.
SHOWN = ("force_percent", "gait_peak_pressure_percent")


def table(comparisons: list[dict[str, Any]]) -> str:
    """Return the figures of the comparisons as Markdown: a row per model, a value per knee."""
    columns = [c for c in comparisons[0]["columns"] if c["key"] in COLUMNS]
    head = ["model", *(f"{c['label']} [{c['unit']}]" for c in columns)]
    lines = [head, ["---"] * len(head)]
    for rows in zip(*(content["models"] for content in comparisons), strict=True):
        values = [", ".join(number(row["figures"][c["key"]]) for row in rows) for c in columns]
        lines.append([rows[0]["label"], *values])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


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
    """Write the table and the picture."""
    files = [Path(folder) / "compared_models.json" for folder in folders]
    comparisons = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(HEAD)
    after = rest.split(TAIL)[1]
    PAGE.write_text(f"{before}{HEAD}\n{table(comparisons)}\n\n{TAIL}{after}", encoding="utf-8")
    draw(comparisons)


if __name__ == "__main__":
    main(sys.argv[1:])
