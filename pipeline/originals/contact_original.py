"""The contact models of a study by name, and the one of a configuration over its surfaces."""

from __future__ import annotations

import warnings
from pathlib import Path

from foundation.base.findings import Finding
from pipeline.config.schema import Config, ContactConfig
from pipeline.originals.finite_element_layer import ELEMENTS
from pipeline.originals.knee import ContactKind, Knee, KneeInputs, Preparation
from pipeline.originals.knee_surfaces import load_surfaces
from pipeline.originals.layer_checks import (
    check_laws,
    check_layers,
    check_strength,
    check_triangles,
)
from pipeline.originals.spring_bed import bed_digest, build_bed


def _build(inputs: KneeInputs) -> Knee:
    contact = inputs.config.contact
    model = build_bed(contact, inputs.surfaces)
    return Knee(model, inputs.start, bed_digest(model))


def _check_resolution(knee: Knee, contact: ContactConfig, area: float) -> Finding:
    return check_triangles(knee.model.tibia, area, contact.surface)


SPRINGS = ContactKind(build=_build, check_resolution=_check_resolution, check=check_laws)


#: Kinds of contact models, by the value of `contact.model`.
CONTACT_KINDS: dict[str, ContactKind] = {
    "elastic_foundation": SPRINGS,
    "finite_element": ELEMENTS,
}


def kind_of(config: Config) -> ContactKind:
    """Return the kind of the contact model of a study."""
    return CONTACT_KINDS[config.contact.model]


def preparation_of(config: Config) -> Preparation | None:
    """Return what precedes the first evaluation of a study, None if nothing does."""
    return kind_of(config).preparation if config.original.kind == "model" else None


def build_knee(config: Config, folder: Path | None = None) -> Knee:
    """Load or build the surfaces of a study and return the contact model over these surfaces.

    Doubtful surfaces and layers are warned about.

    Parameters
    ----------
    config : Config
        The study.
    folder : Path, optional
        Run directory, for what a model keeps on disk.

    Raises
    ------
    InputError
        If a mesh or a parameter cannot be used; the message names it.
    """
    inputs, kind = KneeInputs(config, load_surfaces(config), folder), kind_of(config)
    for finding in kind.check(config.contact):
        warnings.warn(finding.text, stacklevel=2)
    knee = kind.build(inputs)
    check_strength(config, knee.quick, knee.start)
    for finding in check_layers(config.contact, inputs.surfaces.tibia, knee.quick):
        warnings.warn(f"{finding.about}: {finding.text}", stacklevel=2)
    return knee
