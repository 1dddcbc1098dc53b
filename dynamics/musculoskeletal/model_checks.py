"""What OpenSim-JAM reads of a model and is not taken into account here."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterator

from dynamics.musculoskeletal.osim_model import OsimModel
from dynamics.musculoskeletal.osim_xml import boolean_of, child_text

_COUPLER = "CoordinateCouplerConstraint"
#: Properties of contacts and meshes that are read, and those that change no force.
_KNOWN = {
    "Smith2018ArticularContactForce": {
        "appliesForce", "socket_target_mesh", "socket_casting_mesh", "min_proximity",
        "max_proximity", "elastic_foundation_formulation", "use_lumped_contact_model",
        "components",
    },
    "Smith2018ContactMesh": {
        "socket_frame", "location", "orientation", "mesh_file", "elastic_modulus",
        "poissons_ratio", "thickness", "use_variable_thickness", "mesh_back_file",
        "min_thickness", "max_thickness", "scale_factors",
        "components", "Appearance", "socket_scale_frame", "color", "display_preference",
    },
}  # fmt: skip


def model_notes(model: OsimModel, free: Collection[str]) -> tuple[str, ...]:
    """Return what a model asks for that is not done.

    Parameters
    ----------
    model : OsimModel
        The model.
    free : collection of str
        Coordinates that forces move.

    Returns
    -------
    tuple of str
        Sentences on unknown properties of contacts and contact meshes, and on constraints whose
        forces are left out. OpenSim-JAM drops a coupler whose dependent coordinate is prescribed.

    Raises
    ------
    InputError
        If a boolean is none.
    """
    name = model.path.name
    notes = [f"{name}, {text}" for text in _unknown_properties(model)]
    left_out = [
        constraint.get("name", constraint.tag)
        for constraint in _constraints(model)
        if constraint.tag != _COUPLER or child_text(constraint, "dependent_coordinate_name") in free
    ]
    if left_out:
        notes.append(
            f"{name}: no effect of the constraints {', '.join(left_out)}; motion and forces do not "
            "take them into account"
        )
    return tuple(notes)


def _unknown_properties(model: OsimModel) -> Iterator[str]:
    sets = ("ForceSet", "ContactGeometrySet")
    for of, (tag, known) in zip(sets, _KNOWN.items(), strict=True):
        for element in model.objects(of, tag):
            unknown = [child.tag for child in element if child.tag not in known]
            if unknown:
                yield (
                    f"{element.get('name')}: no effect of {', '.join(unknown)}, which no {tag} of "
                    "OpenSim-JAM since 2020 has"
                )


def _constraints(model: OsimModel) -> Iterator[ET.Element]:
    """Return the constraints of a model that are enforced."""
    for element in model.objects("ConstraintSet"):
        where = f"{model.path.name}, {element.get('name')}"
        if boolean_of(element, "isEnforced", where, True):
            yield element
