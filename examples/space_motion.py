"""Keys of `[space.motion]` of the contacts of a walk: `python examples/space_motion.py FILE`.

A surrogate for a walk by COMAK learns many of its samples near these poses, which stand in the
frames of the meshes of each contact. FILE is the configuration of the walk, such as
configs/comak_walking.toml; KEY=VALUE behind it changes keys.
"""

import sys

import numpy as np

from pipeline.studies.dispatch import load_study
from pipeline.studies.muscle_walks.setup import prepare_walk

EVERY = 4  # frames between the poses
KEYS = ("flexion_deg", "adduction_deg", "rotation_deg", "anterior_mm", "lateral_mm")

setup = prepare_walk(load_study(sys.argv[1], tuple(sys.argv[2:])))
result = setup.comak.run(setup.first_values())
motion = setup.plant.motion
values = motion.values.copy()
values[:, motion.index(result.secondary)] = result.values
rows = np.unique([*range(0, len(values), EVERY), len(values) - 1])
for contact in setup.contacts:
    coordinates = values[rows][:, motion.index(contact.coordinates)]
    poses = np.array([contact.pose(row).array for row in coordinates])
    shown = np.column_stack([np.degrees(poses[:, :3]), 1e3 * poses[:, [3, 5]]])
    print(f"# {contact.name}\n[space.motion]")
    for key, column in zip(KEYS, shown.T, strict=True):
        print(f"{key} = [{', '.join(f'{value:.2f}' for value in column)}]")
