"""A trained surrogate needs NumPy alone: other packages are blocked."""

import os
import subprocess
import sys
from pathlib import Path

import manufactured
import numpy as np
import pytest
from made_knees import knee_of
from some_slow import first_of
from surrogate_arrays import arrays

from surrogates.files.persistence import save

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "scipy", "sklearn", "pandas", "trimesh", "joblib", "matplotlib", "pydantic", "pyarrow",
    "vtk", "threadpoolctl", "numba", "llvmlite",
)  # fmt: skip
PROGRAM = """
import sys

blocked = set(sys.argv[4].split(","))

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in blocked:
            raise ImportError(name + " is blocked")

sys.meta_path.insert(0, Block())
for name in blocked:
    try:
        __import__(name)
    except ImportError:
        continue
    sys.exit(name + " was not blocked")
import numpy as np
import surrogates
from foundation.base.pose import Pose
knee = surrogates.load(sys.argv[1])
with np.load(sys.argv[2]) as data:
    poses = data["poses"]
loads = knee.loads(poses, order=1)
one = knee.loads(Pose.from_array(poses[0]))
assert np.array_equal(one.medial.array, loads.medial.array[0], equal_nan=True)
errors = np.array([knee.standard_error(Pose.from_array(pose)) for pose in poses])
surrogates.save(knee, sys.argv[3] + ".again")
names = {"loads": loads.values, "jacobians": loads.jacobian, "variables": loads.variables}
np.savez(sys.argv[3], errors=errors, **names)
taken = {name.split(".")[0] for name in sys.modules if sys.modules[name] is not None}
assert not blocked & taken, blocked & taken
"""


def poses(count=6):
    true = manufactured.truth()
    x = manufactured.draw(count, 6)
    found = true.poses(x[:, :5], true.over(x))
    found[0, 4] += 0.05
    found[1, 4] -= 1e-3
    found[2, 1] += 0.1
    return found


def answer_elsewhere(folder, file, where, blocked):
    """What another interpreter answers in which some packages are not to be had."""
    np.savez(folder / "poses.npz", poses=where)
    command = [sys.executable, "-c", PROGRAM, file, "poses.npz", "found.npz", ",".join(blocked)]
    # What chooses the BLAS kernels may stand in the environment: the same sums, bit for bit.
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    with np.load(folder / "found.npz") as data:
        return dict(data)


def knees():
    return {
        "exact": manufactured.knee(),
        "inverted": manufactured.knee("inverted", "kriging"),
        "others": knee_of(
            manufactured.compartment("direct"),
            manufactured.compartment("inverted", "kriging"),
        ),
    }


@pytest.mark.parametrize("name", first_of(["others", "exact", "inverted"], 2))
def test_a_file_answers_bit_for_bit_where_only_numpy_is(name, tmp_path):
    knee = knees()[name]
    save(knee, tmp_path / "knee.npz")
    found = answer_elsewhere(tmp_path, "knee.npz", poses(), PACKAGES)
    loads, jacobians, variables = arrays(knee, poses())
    np.testing.assert_array_equal(found["loads"], loads)
    np.testing.assert_array_equal(found["jacobians"], jacobians)
    np.testing.assert_array_equal(found["variables"], variables)
    assert (found["loads"][:, :, 1] > 0.0).sum() > 6
