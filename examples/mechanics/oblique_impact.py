"""Oblique impact of Kolesnikov (2004): `python examples/mechanics/oblique_impact.py`.

A body meets rough ground whose stiffness S = S0 (1 + U / Um) grows with the indentation U, bounces
and comes to rest. All data but the position at time zero, where the body touches the ground, are
those of the document; along the ground, stiffness and damping are those of U = 0 here.
"""

from dataclasses import dataclass

import numpy as np

from dynamics.mechanics import chains, contact, ground
from foundation.contact_laws.normal import CompliantFriction, SpringDashpotLaw

MASS, GRAVITY = 10.0, 9.81  # [kg], [m/s²]
VELOCITY = (5.0, -2.5)  # along the ground and up [m/s]
STIFFNESS, DOUBLING_DEPTH = 1e4, 0.5  # [N/m], [m]
DAMPING, FRICTION = 100.0, 0.5  # [N s/m], [1]
STEP, END = 1e-3, 2.5  # [s]


@dataclass(frozen=True)
class GrowingStiffness(SpringDashpotLaw):
    """Spring and dashpot F = K U (1 + U / Um) + D dU/dt, with Um = DOUBLING_DEPTH."""

    def _elastic(self, depth: np.ndarray) -> np.ndarray:
        return self.stiffness * depth * (1.0 + np.abs(depth) / DOUBLING_DEPTH)

    def _bonded(self, depth: np.ndarray, rate: np.ndarray, start: np.ndarray | None) -> np.ndarray:
        return self._elastic(depth) + self.damping * rate

    def energy(self, indentation: np.ndarray) -> np.ndarray:
        """Return the elastic energy [J] at indentations [m]."""
        depth = np.maximum(indentation, 0.0)
        return self.stiffness * depth**2 * (0.5 + depth / (3.0 * DOUBLING_DEPTH))


def impact() -> contact.ContactMotion:
    """Return the motion of the body, a point of which touches the ground."""
    body = chains.ChainSegment("body", 1.0, MASS, 1.0, [0.0, 0.0])
    free = chains.Assembly(
        (chains.Chain("body", (body,), chains.FreeBase()),), gravity=[0.0, -GRAVITY]
    )
    soil = contact.CompliantGround(
        GrowingStiffness(STIFFNESS, DAMPING), CompliantFriction(STIFFNESS, DAMPING, FRICTION)
    )
    sole = [ground.ContactPoint("sole", ("body", "body"), [0.0, 0.0])]
    start = [0.0, 0.0, 0.0], [0.0, *VELOCITY]  # angle, x and y
    return ground.simulate_strike(free, sole, soil, *start, END, samples=round(END / STEP) + 1)


def contacts(motion: contact.ContactMotion) -> int:
    """Return how many times the body is in contact; it touches the ground at the start."""
    return 1 + sum(each.closed for each in motion.changes)


def main() -> dict[str, float]:
    """Print and return reactions over weight, contacts and place of rest [m]."""
    motion = impact()
    reaction = motion.forces[:, 0, 1] / (MASS * GRAVITY)
    found = {
        "coefficient": float(reaction.max()),
        "contacts": contacts(motion),
        "along": float(motion.position[-1, 1]),
        "indentation at rest": float(-motion.position[-1, 2]),
        "reaction at rest": float(reaction[-1]),
    }
    for name, value in found.items():
        print(f"{name}: {value:.4g}")
    return found


if __name__ == "__main__":
    main()
