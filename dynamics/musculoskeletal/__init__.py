"""Muscles, ligaments and joint contact of a whole person: OpenSim models and COMAK.

`OsimModel` reads a model with articular contact, `OpenSimSystem` and `OpenSimPlant` are its
multibody system by the `opensim` package, `JointContact` a contact model in a joint, `Comak` finds
activations and secondary coordinates along a motion, `settle` their start, `RecordedPlant` replays
a plant without OpenSim. `simulate_forward` lets forces move the secondary coordinates while all
others are prescribed; `follow_markers` finds a motion from markers, with `ConstraintFunctions` for
the secondary coordinates.
"""

from dynamics.musculoskeletal.comak import Comak, ComakResult
from dynamics.musculoskeletal.comak_file import ComakFile, read_reserves, reserve_fields
from dynamics.musculoskeletal.comak_settings import (
    ComakFiles,
    ComakSettings,
    MuscleWeight,
    SecondaryCoordinate,
)
from dynamics.musculoskeletal.constraint_functions import (
    ConstraintFunctions,
    Sweep,
    followers,
    passive_functions,
    with_markers,
    write_functions,
)
from dynamics.musculoskeletal.forward_simulation import (
    ForwardFrames,
    settle,
    simulate_forward,
)
from dynamics.musculoskeletal.ground_balance import loaded_by_plates
from dynamics.musculoskeletal.joint_contact import JointContact, PlantContacts
from dynamics.musculoskeletal.joint_kinematics import Placement
from dynamics.musculoskeletal.marker_kinematics import (
    MarkerFiles,
    MarkerMotion,
    MarkerSettings,
    follow_markers,
    read_marker_settings,
)
from dynamics.musculoskeletal.motion_input import read_motion
from dynamics.musculoskeletal.opensim_plant import OpenSimPlant
from dynamics.musculoskeletal.opensim_system import OpenSimSystem
from dynamics.musculoskeletal.osim_model import ArticularContact, ContactMesh, OsimModel
from dynamics.musculoskeletal.plant import (
    CoordinateMotion,
    MuscleDrive,
    MuscleSet,
    Plant,
    SimulatedFrames,
)
from dynamics.musculoskeletal.prescribed_motion import (
    BodyForce,
    Course,
    ForwardFiles,
    ForwardSettings,
    drive_muscles,
    instants,
    prescribe_motion,
    read_forward_settings,
    read_muscle_inputs,
    read_prescribed,
    write_external_loads,
)
from dynamics.musculoskeletal.recorded_plant import RecordedPlant, record_plant

__all__ = [
    "ArticularContact",
    "BodyForce",
    "Comak",
    "ComakFile",
    "ComakFiles",
    "ComakResult",
    "ComakSettings",
    "ConstraintFunctions",
    "ContactMesh",
    "CoordinateMotion",
    "Course",
    "ForwardFiles",
    "ForwardFrames",
    "ForwardSettings",
    "JointContact",
    "MarkerFiles",
    "MarkerMotion",
    "MarkerSettings",
    "MuscleDrive",
    "MuscleSet",
    "MuscleWeight",
    "OpenSimPlant",
    "OpenSimSystem",
    "OsimModel",
    "Placement",
    "Plant",
    "PlantContacts",
    "RecordedPlant",
    "SecondaryCoordinate",
    "SimulatedFrames",
    "Sweep",
    "drive_muscles",
    "follow_markers",
    "followers",
    "instants",
    "loaded_by_plates",
    "passive_functions",
    "prescribe_motion",
    "read_forward_settings",
    "read_marker_settings",
    "read_motion",
    "read_muscle_inputs",
    "read_prescribed",
    "read_reserves",
    "record_plant",
    "reserve_fields",
    "settle",
    "simulate_forward",
    "with_markers",
    "write_external_loads",
    "write_functions",
]
