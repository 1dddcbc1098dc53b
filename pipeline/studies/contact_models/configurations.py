"""Configurations of the compared models: the same knee with springs, and with finite elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from foundation.base.errors import InputError
from pipeline.config.contact_schema import OF_LAWS, OWN_KEYS, LayerConfig, with_model
from pipeline.config.reading import checked_section
from pipeline.config.schema import Config
from pipeline.originals.knee_surfaces import KneeSurfaces
from pipeline.originals.layer_thickness import layer_thickness
from pipeline.originals.spring_bed import LARGEST_RATIO

#: Contact model that the others are compared with.
ELEMENTS_MODEL = "finite_element"
#: Reason of a configuration that cannot be made.
_SOURCE = "the configuration of a compared model"

#: Keys of the compared modified law, unless [contact] has this law: the defaults are linear.
MODIFIED = {"f": float("inf"), "m": 0.9, "reference_indentation_mm": 1.0}

Tree = dict[str, Any]


def elements_configuration(config: Config) -> Config:
    """Return the configuration with the layers solved by finite elements.

    Raises `InputError` if the original model is a table, or if the configuration describes springs
    whose femoral layer has a thickness per tibial vertex, which finite elements cannot use.
    """
    if config.original.kind != "model":
        raise InputError(
            'original.kind: expected "model" for a comparison of contact models, found "table"; '
            "describe the knee in [knee] and [contact]"
        )
    if config.contact.model == ELEMENTS_MODEL:
        return _alone(config)
    femoral = config.contact.femur_layer
    if config.contact.has_laws and femoral is not None and femoral.thickness_file is not None:
        raise InputError(
            "contact.femur_layer.thickness_file: a comparison of contact models needs finite "
            "elements, and this table has a row per tibial vertex; give contact.femur_layer."
            "thickness_mm, or describe finite elements in the configuration"
        )
    tree = _tree(config)
    return _checked(tree | {"contact": with_model(tree["contact"], ELEMENTS_MODEL)})


def springs_configuration(config: Config, surfaces: KneeSurfaces, law: str, **own: float) -> Config:
    """Return the configuration with an elastic foundation of a spring law.

    The law is that of both layers if the femur has one; `own` are its keys in addition to those of
    all laws. Poisson's ratios above `LARGEST_RATIO` become this ratio, and a femoral layer of
    varying thickness, which finite elements take at femoral vertices, becomes one of its mean
    thickness.
    """
    tree = _tree(config)
    contact = _without(with_model(tree["contact"], "elastic_foundation"), OF_LAWS)
    if law == "coupled":
        contact = _without(contact, ("surface",))
    contact |= _of_springs(contact, law, own)
    if (femoral := config.contact.femur_layer) is not None:
        layer = _without(contact["femur_layer"], OF_LAWS)
        if not config.contact.has_laws and femoral.thickness_file is not None:
            thickness = layer_thickness(femoral, len(surfaces.femur.vertices), body="femoral")
            layer = _without(layer, ("thickness_file",))
            layer["thickness_mm"] = 1e3 * float(np.mean(thickness))
        contact["femur_layer"] = layer | _of_springs(layer, law, own)
    return _checked(tree | {"contact": contact})


def given_parameters(config: Config, law: str) -> dict[str, float]:
    """Return the given keys of a spring law: of [contact], or for others those to compare with.

    These are the defaults, but those of the modified law are `MODIFIED`.
    """
    if law == "modified" and config.contact.law != law:
        return dict(MODIFIED)
    given = config.contact if config.contact.law == law else LayerConfig()
    return {key: getattr(given, key) for key in OWN_KEYS.get(law, ())}


def training_configuration(config: Config, name: str) -> Config:
    """Return the configuration of the run that trains a surrogate of a comparison.

    The run has neither other surrogates nor combinations of inputs, which the comparison does not
    use.
    """
    return config.model_copy(
        update={
            "run": config.run.model_copy(update={"name": name}),
            "surrogate": config.surrogate.model_copy(update={"compare": ()}),
            "simulation": config.simulation.model_copy(update={"combinations": False}),
        }
    )


def _of_springs(layer: Tree, law: str, own: dict[str, float]) -> Tree:
    ratio = min(layer["poissons_ratio"], LARGEST_RATIO)
    return {"law": law, "poissons_ratio": ratio, **own}


def _alone(config: Config) -> Config:
    return config.model_copy(update={"calibration": None, "comparison": None})


def _tree(config: Config) -> Tree:
    return _alone(config).model_dump(exclude_none=True)


def _without(tree: Tree, keys: tuple[str, ...]) -> Tree:
    return {key: value for key, value in tree.items() if key not in keys}


def _checked(tree: Tree) -> Config:
    return checked_section(tree, Config, _SOURCE)
