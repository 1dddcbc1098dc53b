"""First configuration of two meshes: what the meshes tell, and what a user must verify."""

from __future__ import annotations

import re
import tomllib
import warnings
from pathlib import Path
from typing import Any

from foundation.base.errors import InputError
from pipeline.advice import command_line, of_configuration
from pipeline.config.knee_schema import REPAIR_TOLERANCE_MM
from pipeline.config.reading import checked_section
from pipeline.config.schema import Config
from pipeline.files import write_text
from pipeline.originals.knee import KneeInputs
from pipeline.originals.knee_surfaces import load_surfaces
from pipeline.originals.layer_checks import check_strength
from pipeline.originals.roughness import coarse_surfaces
from pipeline.preparation.alignment_picture import draw_placed
from pipeline.preparation.init_options import InitOptions
from pipeline.preparation.law_choice import LawChoice, choose_law
from pipeline.preparation.mesh_keys import (
    BODIES,
    WARNING,
    MeshAnswers,
    cover_bones,
    find_mesh_keys,
)
from pipeline.preparation.peaks import PeakError
from pipeline.preparation.settling import settle_study, with_keys
from pipeline.preparation.starter import PRESETS, Sections, starter_sections, starter_text

#: Options that replace a key of [contact].
_CONTACT_KEYS = ("law", "youngs_modulus_MPa", "poissons_ratio", "thickness_mm")


def write_starter(config: Path, options: InitOptions) -> tuple[str, dict[str, Any]]:
    """Write a first configuration and a picture; return the summary for people and for programs.

    Raises `InputError` if the file exists, a mesh cannot be read, a value is missing or out of its
    limits, or a peak pressure of gait is that of a fault
    (`pipeline.preparation.peaks.check_peaks`).
    """
    if config.exists() and not options.force:
        raise InputError(f"{config}: exists; name another file, or replace the file with --force")
    meshes = find_mesh_keys(config, options)
    material = meshes.material
    name = options.name or re.sub(r"[^A-Za-z0-9_.-]", "_", config.stem).lstrip(".-") or "mine"
    contact = {key: value for key in _CONTACT_KEYS if (value := getattr(options, key)) is not None}
    assumed = _assumed(material, contact, meshes)
    cover_bones(meshes, contact)
    sections = starter_sections(
        name,
        meshes.side,
        material,
        meshes.keys,
        contact,
        folder=config.parent,
        repair_tolerance_mm=_tolerance(options, meshes),
    )
    notes = _notes(meshes)
    # Options have the limits of the keys of a configuration.
    checked = _checked(config, sections, notes)
    try:
        settled = _settle(checked, sections, notes, choose=options.law is None)
    except PeakError as error:
        raise error.seen_in(draw_placed(config, checked.knee, cross=error.place)) from error
    reasons = [of_configuration(reason, config) for reason in settled]
    checked = _checked(config, sections, notes)
    write_text(config, starter_text(sections, notes))
    picture = draw_placed(config, checked.knee)
    lines = [
        *sorted((*meshes.guesses, *reasons, *assumed), key=lambda line: line.startswith(WARNING)),
        f"written: {config} ({material}; comments explain every key)",
        *([f"written: {picture} (femur over tibia; please verify the axes)"] if picture else []),
        f"next: {command_line('check', config)}",
    ]
    return "\n".join(lines), {
        "file": str(config),
        "picture": picture and str(picture),
        "name": name,
        "material": material,
        "side": meshes.side,
        "meshes": meshes.keys,
        "contact": sections["contact"],
        "remarks": [*meshes.guesses, *assumed, *reasons],
    }


def _assumed(material: str, contact: dict[str, Any], meshes: MeshAnswers) -> list[str]:
    """Return which keys of the layer are typical values, as no mesh tells them."""
    usual = PRESETS[material]["contact"]
    keys = {"youngs_modulus_MPa": "--modulus-MPa", "poissons_ratio": "--poissons-ratio"}
    if not meshes.bones:  # `cover_bones` states the thickness of these
        keys["thickness_mm"] = "--thickness-mm"
    unstated = [key for key in keys if key not in contact]
    if not unstated:
        return []
    values = ", ".join(f"{key} = {usual[key]}" for key in unstated)
    options = ", ".join(keys[key] for key in unstated)
    assumed = [f"assumed: {values}, typical of {material}; state {options}"]
    if "thickness_mm" in unstated and len(meshes.shells) == len(BODIES):
        femur, tibia = (1e3 * thickness for thickness in meshes.shells)
        assumed.append(
            f"thickness_mm is the sum of both layers; the closed shells are {femur:.1f} and "
            f"{tibia:.1f} mm thick: state --thickness-mm {femur + tibia:.1f} to use that"
        )
    return assumed


def _checked(config: Path, sections: Sections, notes: dict[str, str]) -> Config:
    tree = tomllib.loads(starter_text(sections, notes))
    return checked_section(tree, Config, str(config), config.parent)


def _tolerance(options: InitOptions, meshes: MeshAnswers) -> float | None:
    """Return the stated tolerance of the repair [mm], the default if a mesh was repaired."""
    repaired = "knee.repair_tolerance_mm" in meshes.notes
    stated = options.repair_tolerance_mm
    return REPAIR_TOLERANCE_MM if stated is None and repaired else stated


def _settle(
    config: Config, sections: Sections, notes: dict[str, str], *, choose: bool
) -> tuple[str, ...]:
    """Add to sections and comments what the knee needs to settle, and, if `choose`, the law.

    Returns the reasons for the user. A knee whose surfaces cannot be used is left to `check`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `check` gives the same warnings
        try:
            surfaces = load_surfaces(config)
            inputs = KneeInputs(config, coarse_surfaces(config, surfaces))
            check_strength(config, inputs.springs, inputs.start)
        except InputError as error:
            return (f"the knee was not settled: {error}",)
    settled = settle_study(config, inputs)
    for section, keys in settled.keys.items():
        sections[section] = {**sections[section], **keys}
    notes.update(settled.notes)
    if not choose:
        return tuple(settled.reasons)
    choice = choose_law(with_keys(config, settled.keys), surfaces, settled.path)
    _write_choice(sections, notes, choice)
    return (*settled.reasons, *choice.reasons)


def _write_choice(sections: Sections, notes: dict[str, str], choice: LawChoice) -> None:
    """Add a chosen contact model, its smoothing and the reasons to sections and comments."""
    key = "law" if choice.spacing_mm is None else "model"
    notes[f"contact.{key}"] = _sentence(choice.reasons[-1])
    if choice.spacing_mm is not None:
        del sections["contact"]["law"]
        sections["contact"] = {"model": "finite_element", **sections["contact"]}
        sections["contact.finite_element"] = {"node_spacing_mm": choice.spacing_mm}
    if choice.smooth_um > 0.0:
        for body in BODIES:
            sections[f"knee.{body}"]["smooth_um"] = choice.smooth_um
            notes[f"knee.{body}.smooth_um"] = " ".join(map(_sentence, choice.reasons[:-1]))


def _sentence(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:]}." if clause.startswith("the ") else f"{clause}."


def _notes(meshes: MeshAnswers) -> dict[str, str]:
    """Return the comments that the configuration shows above its keys."""
    notes = {
        "knee.split_lateral_mm": (
            "No ridge found between the plateaus; using mid-width, please verify."
        ),
        **meshes.notes,
    }
    if not meshes.side_known:
        notes["knee.side"] = (
            f"Neither shape nor file names tell the side; verify that the knee is a {meshes.side} "
            "knee."
        )
    return notes
