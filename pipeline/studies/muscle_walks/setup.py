"""What a COMAK simulation of a walk consists of: model, plant, contacts, first values."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from dynamics.musculoskeletal import (
    Comak,
    ComakSettings,
    CoordinateMotion,
    JointContact,
    OpenSimPlant,
    OpenSimSystem,
    OsimModel,
    PlantContacts,
    RecordedPlant,
    read_motion,
    settle,
)
from foundation.checks import FloatArray
from foundation.errors import InputError
from pipeline.config.data_folder import data_file
from pipeline.originals.articular_contacts import articular_contacts
from pipeline.stages.articular_surrogates import with_surrogates
from pipeline.studies.muscle_walks.schema import MuscleWalkFile
from pipeline.studies.muscle_walks.settings import walk_settings


@dataclass(frozen=True, eq=False)
class WalkSetup:
    """A walk of an OpenSim model, ready to be simulated.

    Parameters
    ----------
    model : OsimModel
        The model.
    settings : ComakSettings
        Settings of COMAK.
    plant : OpenSimPlant or RecordedPlant
        Multibody system along the motion.
    springs, contacts : tuple of JointContact
        Contacts of joint surfaces with beds of springs, and those of the simulation, where
        surrogates may stand for springs.
    seconds : dict
        Time that the parts of the preparation took [s], by name.
    """

    model: OsimModel
    settings: ComakSettings
    plant: OpenSimPlant | RecordedPlant
    springs: tuple[JointContact, ...]
    contacts: tuple[JointContact, ...]
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def comak(self) -> Comak:
        """The simulation."""
        return Comak(self.plant, self.contacts, self.settings)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Settings without effect."""
        unknown = self.settings.unknown_muscles(self.plant.muscles.names)
        if not unknown:
            return ()
        names = ", ".join(unknown)
        return (
            f"muscle weights: expected names of muscles of the model, found {names}; the weights "
            "of these names have no effect",
        )

    def first_values(self) -> FloatArray:
        """Return the secondary coordinates (S,) before the first frame [rad, m].

        Settled from those of the motion without external loads, unless the settings say otherwise;
        those of a record are recorded.
        """
        plant = self.plant
        if isinstance(plant, RecordedPlant):
            return plant.start
        start = plant.motion.values[0, plant.motion.index(plant.secondary)]
        if not self.settings.settle:
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
    """Return a walk, ready to be simulated.

    Raises
    ------
    ConfigError, InputError
        If a file is missing or cannot be used, OpenSim is needed and not installed, settings,
        motion and model do not agree, or a surrogate stands for another contact.
    RunError
        If a directory of a surrogate is not a finished run.
    """
    walk, begun = file.walk, time.perf_counter()
    model = OsimModel(data_file(walk.model))
    meshes = {name: data_file(path) for name, path in walk.meshes.items()}
    plant, settings = _recorded(file) if walk.replay else _from_opensim(file, model)
    planted = time.perf_counter()
    energy = settings.contact_energy_weight > 0.0
    springs = articular_contacts(model, meshes=meshes, surface=walk.surface, energy=energy)
    runs = {name: Path(folder) for name, folder in walk.surrogates.items()}
    contacts = with_surrogates(springs, runs)
    seconds = {"plant": planted - begun, "contacts": time.perf_counter() - planted}
    setup = WalkSetup(model, settings, plant, springs, contacts, seconds)
    for text in setup.warnings:
        warnings.warn(text, stacklevel=2)
    return setup


def _from_opensim(
    file: MuscleWalkFile, model: OsimModel
) -> tuple[OpenSimPlant | RecordedPlant, ComakSettings]:
    """Return a plant by OpenSim, and its settings."""
    settings, files = walk_settings(file)
    text = model.without_contact(single_wraps_slide=file.walk.single_wraps_slide)
    for path in (files.motion, files.external_loads):
        if path is not None and not Path(path).is_file():
            raise InputError(f"{path}: no such file; check walk.motion and walk.external_loads")
    system = OpenSimSystem(text, files.external_loads)
    motion = read_motion(files.motion, system, settings)
    plant = OpenSimPlant(system, motion, settings.primary, secondary_names(settings))
    return plant, settings


def _recorded(file: MuscleWalkFile) -> tuple[OpenSimPlant | RecordedPlant, ComakSettings]:
    """Return a recorded plant, and the settings of its replay."""
    plant = RecordedPlant.load(data_file(str(file.walk.replay)))
    settings, _ = walk_settings(file, plant.settings)
    own, found = secondary_names(plant.settings), secondary_names(settings)
    if set(settings.primary) != set(plant.settings.primary) or found != own:
        raise InputError(
            f"{file.walk.replay}: expected the coordinates of the record, primary "
            f"{', '.join(plant.settings.primary)} and secondary {', '.join(own)}, found "
            f"{', '.join(settings.primary)} and {', '.join(found)} in the settings"
        )
    return plant, settings


def secondary_names(settings: ComakSettings) -> tuple[str, ...]:
    """Return the names of the secondary coordinates."""
    return tuple(s.name for s in settings.secondary)
