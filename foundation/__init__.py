"""The original model: pose, meshes, built-in implant, spring laws, elastic-foundation contact."""

from foundation.elastic_foundation import ElasticFoundation, SpringState
from foundation.implant import CondylarImplant
from foundation.laws import LinearLaw, LogarithmicLaw, ModifiedLaw, SeriesLaw, SpringLaw
from foundation.loads import CompartmentLoads, ContactLoads
from foundation.mesh import MeshError, MeshWarning, TriangleMesh, load_mesh
from foundation.pose import Pose, generalised_force, twist_jacobian

__all__ = [
    "CompartmentLoads",
    "CondylarImplant",
    "ContactLoads",
    "ElasticFoundation",
    "LinearLaw",
    "LogarithmicLaw",
    "MeshError",
    "MeshWarning",
    "ModifiedLaw",
    "Pose",
    "SeriesLaw",
    "SpringLaw",
    "SpringState",
    "TriangleMesh",
    "generalised_force",
    "load_mesh",
    "twist_jacobian",
]
