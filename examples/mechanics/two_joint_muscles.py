"""Two-joint muscles of Kolesnikov (2004): `python examples/mechanics/two_joint_muscles.py`.

Thigh on (5, 10), shank on (5, 0); muscles 3, 4 and 5 meet in a free node. A moment of 10 turns the
shank clockwise. Lengths, forces and stiffnesses have the units of the source.
"""

import numpy as np

from dynamics.mechanics.unilateral import Member, PinnedSegment, PlanarStructure, solve_structure


def structure() -> PlanarStructure:
    node = (3.8, 2.5)
    return PlanarStructure(
        [PinnedSegment("thigh", (5.0, 10.0)), PinnedSegment("shank", (5.0, 0.0), "thigh")],
        [
            Member("ground", (6.5, 10.0), "thigh", (5.7, 4.0), 200.0),
            Member("thigh", (5.7, 1.8), "shank", (10.0, -1.3), 180.0),
            Member("ground", (3.0, 10.0), "node", node, 100.0),
            Member("ground", (6.0, 10.0), "node", node, 100.0),
            Member("node", node, "shank", (3.5, 0.0), 400.0),
        ],
        ["node"],
    )


def main() -> dict[str, float]:
    muscles = structure()
    load = [0.0, 10.0, 0.0, 0.0]
    found = solve_structure(muscles.balance, muscles.stiffness, load)
    print("forces of the muscles:", np.round(found.forces, 3))
    print("slack in the order   :", [member + 1 for member in found.exclusions])
    reactions = muscles.joint_reactions(found.forces)
    print("reactions of the joints:", np.round(reactions, 3).tolist())
    print("rotations [rad]      :", np.round(found.displacement[:2], 4))
    # The same without a load: all are pretensioned, and muscles 1 and 2 half activated.
    active = solve_structure(
        muscles.balance, muscles.stiffness, 4 * [0.0], activation=[0.5, 0.5, 1, 1, 1],
        pretension=[0.025, 0.025, 0.02, 0.02, 0.02],
    )  # fmt: skip
    print("contracting, without load:", np.round(active.forces, 3))
    return {
        **{f"force {number}": f for number, f in enumerate(found.forces.tolist(), 1)},
        **{f"contracting {number}": f for number, f in enumerate(active.forces.tolist(), 1)},
        "hip": float(np.linalg.norm(reactions[0])),
        "knee": float(np.linalg.norm(reactions[1])),
        "rotation of the thigh": float(found.displacement[0]),
        "rotation of the shank": float(found.displacement[1]),
        "switched": len(found.exclusions),
    }


if __name__ == "__main__":
    main()
