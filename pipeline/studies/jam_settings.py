"""Walks and forward simulations from OpenSim-JAM's own files of settings, and their mesh files."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from dynamics.musculoskeletal.comak_file import ComakFile
from dynamics.musculoskeletal.osim_model import OsimModel
from dynamics.musculoskeletal.prescribed_motion import read_forward_tool
from foundation.base.errors import InputError
from foundation.surfaces.mesh import EXTENSIONS
from pipeline.config.data_folder import data_file
from pipeline.config.reading import checked_section, named, override_key, read_tree
from pipeline.originals.articular_contacts import contact_meshes
from pipeline.stages.articular_surrogates import runs_of
from pipeline.studies.forward_motions import ForwardFile
from pipeline.studies.muscle_walks.schema import ArticularModelConfig, MuscleWalkFile

#: Settings of forward simulations; others are of walks.
_FORWARD = "<ForsimTool"
_Config = TypeVar("_Config", bound=ArticularModelConfig)


def jam_file(
    settings: Path,
    overrides: Sequence[str] = (),
    *,
    contact: Sequence[str] = (),
    replay: Path | None = None,
    model: Path | None = None,
    geometry: Path | None = None,
) -> MuscleWalkFile | ForwardFile:
    """Return the walk or forward simulation of OpenSim-JAM's settings, or a configuration.

    The surfaces are flat, and single wrapping surfaces as until 2021. `contact` are run directories
    of surrogates; `geometry` has mesh files that are not beside the model.
    """
    tree = _tree_of(settings) if settings.suffix.lower() == ".xml" else read_tree(settings)
    section = "forward" if "forward" in tree else "walk"
    stated = {"model": model, "replay": replay}
    tree.setdefault(section, {}).update({k: str(v.resolve()) for k, v in stated.items() if v})
    for text in overrides:
        override_key(tree, text)
    folder = settings.resolve().parent
    if section == "forward":
        if contact or replay:
            raise InputError("--contact, --replay: expected a walk, found a forward simulation")
        tree = named(tree, ForwardFile, settings)
        motion = checked_section(tree, ForwardFile, str(settings), folder)
        forward, _ = _with_meshes(motion.forward, motion.forward.model, settings, geometry)
        return motion.model_copy(update={"forward": forward})
    tree = named(tree, MuscleWalkFile, settings)
    file = checked_section(tree, MuscleWalkFile, str(settings), folder)
    walk, found = _with_meshes(file.walk, file.walk.model, settings, geometry)
    return _with_contact(file.model_copy(update={"walk": walk}), found, contact)


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


def _with_contact(file: MuscleWalkFile, model: OsimModel, contact: Sequence[str]) -> MuscleWalkFile:
    """Return a walk with surrogates in place of springs, on curved surfaces as in training."""
    if not contact:
        return file
    walk = file.walk
    found = runs_of(contact_meshes(model, walk.mesh_files), [Path(text) for text in contact])
    runs = {name: str(folder) for name, folder in found.items()}
    update = {"surface": "curved", "surrogates": {**walk.surrogates, **runs}}
    return file.model_copy(update={"walk": walk.model_copy(update=update)})


def _with_meshes(
    config: _Config, model: str, settings: Path, geometry: Path | None
) -> tuple[_Config, OsimModel]:
    """Return a configuration with mesh files of a folder for the missing ones, and its model."""
    path = data_file(model)
    if not path.is_file():
        raise InputError(f"{settings}: the model {path} does not exist; state --model FILE.osim")
    found = OsimModel(path)
    files = [
        mesh_file
        for contact in found.contacts
        for mesh in (contact.bed, contact.target)
        for mesh_file in (mesh.file, mesh.back_file)
        if mesh_file is not None
    ]
    missing = [f for f in files if not f.is_file() and f.name not in config.meshes]
    if not missing:
        return config, found
    if geometry is None:
        raise InputError(
            f"{path.name}: the mesh file {missing[0]} does not exist; state "
            "--geometry FOLDER, the folder that contains this file"
        )
    meshes = {mesh.name: str(mesh_in(geometry, mesh.name)) for mesh in missing}
    return config.model_copy(update={"meshes": {**config.meshes, **meshes}}), found


def mesh_in(folder: Path, name: str) -> Path:
    """Return the mesh file of a folder with a name, or the one with the likest name, and warn."""
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
