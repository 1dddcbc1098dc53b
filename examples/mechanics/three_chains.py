"""Three chains of 16 segments, a body in two orthoses: `python examples/mechanics/three_chains.py`.

The largest system of the problem that Popović posed: the body follows a table, an orthosis in front
and one behind hang in its cuffs, segment by segment.
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

#: Length [m], mass [kg], angle at the start and its swing [degrees] from the ankle upwards.
BODY = {
    "shank": (0.43, 7.0, 85.0, -12.0),
    "thigh": (0.42, 16.0, 95.0, 25.0),
    "pelvis": (0.15, 11.0, 88.0, -10.0),
    "abdomen": (0.20, 10.0, 88.0, -14.0),
    "thorax": (0.30, 22.0, 88.0, -18.0),
    "head": (0.25, 5.0, 90.0, -10.0),
}
OFFSET = 0.08  # of the orthoses from the axes of the body, in front and behind [m]
TIMES = np.linspace(0.0, 1.0, 101)


def assembly() -> Assembly:
    """Return the body of 6 segments, two orthoses of 5, and two cuffs at each of their bars."""
    lengths, masses, angles, swings = np.array(list(BODY.values())).T
    lift = np.sin(np.pi * TIMES / TIMES[-1]) ** 2
    table = PrescribedMotion(TIMES, np.radians(angles + np.outer(lift, swings)))
    body = Chain(
        "body",
        tuple(
            ChainSegment(name, length, mass, mass * length**2 / 12.0, [length / 2.0, 0.0])
            for name, length, mass in zip(BODY, lengths, masses, strict=True)
        ),
        angles=table,
    )
    chains, cuffs = [body], []
    for name, side in (("front", -OFFSET), ("rear", OFFSET)):
        bars = tuple(
            ChainSegment(f"bar {i}", length, 0.8, 0.8 * length**2 / 12.0, [length / 2.0, 0.0])
            for i, length in enumerate(lengths[:5])
        )
        chains.append(Chain(name, bars, FreeBase(), (Joint(), *[Joint(10.0, 0.2)] * 4)))
        cuffs += [
            ViscoelasticLink(
                f"{name} {i} {share}", ("body", on), [share * lengths[i], side],
                (name, f"bar {i}"), [share * lengths[i], 0.0], 3e3, 60.0, kind="bushing",
            )
            for i, on in enumerate(list(BODY)[:5]) for share in (0.25, 0.75)
        ]  # fmt: skip
    return Assembly(tuple(chains), tuple(cuffs))


def simulate() -> ChainsResult:
    """Return the motion from the state in which every bar is parallel to its segment."""
    system = assembly()
    table = system.chains[0].angles
    assert table is not None
    angles, rates, _ = table.at(0.0)
    bases = [side * np.array([-np.sin(angles[0]), np.cos(angles[0])]) for side in (-OFFSET, OFFSET)]
    return simulate_chains(
        system, TIMES, np.tile(angles[:5], 2), np.tile(rates[:5], 2), bases=bases, rtol=1e-6,
        atol=1e-8,
    )  # fmt: skip


def main() -> dict[str, float]:
    """Print and return the numbers of segments and coordinates, peak torque and forces."""
    system, found = assembly(), simulate()
    forces = np.linalg.norm(found.joint_forces, axis=-1).max(axis=0)
    results = {
        "segments": len(system.columns),
        "free coordinates": len(system.coordinate_names),
        "torque": np.abs(found.torques).max(),
        "force in the body": forces[:6].max(),
        "force in the front orthosis": forces[6:11].max(),
        "force in the rear orthosis": forces[11:].max(),
    }
    for name, value in results.items():
        print(f"{name}: {value:.4g}")
    return {name: float(value) for name, value in results.items()}


if __name__ == "__main__":
    main()
