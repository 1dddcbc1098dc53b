"""A body of 8 segments in two orthoses of 4: `python examples/mechanics/three_chains.py`.

The problem that Popović posed: a body in lasting contact with the ground follows a table of angles,
and every segment of two orthoses is linked to a segment of the body. The muscles are taken to be
idle as far as possible: the joints of the orthoses are driven by the torques that the legs alone
would need. Results are these torques, the motion of the orthoses, the torques that remain for the
muscles, and the forces in both skeletons and in the links. Lengths, masses, links and the table are
chosen, not measured.
"""

import numpy as np

from dynamics.mechanics import chains
from dynamics.mechanics.ground import leg_segments

MASS, HEIGHT = 75.0, 1.75  # [kg, m]
LEG = leg_segments(MASS, HEIGHT)
PELVIS, TRUNK = (0.142 * MASS, 0.10), (0.536 * MASS, 0.50)  # [kg, m]; shares of Winter (2009)
BAR = 1.0  # mass of a segment of an orthosis [kg]
LINK = {"stiffness": 2e4, "damping": 200.0, "kind": "bushing"}  # N/m, N s/m
LINK |= {"rotational_stiffness": 1e3, "rotational_damping": 5.0}  # N m/rad, N m s/rad
TIMES = np.linspace(0.0, 0.4, 41)  # single support [s]
#: Segments 1 to 8 [deg]: foot, shank, thigh and pelvis from the ball of the standing foot upwards,
#: trunk, and from the hip downwards thigh, shank and foot of the swing leg; BEND is added halfway.
START = np.radians([161.0, 84.0, 98.0, 90.0, 88.0, -100.0, -140.0, -80.0])
END = np.radians([161.0, 72.0, 86.0, 90.0, 88.0, -65.0, -75.0, 0.0])
BEND = np.radians([0.0, 0.0, 0.0, 2.0, -2.0, 5.0, -30.0, -20.0])
#: The drives take over within the first 0.1 s.
TAKEN = 0.1
RISE = np.sin(0.5 * np.pi * np.minimum(TIMES / TAKEN, 1.0))[:, None] ** 2
SHARE = TIMES[:, None] / TIMES[-1]
TABLE = START + (END - START) * SHARE + BEND * np.sin(np.pi * SHARE) ** 3
#: Segments of the body that an orthosis is linked to, and angles of its own segments at the start.
#: The shell on the trunk reaches from the waist down to the hip.
LINKED = {"stance orthosis": [0, 1, 2, 3], "swing orthosis": [4, 5, 6, 7]}
SHELL = np.radians(-90.0)
#: Joints of the orthoses, by their columns.
JOINTS = {"ankle": 9, "knee": 10, "hip": 11, "swing hip": 13, "swing knee": 14, "swing ankle": 15}


def rod(name: str, mass: float, length: float) -> chains.ChainSegment:
    """Return an even rod."""
    return chains.ChainSegment(name, length, mass, mass * length**2 / 12.0, [length / 2.0, 0.0])


def leg(upwards: bool) -> list[chains.ChainSegment]:
    """Return foot, shank and thigh from the ball upwards, or thigh, shank and foot downwards."""
    found = []
    for part in LEG:
        length, down = (float(np.linalg.norm(each)) for each in (part.length, part.centre))
        centre = [length - down if upwards else down, 0.0]
        found.append(chains.ChainSegment(part.name, length, part.mass, part.inertia, centre))
    return found[::-1] if upwards else found


def body() -> tuple[chains.Chain, ...]:
    """Return the body: one tree, in which the pelvis carries trunk and swing leg."""
    stance, trunk, swing = (
        chains.PrescribedMotion(TIMES, part) for part in np.split(TABLE, [4, 5], axis=1)
    )
    hip, waist = (chains.Attachment("stance", "pelvis", [x, 0.0]) for x in (0.0, PELVIS[1]))
    return (
        chains.Chain("stance", (*leg(upwards=True), rod("pelvis", *PELVIS)), angles=stance),
        chains.Chain("trunk", (rod("trunk", *TRUNK),), waist, angles=trunk),
        chains.Chain("swing", tuple(leg(upwards=False)), hip, angles=swing),
    )


def orthosis(name: str, torques: np.ndarray) -> chains.Chain:
    """Return an orthosis with drives (T, 8) [N m] at the joints of its segments of the body."""
    segments = [each for chain in body() for each in chain.segments]
    bars = [rod(segments[k].name, BAR, segments[k].length) for k in LINKED[name]]
    if name == "swing orthosis":
        bars[0] = rod("trunk", BAR, PELVIS[1])
    drives = torques[:, LINKED[name]].copy()
    drives[:, 0] = 0.0  # nothing holds the first segment but its link
    motors = chains.PrescribedMotion(TIMES, drives)
    drive = lambda time, angles, rates: motors.at(time)[0]  # noqa: E731
    return chains.Chain(name, tuple(bars), chains.FreeBase(), drive=drive)


def links() -> list[chains.ViscoelasticLink]:
    """Return the link of every segment of the body to that of an orthosis."""
    places = [(chain.name, segment) for chain in body() for segment in chain.segments]
    found = []
    for name, linked in LINKED.items():
        for chain, segment in (places[k] for k in linked):
            at = [0.0 if segment.name == "trunk" else 0.5 * segment.length, 0.0]
            rest = SHELL - START[4] if segment.name == "trunk" else 0.0
            ends = (chain, segment.name), at, (name, segment.name), at
            title = f"{name} on {segment.name}"
            found.append(chains.ViscoelasticLink(title, *ends, rest_angle=rest, **LINK))
    return found


def alone() -> chains.ChainsResult:
    """Return the body without orthoses."""
    return chains.simulate_chains(chains.Assembly(body()), TIMES)


def assembly(share: float = 1.0) -> chains.Assembly:
    """Return body and orthoses, which take over a share of the torques of the legs."""
    torques = share * RISE * alone().torques
    return chains.Assembly((*body(), *(orthosis(name, torques) for name in LINKED)), tuple(links()))


def start() -> dict[str, list[float]]:
    """Return the state in which the orthoses lie on the body and move with the body."""
    at = chains.Assembly(body()).evaluate(0.0, [], [])
    angles = at.position.copy()
    angles[4] = SHELL
    bases, speeds = (each[[0, 4]].ravel() for each in (at.joints, at.joint_rates))  # ball and waist
    return {"position": [*angles, *bases], "velocity": [*at.velocity, *speeds]}


def simulate(share: float = 1.0) -> chains.ChainsResult:
    """Return the motion of the orthoses and all forces."""
    return chains.simulate_chains(assembly(share), TIMES, **start(), rtol=1e-6, atol=1e-8)


def main() -> dict[str, float]:
    """Print and return counts, peak torques [N m], peak forces [N] and turns [deg]."""
    system, found = assembly(), simulate()
    legs, later = [1, 2, 3, 5, 6, 7], TIMES >= TAKEN
    results = {"segments": len(system.columns), "coordinates": len(system.coordinate_names)}
    for name, column in JOINTS.items():
        results[f"torque of the orthosis, {name}"] = np.abs(found.torques[:, column]).max()
    results["torque of the legs alone"] = np.abs(alone().torques[later][:, legs]).max()
    results["torque left to the legs"] = np.abs(found.torques[later][:, legs]).max()
    forces = np.linalg.norm(found.joint_forces, axis=-1).max(axis=0)
    results["force in the body"] = forces[:8].max()
    results["force in the orthoses"] = forces[8:].max()
    results["force of a link"] = np.linalg.norm(found.link_forces, axis=-1).max()
    turned = found.position[:, 8:16] - found.position[:, :8]
    results["turn on the body"] = np.degrees(np.abs(turned - turned[0]).max())
    for name, value in results.items():
        print(f"{name}: {value:.4g}")
    return {name: float(value) for name, value in results.items()}


if __name__ == "__main__":
    main()
