"""Whether the two surfaces of a contact face each other, before a simulation.

Springs whose lines meet no surface, or one much deeper than they search, give no force at all: a
wrong mesh file would end in a walk without contact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dynamics.musculoskeletal import CoordinateMotion, JointContact, OsimModel
from foundation.base.checks import FloatArray
from foundation.base.pose import Pose
from foundation.surfaces.line_hits import LineTracer
from foundation.surfaces.smooth_surface import flat_surface
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh
from pipeline.originals.spring_bed import springs_of

#: Reach of the search along the normals, and largest distance of surfaces that are to touch [m].
_REACH, _APART = 60e-3, 20e-3
#: Overlap that is plausible whatever the springs search [m].
_OVERLAP = 10e-3


def check_facing(
    contacts: Sequence[JointContact], model: OsimModel, motion: CoordinateMotion
) -> None:
    """Raise a `MeshError` if the surfaces of a contact can touch at no pose of a few.

    The poses are the default of the model and the first, middle and last instant of a motion.
    Joints may lift off: a contact passes if its surfaces face each other at one of the poses, less
    than 20 mm apart, and most springs that face the target do not overlap by more than they search.
    Raises `InputError` if the motion lacks a coordinate of a contact, or a contact is a surrogate.
    """
    defaults, count = model.coordinate_defaults, len(motion.time)
    for contact in contacts:
        names = contact.coordinates
        own = np.array([defaults.get(name, 0.0) for name in names])
        along = motion.values[[0, count // 2, count - 1]][:, motion.index(names)]
        _check_contact(contact, [own, *along])


def _check_contact(contact: JointContact, poses: Iterable[FloatArray]) -> None:
    springs = springs_of(
        contact.model, f"{contact.name}: expected a bed of springs, found a surrogate"
    )
    target, bed = springs.femur, springs.tibia
    inverted = TriangleMesh(target.vertices, target.faces[:, ::-1], name=target.name)
    sides = [LineTracer(flat_surface(mesh), curved=False) for mesh in (target, inverted)]
    deepest = max(_OVERLAP, springs.search_depth)
    found = ""
    for values in poses:
        fault = _fault(facing_gaps(bed, sides, contact.pose(values)), deepest)
        if not fault:
            return
        found = found or fault
    raise MeshError(
        f"{contact.name}: expected surfaces of {bed.name} and {target.name} that face each other "
        f"and almost touch at the default pose of the model or along the motion, found {found}; "
        "check the files of these meshes in the model and in walk.meshes or forward.meshes, which "
        "may be swapped or belong to another knee"
    )


def facing_gaps(bed: TriangleMesh, sides: Sequence[LineTracer], pose: Pose) -> FloatArray:
    """Return the distances (K,) [m] from triangles of a bed to the target that they face.

    A distance is along the normal of a triangle to the nearest part of the target within 60 mm that
    faces it, negative for an overlap; triangles that face nothing are left out. `sides` are the
    target as it is and turned inside out, `pose` is that of the target in the frame of the bed.
    """
    turn = pose.rotation_matrix
    normals, starts = bed.normals @ turn, (bed.centroids - pose.translation) @ turn
    below, above = (
        side.exits(starts, sign * normals, _REACH)
        for side, sign in zip(sides, (-1.0, 1.0), strict=True)
    )
    overlap = np.where(below.facet >= 0, below.distance, np.inf)
    gap = np.where(above.facet >= 0, above.distance, np.inf)
    nearest: FloatArray = np.where(overlap < gap, -overlap, gap)
    return nearest[np.isfinite(nearest)]


def _fault(gaps: FloatArray, deepest: float) -> str:
    """Return why surfaces with these gaps cannot touch, or nothing."""
    if not len(gaps):
        return f"none within {1e3 * _REACH:g} mm along the normals"
    if gaps.min() > _APART:
        return f"surfaces at least {1e3 * gaps.min():.0f} mm apart"
    overlap = -float(np.median(gaps))
    if overlap > deepest:
        return f"an overlap of {1e3 * overlap:.0f} mm, beyond {1e3 * deepest:g} mm"
    return ""
