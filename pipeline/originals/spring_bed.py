"""The elastic foundation of a study: spring laws and the bed over the surfaces, its digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import fields

import numpy as np

from foundation.base.checks import FloatArray
from foundation.elastic_foundation.confinement import (
    NEARLY_INCOMPRESSIBLE,
    REMEDY,
    confined_excess,
    times,
)
from foundation.elastic_foundation.laws import LAWS, SeriesLaw, SpringLaw
from foundation.elastic_foundation.model import ElasticFoundation
from pipeline.config.key_names import in_words_of
from pipeline.config.schema import ContactConfig, LayerConfig
from pipeline.originals.knee_surfaces import KneeSurfaces
from pipeline.originals.layer_thickness import layer_thickness


def build_bed(contact: ContactConfig, surfaces: KneeSurfaces) -> ElasticFoundation:
    """Return the elastic foundation of a configuration over the surfaces of its knee.

    Raises
    ------
    InputError
        If a parameter cannot be used; the message names it.
    """
    return bed_of(law_over(contact, surfaces), contact, surfaces)


def law_over(contact: ContactConfig, surfaces: KneeSurfaces) -> SpringLaw:
    """Return the spring law of a configuration over the surfaces of its knee; as `build_law`."""
    return build_law(contact, len(surfaces.tibia.vertices), surfaces.measured_thickness())


def bed_of(law: SpringLaw, contact: ContactConfig, surfaces: KneeSurfaces) -> ElasticFoundation:
    """Return the bed of springs of a law over the surfaces of a knee; errors as `build_bed`."""
    with in_words_of({"search_depth": "contact.search_depth_mm"}):
        return ElasticFoundation(
            surfaces.femur,
            surfaces.tibia,
            law,
            surface=contact.surface,
            conservative=contact.conservative,
            compartments=surfaces.compartments,
            compartment_names=surfaces.names,
            search_depth=1e-3 * contact.search_depth_mm,
        )


def build_law(
    contact: ContactConfig, vertices: int, measured: FloatArray | None = None
) -> SpringLaw:
    """Return the spring law of a configuration.

    Parameters
    ----------
    contact : ContactConfig
        The law and its parameters.
    vertices : int
        Number of vertices V of the tibial mesh; a thickness table has one row for each.
    measured : (V,) float64, optional
        Thickness under each tibial vertex [m], for `thickness_mm = "underside"`.

    Raises
    ------
    InputError
        If a thickness is missing or its table cannot be used.
    """
    tibial = layer_law(contact, layer_thickness(contact, vertices, measured))
    femoral = contact.femur_layer
    if femoral is None:
        return tibial
    return SeriesLaw(tibial, layer_law(femoral, layer_thickness(femoral, vertices)))


def unchanged_laws(contact: ContactConfig) -> dict[str, str]:
    """Return the keys of modified laws that are the linear law, each with what to do."""
    layers = {"contact": contact, "contact.femur_layer": contact.femur_layer}
    return {
        f"{section}.law": (
            f'law = "modified" of [{section}] is the linear law, as f = inf and m = 1: give f, m '
            "and reference_indentation_mm (dref, which sets the effective thickness hc), or find "
            'them by `knee-contact calibrate`, or set law = "linear"'
        )
        for section, layer in layers.items()
        if layer is not None and layer.is_modified_in_name_alone
    }


def confined_layers(contact: ContactConfig) -> dict[str, str]:
    """Return the keys of ratios that make independent springs too stiff, and what to do."""
    layers = {"contact": contact, "contact.femur_layer": contact.femur_layer}
    return {
        f"{section}.poissons_ratio": (
            f"poissons_ratio of [{section}] is {layer.poissons_ratio:g}, where independent springs "
            f'(law = "{layer.law}") are {times(confined_excess(layer.poissons_ratio))} too stiff '
            "on a patch twice as wide as the layer is thick: expected at most "
            f"{NEARLY_INCOMPRESSIBLE:g} for a bed of independent springs; {REMEDY}"
        )
        for section, layer in layers.items()
        if layer is not None
        and layer.law != "coupled"
        and layer.poissons_ratio > NEARLY_INCOMPRESSIBLE
    }


def layer_law(layer: LayerConfig, thickness: float | FloatArray) -> SpringLaw:
    """Return the law of one layer of a thickness [m], a number or one per tibial vertex (V,)."""
    modulus, own = 1e6 * layer.youngs_modulus_MPa, layer.own_parameters
    return LAWS[layer.law](modulus, layer.poissons_ratio, thickness, **own)


def bed_digest(model: ElasticFoundation) -> str:
    """Return a SHA-256 of the surfaces, the spring law and the settings of the springs."""
    content = hashlib.sha256()
    for mesh in (model.femur, model.tibia):
        content.update(mesh.vertices.tobytes())
        content.update(mesh.faces.tobytes())
        content.update(b"" if mesh.vertex_normals is None else mesh.vertex_normals.tobytes())
    content.update(model.compartments.tobytes())
    settings = f"{model.surface} {model.conservative} {model.search_depth!r}"
    content.update(settings.encode())
    for part in _law_parts(model.law):
        content.update(part)
    return content.hexdigest()


def _law_parts(law: SpringLaw) -> Iterator[bytes]:
    """Return the kinds and parameters of a law's layers as bytes, in a fixed order."""
    yield type(law).__name__.encode()
    for name in (field.name for field in fields(law)):  # type: ignore[arg-type]
        value = getattr(law, name)
        if isinstance(value, SpringLaw):
            yield from _law_parts(value)
        else:
            yield np.asarray(value, dtype=np.float64).tobytes()
