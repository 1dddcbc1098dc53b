"""Wear of a run's insert over many cycles, its surface lowered as it wears."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dynamics.simulator.result import SimulationResult
from foundation.elastic_foundation.model import ElasticFoundation
from pipeline.files import replacing, write_document
from pipeline.progress import bar, say
from pipeline.stages.trained_run import TrainedRun
from pipeline.store.workspace_lock import alone_in_folder
from pipeline.studies.worn import WornInsert, extrapolate


@alone_in_folder
def wear_insert(folder: Path, cycles: float, blocks: int, *, quiet: bool = False) -> dict[str, Any]:
    """Extrapolate the wear of a run's gait cycle with its original model.

    Writes `worn.json`, the volumes over the cycles, and `worn.npz`, the depth on each triangle.

    Parameters
    ----------
    folder : Path
        Run directory.
    cycles : float
        How many cycles.
    blocks : int
        Between how many the surface is lowered; 1 extrapolates the cycle of the unworn insert.
    quiet : bool
        Whether to leave out the progress bar.

    Returns
    -------
    dict
        The content of `worn.json`: per block the cycles done, volumes, mass and largest depth.

    Raises
    ------
    RunError
        If the directory holds no finished run.
    InputError
        If an argument is out of its range, or the insert wears through.
    """
    run = TrainedRun.open(folder)
    tibia = run.contact.tibia
    say(f"{blocks} blocks of cycles", quiet=quiet)
    with bar(blocks, "block", "blocks of cycles", quiet=quiet) as shown:

        def simulate_cycle(model: ElasticFoundation) -> SimulationResult:
            result = run.gait(model)
            shown.update()
            return result

        worn = extrapolate(run.contact, simulate_cycle, run.gait.wear_law, cycles, blocks)
    with replacing(folder / "worn.npz") as partial, partial.open("wb") as stream:
        np.savez_compressed(
            stream,
            vertices_m=tibia.vertices,
            faces=tibia.faces,
            depth_m=np.asarray(worn.wear.depth),
            cycles=worn.cycles,
            volume_m3=worn.volume,
        )
    content = _content(worn)
    write_document(folder / "worn.json", content)
    return content


def _content(worn: WornInsert) -> dict[str, Any]:
    each = worn.cycles[1]
    depth = np.cumsum([each * np.asarray(wear.depth) for wear in worn.blocks], axis=0)
    rows = [
        {
            "cycles": float(cycles),
            "medial_mm3": 1e9 * float(medial),
            "lateral_mm3": 1e9 * float(lateral),
            "total_mm3": 1e9 * float(medial + lateral),
            "mass_mg": 1e6 * worn.wear.density * float(medial + lateral),
            "largest_depth_mm": 1e3 * float(worst),
        }
        for cycles, (medial, lateral), worst in zip(
            worn.cycles[1:], worn.volume[1:], depth.max(axis=1), strict=True
        )
    ]
    return {"blocks": rows}


def worn_table(content: dict[str, Any]) -> str:
    """Return the content of `worn.json` as a Markdown table."""
    header = ("cycles", "medial [mm³]", "lateral [mm³]", "total [mm³]", "mass [mg]", "deepest [mm]")
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for row in content["blocks"]:
        lines.append("| " + " | ".join(f"{value:.4g}" for value in row.values()) + " |")
    return "\n".join(lines)
