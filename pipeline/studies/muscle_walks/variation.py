"""Named inputs of a recorded walk, and the walk with other values of these inputs."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dynamics.musculoskeletal import (
    ComakSettings,
    JointContact,
    MuscleSet,
    MuscleWeight,
    Placement,
    RecordedPlant,
)
from dynamics.simulator.variation import VariedContact
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from pipeline.originals.articular_contacts import StoredEnergy
from pipeline.originals.contact_layers import with_thickness
from pipeline.originals.spring_bed import springs_of
from pipeline.studies.factors import Factor
from pipeline.studies.muscle_walks.contact_forces import group_of
from pipeline.studies.muscle_walks.setup import WalkSetup

#: All ligaments, or all muscles.
ALL = "all"
_DIRECTIONS = ("forward", "up", "right")
_DEGREE = np.pi / 180.0


def walk_factors(setup: WalkSetup) -> dict[str, Factor]:
    """Return the inputs of a walk that a study can vary, by name."""
    return {
        name: Factor(unit, si, kind, target, text, bound)
        for name, unit, si, kind, target, text, bound in _entries(setup)
    }


def _entries(setup: WalkSetup) -> Iterator[tuple[str, str, float, str, Any, str, str]]:
    """Yield name, unit and its SI factor, kind, target, text and bound of each input."""
    plant = setup.plant
    ligaments = dict.fromkeys((ALL, *(group_of(name) for name in plant.ligaments.names)))
    for group in ligaments:
        words = "all ligaments" if group == ALL else group
        name, text = f"ligament_{group}_stiffness_scale", f"factor on the stiffness of {words}"
        yield name, "", 1.0, "stiffness", group, text, ">="
        name, text = f"ligament_{group}_slack_scale", f"factor on the slack length of {words}"
        yield name, "", 1.0, "slack_length", group, text, ">"
    for muscle in (ALL, *plant.muscles.names):
        words = "all muscles" if muscle == ALL else muscle
        name, text = f"muscle_{muscle}_strength_scale", f"factor on the largest force of {words}"
        yield name, "", 1.0, "strength", muscle, text, ">"
    for muscle in plant.muscles.names:
        name, text = f"muscle_{muscle}_weight", f"weight of {muscle} in the cost"
        yield name, "", 1.0, "weight", muscle, text, ">="
    for contact in setup.contacts:
        yield from _contact_entries(contact.name)


def _contact_entries(name: str) -> Iterator[tuple[str, str, float, str, Any, str, str]]:
    for kind, text in (("modulus", "Young's modulus"), ("thickness", "thickness of the layer")):
        yield f"{name}_{kind}_scale", "", 1.0, kind, name, f"factor on the {text}, {name}", ">"
    for part in ("bed", "target"):
        for axis, direction in enumerate(_DIRECTIONS):
            key, text = (
                (name, part, axis),
                f"shift of the {part} of {name}, {direction} in its frame",
            )
            yield f"{name}_{part}_{direction}_mm", "mm", 1e-3, "move", key, text, ""
            text = f"rotation of the {part} of {name} about the axis {direction} of its frame"
            yield f"{name}_{part}_about_{direction}_deg", "deg", _DEGREE, "turn", key, text, ""


def check_walk_factor(name: str, factors: Mapping[str, Factor]) -> None:
    """Raise an InputError that lists similar names unless a name is that of an input."""
    if name in factors:
        return
    near = difflib.get_close_matches(name, factors, n=4, cutoff=0.4)
    hint = f"; similar names are {', '.join(near)}" if near else ""
    raise InputError(f"study.factor: expected an input of the walk, found {name!r}{hint}")


def varied_walk(setup: WalkSetup, values: Mapping[str, float]) -> WalkSetup:
    """Return a walk with inputs set to values in the units of their names.

    Raises `InputError` if the contact of a walk cannot be changed so.
    """
    factors = walk_factors(setup)
    changes: dict[str, dict[Any, float]] = {}
    for name, value in values.items():
        factor = factors[name]
        changes.setdefault(factor.kind, {})[factor.target] = factor.si * value
    return replace(
        setup,
        plant=_varied_plant(setup.plant, changes),
        settings=_varied_settings(setup.settings, changes.get("weight", {})),
        contacts=tuple(_varied_contact(contact, changes) for contact in setup.contacts),
    )


def _varied_plant(plant: Any, changes: Mapping[str, Mapping[Any, float]]) -> RecordedPlant:
    """Return a recorded plant with other ligaments and muscles."""
    ligaments = plant.ligaments
    groups = [group_of(name) for name in ligaments.names]
    varied = [key for key in ("stiffness", "slack_length") if key in changes]
    scales = {key: _scales(groups, changes[key]) for key in varied}
    found: RecordedPlant = plant
    if scales:
        found = found.with_ligaments(ligaments.scaled(**scales))
    if strength := changes.get("strength"):
        muscles: MuscleSet = found.muscles
        scale = _scales(list(muscles.names), strength)
        found = replace(found, muscles=replace(muscles, max_force=scale * muscles.max_force))
    return found


def _scales(names: list[str], changes: Mapping[str, float]) -> FloatArray:
    """Return the factor of each name: that of all, times that of its own."""
    return changes.get(ALL, 1.0) * np.array([changes.get(name, 1.0) for name in names])


def _varied_settings(settings: ComakSettings, weights: Mapping[str, float]) -> ComakSettings:
    kept = tuple(weight for weight in settings.muscle_weights if weight.name not in weights)
    own = tuple(MuscleWeight(name, (0.0,), (value,)) for name, value in weights.items())
    return replace(settings, muscle_weights=(*kept, *own))


def _varied_contact(
    contact: JointContact, changes: Mapping[str, Mapping[Any, float]]
) -> JointContact:
    """Return a contact with another layer and displaced surfaces."""
    modulus = changes.get("modulus", {}).get(contact.name, 1.0)
    thickness = changes.get("thickness", {}).get(contact.name, 1.0)
    found = contact
    if thickness != 1.0:
        found = _with_thickness(found, thickness)
    if modulus != 1.0:
        energy = found.energy
        found = replace(
            found,
            model=VariedContact(found.model, stiffness=modulus),
            energy=None if energy is None else _ScaledEnergy(energy, modulus),
        )
    for part in ("bed", "target"):
        moved, turned = (
            np.array([changes.get(kind, {}).get((contact.name, part, k), 0.0) for k in range(3)])
            for kind in ("move", "turn")
        )
        if moved.any() or turned.any():
            place: Placement = getattr(found, part)
            other: dict[str, Any] = {part: place.after(Placement.of(turned, moved))}
            found = replace(found, **other)
    return found


class _ScaledEnergy:
    """Gradient of an energy times a factor."""

    def __init__(self, energy: Any, factor: float) -> None:
        self._energy, self._factor = energy, factor

    def wrench(self, pose: Any) -> FloatArray:
        """Return minus the derivative of the energy by the twist of the target, (6,) [N, N m]."""
        wrench: FloatArray = self._factor * self._energy.wrench(pose)
        return wrench


def _with_thickness(contact: JointContact, scale: float) -> JointContact:
    """Return a contact whose layers have other thicknesses."""
    springs = springs_of(
        contact.model,
        f"{contact.name}_thickness_scale: expected a contact of springs, found a surrogate; "
        "vary the modulus instead, or record the walk without walk.surrogates",
    )
    energy = contact.energy
    changed = with_thickness(springs, scale)
    if isinstance(energy, StoredEnergy):
        energy = StoredEnergy(with_thickness(energy.bed, scale))
    return replace(contact, model=changed, energy=energy)
