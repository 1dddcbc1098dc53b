"""Two finished runs beside each other: figures of their reports, differing keys and verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.reports.units import ASCII
from pipeline.stages.run_folder import TrainedRun
from pipeline.store.job import differing_keys, flat_keys


def compare_runs(one: Path, other: Path) -> tuple[list[str], dict[str, Any]]:
    """Return the lines for the terminal, with the figures of the knee, and all as content of JSON.

    Differences are those of the second run from the first, `this`.
    """
    runs = [TrainedRun.open(folder) for folder in (one, other)]
    table = runs[0].compare(runs[1])
    this, second = (run.config.model_dump(mode="json") for run in runs)
    before, after = flat_keys(this), flat_keys(second)
    keys = {
        key: {"this": before.get(key), "other": after.get(key)}
        for key in differing_keys(this, second, "run")
    }
    verdicts = [str(run.report["verdict"]["line"]) for run in runs]
    lines = [
        f"this: {one}; other: {other}",
        table[table.index.str.startswith("knee.")].to_string(float_format="{:.4g}".format),
        *(f"{key}: {found['this']}, {found['other']}" for key, found in keys.items()),
        *(
            f"verdict of {folder}: {line.translate(ASCII)}"
            for folder, line in zip((one, other), verdicts, strict=True)
        ),
    ]
    figures = table.where(table.notna(), None).to_dict("index")
    return lines, {"figures": figures, "keys": keys, "verdicts": verdicts}
