"""Contacts of the model that a configuration names, for walks and forward simulations."""

from __future__ import annotations

from dynamics.musculoskeletal import CoordinateMotion, JointContact, OsimModel
from pipeline.originals.articular_contacts import articular_contacts
from pipeline.originals.contact_facing import check_facing
from pipeline.studies.muscle_walks.schema import ArticularModelConfig


def spring_contacts(
    model: OsimModel, config: ArticularModelConfig, *, energy: bool = False
) -> tuple[JointContact, ...]:
    """Return the contacts of a model with beds of springs, as of `articular_contacts`.

    Surfaces and mesh files are those of the configuration. With `energy`, the contacts have the
    gradient of their energy too.
    """
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
    """Return `spring_contacts` whose surfaces face each other along a motion.

    Raises `InputError` as `articular_contacts` and `check_facing`.
    """
    contacts = spring_contacts(model, config, energy=energy)
    check_facing(contacts, model, motion)
    return contacts
