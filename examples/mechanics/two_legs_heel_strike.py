"""One leg stands, one strikes the ground: `python examples/mechanics/two_legs_heel_strike.py`.

The second model of Kaplan, Hovey & Heegaard: two legs on one hip, the stance foot in lasting
contact while the heel of the swing leg strikes. Postures and speeds are chosen, not measured.
"""

import numpy as np

from dynamics.mechanics.ground import penalty_ground, simulate_strike, standing_start, striking_legs

#: Stiffness [N m/rad] and damping [N m s/rad] of hip, knee and ankle.
STIFFNESS, DAMPING = (60.0, 400.0, 400.0), (2.0, 15.0, 10.0)
#: Thigh, shank and foot of stance and swing leg, and their joint angles without torque [deg].
ANGLES = (-8.0, -22.0, 0.6, 25.0, 20.0, 20.0)
REST = ((-8.0, -14.0, 22.6), (25.0, -5.0, 0.0))
#: Segments [rad/s] and hip [m/s] before the stance foot is brought to rest.
RATES = (-1.5, -1.5, 0.0, -0.5, -0.5, -0.5, 0.8, -0.1)
STANDING = ("stance heel", "stance ball")


def main() -> dict[str, float]:
    """Simulate 0.2 s; return times of contact [s], peak reaction [1] and energies [J]."""
    ground = penalty_ground()
    legs, points = striking_legs(
        ankle="hinged",
        joint_stiffness=STIFFNESS,
        joint_damping=DAMPING,
        joint_rest=np.radians(REST),
    )
    position = [*np.radians(ANGLES), 0.0, 0.9]
    start = standing_start(legs, points, ground, position, RATES, STANDING)
    result = simulate_strike(legs, points, ground, *start, 0.2, samples=401)
    changes = {(each.point, each.closed): each.time for each in result.changes}
    found = {
        "heel strike": changes["swing heel", True],
        "toe off": changes["stance ball", False],
        "peak reaction": result.peak_reaction,
        "energy lost": float(result.energy[0] - result.energy[-1]),
        "largest rise": float(np.diff(result.energy).max()),
        "balance": float(np.abs(result.energy + result.loss - result.energy[0]).max()),
    }
    print(f"both feet on the ground from {1e3 * found['heel strike']:.0f} ms, when the swing heel")
    print(f"strikes, to {1e3 * found['toe off']:.0f} ms, when the stance foot leaves")
    print(f"peak reaction {found['peak reaction']:.2f} body weights")
    print(f"{found['energy lost']:.1f} J lost, balanced within {found['balance']:.0e} J")
    return found


if __name__ == "__main__":
    main()
