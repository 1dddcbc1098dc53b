"""Two bodies in a row strike a wall: `python examples/mechanics/two_bodies_at_wall.py`.

Equal masses, joined by a spring, move towards a wall at 1 m/s (Kolesnikov 2004, figures 5 to 8).
How often the second one presses on the wall depends on the stiffness of the wall over the spring's.
"""

import numpy as np

from dynamics.mechanics import chains, contact, ground
from foundation.contact_laws.normal import HookeLaw

MASS, STIFFNESS, END = 1.0, 1.0, 5.5  # [kg], [N/m], [s]
RATIOS = (2.0, 5.0)


def motion(ratio: float) -> contact.ContactMotion:
    """Return the motion towards the wall y = 0 for its stiffness over that of the spring."""
    along = (chains.Joint(axis=-0.5 * np.pi),)
    bodies = tuple(
        chains.Chain(name, (chains.ChainSegment("body", 1.0, MASS, 1.0, [0.0, 0.0]),), joints=along)
        for name in ("first", "second")
    )
    ends = ("first", "body"), [0.0, 0.0], ("second", "body"), [0.0, 0.0]
    spring = chains.ViscoelasticLink("spring", *ends, STIFFNESS, kind="bushing")
    row = chains.Assembly(bodies, (spring,), gravity=[0.0, 0.0])
    tip = [ground.ContactPoint("tip", ("second", "body"), [0.0, 0.0])]
    wall = contact.CompliantGround(HookeLaw(ratio * STIFFNESS))
    return ground.simulate_strike(row, tip, wall, [0.0, 0.0], [1.0, 1.0], END)


def contacts(ratio: float) -> tuple[int, float]:
    """Return how often the second body presses on the wall, and until when [s]."""
    changes = motion(ratio).changes
    return 1 + sum(each.closed for each in changes), changes[-1].time


def main() -> dict[str, float]:
    """Print and return the contacts with the wall."""
    found = {}
    for ratio in RATIOS:
        count, end = contacts(ratio)
        print(f"wall {ratio:g} times as stiff: {count} contacts, the last one until {end:.2f} s")
        found[f"contacts {ratio:g}"], found[f"end {ratio:g}"] = count, end
    return found


if __name__ == "__main__":
    main()
