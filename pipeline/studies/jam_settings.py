"""Walks and forward simulations from OpenSim-JAM's own files of settings, and their mesh files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from dynamics.musculoskeletal.comak_settings import ComakFile
from dynamics.musculoskeletal.osim_model import OsimModel
from dynamics.musculoskeletal.prescribed_motion import read_forward_tool
from foundation.base.errors import InputError
from pipeline.config.data_folder import data_file
from pipeline.config.reading import checked_section, named, override_key, read_tree
from pipeline.studies.forward_motions import ForwardFile
from pipeline.studies.muscle_walks.schema import ArticularModelConfig, MuscleWalkFile

#: Settings of forward simulations; others are of walks.
_FORWARD = "<ForsimTool"
_Config = TypeVar("_Config", bound=ArticularModelConfig)


def jam_file(
    settings: Path,
    overrides: Sequence[str] = (),
    *,
    model: Path | None = None,
    geometry: Path | None = None,
) -> MuscleWalkFile | ForwardFile:
    """Return the walk or forward simulation of OpenSim-JAM's settings, or a configuration.

    The surfaces are flat, and single wrapping surfaces as until 2021; `geometry` has mesh files
    that are not beside the model.
    """
    tree = _tree_of(settings) if settings.suffix.lower() == ".xml" else read_tree(settings)
    section = "forward" if "forward" in tree else "walk"
    if model is not None:
        tree.setdefault(section, {})["model"] = str(model.resolve())
    for text in overrides:
        override_key(tree, text)
    folder = settings.resolve().parent
    if section == "forward":
        tree = named(tree, ForwardFile, settings)
        motion = checked_section(tree, ForwardFile, str(settings), folder)
        forward = _with_meshes(motion.forward, motion.forward.model, settings, geometry)
        return motion.model_copy(update={"forward": forward})
    tree = named(tree, MuscleWalkFile, settings)
    file = checked_section(tree, MuscleWalkFile, str(settings), folder)
    walk = _with_meshes(file.walk, file.walk.model, settings, geometry)
    return file.model_copy(update={"walk": walk})


def _tree_of(settings: Path) -> dict[str, Any]:
    """Return the configuration of a file of settings of a tool."""
    if _FORWARD in settings.read_text("utf-8", errors="replace"):
        section, tool, key = "forward", read_forward_tool(settings), "results_file_basename"
    else:
        section, tool, key = "walk", ComakFile(settings).tool, "results_prefix"
    default = {"forward": "forsim", "walk": "comak"}[section]
    return {
        section: {
            "name": re.sub(r"[^A-Za-z0-9_.-]", "_", tool.text(key)).lstrip(".-") or default,
            "model": str(tool.path("model_file")),
            "settings": str(settings.resolve()),
            "surface": "flat",
            "single_wraps_slide": True,
        }
    }


def _with_meshes(config: _Config, model: str, settings: Path, geometry: Path | None) -> _Config:
    """Return a configuration with mesh files of a folder for the missing ones."""
    path = data_file(model)
    if not path.is_file():
        raise InputError(f"{settings}: the model {path} does not exist; state --model FILE.osim")
    files = [
        mesh_file
        for contact in OsimModel(path).contacts
        for mesh in (contact.bed, contact.target)
        for mesh_file in (mesh.file, mesh.back_file)
        if mesh_file is not None
    ]
    missing = [f for f in files if not f.is_file() and f.name not in config.meshes]
    meshes = {}
    for mesh in missing:
        own = None if geometry is None else geometry / mesh.name
        if own is None or not own.is_file():
            raise InputError(
                f"{path.name}: the mesh file {own or mesh} does not exist; state --geometry "
                "FOLDER, the folder that contains this file, or the file with "
                f"--set 'walk.meshes.\"{mesh.name}\"=FILE'"
            )
        meshes[mesh.name] = str(own.resolve())
    return config.model_copy(update={"meshes": {**config.meshes, **meshes}})
