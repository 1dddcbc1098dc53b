"""OpenSim-JAM's solution of its walking example."""

from dataclasses import dataclass

import numpy as np

from dynamics.motion.motion_tables import read_motion_table
from foundation.base.checks import FloatArray
from pipeline.config.data_folder import data_folder

RESULTS = "jam_comak_walking/examples/walking/results/comak"
#: Angles that the files have in radians, though their header says degrees.
_IN_RADIANS = ("knee_flex_l", "ankle_flex_l", "subt_angle_l")


@dataclass(frozen=True, eq=False)
class JamSolution:
    """Solution of OpenSim-JAM of N frames.

    Values, speeds and accelerations (N, n) of all coordinates of the model in its order [rad, m;
    per s; per s²], activations and forces (N, M) of the muscles [1, N], and reserves (N, F) of the
    free coordinates [N m, N].
    """

    values: FloatArray
    speeds: FloatArray
    accelerations: FloatArray
    activations: FloatArray
    forces: FloatArray
    reserves: FloatArray


def jam_solution(setup, folder=None):
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


def _columns(table, ends):
    """Return columns (N, K) by the ends of their names [unit of the file]."""
    places = [next(k for k, n in enumerate(table.names) if n.endswith(end)) for end in ends]
    return np.asarray(table.values[:, places])
