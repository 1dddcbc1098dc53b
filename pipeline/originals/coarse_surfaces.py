"""Surfaces of a knee with few triangles, for what details of the surfaces do not change.

Whether and where a knee settles, how it swings and what loads a domain has is known from surfaces
within some tens of micrometres of those of the study, at a fraction of the time.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from foundation.base.pose import Pose
from foundation.surfaces.decimation import decimate
from foundation.surfaces.smoothing import smoothed
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.config.schema import Config, KneeConfig
from pipeline.originals.component_placement import femoral_placement, placed, tibial_placement
from pipeline.originals.knee_surfaces import KneeSurfaces, compartment_labels
from pipeline.originals.mesh_loading import load_body

#: Number of triangles of a coarse surface, number that is coarse enough, and largest deviations of
#: smoothing [um] and decimation [m].
_FEW, _ENOUGH, _SMOOTH_UM, _DEVIATION = 2_000, 5_000, 100.0, 100e-6


def coarse_surfaces(config: Config, surfaces: KneeSurfaces) -> KneeSurfaces:
    """Return the surfaces of a study with few triangles.

    These are the surfaces themselves if they have few triangles, cannot be decimated, are those of
    the built-in implant, or have a table of thicknesses by vertex.
    """
    layers = (config.contact, config.contact.femur_layer)
    by_vertex = any(layer is not None and layer.thickness_file is not None for layer in layers)
    if by_vertex or config.knee.source == "builtin":
        return surfaces
    placement = config.knee.placement
    femur = _coarse(config.knee, "femur", surfaces.femur, femoral_placement(placement))
    tibia = _coarse(config.knee, "tibia", surfaces.tibia, tibial_placement(placement))
    if femur is surfaces.femur and tibia is surfaces.tibia:
        return surfaces
    coarse = replace(surfaces, femur=femur, tibia=tibia)
    return replace(coarse, compartments=compartment_labels(config.knee, coarse.own_tibia))


def _coarse(knee: KneeConfig, body: str, mesh: TriangleMesh, placement: Pose) -> TriangleMesh:
    """Return a body with few triangles; `mesh` is the body as the study uses it."""
    if len(mesh.faces) <= _ENOUGH:
        return mesh
    # The steps of a segmentation would stay, and point their springs in all directions.
    if knee.shape is not None:
        return _decimated(smoothed(mesh, 1e-6 * _SMOOTH_UM).mesh)
    smooth_um = max(_SMOOTH_UM, getattr(knee, body).smooth_um)
    return placed(_decimated(load_body(knee, body, smooth_um=smooth_um).mesh), placement)


@lru_cache(maxsize=2)
def _decimated(mesh: TriangleMesh) -> TriangleMesh:
    return decimate(mesh, _DEVIATION, fewest=_FEW).mesh
