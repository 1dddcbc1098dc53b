"""Muscles, ligaments and joint contact of a whole person: OpenSim models and COMAK.

`OsimModel` reads a model with articular contact, `OpenSimSystem` and `OpenSimPlant` are its
multibody system by the `opensim` package, `JointContact` a contact model in a joint, `Comak` finds
activations and secondary coordinates along a motion, `settle` their start, `RecordedPlant` replays
a plant without OpenSim.
"""

from dynamics.musculoskeletal.comak import Comak, ComakResult
from dynamics.musculoskeletal.comak_settings import (
    ComakFiles,
    ComakSettings,
    MuscleWeight,
    SecondaryCoordinate,
    read_comak_settings,
    read_reserves,
)
from dynamics.musculoskeletal.forward_simulation import ForwardResult, simulate_forward
from dynamics.musculoskeletal.joint_contact import JointContact
from dynamics.musculoskeletal.joint_kinematics import JointKinematics, Placement
from dynamics.musculoskeletal.ligament_set import LigamentSet
from dynamics.musculoskeletal.motion_input import read_motion
from dynamics.musculoskeletal.opensim_plant import OpenSimPlant, OpenSimSystem
from dynamics.musculoskeletal.osim_model import ArticularContact, ContactMesh, OsimModel
from dynamics.musculoskeletal.plant import CoordinateMotion, MuscleSet, Plant, PlantForces
from dynamics.musculoskeletal.plant_contacts import ContactForces, PlantContacts
from dynamics.musculoskeletal.recorded_plant import RecordedPlant, record_plant
from dynamics.musculoskeletal.settling import Settled, settle

__all__ = [
    "ArticularContact",
    "Comak",
    "ComakFiles",
    "ComakResult",
    "ComakSettings",
    "ContactForces",
    "ContactMesh",
    "CoordinateMotion",
    "ForwardResult",
    "JointContact",
    "JointKinematics",
    "LigamentSet",
    "MuscleSet",
    "MuscleWeight",
    "OpenSimPlant",
    "OpenSimSystem",
    "OsimModel",
    "Placement",
    "Plant",
    "PlantContacts",
    "PlantForces",
    "RecordedPlant",
    "SecondaryCoordinate",
    "Settled",
    "read_comak_settings",
    "read_motion",
    "read_reserves",
    "record_plant",
    "settle",
    "simulate_forward",
]
