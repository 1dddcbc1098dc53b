"""The elastic layer that springs stand for, over the same surfaces: coupled springs or elements.

Coupled springs have the surface compliance of a flat layer and need no preparation. Finite elements
also have the shape of the layer, and are condensed first.
"""

from __future__ import annotations

import numpy as np
from pydantic import ValidationError

from foundation.base.errors import InputError
from foundation.elastic_foundation.laws import (
    CoupledLaw,
    LayerLaw,
    SeriesLaw,
    SpringLaw,
    single_laws,
)
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.surface_contact import SurfaceContact
from pipeline.config.contact_schema import with_model
from pipeline.config.schema import Config, ContactConfig
from pipeline.originals.finite_element_layer import build_elements, spacing_for
from pipeline.originals.knee_surfaces import load_surfaces
from pipeline.progress import rounded, say, without_warnings

#: References in words; finite elements are the layer itself.
COUPLED_SPRINGS, FINITE_ELEMENTS, ITSELF = "coupled springs", "finite elements", "itself"
#: Nodes across the contact of the finite elements, and range of their distance [mm]: closer nodes
#: take minutes, nodes further apart do not resolve the peak pressure.
_NODES_ACROSS, _FINEST_MM, _COARSEST_MM = 12.0, 0.7, 2.0
#: Longest condensation [s].
_MOST_SECONDS = 60.0
_MODEL = "finite_element"


def coupled_springs(model: ElasticFoundation, nodes_across: int = 8) -> ElasticFoundation:
    """Return coupled springs of the layers of other springs, over the same surfaces."""
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


def element_layer(
    config: Config, area: float, finest: float = _FINEST_MM
) -> tuple[float, SurfaceContact]:
    """Return the layer of a study with springs by finite elements: distance of nodes [mm], model.

    The contact `area` at the largest peak pressure [m²] gives the distance, `finest` [mm] or more.
    """
    femoral = config.contact.femur_layer
    if femoral is not None and femoral.thickness_file is not None:
        raise InputError(
            "contact.femur_layer.thickness_file has a row per tibial vertex, which finite elements "
            "cannot use"
        )
    across = spacing_for(2.0 * float(np.sqrt(area / np.pi)), _NODES_ACROSS)
    spacing = float(np.clip(across, finest, _COARSEST_MM))
    tree = with_model(config.contact.model_dump(exclude_none=True), _MODEL)
    try:
        contact = ContactConfig.model_validate(tree | {_MODEL: {"node_spacing_mm": spacing}})
    except ValidationError as error:
        raise InputError(str(error.errors()[0]["msg"])) from error
    with without_warnings:  # of the surfaces, which the run has given already
        model = build_elements(contact, load_surfaces(config))
    if (seconds := model.size.seconds) > _MOST_SECONDS:
        raise InputError(f"the condensation of finite elements would take about {seconds:.0f} s")
    say(f"  finite elements, nodes {spacing:g} mm apart: condensation in about {rounded(seconds)}")
    model.prepare(lambda text: None)
    return spacing, model
