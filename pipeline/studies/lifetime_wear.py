"""Wear of the insert of a run over many gait cycles, with the surface lowered as it wears."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dynamics.simulator.result import SimulationResult
from dynamics.wear.lifetime import LifetimeWear, extrapolate_wear
from foundation.base.loads import COMPARTMENTS
from foundation.surface_contact import SurfaceContact
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.files import write_document, write_npz
from pipeline.progress import bar, say
from pipeline.reports import figures as fig
from pipeline.reports.charts import chart, lines_of
from pipeline.reports.figures import Picture
from pipeline.reports.judgement import judgement, judgement_lines
from pipeline.reports.pages import write_page
from pipeline.stages.run_folder import TrainedRun
from pipeline.store.job import alone_in_folder
from pipeline.store.run_documents import Computed, Judgement

#: Head of each column of the table of blocks, of which each row includes the blocks before.
_COLUMNS = {
    "cycles": "cycles",
    "medial_mm3": "medial [mm³]",
    "lateral_mm3": "lateral [mm³]",
    "total_mm3": "total [mm³]",
    "mass_mg": "mass [mg]",
    "largest_depth_mm": "deepest [mm]",
    "largest_creep_mm": "deepest creep [mm]",
    "creep_mm3": "creep [mm³]",
}


class WornInsert(Computed):
    """`worn.json`: wear and creep after each block, and the verdict on the contact model."""

    blocks: list[dict[str, float]]
    verdict: Judgement | None


@alone_in_folder
def wear_insert(folder: Path, cycles: float, blocks: int) -> WornInsert:
    """Extrapolate the wear of the gait cycle of a run with its original model.

    Writes `worn.json`, the volumes over the cycles, `worn.npz`, the depths by wear and by creep of
    each triangle, and the page `worn.html`.

    Parameters
    ----------
    folder : Path
        Run directory.
    cycles : float
        Number of cycles.
    blocks : int
        Number of blocks; the surface is lowered after each block. One block extrapolates the cycle
        of the unworn insert.

    Returns
    -------
    WornInsert
        The content of `worn.json`.

    Raises
    ------
    RunError
        If the directory is not a finished run.
    InputError
        If an argument is out of range, the insert wears through, or the original is a table.
    """
    run = TrainedRun.open(folder)
    unworn: Any = run.reference_model
    say(f"blocks of cycles: {blocks}")
    with bar(blocks, "block", "blocks of cycles") as shown:

        def simulate_cycle(model: SurfaceContact) -> SimulationResult:
            result = run.gait(model)
            shown.update()
            return result

        worn = extrapolate_wear(
            unworn,
            simulate_cycle,
            run.gait.wear_law,
            cycles,
            blocks,
            creep=run.gait.creep_law,
        )
    write_npz(
        folder / "worn.npz",
        vertices_m=unworn.tibia.vertices,
        faces=unworn.tibia.faces,
        depth_m=worn.worn_depth[-1],
        creep_m=worn.creep_depth[-1],
        cycles=worn.cycles,
        volume_m3=worn.volume,
    )
    insert = WornInsert(blocks=_blocks(worn, unworn), verdict=judgement(folder, "original"))
    write_document(folder / "worn.json", insert)
    heads, name = [(head, key) for key, head in _COLUMNS.items()][1:], run.config.run.name
    pictures = list(_pictures(worn, unworn.tibia))
    write_page(folder / "worn.html", insert, name=name, heads=heads, pictures=pictures)
    return insert


def _blocks(worn: LifetimeWear, unworn: SurfaceContact) -> list[dict[str, float]]:
    """Return the rows of the table of blocks."""
    total = worn.volume.sum(axis=1)
    values = np.column_stack([
        worn.cycles,
        1e9 * worn.volume,
        1e9 * total,
        1e6 * worn.blocks[0].density * total,
        1e3 * worn.worn_depth.max(axis=1),
        1e3 * worn.creep_depth.max(axis=1),
        1e9 * worn.creep_depth @ unworn.tibia.areas,
    ])  # fmt: skip
    return [dict(zip(_COLUMNS, row, strict=True)) for row in values[1:].tolist()]


def _pictures(worn: LifetimeWear, tibia: TriangleMesh) -> Iterator[Picture]:
    """Yield volumes over cycles and the depths by wear and by creep."""
    volumes = 1e9 * np.column_stack([worn.volume, worn.volume.sum(axis=1)])
    lines = lines_of(dict(zip((*COMPARTMENTS, "total"), volumes.T, strict=True)))
    across, cycles = "cycles [million]", 1e-6 * worn.cycles
    yield chart("worn-volume", "Worn volume", across, "worn volume [mm³]", lines, at=cycles)
    depths = 1e3 * np.array([worn.worn_depth[-1], worn.creep_depth[-1]])
    for word, depth in zip(("wear", "creep"), depths, strict=True):
        if depth.any():
            surface = np.asarray(tibia.vertices), np.asarray(tibia.faces)
            yield fig.face_map(f"Depth by {word}", surface, depth, float(depths.max()), "mm")


def worn_table(insert: WornInsert) -> str:
    """Return the blocks as a Markdown table, and the verdict."""
    rows = [[f"{value:.4g}" for value in row.values()] for row in insert.blocks]
    lines = [f"| {' | '.join(cells)} |" for cells in (_COLUMNS.values(), *rows)]
    head = [lines[0], "|" + "---|" * len(_COLUMNS)]
    return "\n".join([*head, *lines[1:], *judgement_lines(insert.verdict)])
