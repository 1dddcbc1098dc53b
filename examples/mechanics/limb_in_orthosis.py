"""A leg in an orthosis that hangs in four cuffs: `python examples/mechanics/limb_in_orthosis.py`.

The leg follows a table of angles; the orthosis has no base. Results are the torques at hip and
knee, and the largest forces in both skeletons.
"""

import numpy as np

from dynamics.mechanics import chains

HIP = [0.0, 1.0]
TABLE = np.linspace(0.0, 1.0, 51)
#: Angles of thigh and shank from the x axis; the leg hangs at -90 degrees.
ANGLES = np.radians([-80.0, -105.0]) + np.radians([25.0, 35.0]) * np.sin(
    2.0 * np.pi * TABLE[:, None] + [0.0, -0.8]
)
CUFF = {"stiffness": 4e3, "damping": 40.0, "kind": "bushing"}  # N/m, N s/m


def assembly() -> chains.Assembly:
    """Return the leg, the orthosis and the cuffs."""
    thigh = chains.ChainSegment("thigh", 0.42, 8.0, 0.12, [0.18, 0.0])
    shank = chains.ChainSegment("shank", 0.43, 3.5, 0.06, [0.19, 0.0])
    leg = chains.Chain("leg", (thigh, shank), HIP, angles=chains.PrescribedMotion(TABLE, ANGLES))
    upper = chains.ChainSegment("upper", 0.42, 0.9, 0.015, [0.2, 0.0])
    lower = chains.ChainSegment("lower", 0.40, 0.9, 0.015, [0.2, 0.0])
    hinges = (chains.Joint(), chains.Joint(stiffness=5.0))
    orthosis = chains.Chain("orthosis", (upper, lower), chains.FreeBase(), hinges)
    cuffs = tuple(
        chains.ViscoelasticLink(
            f"{on} {at}", ("leg", on), [at, 0.0], ("orthosis", bar), [at, 0.0], **CUFF
        )
        for on, bar in (("thigh", "upper"), ("shank", "lower"))
        for at in (0.1, 0.3)
    )
    return chains.Assembly((leg, orthosis), cuffs)


def simulate() -> chains.ChainsResult:
    """Return a second of motion from the state in which the orthosis lies on the leg."""
    system = assembly()
    angles, rates, _ = system.chains[0].angles.at(0.0)
    times = np.linspace(0.0, 1.0, 101)
    start, speed = [*angles, *HIP], [*rates, 0.0, 0.0]
    return chains.simulate_chains(system, times, start, speed, rtol=1e-6, atol=1e-8)


def main() -> dict[str, float]:
    """Print and return peak torques [N m] and forces [N]."""
    found = simulate()
    torques = np.abs(found.torques).max(axis=0)
    forces = np.linalg.norm(found.joint_forces, axis=-1).max(axis=0)
    peaks = {"hip torque": torques[0], "knee torque": torques[1]}
    peaks |= {"force in the leg": forces[:2].max(), "force in the orthosis": forces[2:].max()}
    peaks["force of a cuff"] = np.linalg.norm(found.link_forces, axis=-1).max()
    for name, peak in peaks.items():
        print(f"{name}: {peak:.2f} {'N m' if 'torque' in name else 'N'}")
    return {name: float(peak) for name, peak in peaks.items()}


if __name__ == "__main__":
    main()
