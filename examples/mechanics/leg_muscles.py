"""Muscles of hip, knee and ankle, hip reaction: `python examples/mechanics/leg_muscles.py`.

A planar leg that stands on the forefoot, with eight muscles, three of them across two joints. The
data are round numbers of this example (x forwards, y up), not those of a paper.
"""

import numpy as np

from dynamics.mechanics.unilateral import Member, PinnedSegment, PlanarStructure, solve_structure

#: Body and end on it [m], the same of the other end, stiffness [N/m].
MUSCLES = {
    "iliopsoas": ("ground", (0.05, 0.96), "thigh", (0.02, 0.82), 2e5),
    "gluteus maximus": ("ground", (-0.08, 0.96), "thigh", (-0.03, 0.78), 3e5),
    "hamstrings": ("ground", (-0.05, 0.87), "shank", (-0.03, 0.44), 2e5),
    "rectus femoris": ("ground", (0.05, 0.93), "shank", (0.06, 0.45), 1e5),
    "vasti": ("thigh", (0.035, 0.75), "shank", (0.065, 0.44), 5e5),
    "gastrocnemius": ("thigh", (-0.015, 0.50), "foot", (-0.06, 0.05), 2e5),
    "soleus": ("shank", (-0.03, 0.35), "foot", (-0.06, 0.05), 4e5),
    "tibialis anterior": ("shank", (0.02, 0.35), "foot", (0.05, 0.05), 1e5),
}
GROUND_REACTION, FOREFOOT = (0.0, 700.0), (0.10, 0.0)  # [N], [m]


def leg() -> PlanarStructure:
    return PlanarStructure(
        [
            PinnedSegment("thigh", (0.0, 0.90)),
            PinnedSegment("shank", (0.02, 0.48), "thigh"),
            PinnedSegment("foot", (-0.02, 0.08), "shank"),
        ],
        [Member(*each) for each in MUSCLES.values()],
    )


def main() -> dict[str, float]:
    structure = leg()
    external = structure.generalised_force("foot", FOREFOOT, GROUND_REACTION)
    result: dict[str, float] = {}
    for calf in (1.0, 0.2):
        activation = [calf if name == "gastrocnemius" else 1.0 for name in MUSCLES]
        found = solve_structure(
            structure.balance, structure.stiffness, -external, activation=activation
        )
        hip, knee, ankle = structure.joint_reactions(found.forces, [("foot", GROUND_REACTION)])
        print(f"activation of gastrocnemius {calf:g}:")
        for name, force in zip(MUSCLES, found.forces, strict=True):
            print(f"  {name:18s} {force:7.1f} N")
            result[f"{name} at {calf:g}"] = float(force)
        for name, reaction in (("hip", hip), ("knee", knee), ("ankle", ankle)):
            print(f"  reaction of {name:6s} {np.round(reaction, 1)} N on the segment below")
            result[f"{name} x at {calf:g}"], result[f"{name} y at {calf:g}"] = reaction.tolist()
    return result


if __name__ == "__main__":
    main()
