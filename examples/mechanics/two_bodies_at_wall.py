"""Two bodies in a row strike a wall (Ivanov): `python examples/mechanics/two_bodies_at_wall.py`.

Equal masses that touch move towards a wall at 1 m/s. Rigid bodies leave open how they part; with
springs at both contacts the velocities depend on the ratio of the stiffnesses, not on their size.
"""

import numpy as np

from dynamics.mechanics.unilateral import UnilateralLink, simulate_links

MASS, STIFFNESS = 1.0, 1e4  # [kg], [N/m]
RATIOS = (0.3, 1.0, 3.0, 10.0)


def velocities(ratio: float) -> np.ndarray:
    """Return the velocities after impact (2,) [m/s] for the wall's stiffness over that between."""
    links = [
        UnilateralLink([-1.0, 1.0], STIFFNESS),  # between the bodies
        UnilateralLink([0.0, -1.0], ratio * STIFFNESS),  # between the second and the wall
    ]
    end = 0.065 / min(1.0, ratio) ** 0.5
    ends = []
    for n_steps in (400, 800):
        motion = simulate_links(
            MASS * np.eye(2), links, [0.0, 0.0], [1.0, 1.0], step=end / n_steps, n_steps=n_steps
        )
        ends.append(motion.velocity[-1])
    # The scheme is of first order: twice the fine result less the coarse one.
    return 2.0 * ends[1] - ends[0]


def main() -> dict[str, float]:
    result: dict[str, float] = {}
    for ratio in RATIOS:
        first, second = velocities(ratio).tolist()
        print(f"wall {ratio:4g} times as stiff: velocities {first:6.3f} and {second:6.3f} m/s")
        result[f"first {ratio:g}"], result[f"second {ratio:g}"] = first, second
    return result


if __name__ == "__main__":
    main()
