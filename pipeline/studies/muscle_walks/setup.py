"""Preparation of a walk: settings, model, motion from a file or from markers, plant, contacts.

A model with articular contact is simulated by COMAK. In any other model, the joint of the knee
stands for its contact and ligaments: without secondary coordinates, the problem of a frame is
static optimisation.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dynamics.motion.motion_tables import MotionTable, motion_text, read_motion_table
from dynamics.musculoskeletal import Comak, ComakSettings
from dynamics.musculoskeletal.comak_settings import (
    ComakFile,
    ComakFiles,
    SecondaryCoordinate,
    check_coordinates,
    read_reserves,
    with_actuators,
)
from dynamics.musculoskeletal.forward_simulation import settle
from dynamics.musculoskeletal.ground_balance import ground_balance, loaded_by_plates
from dynamics.musculoskeletal.joint_contact import JointContact, PlantContacts
from dynamics.musculoskeletal.knee_reaction import Knee, knee_cycle
from dynamics.musculoskeletal.leg_sides import leg_side
from dynamics.musculoskeletal.marker_kinematics import (
    ConstraintFunctions,
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
from dynamics.musculoskeletal.motion_input import CoordinateTable, read_motion
from dynamics.musculoskeletal.opensim_plant import OpenSimPlant
from dynamics.musculoskeletal.opensim_system import OpenSimSystem, lock_notes
from dynamics.musculoskeletal.osim_model import OsimModel
from dynamics.musculoskeletal.plant import CoordinateMotion
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError, PoseError
from foundation.base.loads import COMPARTMENTS
from pipeline.config.data_folder import data_file
from pipeline.files import write_text
from pipeline.originals.articular_contacts import articular_contacts, material_notes
from pipeline.stages.articular_surrogates import with_surrogates
from pipeline.studies.muscle_walks.schema import (
    ComakConfig,
    InverseKinematicsConfig,
    MuscleWalkFile,
    stated_fields,
    stated_files,
)

#: Files in the folder of the walk.
MOTION, ERRORS, FUNCTIONS = "ik.mot", "marker_errors.sto", "constraint_functions.xml"
#: Fields and files of `MarkerSettings` by keys of [inverse_kinematics].
_ENDS = {"start_s": "start", "stop_s": "stop"}
_MARKER_FILES = {"markers": "markers", "functions": "functions"}


def motion_of_markers(file: MuscleWalkFile, model: OsimModel, folder: Path) -> MarkerMotion:
    """Find the motion of a walk from markers; write it with errors and functions to a folder."""
    config = file.inverse_kinematics
    assert config is not None
    if not model.contacts:  # Nothing presses secondary coordinates anywhere.
        config = config.model_copy(update={"constrained": False})
    settings, sweep = None, None
    if config.settings is not None:
        settings, sweep = read_marker_settings(data_file(config.settings))
    weights = ({} if settings is None else dict(settings.weights)) | config.weights
    changes = {
        "weights": tuple(weights.items()),
        **stated_fields(config, _ENDS),
        **stated_files(config, _MARKER_FILES),
    }
    settings = MarkerSettings(**changes) if settings is None else replace(settings, **changes)
    if settings.markers is None:
        raise InputError(
            "inverse_kinematics.markers: expected measured markers (.trc, .c3d), found none"
        )
    text = model.without_contact(single_wraps_slide=file.walk.single_wraps_slide)
    folder.mkdir(parents=True, exist_ok=True)
    if config.constrained:
        functions = _functions(file, config, model, text, sweep, settings.functions)
        write_functions(folder / FUNCTIONS, functions, model.coordinate_paths)
        for function in functions:
            text = function.add_to(text)
    if config.marker_set is not None:
        text = with_markers(text, data_file(config.marker_set))
    followed = follow_markers(text, settings.markers, settings)
    write_text(folder / MOTION, motion_text(followed.motion, title="Coordinates"))
    errors = replace(followed.errors, in_degrees=False)
    write_text(folder / ERRORS, motion_text(errors, title="errors of markers"))
    motion = replace(followed.motion, source=str((folder / MOTION).resolve()))
    return followed._replace(motion=motion)


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
    names_by_angle = followers(model.joints, coupled, moved)
    if given is not None:
        several = len(names_by_angle) > 1
        return [
            ConstraintFunctions.read(given, name, names if several else None)
            for name, names in names_by_angle.items()
        ]
    contacts = articular_contacts(model, **file.walk.surfaces)
    system, swept = OpenSimSystem(text), []
    for name, names in names_by_angle.items():
        try:
            angle_sweep = replace(sweep, coupled=name, secondary=names)
            swept.append(passive_functions(system, contacts, angle_sweep))
        except PoseError as error:
            raise InputError(
                f"sweep of {name}: {error}; state a longer time or a smaller range in "
                "inverse_kinematics.settings"
            ) from error
    return swept


def _sweep(config: InverseKinematicsConfig, file: MuscleWalkFile, known: Sweep | None) -> Sweep:
    secondary = config.secondary
    if secondary is None and file.comak.secondary is not None and known is None:
        secondary = tuple(file.comak.secondary)
    changes: dict[str, Any] = {}
    coupled = _coupled(config)
    if coupled:
        changes["coupled"] = coupled[0]
    if secondary is not None:
        changes["secondary"] = secondary
    if known is not None:
        return replace(known, **changes)
    missing = [key for key in ("coupled", "secondary") if key not in changes]
    if missing:
        raise InputError(
            "inverse_kinematics.settings: expected a file of settings, or "
            f"{', '.join(f'inverse_kinematics.{key}' for key in missing)}"
        )
    return Sweep(**changes)


def _coupled(config: InverseKinematicsConfig) -> tuple[str, ...]:
    """Return the coupled angles that the configuration states."""
    if config.coupled is None:
        return ()
    return (config.coupled,) if isinstance(config.coupled, str) else config.coupled


#: Keys of [comak] that prepare the motion, and the settings that they change.
_TIMES = {"start_s": "start", "stop_s": "stop", "step_s": "step", "lowpass_Hz": "lowpass"}
#: Fields of the settings by keys of [comak].
_FIELDS = _TIMES | {
    key: key
    for key in (
        "primary", "iterations", "tolerance", "settle", "contact_energy_weight", "fibre_forces"
    )
}  # fmt: skip
#: Files by keys of [walk].
_FILES = {"motion": "motion", "external_loads": "external_loads", "reserves": "forces"}
#: Settings of static optimisation: the sum of squared activations, and a motion without noise.
_STATIC = {
    "secondary": (), "by_volume": False, "activation_weight": 1.0, "reserve_weight": 1.0,
    "lowpass": 6.0,
}  # fmt: skip
#: Least moment arm of a muscle that moves a coordinate [m]; OpenSim's paths over several surfaces
#: have moments of half a millimetre on the pelvis, which they do not cross.
_CROSSING = 2e-3


def side_notes(model: OsimModel, contacts: Iterable[JointContact]) -> tuple[str, ...]:
    """Return a note on contacts whose medial and lateral compartments are assumed."""
    split = {contact.name for contact in contacts if is_split(contact)}
    return tuple(
        f"{model.path.name}, {contact.name}: expected the side of the leg in the names of bodies "
        "and joints, which end with _r or _l, found none; medial and lateral are those of a right "
        "knee: rename its bodies if the knee is a left one"
        for contact in model.contacts
        if contact.name in split and not leg_side(model, contact.bed).leg
    )


def is_split(contact: JointContact) -> bool:
    """Return whether a contact has a medial and a lateral compartment."""
    return tuple(getattr(contact.model, "compartment_names", ())) == COMPARTMENTS


class WalkSettings(NamedTuple):
    """Settings of a walk, which solve for no locked coordinate."""

    settings: ComakSettings
    #: Model, motion, external loads and reserves.
    files: ComakFiles
    #: Coordinates that contact need not move: locked, coupled, or stated as prescribed.
    prescribed: set[str]
    #: Settings that are not carried out, or that contradict the model.
    notes: tuple[str, ...]


def walk_settings(file: MuscleWalkFile, model: OsimModel) -> WalkSettings:
    """Return the settings of a file as [comak] changes them, or the usual ones."""
    walk, source, settings = file.walk, None, None
    stated = stated_files(walk, _FILES)
    if file.inverse_kinematics is not None:
        stated.setdefault("motion", Path(MOTION))  # which has yet to be found
    files = replace(ComakFiles(data_file(walk.model), Path(), None, None), **stated)
    if walk.settings is not None:
        source = ComakFile(data_file(walk.settings), {"model": files.model, **stated})
        settings, files = source.settings(model.viscosities), source.files
    changes = _changes(file.comak, settings)
    if source is None and walk.reserves is not None:
        changes["reserve_forces"] = tuple(read_reserves(data_file(walk.reserves)).items())
    if settings is not None:
        settings = replace(settings, **changes)
    elif model.contacts:
        settings = ComakSettings(**changes)
    else:
        not_primary = {*model.held_coordinates, *(file.comak.secondary or ())}
        primary = tuple(name for name in model.coordinate_paths if name not in not_primary)
        settings = ComakSettings(**{"primary": primary, **_STATIC, **changes})
    notes = lock_notes(model.locked_coordinates, (*settings.primary, *secondary_names(settings)))
    settings = with_actuators(_without_locked(settings, model), model.reserves)
    listed = () if source is None else source.prescribed
    prescribed = {*model.held_coordinates, *listed}
    return WalkSettings(settings, files, prescribed, notes + _notes(settings, source, model))


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
        weights = {} if settings is None else dict(settings.muscle_weights)
        changes["muscle_weights"] = tuple((weights | comak.muscle_weights).items())
    return changes


def _without_locked(settings: ComakSettings, model: OsimModel) -> ComakSettings:
    """Return settings that solve for no locked coordinate."""
    locked = model.locked_coordinates
    primary = tuple(name for name in settings.primary if name not in locked)
    secondary = tuple(s for s in settings.secondary if s.name not in locked)
    if secondary and not model.contacts:
        raise InputError(
            f"secondary coordinates: expected none, as {model.path.name} has no articular contact "
            f"that applies, found {', '.join(s.name for s in secondary)}; leave comak.secondary "
            "out, or take a model with contact"
        )
    if not primary or (model.contacts and not secondary):
        solved = (*settings.primary, *secondary_names(settings))
        raise InputError(
            f"{model.path.name}: expected primary and secondary coordinates that move, found "
            f"{', '.join(name for name in solved if name in locked)} locked; set locked to false "
            "in the model"
        )
    return replace(settings, primary=primary, secondary=secondary)


def _notes(settings: ComakSettings, source: ComakFile | None, model: OsimModel) -> tuple[str, ...]:
    """Return notes on settings that are not carried out, or that contradict the model."""
    known, free = model.coordinate_paths, (*settings.primary, *secondary_names(settings))
    check_coordinates("comak.primary", settings.primary, known)
    check_coordinates("comak.secondary", secondary_names(settings), known)
    if source is not None:
        check_coordinates("prescribed_coordinates", source.prescribed, known)
    notes = model.notes(free)
    viscosities = model.viscosities
    other = [
        f"{s.name} {s.damping:g} ({viscosities.get(s.name, 0.0):g} in the model)"
        for s in settings.secondary
        if not np.isclose(s.damping, viscosities.get(s.name, 0.0))
    ]
    if not other:
        return notes
    return (
        *notes,
        "damping of secondary coordinates: expected the viscosity that the model applies to "
        f"them, found {', '.join(other)}; frames may not converge",
    )


def secondary_names(settings: ComakSettings) -> tuple[str, ...]:
    """Return the names of the secondary coordinates."""
    return tuple(s.name for s in settings.secondary)


@dataclass(frozen=True, eq=False)
class WalkSetup:
    """A walk of an OpenSim model, ready to be simulated."""

    model: OsimModel
    settings: ComakSettings
    #: Multibody system along the motion.
    plant: OpenSimPlant
    #: Sentences on what the files leave out.
    notes: tuple[str, ...] = ()
    #: Contacts of joint surfaces with beds of springs.
    springs: tuple[JointContact, ...] = ()
    #: Contacts of the simulation, where surrogates may stand for springs.
    contacts: tuple[JointContact, ...] = ()
    #: Time that the parts of the preparation took [s], by name.
    seconds: dict[str, float] = field(default_factory=dict)
    #: The knee of a model without articular contact.
    knee: Knee | None = None
    #: Distances of the markers that the motion follows.
    markers: MarkerMotion | None = None

    @property
    def comak(self) -> Comak:
        """The simulation."""
        return Comak(self.plant, self.contacts, self.settings)

    @property
    def flags(self) -> tuple[str, ...]:
        """Faults of the external loads, before the first frame."""
        balance = self.plant.balance
        return () if balance is None else balance.flags

    def first_values(self) -> FloatArray:
        """Return the first secondary coordinates (S,) [rad, m], settled if so stated."""
        plant = self.plant
        start = plant.motion.values[0, plant.motion.index(plant.secondary)]
        if not self.settings.settle or not plant.secondary:
            return start
        with plant.system.unloaded():
            resting = OpenSimPlant(plant.system, plant.motion.resting, (), plant.secondary)
            # Surrogates are trained near the walk; settling may begin elsewhere.
            contacts = PlantContacts(resting, self.springs)
            return settle(contacts, start, threshold=self.settings.settle_threshold)


def prepare_walk(file: MuscleWalkFile, folder: Path | None = None) -> WalkSetup:
    """Return a walk, ready to be simulated, whose files, settings and surrogates are checked.

    A motion from markers is found on the way, and written to the folder.
    """
    walk, begun = file.walk, time.perf_counter()
    model = OsimModel(data_file(walk.model))
    setup, prescribed = _along_motion(file, model, folder)
    prepared = time.perf_counter()
    springs = () if setup.knee else articular_contacts(model, **walk.surfaces)
    notes = (
        *setup.notes, *_rigid_notes(springs, setup.settings, prescribed),
        *side_notes(model, springs), *material_notes(model), *_weight_notes(setup),
    )  # fmt: skip
    runs = {name: Path(run) for name, run in walk.surrogates.items()}
    seconds = {"plant": prepared - begun}
    setup = replace(
        setup,
        springs=springs,
        contacts=with_surrogates(springs, runs),
        notes=notes,
        seconds=seconds | {"contacts": time.perf_counter() - prepared},
    )
    _ = setup.comak  # Settings that do not agree are an error before the first frame.
    for text in notes:
        warnings.warn(text, stacklevel=2)
    return setup


def _weight_notes(setup: WalkSetup) -> tuple[str, ...]:
    """Return a note on weights of muscles that the model does not have."""
    unknown = setup.settings.unknown_muscles(setup.plant.muscles.names)
    if not unknown:
        return ()
    return (
        f"muscle weights: expected names of muscles of the model, found {', '.join(unknown)}; the "
        "weights of these names have no effect",
    )


def _rigid_notes(
    contacts: tuple[JointContact, ...], settings: ComakSettings, stated: set[str]
) -> tuple[str, ...]:
    """Return a note on coordinates of contacts that follow the motion, but for those so stated."""
    free = {*settings.primary, *secondary_names(settings), *stated}
    rigid = {
        f"{name} ({contact.name})": None
        for contact in contacts
        for name in contact.coordinates
        if name not in free
    }
    if not rigid:
        return ()
    return (
        f"{', '.join(rigid)}: these coordinates of joints with contact are neither primary nor "
        "secondary, so that they follow the motion and contact does not move them; list them in "
        "comak.secondary if contact and ligaments determine them",
    )


def _motion(
    file: MuscleWalkFile, model: OsimModel, path: Path, folder: Path | None
) -> tuple[MotionTable, MarkerMotion | None]:
    """Return the motion of a walk, and its markers if the motion is found from markers."""
    if file.inverse_kinematics is None:
        return read_motion_table(path), None
    if folder is None:
        raise InputError("inverse_kinematics: expected a folder for the motion, found none")
    markers = motion_of_markers(file, model, folder)
    return markers.motion, markers


def _along_motion(
    file: MuscleWalkFile, model: OsimModel, folder: Path | None
) -> tuple[WalkSetup, set[str]]:
    """Return a walk along its motion, still without contacts, and prescribed coordinates."""
    static = not model.contacts
    if not static:
        file.check_coordinates()
    settings, files, prescribed, notes = walk_settings(file, model)
    loads = files.external_loads
    for path, remedy in (
        (None if file.inverse_kinematics else files.motion,
         ", or state [inverse_kinematics] to find the motion from markers"),
        (loads, ""),
    ):  # fmt: skip
        if path is not None and not path.is_file():
            keys = "check walk.motion and walk.external_loads"
            raise InputError(f"{path}: no such file; {keys}{remedy}")
    table, markers = _motion(file, model, files.motion, folder)
    text = model.without_contact(single_wraps_slide=file.walk.single_wraps_slide)
    plates = loads is not None and loads.suffix.lower() != ".xml"
    system = OpenSimSystem(text, None if plates else loads, reactions=static)
    columns = CoordinateTable(table, system)
    if static and file.comak.primary is None:
        settings = replace(settings, primary=_moved_by_muscles(system, columns, settings.primary))
    motion = read_motion(table, system, settings)
    if loads is not None and plates:
        system = loaded_by_plates(text, system, motion, loads)
    knee = _knee(file, model, system, motion) if static else None
    if knee is not None:
        motion = motion.between(knee.start, knee.stop)
    if system.external_loads is not None:
        notes += system.external_loads.notes
        system.external_loads.check_cover(float(motion.time[0]), float(motion.time[-1]))
    absent = [n for n in system.coordinates if n not in {*columns.columns, *system.held}]
    if absent:
        missing = f"no column of {', '.join(absent)}; these coordinates are zero"
        notes += (f"{Path(table.source).name}: {missing}",)
    balance = ground_balance(system, motion)
    plant = OpenSimPlant(system, motion, settings.primary, secondary_names(settings), balance)
    notes = (*(markers.notes if markers else ()), *notes)
    return WalkSetup(model, settings, plant, notes, knee=knee, markers=markers), prescribed


def _moved_by_muscles(
    system: OpenSimSystem, columns: CoordinateTable, names: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the angles among coordinates that are in the motion and that muscles cross."""
    system.set(0.0, system.defaults, np.zeros(len(system.defaults)))
    crossed = np.abs(system.arms()).max(axis=1, initial=0.0) > _CROSSING
    crossed[system.root[1]] = False
    rows = zip(system.coordinates, system.rotational, crossed.tolist(), strict=True)
    moved = {name for name, turns, crosses in rows if turns and crosses}
    angles = tuple(name for name in names if name in moved and name in columns.columns)
    if not angles:
        raise InputError(
            f"{columns.table.source}: expected angles of joints that muscles cross, "
            f"{', '.join(sorted(moved))}, found none"
        )
    return angles


def _knee(
    file: MuscleWalkFile, model: OsimModel, system: OpenSimSystem, motion: CoordinateMotion
) -> Knee:
    """Return the knee whose loads are wanted, and its cycle: as stated, or a stride."""
    loads, (start, stop) = system.external_loads, (file.comak.start_s, file.comak.stop_s)
    return knee_cycle(
        model,
        () if loads is None else loads.forces,
        (float(motion.time[0]), float(motion.time[-1])),
        name=file.walk.knee,
        cycle=None if start is None or stop is None else (start, stop),
    )
