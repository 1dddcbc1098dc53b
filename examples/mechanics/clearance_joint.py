"""A knee as a joint with play: `python examples/mechanics/clearance_joint.py`.

Machado et al. (2010, Nonlinear Dyn 60:459-478): a revolute joint with clearance replaces the
contact of the planar knee. A nearly plane socket hardly restricts the motion; in a narrow socket
the ligaments, which fit the free contact, almost stop the knee.
"""

import numpy as np

from dynamics.mechanics.planar_knee import (
    machado_clearance_knee,
    machado_state,
    simulate_planar_knee,
)


def main() -> dict[str, float]:
    """Simulate 0.5 s with a wide and a narrow socket; return how far the knee moves [deg]."""
    found = {}
    for clearance in (0.2, 1e-3):
        knee = machado_clearance_knee(clearance, pull=50.0)
        motion = simulate_planar_knee(knee, machado_state(), 0.5, step=2e-3)
        name = f"{1e3 * clearance:g} mm"
        found[name] = float(np.degrees(np.ptp(motion.flexion)))
        least = np.degrees(motion.flexion.min())
        print(f"clearance {name}: the knee moves {found[name]:.1f} deg, to {least:.1f} deg")
    return found


if __name__ == "__main__":
    main()
