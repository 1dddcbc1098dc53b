"""Force plates of a C3D file as external loads: each contact acts on the foot that is above it."""

from __future__ import annotations

import re
import tempfile
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dynamics.musculoskeletal.opensim_system import OpenSimSystem
from dynamics.musculoskeletal.osim_writing import add_object, new_document, write_xml
from dynamics.musculoskeletal.plant import CoordinateMotion
from dynamics.walking.c3d_plates import read_plates
from dynamics.walking.motion_tables import MotionTable, write_motion_table
from dynamics.walking.plates import FARTHEST, Plate, contacts, find_plates
from dynamics.walking.strikes import CONTACT_THRESHOLD
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

_FOOT = re.compile("calc|foot", re.I)
_KINDS = ("force", "point", "torque")


def loaded_by_plates(
    model: str, system: OpenSimSystem, motion: CoordinateMotion, path: Path
) -> OpenSimSystem:
    """Return a model with the force plates of a C3D file as its external loads.

    Parameters
    ----------
    model : str
        XML text of the model.
    system : OpenSimSystem
        The model without external loads.
    motion : CoordinateMotion
        Motion of all coordinates, which places the feet: the bodies whose names have calc (of
        calcaneus) or foot, or else all bodies.
    path : Path
        The C3D file.

    Raises
    ------
    InputError
        If the file has no force plates, or no contact under a foot during the motion.
    """
    table = read_plates(path)
    acting, notes = _acting(table, _feet(system, motion), motion.time)
    if not acting:
        first, last = motion.time[0], motion.time[-1]
        raise InputError(
            f"{path}: expected a foot on a force plate from {first:g} to {last:g} s, the times of "
            f"the motion, found {'; '.join(notes) or 'no force above the threshold'}; check that "
            "markers and forces are of one trial"
        )
    with tempfile.TemporaryDirectory() as folder:
        found = OpenSimSystem(model, _write(Path(folder), table, acting))
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
) -> tuple[list[tuple[str, Plate]], tuple[str, ...]]:
    """Return forces and their bodies, and sentences on contacts that are not under a foot."""
    plates, notes, rows = find_plates(table), [], np.arange(len(table.time))
    owned: dict[tuple[int, str], NDArray[np.bool_]] = {}
    for step in contacts(table, plates, {}):
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
    return [
        (body, Plate(f"plate_{k + 1}_{body}", p.force * here, p.point, p.torque * here))
        for (k, body), mask in owned.items()
        for p, here in [(plates[k], mask[:, None])]
    ], tuple(notes)


def _away(points: FloatArray, at: FloatArray, time: FloatArray, path: FloatArray) -> float:
    """Return the mean level distance [m] of points (M, 3) from a path (N, 3) at instants (M,)."""
    x, z = (points[:, k] - np.interp(at, time, path[:, k]) for k in (0, 2))
    return float(np.hypot(x, z).mean())


def _write(folder: Path, table: MotionTable, acting: list[tuple[str, Plate]]) -> Path:
    """Write forces on bodies as OpenSim's ExternalLoads, and return the file."""
    root, names = new_document(), []
    loads = ET.SubElement(root, "ExternalLoads")
    objects = ET.SubElement(loads, "objects")
    for body, plate in acting:
        columns = {f"{kind}_identifier": f"{plate.name}_{kind}_" for kind in _KINDS}
        frames = dict.fromkeys(("force_expressed_in_body", "point_expressed_in_body"), "ground")
        add_object(
            objects, "ExternalForce", {"applied_to_body": body} | frames | columns, plate.name
        )
        names += [column + axis for column in columns.values() for axis in "xyz"]
    ET.SubElement(loads, "datafile").text = "forces.sto"
    values = np.hstack([each for _, p in acting for each in (p.force, p.point, p.torque)])
    forces = replace(table, names=tuple(names), values=values)
    write_motion_table(folder / "forces.sto", forces, title="forces")
    write_xml(root, folder / "loads.xml")
    return folder / "loads.xml"
