"""Surrogates of articular contacts in a walk of muscles, beside the springs they stand for.

`python -m benchmarks.walk_surrogates tf_contact=RUN pf_contact=RUN` solves the walking example of
OpenSim-JAM (`$KNEE_DATA/jam_comak_walking`) by COMAK with springs on curved surfaces and with the
surrogates of finished runs in their places, by OpenSim and by a recorded plant, and prints the
differences of forces and secondary coordinates, and the processor times.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.timing import table
from dynamics.musculoskeletal import (
    Comak,
    ComakResult,
    ComakSettings,
    CoordinateMotion,
    JointContact,
    OpenSimPlant,
    OpenSimSystem,
    OsimModel,
    Plant,
    read_comak_settings,
    read_motion,
    record_plant,
    settle,
)
from dynamics.musculoskeletal.plant_contacts import PlantContacts
from foundation.checks import FloatArray
from pipeline.config.data_folder import data_file
from pipeline.originals.articular_contacts import articular_contacts
from pipeline.stages.articular_surrogates import with_surrogates

_EXAMPLE = "$KNEE_DATA/jam_comak_walking"
_MOTION = "examples/walking/results/comak-inverse-kinematics/overground_17_ik.mot"
#: Cartilage of the model that is shipped in the folder of its tibiofemoral joint.
_CARTILAGE = "$KNEE_DATA/jam_lenhart2015_knee"
_MESHES = {
    f"lenhart2015-R-{bone}-cartilage.stl": f"{_CARTILAGE}/ACLC01-R-{bone}-cart.obj"
    for bone in ("femur", "tibia")
}
#: Body weight of the subject [N].
_WEIGHT = 61.0 * 9.81


class Walk(NamedTuple):
    """The walking example: its plant, contacts by springs, settings and settled start."""

    plant: OpenSimPlant
    contacts: tuple[JointContact, ...]
    settings: ComakSettings
    start: FloatArray


class Solved(NamedTuple):
    """A solution and its processor time [s]."""

    result: ComakResult
    seconds: float


def read_walk() -> Walk:
    """Return the walking example."""
    folder = data_file(_EXAMPLE)
    model = OsimModel(folder / "models/lenhart2015/lenhart2015.osim")
    settings, _ = read_comak_settings(folder / "examples/walking/inputs/comak_settings.xml")
    loads = folder / "models/lenhart2015/motion_data/overground_17_ext_loads.xml"
    meshes = {name: data_file(file) for name, file in _MESHES.items()}
    contacts = articular_contacts(model, meshes=meshes)
    system = OpenSimSystem(model.without_contact(), loads)
    motion = read_motion(folder / _MOTION, system, settings)
    secondary = tuple(s.name for s in settings.secondary)
    plant = OpenSimPlant(system, motion, settings.primary, secondary)
    unloaded = OpenSimSystem(model.without_contact())
    rest = OpenSimPlant(unloaded, _at_rest(motion), settings.primary, secondary)
    start = settle(PlantContacts(rest, contacts), motion.values[0, motion.index(secondary)])
    return Walk(plant, contacts, settings, start.values)


def _at_rest(motion: CoordinateMotion) -> CoordinateMotion:
    """Return the first instant of a motion, at rest."""
    still = np.zeros_like(motion.values)
    held = np.repeat(motion.values[:1], len(motion.time), axis=0)
    return replace(motion, values=held, speeds=still, accelerations=still)


def solve(walk: Walk, plant: Plant, contacts: Sequence[JointContact]) -> Solved:
    """Return the solution of a plant with contacts."""
    comak = Comak(plant, contacts, walk.settings)
    begin = process_time()
    return Solved(comak.run(walk.start), process_time() - begin)


def force_rows(found: ComakResult, wanted: ComakResult) -> list[list[str]]:
    """Return differences of the sizes of the contact forces, a row for each contact."""
    sizes = [
        np.array([[np.linalg.norm(loads.force) for loads in frame] for frame in result.loads])
        for result in (found, wanted)
    ]
    apart, peak = sizes[0] - sizes[1], sizes[1].max(axis=0)
    rms, largest = np.sqrt((apart**2).mean(axis=0)), np.abs(apart).max(axis=0)
    return [
        [name, f"{p:.0f}", f"{r:.2f}", f"{100 * r / _WEIGHT:.3f}", f"{100 * m / _WEIGHT:.3f}"]
        for name, p, r, m in zip(found.contacts, peak, rms, largest, strict=True)
    ]


def coordinate_rows(walk: Walk, found: ComakResult, wanted: ComakResult) -> list[list[str]]:
    """Return differences of the secondary coordinates, a row for each coordinate."""
    motion, rows = walk.plant.motion, []
    for k, name in enumerate(found.secondary):
        angle = motion.rotational[motion.names.index(name)]
        factor, unit = (180.0 / np.pi, "deg") if angle else (1e3, "mm")
        apart = factor * (found.values[:, k] - wanted.values[:, k])
        rms, largest = np.sqrt((apart**2).mean()), np.abs(apart).max()
        rows.append([name, unit, f"{rms:.4f}", f"{largest:.4f}"])
    return rows


def time_row(name: str, solved: Solved) -> list[str]:
    """Return processor time, mean iterations and flags of a solution."""
    result = solved.result
    return [
        name,
        f"{solved.seconds:.2f}",
        f"{result.iterations.mean():.2f}",
        f"{len(result.flags)}",
    ]


def motion_keys(contact: JointContact, walk: Walk, result: ComakResult) -> str:
    """Return the keys of `[space.motion]`: every fourth pose and the last, frame of the bed."""
    motion = walk.plant.motion
    values = motion.values.copy()
    values[:, motion.index(result.secondary)] = result.values
    values = values[:, motion.index(contact.joint.coordinates)]
    poses = np.array([contact.pose(row).array for row in values])
    rows = np.unique(np.append(np.arange(0, len(poses), 4), len(poses) - 1))
    names = ("flexion_deg", "adduction_deg", "rotation_deg", "anterior_mm", "lateral_mm")
    chosen = np.column_stack([np.degrees(poses[rows, :3]), 1e3 * poses[rows][:, [3, 5]]])
    return "\n".join(
        f"{name} = [{', '.join(f'{value:.2f}' for value in column)}]"
        for name, column in zip(names, chosen.T, strict=True)
    )


def main() -> None:
    """Print differences and times of surrogates in a walk; without runs, the motion of contacts."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("runs", nargs="*", metavar="CONTACT=RUN")
    folders = dict(text.split("=", 1) for text in parser.parse_args().runs)
    with threadpool_limits(1):
        walk = read_walk()
        contacts = with_surrogates(
            walk.contacts, {name: Path(folder) for name, folder in folders.items()}
        )
        springs = solve(walk, walk.plant, walk.contacts)
        for contact in contacts:
            print(contact.name, motion_keys(contact, walk, springs.result), sep="\n", end="\n\n")
        if folders:
            _compare(walk, contacts, springs)


def _compare(walk: Walk, contacts: Sequence[JointContact], springs: Solved) -> None:
    record = record_plant(walk.plant, springs.result)
    replayed = solve(walk, record, walk.contacts)
    # The first solution compiles what the surrogates need.
    solve(walk, record, contacts)
    rows = {"springs": springs, "surrogates": solve(walk, walk.plant, contacts)}
    rows |= {"springs, replayed": replayed, "surrogates, replayed": solve(walk, record, contacts)}
    found = rows["surrogates"].result
    wanted = springs.result
    header = ["contact", "peak [N]", "RMS [N]", "RMS [% BW]", "largest [% BW]"]
    print(table("Contact forces", header, force_rows(found, wanted)), end="\n\n")
    header = ["coordinate", "unit", "RMS", "largest"]
    print(table("Secondary coordinates", header, coordinate_rows(walk, found, wanted)), end="\n\n")
    header = ["contacts", "processor time [s]", "iterations", "flags"]
    print(table("Times", header, [time_row(name, solved) for name, solved in rows.items()]))


if __name__ == "__main__":
    main()
