"""Surrogates of articular contacts in a walk of muscles, beside the springs they stand for.

`python -m benchmarks.walk_surrogates tf_contact=RUN pf_contact=RUN` solves the walking example of
OpenSim-JAM (`$KNEE_DATA/jam_comak_walking`) by COMAK with springs on curved surfaces and with the
surrogates of finished runs in their places, by OpenSim and by a recorded plant, and prints the
differences of forces and secondary coordinates, and the processor times.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.comak_reference import forces_of
from benchmarks.frame import Rows, alike, measured, show
from benchmarks.measures import rms
from benchmarks.timing import clocked
from dynamics.musculoskeletal import (
    Comak,
    ComakResult,
    CoordinateMotion,
    JointContact,
    OpenSimPlant,
    Plant,
    record_plant,
)
from foundation.base.checks import FloatArray
from pipeline.config.reading import shipped_config
from pipeline.studies.muscle_walks.setup import WalkSetup, prepare_walk
from pipeline.studies.muscle_walks.summary import body_weight
from pipeline.studies.muscle_walks.walk import load_muscle_walk


class Solved(NamedTuple):
    """A solution and its processor time [s]."""

    result: ComakResult
    seconds: float


def solve(
    setup: WalkSetup,
    contacts: Sequence[JointContact],
    start: FloatArray,
    plant: Plant | None = None,
) -> Solved:
    """Return the solution of a walk with other contacts, and by another plant."""
    comak = Comak(plant or setup.plant, contacts, setup.settings)
    return Solved(*clocked(lambda: comak.run(start)))


@measured(
    "Contact forces",
    {"contact": "", "peak [N]": ".0f", "RMS [N]": ".2f",
     **alike(("RMS [% BW]", "largest [% BW]"), ".3f")},
)  # fmt: skip
def forces(found: ComakResult, wanted: ComakResult, weight: float) -> Rows:
    """Differences of the sizes of the contact forces, also in percent of a weight [N]."""
    sizes = [np.linalg.norm(forces_of(result), axis=-1) for result in (found, wanted)]
    apart, peak = sizes[0] - sizes[1], sizes[1].max(axis=0)
    rms, largest = np.sqrt((apart**2).mean(axis=0)), np.abs(apart).max(axis=0)
    return zip(found.contacts, peak, rms, rms / weight, largest / weight, strict=True)


@measured(
    "Secondary coordinates", {"coordinate": "", "unit": "", **alike(("RMS", "largest"), ".4f")}
)
def coordinates(motion: CoordinateMotion, found: ComakResult, wanted: ComakResult) -> Rows:
    """Differences of the secondary coordinates."""
    for k, name in enumerate(found.secondary):
        angle = motion.rotational[motion.names.index(name)]
        factor, unit = (180.0 / np.pi, "deg") if angle else (1e3, "mm")
        apart = factor * (found.values[:, k] - wanted.values[:, k])
        yield name, unit, rms(apart), np.abs(apart).max()


@measured(
    "Times",
    {"contacts": "", "processor time [s]": ".2f", "iterations": ".2f", "flags": "d"},
)
def times(solved: Mapping[str, Solved]) -> Rows:
    """Processor time, mean iterations and flags of solutions."""
    for name, each in solved.items():
        yield name, each.seconds, each.result.iterations.mean(), len(each.result.flags)


def motion_keys(
    contact: JointContact, motion: CoordinateMotion, result: ComakResult, every: int
) -> str:
    """Return the keys of `[space.motion]`, poses `every` so many frames and the last."""
    values = motion.values.copy()
    values[:, motion.index(result.secondary)] = result.values
    values = values[:, motion.index(contact.coordinates)]
    poses = np.array([contact.pose(row).array for row in values])
    rows = np.unique(np.append(np.arange(0, len(poses), every), len(poses) - 1))
    names = ("flexion_deg", "adduction_deg", "rotation_deg", "anterior_mm", "lateral_mm")
    chosen = np.column_stack([np.degrees(poses[rows, :3]), 1e3 * poses[rows][:, [3, 5]]])
    return "\n".join(
        f"{name} = [{', '.join(f'{value:.2f}' for value in column)}]"
        for name, column in zip(names, chosen.T, strict=True)
    )


def main() -> None:
    """Print the motion of the contacts; with runs, differences and times of the surrogates too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", metavar="CONTACT=RUN")
    parser.add_argument("--every", type=int, default=4, help="frames between printed poses")
    chosen = parser.parse_args()
    runs = dict(text.split("=", 1) for text in chosen.runs)
    file = load_muscle_walk(shipped_config("comak_walking"))
    file = file.model_copy(update={"walk": file.walk.model_copy(update={"surrogates": runs})})
    with threadpool_limits(1):
        setup, prepared = clocked(lambda: prepare_walk(file))
        start = replace(setup, contacts=setup.springs).first_values()
        springs = solve(setup, setup.springs, start)
        for contact in setup.contacts:
            keys = motion_keys(contact, setup.plant.motion, springs.result, chosen.every)
            print(contact.name, keys, sep="\n", end="\n\n")
        if runs:
            print(f"prepared in {prepared:.1f} s of processor time", end="\n\n")
            _compare(setup, springs, start)


def _compare(setup: WalkSetup, springs: Solved, start: FloatArray) -> None:
    assert isinstance(setup.plant, OpenSimPlant)  # the configuration replays no record
    record = record_plant(setup.plant, springs.result, start, setup.settings)
    # The first solution compiles what the surrogates need.
    solve(setup, setup.contacts, start, record)
    solved = {
        "springs": springs,
        "surrogates": solve(setup, setup.contacts, start),
        "springs, replayed": solve(setup, setup.springs, start, record),
        "surrogates, replayed": solve(setup, setup.contacts, start, record),
    }
    found, wanted = solved["surrogates"].result, springs.result
    show(
        [
            forces(found, wanted, body_weight(setup)),
            coordinates(setup.plant.motion, found, wanted),
            times(solved),
        ]
    )


if __name__ == "__main__":
    main()
