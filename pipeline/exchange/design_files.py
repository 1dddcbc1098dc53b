"""Files of one design of a run over designs: surrogate, configuration, and surfaces."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import surrogates
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.config.reading import dump_config
from pipeline.design_space.taken_design import surrogate_of
from pipeline.design_space.trained_designs import TrainedDesigns
from pipeline.files import replacing, write_text
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.parametric.parameters import Design


def write_design(
    run: TrainedDesigns, values: Design, folder: Path, own: ContactSurrogate | None = None
) -> list[Path]:
    """Write the files of a design to a folder, which is made, and return their paths.

    Values of the parameters, by name or (P,), are in the units of their names. The files are
    `knee.npz`, the surrogate, or `own`, that of a knee that the design stands for; `design.toml`,
    the configuration of the design; and the surfaces `femur.stl` and `tibia.stl` in their frames
    [mm]. Raises `InputError` if a value is outside its range, or the configuration or the surfaces
    are refused.
    """
    config = run.config_of(values)
    name = f"{config.run.name}_design"
    config = config.model_copy(update={"run": config.run.model_copy(update={"name": name})})
    model = run.original(values).model
    knee, toml = folder / "knee.npz", folder / "design.toml"
    with replacing(knee) as partial:
        surrogates.save(surrogate_of(run, values) if own is None else own, partial)
    write_text(toml, dump_config(config))
    surfaces = {folder / "femur.stl": model.femur, folder / "tibia.stl": model.tibia}
    for path, surface in surfaces.items():
        with replacing(path) as partial:
            partial.write_bytes(stl_of(surface))
    return [knee, toml, *surfaces]


def stl_of(surface: TriangleMesh) -> bytes:
    """Return a surface [m] as a binary STL file [mm]."""
    import trimesh  # slow to import
    from trimesh.exchange.stl import export_stl

    vertices, faces = 1e3 * np.asarray(surface.vertices), np.asarray(surface.faces)
    return bytes(export_stl(trimesh.Trimesh(vertices, faces, process=False)))
