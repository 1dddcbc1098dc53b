"""Draw docs/smoothness.png: loads along a smooth path, flat facets against curved surfaces.

Run it from the repository: `python docs/smoothness.py` (the real implant is read from $KNEE_DATA or
../shared/data; without it the built-in one is drawn).
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import LinearLaw
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.implant.condylar_implant import CondylarImplant
from tests.oracles.knees import load_knee

STEPS = 400


def main() -> None:
    """Evaluate both models along the path, print the roughness and draw it."""
    knee = load_knee("grand challenge")
    start = np.array([0.25, 0.0, 0.02, 5.5e-3, 42.53e-3, 0.0])
    if knee is None:
        implant = CondylarImplant()
        femur, insert, _ = implant.tessellate(0.8e-3)
        knee = femur, insert
        start = implant.home_pose(0.25).array - [0, 0, 0, 0, 60e-6, 0]
    # 0.001 degrees of flexion and rotation, 0.001 mm of AP and ML a step.
    step = np.array([1.0, 0.0, 0.5, 0.0, 0.0, 0.0]) * np.radians(1e-3)
    step += np.array([0.0, 0.0, 0.0, 1e-6, 0.0, 0.5e-6])
    figure, axes = plt.subplots(2, 1, figsize=(8, 6), sharex=True, layout="constrained")
    distance = np.arange(STEPS)
    for surface, colour in (("flat", "#d55e00"), ("curved", "#0072b2")):
        model = ElasticFoundation(*knee, LinearLaw(463e6, 0.46, 10e-3), surface=surface)
        poses = [Pose.from_array(start + i * step) for i in range(STEPS)]
        force = model.loads(poses).force
        bend = np.diff(force[:, 1], 2)
        axes[0].plot(distance, force[:, 1] - force[:, 1].mean(), color=colour, label=surface)
        axes[1].plot(distance[1:-1], 1e3 * bend, color=colour, label=surface, lw=0.8)
        # What the force itself bends is smooth over 25 steps; the rest is roughness.
        rough = (bend - np.convolve(bend, np.full(25, 0.04), mode="same"))[12:-12]
        print(
            f"{surface}: axial force {force[:, 1].mean():.0f} N, second differences "
            f"{1e3 * bend.mean():.3g} mN in the mean, scattered about their running mean by "
            f"{1e3 * rough.std():.3g} mN"
        )
    axes[0].set_ylabel("axial force less its mean [N]")
    axes[1].set_ylabel("second difference [mN]")
    axes[1].set_xlabel("step (0.001 mm and 0.001 degrees each)")
    axes[0].legend()
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=120)


if __name__ == "__main__":
    main()
