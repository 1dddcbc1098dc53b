"""Where a contact fails that cannot carry its load, and the likely fault of the surfaces there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from foundation.base.errors import PoseError
from foundation.base.loads import STRAIN_LIMIT
from foundation.base.pose import Pose
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.surface_contact import SurfaceContact

#: Range of heights [m] and steps in which a contact is pressed through, from above.
_RANGE, _STEP = 10e-3, 0.1e-3
#: Rank of the spring that the deepest one is compared with, and their ratio beyond which the
#: deepest springs alone fail.
_RANK, _ALONE = 20, 2.0


def likely_fault(bed: SurfaceContact, pose: Pose, compartment: str) -> str:
    """Return where a compartment is pressed through at the first height, and the likely fault.

    "" if no spring is strained beyond the limit, as without contact, or if the model has no
    springs. The height of `pose` is about that of the contact.
    """
    if not isinstance(bed, ElasticFoundation):
        return ""
    in_compartment = bed.compartments == bed.compartment_names.index(compartment)
    for height in np.arange(pose.superior + _RANGE, pose.superior - _RANGE, -_STEP):
        lowered = replace(pose, superior=float(height))
        try:
            strain = bed.compartment_loads(lowered, compartment)[2][1]
        except PoseError:
            return ""
        if strain > STRAIN_LIMIT:
            return _at(bed, np.where(in_compartment, bed.spring_state(lowered).indentation, 0.0))
    return ""


def _at(bed: ElasticFoundation, depth: np.ndarray) -> str:
    order = np.argsort(-depth)
    deepest, around = 1e3 * depth[order[0]], 1e3 * depth[order[min(_RANK, len(order) - 1)]]
    x, y, z = 1e3 * bed.tibia.centroids[order[0]]
    place = f"at ({x:.0f}, {y:.0f}, {z:.0f}) mm of the tibial frame"
    if deepest > _ALONE * around:
        return (
            f"{place}, springs are {deepest:.1f} mm deep where those around have at most "
            f"{around:.1f} mm: likely a rounded edge, a spike or a further sheet of a mesh; look "
            "at both meshes there"
        )
    return (
        f"the layer is pressed through {place} by {deepest:.1f} mm, like the springs around: the "
        "load is likely too large for thickness and modulus; lower space.load_N, or correct these"
    )
