"""The original models: pose, meshes, built-in implant, elastic foundation and finite elements.

Names are imported on first access: a trained surrogate needs only pose, loads and NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from foundation.former_names import redirect

if TYPE_CHECKING:
    from foundation.elastic_foundation.laws import (
        CoupledLaw,
        LinearLaw,
        LogarithmicLaw,
        ModifiedLaw,
        SeriesLaw,
        SpringLaw,
    )
    from foundation.elastic_foundation.model import ElasticFoundation
    from foundation.finite_element.base import PlaneBase, SolidBase, ThicknessBase
    from foundation.finite_element.layer import ElasticLayer
    from foundation.finite_element.model import FiniteElementContact
    from foundation.finite_element.size import LayerSize
    from foundation.fitted_surfaces.model import FittedSurfaceContact
    from foundation.implant.condylar_implant import CondylarImplant
    from foundation.loads import CompartmentLoads, ContactLoads, SpringState
    from foundation.pose import Pose, generalised_force, twist_jacobian
    from foundation.surface_contact import SurfaceContact
    from foundation.surfaces.mesh import MeshError, MeshWarning, TriangleMesh, load_mesh

__all__ = [
    "CompartmentLoads",
    "CondylarImplant",
    "ContactLoads",
    "CoupledLaw",
    "ElasticFoundation",
    "ElasticLayer",
    "FiniteElementContact",
    "FittedSurfaceContact",
    "LayerSize",
    "LinearLaw",
    "LogarithmicLaw",
    "MeshError",
    "MeshWarning",
    "ModifiedLaw",
    "PlaneBase",
    "Pose",
    "SeriesLaw",
    "SolidBase",
    "SpringLaw",
    "SpringState",
    "SurfaceContact",
    "ThicknessBase",
    "TriangleMesh",
    "generalised_force",
    "load_mesh",
    "twist_jacobian",
]

_MODULES = {
    "elastic_foundation.laws": (
        "CoupledLaw LinearLaw LogarithmicLaw ModifiedLaw SeriesLaw SpringLaw"
    ),
    "elastic_foundation.model": "ElasticFoundation",
    "finite_element.base": "PlaneBase SolidBase ThicknessBase",
    "finite_element.layer": "ElasticLayer",
    "finite_element.model": "FiniteElementContact",
    "finite_element.size": "LayerSize",
    "fitted_surfaces.model": "FittedSurfaceContact",
    "implant.condylar_implant": "CondylarImplant",
    "loads": "CompartmentLoads ContactLoads SpringState",
    "pose": "Pose generalised_force twist_jacobian",
    "surface_contact": "SurfaceContact",
    "surfaces.mesh": "MeshError MeshWarning TriangleMesh load_mesh",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


redirect(
    {
        "foundation.compartments": "foundation.surfaces.compartments",
        "foundation.elastic_foundation.balance": "foundation.statics.balance",
        "foundation.elastic_foundation.statics": "foundation.statics.height",
        "foundation.laws": "foundation.elastic_foundation.laws",
        "foundation.mesh": "foundation.surfaces.mesh",
        "foundation.mesh_io": "foundation.surfaces.mesh_io",
        "foundation.thickness": "foundation.surfaces.thickness",
    }
)
