"""Oblique impact on a stiffening surface: `python examples/mechanics/oblique_impact.py`.

A point mass strikes a surface whose stiffness S = S0 (1 + U / Um) grows with the indentation U
(Kolesnikov 2004), and whose tip gives way along the surface before it slips. The source's factor 6
is read as the stiffness at the deepest point, S = 6 S0, hence U = 5 Um; mass, S0 and Um are those
of this example.
"""

import numpy as np

from dynamics.mechanics.unilateral import UnilateralLink, simulate_links

MASS, STIFFNESS, DOUBLING_DEPTH = 0.5, 2e4, 1e-3  # [kg], [N/m], [m]
FRICTION, ALONG = 0.4, 1.0  # [1], [m/s]


def speed_for(depth: float) -> float:
    """Return the speed [m/s] whose energy presses in by the depth [m]."""
    energy = STIFFNESS * (depth**2 / 2.0 + depth**3 / (3.0 * DOUBLING_DEPTH))
    return float(np.sqrt(2.0 * energy / MASS))


def main() -> dict[str, float]:
    depth = 5.0 * DOUBLING_DEPTH
    down = speed_for(depth)
    result = {"speed": down}
    for name, tangential in (("rigid", np.inf), ("compliant", 3.0 * STIFFNESS)):
        link = UnilateralLink(
            [0.0, 1.0], STIFFNESS, friction=FRICTION, tangent=[1.0, 0.0],
            doubling_depth=DOUBLING_DEPTH, tangential_stiffness=tangential,
        )  # fmt: skip
        motion = simulate_links(
            MASS * np.eye(2), [link], [0.0, 0.0], [ALONG, -down], step=2e-5, n_steps=600
        )
        deepest = -motion.position[:, 1].min()
        print(
            f"{name} tip: from ({ALONG:g}, {-down:.3f}) to {np.round(motion.velocity[-1], 3)} m/s"
        )
        print(f"  indentation {1e3 * deepest:.3f} mm, S = {1 + deepest / DOUBLING_DEPTH:.2f} S0")
        print(f"  largest forces {motion.normal.max():.0f} and {motion.friction.min():.0f} N")
        result |= {
            f"along {name}": float(motion.velocity[-1, 0]),
            f"up {name}": float(motion.velocity[-1, 1]),
            f"deepest {name}": float(deepest),
            f"peak {name}": float(motion.normal.max()),
        }
    return result


if __name__ == "__main__":
    main()
