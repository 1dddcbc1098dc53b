"""Force plates of a table as external loads: each contact acts on the foot that is above it."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dynamics.motion.c3d import read_ground
from dynamics.motion.motion_tables import MotionTable
from dynamics.motion.plates import CONTACT_THRESHOLD, FARTHEST, Plate, contacts, find_plates
from dynamics.musculoskeletal.external_loads import AppliedForce, write_applied_forces
from dynamics.musculoskeletal.opensim_system import OpenSimSystem
from dynamics.musculoskeletal.plant import CoordinateMotion
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

_FOOT = re.compile("calc|foot", re.I)


def loaded_by_plates(
    model: str, system: OpenSimSystem, motion: CoordinateMotion, path: Path
) -> OpenSimSystem:
    """Return a model (XML text) with the force plates of a file as loads on the feet above them."""
    table = read_ground(path)
    acting, notes = _acting(table, _feet(system, motion), motion.time)
    if not acting:
        first, last = motion.time[0], motion.time[-1]
        raise InputError(
            f"{path}: expected a foot on a force plate from {first:g} to {last:g} s, the times of "
            f"the motion, found {'; '.join(notes) or 'no force above the threshold'}; check that "
            "markers and forces are of one trial"
        )
    with tempfile.TemporaryDirectory() as folder:
        loads = write_applied_forces(Path(folder), acting)
        found = OpenSimSystem(model, loads, reactions=system.with_reactions)
    assert found.external_loads is not None
    found.external_loads = replace(found.external_loads, path=path, notes=notes)
    return found


def _feet(system: OpenSimSystem, motion: CoordinateMotion) -> dict[str, FloatArray]:
    """Return the centres of mass (N, 3) of the feet in the ground [m]."""
    names = [name for name in system.bodies if _FOOT.search(name)] or list(system.bodies)
    places = np.empty((len(names), len(motion.time), 3))
    rows = zip(motion.time.tolist(), motion.values, motion.speeds, strict=True)
    for k, (time, values, speeds) in enumerate(rows):
        system.set(time, values, speeds)
        places[:, k] = [system.mass_centre(name) for name in names]
    return dict(zip(names, places, strict=True))


def _acting(
    table: MotionTable, feet: dict[str, FloatArray], time: FloatArray
) -> tuple[list[AppliedForce], tuple[str, ...]]:
    """Return forces on the feet, and sentences on contacts that are not under a foot."""
    plates, notes, rows = find_plates(table), [], np.arange(len(table.time))
    owned: dict[tuple[int, str], NDArray[np.bool_]] = {}
    for step in contacts(table, plates):
        k = next(k for k, plate in enumerate(plates) if plate.name == step.plate)
        mine = (rows >= step.begin) & (rows < step.end)
        bears = mine & (plates[k].force[:, 1] > CONTACT_THRESHOLD)
        bears &= (table.time >= time[0]) & (table.time <= time[-1])
        if not bears.any():
            continue
        at, points = table.time[bears], plates[k].point[bears]
        away = {body: _away(points, at, time, path) for body, path in feet.items()}
        body = min(away, key=away.__getitem__)
        if away[body] <= FARTHEST:
            owned[k, body] = owned.get((k, body), False) | mine
        else:
            notes.append(
                f"{Path(table.source).name}: a contact with force plate {k + 1} at {at[0]:g} s is "
                f"{away[body]:.2f} m from {body}, the nearest foot, and has no effect"
            )
    acting = []
    for (k, body), mask in owned.items():
        plate, here = plates[k], mask[:, None]
        own = Plate(f"plate_{k + 1}_{body}", plate.force * here, plate.point, plate.torque * here)
        acting.append(AppliedForce(body, table.time, own, in_ground=True))
    return acting, tuple(notes)


def _away(points: FloatArray, at: FloatArray, time: FloatArray, path: FloatArray) -> float:
    """Return the mean level distance [m] of points (M, 3) from a path (N, 3) at instants (M,)."""
    x, z = (points[:, k] - np.interp(at, time, path[:, k]) for k in (0, 2))
    return float(np.hypot(x, z).mean())
