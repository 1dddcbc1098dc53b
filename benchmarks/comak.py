"""OpenSim-JAM's walking example, passive flexion and anterior laxity, with plane triangles.

Agreement with OpenSim-JAM's published results, times on one core, and starts displaced by 2 mm or 2
degrees. It needs `$KNEE_DATA` and OpenSim.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.frame import Rows, clocked, measured, rms
from dynamics.musculoskeletal import ComakResult
from foundation.base.checks import FloatArray
from pipeline.config.data_folder import data_file
from pipeline.config.reading import shipped_config
from pipeline.studies.dispatch import load_study
from pipeline.studies.forward_motions import prepare_forward
from pipeline.studies.muscle_walks.frames import body_weight
from pipeline.studies.muscle_walks.setup import WalkSetup, prepare_walk
from tests.oracles.jam_solution import JamSolution, jam_solution

#: Displacements of the starts [mm or deg], starts, and distance of equal solutions [mm or deg].
_AWAY, _STARTS, _SAME = 2.0, 60, 0.05
_REFERENCE = "$KNEE_DATA/derived/jam_lenhart2015_tf_contact_reference.csv"
#: Columns of the reference by coordinate, and their factor from SI and unit for people.
_COORDINATES = {
    **{f"knee_{name}_r": (f"knee_{name}_rad", 180.0 / np.pi, "deg") for name in ("add", "rot")},
    **{f"knee_{name}_r": (f"knee_{name}_m", 1e3, "mm") for name in ("tx", "ty", "tz")},
}


class Solved(NamedTuple):
    """The example: setup, first values (S,) [rad, m], solution, and processor times [s]."""

    setup: WalkSetup
    start: FloatArray
    result: ComakResult
    seconds: float
    prepared: float
    settled: float


@cache
def solved() -> Solved:
    """Return the solution of the shipped example with plane triangles, as in OpenSim-JAM."""
    file = load_study(shipped_config("comak_walking"), ("walk.surface=flat",))
    setup, prepared = clocked(lambda: prepare_walk(file))
    start, settled = clocked(setup.first_values)
    return Solved(setup, start, *_timed(setup, start), prepared, settled)


def _timed(setup: WalkSetup, start: FloatArray) -> tuple[ComakResult, float]:
    setup.comak.run(start)
    return clocked(lambda: setup.comak.run(start))


def units(setup: WalkSetup) -> FloatArray:
    """Return 1 mm or 1 degree of each secondary coordinate (S,) [rad, m]."""
    motion = setup.plant.motion
    rotational = np.array(motion.rotational)[motion.index(setup.plant.secondary)]
    return np.where(rotational, np.pi / 180.0, 1e-3)


@measured("OpenSim-JAM", {"quantity": "", "value": ".4g"})
def against_jam() -> Rows:
    """Agreement with OpenSim-JAM's solution, and times."""
    setup, _, result, spent, prepared, settled = solved()
    jam = jam_solution(setup)
    yield from ((f"input {name}", value) for name, value in input_difference(setup, jam).items())
    largest = float(acceleration_differences(setup, jam).max())
    yield "acceleration, its solution put in, largest", largest
    yield from agreement(setup, result, jam).items()
    same, iterations = displaced_starts(setup, result)
    yield f"of {_STARTS} displaced starts, to the same solution", same
    yield "their iterations, mean", iterations
    yield from (("prepared, in s", prepared), ("settled, in s", settled), ("a cycle, in s", spent))


def displaced_starts(setup: WalkSetup, result: ComakResult) -> tuple[int, float]:
    """Return how many displaced starts converge to their solution, and the mean iterations."""
    rng, unit = np.random.default_rng(1), units(setup)
    same, iterations = 0, []
    for _ in range(_STARTS):
        frame = int(rng.integers(5, len(result.time) - 2))
        before = result.solution(frame - 1)
        moved = before.values + setup.plant.motion.step * before.speeds
        moved = moved + _AWAY * unit * rng.choice([-1.0, 1.0], len(unit))
        found, flag = setup.comak.solve(frame, before, start=moved)
        whole, _ = setup.comak.solve(frame, before)
        same += not flag and bool((np.abs(found.values - whole.values) / unit).max() < _SAME)
        iterations.append(found.iterations)
    return same, float(np.mean(iterations))


def input_difference(setup: WalkSetup, jam: JamSolution) -> dict[str, float]:
    """Return the largest differences of the motion of the prescribed coordinates [SI]."""
    motion = setup.plant.motion
    others = [k for k, n in enumerate(motion.names) if n not in setup.plant.free]
    return {
        name: float(np.abs(getattr(motion, name) - getattr(jam, name))[:, others].max())
        for name in ("values", "speeds", "accelerations")
    }


def acceleration_differences(setup: WalkSetup, jam: JamSolution) -> FloatArray:
    """Return the largest difference (N,) of accelerations where the solution is put in.

    Of primary and secondary coordinates [rad/s², m/s²]: those that our forces give from the values,
    speeds and forces of the solution, against its own.
    """
    plant, contacts = setup.plant, setup.comak.contacts
    motion = plant.motion
    free, secondary = motion.index(plant.free), motion.index(plant.secondary)
    wanted = motion.accelerations.copy()
    wanted[:, secondary] = 0.0
    found = np.empty(len(motion.time))
    for k in range(len(motion.time)):
        values, speeds = jam.values[k, secondary], jam.speeds[k, secondary]
        forces = plant.forces(k, values, speeds)
        surplus = forces.arms @ jam.forces[k] + jam.reserves[k] - forces.needed
        surplus += contacts.at(k, values).forces
        ours = wanted[k, free] + np.linalg.solve(plant.mass(k, values), surplus)
        found[k] = np.abs(ours - jam.accelerations[k, free]).max()
    return found


def agreement(setup: WalkSetup, result: ComakResult, jam: JamSolution) -> dict[str, float]:
    """Return how a result agrees with a solution: quantiles over the frames.

    Largest difference over the secondary coordinates [mm or deg], largest difference of the
    activations [1], size of the difference of the first contact's force [% of body weight] from
    that of our surfaces at the values of the solution, and ratio of the costs [1].
    """
    plant, settings = setup.plant, setup.settings
    motion = plant.motion
    places = motion.index(plant.secondary)
    unit = np.where(np.array(motion.rotational)[places], np.pi / 180.0, 1e-3)
    apart = (np.abs(result.values - jam.values[:, places]) / unit).max(axis=1)
    used = np.abs(result.activations - jam.activations).max(axis=1)
    contacts = setup.comak.contacts
    theirs = [contacts.at(k, row[places]).loads[0].force for k, row in enumerate(jam.values)]
    away = forces_of(result)[:, 0] - theirs
    force = 100.0 * np.linalg.norm(away, axis=1) / body_weight(setup)
    cost = jam.activations**2 @ settings.activation_costs(plant.muscles)
    cost += jam.reserves**2 @ settings.reserve_weights(plant.free)
    return {
        "converged": float((result.errors < settings.tolerance).sum()),
        "secondary_median": float(np.median(apart)),
        "secondary_95": float(np.quantile(apart, 0.95)),
        "secondary_largest": float(apart.max()),
        "activation_median": float(np.median(used)),
        "force_95_percent": float(np.quantile(force, 0.95)),
        "force_largest_percent": float(force.max()),
        "cost_ratio_largest": float((result.costs / cost).max()),
    }


def forces_of(result: ComakResult) -> FloatArray:
    """Return the forces (N, C, 3) [N] of the contacts."""
    return np.array([[loads.force for loads in frame] for frame in result.loads])


@measured(
    "Moved joints against OpenSim-JAM",
    {"example": "", "coordinate": "", "RMS": ".3f", "largest": ".3f"},
)
def moved_joints() -> Rows:
    """Differences of the tibiofemoral coordinates of both shipped examples."""
    reference = pd.read_csv(data_file(_REFERENCE))
    for example in ("anterior_laxity", "passive_flexion"):
        theirs = reference[reference["example"] == example]
        file = load_study(shipped_config(example), ('forward.surface="flat"',))
        found = prepare_forward(file.forward).run()
        for name, (column, factor, unit) in _COORDINATES.items():
            own = found.values[:, found.secondary.index(name)]
            other = np.interp(found.time, theirs["time_s"].to_numpy(), theirs[column].to_numpy())
            apart = factor * (own - other)
            yield example, f"{name} [{unit}]", rms(apart), np.abs(apart).max()


TABLES = (against_jam, moved_joints)
