"""A stance leg carries pelvis and swing leg: `python examples/mechanics/two_legs_on_a_pelvis.py`.

The stance leg follows a table, from the ankle upwards; the swing leg hangs freely from the pelvis.
The torque at the stance ankle shows what the swing leg demands. Then the same body floats.
"""

from dataclasses import replace

import numpy as np

from dynamics.mechanics.chains import (
    Assembly,
    Attachment,
    Chain,
    ChainSegment,
    ChainsResult,
    FreeBase,
    Joint,
    PrescribedMotion,
    simulate_chains,
)

SHANK = ChainSegment("shank", 0.43, 3.5, 0.06, [0.24, 0.0])
THIGH = ChainSegment("thigh", 0.42, 8.0, 0.12, [0.24, 0.0])
TRUNK = ChainSegment("trunk", 0.8, 45.0, 3.0, [0.35, 0.0])
TIMES = np.linspace(0.0, 0.6, 61)


def walker() -> Assembly:
    """Return stance leg with trunk, prescribed, and swing leg, free."""
    lean = np.radians([100.0, 95.0, 90.0]) - np.radians([40.0, 20.0, 0.0]) * TIMES[:, None]
    stance = Chain("stance", (SHANK, THIGH, TRUNK), angles=PrescribedMotion(TIMES, lean))
    distal = (
        replace(THIGH, centre=[0.18, 0.0]),
        replace(SHANK, centre=[0.19, 0.0]),
    )
    knee = Joint(stiffness=8.0, damping=0.5)
    swing = Chain("swing", distal, Attachment("stance", "trunk", [0.0, 0.0]), (Joint(), knee))
    return Assembly((stance, swing))


def simulate() -> tuple[ChainsResult, ChainsResult]:
    """Return the motion with the swing leg, and that of the stance leg and the trunk alone."""
    system = walker()
    found = simulate_chains(system, TIMES, np.radians([-110.0, -150.0]), [3.0, 1.0])
    return found, simulate_chains(Assembly(system.chains[:1]), TIMES)


def main() -> dict[str, float]:
    """Print and return peak torques [N m], and the change of the momentum of a floating body."""
    system = walker()
    found, alone = simulate()
    ankle, bare = (np.abs(each.torques[:, 0]).max() for each in (found, alone))
    print(f"largest torque at the stance ankle: {ankle:.2f} N m, {bare:.2f} N m without swing leg")
    pull = np.linalg.norm(found.base_forces[:, 1], axis=1).max()
    print(f"largest force at the swing hip: {pull:.2f} N")

    free = replace(system.chains[0], base=FreeBase(), angles=None)
    floating = Assembly((free, system.chains[1]), gravity=[0.0, 0.0])
    start = np.radians([100.0, 95.0, 90.0, -110.0, -150.0])
    drift = simulate_chains(
        floating,
        TIMES,
        start,
        [0.5, 0.0, 0.0, 3.0, 1.0],
        bases=[[0.0, 0.0]],
        rtol=1e-12,
        atol=1e-13,
    )
    change = np.abs(drift.momentum - drift.momentum[0]).max()
    turned = np.abs(drift.angular_momentum - drift.angular_momentum[0]).max()
    print(f"a floating body keeps its momentum within {change:.1e} kg m/s, {turned:.1e} kg m²/s")
    return {"ankle": ankle, "bare": bare, "pull": pull, "momentum": change, "angular": turned}


if __name__ == "__main__":
    main()
