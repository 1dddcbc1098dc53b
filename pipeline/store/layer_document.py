"""Schema of `elastic_layer.json`: the contact model of a run against the elastic layer."""

from __future__ import annotations

from pydantic import Field

from pipeline.store.run_documents import Count, Number, Optional, Part

#: File of a run directory.
ELASTIC_LAYER = "elastic_layer.json"


class LayerFigures(Part):
    """Contact model less elastic layer at equal axial load, over the elastic layer [1].

    The stiffness is the derivative of the axial force by the height, the approach the largest
    overlap of the surfaces.
    """

    peak_pressure: Number
    mean_pressure: Number
    area: Number
    stiffness: Number
    approach: Number


class LayerCompartment(Part):
    """Comparison of one compartment.

    Load and peak pressures are those at `instant_percent` of the cycle, where the contact model has
    its largest peak pressure; `at_peak` are the differences there, and `rms` those over all
    `poses`. `uncertainty` is how far the peak pressure of the reference itself is uncertain [1],
    `rough` whether the surface has ridges that eight nodes across the patch do not resolve.
    """

    instant_percent: Number
    load_N: Number
    peak_pressure_Pa: Number
    layer_peak_pressure_Pa: Number
    at_peak: LayerFigures
    rms: LayerFigures
    poses: Count
    uncertainty: Number
    rough: bool = False


class ElasticLayer(Part):
    """`elastic_layer.json`: differences of a contact model from the elastic layer.

    `model` and `reference` name the contact model and what stands for the layer; `reason` says why
    there are no `compartments`, and `known_error` is what is then known of the peak pressure [1].
    `largest_strain` is that of the layer [1].
    """

    model: str
    reference: str
    compartments: dict[str, LayerCompartment] = Field(default_factory=dict)
    reason: str = ""
    known_error: Optional = None
    largest_strain: Optional = None
