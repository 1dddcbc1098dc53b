"""Forward simulations from OpenSim-JAM's own file of settings, and mesh files of a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dynamics.musculoskeletal.forward_settings import read_forward_tool
from pipeline.config.reading import checked_section, named, override_key, read_tree
from pipeline.studies.forward_motions.schema import ForwardFile
from pipeline.studies.muscle_walks.comak_tool import results_name
from pipeline.studies.muscle_walks.mesh_files import with_model


def forward_file(
    settings: Path,
    overrides: Sequence[str] = (),
    *,
    model: Path | None = None,
    geometry: Path | None = None,
) -> ForwardFile:
    """Return the configuration of a forward simulation from settings of a ForsimTool.

    `settings` are an .xml file, or a configuration of a forward simulation (.toml), of which
    `overrides` replace values by `section.key=value` pairs; `geometry` is a folder of mesh files
    that are not beside the model. Surfaces and paths are those of OpenSim-JAM: flat triangles, and
    single wrapping surfaces as until 2021. Raises `ConfigError` or `InputError` if a file is
    missing or cannot be used, or an option has a wrong value.
    """
    xml = settings.suffix.lower() == ".xml"
    tree = _tree_of(settings) if xml else read_tree(settings)
    if model is not None:
        tree.setdefault("forward", {})["model"] = str(model.resolve())
    for text in overrides:
        override_key(tree, text)
    tree = named(tree, ForwardFile, settings)
    file = checked_section(tree, ForwardFile, str(settings), settings.resolve().parent)
    forward, _ = with_model(file.forward, file.forward.model, settings, geometry)
    return file.model_copy(update={"forward": forward})


def _tree_of(settings: Path) -> dict[str, Any]:
    """Return the configuration of a file of settings of the ForsimTool."""
    tool = read_forward_tool(settings)
    return {
        "forward": {
            "name": results_name(tool.text("results_file_basename"), "forsim"),
            "model": str(tool.path("model_file")),
            "settings": str(settings.resolve()),
            "surface": "flat",
            "single_wraps_slide": True,
        }
    }
