"""The reference path over flexion that the sampled offsets count from."""

from __future__ import annotations

import numpy as np

from dynamics.simulator.equilibrium import settle
from dynamics.simulator.knee_simulator import KneeSimulator
from foundation.checks import FloatArray
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.pose import Pose
from pipeline.config.schema import Config, PathConfig
from pipeline.simulation import build_simulator, fixed_neutral
from surrogates.sampling.space import ReferencePath


def reference_path(config: Config, model: ElasticFoundation, start: Pose) -> ReferencePath:
    """Return the reference path of a study: its table, or settled under a constant axial force.

    Settling begins at `start`, an unturned pose near contact. The AP spring of a settled path is
    slack where the femur rests at the first knot without that spring.
    """
    path, simulation = config.space.path, config.simulation
    if path.kind == "table":
        return tabulated_path(path)
    low, high = config.space.flexion_deg
    knots = np.radians(np.linspace(low, high, max(2, round((high - low) / path.step_deg) + 1)))
    without_spring = simulation.model_copy(update={"ap_stiffness_N_per_mm": 0.0})

    def settled(simulator: KneeSimulator, flexions: FloatArray) -> list[Pose]:
        """Return the equilibria at flexions; each search begins at the equilibrium before."""
        pose, poses = start, []
        for flexion in flexions.tolist():
            pose = settle(
                model, simulator, flexion=flexion, axial_force=path.axial_force_N, start=pose
            )
            poses.append(pose)
        return poses

    dwell = settled(build_simulator(without_spring, start), knots[:1])[0]
    neutral = fixed_neutral(simulation, dwell)
    poses = settled(build_simulator(simulation, neutral), knots)
    return ReferencePath.through(knots, np.array([pose.array[1:] for pose in poses]))


def tabulated_path(path: PathConfig) -> ReferencePath:
    """Return the path through the knots of a table."""
    angles = np.radians([path.adduction_deg, path.rotation_deg])
    lengths = 1e-3 * np.array([path.anterior_mm, path.superior_mm, path.lateral_mm])
    return ReferencePath.through(np.radians(path.flexion_deg), np.vstack([angles, lengths]).T)
