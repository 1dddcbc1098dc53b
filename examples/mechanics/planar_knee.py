"""A planar knee falls and is pulled along its shaft: `python examples/mechanics/planar_knee.py`.

Machado et al. (2010, Nonlinear Dyn 60:459-478): the tibia swings under its weight and a pull, in
free contact with the femur, held by four ligaments.
"""

import numpy as np

from dynamics.mechanics.planar_knee import (
    machado_knee,
    machado_ligaments,
    machado_state,
    simulate_planar_knee,
)


def main() -> dict[str, float]:
    """Simulate 0.5 s; return angle [deg], indentation [mm], strain and energy error [1]."""
    motion = simulate_planar_knee(machado_knee(pull=50.0), machado_state(), 0.5, step=1e-3)
    rest = np.array([each.rest_length for each in machado_ligaments()])
    strains = (motion.ligament_length / rest - 1.0).max(axis=0)
    found = {
        "extension": float(np.degrees(np.ptp(motion.flexion))),
        "indentation": float(1e3 * motion.indentation.max()),
        "largest strain": float(strains.max()),
        "energy error": float(np.abs(motion.energy_error).max() / motion.kinetic.max()),
    }
    print(f"the knee extends by {found['extension']:.1f} deg in 0.5 s")
    print(f"largest indentation {found['indentation']:.2f} mm")
    for ligament, strain in zip(machado_ligaments(), strains, strict=True):
        print(f"{ligament.name}: largest strain {100 * strain:.1f} %")
    print(f"energy conserved within {found['energy error']:.0e} of the kinetic energy")
    return found


if __name__ == "__main__":
    main()
