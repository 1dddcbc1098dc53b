"""Sections of the knee and of the original model: meshes, implant, modes of shape, table."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS, check_names
from foundation.base.wording import counted
from pipeline.config.schema_base import File, Finite, NonNegative, Positive, Section, naming_keys

#: Largest number of modes.
MOST_MODES = 8


def _weight(number: int) -> Any:
    return Field(
        0.0,
        description=f"weight of mode {number}, in standard deviations of the set or in units of "
        "the displacements",
    )


class ShapeConfig(Section):
    """Shape of the knee by modes: principal components of corresponding knees, or displacements.

    The surfaces of femur and tibia are the mean of the knees, or the meshes of [knee.femur] and
    [knee.tibia] with displacements, plus the weighted modes. All meshes have the same triangles
    and corresponding vertices; the file of [knee.femur] or [knee.tibia] says which, and unit, axes,
    rotation_deg, origin_mm and side of that section hold for all files of the body.
    """

    femur_files: tuple[File, ...] = Field(
        (), description="corresponding femoral meshes, one per knee"
    )
    tibia_files: tuple[File, ...] = Field(
        (), description="tibial meshes of the same knees; without files the body stays as it is"
    )
    femur_displacements: tuple[File, ...] = Field(
        (), description="CSV files, one per mode: dx_mm, dy_mm, dz_mm of each vertex of the file"
    )
    tibia_displacements: tuple[File, ...] = Field(
        (), description="the same for the tibia; a mode of both bodies moves both"
    )
    align: Literal["none", "rigid"] = Field(
        "none", description="rigid: each mesh is first moved onto that of the section"
    )
    modes: int | None = Field(
        None,
        ge=1,
        le=MOST_MODES,
        description="number of modes; by default as the files give, at most 8",
    )
    mode_1: Finite = _weight(1)
    mode_2: Finite = _weight(2)
    mode_3: Finite = _weight(3)
    mode_4: Finite = _weight(4)
    mode_5: Finite = _weight(5)
    mode_6: Finite = _weight(6)
    mode_7: Finite = _weight(7)
    mode_8: Finite = _weight(8)

    @property
    def of_knees(self) -> bool:
        """Whether the modes are those of corresponding knees, not given displacements."""
        return bool(self.femur_files or self.tibia_files)

    @property
    def count(self) -> int:
        """Number of files of a body: of knees, or of displacements."""
        femoral, tibial = self.files
        return max(len(femoral), len(tibial))

    @property
    def files(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Files of femur and tibia, none for a body that stays as it is."""
        if self.of_knees:
            return self.femur_files, self.tibia_files
        return self.femur_displacements, self.tibia_displacements

    @property
    def kept(self) -> int:
        """Number of modes."""
        available = self.count - 1 if self.of_knees else self.count
        return min(available, MOST_MODES) if self.modes is None else self.modes

    @property
    def weights(self) -> tuple[float, ...]:
        """Weights of the modes that are kept [1]."""
        return self._all_weights()[: self.kept]

    def without_weights(self) -> Self:
        """Return the section with all weights at zero."""
        return self.model_copy(update={f"mode_{k}": 0.0 for k in range(1, MOST_MODES + 1)})

    def _all_weights(self) -> tuple[float, ...]:
        return tuple(float(getattr(self, f"mode_{k}")) for k in range(1, MOST_MODES + 1))

    @model_validator(mode="after")
    def _files_given(self) -> Self:
        displaced = bool(self.femur_displacements or self.tibia_displacements)
        if self.of_knees == displaced:
            raise InputError(
                "expected corresponding meshes (femur_files, tibia_files) or displacements "
                "(femur_displacements, tibia_displacements), found "
                f"{'both' if displaced else 'neither'}"
            )
        kind = "files" if self.of_knees else "displacements"
        femoral, tibial = self.files
        if femoral and tibial and len(femoral) != len(tibial):
            raise InputError(
                f"femur_{kind} and tibia_{kind}: expected one file of each body per "
                f"{'knee' if self.of_knees else 'mode'}, found {len(femoral)} and {len(tibial)}"
            )
        if self.of_knees and self.count < 2:
            raise InputError("femur_files and tibia_files: expected two knees or more, found 1")
        if displaced and self.align != "none":
            raise InputError(f'align: expected "none" with displacements, found "{self.align}"')
        if displaced and self.count > MOST_MODES:
            raise InputError(
                f"{kind}: expected at most {MOST_MODES} files of a body, found {self.count}"
            )
        return self

    @model_validator(mode="after")
    def _modes_known(self) -> Self:
        available = self.count - 1 if self.of_knees else self.count
        if self.modes is not None and self.modes > available:
            raise InputError(
                f"modes: expected at most {available}, since there are "
                f"{counted(self.count, 'knee' if self.of_knees else 'displacement')}, found "
                f"{self.modes}"
            )
        for number, weight in enumerate(self._all_weights(), start=1):
            if number > self.kept and weight != 0.0:
                raise InputError(
                    f"mode_{number}: expected 0, since there are {counted(self.kept, 'mode')}, "
                    f"found {weight:g}"
                )
        return self


#: Largest distance between corners that the repair of a mesh welds, by default.
REPAIR_TOLERANCE_MM = 0.02
#: Three numbers: anterior, superior, right.
Vector = tuple[Finite, Finite, Finite]
#: Displacement of a component [deg, mm].
Displacement = Annotated[float, Field(ge=-20.0, le=20.0)]


class MeshConfig(Section):
    """One triangulated surface, open or closed."""

    file: File | tuple[File, ...] = Field(
        min_length=1,
        description="path, relative to the configuration file, or $KNEE_DATA/...; or a list of "
        'paths whose meshes are read as one, such as ["medial.stl", "lateral.stl"]',
    )
    unit: Literal["m", "cm", "mm", "um", "inch"] | None = Field(
        None, description="unit of the file; by default that which the file states, else m"
    )
    axes: tuple[str, str, str] | tuple[Vector, Vector, Vector] = Field(
        ("x", "y", "z"),
        description="signed axes of the file that point anterior, superior and to the body's "
        "right; or these directions as rows of a rotation matrix",
    )
    rotation_deg: Vector = Field(
        (0.0, 0.0, 0.0),
        description="angles about the fixed anterior, superior and right axis by which the mesh is "
        "turned after axes, in this order",
    )
    origin_mm: Vector = Field(
        (0.0, 0.0, 0.0), description="point of the file that becomes the origin, along its axes"
    )
    surface: Literal["whole", "bearing"] = Field(
        "whole", description="the whole mesh, or what faces the other body of a closed one"
    )
    cartilage_mm: NonNegative = Field(
        0.0,
        le=10.0,
        description="cartilage on a bone whose file has none: the surface moves outwards",
    )
    decimate_um: NonNegative = Field(
        5.0, description="largest deviation of a decimation above 300,000 triangles; 0: none"
    )
    smooth_um: NonNegative = Field(
        0.0, le=1000.0, description="largest distance that smoothing moves a vertex of a rough scan"
    )

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of the file or the files."""
        return (self.file,) if isinstance(self.file, str) else self.file

    @property
    def name(self) -> str:
        """The file or the files, for messages."""
        return ", ".join(self.files)


class OriginalConfig(Section):
    """Original model of the surrogate: a contact model, or a table of poses and loads.

    With a table, [knee] and [contact] are left out, and missing keys of [space], [design] and
    [validation] are derived from the rows of the table.
    """

    only_with = (("kind", "table", ("file", "side")),)
    kind: Literal["model", "table"] = Field(
        "model", description="the contact model of [knee] and [contact], or a table"
    )
    file: File | None = Field(
        None, description="table of poses and loads, CSV or .parquet (docs/table_original.md)"
    )
    side: Literal["right", "left"] = Field(
        "right",
        description='"left" mirrors a table whose third axis points to the right of the body',
    )

    @property
    def sections(self) -> str:
        """Sections of a configuration that describe the original model."""
        return "[original]" if self.kind == "table" else "[knee], [contact]"

    @model_validator(mode="after")
    def _file_of_a_table(self) -> Self:
        if self.kind == "table" and self.file is None:
            raise InputError(
                'file: expected a table of poses and loads with kind = "table", found none'
            )
        return self


class ImplantConfig(Section):
    """The built-in condylar implant.

    A condyle has smaller radii than its plateau, and no sagittal radius below its coronal radius.
    """

    only_with = (
        ("condyles", "j_curve", ("posterior_radius_mm", "distal_radius_mm", "anterior_radius_mm")),
        ("condyles", "single_radius", ("radius_mm",)),
    )
    condyles: Literal["j_curve", "single_radius"] = Field(
        "j_curve", description="sagittal profile: three tangent arcs, or one radius"
    )
    radius_mm: Positive = Field(25.0, description="sagittal radius of single_radius")
    posterior_radius_mm: Positive = Field(22.0, description="posterior sagittal radius of j_curve")
    distal_radius_mm: Positive = Field(34.0, description="distal sagittal radius of j_curve")
    anterior_radius_mm: Positive = Field(38.0, description="anterior sagittal radius of j_curve")
    # A circle is wider than the half width of what it sweeps.
    condyle_coronal_radius_mm: Finite = Field(
        20.0, gt=14.0, description="coronal radius of the 28 mm wide condyles"
    )
    dish_sagittal_radius_mm: Positive = Field(45.0, description="sagittal radius of the plateaus")
    dish_coronal_radius_mm: Finite = Field(
        23.0, gt=13.0, description="coronal radius of the 26 mm wide plateaus"
    )
    dish_half_length_mm: Positive = Field(22.0, description="half length of the plateaus")
    insert_thickness_mm: Positive = Field(8.0, description="least thickness under a plateau")
    edge_mm: Positive = Field(0.75, description="edge length of the tibial triangles")
    femur_edge_mm: Positive = Field(1.0, description="edge length of the femoral triangles")


class PlacementConfig(Section):
    """Displacement of the components from the placement that their surfaces have as loaded.

    Signs are those of a right knee, to which a left knee is mirrored first. A component turns about
    the origin of the frame of its body: about the lateral, then the anterior, then the superior
    axis of this frame, which stay fixed. Then the component moves along these axes. What lies below
    the tibial surface moves with it. Other keys, such as split_lateral_mm, and the checks of the
    surfaces refer to the components before this displacement.
    """

    tibia_slope_deg: Displacement = Field(0.0, description="slope: plateaus fall to posterior")
    tibia_varus_deg: Displacement = Field(0.0, description="varus: plateaus fall to medial")
    tibia_rotation_deg: Displacement = Field(0.0, description="internal rotation")
    tibia_anterior_mm: Displacement = Field(0.0, description="anterior displacement")
    tibia_superior_mm: Displacement = Field(0.0, description="superior displacement")
    tibia_lateral_mm: Displacement = Field(0.0, description="lateral displacement")
    femur_flexion_deg: Displacement = Field(0.0, description="flexion: distal side to posterior")
    femur_varus_deg: Displacement = Field(0.0, description="varus: distal side to medial")
    femur_rotation_deg: Displacement = Field(0.0, description="internal rotation")
    femur_anterior_mm: Displacement = Field(0.0, description="anterior displacement")
    femur_superior_mm: Displacement = Field(0.0, description="superior displacement")
    femur_lateral_mm: Displacement = Field(0.0, description="lateral displacement")


class KneeConfig(Section):
    """The knee: the built-in implant, or two meshes.

    Any pair of bodies in contact takes the places of tibia (the bed, whose +y points out of its
    surface) and femur (the target): for example the patella and the femur, with one compartment.
    """

    only_with = (
        ("source", "meshes", ("femur", "tibia", "tibia_solid", "shape")),
        ("source", "meshes", ("side", "split_lateral_mm", "compartments")),
    )
    source: Literal["builtin", "meshes"] = Field("builtin", description="source of the surfaces")
    side: Literal["right", "left"] = Field(
        "right", description="a left knee is mirrored when loaded"
    )
    implant: ImplantConfig = Field(default_factory=ImplantConfig)
    femur: MeshConfig | None = Field(None, description="femoral articular surface")
    tibia: MeshConfig | None = Field(None, description="tibial articular surface")
    tibia_solid: MeshConfig | None = Field(
        None, description="closed solid below the tibial surface, for its thickness"
    )
    placement: PlacementConfig = Field(default_factory=PlacementConfig)
    shape: ShapeConfig | None = Field(None, description="shape of the meshes by modes")
    repair_tolerance_mm: NonNegative = Field(
        REPAIR_TOLERANCE_MM,
        le=1.0,
        description="largest distance between corners that the repair of a mesh welds, at most a "
        "fifth of short edges; the repair also removes duplicate and stray triangles, turns "
        "inverted ones and fills small holes, see docs/mesh_problems.md; 0 keeps the mesh as in "
        "the file",
    )
    split_lateral_mm: Finite | None = Field(
        None, description="lateral coordinate that separates the compartments; by default found"
    )
    compartments: tuple[str, ...] = Field(
        COMPARTMENTS,
        description="names of the compartments: two, from medial to lateral, or one that is the "
        "whole surface of the tibia; names other than the default need simulation.kind = "
        '"none"',
    )

    @model_validator(mode="after")
    def _compartments_known(self) -> Self:
        if self.compartments == COMPARTMENTS:
            return self
        with naming_keys({"compartment_names": "compartments"}):
            names = check_names(self.compartments)
        if len(names) > 2:
            raise InputError(f"compartments: expected one or two, found {len(names)}")
        if len(names) == 1 and self.split_lateral_mm is not None:
            raise InputError("split_lateral_mm: remove the key, a single compartment has no split")
        return self

    @model_validator(mode="after")
    def _meshes_given(self) -> Self:
        if self.source == "meshes" and (self.femur is None or self.tibia is None):
            raise InputError('source = "meshes" needs [knee.femur] and [knee.tibia]')
        if self.shape is not None and self.tibia_solid is not None:
            raise InputError(
                "[knee.tibia_solid]: remove the section, since the solid does not take the shape "
                "of [knee.shape]; give a thickness in mm or a thickness_file"
            )
        return self
