"""Files of a surrogate for other programs: C, FMU, and one design of a run over designs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

import surrogates
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.config.reading import dump_config
from pipeline.design_space.designs import TrainedDesigns, surrogate_of
from pipeline.files import replacing, write_text
from pipeline.reports.judgement import judgement
from pipeline.reports.verdict import ascii_line
from pipeline.store.job import check_configuration, check_single_knee
from surrogates.export.c_export import export_knee
from surrogates.export.fmu import export_fmu
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.sampling.parameters import Design


def export_c(
    source: Path, out: Path | None = None, prefix: str = "knee", casadi: bool = False
) -> tuple[Path, Path]:
    """Write the surrogate of a run directory, or of a file, as C; return header and source.

    `prefix` names the files and begins all names in them; `casadi` adds what casadi.external loads.
    """
    file, knee = _compartment_surrogate(source)
    files = export_knee(knee, prefix, casadi)
    folder = out or file.parent
    targets = folder / f"{prefix}.h", folder / f"{prefix}.c"
    for target, text in zip(targets, files, strict=True):
        with replacing(target) as partial:
            partial.write_text(text, encoding="ascii", newline="\n")
    return targets


def write_fmu(
    source: Path, version: str, out: Path | None = None, prefix: str = "knee", compiled: bool = True
) -> Path:
    """Write a surrogate as an FMU (`surrogates.export.fmu`), ``<prefix>.fmu``; return its path.

    Parameters
    ----------
    source : path
        Run directory, or the `.npz` file of a surrogate.
    out : path, optional
        Folder of the file; by default the folder of the surrogate.
    version : {"2.0", "3.0"}
        Version of the FMI standard.
    prefix : str
        Name of the model and of the file.
    compiled : bool
        Whether to add the library for this machine to the sources.

    Raises
    ------
    SurrogateFileError, RunError, InputError
        If the surrogate cannot be used or is over designs, the prefix is no C identifier, the
        version is unknown, or the sources do not compile.
    """
    file, knee = _compartment_surrogate(source)
    content = export_fmu(knee, version, prefix, compiled)
    target = (out or file.parent) / f"{prefix}.fmu"
    with replacing(target) as partial:
        partial.write_bytes(content)
    return target


def _compartment_surrogate(source: Path) -> tuple[Path, ContactSurrogate]:
    """Return the file of a surrogate, and the surrogate of the compartments with its verdict."""
    check_single_knee(source)
    check_configuration(source)
    file = source / "knee.npz" if source.is_dir() else source
    knee = surrogates.load(file)
    judged = judgement(source)
    if judged is None:
        return file, knee
    name = knee.header.get("name")
    of = "the surrogate" if name is None else f"the run {name}"
    told = f"Verdict of {of}: {ascii_line(judged)}."
    return file, replace(knee, header={**knee.header, "verdict": told})


def write_design(run: TrainedDesigns, values: Design, folder: Path) -> list[Path]:
    """Write the files of a design to a folder and return their paths.

    Values of the parameters, by name or (P,), are in the units of their names.
    """
    config = run.config_of(values)
    name = f"{config.run.name}_design"
    config = config.model_copy(update={"run": config.run.model_copy(update={"name": name})})
    model = run.original(values).model
    knee, toml = folder / "knee.npz", folder / "design.toml"
    with replacing(knee) as partial:
        surrogates.save(surrogate_of(run, values), partial)
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
