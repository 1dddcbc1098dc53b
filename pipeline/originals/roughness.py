"""Roughness of the surfaces of a knee: what the ridges of a scan do to peak pressures.

A pressure of finite elements follows every ridge of a surface. Roughness is the
root mean square change of the peak pressure under a load, if both surfaces are replaced by local
fits (`foundation.surfaces.smoothing`): 1 % on the built-in implant and on scanned cartilage, 3 %
on a coarse built-in implant, 7 to 13 % on the meshes of a scanned implant.

Whether and where a knee settles, how it swings and what loads a domain has is known from coarse
surfaces within some tens of micrometres of those of the study, at a fraction of the time.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from foundation.base.checks import FloatArray
from foundation.base.errors import PoseError
from foundation.base.loads import AREA, AXIAL_FORCE, PEAK_PRESSURE
from foundation.base.pose import Pose
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.statics.height import pose_at_load
from foundation.surface_contact import SurfaceContact
from foundation.surfaces.decimation import coarse_copy, decimate
from foundation.surfaces.smoothing import RADIUS, smoothed
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.config.schema import Config, KneeConfig
from pipeline.originals.finite_element_layer import (
    REFERENCE_NODES,
    as_elements,
    build_elements,
    spacing_across,
)
from pipeline.originals.knee_surfaces import (
    KneeSurfaces,
    compartment_labels,
    femoral_placement,
    placed,
    tibial_placement,
)
from pipeline.originals.layer_checks import contact_width
from pipeline.originals.mesh_loading import load_body
from pipeline.originals.spring_bed import springs_beside
from pipeline.progress import without_warnings
from surrogates.sampling.designs import unit_design
from surrogates.sampling.space import OFFSET_COORDINATES, SampleSpace

#: Number of triangles of a coarse surface, number that is coarse enough, and largest deviations of
#: smoothing [um] and decimation [m]. Of more than the last number of triangles, a copy of fewer is
#: smoothed, in a fraction of the time.
_FEW, _ENOUGH, _SMOOTH_UM, _DEVIATION, _MANY = 2_000, 5_000, 100.0, 100e-6, 40_000


def coarse_surfaces(config: Config, surfaces: KneeSurfaces) -> KneeSurfaces:
    """Return the surfaces of a study with few triangles; themselves if that cannot be."""
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
    if knee.shape is not None:
        return _decimated(mesh, smooth=True)
    if len(mesh.faces) > _MANY:  # smoothed by the study or not, the knee settles alike
        return placed(_decimated(load_body(knee, body, smooth_um=0.0).mesh, smooth=True), placement)
    smooth_um = max(_SMOOTH_UM, getattr(knee, body).smooth_um)
    return placed(_decimated(load_body(knee, body, smooth_um=smooth_um).mesh), placement)


@lru_cache(maxsize=2)
def _decimated(mesh: TriangleMesh, *, smooth: bool = False) -> TriangleMesh:
    # The steps of a segmentation would stay, and point their springs in all directions.
    surface = smoothed(coarse_copy(mesh, _MANY), 1e-6 * _SMOOTH_UM).mesh if smooth else mesh
    return decimate(surface, _DEVIATION, fewest=_FEW).mesh


#: Roughness up to which peak pressures of finite elements count as those of a smooth surface [1]:
#: between the 1 to 3 % of smooth meshes and the 7 to 13 % of rough ones.
SMOOTH = 0.05
#: Poses of each compartment, and part of the half widths of the sample space that they leave the
#: reference path by.
_POSES, _PART = 12, 0.3
#: Exponent of the force in the peak pressure: from 1/3 on a thick layer to 1/2 on a thin one, which
#: carries the peaks of both surfaces to the same force; the forces differ by some per cent.
_EXPONENT = 0.4
#: Width of the surfaces around the contact that count [m], beyond the radius of the local fits.
_MARGIN = RADIUS + 2e-3
#: Least part of the poses that bear the load, and of those with a peak pressure inside the rim of
#: both surfaces. A peak at the rim has no limit as nodes get closer, with or without ridges.
_LEAST, _INNER = 0.5, 0.25


class LoadedPatches(NamedTuple):
    """Poses under load with the loaded compartment, and points (N, 3) [m] of the femur there."""

    poses: list[tuple[Pose, str]]
    femur: FloatArray
    #: Width of the narrowest contact [m].
    width: float

    def of(self, surfaces: KneeSurfaces) -> KneeSurfaces:
        """Return surfaces [m] of the knee, of the femur the patches alone."""
        # The layer is meshed as a whole: at the rim of a patch, elements may fold.
        femur = _within(surfaces.femur, self.femur)
        return replace(surfaces, femur=replace(surfaces.femur, faces=surfaces.femur.faces[femur]))


def loaded_patches(
    config: Config, surfaces: KneeSurfaces, space: SampleSpace
) -> LoadedPatches | None:
    """Return the patches of surfaces [m] that bear near a path; None if few poses bear the load."""
    bed = springs_beside(config.contact, coarse_surfaces(config, surfaces))
    poses, areas = _loaded(bed, _poses(space), config.space.path.axial_force_N)
    if len(poses) < _LEAST * _POSES * len(bed.compartment_names):
        return None
    pressed = [bed.tibia.centroids[bed.spring_state(pose).pressure > 0.0] for pose, _ in poses]
    femoral = [
        (points - pose.translation) @ pose.rotation_matrix
        for points, (pose, _) in zip(pressed, poses, strict=True)
    ]
    return LoadedPatches(poses, np.concatenate(femoral), contact_width(min(areas)))


def roughness(config: Config, surfaces: KneeSurfaces, patches: LoadedPatches) -> float | None:
    """Return the RMS logarithm of ratios of peak pressures of finite elements [1]; None untold."""
    spacing = spacing_across(patches.width, REFERENCE_NODES)
    contact, near, loads = as_elements(config.contact, spacing), patches.of(surfaces), []
    for patch in (near, _fitted(near)):
        with without_warnings:
            model = build_elements(contact, patch)
        model.prepare()
        loads.append(peaks_inside_rim(model, patches.poses))
    by_peak, by_force = np.log(loads[1] / loads[0]).T
    changes = by_peak - _EXPONENT * by_force
    known = changes[np.isfinite(changes)]
    if len(known) < _INNER * len(changes):
        return None
    return float(np.sqrt(np.mean(known**2)))


def _within(mesh: TriangleMesh, points: FloatArray) -> NDArray[np.bool_]:
    """Return which triangles (F,) of a mesh are near points (N, 3) [m]."""
    tree = KDTree(points, compact_nodes=False, balanced_tree=False)
    away, _ = tree.query(mesh.centroids, distance_upper_bound=_MARGIN)
    return np.isfinite(away)


def _fitted(surfaces: KneeSurfaces) -> KneeSurfaces:
    femur, tibia = (
        smoothed(mesh, None, passes=1).mesh for mesh in (surfaces.femur, surfaces.tibia)
    )
    return replace(surfaces, femur=femur, tibia=tibia)


def _poses(space: SampleSpace) -> list[Pose]:
    """Return poses about the reference path, over the middle of the range of flexion."""
    unit = unit_design("sobol", _POSES, 6, np.random.default_rng(0))
    low, high = space.flexion
    poses = space.path.poses(low + (0.1 + 0.8 * unit[:, 0]) * (high - low))
    _, half = space.centre_and_half
    poses[:, OFFSET_COORDINATES] += _PART * half[1:5] * (2.0 * unit[:, 1:5] - 1.0)
    return [Pose.from_array(pose) for pose in poses]


def _loaded(
    bed: ElasticFoundation, poses: list[Pose], load: float
) -> tuple[list[tuple[Pose, str]], list[float]]:
    """Return poses at which a compartment carries a load [N], with it, and contact areas [m²]."""
    loaded_poses, areas = [], []
    for name in bed.compartment_names:
        for pose in poses:
            with suppress(PoseError):
                loaded = pose_at_load(bed, pose, name, load)
                loaded_poses.append((loaded.pose, name))
                areas.append(float(loaded.loads[AREA]))
    return loaded_poses, areas


def peaks_inside_rim(model: SurfaceContact, poses: list[tuple[Pose, str]]) -> FloatArray:
    """Return peak pressure [Pa] and force [N] at poses, (N, 2); NaN for a peak at the rim."""
    results = np.full((len(poses), 2), np.nan)
    for row, (pose, name) in zip(results, poses, strict=True):
        with suppress(PoseError):
            loads = model.compartment_loads(pose, name)[0]
            if loads[AXIAL_FORCE] > 0.0 and not model.peaks_at_rim(pose, name):
                row[:] = loads[PEAK_PRESSURE], loads[AXIAL_FORCE]
    return results
