"""OpenSim-JAM's walking example, passive flexion and anterior laxity, with plane triangles.

Agreement with OpenSim-JAM's published results, times on one core, starts displaced by 2 mm or 2
degrees, and variations of a recorded plant against OpenSim. It needs `$KNEE_DATA` and OpenSim.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.frame import Rows, clocked, measured, rms
from dynamics.musculoskeletal import ComakResult
from dynamics.musculoskeletal.recorded_plant import record_plant
from foundation.base.checks import FloatArray
from pipeline.config.data_folder import data_file
from pipeline.config.reading import shipped_config
from pipeline.studies.dispatch import load_study
from pipeline.studies.forward_motions import prepare_forward
from pipeline.studies.muscle_walks.frames import body_weight
from pipeline.studies.muscle_walks.setup import WalkSetup, prepare_walk
from pipeline.studies.muscle_walks.study import varied_walk
from tests.oracles.jam_solution import JamSolution, jam_solution

#: Displacements of the starts [mm or deg], starts, and distance of equal solutions [mm or deg].
_AWAY, _STARTS, _SAME = 2.0, 60, 0.05
#: Variations of a recorded plant.
_VARIATIONS: tuple[dict[str, float], ...] = (
    {},
    {"ligament_all_stiffness_scale": 1.5},
    {"ligament_all_stiffness_scale": 0.5},
    {"ligament_all_slack_scale": 1.03},
    {"ligament_all_slack_scale": 0.97},
    {"tf_contact_modulus_scale": 0.5},
    {"tf_contact_thickness_scale": 1.5},
    {"tf_contact_bed_about_forward_deg": 2.0},
    {"tf_contact_bed_forward_mm": 3.0},
    {"muscle_gasmed_r_weight": 4.0},
    {"muscle_all_strength_scale": 0.8},
)


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


@cache
def replayed() -> WalkSetup:
    """Return the example by a record of its plant."""
    setup, start, result, *_ = solved()
    return replace(setup, plant=record_plant(setup.plant, result, start, setup.settings))  # type: ignore[arg-type]


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
    setup, start, result, spent, prepared, settled = solved()
    jam = jam_solution(setup)
    yield from ((f"input {name}", value) for name, value in input_difference(setup, jam).items())
    largest = float(acceleration_differences(setup, jam).max())
    yield "acceleration, its solution put in, largest", largest
    yield from agreement(setup, result, jam).items()
    same, iterations = displaced_starts(setup, result)
    yield f"of {_STARTS} displaced starts, to the same solution", same
    yield "their iterations, mean", iterations
    yield from (("prepared, in s", prepared), ("settled, in s", settled), ("a cycle, in s", spent))
    yield "a cycle replayed, in s", _timed(replayed(), start)[1]


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
    weights = np.array([settings.muscle_weight(result.muscles, float(t)) for t in result.time])
    volumes = settings.activation_weight * plant.muscles.volumes()
    cost = (weights * volumes * jam.activations**2).sum(axis=1)
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
    "Variations of the record",
    {"variation": "", "moves at most, in mm or deg": ".2f", "replay off, in mm or deg": ".3f",
     "contact force off, RMS [N]": ".2f", "RMS [% of body weight]": ".3f", "largest [N]": ".1f"},
)  # fmt: skip
def variations() -> Rows:
    """Variations: how far they move the walk, and how a replay differs from OpenSim."""
    setup, start, *_ = solved()
    nominal, unit = replayed().comak.run(start), units(setup)
    for values in _VARIATIONS:
        varied = varied_walk(replayed(), values)
        ours = varied.comak.run(start)
        theirs = with_opensim(setup, varied).comak.run(start)
        moved = np.abs(theirs.values - nominal.values) / unit
        apart = np.abs(ours.values - theirs.values) / unit
        force = np.linalg.norm(forces_of(ours) - forces_of(theirs), axis=-1)
        name = ", ".join(f"{key} {value:g}" for key, value in values.items()) or "none"
        off = rms(force)
        yield name, moved.max(), apart.max(), off, off / body_weight(setup), force.max()


def with_opensim(setup: WalkSetup, varied: WalkSetup) -> WalkSetup:
    """Return a walk by OpenSim with the ligaments, muscles and contacts of a varied replay."""
    plant: Any = setup.plant
    for ligament, stiffness, slack in zip(
        plant.system._ligaments,
        varied.plant.ligaments.stiffness.tolist(),
        varied.plant.ligaments.slack_length.tolist(),
        strict=True,
    ):
        ligament.set_linear_stiffness(stiffness)
        ligament.set_slack_length(slack)
    plant.muscles, plant.ligaments = varied.plant.muscles, varied.plant.ligaments
    return replace(setup, settings=varied.settings, contacts=varied.contacts)


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


TABLES = (against_jam, variations, moved_joints)
