"""Springs whose line runs sideways through the femur, as on an edge or a spike of the tibia.

The indentation of a spring is the length of its line in the femur. Where the line is far from
perpendicular to the femur, that length is no indentation: the surface is nearer.
"""

from __future__ import annotations

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.flags import Flag, FlagKind
from foundation.base.pose import Pose
from foundation.surfaces.nearest_points import SurfaceTree

#: Peak over mean pressure, and length of a line in the femur over the distance of its start from
#: the surface, above which a spring is flagged [1] (measured over flexion and gait at 50 to 3000 N:
#: up to 3.6 and 2.3 on eight sound knees and an implant, 5 to 12 and 4 to 190 at rounded edges).
_PROPORTION, _SIDEWAYS = 3.0, 3.0
#: Number of pieces of the femur among which the nearest point is sought.
_NEAR = 20


def is_lone(peak: float, mean: float) -> bool:
    """Return whether a peak pressure is out of proportion to the mean [Pa]: smooth contacts have 2."""
    return peak > _PROPORTION * mean


def steep_side(
    name: str, femur: SurfaceTree, pose: Pose, place: FloatArray, length: float
) -> tuple[Flag, ...]:
    """Return the flag of a compartment whose deepest spring runs sideways through the femur.

    Parameters
    ----------
    name : str
        Name of the compartment.
    femur : SurfaceTree
        Femur [m], femoral frame.
    pose : Pose
        Pose of the femur.
    place : (3,) float64
        Start of the line of the spring [m], tibial frame.
    length : float
        Length of the line in the femur [m].
    """
    start = (place - pose.translation) @ pose.rotation_matrix
    nearest, _ = femur.nearest_points(start[None], _NEAR)
    distance = float(np.linalg.norm(nearest[0] - start))
    if length <= _SIDEWAYS * distance:
        return ()
    values = (*(1e3 * place).tolist(), 1e3 * length, 1e3 * distance)
    return (Flag(FlagKind.STEEP_SIDE, name, values),)
