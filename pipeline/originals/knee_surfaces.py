"""The surfaces of a study: the built-in implant, two meshes, or modes of shape."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from foundation.anatomy.shape_modes import ShapeModes, folded, moved_onto
from foundation.anatomy.walls import outer_walls
from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import Pose
from foundation.implant.condylar_implant import CondylarImplant
from foundation.implant.condyle import Condyle, Dish
from foundation.surfaces.compartments import find_compartments
from foundation.surfaces.mesh import MeshWarning, TriangleMesh, load_mesh, rotation_of
from foundation.surfaces.mesh_checks import check_orientation, report_findings
from foundation.surfaces.smoothing import moved_outwards, smoothed
from foundation.surfaces.thickness import measured_thickness, spring_normals
from pipeline.config.data_folder import data_file, data_files
from pipeline.config.knee_schema import MeshConfig, PlacementConfig, ShapeConfig
from pipeline.config.schema import Config, ImplantConfig, KneeConfig
from pipeline.config.schema_base import naming_keys
from pipeline.originals.knee_surface_checks import check_pair, check_sides, check_surfaces
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
    return _finished(meshes[0], knee.femur), _finished(meshes[1], knee.tibia), modes.tibia


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
            f"[knee.{body}] {config.name}: {loaded.decimation}; expected a mesh with all its "
            "vertices, as [knee.shape] is given: set decimate_um = 0, or decimate all meshes alike"
        )
    distance, index = map(np.asarray, KDTree(whole.vertices).query(loaded.mesh.vertices))
    if distance.max() > _SAME:
        changed = "; ".join(loaded.repairs)
        raise InputError(
            f"[knee.{body}] {config.name}: the repair changed vertices ({changed}); expected the "
            "vertices that the meshes of [knee.shape] have: repair all meshes alike, or set "
            "knee.repair_tolerance_mm = 0"
        )
    return Template(config, whole, loaded.mesh, index.astype(np.int64), knee.side)


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
    first, mesh = template.whole, read_as_is(template.config, (file,), template.side)
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


def tibial_placement(config: PlacementConfig) -> Pose:
    """Return the placement of the tibial component in the tibial frame [rad, m]."""
    slope, varus, internal = np.radians(
        (config.tibia_slope_deg, config.tibia_varus_deg, config.tibia_rotation_deg)
    )
    moved = (config.tibia_anterior_mm, config.tibia_superior_mm, config.tibia_lateral_mm)
    # A slope turns a component as flexion turns a femur; internal rotation is that of the tibia.
    return Pose(slope, varus, -internal, *(1e-3 * part for part in moved))


def femoral_placement(config: PlacementConfig) -> Pose:
    """Return the placement of the femoral component in the femoral frame [rad, m]."""
    flexion, varus, internal = np.radians(
        (config.femur_flexion_deg, config.femur_varus_deg, config.femur_rotation_deg)
    )
    moved = (config.femur_anterior_mm, config.femur_superior_mm, config.femur_lateral_mm)
    # The component is the distal body, against which the femur extends and abducts.
    return Pose(-flexion, -varus, -internal, *(1e-3 * part for part in moved))


# What is kept for a mesh, such as its coarse copy and its search structures, is found again.
@lru_cache(maxsize=6)
def placed(mesh: TriangleMesh, placement: Pose, *, back: bool = False) -> TriangleMesh:
    """Return a mesh (V, 3) [m] at a placement [rad, m], or `back` from it; itself at the zero."""
    if placement == Pose():
        return mesh
    turn, moved = placement.rotation_matrix, placement.translation
    vertices = (mesh.vertices - moved) @ turn if back else mesh.vertices @ turn.T + moved
    turn = turn if back else turn.T
    normals = None if mesh.vertex_normals is None else mesh.vertex_normals @ turn
    return TriangleMesh(vertices, mesh.faces, mesh.name, normals)


#: Configuration keys of the parameters of the implant.
_IMPLANT_KEYS = {
    "dish sagittal_radius": "knee.implant.dish_sagittal_radius_mm",
    "dish coronal_radius": "knee.implant.dish_coronal_radius_mm",
    "dish half_length": "knee.implant.dish_half_length_mm",
    "dish half_length + |bottom_anterior|": "knee.implant.dish_half_length_mm",
    "condyle coronal_radius": "knee.implant.condyle_coronal_radius_mm",
    "implant minimum_thickness": "knee.implant.insert_thickness_mm",
    **{
        f"implant medial {plane} conformity": f"conformity of knee.implant.dish_{plane}_radius_mm"
        for plane in ("sagittal", "coronal")
    },
}
#: Sagittal radii of a condyle, from posterior to anterior.
_ARCS = ("posterior_radius", "distal_radius", "anterior_radius")


@dataclass(frozen=True, eq=False)
class KneeSurfaces:
    """Articular surfaces of a study [m], femoral and tibial frame, with (F,) compartments."""

    femur: TriangleMesh
    tibia: TriangleMesh
    #: Compartment of each tibial triangle, its place in `names`.
    compartments: NDArray[np.int8]
    #: Has the underside of the tibial layer: implant in its own frame, or solid [m], tibial frame.
    below: CondylarImplant | TriangleMesh | None = None
    names: tuple[str, ...] = COMPARTMENTS
    #: Section of [knee] that names the solid, for messages.
    below_section: str = "tibia_solid"
    #: Placement of the tibial component, from its own frame to the tibial frame.
    placement: Pose = field(default_factory=Pose)

    @property
    def own_tibia(self) -> TriangleMesh:
        """Tibial surface [m] in the frame of its component, before the placement."""
        return placed(self.tibia, self.placement, back=True)

    def placed(self, femoral: Pose, tibial: Pose) -> KneeSurfaces:
        """Return surfaces that are not placed yet at placements of both components [rad, m]."""
        below = self.below
        return replace(
            self,
            femur=placed(self.femur, femoral),
            tibia=placed(self.tibia, tibial),
            below=placed(below, tibial) if isinstance(below, TriangleMesh) else below,
            placement=tibial,
        )

    def measured_thickness(self) -> FloatArray | None:
        """Return the thickness under each tibial vertex (V,) [m]; None if it is not measured."""
        if isinstance(self.below, CondylarImplant):
            own = self.own_tibia
            return self.below.thickness(own.vertices, spring_normals(own))
        if self.below is None:
            return None
        try:
            return measured_thickness(self.tibia, self.below)
        except InputError as error:
            raise InputError(f"[knee.{self.below_section}] {error}") from error


def load_surfaces(config: Config) -> KneeSurfaces:
    """Load or build the surfaces of a study, and put the components to their placement."""
    placement = config.knee.placement
    return _as_loaded(config).placed(femoral_placement(placement), tibial_placement(placement))


def _as_loaded(config: Config) -> KneeSurfaces:
    """Return the surfaces of a study, checked, before their placement."""
    knee, measured = config.knee, config.contact.measured
    if knee.source == "builtin":
        return _of_implant(knee.implant, measured=measured)
    if knee.shape is not None:
        femur, tibia, labelled = shaped_surfaces(knee)
    else:
        femur, tibia = (_load(knee, body) for body in ("femur", "tibia"))
        labelled = tibia
    check = check_surfaces if knee.compartments == COMPARTMENTS else check_pair
    meshes = {"femur": femur, "tibia": tibia}
    report_findings(check(meshes))
    if knee.compartments == COMPARTMENTS:
        assert knee.femur is not None
        bony = knee.femur.cartilage_mm > 0.0
        report_findings(check_sides(meshes, knee.side, bony_femur=bony))
    labels = compartment_labels(knee, labelled)
    below = _solid(knee) if measured else None
    section = "tibia" if knee.tibia_solid is None else "tibia_solid"
    return KneeSurfaces(femur, tibia, labels, below, knee.compartments, section)


def compartment_labels(knee: KneeConfig, tibia: TriangleMesh) -> NDArray[np.int8]:
    """Return the compartment of each triangle of a tibia, (F,), by its place in order."""
    if len(knee.compartments) > 1:
        return compartments_of(tibia, knee.split_lateral_mm)
    return np.zeros(len(tibia.faces), dtype=np.int8)


def _of_implant(config: ImplantConfig, *, measured: bool) -> KneeSurfaces:
    implant = build_implant(config)
    with naming_keys({"edge_length": "knee.implant.femur_edge_mm"}):
        femur, _, _ = implant.tessellate(1e-3 * config.femur_edge_mm)
    with naming_keys({"edge_length": "knee.implant.edge_mm"}):
        _, tibia, labels = implant.tessellate(1e-3 * config.edge_mm)
    return KneeSurfaces(femur, tibia, labels, implant if measured else None)


def build_implant(config: ImplantConfig) -> CondylarImplant:
    """Return the built-in implant of a configuration."""
    single = config.condyles == "single_radius"
    keys = {arc: "radius_mm" if single else f"{arc}_mm" for arc in _ARCS}
    named = {f"condyle {arc}": f"knee.implant.{key}" for arc, key in keys.items()}
    with naming_keys(_IMPLANT_KEYS | named):
        dish = Dish(
            sagittal_radius=1e-3 * config.dish_sagittal_radius_mm,
            coronal_radius=1e-3 * config.dish_coronal_radius_mm,
            half_length=1e-3 * config.dish_half_length_mm,
        )
        condyle = Condyle(
            coronal_radius=1e-3 * config.condyle_coronal_radius_mm,
            **{arc: 1e-3 * getattr(config, key) for arc, key in keys.items()},
        )
        thickness = 1e-3 * config.insert_thickness_mm
        return CondylarImplant(condyle, condyle, dish, dish, minimum_thickness=thickness)


def compartments_of(tibia: TriangleMesh, split_lateral_mm: float | None) -> NDArray[np.int8]:
    """Return the compartment (F,) of each tibial triangle; without a split [mm], detect it."""
    split = None if split_lateral_mm is None else 1e-3 * split_lateral_mm
    with naming_keys({"split_z": "knee.split_lateral_mm"}):
        return find_compartments(tibia, split)


def _load(knee: KneeConfig, section: str) -> TriangleMesh:
    if getattr(knee, section) is None:
        raise InputError(f"[knee.{section}] is missing; add the section with the file of the mesh")
    try:
        loaded = load_body(knee, section)
        report_findings(loaded.findings)
    except InputError as error:
        raise InputError(f"[knee.{section}] {error}") from error
    return loaded.mesh


def _solid(knee: KneeConfig) -> TriangleMesh:
    """Return the closed solid below the tibial surface: its own file, or that of the surface."""
    if knee.tibia_solid is None:
        loaded = load_body(knee, "tibia")
        return outer_walls(loaded.mesh if loaded.part is None else loaded.part.whole)
    solid = _load(knee, "tibia_solid")
    try:
        check_orientation(solid, "tibia")
    except InputError as error:
        raise InputError(f"[knee.tibia_solid] {error}") from error
    return solid
