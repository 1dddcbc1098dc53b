"""Bearing surface of a femur or tibia in any position: open surface, shell, solid or whole bone.

Neither the frame of a body nor what else is in the file is known. Traits of the shape propose
directions to the joint (`foundation.anatomy.joint_end`); the right one is that in which a plateau
or two condyles lie.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from foundation.anatomy.bearing_surface import bearing_about, tibial_bearing
from foundation.anatomy.condyle_outlines import (
    directions_away,
    find_condyles,
    fit_circles,
    relative_outline,
)
from foundation.anatomy.evidence import AnatomicalFrame
from foundation.anatomy.femoral_frame import (
    SHAFT_AT,
    femoral_frame,
    flexed_by_shaft,
    level_frame,
    turned,
)
from foundation.anatomy.joint_end import (
    facing_other,
    is_long,
    joint_directions,
    joint_end,
    refined,
    shaft_direction,
)
from foundation.anatomy.tibial_frame import tibial_frame
from foundation.anatomy.walls import FACING, SHELL_THICKNESS, outer_walls, wall_distance
from foundation.base.checks import FloatArray
from foundation.surfaces.surface_shape import is_closed, principal_axes, ridge_rise, volume
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh

KINDS = ("open surface", "closed shell", "closed solid", "whole bone")
OPEN, SHELL, SOLID, BONE = KINDS
#: Norm of the mean normal (measured: open tibial surfaces 0.78 to 0.95, femoral ones 0.35 to 0.49,
#: bones open at the shaft up to 0.3) and part of the area in the bearing surface (measured: 0.9 to
#: 1, bones and shells up to 0.55) above which a surface is an open bearing surface.
_OPEN = {"femur": 0.3, "tibia": 0.35}
_WHOLE = 0.75
#: Volume over that of the convex hull above which a femur is a bone (measured: bones 0.7 to 0.8, a
#: component 0.25, shells below 0.2).
FULL = 0.5
#: Root mean square height over length of a flat body and of a shell at most (measured on cartilage:
#: 0.18 to 0.3); least plane part of the base of an insert, and least ratio of the plane parts of
#: both sides.
_FLAT, _THIN, _PLANE_BASE, _PLANER = 0.8, 0.45, 0.4, 1.5
#: Largest plane part of a plateau (measured on bones: up to 0.1).
_MOST_PLANE = 0.5
#: Largest angle of a normal to the most frequent direction of a plane base [rad].
_PLANE = np.radians(3.0)
#: Height above the end of a femur within which the widest direction is sought [m].
_END = 35e-3
#: Direction in which a trochlea stands out, from inferior towards posterior [rad], its least
#: distance from the flexion axis over the posterior radius there (measured: 1.3 to 1.6), and the
#: largest misfit of a posterior outline over its radius (measured: up to 0.011; 0.04 on a cut).
_FRONT, _TROCHLEA, _MISFIT = np.radians([-45.0]), 1.15, 0.02
_ROUNDS = 3
_HALF_TURN = np.diag([-1.0, 1.0, -1.0])


class FoundBearing(NamedTuple):
    """Bearing surface of a body in the coordinates of its mesh."""

    #: The bearing surface [m]; the mesh itself if it is one.
    mesh: TriangleMesh
    #: What the mesh is, one of `KINDS`; the shaft of a whole bone may be open.
    kind: str
    #: Frame of a femoral bone, which needs the shaft; other frames come from the surface.
    frame: AnatomicalFrame | None = None


# The checks of a pair and the frames need the bearing surfaces of the same meshes.
@lru_cache(maxsize=3)
def find_tibial_bearing(mesh: TriangleMesh, femur: TriangleMesh | None = None) -> FoundBearing:
    """Return the bearing surface of a tibia [m] in any position.

    The femur [m] tells the side that faces it if both files have the same frame. Raises `MeshError`
    if no direction shows a plateau.
    """
    whole, mesh = mesh, outer_walls(mesh)
    mean = mesh.area_vectors.sum(axis=0) / mesh.areas.sum()
    if np.linalg.norm(mean) > _OPEN["tibia"] and _share(mesh, mean) > _WHOLE:
        return FoundBearing(whole, OPEN)
    side = _curved_side(mesh)
    if side is not None:
        return FoundBearing(side, _kind_of_tibia(mesh, side))
    reasons = []
    for up in (*_sides_of_shell(mesh, femur), *joint_directions(mesh, femur)):
        try:
            bearing = _plateau(mesh, up)
            _check_curved(bearing)
            tibial_frame(bearing)
        except MeshError as error:
            reasons.append(str(error).removeprefix(f"{mesh.name}: "))
            continue
        kind = _kind_of_tibia(mesh, bearing)
        return FoundBearing(bearing, BONE if kind == SOLID else kind)
    raise MeshError(
        f"{mesh.name}: no side of this body is a plateau with two compartments ({reasons[0]}); "
        "check the unit and the file, or cut the bearing surface out in a mesh editor"
    )


@lru_cache(maxsize=3)
def find_femoral_bearing(mesh: TriangleMesh, tibia: TriangleMesh | None = None) -> FoundBearing:
    """Return the bearing surface of a femur [m] in any position.

    The tibia [m] tells the end that faces it if both files have the same frame. Raises `MeshError`
    if the shape is not that of a femur with two condyles, or the normals point inwards.
    """
    whole, mesh = mesh, outer_walls(mesh)
    mean = mesh.area_vectors.sum(axis=0) / mesh.areas.sum()
    is_open = not is_long(mesh) and bool(np.linalg.norm(mean) > _OPEN["femur"])
    thin: MeshError | None = None
    if is_open or (not is_long(mesh) and fullness(mesh) < FULL):
        try:
            thin_bearing = _thin_femur(mesh)
        except MeshError as error:
            thin = error
        else:
            if thin_bearing.mesh is mesh:
                return FoundBearing(whole, OPEN)
            if not is_open:
                return thin_bearing
    reasons = [] if thin is None else [thin]
    for direction in joint_directions(mesh, tibia):
        try:
            frame, bearing, up = _bone(mesh, direction)
        except MeshError as error:
            reasons.append(error)
            continue
        if _has_trochlea(bearing, frame.rotation):
            return FoundBearing(bearing, BONE, flexed_by_shaft(frame, up))
    if is_open and thin is None:
        return FoundBearing(whole, OPEN)
    raise (
        reasons[0]
        if reasons
        else MeshError(
            f"{mesh.name}: no end of this body has two condyles and a trochlea; expected a distal "
            "femur: check the file, or cut the bearing surface out in a mesh editor"
        )
    )


def _thin_femur(mesh: TriangleMesh) -> FoundBearing:
    """Return the bearing surface of an open surface, a shell or a component."""
    frame = femoral_frame(mesh)
    bearing = bearing_about(mesh, frame.rotation, frame.origin)
    if not is_closed(mesh) and bearing.areas.sum() > _WHOLE * mesh.areas.sum():
        return FoundBearing(mesh, OPEN)
    away, _ = directions_away(mesh, frame.rotation[2], frame.origin)
    return FoundBearing(bearing, _kind(mesh, bearing, away))


def _bone(
    mesh: TriangleMesh, direction: FloatArray
) -> tuple[AnatomicalFrame, TriangleMesh, FloatArray]:
    """Return frame, bearing surface and shaft of a femur whose joint is in a direction (3,) [1].

    Flexion is zero where the mean normal of the surface would face inferior; the shaft is the
    direction (3,) [1] away from the joint.
    """
    down = shaft_direction(mesh, direction)
    whole_end = joint_end(mesh, down)
    end = refined(whole_end)
    right = _widest(end, down)
    level = level_frame(right, -down)
    # Circles through the trochlea are larger than those of the posterior condyles.
    starts = [turned(first, SHAFT_AT) for first in (level, _HALF_TURN @ level)]
    fits = [fit_circles(find_condyles(end, start[2]), start) for start in starts]
    best = int(np.argmin([circles.radii.mean() for circles in fits]))
    rotation = starts[best]
    centre = rotation[:2].T @ fits[best].centres.mean(axis=0)
    for _ in range(_ROUNDS):
        bearing = bearing_about(end, rotation, centre)
        frame = femoral_frame(bearing, start=level_frame(rotation[2], -down))
        rotation, centre = frame.rotation, frame.origin
    return frame, bearing_about(whole_end, rotation, centre), -down


def _has_trochlea(bearing: TriangleMesh, rotation: FloatArray) -> bool:
    """Return whether a surface has round condyles, and stands out in front of them."""
    condyles = find_condyles(bearing, rotation[2])
    circles = fit_circles(condyles, rotation)
    front = relative_outline(condyles, rotation, circles, _FRONT)[0]
    return bool(front > _TROCHLEA and (circles.misfits < _MISFIT * circles.radii).all())


def _widest(mesh: TriangleMesh, down: FloatArray) -> FloatArray:
    """Return the direction (3,) [1], perpendicular to `down`, in which the end is widest."""
    along = mesh.vertices @ down
    try:
        hull = ConvexHull(mesh.vertices[along > along.max() - _END])
    except (QhullError, ValueError) as error:
        raise MeshError(f"{mesh.name}: the end of the body is flat, expected condyles") from error
    corners = hull.points[hull.simplices]
    sides = corners[:, 1:] - corners[:, :1]
    areas = np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1)
    flat = corners.mean(axis=1)
    flat = flat - np.outer(flat @ down, down)
    flat -= np.average(flat, axis=0, weights=areas)
    widest: FloatArray = np.linalg.eigh((flat.T * areas) @ flat)[1][:, 2]
    return widest


def fullness(mesh: TriangleMesh) -> float:
    """Return the volume of a body over that of its convex hull [1]."""
    try:
        hull = ConvexHull(mesh.vertices)
    except QhullError as error:
        raise MeshError(f"{mesh.name}: the surface is flat, expected a distal femur") from error
    return volume(mesh) / float(hull.volume)


def _curved_side(mesh: TriangleMesh) -> TriangleMesh | None:
    """Return the side of a flat closed body opposite of a plane base; None without such a base."""
    axes, sizes = principal_axes(refined(mesh))
    if not is_closed(mesh) or sizes[0] > _FLAT * sizes[1]:
        return None
    sides = [tibial_bearing(mesh, sign * axes[0]) for sign in (1.0, -1.0)]
    plane = [_plane_fraction(sides[0], axes[0]), _plane_fraction(sides[1], -axes[0])]
    top = int(np.argmin(plane))
    if plane[1 - top] < max(_PLANE_BASE, _PLANER * plane[top]):
        return None
    return sides[top]


def _check_curved(side: TriangleMesh) -> None:
    """Raise `MeshError` if a surface is plane, such as a cut or the face of a box."""
    mean = side.area_vectors.sum(axis=0)
    plane = _plane_fraction(side, mean / np.linalg.norm(mean))
    if plane > _MOST_PLANE:
        raise MeshError(f"{plane:.0%} of a side is plane, expected a curved plateau")


def _plane_fraction(side: TriangleMesh, up: FloatArray) -> float:
    """Return the fraction of an area whose normals are parallel to `up` (3,)."""
    parallel = side.normals @ up > np.cos(_PLANE)
    return float(side.areas[parallel].sum() / side.areas.sum())


def _sides_of_shell(mesh: TriangleMesh, femur: TriangleMesh | None) -> list[FloatArray]:
    """Return the directions (3,) [1] that the bearing of a flat shell may face, the likelier first.

    A femur close by leaves one direction; else the likelier wall is the one whose middle rises.
    """
    axes, sizes = principal_axes(mesh)
    if sizes[0] > _THIN * sizes[1]:
        return []
    towards = None if femur is None else facing_other(mesh, femur)
    if towards is not None:
        return [axes[0] * np.sign(axes[0] @ towards)]
    sides = [(ridge_rise(tibial_bearing(mesh, up)), up) for up in (axes[0], -axes[0])]
    return [up for _, up in sorted(sides, key=lambda side: -side[0])]


def _plateau(mesh: TriangleMesh, up: FloatArray) -> TriangleMesh:
    """Return the surface that faces roughly `up` (3,) [1], perpendicular to its own plane."""
    for _ in range(_ROUNDS):
        axes, _ = principal_axes(tibial_bearing(mesh, up))
        up = axes[0] * np.sign(axes[0] @ up)
    return tibial_bearing(mesh, up)


def _share(mesh: TriangleMesh, direction: FloatArray) -> float:
    """Return the fraction of an area that faces a direction (3,)."""
    facing = mesh.normals @ direction > FACING * np.linalg.norm(direction)
    return float(mesh.areas[facing].sum() / mesh.areas.sum())


def _kind_of_tibia(mesh: TriangleMesh, bearing: TriangleMesh) -> str:
    mean = bearing.area_vectors.sum(axis=0)
    up = mean / np.linalg.norm(mean)
    return _kind(mesh, bearing, np.broadcast_to(up, mesh.normals.shape))


def _kind(mesh: TriangleMesh, bearing: TriangleMesh, outward: FloatArray) -> str:
    """Return whether a body whose bearing surface faces `outward` (F, 3) is a shell or a solid."""
    opposite = np.einsum("fi,fi->f", mesh.normals, outward) < -FACING
    thin = wall_distance(mesh, bearing, opposite) < SHELL_THICKNESS
    return SHELL if thin else SOLID


_Finder = Callable[[TriangleMesh, TriangleMesh | None], FoundBearing]
FINDERS: dict[str, _Finder] = {"femur": find_femoral_bearing, "tibia": find_tibial_bearing}
