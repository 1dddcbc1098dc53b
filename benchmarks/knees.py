"""Real knees and poses for the benchmarks; the data lies in `$KNEE_DATA` or ../shared/data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

from benchmarks.measures import height_at
from dynamics.simulator.waveform_tables import LEVEL_WALKING, load_gait_cycle
from foundation.base.pose import Pose
from foundation.elastic_foundation import ElasticFoundation
from foundation.surfaces import TriangleMesh, load_mesh
from pipeline.config.data_folder import data_path

_PLAIN = ("x", "y", "z")
_TURNED = ("-x", "y", "-z")  # x posterior, z medial
_FILES = {
    "grand challenge": (
        "grand_challenge_DM_implant/Femoral Component contact.stl",
        "grand_challenge_DM_implant/Tibial Insert contact.stl",
        _TURNED,
    ),
    "lenhart": (
        "jam_lenhart2015_knee/ACLC01-R-femur-cart.obj",
        "jam_lenhart2015_knee/ACLC01-R-tibia-cart.obj",
        _PLAIN,
    ),
}
#: Anterior position of the Grand Challenge femur's dwell point over flexion [deg, mm].
_DWELL_DEG, _DWELL_MM = (0.0, 15.0, 30.0, 45.0, 60.0), (6.4, 5.7, 3.1, 0.3, -2.4)


def data_folder() -> Path:
    """Return the folder of the real knees, which may be missing."""
    return data_path("$KNEE_DATA", Path())


def load_knee(name: str) -> tuple[TriangleMesh, TriangleMesh] | None:
    """Return femur and tibia of a real knee, None where the data is absent.

    Parameters
    ----------
    name : {"grand challenge", "lenhart"}
        Which knee.
    """
    *files, axes = _FILES[name]
    paths = [data_folder() / str(file) for file in files]
    if not all(path.is_file() for path in paths):
        return None
    femur, tibia = (load_mesh(path, axes=axes, side="right") for path in paths)
    return femur, tibia


def gait_poses(model: ElasticFoundation, count: int = 101) -> list[Pose]:
    """Return poses of the Grand Challenge implant over a cycle of level walking.

    Flexion and axial force are those of the shipped waveforms; the femur stands on its dwell
    point, rotated internally in proportion to flexion (6 degrees at 60), and height and adduction
    follow from equilibrium with 55 % of the force on the medial side.
    """
    cycle = load_gait_cycle(LEVEL_WALKING, 1.0)
    poses = []
    for time in np.linspace(0.0, cycle.period, count, endpoint=False):
        flexion, applied = cycle.at(float(time))
        start = Pose(
            flexion=flexion,
            rotation=0.1 * flexion,
            anterior=1e-3 * float(np.interp(np.degrees(flexion), _DWELL_DEG, _DWELL_MM)),
            superior=0.05,
        )
        poses.append(balanced(model, start, applied.axial_force))
    return poses


def balanced(model: ElasticFoundation, start: Pose, force: float, medial: float = 0.55) -> Pose:
    """Return the pose of a height and adduction that carry a force, a part of it medially [N]."""

    def at_force(pose: Pose) -> Pose:
        def carried(height: float) -> float:
            return float(model.evaluate(replace(pose, superior=height)).force[1])

        return replace(pose, superior=height_at(carried, force, pose.superior, 0.2e-3))

    def imbalance(adduction: float) -> float:
        loads = model.evaluate(at_force(replace(start, adduction=adduction)))
        return float(loads.medial.force[1]) - medial * force

    adduction = float(brentq(imbalance, -0.02, 0.02, xtol=1e-6))
    return at_force(replace(start, adduction=adduction))
