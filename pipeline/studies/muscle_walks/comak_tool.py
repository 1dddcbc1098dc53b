"""COMAK from OpenSim-JAM's own file of settings, with tables of OpenSim-JAM's names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dynamics.musculoskeletal import ComakFile, OsimModel
from foundation.base.errors import InputError
from pipeline.config.reading import checked_section, named, override_key, read_tree
from pipeline.originals.articular_contacts import contact_meshes
from pipeline.stages.articular_surrogates import newest_runs, runs_of
from pipeline.studies.muscle_walks.mesh_files import with_model
from pipeline.studies.muscle_walks.schema import MuscleWalkFile

#: Contact by the springs of the model, and by trained surrogates in the folder of runs.
ORIGINAL, SURROGATE = "original", "surrogate"
_RUNS = Path("runs")


def comak_file(
    settings: Path,
    overrides: Sequence[str] = (),
    *,
    contact: Sequence[str] = (),
    replay: Path | None = None,
    model: Path | None = None,
    geometry: Path | None = None,
) -> MuscleWalkFile:
    """Return the configuration of a walk from settings of OpenSim-JAM's COMAKTool.

    `settings` are an .xml file, or a configuration of a walk (.toml), of which `overrides` replace
    values by `section.key=value` pairs. `contact` is "original", the springs of the model, by
    default; "surrogate", the newest runs in `runs`; or run directories of surrogates: a run takes
    the place of the contact with its meshes. `replay` is `plant.npz` of another walk, replayed in
    place of OpenSim, and `geometry` a folder of mesh files that are not beside the model. Surfaces
    and paths are those of OpenSim-JAM: flat triangles, and single wrapping surfaces as until 2021.

    Raises `ConfigError` or `InputError` if a file is missing or cannot be used, or an option has a
    wrong value, and `RunError` if a directory of a surrogate is not a finished run.
    """
    xml = settings.suffix.lower() == ".xml"
    tree = _tree_of(settings) if xml else read_tree(settings)
    walk = tree.setdefault("walk", {})
    if model is not None:
        walk["model"] = str(model.resolve())
    if replay is not None:
        walk["replay"] = str(replay.resolve())
    for text in overrides:
        override_key(tree, text)
    tree = named(tree, MuscleWalkFile, settings)
    tree["walk"].setdefault("jam_tables", tree["walk"].get("name", "muscle_walk"))
    file = checked_section(tree, MuscleWalkFile, str(settings), settings.resolve().parent)
    walk, found = with_model(file.walk, file.walk.model, settings, geometry)
    return _with_contact(file.model_copy(update={"walk": walk}), found, contact)


def results_name(stated: str, default: str) -> str:
    """Return the name of results that settings state, as the name of a folder."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", stated).lstrip(".-") or default


def _tree_of(settings: Path) -> dict[str, Any]:
    """Return the configuration of a file of settings of the COMAKTool."""
    tool = ComakFile(settings).tool
    return {
        "walk": {
            "name": results_name(tool.text("results_prefix"), "comak"),
            "model": str(tool.path("model_file")),
            "settings": str(settings.resolve()),
            "surface": "flat",
            "single_wraps_slide": True,
        }
    }


def _with_contact(file: MuscleWalkFile, model: OsimModel, contact: Sequence[str]) -> MuscleWalkFile:
    """Return a walk with surrogates in place of springs, on curved surfaces as in training."""
    folders = [Path(text) for text in contact if text not in (ORIGINAL, SURROGATE)]
    if len(contact) > 1 and len(folders) < len(contact):
        raise InputError(
            f"--contact: expected {ORIGINAL}, {SURROGATE} or run directories, found "
            f"{', '.join(contact)}"
        )
    if not folders and SURROGATE not in contact:
        return file
    walk = file.walk
    own = contact_meshes(model, walk.mesh_files)
    found = runs_of(own, folders) if folders else newest_runs(own, _RUNS)
    runs = {name: str(folder) for name, folder in found.items()}
    update = {"surface": "curved", "surrogates": {**walk.surrogates, **runs}}
    return file.model_copy(update={"walk": walk.model_copy(update=update)})
