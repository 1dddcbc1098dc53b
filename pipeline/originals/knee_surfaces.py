"""The surfaces of a study: the built-in implant, or two meshes; and what lies below the tibia."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from foundation.anatomy.walls import outer_walls
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import Pose
from foundation.implant.condylar_implant import CondylarImplant
from foundation.implant.condyle import Condyle, Dish
from foundation.surfaces.compartments import find_compartments
from foundation.surfaces.mesh import TriangleMesh
from foundation.surfaces.mesh_checks import check_orientation, report_findings
from foundation.surfaces.thickness import measured_thickness, spring_normals
from pipeline.config.knee_schema import PlacementConfig
from pipeline.config.schema import Config, ImplantConfig, KneeConfig
from pipeline.config.schema_base import naming_keys
from pipeline.originals.knee_surface_checks import check_pair, check_sides, check_surfaces
from pipeline.originals.mesh_loading import load_body
from pipeline.originals.shape_surfaces import finished, shaped_surfaces


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
@lru_cache(maxsize=3)
def placed(mesh: TriangleMesh, placement: Pose) -> TriangleMesh:
    """Return a mesh (V, 3) [m] at a placement [rad, m]; the mesh itself at the zero pose."""
    if placement == Pose():
        return mesh
    turn = placement.rotation_matrix.T
    normals = None if mesh.vertex_normals is None else mesh.vertex_normals @ turn
    vertices = mesh.vertices @ turn + placement.translation
    return TriangleMesh(vertices, mesh.faces, mesh.name, normals)


def unplaced(mesh: TriangleMesh, placement: Pose) -> TriangleMesh:
    """Return a mesh (V, 3) [m] back from a placement [rad, m]; the inverse of `placed`."""
    if placement == Pose():
        return mesh
    turn = placement.rotation_matrix
    normals = None if mesh.vertex_normals is None else mesh.vertex_normals @ turn
    vertices = (mesh.vertices - placement.translation) @ turn
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
        return unplaced(self.tibia, self.placement)

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


def surfaces_of_shape(config: Config, femur: TriangleMesh, tibia: TriangleMesh) -> KneeSurfaces:
    """Return the surfaces of a study with [knee.shape] for another knee than that of its weights.

    `femur` and `tibia` [m] have the triangles of the modes, before smoothing and placement.
    """
    placement = config.knee.placement
    bodies = finished(config.knee, femur, tibia)
    found = replace(_as_loaded(config), femur=bodies[0], tibia=bodies[1])
    return found.placed(femoral_placement(placement), tibial_placement(placement))


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
