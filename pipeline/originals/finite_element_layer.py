"""The finite-element model of a study: layers, bases and elements over the surfaces of its knee."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from foundation.elastic_foundation.laws import SeriesLaw
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.errors import InputError
from foundation.finite_element.base import PlaneBase, SolidBase, ThicknessBase
from foundation.finite_element.layer import ElasticLayer
from foundation.finite_element.model import FiniteElementContact
from foundation.implant.condylar_implant import CondylarImplant
from pipeline.config.key_names import in_words_of
from pipeline.config.schema import ContactConfig, LayerConfig
from pipeline.originals.knee_surfaces import KneeSurfaces
from pipeline.originals.layer_thickness import layer_thickness
from pipeline.originals.spring_bed import bed_of, layer_law

#: Folder in a run directory of condensed compliances.
CONDENSED = "condensed"
_KEYS = {
    "spacing": "contact.finite_element.node_spacing_mm",
    "growth": "contact.finite_element.growth",
}
#: Part of the memory of the machine that a condensation may take.
_USABLE = 0.9


def build_elements(
    contact: ContactConfig, surfaces: KneeSurfaces, folder: Path | None = None
) -> FiniteElementContact:
    """Return the finite-element model of a configuration, not yet condensed.

    Parameters
    ----------
    contact : ContactConfig
        Layers and elements.
    surfaces : KneeSurfaces
        Surfaces of the knee.
    folder : Path, optional
        Run directory, whose folder `CONDENSED` keeps the condensed compliances; without a run
        directory, they stay in memory.

    Raises
    ------
    InputError
        If a parameter cannot be used, or the condensation needs more memory than the machine has.
    """
    settings = contact.finite_element
    assert settings is not None  # the schema gives the section
    with in_words_of(_KEYS):
        model = FiniteElementContact(
            surfaces.femur,
            surfaces.tibia,
            _tibial_layer(contact, surfaces),
            femur_layer=_femoral_layer(contact.femur_layer, surfaces),
            spacing=1e-3 * settings.node_spacing_mm,
            growth=settings.growth,
            compartments=surfaces.compartments,
            precision=settings.precision,
            solver=settings.solver,
            folder=None if folder is None else folder / CONDENSED,
        )
    _check_memory(model)
    return model


def _tibial_layer(contact: ContactConfig, surfaces: KneeSurfaces) -> ElasticLayer:
    base: PlaneBase | SolidBase | ThicknessBase
    if isinstance(surfaces.below, CondylarImplant):
        base = PlaneBase(0.0)  # the underside of the built-in insert
    elif surfaces.below is not None:
        base = SolidBase(surfaces.below)
    else:
        base = ThicknessBase(layer_thickness(contact, len(surfaces.tibia.vertices)))
    return ElasticLayer(1e6 * contact.youngs_modulus_MPa, contact.poissons_ratio, base)


def _femoral_layer(layer: LayerConfig | None, surfaces: KneeSurfaces) -> ElasticLayer | None:
    if layer is None:
        return None
    thickness = layer_thickness(layer, len(surfaces.femur.vertices), body="femoral")
    return ElasticLayer(
        1e6 * layer.youngs_modulus_MPa, layer.poissons_ratio, ThicknessBase(thickness)
    )


def _check_memory(model: FiniteElementContact) -> None:
    """Raise an InputError if a condensation needs more memory than the machine has."""
    available, needed = machine_memory(), model.size.memory
    if available is not None and needed > _USABLE * available:
        raise InputError(
            f"contact.finite_element: the condensation needs {1e-9 * needed:.1f} GB of memory for "
            f"{model.size.unknowns:,} unknowns, and this machine has {1e-9 * available:.1f} GB: "
            'increase node_spacing_mm, or set precision = "float32"'
        )


def machine_memory() -> float | None:
    """Return the memory of this machine [bytes]; None where the system does not tell."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows
        return None


def bed_beside(contact: ContactConfig, surfaces: KneeSurfaces) -> ElasticFoundation:
    """Return an elastic foundation over the same surfaces with the same layers, evaluated faster.

    A femoral layer of varying thickness counts with its mean thickness.
    """
    measured = surfaces.measured_thickness()
    law = layer_law(contact, layer_thickness(contact, len(surfaces.tibia.vertices), measured))
    if (femoral := contact.femur_layer) is not None:
        thickness = layer_thickness(femoral, len(surfaces.femur.vertices), body="femoral")
        law = SeriesLaw(law, layer_law(femoral, float(np.mean(thickness))))
    return bed_of(law, contact, surfaces)
