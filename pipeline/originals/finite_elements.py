"""The elastic layer by finite elements as the contact model of a study."""

from __future__ import annotations

from typing import cast

import numpy as np

from foundation.base.findings import Finding
from foundation.finite_element.model import FiniteElementContact
from foundation.finite_element.size import LayerSize
from pipeline.config.contact_schema import FiniteElementConfig
from pipeline.config.schema import ContactConfig
from pipeline.originals.finite_element_layer import (
    build_elements,
    check_nodes,
    remove_stale,
    spacing_for,
)
from pipeline.originals.knee import ContactKind, Cost, Knee, KneeInputs, Preparation
from pipeline.originals.patch_resolution import contact_width, resolution_finding
from pipeline.progress import rounded

_ABOUT = "[contact.finite_element]"
#: Least nodes across a contact patch: peak pressures of fewer nodes are off by more than 1 %.
_NODES_ACROSS = 8.0
#: Time of an evaluation of one compartment [s]: constant, per node in contact, and per square of
#: the nodes in contact, measured on the built-in implant at spacings of 0.5 and 1 mm.
_SECONDS = (3e-4, 1.5e-5, 4.5e-8)
#: Time of the condensation with twice the node spacing, over that with the spacing itself.
_COARSER = 0.125
_QUICK = (
    "path and domain were checked with an elastic foundation over the same surfaces, which needs "
    "no condensation"
)


def _build(inputs: KneeInputs) -> Knee:
    contact, space = inputs.config.contact, inputs.config.space
    load = space.path.axial_force_N / len(inputs.surfaces.names)
    check_nodes(_settings(contact), inputs.springs, inputs.start, load)
    model = build_elements(contact, inputs.surfaces, inputs.folder)
    return Knee(model, inputs.start, model.digest, inputs.springs, model.prepare)


def _settings(contact: ContactConfig) -> FiniteElementConfig:
    assert contact.finite_element is not None  # the schema gives the section
    return contact.finite_element


def _check_nodes_across(knee: Knee, contact: ContactConfig, area: float) -> Finding:
    """Compare the spacing of the nodes with the area of a typical contact [m²]."""
    del knee
    width = contact_width(area)
    return resolution_finding(
        _ABOUT,
        width,
        1e3 * width / _settings(contact).node_spacing_mm,
        "nodes",
        _NODES_ACROSS,
        f"set node_spacing_mm = {spacing_for(width, _NODES_ACROSS):g}",
    )


def _cost(knee: Knee, contact: ContactConfig, area: float) -> Cost:
    """Return the expected cost of finite elements with a typical contact of an area [m²]."""
    model = cast(FiniteElementContact, knee.model)
    size = model.size
    nodes = area / (1e-3 * _settings(contact).node_spacing_mm) ** 2
    seconds = float(np.polynomial.polynomial.polyval(nodes, _SECONDS))
    texts = _size_note(size, model.compartment_names, seconds), _QUICK
    notes = tuple(Finding("note", _ABOUT, text) for text in texts)
    return Cost(seconds, size.seconds, size.storage, notes)


def _size_note(size: LayerSize, names: tuple[str, ...], seconds: float) -> str:
    """Return nodes, unknowns, memory and times in words; `seconds` per evaluation [s]."""
    tibial, femoral = size.candidates[: len(names)], size.candidates[len(names) :]
    on_tibia = " and ".join(f"{n:,} {name}" for n, name in zip(tibial, names, strict=True))
    on_femur = f", and {sum(femoral):,} of the femoral layer," if femoral else ""
    return (
        f"{on_tibia} nodes{on_femur} may come into contact, in "
        f"meshes of {sum(size.unknowns):,} unknowns; the condensation takes about "
        f"{rounded(size.seconds)} and {_bytes(size.memory)} of memory, once, and leaves "
        f"{_bytes(size.storage)} on the disk; a pose then takes about {2e3 * seconds:.2g} ms"
    )


def _bytes(size: float) -> str:
    """Return a size [bytes] as text."""
    return f"{1e-9 * size:.1f} GB" if size >= 1e9 else f"{max(1e-6 * size, 1.0):.0f} MB"


FINITE_ELEMENTS = ContactKind(
    build=_build,
    check_resolution=_check_nodes_across,
    preparation=Preparation("condensation", _cost, remove_stale, coarser=_COARSER),
)
