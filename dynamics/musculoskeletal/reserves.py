"""Reserves: actuators of coordinates in a force set of OpenSim."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import hypot
from pathlib import Path
from typing import Any, NamedTuple

from dynamics.musculoskeletal.comak_settings import ComakSettings
from dynamics.musculoskeletal.osim_xml import OsimObject, read_object
from foundation.base.checks import check_number

_ACTUATOR = "CoordinateActuator"
#: OpenSim-JAM ignores limits of control that are larger [1].
_NO_LIMIT = 1000.0


class Reserve(NamedTuple):
    """Actuator of a coordinate: its force at full control [N m, N], and its name in a force set."""

    coordinate: str
    force: float
    name: str


def reserve_fields(reserves: Sequence[Reserve]) -> dict[str, Any]:
    """Return the fields of `ComakSettings` that reserves determine."""
    return {
        "reserve_forces": tuple((r.coordinate, r.force) for r in reserves),
        "reserve_names": tuple(r.name for r in reserves),
    }


def _applied(path: str | Path) -> list[OsimObject]:
    """Return the forces of a force set that apply."""
    forces = read_object(path, "reserves").child("ForceSet")
    if forces is None:
        return []
    return [force for force in forces.objects() if force.boolean("appliesForce", True)]


def read_reserves(path: str | Path) -> tuple[Reserve, ...]:
    """Read the reserve of each coordinate from OpenSim's force set (XML)."""
    return reserves_in(_applied(path))


def reserves_in(forces: Iterable[OsimObject]) -> tuple[Reserve, ...]:
    """Return the reserve of each coordinate among the forces of a set, of several the last."""
    found: dict[str, Reserve] = {}
    for actuator in forces:
        if actuator.tag == _ACTUATOR:
            force = actuator.number("optimal_force", 1.0)
            check_number(f"{actuator.where}, optimal_force", force, above=0.0)
            coordinate = actuator.last_name("coordinate")
            found[coordinate] = Reserve(coordinate, force, actuator.name)
    return tuple(found.values())


def with_actuators(settings: ComakSettings, actuators: Iterable[Reserve]) -> ComakSettings:
    """Return settings whose reserves include actuators of the model on coordinates solved for."""
    free = (*settings.primary, *(s.name for s in settings.secondary))
    own = [each for each in actuators if each.coordinate in free]
    if not own:
        return settings
    # Two actuators share the force of a coordinate at the least cost as one of √(f₁² + f₂²).
    forces = dict(settings.reserve_forces) or dict.fromkeys(free, 1.0)
    labels = dict(zip(forces, settings.reserve_names, strict=False))
    reserves = {n: Reserve(n, force, labels.get(n, f"{n}_reserve")) for n, force in forces.items()}
    for each in own:
        known = reserves.get(each.coordinate, each._replace(force=0.0))
        reserves[each.coordinate] = known._replace(force=hypot(known.force, each.force))
    return replace(settings, **reserve_fields(tuple(reserves.values())))


def reserve_notes(path: Path) -> tuple[str, ...]:
    """Return sentences on actuators that are not reserves, and on limits of reserves."""
    applied = _applied(path)
    others = [a.name for a in applied if a.tag != _ACTUATOR]
    limited = [a.name for a in applied if a.tag == _ACTUATOR and _is_limited(a)]
    notes = []
    if others:
        text = "which are not CoordinateActuators"
        notes.append(f"{path.name}: ignored forces: {', '.join(others)}, {text}")
    if limited:
        notes.append(
            f"{path.name}: ignored min_control and max_control of {', '.join(limited)}; reserves "
            "have no limits"
        )
    return tuple(notes)


def _is_limited(actuator: OsimObject) -> bool:
    """Return whether an actuator has a limit of control that OpenSim-JAM observes."""
    limits = [tag for tag in ("min_control", "max_control") if _is_finite(actuator.text(tag))]
    return any(abs(actuator.number(tag, 0.0)) < _NO_LIMIT for tag in limits)


def _is_finite(text: str) -> bool:
    return bool(text) and "inf" not in text.lower()
