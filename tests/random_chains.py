"""Random chains on bases of all kinds, with links of all kinds, for the tests."""

import numpy as np

from dynamics.mechanics.chain_parts import (
    GROUND,
    Attachment,
    Chain,
    ChainSegment,
    FreeBase,
    Joint,
    PrescribedMotion,
    ViscoelasticLink,
)
from dynamics.mechanics.chains import Assembly

TABLE = np.linspace(-0.1, 2.1, 111)


def random_segments(rng, count):
    return tuple(
        ChainSegment(
            f"s{i}",
            length=rng.uniform(0.2, 0.4),
            mass=rng.uniform(0.5, 3.0),
            inertia=rng.uniform(0.005, 0.03),
            centre=[rng.uniform(0.05, 0.2), rng.uniform(-0.05, 0.05)],
        )
        for i in range(count)
    )


def random_joints(rng, count, pin_first):
    joints = []
    for i in range(count):
        if rng.random() < 0.35 and not (i == 0 and pin_first):
            ways = rng.uniform(-2.0, 2.0, 2)
            joints.append(Joint(rng.uniform(50, 200), rng.uniform(1, 5), 0.03, *ways))
        else:
            joints.append(Joint(rng.uniform(1, 5), rng.uniform(0.05, 0.3), rng.uniform(-1, 1)))
    return tuple(joints)


def table(rng, columns):
    waves = np.sin(np.add.outer(rng.uniform(2, 5) * TABLE, np.arange(columns)))
    return PrescribedMotion(TABLE, rng.uniform(-1, 1, columns) + 0.4 * waves)


def random_assembly(seed, prescribed):
    """Return four chains on bases of all kinds, with links of all kinds; b and d prescribed."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 4, 4)
    bases = [FreeBase(), [0.3, 0.2]]
    bases += [Attachment("ab"[seed % 2], "s0", rng.uniform(-0.2, 0.2, 2))]
    bases += [Attachment("b", f"s{counts[1] - 1}", rng.uniform(-0.2, 0.2, 2))]
    chains = []
    for name, base, count in zip("abcd", bases, counts, strict=True):
        joints = random_joints(rng, count, isinstance(base, FreeBase))
        angles = table(rng, count) if prescribed and name in "bd" else None
        chains.append(Chain(name, random_segments(rng, count), base, joints, angles=angles))

    def place():
        return rng.uniform(-0.2, 0.2, 2).tolist()

    damped = {"stiffness": 100.0, "damping": 2.0}
    turning = {"rotational_stiffness": 3.0, "rotational_damping": 0.2, "rest_angle": 0.3}
    links = (
        ViscoelasticLink("cuff", ("c", "s0"), place(), ("d", "s0"), place(), **damped,
                         kind="bushing", **turning),
        ViscoelasticLink("strap", ("b", "s0"), place(), ("c", "s0"), place(), 500.0,
                         rest_length=0.3),
        ViscoelasticLink("mount", GROUND, [0.2, 0.1], ("d", "s0"), place(), **damped,
                         kind="bushing", **turning),
    )  # fmt: skip
    return Assembly(tuple(chains), links)


def random_state(assembly, seed):
    rng = np.random.default_rng(seed + 1000)
    count = len(assembly.coordinate_names)
    return rng.uniform(-0.8, 0.8, count), rng.uniform(-2.0, 2.0, count)
