"""Oblique impact of Kolesnikov (2004): `python examples/mechanics/oblique_impact.py`.

A body meets rough ground whose stiffness S = S0 (1 + U / Um) grows with the indentation U, bounces
and comes to rest. All data but the position at time zero, where the body touches the ground, are
those of the document; along the ground, the stiffness is S0 here.
"""

import numpy as np

from dynamics.mechanics.unilateral import LinkMotion, UnilateralLink, simulate_links

MASS, GRAVITY = 10.0, 9.81  # [kg], [m/s²]
VELOCITY = (5.0, -2.5)  # along the ground and up [m/s]
STIFFNESS, DOUBLING_DEPTH = 1e4, 0.5  # [N/m], [m]
DAMPING, FRICTION = 100.0, 0.5  # [N s/m], [1]
STEP, END = 0.01, 2.5  # [s]


def impact(step: float = STEP, end: float = END) -> LinkMotion:
    """Return the motion of the body."""
    ground = UnilateralLink(
        [0.0, 1.0], STIFFNESS, DAMPING, friction=FRICTION, tangent=[1.0, 0.0],
        doubling_depth=DOUBLING_DEPTH, tangential_stiffness=STIFFNESS,
    )  # fmt: skip
    return simulate_links(
        MASS * np.eye(2), [ground], [0.0, 0.0], VELOCITY,
        step=step, n_steps=round(end / step), load=[0.0, -MASS * GRAVITY],
    )  # fmt: skip


def contacts(motion: LinkMotion) -> int:
    """Return how many times the body is in contact."""
    on = motion.normal[:, 0] > 0.0
    return int(on[0]) + int(np.count_nonzero(on[1:] & ~on[:-1]))


def main() -> dict[str, float]:
    motion = impact()
    weight = MASS * GRAVITY
    coefficients = {step: impact(step, 0.15).normal.max() / weight for step in (STEP, 1e-3, 5e-4)}
    for step, coefficient in coefficients.items():
        print(f"step {step:g} s: largest reaction over weight {coefficient:.2f}")
    # The scheme is of first order: twice the fine result less the coarse one.
    converged = 2.0 * coefficients[5e-4] - coefficients[1e-3]
    print(f"converged: {converged:.2f}")
    print(f"{contacts(motion)} contacts, at rest {np.round(motion.position[-1], 4)} m")
    print(f"reaction at rest over weight {motion.normal[-1, 0] / weight:.4f}")
    return {
        "coefficient": float(coefficients[STEP]),
        "converged coefficient": float(converged),
        "contacts": contacts(motion),
        "along": float(motion.position[-1, 0]),
        "indentation at rest": float(-motion.position[-1, 1]),
        "reaction at rest": float(motion.normal[-1, 0] / weight),
    }


if __name__ == "__main__":
    main()
