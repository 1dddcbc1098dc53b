"""Wear of the insert of a run over many gait cycles, with the surface lowered as it wears."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dynamics.simulator.result import SimulationResult
from dynamics.wear.cycle_wear import extrapolate_wear
from foundation.elastic_foundation.model import ElasticFoundation, worn_model
from pipeline.files import write_document, write_npz
from pipeline.originals.spring_bed import springs_of
from pipeline.progress import bar, say
from pipeline.reports.judgement import judgement, judgement_lines
from pipeline.stages.run_folder import TrainedRun
from pipeline.store.job import alone_in_folder
from pipeline.store.run_documents import Computed, Judgement

#: Columns of the table of blocks, in the order of the fields of `WornBlock`.
_HEADER = ("cycles", "medial [mm³]", "lateral [mm³]", "total [mm³]", "mass [mg]", "deepest [mm]")


class WornBlock(Computed):
    """Wear after a block of cycles, that of the blocks before included."""

    cycles: float
    medial_mm3: float
    lateral_mm3: float
    total_mm3: float
    mass_mg: float
    largest_depth_mm: float


class WornInsert(Computed):
    """`worn.json`: wear after each block of cycles, and the verdict on the contact model."""

    blocks: list[WornBlock]
    verdict: Judgement | None


@alone_in_folder
def wear_insert(folder: Path, cycles: float, blocks: int) -> WornInsert:
    """Extrapolate the wear of the gait cycle of a run with its original model.

    Writes `worn.json`, the volumes over the cycles, and `worn.npz`, the depth of each triangle.

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
        If an argument is out of range, the insert wears through, or the original model is no
        elastic foundation.
    """
    run = TrainedRun.open(folder)
    unworn = _bed(run)
    tibia = unworn.tibia
    say(f"{blocks} blocks of cycles")
    with bar(blocks, "block", "blocks of cycles") as shown:

        def simulate_cycle(model: ElasticFoundation) -> SimulationResult:
            result = run.gait(model)
            shown.update()
            return result

        worn = extrapolate_wear(
            unworn, simulate_cycle, worn_model, run.gait.wear_law, cycles, blocks
        )
    write_npz(
        folder / "worn.npz",
        vertices_m=tibia.vertices,
        faces=tibia.faces,
        depth_m=np.asarray(worn.wear.depth),
        cycles=worn.cycles,
        volume_m3=worn.volume,
    )
    medial, lateral = worn.volume[1:].T
    depth = np.cumsum([worn.cycles[1] * np.asarray(wear.depth) for wear in worn.blocks], axis=0)
    columns = {
        "cycles": worn.cycles[1:],
        "medial_mm3": 1e9 * medial,
        "lateral_mm3": 1e9 * lateral,
        "total_mm3": 1e9 * (medial + lateral),
        "mass_mg": 1e6 * worn.wear.density * (medial + lateral),
        "largest_depth_mm": 1e3 * depth.max(axis=1),
    }
    rows = zip(*columns.values(), strict=True)
    insert = WornInsert(
        blocks=[WornBlock(**dict(zip(columns, row, strict=True))) for row in rows],
        verdict=judgement(folder, "original"),
    )
    write_document(folder / "worn.json", insert)
    return insert


def _bed(run: TrainedRun) -> ElasticFoundation:
    """Return the elastic foundation of a run."""
    return springs_of(
        run.reference_model,
        f"{run.folder}: wear lowers the surface of an elastic foundation, found "
        f'contact.model = "{run.config.contact.model}"; rerun with '
        'contact.model = "elastic_foundation"',
    )


def worn_table(insert: WornInsert) -> str:
    """Return the blocks as a Markdown table, and the verdict."""
    rows = [[f"{value:.4g}" for value in row.content().values()] for row in insert.blocks]
    lines = [f"| {' | '.join(cells)} |" for cells in (_HEADER, *rows)]
    head = [lines[0], "|" + "---|" * len(_HEADER)]
    return "\n".join([*head, *lines[1:], *judgement_lines(insert.verdict)])
