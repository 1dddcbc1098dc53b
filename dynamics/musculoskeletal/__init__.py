"""Muscles, ligaments and joint contact of a whole person: OpenSim models and COMAK.

`OsimModel` reads a model with articular contact, `OpenSimSystem` and `OpenSimPlant` are its
multibody system by the `opensim` package, `JointContact` a contact model in a joint, `Comak` finds
activations and secondary coordinates along a motion, `settle` their start, `RecordedPlant` replays
a plant without OpenSim. `simulate_forward` lets forces move the secondary coordinates while all
others are prescribed; `follow_markers` finds a motion from markers, with `ConstraintFunctions` for
the secondary coordinates.
"""

from dynamics.musculoskeletal.articular_model import ArticularContact, ContactMesh
from dynamics.musculoskeletal.comak import Comak
from dynamics.musculoskeletal.comak_file import ComakFile
from dynamics.musculoskeletal.comak_settings import (
    ComakFiles,
    ComakSettings,
    SecondaryCoordinate,
)
from dynamics.musculoskeletal.comak_solution import ComakResult
from dynamics.musculoskeletal.constraint_functions import (
    ConstraintFunctions,
    with_markers,
    write_functions,
)
from dynamics.musculoskeletal.forward_settings import (
    ForwardFiles,
    ForwardSettings,
    read_forward_settings,
)
from dynamics.musculoskeletal.forward_simulation import ForwardFrames, simulate_forward
from dynamics.musculoskeletal.joint_contact import JointContact
from dynamics.musculoskeletal.joint_kinematics import KinematicChain, Placement
from dynamics.musculoskeletal.ligament_set import LigamentSet
from dynamics.musculoskeletal.marker_kinematics import MarkerMotion, follow_markers
from dynamics.musculoskeletal.marker_settings import (
    MarkerFiles,
    MarkerSettings,
    read_marker_settings,
)
from dynamics.musculoskeletal.motion_input import read_motion
from dynamics.musculoskeletal.muscle_courses import MuscleWeight
from dynamics.musculoskeletal.muscle_drive import MuscleDrive
from dynamics.musculoskeletal.opensim_plant import OpenSimPlant
from dynamics.musculoskeletal.opensim_system import OpenSimSystem
from dynamics.musculoskeletal.osim_model import OsimModel
from dynamics.musculoskeletal.passive_sweep import Sweep, followers, passive_functions
from dynamics.musculoskeletal.plant import (
    Contractions,
    CoordinateMotion,
    MuscleSet,
    Plant,
    PlantForces,
)
from dynamics.musculoskeletal.plant_contacts import ContactForces, PlantContacts
from dynamics.musculoskeletal.plant_recording import record_plant
from dynamics.musculoskeletal.plate_feet import loaded_by_plates
from dynamics.musculoskeletal.prescribed_motion import (
    BodyForce,
    Course,
    drive_muscles,
    instants,
    prescribe_motion,
    read_muscle_inputs,
    read_prescribed,
    write_external_loads,
)
from dynamics.musculoskeletal.recorded_plant import RecordedPlant
from dynamics.musculoskeletal.reserves import Reserve, read_reserves, reserve_fields
from dynamics.musculoskeletal.settling import Settled, settle
from dynamics.musculoskeletal.simulated_frames import ContactFlag, SimulatedFrames

__all__ = [
    "ArticularContact",
    "BodyForce",
    "Comak",
    "ComakFile",
    "ComakFiles",
    "ComakResult",
    "ComakSettings",
    "ConstraintFunctions",
    "ContactFlag",
    "ContactForces",
    "ContactMesh",
    "Contractions",
    "CoordinateMotion",
    "Course",
    "ForwardFiles",
    "ForwardFrames",
    "ForwardSettings",
    "JointContact",
    "KinematicChain",
    "LigamentSet",
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
    "PlantForces",
    "RecordedPlant",
    "Reserve",
    "SecondaryCoordinate",
    "Settled",
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
