"""A few steps of a gait cycle that reach every kernel of the knee simulator.

`python -m short_cycle KNEE FILE` simulates without numba: there an index beyond the end of an
array, where a compiled kernel takes what the memory holds, is an error.
"""

from __future__ import annotations

import sys

import numpy as np


def simulated(knee):
    """Return the result of a simulated cycle of all four applied loads on a trained knee."""
    from dynamics import GaitCycle, KneeSimulator, Ligament, simulate

    path = knee.compartment("medial").space.path
    bundle = Ligament("pcl", [0.0, 0.0, 0.0], [-10e-3, 20e-3, 0.0], 31e-3, 3e4, "linear")
    simulator = KneeSimulator(
        neutral=path, lateral_stiffness=3e4, adduction_stiffness=500.0, rotation_stiffness=100.0,
        anterior_stiffness=1e5, medial_offset=0.0, superior_damping=2e3, lateral_damping=2e3,
        adduction_damping=5.0, ligaments=(bundle,), quasi_static=("lateral",),
    )  # fmt: skip
    percent = np.linspace(0.0, 100.0, 9)
    wave = np.sin(2e-2 * np.pi * percent)
    cycle = GaitCycle(
        percent, 0.5 + 0.05 * wave, 900.0 + 100.0 * wave, period=0.5, ap_force=20.0 * wave,
        internal_torque=0.5 * wave, adduction_torque=0.5 * wave,
    )  # fmt: skip
    return simulate(knee, simulator, cycle, samples=5, rtol=1e-2, max_step=0.1)


if __name__ == "__main__":
    sys.modules["numba"] = None  # type: ignore[assignment]
    from surrogates import load

    result = simulated(load(sys.argv[1]))
    np.savez(sys.argv[2], poses=result.poses, rates=result.rates, loads=result.loads)
