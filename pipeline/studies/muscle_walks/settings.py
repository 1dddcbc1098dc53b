"""Settings of COMAK of a walk: OpenSim-JAM's file, changed by the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from dynamics.musculoskeletal import (
    ComakFile,
    ComakFiles,
    ComakSettings,
    MuscleWeight,
    SecondaryCoordinate,
    read_reserves,
    reserve_fields,
)
from pipeline.config.data_folder import data_file
from pipeline.studies.muscle_walks.schema import ComakConfig, MuscleWalkFile
from pipeline.studies.muscle_walks.stated_keys import stated_fields, stated_files

#: Fields of the settings by keys of [comak].
_FIELDS = {
    "primary": "primary",
    "start_s": "start",
    "stop_s": "stop",
    "step_s": "step",
    "lowpass_Hz": "lowpass",
    "iterations": "iterations",
    "tolerance": "tolerance",
    "settle": "settle",
    "contact_energy_weight": "contact_energy_weight",
    "fibre_forces": "fibre_forces",
}
#: Files by keys of [walk].
_FILES = {"motion": "motion", "external_loads": "external_loads", "reserves": "forces"}


class WalkSettings(NamedTuple):
    """Settings of a walk."""

    settings: ComakSettings
    #: Model, motion, external loads and reserves.
    files: ComakFiles
    #: OpenSim-JAM's file of settings; None where the configuration states all settings.
    source: ComakFile | None


def walk_settings(
    file: MuscleWalkFile,
    recorded: ComakSettings | None = None,
    viscosities: Mapping[str, float] | None = None,
    usual: Mapping[str, Any] | None = None,
) -> WalkSettings:
    """Return the settings of a walk, and the files of its motion and loads.

    `recorded` has the coordinates of a recorded plant, where the configuration names no settings;
    `viscosities` are those of the model on coordinates [N m s/rad, N s/m], as of
    `ComakFile.settings`; `usual` are fields that neither the configuration nor a file states.
    Raises `ConfigError` or `InputError` if a file is missing or a setting is wrong.
    """
    walk = file.walk
    stated = stated_files(walk, _FILES)
    settings, source = recorded, None
    files = replace(ComakFiles(data_file(walk.model), Path(), None, None), **stated)
    if walk.settings is not None:
        source = ComakFile(data_file(walk.settings), {"model": files.model, **stated})
        settings, files = source.settings(viscosities), source.files
    changes = _changes(file.comak, settings)
    if source is None and walk.reserves is not None:
        changes |= reserve_fields(read_reserves(data_file(walk.reserves)))
    if settings is None:
        return WalkSettings(ComakSettings(**{**(usual or {}), **changes}), files, source)
    return WalkSettings(replace(settings, **changes), files, source)


def _changes(comak: ComakConfig, settings: ComakSettings | None) -> dict[str, Any]:
    """Return the fields that the configuration changes."""
    changes = stated_fields(comak, _FIELDS)
    if comak.secondary is not None:
        known = {} if settings is None else {s.name: s for s in settings.secondary}
        changes["secondary"] = tuple(
            replace(known.get(name, SecondaryCoordinate(name)), damping=damping)
            for name, damping in comak.secondary.items()
        )
    if comak.muscle_weights:
        kept = () if settings is None else settings.muscle_weights
        own = comak.muscle_weights
        changes["muscle_weights"] = (
            *(weight for weight in kept if weight.name not in own),
            *(MuscleWeight(name, (0.0,), (weight,)) for name, weight in own.items()),
        )
    return changes
