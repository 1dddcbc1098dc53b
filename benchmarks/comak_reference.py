"""OpenSim-JAM's solution of its walking example, and how ours compares with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynamics.musculoskeletal import ComakResult
from dynamics.walking.motion_tables import MotionTable, read_motion_table
from foundation.base.checks import FloatArray
from pipeline.config.data_folder import data_folder
from pipeline.studies.muscle_walks.setup import WalkSetup
from pipeline.studies.muscle_walks.summary import body_weight

RESULTS = "jam_comak_walking/examples/walking/results/comak"
#: Angles that the files have in radians, though their header says degrees.
_IN_RADIANS = ("knee_flex_l", "ankle_flex_l", "subt_angle_l")


@dataclass(frozen=True, eq=False)
class JamSolution:
    """Solution of OpenSim-JAM of N frames.

    Parameters
    ----------
    values, speeds, accelerations : (N, n) float64
        All coordinates of the model in its order [rad, m; per s; per s²].
    activations, forces : (N, M) float64
        Activations [1] and forces [N] of the muscles.
    reserves : (N, F) float64
        Reserves of the free coordinates [N m, N].
    """

    values: FloatArray
    speeds: FloatArray
    accelerations: FloatArray
    activations: FloatArray
    forces: FloatArray
    reserves: FloatArray


def jam_solution(setup: WalkSetup, folder: Path | None = None) -> JamSolution:
    """Return the solution in a folder of results, by default that of the data folder."""
    results = folder or data_folder() / RESULTS
    motion, muscles = setup.plant.motion, setup.plant.muscles.names
    states = read_motion_table(results / "walking_states.sto")
    kinematics = read_motion_table(results / "walking_kinematics.sto")
    forces = read_motion_table(results / "walking_force.sto")
    angles = [
        angle and name not in _IN_RADIANS
        for name, angle in zip(motion.names, motion.rotational, strict=True)
    ]
    degrees = np.where(angles, np.pi / 180.0, 1.0)
    return JamSolution(
        _columns(states, [f"/{name}/value" for name in motion.names]),
        _columns(states, [f"/{name}/speed" for name in motion.names]),
        degrees * _columns(kinematics, [f"/{name}/acc" for name in motion.names]),
        _columns(read_motion_table(results / "walking_activation.sto"), [f"/{m}" for m in muscles]),
        _columns(forces, [f"/{m}" for m in muscles]),
        _columns(forces, [f"{name}_reserve" for name in setup.plant.free]),
    )


def forces_of(result: ComakResult) -> FloatArray:
    """Return the forces (N, C, 3) [N] of the contacts."""
    return np.array([[loads.force for loads in frame] for frame in result.loads])


def _columns(table: MotionTable, ends: list[str]) -> FloatArray:
    """Return columns (N, K) by the ends of their names [unit of the file]."""
    places = [next(k for k, n in enumerate(table.names) if n.endswith(end)) for end in ends]
    return np.asarray(table.values[:, places])


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
