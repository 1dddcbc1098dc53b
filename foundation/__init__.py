"""The original models: pose, meshes, built-in implant, elastic foundation and finite elements.

Poses and loads are imported from here. Each room has names of its own, so that whoever uses a
trained surrogate needs no contact model:

- `foundation.surfaces`: meshes of bones, cartilage and implants
- `foundation.implant`: the built-in implant
- `foundation.elastic_foundation`: the elastic foundation and its spring laws
- `foundation.finite_element`: the elastic layer by finite elements
- `foundation.fitted_surfaces`: analytical laws on fitted surfaces
- `foundation.contact_laws`: analytical laws of a single contact
"""

from foundation.base.loads import CompartmentLoads, ContactLoads, SpringState
from foundation.base.pose import Pose, generalised_force, twist_jacobian

__all__ = [
    "CompartmentLoads",
    "ContactLoads",
    "Pose",
    "SpringState",
    "generalised_force",
    "twist_jacobian",
]
