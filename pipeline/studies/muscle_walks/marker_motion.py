"""Motion of a walk from markers: constraint functions, and inverse kinematics by OpenSim."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from dynamics.motion.motion_tables import motion_text
from dynamics.musculoskeletal.marker_kinematics import (
    ConstraintFunctions,
    MarkerFiles,
    MarkerMotion,
    MarkerSettings,
    Sweep,
    follow_markers,
    followers,
    passive_functions,
    read_marker_settings,
    with_markers,
    write_functions,
)
from dynamics.musculoskeletal.opensim_system import OpenSimSystem
from dynamics.musculoskeletal.osim_model import OsimModel
from foundation.base.errors import InputError, PoseError
from pipeline.config.data_folder import data_file
from pipeline.files import write_text
from pipeline.originals.articular_contacts import articular_contacts
from pipeline.studies.muscle_walks.schema import (
    InverseKinematicsConfig,
    MuscleWalkFile,
    stated_fields,
    stated_files,
)

#: Files in the folder of the walk.
MOTION, ERRORS, FUNCTIONS = "ik.mot", "marker_errors.sto", "constraint_functions.xml"
#: Fields of `MarkerSettings`, `MarkerFiles` and `Sweep` by keys of [inverse_kinematics].
_ENDS = {"start_s": "start", "stop_s": "stop"}
_FILES = {"markers": "markers", "functions": "functions"}
_SWEEP = {"sweep_s": "seconds", "points": "points"}
_ANGLES = {"from_deg": "start", "to_deg": "stop"}


def motion_of_markers(file: MuscleWalkFile, model: OsimModel, folder: Path) -> MarkerMotion:
    """Find the motion of a walk from markers; write it with errors and functions to a folder."""
    config = file.inverse_kinematics
    assert config is not None
    if not model.contacts:  # Nothing presses secondary coordinates anywhere.
        config = config.model_copy(update={"constrained": False})
    settings, sweep, files, notes = None, None, MarkerFiles(None, None), tuple[str, ...]()
    if config.settings is not None:
        path = data_file(config.settings)
        settings, sweep, files, notes = read_marker_settings(path, constrained=config.constrained)
    weights = ({} if settings is None else dict(settings.weights)) | config.weights
    changes = {"weights": tuple(weights.items()), **stated_fields(config, _ENDS)}
    settings = MarkerSettings(**changes) if settings is None else replace(settings, **changes)
    files = files._replace(**stated_files(config, _FILES))
    if files.markers is None:
        raise InputError(
            "inverse_kinematics.markers: expected measured markers (.trc, .c3d), found none"
        )
    text = model.without_contact(single_wraps_slide=file.walk.single_wraps_slide)
    folder.mkdir(parents=True, exist_ok=True)
    if config.constrained:
        functions = _functions(file, config, model, text, sweep, files.functions)
        write_functions(folder / FUNCTIONS, functions, model.coordinate_paths)
        for each in functions:
            text = each.add_to(text)
    if config.marker_set is not None:
        text = with_markers(text, data_file(config.marker_set))
    found = follow_markers(text, files.markers, settings)
    write_text(folder / MOTION, motion_text(found.motion, title="Coordinates"))
    errors = replace(found.errors, in_degrees=False)
    write_text(folder / ERRORS, motion_text(errors, title="errors of markers"))
    motion = replace(found.motion, source=str((folder / MOTION).resolve()))
    return found._replace(motion=motion, notes=(*notes, *found.notes))


def _functions(
    file: MuscleWalkFile,
    config: InverseKinematicsConfig,
    model: OsimModel,
    text: str,
    known: Sweep | None,
    given: Path | None,
) -> list[ConstraintFunctions]:
    """Return the constraint functions of a file, or those of a sweep of each coupled angle."""
    sweep, locked = _sweep(config, file, known), model.locked_coordinates
    coupled = _coupled(config) or (sweep.coupled,)
    if not set(locked).isdisjoint(coupled):
        raise InputError(
            f"inverse_kinematics.coupled: expected angles that move, found {', '.join(coupled)}, "
            f"which {model.path.name} locks; set locked to false in the model, or set "
            "inverse_kinematics.constrained = false"
        )
    moved = [name for name in sweep.secondary if name not in locked]
    own = followers(model.joints, coupled, moved)
    if given is not None:
        several = len(own) > 1
        return [
            ConstraintFunctions.read(given, name, names if several else None)
            for name, names in own.items()
        ]
    contacts = articular_contacts(model, **file.walk.surfaces)
    system, found = OpenSimSystem(text), []
    for name, names in own.items():
        try:
            each = replace(sweep, coupled=name, secondary=names)
            found.append(passive_functions(system, contacts, each))
        except PoseError as error:
            raise InputError(
                f"sweep of {name}: {error}; choose a longer inverse_kinematics.sweep_s or a "
                "smaller range"
            ) from error
    return found


def _sweep(config: InverseKinematicsConfig, file: MuscleWalkFile, known: Sweep | None) -> Sweep:
    secondary = config.secondary
    if secondary is None and file.comak.secondary is not None and known is None:
        secondary = tuple(file.comak.secondary)
    changes = stated_fields(config, _SWEEP)
    coupled = _coupled(config)
    if coupled:
        changes["coupled"] = coupled[0]
    changes |= {key: float(np.radians(v)) for key, v in stated_fields(config, _ANGLES).items()}
    if secondary is not None:
        changes["secondary"] = secondary
    if known is not None:
        return replace(known, kind=config.kind, **changes)
    missing = [key for key in ("coupled", "secondary") if key not in changes]
    if missing:
        raise InputError(
            "inverse_kinematics.settings: expected a file of settings, or "
            f"{', '.join(f'inverse_kinematics.{key}' for key in missing)}"
        )
    return Sweep(kind=config.kind, **changes)


def _coupled(config: InverseKinematicsConfig) -> tuple[str, ...]:
    """Return the coupled angles that the configuration states."""
    if config.coupled is None:
        return ()
    return (config.coupled,) if isinstance(config.coupled, str) else config.coupled
