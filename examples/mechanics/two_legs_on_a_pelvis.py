"""A stance leg carries trunk and swing leg: `python examples/mechanics/two_legs_on_a_pelvis.py`.

The stance leg follows a table, from the ankle upwards; the swing leg hangs freely from the pelvis.
The torque at the stance ankle shows what the swing leg demands. Then the same body floats.
"""

from dataclasses import replace

import numpy as np

from dynamics.mechanics import chains

SHANK = chains.ChainSegment("shank", 0.43, 3.5, 0.06, [0.24, 0.0])
THIGH = chains.ChainSegment("thigh", 0.42, 8.0, 0.12, [0.24, 0.0])
TRUNK = chains.ChainSegment("trunk", 0.8, 45.0, 3.0, [0.35, 0.0])  # from the hips upwards
TIMES = np.linspace(0.0, 0.6, 61)


def walker() -> chains.Assembly:
    """Return stance leg with trunk, prescribed, and swing leg, free."""
    lean = np.radians([100.0, 95.0, 90.0]) - np.radians([40.0, 20.0, 0.0]) * TIMES[:, None]
    table = chains.PrescribedMotion(TIMES, lean)
    stance = chains.Chain("stance", (SHANK, THIGH, TRUNK), angles=table)
    downward = (replace(THIGH, centre=[0.18, 0.0]), replace(SHANK, centre=[0.19, 0.0]))
    joints = (chains.Joint(), chains.Joint(stiffness=8.0, damping=0.5))
    hip = chains.Attachment("stance", "trunk", [0.0, 0.0])
    return chains.Assembly((stance, chains.Chain("swing", downward, hip, joints)))


def simulate() -> tuple[chains.ChainsResult, chains.ChainsResult]:
    """Return the motion with the swing leg, and that of the stance leg and the trunk alone."""
    system, start = walker(), np.radians([-110.0, -150.0])
    alone = chains.Assembly(system.chains[:1])
    found = chains.simulate_chains(system, TIMES, start, [3.0, 1.0])
    return found, chains.simulate_chains(alone, TIMES)


def main() -> dict[str, float]:
    """Print and return peak torques [N m], and the change of the momentum of a floating body."""
    ankle, bare = (np.abs(each.torques[:, 0]).max() for each in simulate())
    print(f"largest torque at the stance ankle: {ankle:.2f} N m, {bare:.2f} N m without swing leg")

    stance, swing = walker().chains
    free = replace(stance, base=chains.FreeBase(), angles=None)
    floating = chains.Assembly((free, swing), gravity=[0.0, 0.0])
    angles, rates = np.radians([100.0, 95.0, 90.0, -110.0, -150.0]), [0.5, 0.0, 0.0, 3.0, 1.0]
    start, speed = [*angles, 0.0, 0.0], [*rates, 0.0, 0.0]
    drift = chains.simulate_chains(floating, TIMES, start, speed, rtol=1e-12, atol=1e-13)
    change = np.abs(drift.momentum - drift.momentum[0]).max()
    turned = np.abs(drift.angular_momentum - drift.angular_momentum[0]).max()
    print(f"a floating body keeps its momentum within {change:.1e} kg m/s, {turned:.1e} kg m²/s")
    return {"ankle": ankle, "bare": bare, "momentum": change, "angular": turned}


if __name__ == "__main__":
    main()
