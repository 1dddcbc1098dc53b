"""Preparation of a walk: settings, model, plant, contacts, first values.

A model with articular contact is simulated by COMAK. In any other model, the joint of the knee
stands for its contact and ligaments: without secondary coordinates, the problem of a frame is
static optimisation.
"""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dynamics.motion.motion_tables import read_motion_table
from dynamics.musculoskeletal import (
    Comak,
    ComakFiles,
    ComakSettings,
    OpenSimPlant,
    OsimModel,
    RecordedPlant,
)
from dynamics.musculoskeletal.comak_file import (
    ComakFile,
    check_coordinates,
    read_reserves,
    reserve_fields,
    with_actuators,
)
from dynamics.musculoskeletal.comak_settings import MuscleWeight, SecondaryCoordinate
from dynamics.musculoskeletal.forward_simulation import settle
from dynamics.musculoskeletal.ground_balance import loaded_by_plates
from dynamics.musculoskeletal.joint_contact import JointContact, PlantContacts
from dynamics.musculoskeletal.knee_reaction import Knee, knee_cycle
from dynamics.musculoskeletal.leg_sides import leg_side
from dynamics.musculoskeletal.load_causes import ground_balance
from dynamics.musculoskeletal.marker_kinematics import MarkerMotion
from dynamics.musculoskeletal.motion_input import (
    CoordinateTable,
    check_seconds,
    filter_edge_notes,
    read_motion,
)
from dynamics.musculoskeletal.opensim_system import OpenSimSystem, lock_notes
from dynamics.musculoskeletal.plant import CoordinateMotion
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from pipeline.config.data_folder import data_file
from pipeline.config.schema_base import Section
from pipeline.originals.articular_contacts import articular_contacts, check_facing, material_notes
from pipeline.stages.articular_surrogates import with_surrogates
from pipeline.studies.muscle_walks.schema import ArticularModelConfig, ComakConfig, MuscleWalkFile

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


def stated_fields(section: Section, fields: Mapping[str, str]) -> dict[str, Any]:
    """Return the stated values of keys, by the fields of the settings that the keys change."""
    stated = section.model_dump(exclude_none=True)
    return {field: stated[key] for key, field in fields.items() if key in stated}


def stated_files(section: Section, fields: Mapping[str, str]) -> dict[str, Path]:
    """Return the files that keys state, by the fields that the keys change."""
    return {field: data_file(text) for field, text in stated_fields(section, fields).items()}


def spring_contacts(
    model: OsimModel, config: ArticularModelConfig, *, energy: bool = False
) -> tuple[JointContact, ...]:
    """Return the contacts of a model with beds of springs, with surfaces of the configuration."""
    return articular_contacts(
        model,
        meshes=config.mesh_files,
        thicknesses=config.thicknesses,
        surface=config.surface,
        energy=energy,
    )


def facing_contacts(
    model: OsimModel,
    config: ArticularModelConfig,
    motion: CoordinateMotion,
    *,
    energy: bool = False,
) -> tuple[JointContact, ...]:
    """Return `spring_contacts`; refuse surfaces that do not face each other along a motion."""
    contacts = spring_contacts(model, config, energy=energy)
    check_facing(contacts, model, motion)
    return contacts


def side_notes(model: OsimModel, contacts: Iterable[JointContact]) -> tuple[str, ...]:
    """Return what is contradictory or assumed about medial and lateral."""
    split = {contact.name for contact in contacts if is_split(contact)}
    notes = {
        f"{model.path.name}, {contact.name}: {note}": None
        for contact in model.contacts
        if contact.name in split and (note := leg_side(model, contact.bed).note)
    }
    return tuple(notes)


def is_split(contact: JointContact) -> bool:
    """Return whether a contact has a medial and a lateral compartment."""
    return tuple(getattr(contact.model, "compartment_names", ())) == COMPARTMENTS


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
    """Return the settings of a file or record as [comak] changes them; `usual` are last."""
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


#: Keys of [comak] that prepare the motion, and the settings that they change.
_TIMES = {"start_s": "start", "stop_s": "stop", "step_s": "step", "lowpass_Hz": "lowpass"}


#: Settings of static optimisation: the sum of squared activations, and a motion without noise.
_STATIC = {
    "secondary": (), "by_volume": False, "activation_weight": 1.0, "reserve_weight": 1.0,
    "lowpass": 6.0,
}  # fmt: skip
#: Least moment arm of a muscle that moves a coordinate [m]; OpenSim's paths over several surfaces
#: have moments of half a millimetre on the pelvis, which they do not cross.
_CROSSING = 2e-3


@dataclass(frozen=True, eq=False)
class WalkSetup:
    """A walk of an OpenSim model, ready to be simulated."""

    model: OsimModel
    settings: ComakSettings
    #: Multibody system along the motion.
    plant: OpenSimPlant | RecordedPlant
    #: Contacts of joint surfaces with beds of springs.
    springs: tuple[JointContact, ...]
    #: Contacts of the simulation, where surrogates may stand for springs.
    contacts: tuple[JointContact, ...]
    #: Time that the parts of the preparation took [s], by name.
    seconds: dict[str, float] = field(default_factory=dict)
    #: Sentences on what the files leave out, and on keys without effect.
    notes: tuple[str, ...] = ()
    #: The knee of a model without articular contact.
    knee: Knee | None = None
    #: The motion from markers, where it is found so.
    markers: MarkerMotion | None = None

    @property
    def comak(self) -> Comak:
        """The simulation."""
        return Comak(self.plant, self.contacts, self.settings)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Settings without effect, and what the files leave out."""
        unknown = self.settings.unknown_muscles(self.plant.muscles.names)
        if not unknown:
            return self.notes
        names = ", ".join(unknown)
        return (
            *self.notes,
            f"muscle weights: expected names of muscles of the model, found {names}; the weights "
            "of these names have no effect",
        )

    @property
    def flags(self) -> tuple[str, ...]:
        """Faults of the external loads, before the first frame."""
        balance = self.plant.balance
        return () if balance is None else balance.flags

    def first_values(self) -> FloatArray:
        """Return the first secondary coordinates (S,) [rad, m]: settled, or those of a record."""
        plant = self.plant
        if isinstance(plant, RecordedPlant):
            return plant.start
        start = plant.motion.values[0, plant.motion.index(plant.secondary)]
        if not self.settings.settle or not plant.secondary:
            return start
        with plant.system.unloaded():
            resting = OpenSimPlant(plant.system, _at_rest(plant.motion), (), plant.secondary)
            # Surrogates are trained near the walk; settling may begin elsewhere.
            contacts = PlantContacts(resting, self.springs)
            return settle(contacts, start, threshold=self.settings.settle_threshold).values


def _at_rest(motion: CoordinateMotion) -> CoordinateMotion:
    """Return the first instant of a motion, at rest."""
    values = np.repeat(motion.values[:1], 2, axis=0)
    return replace(
        motion,
        time=motion.time[:2],
        values=values,
        speeds=np.zeros_like(values),
        accelerations=np.zeros_like(values),
    )


def prepare_walk(file: MuscleWalkFile) -> WalkSetup:
    """Return a walk, ready to be simulated, whose files, settings and surrogates are checked."""
    walk, begun = file.walk, time.perf_counter()
    model = OsimModel(data_file(walk.model))
    prepared = (_recorded if walk.replay else _from_opensim)(file, model)
    plant, settings, notes, source, knee = prepared
    planted = time.perf_counter()
    energy = settings.contact_energy_weight > 0.0
    springs = () if knee else facing_contacts(model, walk, plant.motion, energy=energy)
    notes += _rigid_notes(springs, settings, _prescribed(source, model))
    notes += side_notes(model, springs) + material_notes(model)
    runs = {name: Path(folder) for name, folder in walk.surrogates.items()}
    contacts = with_surrogates(springs, runs)
    seconds = {"plant": planted - begun, "contacts": time.perf_counter() - planted}
    setup = WalkSetup(model, settings, plant, springs, contacts, seconds, notes, knee)
    _ = setup.comak  # Settings that do not agree are an error before the first frame.
    for text in setup.warnings:
        warnings.warn(text, stacklevel=2)
    return setup


def _rigid_notes(
    contacts: tuple[JointContact, ...], settings: ComakSettings, stated: set[str]
) -> tuple[str, ...]:
    """Return a note on coordinates of contacts that follow the motion, but for those so stated."""
    free = {*settings.primary, *secondary_names(settings), *stated}
    left = {
        f"{name} ({contact.name})": None
        for contact in contacts
        for name in contact.coordinates
        if name not in free
    }
    if not left:
        return ()
    return (
        f"{', '.join(left)}: these coordinates of joints with contact are neither primary nor "
        "secondary, so that they follow the motion and contact does not move them; list them in "
        "comak.secondary if contact and ligaments determine them",
    )


def _prescribed(source: ComakFile | None, model: OsimModel) -> set[str]:
    """Return the coordinates that the file of settings or the model states as prescribed."""
    listed = () if source is None else source.prescribed(model.coordinate_paths)
    return {*model.held_coordinates, *listed}


def model_digest(file: MuscleWalkFile, model: OsimModel) -> str:
    """Return the SHA-256 of what a record has of a model: all but its articular contact."""
    text = model.without_contact(single_wraps_slide=file.walk.single_wraps_slide)
    return hashlib.sha256(text.encode()).hexdigest()


class _Prepared(NamedTuple):
    """A plant, its settings, notes on its files, the file of settings, and a knee."""

    plant: OpenSimPlant | RecordedPlant
    settings: ComakSettings
    notes: tuple[str, ...]
    source: ComakFile | None
    knee: Knee | None = None


def _from_opensim(file: MuscleWalkFile, model: OsimModel) -> _Prepared:
    """Return a plant by OpenSim, its settings, and notes on what its files leave out."""
    static = not model.contacts
    usual: dict[str, Any] = {}
    if static:
        others = {*model.held_coordinates, *(file.comak.secondary or ())}
        kept = [name for name in model.coordinate_paths if name not in others]
        usual = {"primary": tuple(kept), **_STATIC}
    else:
        file.check_coordinates()
    stated = walk_settings(file, viscosities=model.viscosities, usual=usual)
    stated, solved = _without_locked(stated, model)
    settings, files, source = stated
    settings = with_actuators(settings, model.reserves)
    notes = _file_notes(stated, model)
    text = model.without_contact(single_wraps_slide=file.walk.single_wraps_slide)
    for path in (files.motion, files.external_loads):
        if path is not None and not Path(path).is_file():
            remedy = "check walk.motion and walk.external_loads"
            if path == files.motion:
                remedy += ", or state [inverse_kinematics] to find the motion from markers"
            raise InputError(f"{path}: no such file; {remedy}")
    loads = files.external_loads
    plates = loads is not None and loads.suffix.lower() != ".xml"
    system = OpenSimSystem(text, None if plates else loads, reactions=static)
    table = read_motion_table(files.motion)
    check_seconds(table.source, table.time)
    columns = CoordinateTable(table, system)
    notes += columns.unit_notes()
    if static and file.comak.primary is None:
        settings = replace(settings, primary=_moved_by_muscles(system, columns, settings.primary))
    motion = read_motion(table, system, settings)
    courses = {name: columns.in_si(name) for name in columns.columns}
    notes += lock_notes(model.locked_coordinates, motion.angles, solved, courses)
    if loads is not None and plates:
        system = loaded_by_plates(text, system, motion, loads)
    knee = _knee(file, model, system, motion) if static else None
    if knee is not None:
        motion = motion.between(knee.start, knee.stop)
    notes += filter_edge_notes(table, motion.time, settings)
    if system.external_loads is not None:
        notes += system.external_loads.notes
        check_seconds(system.external_loads.data_file, system.external_loads.table.time)
        system.external_loads.check_cover(float(motion.time[0]), float(motion.time[-1]))
    balance = ground_balance(system, motion)
    plant = OpenSimPlant(system, motion, settings.primary, secondary_names(settings), balance)
    known = {*columns.columns, *system.held}
    absent = [name for name in system.coordinates if name not in known]
    if absent:
        notes += (
            f"{files.motion.name}: no column of {', '.join(absent)}; these coordinates are zero",
        )
    return _Prepared(plant, settings, notes, source, knee)


def _moved_by_muscles(
    system: OpenSimSystem, columns: CoordinateTable, names: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the angles among coordinates that are in the motion and that muscles cross."""
    system.set(0.0, system.defaults, np.zeros(len(system.defaults)))
    crossed = np.abs(system.arms()).max(axis=1, initial=0.0) > _CROSSING
    crossed[system.root[1]] = False
    rows = zip(system.coordinates, system.rotational, crossed.tolist(), strict=True)
    moved = {name for name, turns, crosses in rows if turns and crosses}
    found = tuple(name for name in names if name in moved and name in columns.columns)
    if not found:
        raise InputError(
            f"{columns.table.source}: expected angles of joints that muscles cross, "
            f"{', '.join(sorted(moved))}, found none"
        )
    return found


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


def _without_locked(stated: WalkSettings, model: OsimModel) -> tuple[WalkSettings, tuple[str, ...]]:
    """Return settings that solve for no locked coordinate, and the coordinates of the settings."""
    settings, locked = stated.settings, model.locked_coordinates
    primary = tuple(name for name in settings.primary if name not in locked)
    secondary = tuple(s for s in settings.secondary if s.name not in locked)
    solved = (*settings.primary, *secondary_names(settings))
    if secondary and not model.contacts:
        raise InputError(
            f"secondary coordinates: expected none, as {model.path.name} has no articular contact "
            f"that applies, found {', '.join(s.name for s in secondary)}; leave comak.secondary "
            "out, or take a model with contact"
        )
    if not primary or (model.contacts and not secondary):
        raise InputError(
            f"{model.path.name}: expected primary and secondary coordinates that move, found "
            f"{', '.join(name for name in solved if name in locked)} locked; set locked to false "
            "in the model"
        )
    kept = replace(settings, primary=primary, secondary=secondary)
    return stated._replace(settings=kept), solved


def _file_notes(stated: WalkSettings, model: OsimModel) -> tuple[str, ...]:
    """Return notes on settings that are not carried out, or that contradict the model."""
    settings, known = stated.settings, model.coordinate_paths
    check_coordinates("comak.primary", settings.primary, known)
    check_coordinates("comak.secondary", secondary_names(settings), known)
    source = stated.source
    free = (*settings.primary, *secondary_names(settings))
    notes = () if source is None else source.notes(known, (*model.held_coordinates, *free))
    notes += model.notes(free)
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


def _recorded(file: MuscleWalkFile, model: OsimModel) -> _Prepared:
    """Return a recorded plant, the settings of its replay, and notes on differences."""
    if not model.contacts:
        raise InputError(
            f"walk.replay: expected a model with articular contact, found none in "
            f"{model.path.name}; leave walk.replay out"
        )
    plant = RecordedPlant.load(data_file(str(file.walk.replay)))
    if set(plant.motion.names) != set(model.coordinate_paths):
        raise InputError(
            f"{file.walk.replay}: expected a record of {model.path.name}, found another model "
            f"with the coordinates {', '.join(plant.motion.names)}; record a walk of this model"
        )
    _check_times(file, plant.settings)
    stated = walk_settings(file, plant.settings, model.viscosities)
    stated, solved = _without_locked(stated, model)
    settings = stated.settings
    if stated.source is not None:  # Those of the record have the actuators of the model.
        settings = with_actuators(settings, model.reserves)
    notes = _file_notes(stated, model)
    notes += lock_notes(model.locked_coordinates, plant.motion.angles, solved, {})
    own, found = secondary_names(plant.settings), secondary_names(settings)
    if set(settings.primary) != set(plant.settings.primary) or set(found) != set(own):
        raise InputError(
            f"{file.walk.replay}: expected the coordinates of the record, primary "
            f"{', '.join(plant.settings.primary)} and secondary {', '.join(own)}, found "
            f"{', '.join(settings.primary)} and {', '.join(found)} in the settings"
        )
    ordered = sorted(settings.secondary, key=lambda s: own.index(s.name))
    settings = replace(settings, secondary=tuple(ordered))
    if plant.model in ("", model_digest(file, model)):
        return _Prepared(plant, settings, notes, stated.source)
    note = (
        f"{model.path.name} is not the model of the record, or walk.single_wraps_slide differs: "
        "bodies, muscles and ligaments are those of the record; record again for those of the model"
    )
    return _Prepared(plant, settings, (*notes, note), stated.source)


def _check_times(file: MuscleWalkFile, recorded: ComakSettings) -> None:
    """Raise an `InputError` if the configuration states other times than those of a record."""
    for key, field_name in _TIMES.items():
        stated, own = getattr(file.comak, key), getattr(recorded, field_name)
        if stated is not None and stated != own:
            raise InputError(
                f"comak.{key}: expected {own} as in the record, found {stated}; a replay has the "
                f"motion of {file.walk.replay}: leave the key out, or record another walk"
            )


def secondary_names(settings: ComakSettings) -> tuple[str, ...]:
    """Return the names of the secondary coordinates."""
    return tuple(s.name for s in settings.secondary)
