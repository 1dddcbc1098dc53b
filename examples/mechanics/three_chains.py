"""Three chains of 16 segments, a body in two orthoses: `python examples/mechanics/three_chains.py`.

The largest system of the problem that Popović posed: the body follows a table, an orthosis in front
and one behind hang in its cuffs, segment by segment.
"""

import numpy as np

from dynamics.mechanics import chains

NAMES = ("shank", "thigh", "pelvis", "abdomen", "thorax", "head")  # from the ankle upwards
LENGTHS = np.array([0.43, 0.42, 0.15, 0.20, 0.30, 0.25])
MASSES = np.array([7.0, 16.0, 11.0, 10.0, 22.0, 5.0])
ANGLES, SWINGS = np.radians([[85, 95, 88, 88, 88, 90], [-12, 25, -10, -14, -18, -10]])
BAR = 0.8  # mass of a bar [kg]
SIDES = {"front": -0.08, "rear": 0.08}  # distances of the orthoses from the axes of the body [m]
TIMES = np.linspace(0.0, 1.0, 101)
TABLE = ANGLES + np.outer(np.sin(np.pi * TIMES) ** 2, SWINGS)
CUFF = {"stiffness": 3e3, "damping": 60.0, "kind": "bushing"}  # N/m, N s/m


def rod(name: str, length: float, mass: float) -> chains.ChainSegment:
    """Return an even rod."""
    return chains.ChainSegment(name, length, mass, mass * length**2 / 12.0, [length / 2.0, 0.0])


def assembly() -> chains.Assembly:
    """Return the body of 6 segments, two orthoses of 5, and two cuffs at each of their bars."""
    body = tuple(map(rod, NAMES, LENGTHS, MASSES))
    parts = [chains.Chain("body", body, angles=chains.PrescribedMotion(TIMES, TABLE))]
    cuffs = []
    for name, side in SIDES.items():
        bars = tuple(rod(f"bar {i}", LENGTHS[i], BAR) for i in range(5))
        hinges = (chains.Joint(), *[chains.Joint(10.0, 0.2)] * 4)
        parts.append(chains.Chain(name, bars, chains.FreeBase(), hinges))
        for i, along in ((i, share * LENGTHS[i]) for i in range(5) for share in (0.25, 0.75)):
            ends = ("body", NAMES[i]), [along, side], (name, f"bar {i}"), [along, 0.0]
            cuffs.append(chains.ViscoelasticLink(f"{name} {i} {along:.3f}", *ends, **CUFF))
    return chains.Assembly(tuple(parts), tuple(cuffs))


def simulate() -> chains.ChainsResult:
    """Return the motion from the state in which every bar is parallel to its segment."""
    left = np.array([-np.sin(ANGLES[0]), np.cos(ANGLES[0])])
    start = {"angles": np.tile(ANGLES[:5], 2), "rates": np.zeros(10)}
    start["bases"] = [side * left for side in SIDES.values()]
    return chains.simulate_chains(assembly(), TIMES, **start, rtol=1e-6, atol=1e-8)


def main() -> dict[str, float]:
    """Print and return counts, the peak torque [N m], and peak forces at joints [N]."""
    system, found = assembly(), simulate()
    forces = np.linalg.norm(found.joint_forces, axis=-1).max(axis=0)
    results = {"segments": len(system.columns), "coordinates": len(system.coordinate_names)}
    results |= {"torque": np.abs(found.torques).max(), "force in the body": forces[:6].max()}
    results |= {"force in front": forces[6:11].max(), "force behind": forces[11:].max()}
    for name, value in results.items():
        print(f"{name}: {value:.4g}")
    return {name: float(value) for name, value in results.items()}


if __name__ == "__main__":
    main()
