"""Mesh files of a model that are missing in the folder of the model."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import TypeVar

from dynamics.musculoskeletal import OsimModel
from foundation.base.errors import InputError
from foundation.surfaces.mesh_io import EXTENSIONS
from pipeline.config.data_folder import data_file
from pipeline.studies.muscle_walks.schema import ArticularModelConfig

_Config = TypeVar("_Config", bound=ArticularModelConfig)


def with_model(
    config: _Config, model: str, settings: Path, geometry: Path | None
) -> tuple[_Config, OsimModel]:
    """Return a configuration as `with_meshes`, and its model.

    Raises `InputError` as `with_meshes`, or, with the name of the file of settings, if the model
    does not exist.
    """
    path = data_file(model)
    if not path.is_file():
        raise InputError(f"{settings}: the model {path} does not exist; state --model FILE.osim")
    found = OsimModel(path)
    return with_meshes(config, found, geometry), found


def with_meshes(config: _Config, model: OsimModel, geometry: Path | None) -> _Config:
    """Return a configuration with mesh files of a folder in place of those that are missing.

    Raises `InputError` if a mesh file is missing and no folder is given, or the folder does not
    have the file; see `mesh_in`.
    """
    named = [
        mesh_file
        for contact in model.contacts
        for mesh in (contact.bed, contact.target)
        for mesh_file in (mesh.file, mesh.back_file)
        if mesh_file is not None
    ]
    missing = [f for f in named if not f.is_file() and f.name not in config.meshes]
    if not missing:
        return config
    if geometry is None:
        raise InputError(
            f"{model.path.name}: the mesh file {missing[0]} does not exist; state "
            "--geometry FOLDER, the folder that contains this file"
        )
    found = {mesh.name: str(mesh_in(geometry, mesh.name)) for mesh in missing}
    return config.model_copy(update={"meshes": {**config.meshes, **found}})


def mesh_in(folder: Path, name: str) -> Path:
    """Return the mesh file of a folder that has a name, or else the one with the likest name.

    Names are alike by their parts, such as R, femur and cart; a warning names the file. Raises
    `InputError` if no file, or more than one, has the likest name.
    """
    if (folder / name).is_file():
        return (folder / name).resolve()
    known = sorted(f for f in folder.glob("*") if f.suffix.lower() in EXTENSIONS)
    scores = [_alike(file.stem, Path(name).stem) for file in known]
    best = max(scores, default=(0, 0))
    likest = [file for file, score in zip(known, scores, strict=True) if score == best]
    if best[0] < 2 or len(likest) > 1:
        files = ", ".join(file.name for file in known) or "no mesh"
        raise InputError(
            f"{folder}: expected the mesh {name}, found {files}; state the file with "
            f"--set 'walk.meshes.\"{name}\"=FILE'"
        )
    warnings.warn(f"{name}: not in {folder}; {likest[0].name} is taken", stacklevel=2)
    return likest[0].resolve()


def _alike(found: str, wanted: str) -> tuple[int, int]:
    """Return how many parts of two names begin alike, and minus the number of further parts."""
    parts, others = (re.split(r"[^a-z0-9]+", text.lower()) for text in (found, wanted))
    shared = sum(
        any(part.startswith(other) or other.startswith(part) for other in others)
        for part in parts
        if part
    )
    return shared, shared - len(parts)
