"""The commented configuration that a study of the user's own two meshes starts from."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from foundation.surfaces.compartments import find_compartments
from foundation.surfaces.mesh import load_mesh
from foundation.surfaces.triangle_mesh import MeshError
from pipeline.config.schema import Config, section_of

#: Values of each material by section. The cartilage layer is that of femur and tibia together; soft
#: tissue stabilises the sloping plateaus, represented by the springs of [simulation].
PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "polyethylene": {
        "contact": {"youngs_modulus_MPa": 463.0, "poissons_ratio": 0.46, "thickness_mm": 8.0},
        "space": {
            **{"flexion_deg": [-3.0, 63.0], "adduction_deg": 0.7, "rotation_deg": 8.0},
            **{"anterior_mm": 5.0, "lateral_mm": 0.8, "load_N": [2.0, 3000.0]},
        },
        "feasibility": {"ap_ratio": 0.3, "ml_ratio": 0.15, "peak_pressure_MPa": 60.0},
        "simulation": {
            **{"ap_stiffness_N_per_mm": 30.0, "rotation_stiffness_Nm_per_deg": 0.6},
            **{"lateral_stiffness_N_per_mm": 10.0, "restraint_about": "pose"},
        },
    },
    "cartilage": {
        "contact": {"youngs_modulus_MPa": 10.0, "poissons_ratio": 0.45, "thickness_mm": 6.0},
        "space": {
            **{"flexion_deg": [-3.0, 63.0], "adduction_deg": 3.0, "rotation_deg": 8.0},
            **{"anterior_mm": 6.0, "lateral_mm": 1.5, "load_N": [2.0, 3000.0]},
        },
        "feasibility": {"ap_ratio": 0.35, "ml_ratio": 0.7, "peak_pressure_MPa": 40.0},
        "simulation": {
            **{"ap_stiffness_N_per_mm": 100.0, "rotation_stiffness_Nm_per_deg": 0.6},
            **{"lateral_stiffness_N_per_mm": 60.0, "restraint_about": "path"},
        },
    },
}
#: Sampling of every first configuration; a run takes some minutes.
_SAMPLING: dict[str, dict[str, Any]] = {
    "design": {"candidates": 4096, "first": 400, "budget": 700, "gait_samples": 300},
    "surrogate": {"family": "kriging"},
    "validation": {"points": 300},
}
#: Comment above each section.
_HEADS = {
    "": (
        "A study of two meshes, for `python -m pipeline check` and `python -m pipeline run`. Every "
        "key has a default; `python -m pipeline schema` describes all keys."
    ),
    "contact": (
        "Elastic layer on a rigid bone or tray. The values are typical of the material; replace "
        "them with measured values."
    ),
    "space": (
        "Domain of the samples: around a path over flexion, found by settling the knee under "
        "1000 N. Wider ranges need more samples; a run warns if gait leaves the ranges."
    ),
    "feasibility": "Bounds of loads in gait; candidates far beyond are not evaluated.",
    "design": (
        "Samples of the contact model per compartment. For higher accuracy and a longer run, "
        "double candidates and budget."
    ),
    "simulation": (
        "Knee simulator. The springs represent soft tissue without a model; for ligaments from a "
        'table set ligaments = "mine.csv".'
    ),
}
_WIDTH = 100


@dataclass(frozen=True)
class Starter:
    """Content of a first configuration.

    Parameters
    ----------
    name : str
        Name of the run.
    meshes : mapping
        For "femur" and "tibia": file, unit and axes, as in [knee.femur].
    side : {"right", "left"}
        Side of the knee.
    material : {"polyethylene", "cartilage"}
        Material, with the values of `PRESETS`.
    contact : mapping
        Keys of [contact] that differ from the material.
    split_lateral_mm : float, optional
        Border of the compartments [mm], if not found in the mesh.
    notes : mapping
        Comments above keys, by dotted key.
    """

    name: str
    meshes: Mapping[str, Mapping[str, Any]]
    side: str
    material: str
    contact: Mapping[str, Any]
    split_lateral_mm: float | None
    notes: Mapping[str, str]


def starter_text(starter: Starter) -> str:
    """Return the configuration as TOML, with a comment above each key."""
    lines = [*_comment(_HEADS[""]), ""]
    for head, keys in _sections(starter).items():
        lines += [*_comment(_HEADS.get(head, "")), f"[{head}]"]
        section = _schema_of(head)
        for key, value in keys.items():
            notes = [section.model_fields[key].description, starter.notes.get(f"{head}.{key}")]
            for note in filter(None, notes):
                lines += _comment(note)
            lines.append(f"{key} = {_value(value)}")
        lines.append("")
    return "\n".join(lines)


def _sections(starter: Starter) -> dict[str, dict[str, Any]]:
    """Return the keys of each section, in the order of the file."""
    preset = PRESETS[starter.material]
    knee: dict[str, Any] = {"source": "meshes", "side": starter.side}
    if starter.split_lateral_mm is not None:
        knee["split_lateral_mm"] = starter.split_lateral_mm
    return {
        "run": {"name": starter.name},
        "knee": knee,
        **{f"knee.{body}": dict(mesh) for body, mesh in starter.meshes.items()},
        "contact": {"law": "linear", **preset["contact"], **starter.contact},
        **{name: dict(preset[name]) for name in ("space", "feasibility")},
        **_SAMPLING,
        "simulation": {"waveforms": "level_walking", **preset["simulation"]},
    }


def _schema_of(head: str) -> type[BaseModel]:
    section: type[BaseModel] = Config
    for name in head.split("."):
        section = section_of(section.model_fields[name].annotation) or section
    return section


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="# ")


def _value(value: Any) -> str:
    """Return a value as TOML; text, numbers and lists look the same in JSON."""
    return json.dumps(value, ensure_ascii=False)


def path_beside(file: Path, config: Path) -> str:
    """Return the path of a mesh relative to the folder of a configuration."""
    return Path(os.path.relpath(file, config.parent)).as_posix()


def missing_split(tibia: Mapping[str, Any], folder: Path, side: str) -> float | None:
    """Return mid-width [mm] as the border of the compartments if the mesh has no ridge.

    Parameters
    ----------
    tibia : mapping
        File, unit and axes of the tibia, as in [knee.tibia].
    folder : Path
        Folder of the configuration.
    side : {"right", "left"}
        Side of the knee.

    Returns
    -------
    float or None
        None if there is a ridge, or if the mesh cannot be used (`check` then reports why).
    """
    try:
        mesh = load_mesh(folder / tibia["file"], unit=tibia["unit"], axes=tibia["axes"], side=side)
    except MeshError:
        return None
    try:
        find_compartments(mesh)
    except MeshError:
        across = mesh.vertices[:, 2]
        return round(float(1e3 * 0.5 * (across.min() + across.max())), 1)
    return None
