"""Sections of the knee and of the original model: meshes, implant, elastic layers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS, check_names
from foundation.elastic_foundation.laws import LAWS
from pipeline.config.key_names import naming_keys
from pipeline.config.schema_base import File, Finite, NonNegative, Positive, Section

if TYPE_CHECKING:
    Law = str
else:
    Law = Literal[tuple(LAWS)]

#: Three numbers: anterior, superior, right.
Vector = tuple[Finite, Finite, Finite]


class MeshConfig(Section):
    """One triangulated surface, open or closed."""

    file: File = Field(description="path, relative to the configuration file, or $KNEE_DATA/...")
    unit: Literal["m", "cm", "mm", "um"] = Field("m", description="unit of the file")
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
        (0.0, 0.0, 0.0),
        description="point of the file that becomes the origin of the body, along the file's axes",
    )
    surface: Literal["whole", "bearing"] = Field(
        "whole",
        description="the whole mesh, or the part of a closed solid that faces the other body",
    )
    decimate_um: NonNegative = Field(
        5.0,
        description="largest deviation of the decimation of a mesh of more than 300,000 triangles; "
        "0 keeps all triangles",
    )


class OriginalConfig(Section):
    """Original model of the surrogate: a contact model, or a table of poses and loads.

    With a table, [knee] and [contact] are left out, and missing keys of [space], [design] and
    [validation] are derived from the rows of the table.
    """

    kind: Literal["model", "table"] = Field(
        "model", description="the contact model of [knee] and [contact], or a table"
    )
    file: File | None = Field(
        None,
        description="table of poses and loads (CSV or .parquet, docs/table_original.md), relative "
        "to the configuration file, or $KNEE_DATA/...",
    )
    side: Literal["right", "left"] = Field(
        "right",
        description='"left" mirrors the table of a left knee whose third axis points to the '
        "body's right; "
        'use "right" if the third axis points lateral',
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
        if self.kind == "model" and (self.file is not None or self.side != "right"):
            raise InputError(
                'file and side: expected kind = "table", found "model"; remove the keys, or set '
                "kind"
            )
        return self


class ImplantConfig(Section):
    """The built-in condylar implant."""

    condyles: Literal["j_curve", "single_radius"] = Field(
        "j_curve", description="sagittal profile: three tangent arcs, or one radius"
    )
    radius_mm: Positive = Field(25.0, description="sagittal radius of single_radius")
    dish_sagittal_radius_mm: Positive = Field(45.0, description="sagittal radius of the plateaus")
    dish_coronal_radius_mm: Positive = Field(23.0, description="coronal radius of the plateaus")
    dish_half_length_mm: Positive = Field(22.0, description="half length of the plateaus")
    edge_mm: Positive = Field(0.75, description="edge length of the tibial triangles")
    femur_edge_mm: Positive = Field(1.0, description="edge length of the femoral triangles")


class KneeConfig(Section):
    """The knee: the built-in implant, or two meshes.

    Any pair of bodies in contact takes the places of tibia (the bed, whose +y points out of its
    surface) and femur (the target): for example the patella and the femur, with one compartment.
    """

    source: Literal["builtin", "meshes"] = Field("builtin", description="source of the surfaces")
    side: Literal["right", "left"] = Field(
        "right", description="meshes of a left knee are mirrored to a right knee when loaded"
    )
    implant: ImplantConfig = Field(default_factory=ImplantConfig)
    femur: MeshConfig | None = Field(None, description="femoral articular surface")
    tibia: MeshConfig | None = Field(None, description="tibial articular surface")
    tibia_solid: MeshConfig | None = Field(
        None, description="closed solid below the tibial surface, to measure the thickness"
    )
    split_lateral_mm: Finite | None = Field(
        None, description="lateral coordinate that separates the compartments; detected by default"
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
        if self.source == "builtin":
            raise InputError(
                'compartments: expected source = "meshes", since the built-in implant has medial '
                "and lateral compartments; remove the key"
            )
        if len(names) > 2:
            raise InputError(f"compartments: expected one or two, found {len(names)}")
        if len(names) == 1 and self.split_lateral_mm is not None:
            raise InputError("split_lateral_mm: remove the key, a single compartment has no split")
        return self

    @model_validator(mode="after")
    def _meshes_given(self) -> Self:
        if self.source == "meshes" and (self.femur is None or self.tibia is None):
            raise InputError('source = "meshes" needs [knee.femur] and [knee.tibia]')
        if self.source == "builtin" and (self.femur or self.tibia or self.tibia_solid):
            raise InputError(
                '[knee.femur], [knee.tibia] and [knee.tibia_solid] need source = "meshes"'
            )
        if self.source == "builtin" and (self.side, self.split_lateral_mm) != ("right", None):
            raise InputError(
                'side and split_lateral_mm need source = "meshes"; the built-in implant is a right '
                "knee with known compartments"
            )
        return self


#: Limits of a thickness [mm], which reveal a thickness in metres or micrometres.
THICKNESS_RANGE = (0.1, 100.0)
Thickness = Annotated[
    float, Field(ge=THICKNESS_RANGE[0], le=THICKNESS_RANGE[1], allow_inf_nan=False)
]


#: Keys of a single law in addition to those of all laws: key -> parameter of the law, factor to SI.
OWN_KEYS: dict[str, dict[str, tuple[str, float]]] = {
    "modified": {
        "f": ("f", 1.0),
        "m": ("m", 1.0),
        "reference_indentation_mm": ("reference_indentation", 1e-3),
    },
    "coupled": {
        "modulus_factor": ("modulus_factor", 1),
        "thickness_factor": ("thickness_factor", 1),
        "nodes_across": ("nodes_across", 1),
    },
}
#: Keys of a layer that belong to its spring law.
OF_LAWS = ("law", *(key for keys in OWN_KEYS.values() for key in keys))


class LayerConfig(Section):
    """Elastic layer of one body.

    The springs of all layers stand on the tibia: a table gives the thickness below each tibial
    vertex, also for the femoral layer. With finite elements, the femoral layer has a separate
    table, with the thickness at each femoral vertex.
    """

    law: Law = Field("linear", description="spring law")
    youngs_modulus_MPa: Positive = Field(463.0, le=1e6, description="Young's modulus")
    poissons_ratio: float = Field(0.46, gt=-1.0, lt=0.5, description="Poisson's ratio")
    thickness_mm: Thickness | Literal["underside"] = Field(
        "underside",
        description='thickness of the layer; "underside" measures the thickness against the tibial '
        "normal, down to the underside of the built-in insert or of [knee.tibia_solid]",
    )
    thickness_file: File | None = Field(
        None,
        description="CSV file that replaces thickness_mm, with a column thickness_mm and one row "
        "per vertex of the mesh as loaded (load_mesh), relative to the configuration file, or "
        "$KNEE_DATA/...",
    )
    f: float = Field(
        float("inf"), gt=1.0, description="f of the modified law; inf with m = 1 is the linear law"
    )
    m: Positive = Field(1.0, description="exponent of the modified law")
    reference_indentation_mm: Positive = Field(
        1.0, description="dref of the modified law; no effect at m = 1"
    )
    modulus_factor: Positive = Field(
        1.0, description="factor of youngs_modulus_MPa in the coupled law; 1 keeps the modulus"
    )
    thickness_factor: Positive = Field(
        1.0, description="factor of the thickness in the coupled law; 1 keeps the thickness"
    )
    nodes_across: int = Field(
        8, ge=4, le=40, description="nodes across the patch of contact in the coupled law"
    )

    @property
    def own_parameters(self) -> dict[str, float]:
        """Parameters that the law has in addition to those of all laws [SI]."""
        keys = OWN_KEYS.get(self.law, {})
        return {name: factor * getattr(self, key) for key, (name, factor) in keys.items()}

    @property
    def is_modified_in_name_alone(self) -> bool:
        """Whether the modified law has f = inf and m = 1, with which it is the linear law."""
        return self.law == "modified" and math.isinf(self.f) and self.m == 1.0

    @property
    def measured(self) -> bool:
        """Whether the thickness is measured to an underside."""
        return self.thickness_mm == "underside" and self.thickness_file is None

    @model_validator(mode="after")
    def _one_thickness(self) -> Self:
        if self.thickness_file is not None and self.thickness_mm != "underside":
            raise InputError(
                "thickness_mm and thickness_file: expected only one, found "
                f"{self.thickness_mm!r} and {self.thickness_file!r}"
            )
        return self


class FiniteElementConfig(Section):
    """Finite elements of the tibial layer, and of an elastic femoral layer if present.

    Needs `contact.model = "finite_element"`. Each layer stands on a rigid base: on the underside of
    the built-in insert or of [knee.tibia_solid], or at the given thickness below the surface. The
    femur is rigid without [contact.femur_layer]. Poisson's ratios are at most 0.4999.
    """

    node_spacing_mm: float = Field(
        0.5,
        ge=0.1,
        le=5.0,
        description="distance of the surface nodes in the contact region",
    )
    growth: float = Field(
        1.1,
        ge=1.0,
        le=2.0,
        description="ratio of the height of an element to the height of the element above",
    )


#: Largest Poisson's ratio of finite elements: nearer to 0.5 the stiffness loses its digits.
_MOST_INCOMPRESSIBLE = 0.4999
#: Keys of a bed of springs, which finite elements do not have.
OF_BEDS = ("surface", "conservative")


class ContactConfig(LayerConfig):
    """Original contact model: the tibial layer, and an elastic femoral layer if present.

    The layer is a bed of springs with a law (`law` and the keys of the law), or consists of finite
    elements ([contact.finite_element]), which have no spring law.
    """

    model: Literal["elastic_foundation", "finite_element"] = Field(
        "elastic_foundation",
        description="a bed of springs, or finite elements of the elastic layer",
    )
    surface: Literal["curved", "flat"] = Field(
        "curved",
        description="surfaces between the vertices: smooth patches with a quadratic field of "
        "indentation, or plane facets with one spring each",
    )
    conservative: bool = Field(
        False,
        description="whether loads are the gradient of the stored energy, or act along the normal "
        "of each spring; the modified law with finite f has no stored energy",
    )
    finite_element: FiniteElementConfig | None = Field(
        None, description='finite elements of the layers, with model = "finite_element"'
    )
    femur_layer: LayerConfig | None = Field(
        None, description="elastic femoral layer: springs in series, or finite elements"
    )

    @model_validator(mode="before")
    @classmethod
    def _with_elements(cls, content: Any) -> Any:
        """Give a finite-element model its section, so that a resolved configuration has it."""
        if isinstance(content, dict) and content.get("model") == "finite_element":
            return {"finite_element": {}} | content
        return content

    @model_validator(mode="after")
    def _keys_of_the_model(self) -> Self:
        if self.model == "elastic_foundation":
            if self.finite_element is not None:
                raise InputError('[contact.finite_element] needs contact.model = "finite_element"')
            self._check_coupling()
            for name, layer in self._layers:
                _check_own_keys(name, layer)
            return self
        changed = _changed(self, OF_BEDS)
        for name, layer in self._layers:
            changed += [f"{name}{key}" for key in _changed(layer, OF_LAWS)]
        if changed:
            raise InputError(
                f"{', '.join(changed)}: expected only with springs, found model = "
                '"finite_element"; remove these keys, or set model = "elastic_foundation"'
            )
        for name, layer in self._layers:
            if layer.poissons_ratio > _MOST_INCOMPRESSIBLE:
                raise InputError(
                    f"{name}poissons_ratio: expected at most {_MOST_INCOMPRESSIBLE} with finite "
                    f"elements, found {layer.poissons_ratio:g}"
                )
        return self

    @property
    def _layers(self) -> tuple[tuple[str, LayerConfig], ...]:
        """Return tibial and femoral layer, and the head of their keys in messages."""
        femoral = () if self.femur_layer is None else (("femur_layer.", self.femur_layer),)
        return ("", self), *femoral

    def _check_coupling(self) -> None:
        """Raise an error if a bed of coupled springs has what only independent springs have."""
        laws = {layer.law for _, layer in self._layers}
        if "coupled" not in laws:
            return
        if len(laws) > 1:
            raise InputError(
                'law and femur_layer.law: expected "coupled" for both layers or for no layer, '
                f"found {self.law!r} and {self.femur_layer.law!r}"  # type: ignore[union-attr]
            )
        if self.surface != "curved":
            raise InputError(
                f'surface: expected "curved" with law = "coupled", found "{self.surface}"; remove '
                "the key"
            )


def _check_own_keys(head: str, layer: LayerConfig) -> None:
    """Raise an error if a layer of springs has a key of another law, which has no effect."""
    for law, keys in OWN_KEYS.items():
        if law != layer.law and (changed := _changed(layer, tuple(keys))):
            raise InputError(
                f"{', '.join(head + key for key in changed)}: expected only with {head}law = "
                f'"{law}", found {head}law = "{layer.law}"; remove the keys, or set {head}law = '
                f'"{law}"'
            )


def _changed(section: Section, keys: tuple[str, ...]) -> list[str]:
    """Return the keys whose value is not the default; a resolved configuration has all keys."""
    defaults = type(section).model_fields
    return [key for key in keys if getattr(section, key) != defaults[key].default]
