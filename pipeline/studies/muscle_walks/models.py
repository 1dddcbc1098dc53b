"""The model of a configuration: its contacts, their sides, and keys that a user states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dynamics.musculoskeletal import CoordinateMotion, JointContact, OsimModel
from dynamics.musculoskeletal.leg_sides import leg_side
from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS
from pipeline.config.data_folder import data_file
from pipeline.config.schema_base import Section
from pipeline.originals.articular_contacts import articular_contacts, check_facing
from pipeline.store.run_documents import Computed
from pipeline.studies.muscle_walks.schema import ArticularModelConfig


def stated_fields(section: Section, fields: Mapping[str, str]) -> dict[str, Any]:
    """Return the stated values of keys, by the fields of the settings that the keys change."""
    stated = section.model_dump(exclude_none=True)
    return {field: stated[key] for key, field in fields.items() if key in stated}


def stated_files(section: Section, fields: Mapping[str, str]) -> dict[str, Path]:
    """Return the files that keys state, by the fields that the keys change."""
    return {field: data_file(text) for field, text in stated_fields(section, fields).items()}


def spring_contacts(
    model: OsimModel, config: ArticularModelConfig, *, energy: bool = False
) -> tuple[JointContact, ...]:
    """Return the contacts of a model with beds of springs, with surfaces of the configuration."""
    return articular_contacts(
        model,
        meshes=config.mesh_files,
        thicknesses=config.thicknesses,
        surface=config.surface,
        energy=energy,
    )


def facing_contacts(
    model: OsimModel,
    config: ArticularModelConfig,
    motion: CoordinateMotion,
    *,
    energy: bool = False,
) -> tuple[JointContact, ...]:
    """Return `spring_contacts`; refuse surfaces that do not face each other along a motion."""
    contacts = spring_contacts(model, config, energy=energy)
    check_facing(contacts, model, motion)
    return contacts


_DIRECTIONS = (("forward", "back"), ("up", "down"), ("right", "left"))
#: Least cosine of the angle between an axis and the direction that it is said to have.
_NEAR = 0.9


class ContactSide(Computed):
    """Leg of a contact, axes of the bed's mesh, and direction of medial, empty if it has none."""

    leg: str
    medial: str
    found_by: str
    mesh: str
    mesh_axes: list[str]


def contact_sides(model: OsimModel, contacts: Iterable[JointContact]) -> dict[str, ContactSide]:
    """Return the side of each contact, by the name of the contact."""
    split = {contact.name for contact in contacts if _is_split(contact)}
    rows = {}
    for contact in model.contacts:
        side = leg_side(model, contact.bed)
        medial = "right" if side.leg == "left" else "left"
        rows[contact.name] = ContactSide(
            leg=side.leg or "unknown",
            medial=medial if contact.name in split else "",
            found_by=side.found,
            mesh=contact.bed.name,
            mesh_axes=[_direction(axis) for axis in side.axes.T],
        )
    return rows


def side_notes(model: OsimModel, contacts: Iterable[JointContact]) -> tuple[str, ...]:
    """Return what is contradictory or assumed about medial and lateral."""
    split = {contact.name for contact in contacts if _is_split(contact)}
    notes = {
        f"{model.path.name}, {contact.name}: {note}": None
        for contact in model.contacts
        if contact.name in split and (note := leg_side(model, contact.bed).note)
    }
    return tuple(notes)


def _is_split(contact: JointContact) -> bool:
    return tuple(getattr(contact.model, "compartment_names", ())) == COMPARTMENTS


def _direction(axis: FloatArray) -> str:
    """Return the direction of an axis (3,) whose components are forward, up and right [1]."""
    k = int(np.abs(axis).argmax())
    if abs(axis[k]) < _NEAR:
        return "oblique"
    return _DIRECTIONS[k][0 if axis[k] > 0.0 else 1]
