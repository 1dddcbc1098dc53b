"""Same pose, same loads: whatever came before, in threads, in copies, one compartment alone."""

from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy

import numpy as np
import pytest
import shapes
from beds import IMPLANT, POLYETHYLENE, implant_model

from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import ModifiedLaw

#: In and out of contact, many more than one task of a thread.
PRESSED = np.array([p.array for p in shapes.pressed_poses(IMPLANT, 150, seed=8)])
POSES = np.concatenate([PRESSED, PRESSED[:10] + np.array([0, 0, 0, 0, 5e-3, 0])])


def new_model(surface="curved", law=None):
    return implant_model(law or ModifiedLaw(*POLYETHYLENE, f=3.0, m=1.2), surface, 2.5e-3)


@pytest.fixture(scope="module", params=["flat", "curved"])
def model(request):
    return new_model(request.param)


@pytest.fixture(scope="module")
def one_by_one(model):
    """Loads (N, 2, 12) of a model that did nothing else."""
    return np.array([model.loads(Pose.from_array(pose)).values for pose in POSES])


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_batch_is_one_by_one(model, one_by_one, threads):
    np.testing.assert_array_equal(model.loads(POSES, threads=threads).values, one_by_one)


def test_calls_from_threads_do_not_disturb_each_other(model, one_by_one):
    def total(row):
        return model.loads(Pose.from_array(row)).total.array

    alone = [total(row) for row in POSES]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            np.testing.assert_array_equal(list(pool.map(total, POSES[::-1]))[::-1], alone)


def test_a_copy_has_the_loads(model, one_by_one):
    """What `copy.deepcopy` carries is what is sent to another process."""
    np.testing.assert_array_equal(deepcopy(model).loads(POSES).values, one_by_one)


def test_one_compartment_alone_is_its_part_of_the_whole(model, one_by_one):
    for k in range(0, len(POSES), 10):
        pose = Pose.from_array(POSES[k])
        whole = model.loads(pose, 1)
        for name in ("medial", "lateral"):
            loads, jacobian, _ = model.compartment_loads(pose, name)
            np.testing.assert_array_equal(loads, whole[name].array)
            np.testing.assert_array_equal(jacobian, whole[name].jacobian)
