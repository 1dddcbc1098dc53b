"""A planar knee falls and is pulled along its shaft: `python examples/mechanics/planar_knee.py`.

Machado et al. (2010, Nonlinear Dyn 60:459-478): the tibia swings under its weight and a pull, in
free contact with the femur or in a joint with a clearance of 1 mm; four ligaments hold both.
"""

import numpy as np

from dynamics.mechanics.planar_knee import (
    machado_clearance_knee,
    machado_knee,
    machado_ligaments,
    machado_state,
    simulate_planar_knee,
)


def main() -> dict[str, float]:
    """Simulate both knees; return angles [deg], strain [1] and relative error of the energy."""
    free = simulate_planar_knee(machado_knee(pull=50.0), machado_state(), 0.5, step=5e-3)
    joint = simulate_planar_knee(machado_clearance_knee(1e-3), machado_state(), 0.5, step=5e-3)
    rest = np.array([each.rest_length for each in machado_ligaments()])
    strains = (free.ligament_length / rest - 1.0).max(axis=0)
    found = {
        "free contact moves": float(np.degrees(np.ptp(free.flexion))),
        "clearance joint moves": float(np.degrees(np.ptp(joint.flexion))),
        "largest strain": float(strains.max()),
        "energy error": float(np.abs(free.energy_error).max() / free.kinetic.max()),
    }
    print(f"extension in 0.5 s: free contact {found['free contact moves']:.1f} deg,")
    print(f"joint with 1 mm of clearance {found['clearance joint moves']:.1f} deg")
    for ligament, strain in zip(machado_ligaments(), strains, strict=True):
        print(f"{ligament.name}: largest strain {100 * strain:.1f} %")
    print(f"energy conserved within {found['energy error']:.0e} of the kinetic energy")
    return found


if __name__ == "__main__":
    main()
