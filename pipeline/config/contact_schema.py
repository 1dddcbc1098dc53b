"""Sections of the contact model.

A contact model over two surfaces is an entry of `CONTACT_MODELS`, and a field of `ContactConfig`
if the model has a section of its own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from foundation.base.errors import InputError
from foundation.elastic_foundation.laws import LAWS
from pipeline.config.schema_base import File, Positive, Section

#: Limits of a thickness [mm], which reveal a thickness in metres or micrometres.
THICKNESS_RANGE = (0.1, 100.0)
Thickness = Annotated[
    float, Field(ge=THICKNESS_RANGE[0], le=THICKNESS_RANGE[1], allow_inf_nan=False)
]

if TYPE_CHECKING:
    Law = str
else:
    Law = Literal[tuple(LAWS)]

#: Keys of a single law in addition to those of all laws: key -> parameter of the law, factor to SI.
OWN_KEYS: dict[str, dict[str, tuple[str, float]]] = {
    "modified": {
        "f": ("f", 1.0),
        "m": ("m", 1.0),
        "reference_indentation_mm": ("reference_indentation", 1e-3),
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

    only_with = tuple(("law", law, tuple(keys)) for law, keys in OWN_KEYS.items())
    law: Law = Field("linear", description="spring law")
    youngs_modulus_MPa: Positive = Field(463.0, le=1e6, description="Young's modulus")
    poissons_ratio: float = Field(0.46, gt=-1.0, lt=0.5, description="Poisson's ratio")
    thickness_mm: Thickness | Literal["underside"] = Field(
        "underside",
        description='thickness of the layer; "underside" measures the thickness against the tibial '
        "normal, down to the underside of the built-in insert or of [knee.tibia_solid], or to the "
        'inner wall of a closed [knee.tibia] with surface = "bearing"',
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

    @field_validator("law", mode="before")
    @classmethod
    def _without_coupled_law(cls, law: Any) -> Any:
        if law == "coupled":
            raise InputError(
                f"expected one of {', '.join(LAWS)} (springs that share the compliance of the "
                'layer are finite elements: remove the key, and set model = "finite_element" in '
                "[contact])"
            )
        return law

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

    Used with `contact.model = "finite_element"`. Each layer stands on a rigid base: on the
    underside of the built-in insert or of [knee.tibia_solid], or at the given thickness below the
    surface. The femur is rigid without [contact.femur_layer]. Poisson's ratios are at most 0.4999.
    """

    node_spacing_mm: float | None = Field(
        None,
        ge=0.1,
        le=5.0,
        description="distance of surface nodes (default: 14 across a contact)",
    )
    growth: float = Field(1.1, ge=1.0, le=2.0, description="height over that of the element above")


#: Largest Poisson's ratio of finite elements: nearer to 0.5 the stiffness loses its digits.
_MOST_INCOMPRESSIBLE = 0.4999


#: Contact models by the value of `contact.model`, in a few words.
CONTACT_MODELS = {
    "elastic_foundation": "a bed of springs",
    "finite_element": "finite elements of the elastic layer",
}
#: The contact model of a configuration that names none, whose layers are springs.
DEFAULT_MODEL = "elastic_foundation"
#: Keys of [contact] of springs alone.
_OF_SPRINGS = ("surface", "conservative", *OF_LAWS)

if TYPE_CHECKING:
    ModelName = str
else:
    ModelName = Literal[tuple(CONTACT_MODELS)]


class ContactConfig(LayerConfig):
    """Original contact model: the tibial layer, and an elastic femoral layer if present.

    The layer is a bed of springs with a law (`law` and the keys of the law), or consists of finite
    elements ([contact.finite_element]), which have no spring law.
    """

    only_with = (
        ("model", DEFAULT_MODEL, ("law", "surface", "conservative")),
        *LayerConfig.only_with,
    )
    model: ModelName = Field(DEFAULT_MODEL, description=", or ".join(CONTACT_MODELS.values()))
    surface: Literal["curved", "flat"] = Field(
        "curved", description="smooth patches between vertices, or plane facets of one spring each"
    )
    conservative: bool = Field(
        False, description="whether loads are the gradient of a stored energy, not along normals"
    )
    finite_element: FiniteElementConfig | None = Field(
        None, description='finite elements of model = "finite_element"'
    )
    femur_layer: LayerConfig | None = Field(
        None, description="elastic femoral layer: springs in series, or finite elements"
    )

    @property
    def has_laws(self) -> bool:
        """Whether the layers are springs, which have a law."""
        return self.model == DEFAULT_MODEL

    @property
    def layers(self) -> tuple[tuple[str, LayerConfig], ...]:
        """Tibial and femoral layer, each with the head of its keys in messages."""
        femoral = () if self.femur_layer is None else (("femur_layer.", self.femur_layer),)
        return ("", self), *femoral

    @model_validator(mode="before")
    @classmethod
    def _with_own_section(cls, content: Any) -> Any:
        """Give finite elements their section, so that a resolved configuration has it."""
        if isinstance(content, dict) and content.get("model") == "finite_element":
            return {"finite_element": {}} | content
        return content

    @model_validator(mode="after")
    def _layers_agree(self) -> Self:
        """Refuse layers of unlike laws, laws and ratios that finite elements do not take."""
        laws = {layer.law for _, layer in self.layers}
        if not self.has_laws and laws != {"linear"}:
            raise InputError(
                f'femur_layer.law: expected only with model = "{DEFAULT_MODEL}", found '
                f'"{self.model}"; remove the key'
            )
        for head, layer in self.layers:
            if not self.has_laws and layer.poissons_ratio > _MOST_INCOMPRESSIBLE:
                raise InputError(
                    f"{head}poissons_ratio: expected at most {_MOST_INCOMPRESSIBLE} with finite "
                    f"elements, found {layer.poissons_ratio:g}"
                )
        return self


def with_model(contact: dict[str, Any], model: str) -> dict[str, Any]:
    """Return a section [contact] with one of `CONTACT_MODELS`, without the keys of the others."""
    idle_keys = _OF_SPRINGS if model != DEFAULT_MODEL else ("finite_element",)
    section = _without(contact, idle_keys) | {"model": model}
    if isinstance(femoral := section.get("femur_layer"), dict):
        section["femur_layer"] = _without(femoral, idle_keys)
    return section


def _without(section: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in section.items() if key not in keys}
