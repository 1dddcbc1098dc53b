"""Springs whose line in the femur is no indentation: it runs sideways, or through a wall.

The indentation of a spring is the length of its line in the femur. Where the line is far from
perpendicular to the femur, as on an edge or a spike of the tibia, that length is no indentation:
the surface is nearer. Behind the wall of a closed shell, a spring is outside the femur.
"""

from __future__ import annotations

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.flags import Flag, FlagKind
from foundation.base.pose import Pose
from foundation.surfaces.line_hits import LineTracer
from foundation.surfaces.nearest_points import SurfaceTree
from foundation.surfaces.smooth_surface import flat_surface
from foundation.surfaces.surface_shape import is_closed
from foundation.surfaces.triangle_mesh import TriangleMesh

#: Peak over mean pressure, and length of a line in the femur over the distance of its start from
#: the surface, above which a spring is flagged [1] (measured over flexion and gait at 50 to 3000 N:
#: up to 3.6 and 2.3 on sound meshes of three knees and an implant, 5 to 12 and 4 to 190 at rounded
#: edges and a spike); shorter lines [m] are within the shape of the facets.
_PROPORTION, _SIDEWAYS, _SHORT = 3.0, 3.0, 0.2e-3
#: Depth below a facet where its wall begins, and farthest end of the wall [m].
_BELOW, _REACH = 1e-6, 0.1
#: Number of pieces of the femur among which the nearest point is sought.
_NEAR = 20


def is_lone(peak: float, mean: float) -> bool:
    """Return whether a peak pressure [Pa] is out of proportion to the mean: usual is twice."""
    return peak > _PROPORTION * mean


def steep_side(
    name: str, femur: SurfaceTree, pose: Pose, place: FloatArray, length: float
) -> tuple[Flag, ...]:
    """Return the flag of a compartment whose deepest spring, at (3,) [m], runs sideways."""
    if length <= _SHORT:
        return ()
    start = (place - pose.translation) @ pose.rotation_matrix
    nearest, _ = femur.nearest_points(start[None], _NEAR)
    distance = float(np.linalg.norm(nearest[0] - start))
    if length <= _SIDEWAYS * distance:
        return ()
    values = (*(1e3 * place).tolist(), 1e3 * length, 1e3 * distance)
    return (Flag(FlagKind.STEEP_SIDE, name, values),)


def wall_thickness(femur: TriangleMesh) -> float:
    """Return the median thickness of a closed femur along its normals [m]; infinite if open."""
    if not is_closed(femur):
        return float("inf")
    tracer = LineTracer(flat_surface(femur), curved=False)
    inward = -femur.normals
    return float(
        np.median(tracer.exits(femur.centroids + _BELOW * inward, inward, _REACH).distance)
    )
