"""Bearing surfaces of femur and tibia in any position, and files that name the other body."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from foundation.anatomy.bearing_search import (
    FINDERS,
    FoundBearing,
    find_femoral_bearing,
    find_tibial_bearing,
)
from foundation.anatomy.condyle_outlines import find_condyles, fit_circles
from foundation.anatomy.evidence import AnatomicalFrame
from foundation.anatomy.femoral_frame import femoral_frame
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh

#: Radius of a posterior condyle of a bone below which the bone may be a tibia [m] (measured: femurs
#: of 24 knees 16.8 to 22, tibias that look like femurs 9 to 14 mm).
_SMALL_RADIUS = 16e-3


def bearing_of(meshes: Mapping[str, TriangleMesh], body: str) -> FoundBearing:
    """Return the bearing surface of a body, "femur" or "tibia".

    The `meshes` [m] are in the axes of their files. Raises `MeshError` if the body has no bearing
    surface, or both bodies are exchanged.
    """
    return _bearing(meshes["femur"], meshes["tibia"], body)


# The checks before an alignment and the alignment ask for both bodies.
@lru_cache(maxsize=2)
def _bearing(femur: TriangleMesh, tibia: TriangleMesh, body: str) -> FoundBearing:
    """Return the bearing surface of a body; as `bearing_of`."""
    pair = (femur, tibia) if body == "femur" else (tibia, femur)
    try:
        bearing = FINDERS[body](*pair)
    except MeshError:
        _check_exchanged(femur, tibia, 0.0)
        raise
    if body == "femur" and bearing.frame is not None:
        radius = _condyle_radius(bearing.mesh, bearing.frame)
        if radius < _SMALL_RADIUS:  # the end of a tibial bone may look like two small condyles
            _check_exchanged(femur, tibia, radius)
    return bearing


def _check_exchanged(femur: TriangleMesh, tibia: TriangleMesh, radius: float) -> None:
    """Raise `MeshError` if the femur has plateaus, and the tibia condyles above a radius [m]."""
    if _radius_if_exchanged(femur, tibia) > radius:
        raise MeshError(
            f"femur and tibia are exchanged: {femur.name} has the plateaus of a tibia, and "
            f"{tibia.name} the condyles of a femur; name each file as the other body"
        )


# The checks before an alignment and the alignment ask both; a search in vain takes seconds.
@lru_cache(maxsize=1)
def _radius_if_exchanged(femur: TriangleMesh, tibia: TriangleMesh) -> float:
    """Return the radius of the tibia's condyles [m] if the femur has plateaus, else 0."""
    try:
        condyles = find_femoral_bearing(tibia, femur)
        find_tibial_bearing(femur, tibia)
    except MeshError:
        return 0.0
    return _condyle_radius(condyles.mesh, condyles.frame or femoral_frame(condyles.mesh))


def _condyle_radius(mesh: TriangleMesh, frame: AnatomicalFrame) -> float:
    """Return the smaller radius of both posterior condyles [m]."""
    return float(fit_circles(find_condyles(mesh, frame.rotation[2]), frame.rotation).radii.min())
