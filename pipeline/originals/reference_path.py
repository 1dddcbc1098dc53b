"""The reference path over flexion that the sampled offsets count from."""

from __future__ import annotations

import numpy as np

from dynamics.simulator.equilibrium import settle
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
    path = config.space.path
    if path.kind == "table":
        return tabulated_path(path)
    low, high = config.space.flexion_deg
    knots = np.radians(np.linspace(low, high, max(2, round((high - low) / path.step_deg) + 1)))
    dwell = _settled(config, model, start, knots[:1], ap_stiffness_N_per_mm=0.0)[0]
    neutral = fixed_neutral(config.simulation, dwell)
    poses = _settled(config, model, start, knots, neutral=neutral)
    return ReferencePath.through(knots, np.array([pose.array[1:] for pose in poses]))


def _settled(
    config: Config,
    model: ElasticFoundation,
    start: Pose,
    knots: FloatArray,
    neutral: Pose | None = None,
    **changes: float,
) -> list[Pose]:
    """Return the equilibria at the knots; each search begins at the equilibrium before."""
    simulation = config.simulation.model_copy(update=changes)
    simulator = build_simulator(simulation, start if neutral is None else neutral)
    pose, poses = start, []
    for flexion in knots:
        pose = settle(
            model,
            simulator,
            flexion=float(flexion),
            axial_force=config.space.path.axial_force_N,
            start=pose,
        )
        poses.append(pose)
    return poses


def tabulated_path(path: PathConfig) -> ReferencePath:
    """Return the path through the knots of a table."""
    angles = np.radians([path.adduction_deg, path.rotation_deg])
    lengths = 1e-3 * np.array([path.anterior_mm, path.superior_mm, path.lateral_mm])
    return ReferencePath.through(np.radians(path.flexion_deg), np.vstack([angles, lengths]).T)
