"""Surfaces of a configuration, loaded into the frames of femur and tibia."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from foundation.anatomy.bearing_surface import femoral_bearing, tibial_bearing
from foundation.surfaces.mesh import load_mesh
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.config.reading import data_path
from pipeline.config.schema import MeshConfig


def load_surface(mesh: MeshConfig, side: str, body: str, *, check: bool = True) -> TriangleMesh:
    """Return the surface of a "femur" or a "tibia" in the frame of its body.

    Parameters
    ----------
    mesh : MeshConfig
        File, unit and placement of the mesh, and which part of the mesh counts.
    side : {"right", "left"}
        A left knee is mirrored to a right one.
    body : {"femur", "tibia"}
        The body.
    check : bool
        Whether to check the mesh, as `foundation.surfaces.mesh.load_mesh` does.

    Raises
    ------
    MeshError
        If the file cannot be read, a check fails, or no triangle faces the other body.
    """
    loaded = load_mesh(
        data_path(mesh.file, Path()),
        unit=mesh.unit,
        axes=mesh.axes,
        rotation=np.radians(mesh.rotation_deg),
        origin=1e-3 * np.array(mesh.origin_mm),
        side=side,
        check=check,
    )
    if mesh.surface == "whole":
        return loaded
    return femoral_bearing(loaded) if body == "femur" else tibial_bearing(loaded)
