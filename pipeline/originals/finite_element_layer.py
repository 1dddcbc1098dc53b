"""Finite elements of the layers of a knee, as its contact model and beside springs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import numpy as np
from pydantic import ValidationError

from foundation.base.errors import InputError, PoseError
from foundation.base.findings import Finding
from foundation.base.loads import AREA
from foundation.base.pose import Pose
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.finite_element.condensed_layer import LayerSize
from foundation.finite_element.layer import ElasticLayer, PlaneBase, SolidBase, ThicknessBase
from foundation.finite_element.model import FiniteElementContact
from foundation.implant.condylar_implant import CondylarImplant
from foundation.statics.height import pose_at_load
from foundation.surface_contact import SurfaceContact
from pipeline.config.contact_schema import with_model
from pipeline.config.schema import Config, ContactConfig
from pipeline.config.schema_base import naming_keys
from pipeline.originals.knee import ContactKind, Cost, Knee, KneeInputs, Preparation
from pipeline.originals.knee_surfaces import KneeSurfaces, load_surfaces
from pipeline.originals.layer_checks import contact_width, resolution_finding
from pipeline.originals.spring_bed import layer_thickness
from pipeline.progress import rounded, say, without_warnings

#: Folder in a run directory of condensed compliances.
CONDENSED = "condensed"
_KEYS = {
    "spacing": "contact.finite_element.node_spacing_mm",
    "growth": "contact.finite_element.growth",
}
#: Fewest nodes across a contact patch that the loads of a pose can follow from.
FEWEST_NODES = 4.0


def build_elements(
    contact: ContactConfig, surfaces: KneeSurfaces, folder: Path | None = None
) -> FiniteElementContact:
    """Return the finite-element model of a configuration, not yet condensed."""
    settings = contact.finite_element
    assert settings is not None  # the schema gives the section
    assert settings.node_spacing_mm is not None  # stated, or chosen by `_spaced`
    with naming_keys(_KEYS):
        return FiniteElementContact(
            surfaces.femur,
            surfaces.tibia,
            _tibial_layer(contact, surfaces),
            spacing=1e-3 * settings.node_spacing_mm,
            growth=settings.growth,
            compartments=surfaces.compartments,
            compartment_names=surfaces.names,
            folder=None if folder is None else folder / CONDENSED,
            **_femoral_option(contact, surfaces),
        )


def _tibial_layer(contact: ContactConfig, surfaces: KneeSurfaces) -> ElasticLayer:
    base: PlaneBase | SolidBase | ThicknessBase
    placement = surfaces.placement
    if isinstance(surfaces.below, CondylarImplant):
        base = _underside(placement)
    elif surfaces.below is not None:
        base = SolidBase(surfaces.below)
    else:
        base = ThicknessBase(layer_thickness(contact, len(surfaces.tibia.vertices)))
    axes = None if placement == Pose() else placement.rotation_matrix.T
    return ElasticLayer(1e6 * contact.youngs_modulus_MPa, contact.poissons_ratio, base, axes)


def _underside(placement: Pose) -> PlaneBase:
    """Return the underside of the built-in insert, the plane y = 0 of its own frame."""
    normal = placement.rotation_matrix[:, 1]
    return PlaneBase(float(normal @ placement.translation), tuple(normal.tolist()))


def _femoral_option(contact: ContactConfig, surfaces: KneeSurfaces) -> dict[str, Any]:
    """Return the femoral layer as an option of the model, if there is one."""
    layer = contact.femur_layer
    if layer is None:
        return {}
    thickness = layer_thickness(layer, len(surfaces.femur.vertices), body="femoral")
    base, modulus = ThicknessBase(thickness), 1e6 * layer.youngs_modulus_MPa
    return {"femur_layer": ElasticLayer(modulus, layer.poissons_ratio, base)}


def _spaced(
    contact: ContactConfig, bed: ElasticFoundation, start: Pose, load: float
) -> ContactConfig:
    """Return a section [contact] that states its spacing, by a contact of a `load` [N] on `bed`.

    Raises `InputError` if the nodes are too far apart for the contact, or for a spacing that is not
    stated if there is none.
    """
    assert contact.finite_element is not None  # the schema gives the section
    stated, areas = contact.finite_element.node_spacing_mm, []
    for name in bed.compartment_names:
        with suppress(PoseError):
            areas.append(float(pose_at_load(bed, start, name, load).loads[AREA]))
    if stated is not None and not areas:
        return contact
    if not areas:
        raise InputError(
            f"contact.finite_element.node_spacing_mm: no compartment carries {load:g} N, whose "
            "contact would give the spacing; state a spacing, such as 1.0"
        )
    width = contact_width(min(areas))
    if stated is None:
        return as_elements(contact, spacing_across(width, STUDY_NODES))
    spacing = 1e-3 * stated
    if width < FEWEST_NODES * spacing:
        raise InputError(
            f"contact.finite_element.node_spacing_mm: a contact of {load:g} N is about "
            f"{1e3 * width:.1f} mm across, which is {width / spacing:.1f} nodes (expected "
            f"at least {FEWEST_NODES:g}); set {spacing_for(width, FEWEST_NODES):g} or less"
        )
    return contact


def spacing_for(width: float, nodes: float) -> float:
    """Return the spacing of nodes [mm] that puts some nodes across a patch [m]."""
    return float(np.floor(2e4 * width / nodes) / 20.0)


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
    contact = _spaced(contact, inputs.springs, inputs.start, load)
    model = build_elements(contact, inputs.surfaces, inputs.folder)
    return Knee(model, inputs.start, model.digest, inputs.springs, model.prepare)


def _check_nodes_across(knee: Knee, contact: ContactConfig, area: float) -> Finding:
    """Compare the spacing of the nodes with the area of a typical contact [m²]."""
    del contact
    width = contact_width(area)
    return resolution_finding(
        _ABOUT,
        width,
        width / cast(FiniteElementContact, knee.model).spacing,
        "nodes",
        _NODES_ACROSS,
        f"set node_spacing_mm = {spacing_for(width, _NODES_ACROSS):g}",
    )


def _cost(knee: Knee, contact: ContactConfig, area: float) -> Cost:
    """Return the expected cost of finite elements with a typical contact of an area [m²]."""
    del contact
    model = cast(FiniteElementContact, knee.model)
    size = model.size
    nodes = area / model.spacing**2
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


ELEMENTS = ContactKind(
    build=_build,
    check_resolution=_check_nodes_across,
    preparation=Preparation("condensation", _cost, coarser=_COARSER),
)


#: References in words; finite elements are the layer itself.
FINITE_ELEMENTS, ITSELF = "finite elements", "itself"
#: Nodes across a contact of finite elements that drive a cycle, and of those beside other models.
STUDY_NODES, REFERENCE_NODES = 14.0, 10.0
#: Range of the distance of nodes [mm]: closer nodes take minutes; farther ones do not resolve
#: the peak pressure.
_FINEST_MM, _COARSEST_MM = 0.7, 2.0
#: Longest condensation [s].
_MOST_SECONDS = 60.0
_MODEL = "finite_element"


def spacing_across(width: float, nodes: float) -> float:
    """Return the spacing of nodes [mm] that puts some nodes across a patch [m], within bounds."""
    return float(np.clip(spacing_for(width, nodes), _FINEST_MM, _COARSEST_MM))


def as_elements(contact: ContactConfig, spacing: float) -> ContactConfig:
    """Return the layers of a section [contact] by finite elements, nodes `spacing` [mm] apart."""
    tree = with_model(contact.model_dump(exclude_none=True), _MODEL)
    elements = {**tree.get(_MODEL, {}), "node_spacing_mm": spacing}
    try:
        return ContactConfig.model_validate(tree | {_MODEL: elements})
    except ValidationError as error:
        raise InputError(str(error.errors()[0]["msg"])) from error


def element_layer(config: Config, area: float) -> tuple[float, SurfaceContact]:
    """Return the layer of a study with springs by finite elements: distance of nodes [mm], model.

    The contact `area` at the largest peak pressure [m²] gives the distance.
    """
    femoral = config.contact.femur_layer
    if femoral is not None and femoral.thickness_file is not None:
        raise InputError(
            "contact.femur_layer.thickness_file has a row per tibial vertex, which finite elements "
            "cannot use"
        )
    spacing = spacing_across(contact_width(area), REFERENCE_NODES)
    contact = as_elements(config.contact, spacing)
    with without_warnings:  # of the surfaces, which the run has given already
        model = build_elements(contact, load_surfaces(config))
    if (seconds := model.size.seconds) > _MOST_SECONDS:
        raise InputError(f"finite elements would take {seconds:.0f} s, limit {_MOST_SECONDS:g} s")
    say(f"  finite elements, nodes {spacing:g} mm apart: condensation in about {rounded(seconds)}")
    model.prepare(lambda text: None)
    return spacing, model
