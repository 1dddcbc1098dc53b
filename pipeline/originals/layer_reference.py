"""The elastic layer that springs stand for, over the same surfaces: coupled springs or elements.

Coupled springs have the surface compliance of the layer and need no preparation, so that they are
the reference of other springs. The reference of coupled springs is the layer by finite elements.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from pydantic import ValidationError

from foundation.base.errors import InputError
from foundation.elastic_foundation.laws import (
    CoupledLaw,
    LayerLaw,
    SeriesLaw,
    SpringLaw,
    coupled_laws,
    single_laws,
)
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.surface_contact import SurfaceContact
from pipeline.config.contact_schema import with_model
from pipeline.config.schema import Config, ContactConfig
from pipeline.originals.finite_element_layer import build_elements, spacing_for
from pipeline.originals.knee_surfaces import load_surfaces

COUPLED_SPRINGS, FINITE_ELEMENTS = "coupled springs", "finite elements"
#: Nodes across the contact of the finite elements, and range of their distance [mm]: closer nodes
#: take minutes, nodes further apart do not resolve the peak pressure.
_NODES_ACROSS, _SPACINGS_MM = 10.0, (0.7, 2.0)
_MODEL = "finite_element"


class LayerReference(NamedTuple):
    """The reference: what the layer is made of, in words, and the contact model."""

    words: str
    model: SurfaceContact


def layer_reference(config: Config, model: ElasticFoundation, area: float) -> LayerReference:
    """Return the elastic layer that the springs of a study stand for.

    Parameters
    ----------
    config : Config
        The study.
    model : ElasticFoundation
        Its springs.
    area : float
        Area of the contact at the largest peak pressure [m²], for the distance of nodes.

    Raises
    ------
    InputError
        If the layer cannot be made over these surfaces; the message gives the reason.
    """
    if coupled_laws(model.law):
        return _elements(config, area)
    return LayerReference(COUPLED_SPRINGS, coupled_springs(model))


def coupled_springs(model: ElasticFoundation, nodes_across: int = 8) -> ElasticFoundation:
    """Return coupled springs of the layers of other springs, over the same surfaces.

    Raises InputError as the constructor of `ElasticFoundation`.
    """
    law = _coupled(model.law, nodes_across)
    if model.surface == "curved":
        return model.with_law(law)
    return ElasticFoundation(
        model.femur,
        model.tibia,
        law,
        conservative=model.conservative,
        dissipation=model.dissipation,
        compartments=model.compartments,
        compartment_names=model.compartment_names,
        search_depth=model.search_depth,
    )


def _coupled(law: SpringLaw, nodes_across: int) -> SpringLaw:
    layers = [_of_layer(layer, nodes_across) for layer in single_laws(law)]
    return layers[0] if len(layers) == 1 else SeriesLaw(*layers)


def _of_layer(layer: LayerLaw, nodes_across: int) -> CoupledLaw:
    constants = layer.youngs_modulus, layer.poissons_ratio, layer.thickness
    return CoupledLaw(*constants, nodes_across=nodes_across)


def _elements(config: Config, area: float) -> LayerReference:
    """Return the layer by finite elements, condensed in memory."""
    femoral = config.contact.femur_layer
    if femoral is not None and femoral.thickness_file is not None:
        raise InputError(
            "contact.femur_layer.thickness_file has a row per tibial vertex, which finite elements "
            "cannot use"
        )
    across = spacing_for(2.0 * float(np.sqrt(area / np.pi)), _NODES_ACROSS)
    spacing = float(np.clip(across, *_SPACINGS_MM))
    tree = with_model(config.contact.model_dump(exclude_none=True), _MODEL)
    try:
        contact = ContactConfig.model_validate(tree | {_MODEL: {"node_spacing_mm": spacing}})
    except ValidationError as error:
        raise InputError(str(error.errors()[0]["msg"])) from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the surfaces, which the run has given already
        model = build_elements(contact, load_surfaces(config))
    model.prepare(lambda text: None)
    return LayerReference(f"{FINITE_ELEMENTS}, nodes {spacing:g} mm apart", model)
