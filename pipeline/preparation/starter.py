"""Content of a first configuration of two meshes, and its text with comments."""

from __future__ import annotations

import json
import textwrap
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from foundation.surfaces.compartments import find_compartments
from foundation.surfaces.triangle_mesh import MeshError
from pipeline.config.knee_schema import REPAIR_TOLERANCE_MM
from pipeline.config.reading import tuples_of
from pipeline.config.schema import Config, MeshConfig, section_of
from pipeline.originals.mesh_loading import load_surface

_TABLE = tomllib.loads((Path(__file__).parent / "tables" / "starter.toml").read_text("utf-8"))
#: Values of each material by section and key.
PRESETS: dict[str, dict[str, dict[str, Any]]] = _TABLE["materials"]
#: Fall of the tibial plateau towards posterior of each material.
SLOPES_DEG: dict[str, float] = _TABLE["slope_deg"]
Sections = dict[str, dict[str, Any]]


def starter_sections(
    name: str,
    side: str,
    material: str,
    meshes: Sections,
    contact: Mapping[str, Any],
    folder: Path,
    repair_tolerance_mm: float | None = None,
) -> Sections:
    """Return the keys of a first configuration by section, in the order of the file.

    `meshes` has file, unit and axes of "femur" and "tibia", as in [knee.femur]; `contact` the keys
    that differ from the material, one of `PRESETS`; without a law, springs are linear. `folder` is
    the folder of the configuration; `repair_tolerance_mm` is None for the default.
    """
    preset = PRESETS[material]
    knee: dict[str, Any] = {"source": "meshes", "side": side}
    if repair_tolerance_mm is not None:
        knee["repair_tolerance_mm"] = repair_tolerance_mm
    tolerance = knee.get("repair_tolerance_mm", REPAIR_TOLERANCE_MM)
    split = _missing_split(meshes["tibia"], folder, side, tolerance)
    if split is not None:
        knee["split_lateral_mm"] = split
    return {
        "run": {"name": name},
        "knee": knee,
        **{f"knee.{body}": mesh for body, mesh in meshes.items()},
        "contact": {"law": "linear", **preset["contact"], **contact},
        "space": preset["space"],
        "feasibility": preset["feasibility"],
        **_TABLE["sampling"],
        "simulation": {"waveforms": "level_walking", **preset["simulation"]},
    }


def starter_text(sections: Sections, notes: Mapping[str, str]) -> str:
    """Return a configuration as TOML, with the description of each key above the key.

    `sections` has keys and values by section, `notes` further comments by dotted key.
    """
    lines = [*_comment(_TABLE["comments"][""]), ""]
    for head, keys in sections.items():
        lines += [*_comment(_TABLE["comments"].get(head, "")), f"[{head}]"]
        schema: type[BaseModel] = Config
        for name in head.split("."):
            schema = section_of(schema.model_fields[name].annotation) or schema
        for key, value in keys.items():
            lines += _comment(schema.model_fields[key].description or "")
            lines += _comment(notes.get(f"{head}.{key}", ""))
            # Text, numbers and lists look the same in JSON and TOML.
            lines.append(f"{key} = {json.dumps(value, ensure_ascii=False)}")
        lines.append("")
    return "\n".join(lines)


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, 100, initial_indent="# ", subsequent_indent="# ")


def _missing_split(
    tibia: Mapping[str, Any], folder: Path, side: str, tolerance: float
) -> float | None:
    """Return mid-width [mm] if the mesh has no ridge, None if it has, or cannot be used."""
    keys = MeshConfig.model_validate(tuples_of(dict(tibia)), context={"folder": folder})
    try:
        mesh = load_surface(keys, side, "tibia", tolerance).mesh
    except MeshError:  # reported by `check`
        return None
    try:
        find_compartments(mesh)
    except MeshError:
        across = mesh.vertices[:, 2]
        return round(float(1e3 * 0.5 * (across.min() + across.max())), 1)
    return None
