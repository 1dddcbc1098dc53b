"""A knee as a hinge with play: `python examples/mechanics/clearance_joint.py`.

Machado et al. (2010, Nonlinear Dyn 60:459-478): a revolute joint with clearance replaces the
contact of the planar knee. The ligaments, which fit the free contact, then restrict the motion.
"""

import numpy as np

from dynamics.mechanics.planar_knee import (
    machado_clearance_knee,
    machado_state,
    simulate_planar_knee,
)


def main() -> dict[str, float]:
    """Simulate 0.5 s with and without ligaments; return the angles that the knee moves [deg]."""
    found = {}
    for ligaments in (True, False):
        knee = machado_clearance_knee(clearance=1e-3, pull=50.0, ligaments=ligaments)
        motion = simulate_planar_knee(knee, machado_state(), 0.5, step=2e-3)
        name = f"{'with' if ligaments else 'without'} ligaments"
        found[name] = float(np.degrees(np.ptp(motion.flexion)))
        least = np.degrees(motion.flexion.min())
        print(f"clearance 1 mm, {name}: the knee moves {found[name]:.1f} deg, to {least:.1f} deg")
    return found


if __name__ == "__main__":
    main()
