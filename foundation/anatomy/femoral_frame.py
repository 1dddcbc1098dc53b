"""Frame of a femur from its shape: flexion axis through the posterior condyles, zero of flexion.

The flexion axis joins the centres of circles fitted to the sagittal outlines of both posterior
condyles (Iwaki, Pinskerova & Freeman 2000, J Bone Joint Surg Br 82:1189-1195; Eckhoff et al. 2005,
J Bone Joint Surg Am 87 Suppl 2:71-80).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from foundation.anatomy.condyle_outlines import (
    POSTERIOR,
    Circles,
    Condyles,
    axis_through,
    find_condyles,
    fit_circles,
    outer_triangles,
    relative_outline,
)
from foundation.anatomy.evidence import AnatomicalFrame, Evidence
from foundation.anatomy.joint_end import refined
from foundation.base.checks import FloatArray
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh

#: Angle between the mean normal of the outer surface and the inferior direction, towards posterior
#: (measured in body frames: 4 deg on a component, 8 deg on cartilage) [rad].
_NORMAL_AT = np.radians(6.0)
#: Flexion of a femur without trochlea is zero where the outline, 5 deg anterior of inferior,
#: exceeds the posterior radius by this factor; and the directions searched [rad].
_RISE, _RISE_AT = 1.05, np.radians(-5.0)
_DISTAL = np.radians(np.arange(30.0, -90.25, -0.25))
#: Flexion that the axis to the head shows beyond the mean normal [deg] (measured: on 24 segmented
#: knees 16.4, standard deviation 3.1, one 25.7; the shaft on 34 knees of a shape model 11, standard
#: deviation 3), its uncertainty, that of the mean normal, and that without a trochlea (with a
#: posterior radius of 22 mm: 6 at a distal radius of 30 mm, 12 at 28 mm, 25 at 25 mm) [deg].
_ZERO_MEAN, _MEAN_DOUBT, _ZERO_DOUBT, _RISE_DOUBT = 15, 8, 22, 25
#: Angle between the shaft just above the condyles and the direction in which a mean normal faces
#: inferior, towards posterior [rad]: the bearing surface of a bone is sought in that frame.
SHAFT_AT = np.radians(11.0)
#: Angle between the shaft just above the condyles and the axis from the flexion axis to the head of
#: the femur, towards posterior [rad], and its uncertainty [deg] (measured on 10 femurs of six
#: people, whole and cut: -2.2 deg, standard deviation 1.3 deg).
_HEAD_AT, _SHAFT_DOUBT = np.radians(-2.0), 5
#: Least component of an outer normal away from the flexion axis.
_OUTER = 0.5
#: Largest misfit of a circle over its radius (measured: 0.004 and 0.005), least and largest radius
#: [m], and largest ratio of both radii.
_MISFIT, _RADII, _RADIUS_RATIO = 0.05, (8e-3, 45e-3), 1.4
#: Largest ratio of the two least eigenvalues of the covariance of the normals, beyond which no axis
#: is nearly parallel to the surface (measured: 0.46 to 0.82; 1 for a sphere and a cube).
_CYLINDER = 0.9
#: Least distance of the trochlea from mid-length, over the length (measured: 0.27 on cartilage,
#: 0.33 on a component), and half-width of the strip that contains the trochlea, over the width.
_TROCHLEA, _STRIP = 0.1, 0.1
#: Least area of a trochlea within the strip, over the whole area (measured: 0.11 to 0.12).
_STRIP_AREA = 0.02
#: The trochlea lies further anterior than this part of the posterior radius, and not further below
#: the flexion axis.
_ANTERIOR = 0.7
_ROUNDS, _SETTLED = 100, 1e-10
_HALF_TURN = np.diag([-1.0, 1.0, -1.0])


class _Fit(NamedTuple):
    """Frame (3, 3), circles of the posterior condyles, and how the zero of flexion was found."""

    rotation: FloatArray
    circles: Circles
    zero: Evidence


_OF_SHAFT = Evidence("sure", "the smaller circles of the condyles are posterior")
_OF_NORMALS = Evidence(
    "likely",
    f"mean direction of the surface, within {_ZERO_DOUBT} deg; the hip of a natural knee shows "
    f"{_ZERO_MEAN} deg more flexion on average",
)
#: Returns a frame turned about its third axis so that flexion is zero, and the evidence.
_Zero = Callable[[FloatArray, Circles], tuple[FloatArray, Evidence]]


def femoral_frame(
    mesh: TriangleMesh, anterior: FloatArray | None = None, start: FloatArray | None = None
) -> AnatomicalFrame:
    """Return the frame of a femur: origin at the middle of the flexion axis.

    `mesh` is a bearing surface or closed component [m], in any position. `anterior` (3,) points
    roughly anterior; by default, it is found from the shape. The rows of `start` (3, 3) point
    roughly anterior, superior along the shaft, and right [1], of a bone, whose shaft is where the
    normals would put it; by default, they are found from the normals. Evidence: "flexion axis",
    "anterior", "zero of flexion". Raises `MeshError` if the shape is not that of a femur with two
    condyles, or the normals point inwards.
    """
    mesh = refined(mesh)
    if start is not None:
        return _described(mesh, _fitted(mesh, start, _zero_by_shaft(start[1])), _OF_SHAFT)
    start = _start(mesh)
    offset = strip_offset(mesh, start)
    if abs(offset) > _TROCHLEA:
        forward = offset > 0.0 if anterior is None else float(start[0] @ anterior) > 0.0
        reason = f"trochlea {abs(offset):.2f} of the length from the middle"
        facing = Evidence("sure", reason if anterior is None else "as stated")
        fit = _fitted(mesh, start if forward else _HALF_TURN @ start, _zero_by_normals(mesh))
    else:
        fit, facing = _without_trochlea(mesh, start, anterior)
    return _described(mesh, fit, facing)


def _described(mesh: TriangleMesh, fit: _Fit, anterior: Evidence) -> AnatomicalFrame:
    """Return the frame of a fit with its evidence."""
    _check_circles(mesh, fit.circles)
    middle = np.append(fit.circles.centres.mean(axis=0), _mid_width(mesh, fit))
    radii, misfit = 1e3 * fit.circles.radii, 1e3 * fit.circles.misfits.max()
    axis = (
        f"posterior condyles of radius {radii[0]:.1f} and {radii[1]:.1f} mm, within {misfit:.2f} mm"
    )
    evidence = {
        "flexion axis": Evidence("sure", axis),
        "anterior": anterior,
        "zero of flexion": fit.zero,
    }
    return AnatomicalFrame(fit.rotation.T @ middle, fit.rotation, evidence)


def strip_offset(mesh: TriangleMesh, rotation: FloatArray) -> float:
    """Return how far the middle strip of a femur is anterior of mid-length, over the length [1].

    `rotation` (3, 3) has rows anterior, superior and right in the coordinates of the mesh.
    """
    along, across = mesh.vertices @ rotation[0], mesh.vertices @ rotation[2]
    centroids = mesh.centroids @ rotation.T
    middle, width = 0.5 * (across.min() + across.max()), np.ptp(across)
    strip = np.abs(centroids[:, 2] - middle) < _STRIP * width
    if mesh.areas[strip].sum() < _STRIP_AREA * mesh.areas.sum():
        return 0.0
    centre = np.average(centroids[strip, 0], weights=mesh.areas[strip])
    return float((centre - 0.5 * (along.min() + along.max())) / np.ptp(along))


def trochlear_lead(mesh: TriangleMesh, frame: AnatomicalFrame) -> float:
    """Return how much larger the right part of the trochlea is than the left part [1].

    The logarithm of the ratio of the areas beside mid-width, anterior of the flexion axis. The
    lateral part is the larger one (measured: 0.30 on cartilage, 0.43 on a component, and 0.28 to
    0.8 on a hundred knees of a shape model, whose lateral ridge is not always the higher one).
    """
    circles = fit_circles(find_condyles(mesh, frame.rotation[2]), frame.rotation)
    reach = _ANTERIOR * float(circles.radii.mean())
    centroids = frame.of(mesh.centroids)
    across = frame.of(mesh.vertices)[:, 2]
    right = centroids[:, 2] > 0.5 * (across.min() + across.max())
    counted = outer_triangles(mesh, frame.rotation[2], frame.origin, _OUTER)
    counted &= (centroids[:, 0] > reach) & (centroids[:, 1] > -reach)
    areas = [float(mesh.areas[counted & half].sum()) for half in (right, ~right)]
    if min(areas) <= 0.0:
        return 0.0
    return float(np.log(areas[0] / areas[1]))


def _start(mesh: TriangleMesh) -> FloatArray:
    """Return a first frame (3, 3), which may face backward."""
    values, vectors = np.linalg.eigh((mesh.normals.T * mesh.areas) @ mesh.normals)
    if values[0] > _CYLINDER * values[1]:
        raise MeshError(
            f"{mesh.name}: the surface bends equally in all directions, like a sphere or a box; "
            "expected the condyles of a femur, which roll about one axis: check the file"
        )
    middle = _hull_centroid(mesh)
    outward = float(np.einsum("fi,fi->", mesh.centroids - middle, mesh.area_vectors))
    if outward < 0.0:
        raise MeshError(
            f"{mesh.name}: the normals of the femur point inwards, expected outwards, away from "
            "the flexion axis; the winding is inverted: flip the normals in a mesh editor"
        )
    # The surface lies below the middle of its hull: a femur is open at the top.
    up = middle - mesh.centroid
    return level_frame(vectors[:, 0], up)


def _hull_centroid(mesh: TriangleMesh) -> FloatArray:
    try:
        hull = ConvexHull(mesh.vertices)
    except QhullError as error:
        raise MeshError(f"{mesh.name}: the surface is flat, expected a distal femur") from error
    corners = hull.points[hull.simplices]
    apex = corners.mean(axis=(0, 1))
    volumes = np.abs(np.linalg.det(corners - apex))
    return np.average(0.25 * (corners.sum(axis=1) + apex), axis=0, weights=volumes)


def level_frame(right: FloatArray, up: FloatArray) -> FloatArray:
    """Return rows (3, 3) [1] anterior, superior, right: `right` (3,) exactly, `up` (3,) nearly."""
    superior = up - right * (up @ right)
    superior /= np.linalg.norm(superior)
    return np.stack([np.cross(superior, right), superior, right])


def turned(rotation: FloatArray, angle: float) -> FloatArray:
    """Return a frame (3, 3) [1] turned about its third axis: direction `angle` [rad] is inferior.

    The angle is that from inferior towards posterior.
    """
    x, y, z = rotation
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.stack([cosine * x - sine * y, sine * x + cosine * y, z])


def _fitted(mesh: TriangleMesh, start: FloatArray, zero_of: _Zero) -> _Fit:
    """Return the frame in which the flexion axis passes through both centres."""
    condyles, rotation = find_condyles(mesh, start[2]), start
    for _ in range(_ROUNDS):
        circles = fit_circles(condyles, rotation)
        before = rotation
        rotation = level_frame(axis_through(condyles, rotation, circles), rotation[1])
        rotation, zero = zero_of(rotation, circles)
        if np.abs(rotation - before).max() < _SETTLED:
            break
    return _Fit(rotation, fit_circles(condyles, rotation), zero)


def _zero_by_normals(mesh: TriangleMesh) -> _Zero:
    """Return the zero of flexion in which the outer surface faces inferior on average."""
    middle = _hull_centroid(mesh)

    def zero(rotation: FloatArray, _: Circles) -> tuple[FloatArray, Evidence]:
        outer = outer_triangles(mesh, rotation[2], middle, _OUTER)
        facing = mesh.area_vectors[outer].sum(axis=0)
        return turned(level_frame(rotation[2], -facing), _NORMAL_AT), _OF_NORMALS

    return zero


def _zero_by_shaft(up: FloatArray) -> _Zero:
    """Return the zero of flexion of a femur whose shaft rises along `up` (3,) [1]."""
    evidence = Evidence("likely", "the shaft")
    return lambda rotation, _: (turned(level_frame(rotation[2], up), SHAFT_AT), evidence)


def flexed_by_shaft(frame: AnatomicalFrame, up: FloatArray) -> AnatomicalFrame:
    """Return the frame of a femur, turned about its axis to the zero of flexion of its shaft.

    Zero is where the axis from the flexion axis to the femoral head is superior (Grood & Suntay
    1983, J Biomech Eng 105:136-144); the shaft just above the condyles tells this axis, by its
    direction `up` (3,) away from the joint [1].
    """
    rotation = turned(level_frame(frame.rotation[2], up), _HEAD_AT)
    zero = Evidence("likely", f"direction of the shaft, within {_SHAFT_DOUBT} deg")
    return AnatomicalFrame(frame.origin, rotation, frame.evidence | {"zero of flexion": zero})


def flexed_by_mean(frame: AnatomicalFrame) -> AnatomicalFrame:
    """Return the frame of a cartilage, turned from the mean normal to the zero of natural knees.

    Without a trochlea, the frame stays.
    """
    if frame.evidence["zero of flexion"] is not _OF_NORMALS:
        return frame
    rotation = turned(frame.rotation, np.radians(-_ZERO_MEAN))
    reason = f"{_ZERO_MEAN} deg from the mean direction of the surface, as in natural knees"
    zero = Evidence("likely", f"{reason}, within {_MEAN_DOUBT} deg")
    return AnatomicalFrame(frame.origin, rotation, frame.evidence | {"zero of flexion": zero})


def _without_trochlea(
    mesh: TriangleMesh, start: FloatArray, anterior: FloatArray | None
) -> tuple[_Fit, Evidence]:
    """Return the fit of condyles without trochlea: distal radii exceed posterior radii."""
    if anterior is not None:
        starts = [start if start[0] @ anterior > 0.0 else _HALF_TURN @ start]
    else:
        starts = [start, _HALF_TURN @ start]
    fits = []
    for first in starts:
        condyles = find_condyles(mesh, first[2])
        fit = _fitted(mesh, first, _zero_by_rise(condyles))
        if fit.zero.certainty != "unknown" and _plausible(fit.circles):
            fits.append(fit)
    if fits:
        best = min(fits, key=lambda fit: float(fit.circles.radii.mean()))
        reason = "no trochlea; the distal radius exceeds the posterior radius"
        return best, Evidence("likely" if anterior is None else "sure", reason)
    if anterior is not None:
        level = level_frame(starts[0][2], np.cross(starts[0][2], anterior))
        zero = Evidence("likely", "the stated anterior axis is taken as level")
        fit = _fitted(mesh, level, lambda rotation, _: (rotation, zero))
        return fit, Evidence("sure", "as stated")
    reason = "no trochlea, and one radius from front to back"
    fit = _fitted(mesh, start, _zero_by_normals(mesh))
    return fit._replace(zero=Evidence("unknown", reason)), Evidence("unknown", reason)


def _zero_by_rise(condyles: Condyles) -> _Zero:
    """Return a function that turns a frame to zero flexion, by the rise of the distal outline."""

    def zero(rotation: FloatArray, circles: Circles) -> tuple[FloatArray, Evidence]:
        unknown = Evidence("unknown", "the condyles have one radius")
        if circles.radii.min() <= 0.0:
            return rotation, unknown
        ratio = relative_outline(condyles, rotation, circles, _DISTAL)
        above = np.flatnonzero(ratio > _RISE)
        if len(above) == 0 or above[0] == 0:
            return rotation, unknown
        last = int(above[0])
        fraction = (_RISE - ratio[last - 1]) / (ratio[last] - ratio[last - 1])
        angle = _DISTAL[last - 1] + fraction * (_DISTAL[last] - _DISTAL[last - 1])
        reason = f"distal radius beyond the posterior radius, within {_RISE_DOUBT} deg"
        return turned(rotation, float(angle) - _RISE_AT), Evidence("likely", reason)

    return zero


def _plausible(circles: Circles) -> bool:
    low, high = _RADII
    least, most = float(circles.radii.min()), float(circles.radii.max())
    fitting = bool((circles.misfits < _MISFIT * circles.radii).all())
    return fitting and low < least and most < high and most < _RADIUS_RATIO * least


def _check_circles(mesh: TriangleMesh, circles: Circles) -> None:
    if _plausible(circles):
        return
    first, second = 1e3 * circles.radii
    raise MeshError(
        f"{mesh.name}: no two posterior condyles found (radii of the outlines {first:.1f} and "
        f"{second:.1f} mm, misfits up to {1e3 * circles.misfits.max():.1f} mm); expected two of "
        f"{1e3 * _RADII[0]:g} to {1e3 * _RADII[1]:g} mm: check the unit, and that the file is a "
        "distal femur with both condyles; or state the axes of the files (init --axes x,y,z)"
    )


def _mid_width(mesh: TriangleMesh, fit: _Fit) -> float:
    """Return the position of mid-width of both condyles on the flexion axis [m].

    The middle of a condyle is that of its triangles on its own posterior circle.
    """
    centroids = mesh.centroids @ fit.rotation.T
    across = mesh.vertices @ fit.rotation[2]
    right = centroids[:, 2] > 0.5 * (across.min() + across.max())
    sides = []
    for half, centre, radius in zip((~right, right), *fit.circles[:2], strict=True):
        away = centroids[:, :2] - centre
        distance, angle = np.linalg.norm(away, axis=1), np.arctan2(-away[:, 0], -away[:, 1])
        on = half & (np.abs(distance / radius - 1.0) < _MISFIT)
        on &= (POSTERIOR[0] < angle) & (angle < POSTERIOR[-1])
        if on.any():
            sides.append(np.average(centroids[on, 2], weights=mesh.areas[on]))
    return float(np.mean(sides)) if sides else float(across.mean())
