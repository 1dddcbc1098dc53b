"""Write the table of docs/calibration.md from finished calibrations.

Run it from the repository, with the folders of `knee-contact calibrate`:
`python docs/calibration.py runs/finite_element_implant_calibration ...`.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from docs.comparison import HEAD, KNEES, TAIL
from pipeline.reports.units import number

PAGE = Path(__file__).with_suffix(".md")
#: Columns of the table by the keys of the errors.
COLUMNS = {
    "force_percent": "force at a pose [%]",
    "stiffness_percent": "stiffness at a pose [%]",
    "peak_pressure_percent": "peak pressure under a load [%]",
    "area_percent": "area under a load [%]",
    "centre_mm": "centre of pressure under a load [mm]",
}


def table(folder: Path) -> str:
    """Return heading and table of a calibration as Markdown."""
    content = json.loads((folder / "calibration.json").read_text(encoding="utf-8"))
    name = tomllib.loads((folder / "calibration.toml").read_text(encoding="utf-8"))["run"]["name"]
    lines = [
        f"### {KNEES.get(name, name)}\n",
        f"{content['samples']} samples; the closest law is the {content['closest']} law.\n",
        "| law | parameters | " + " | ".join(COLUMNS.values()) + " |",
        "|---" * (2 + len(COLUMNS)) + "|",
        *(_row(row) for row in content["laws"]),
    ]
    return "\n".join(lines) + "\n"


def _row(row: dict[str, Any]) -> str:
    kind = "calibrated" if row["calibrated"] else "as given"
    values = (f"{key} {'inf' if v is None else number(v)}" for key, v in row["keys"].items())
    errors = (number(row["errors"][key]) for key in COLUMNS)
    return f"| {row['law']}, {kind} | {', '.join(values)} | {' | '.join(errors)} |"


def main(folders: list[str]) -> None:
    """Write the tables of calibrations into the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(HEAD)
    after = rest.split(TAIL)[1]
    tables = "\n".join(table(Path(folder)) for folder in folders)
    PAGE.write_text(f"{before}{HEAD}\n{tables}\n{TAIL}{after}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
