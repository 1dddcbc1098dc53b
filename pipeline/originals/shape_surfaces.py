"""Surfaces of a knee by [knee.shape]: the mean of corresponding meshes, or a base, plus modes.

The mesh of [knee.femur] or [knee.tibia] is the template of its body. It is loaded, repaired and cut
out as without modes, as long as this selects vertices and triangles of its file: the same vertices
are then taken of all meshes. What moves vertices (smoothing, cartilage on a bone) acts on the
surface of the design. What gives new vertices is refused.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy.spatial import KDTree

from foundation.anatomy.shape_modes import ShapeModes, folded, moved_onto
from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError
from foundation.surfaces.mesh import MeshWarning, TriangleMesh, load_mesh, rotation_of
from foundation.surfaces.mesh_checks import report_findings
from foundation.surfaces.smoothing import moved_outwards, smoothed
from pipeline.config.data_folder import data_file, data_files
from pipeline.config.knee_schema import KneeConfig, MeshConfig, ShapeConfig
from pipeline.config.schema_base import naming_keys
from pipeline.originals.mesh_loading import (
    LARGE_FILE,
    UNMOVED,
    LoadedMesh,
    load_body,
    versions_of,
    vertex_table,
)
from pipeline.progress import say

#: Columns of a table of displacements.
COLUMNS = ("dx_mm", "dy_mm", "dz_mm")
#: Part of the area of a mesh beyond which triangles that face away from those of the template mean
#: that vertices do not correspond, or that the knee is of the other side.
_FACING_AWAY = 0.1
#: Distance of vertices that differ by rounding at most [m].
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Template:
    """The mesh of a body [m] that the others correspond to, with (V,) vertices in use."""

    #: Section of the body.
    config: MeshConfig
    #: Surface of the file, as all files are read.
    whole: TriangleMesh
    #: Surface in use, whose vertices are some of `whole`.
    mesh: TriangleMesh
    #: Vertices of `whole` that are those of `mesh`.
    used: IntArray
    side: str


def shaped_surfaces(knee: KneeConfig) -> tuple[TriangleMesh, TriangleMesh, TriangleMesh]:
    """Return femur and tibia [m] of a knee with [knee.shape], and its tibia without weights [m].

    Compartments of the tibia without weights are those of all shapes, triangle by triangle.
    """
    for body in ("femur", "tibia"):
        report_findings(_loaded_template(knee, body).findings)
    return _shaped(knee, versions_of(_files(knee)))


def shape_modes(knee: KneeConfig) -> ShapeModes:
    """Return the modes of shape of a knee with [knee.shape]; raises as `shaped_surfaces`."""
    return _modes(_without_weights(knee), versions_of(_files(knee)))


# The checks of a pair and the contact model over it need the same surfaces.
@lru_cache(maxsize=2)
def _shaped(
    knee: KneeConfig, versions: tuple[tuple[int, int] | None, ...]
) -> tuple[TriangleMesh, TriangleMesh, TriangleMesh]:
    assert knee.shape is not None
    modes = _modes(_without_weights(knee), versions)
    try:
        meshes = modes.meshes(knee.shape.weights)
    except InputError as error:
        raise InputError(f"[knee.shape] {error}") from error
    return *finished(knee, *meshes), modes.tibia


def finished(
    knee: KneeConfig, femur: TriangleMesh, tibia: TriangleMesh
) -> tuple[TriangleMesh, TriangleMesh]:
    """Return femur and tibia [m] by modes of shape as the contact model uses them."""
    return _finished(femur, knee.femur), _finished(tibia, knee.tibia)


def _finished(mesh: TriangleMesh, config: MeshConfig | None) -> TriangleMesh:
    """Return a surface as the contact model uses it."""
    assert config is not None
    if config.smooth_um > 0.0:
        mesh = smoothed(mesh, 1e-6 * config.smooth_um).mesh
    if config.cartilage_mm > 0.0:
        mesh = moved_outwards(mesh, 1e-3 * config.cartilage_mm)
    return mesh


def _without_weights(knee: KneeConfig) -> KneeConfig:
    """Return what the modes of a knee depend on."""
    assert knee.shape is not None
    shape = knee.shape.without_weights()
    return KneeConfig(
        source="meshes",
        side=knee.side,
        femur=plain(knee.femur),
        tibia=plain(knee.tibia),
        shape=shape,
        repair_tolerance_mm=knee.repair_tolerance_mm,
    )


def plain(config: MeshConfig | None) -> MeshConfig:
    """Return a section of a body without what moves vertices."""
    assert config is not None
    return config.model_copy(update=UNMOVED)


def _files(knee: KneeConfig) -> tuple[Path, ...]:
    """Return all files of the shape of a knee."""
    assert knee.shape is not None
    templates = [file for config in (knee.femur, knee.tibia) if config for file in config.files]
    return data_files([*templates, *(file for of_body in knee.shape.files for file in of_body)])


@lru_cache(maxsize=2)
def _modes(knee: KneeConfig, versions: tuple[tuple[int, int] | None, ...]) -> ShapeModes:
    total = sum(version[1] for version in versions if version)
    if total > LARGE_FILE:
        say(f"reading {len(versions)} files of [knee.shape] ({total / 1e6:.0f} MB)")
    shape = knee.shape
    assert shape is not None
    templates = [template(knee, body) for body in ("femur", "tibia")]
    read = _knees if shape.of_knees else _displacements
    try:
        arrays = [
            read(of_body, files, shape)
            for of_body, files in zip(templates, shape.files, strict=True)
        ]
        meshes = [of_body.mesh for of_body in templates]
        if not shape.of_knees:
            return ShapeModes.of_displacements(meshes[0], meshes[1], arrays[0], arrays[1])
        with naming_keys({"kept": "modes"}):
            return ShapeModes.of_knees(meshes[0], meshes[1], arrays[0], arrays[1], shape.kept)
    except InputError as error:
        raise InputError(f"[knee.shape] {error}") from error


def template(knee: KneeConfig, body: str) -> Template:
    """Return the template of "femur" or "tibia" of a knee with [knee.shape]."""
    config = plain(getattr(knee, body))
    loaded = _loaded_template(knee, body)
    whole = read_as_is(config, config.files, knee.side)
    if loaded.deviation is not None:
        raise InputError(
            f"[knee.{body}] {config.name}: {loaded.decimation}; expected a mesh that keeps its "
            f"vertices with [knee.shape]: set decimate_um = 0, or decimate all meshes alike"
        )
    away, used = (np.asarray(part) for part in KDTree(whole.vertices).query(loaded.mesh.vertices))
    if away.max() > _SAME:
        changed = "; ".join(loaded.repairs)
        raise InputError(
            f"[knee.{body}] {config.name}: the repair changed vertices ({changed}); expected a "
            "mesh that corresponds to those of [knee.shape] as it is: repair all meshes alike, or "
            "set knee.repair_tolerance_mm = 0"
        )
    return Template(config, whole, loaded.mesh, used.astype(np.int64), knee.side)


def _loaded_template(knee: KneeConfig, body: str) -> LoadedMesh:
    try:
        return load_body(knee, body, **UNMOVED)
    except InputError as error:
        raise InputError(f"[knee.{body}] {error}") from error


def read_as_is(config: MeshConfig, files: tuple[str, ...], side: str) -> TriangleMesh:
    """Return the surface [m] of files as it is, in the frame of a body; raises as `load_mesh`."""
    # What is dropped from a mesh is told of the template; other meshes then do not correspond.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        return load_mesh(
            data_files(files),
            unit=config.unit,
            axes=config.axes,
            rotation=np.radians(config.rotation_deg),
            origin=1e-3 * np.array(config.origin_mm),
            side=side,
            check=False,
        )


def _knees(template: Template, files: tuple[str, ...], shape: ShapeConfig) -> FloatArray:
    """Return the vertices of a body of all knees, (N, V, 3) [m]."""
    if not files:
        return np.repeat(template.mesh.vertices[None], shape.count, axis=0)
    whole = [_corresponding(template, file, rigid=shape.align == "rigid") for file in files]
    return np.array([vertices[template.used] for vertices in whole])


def _corresponding(template: Template, file: str, *, rigid: bool) -> FloatArray:
    """Return the vertices of a file, (V, 3) [m], which correspond to those of the template."""
    return corresponding(
        template, read_as_is(template.config, (file,), template.side), file, rigid=rigid
    )


def corresponding(template: Template, mesh: TriangleMesh, file: str, *, rigid: bool) -> FloatArray:
    """Return the vertices of a mesh, (V, 3) [m], which correspond to all of a template's file."""
    first = template.whole
    name = template.config.name
    if mesh.vertices.shape != first.vertices.shape or mesh.faces.shape != first.faces.shape:
        raise InputError(
            f"{file}: expected a mesh that corresponds to {name}, of {len(first.vertices)} "
            f"vertices and {len(first.faces)} triangles, found {len(mesh.vertices)} vertices and "
            f"{len(mesh.faces)} triangles"
        )
    other = np.flatnonzero((mesh.faces != first.faces).any(axis=1))
    if len(other):
        raise InputError(
            f"{file}: expected a mesh that corresponds to {name}, with the same triangles in the "
            f"same order, found {len(other)} triangles over other vertices, the first is number "
            f"{other[0]}"
        )
    vertices = moved_onto(mesh.vertices, first.vertices) if rigid else mesh.vertices
    away = float(first.areas[folded(first, vertices)].sum() / first.areas.sum())
    if away > _FACING_AWAY:
        remedy = "" if rigid else ', or set align = "rigid" for meshes that lie in other frames'
        raise InputError(
            f"{file}: expected a mesh that corresponds to {name}, found triangles of "
            f"{away:.0%} of the area that face away from those of {name}; check the order of the "
            f"vertices and that both knees are of the same side{remedy}"
        )
    return vertices


def _displacements(template: Template, files: tuple[str, ...], shape: ShapeConfig) -> FloatArray:
    """Return the displacements of a body by mode, (K, V, 3) [m]."""
    if not files:
        return np.zeros((shape.kept, *template.mesh.vertices.shape))
    turn = rotation_of(template.config.axes, np.radians(template.config.rotation_deg))
    size = np.array([1.0, 1.0, -1.0 if template.side == "left" else 1.0])
    return np.array(
        [size * (_table(template, file) @ turn.T)[template.used] for file in files[: shape.kept]]
    )


def _table(template: Template, file: str) -> FloatArray:
    """Return the displacements of a file (V, 3) [m], along the axes of the mesh file."""
    path, count = data_file(file), len(template.whole.vertices)
    return 1e-3 * vertex_table(path, str(path), COLUMNS, count, template.config.name)
