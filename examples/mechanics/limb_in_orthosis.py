"""A leg in an orthosis that hangs in cuffs: `python examples/mechanics/limb_in_orthosis.py`.

The leg follows a table of angles; the orthosis has no base. Results are the torques at hip and
knee, and the largest forces in both skeletons.
"""

import numpy as np

from dynamics.mechanics.chains import (
    Assembly,
    Chain,
    ChainSegment,
    ChainsResult,
    FreeBase,
    Joint,
    PrescribedMotion,
    ViscoelasticLink,
    simulate_chains,
)

HIP = [0.0, 1.0]
TABLE = np.linspace(0.0, 1.0, 51)
#: Angles of thigh and shank from the x axis; the leg hangs at -90 degrees.
ANGLES = np.radians([-80.0, -105.0]) + np.radians([25.0, 35.0]) * np.sin(
    2.0 * np.pi * TABLE[:, None] + [0.0, -0.8]
)


def assembly() -> Assembly:
    """Return the leg, the orthosis and the cuffs."""
    leg = Chain(
        "leg",
        (
            ChainSegment("thigh", 0.42, 8.0, 0.12, [0.18, 0.0]),
            ChainSegment("shank", 0.43, 3.5, 0.06, [0.19, 0.0]),
        ),
        HIP,
        angles=PrescribedMotion(TABLE, ANGLES),
    )
    bars = tuple(
        ChainSegment(name, length, 0.9, 0.015, [0.2, 0.0])
        for name, length in (("upper", 0.42), ("lower", 0.40))
    )
    orthosis = Chain("orthosis", bars, FreeBase(), (Joint(), Joint(stiffness=5.0)))
    cuffs = tuple(
        ViscoelasticLink(
            f"{on} at {at} m", ("leg", on), [at, 0.0], ("orthosis", bar), [at, 0.0],
            stiffness=4e3, damping=40.0, kind="bushing",
        )
        for on, bar in (("thigh", "upper"), ("shank", "lower")) for at in (0.1, 0.3)
    )  # fmt: skip
    return Assembly((leg, orthosis), cuffs)


def simulate() -> ChainsResult:
    """Return a second of motion from the state in which the orthosis lies on the leg."""
    system = assembly()
    leg = system.chains[0].angles
    assert leg is not None
    angles, rates, _ = leg.at(0.0)
    return simulate_chains(
        system, np.linspace(0.0, 1.0, 101), angles, rates, bases=[HIP], rtol=1e-7, atol=1e-9
    )


def main() -> dict[str, float]:
    """Print and return peak torques [N m] and forces [N]."""
    found = simulate()
    forces = np.linalg.norm(found.joint_forces, axis=-1).max(axis=0)
    cuffs = np.linalg.norm(found.link_forces, axis=-1).max(axis=0)
    peaks = {
        "hip torque": np.abs(found.torques[:, 0]).max(),
        "knee torque": np.abs(found.torques[:, 1]).max(),
        "force in the leg": forces[:2].max(),
        "force in the orthosis": forces[2:].max(),
        "force of a cuff": cuffs.max(),
    }
    for name, peak in peaks.items():
        print(f"{name}: {peak:.2f} {'N m' if 'torque' in name else 'N'}")
    return {name: float(peak) for name, peak in peaks.items()}


if __name__ == "__main__":
    main()
