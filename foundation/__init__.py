"""The original model: pose, meshes, built-in implant, spring laws, elastic-foundation contact.

Names are imported when they are first asked for: a trained surrogate needs pose and loads alone,
and with them nothing but NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_MODULES = {
    "elastic_foundation": ("ElasticFoundation", "SpringState"),
    "implant": ("CondylarImplant",),
    "laws": ("LinearLaw", "LogarithmicLaw", "ModifiedLaw", "SeriesLaw", "SpringLaw"),
    "loads": ("CompartmentLoads", "ContactLoads"),
    "mesh": ("MeshError", "MeshWarning", "TriangleMesh", "load_mesh"),
    "pose": ("Pose", "generalised_force", "twist_jacobian"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
