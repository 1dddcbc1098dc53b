"""Motion of a walk from markers: constraint functions, and inverse kinematics by OpenSim."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from dynamics.motion.motion_tables import motion_text
from dynamics.musculoskeletal import MarkerFiles, OsimModel, follow_markers
from dynamics.musculoskeletal.constraint_functions import (
    ConstraintFunctions,
    Sweep,
    followers,
    passive_functions,
    with_markers,
    write_functions,
)
from dynamics.musculoskeletal.joint_contact import JointContact
from dynamics.musculoskeletal.marker_kinematics import (
    MarkerMotion,
    MarkerSettings,
    read_marker_settings,
)
from dynamics.musculoskeletal.opensim_system import OpenSimSystem
from foundation.base.errors import InputError, PoseError
from pipeline.config.data_folder import data_file
from pipeline.files import write_text
from pipeline.studies.muscle_walks.schema import InverseKinematicsConfig, MuscleWalkFile
from pipeline.studies.muscle_walks.setup import spring_contacts, stated_fields, stated_files

#: Files in the folder of the walk.
MOTION, ERRORS, FUNCTIONS = "ik.mot", "marker_errors.sto", "constraint_functions.xml"
#: Fields of `MarkerSettings`, `MarkerFiles` and `Sweep` by keys of [inverse_kinematics].
_ENDS = {"start_s": "start", "stop_s": "stop"}
_FILES = {"markers": "markers", "functions": "functions"}
_SWEEP = {"sweep_s": "seconds", "points": "points"}
_ANGLES = {"from_deg": "start", "to_deg": "stop"}


def with_motion(file: MuscleWalkFile, folder: Path) -> tuple[MuscleWalkFile, MarkerMotion]:
    """Return a walk whose motion is that of `motion_of_walk`, and this motion."""
    found = motion_of_walk(file, folder)
    walk = file.walk.model_copy(update={"motion": str((folder / MOTION).resolve())})
    return file.model_copy(update={"walk": walk}), found


def motion_of_walk(file: MuscleWalkFile, folder: Path) -> MarkerMotion:
    """Find the motion of a walk from markers; write it with errors and functions to a folder."""
    config = file.inverse_kinematics
    if config is None:
        raise InputError("inverse_kinematics: expected a section with markers, found none")
    model = OsimModel(data_file(file.walk.model))
    if not model.contacts:  # Nothing presses secondary coordinates anywhere.
        config = config.model_copy(update={"constrained": False})
    settings, sweep, files, notes = _settings(config, file)
    if files.markers is None:
        raise InputError(
            "inverse_kinematics.markers: expected measured markers (.trc, .c3d), found none"
        )
    locked = model.locked_coordinates
    coupled = _coupled(config) or (sweep.coupled,)
    if config.constrained and not set(locked).isdisjoint(coupled):
        raise InputError(
            f"inverse_kinematics.coupled: expected angles that move, found {', '.join(coupled)}, "
            f"which {model.path.name} locks; set locked to false in the model, or set "
            "inverse_kinematics.constrained = false"
        )
    kept = tuple(name for name in sweep.secondary if name not in locked)
    sweep = replace(sweep, secondary=kept)
    text = model.without_contact(single_wraps_slide=file.walk.single_wraps_slide)
    folder.mkdir(parents=True, exist_ok=True)
    if config.constrained:
        sweeps = _sweeps(model, sweep, coupled)
        found_functions = _functions(file, model, text, sweeps, files.functions)
        write_functions(folder / FUNCTIONS, found_functions, model.coordinate_paths)
        for functions in found_functions:
            text = functions.add_to(text)
    if config.marker_set is not None:
        text = with_markers(text, data_file(config.marker_set))
    found = follow_markers(text, files.markers, settings)
    write_text(folder / MOTION, motion_text(found.motion, title="Coordinates"))
    errors = replace(found.errors, in_degrees=False)
    write_text(folder / ERRORS, motion_text(errors, title="errors of markers"))
    return found._replace(notes=(*notes, *found.notes))


def _settings(
    config: InverseKinematicsConfig, file: MuscleWalkFile
) -> tuple[MarkerSettings, Sweep, MarkerFiles, tuple[str, ...]]:
    """Return the settings of the file, changed by the configuration, and notes on the file."""
    settings, sweep, files = None, None, MarkerFiles(None, None)
    notes: tuple[str, ...] = ()
    if config.settings is not None:
        path = data_file(config.settings)
        settings, sweep, files, notes = read_marker_settings(path, constrained=config.constrained)
    weights = {} if settings is None else dict(settings.weights)
    markers = MarkerSettings(tuple((weights | config.weights).items()))
    if settings is not None:
        markers = replace(settings, weights=markers.weights)
    markers = replace(markers, **stated_fields(config, _ENDS))
    files = files._replace(**stated_files(config, _FILES))
    return markers, _sweep(config, file, sweep), files, notes


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
    if missing and config.constrained:
        raise InputError(
            "inverse_kinematics.settings: expected a file of settings, or "
            f"{', '.join(f'inverse_kinematics.{key}' for key in missing)}"
        )
    return Sweep(**({"coupled": "", "secondary": (), "kind": config.kind} | changes))


def _coupled(config: InverseKinematicsConfig) -> tuple[str, ...]:
    """Return the coupled angles that the configuration states."""
    if config.coupled is None:
        return ()
    return (config.coupled,) if isinstance(config.coupled, str) else config.coupled


def _sweeps(model: OsimModel, sweep: Sweep, coupled: tuple[str, ...]) -> list[Sweep]:
    """Return a sweep of each coupled angle, with the secondary coordinates that follow it."""
    own = followers(model.joints, coupled, sweep.secondary)
    return [replace(sweep, coupled=name, secondary=names) for name, names in own.items()]


def _functions(
    file: MuscleWalkFile, model: OsimModel, text: str, sweeps: list[Sweep], given: Path | None
) -> list[ConstraintFunctions]:
    """Return the constraint functions of a file, or those of sweeps."""
    if given is not None and len(sweeps) == 1:
        return [ConstraintFunctions.read(given, sweeps[0].coupled)]
    if given is not None:
        return [ConstraintFunctions.read(given, each.coupled, each.secondary) for each in sweeps]
    contacts, system = spring_contacts(model, file.walk), OpenSimSystem(text)
    return [_swept(system, contacts, sweep) for sweep in sweeps]


def _swept(
    system: OpenSimSystem, contacts: tuple[JointContact, ...], sweep: Sweep
) -> ConstraintFunctions:
    """Return the constraint functions of a sweep."""
    try:
        return passive_functions(system, contacts, sweep)
    except PoseError as error:
        raise InputError(
            f"sweep of {sweep.coupled}: {error}; choose a longer inverse_kinematics.sweep_s or a "
            "smaller range"
        ) from error
