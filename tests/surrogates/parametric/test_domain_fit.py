"""A compartment over designs as the surrogate that a domain is fitted to."""

import numpy as np
import pytest
from made_designs import knee_over_designs, poses_of_design
from numpy.testing import assert_array_equal

from surrogates.parametric.domain_fit import OverDesigns


@pytest.fixture(scope="module")
def rows():
    """Return a compartment, scaled designs (N, P) of the rows, and poses (N, 6)."""
    knee = knee_over_designs("inverted", "network")
    designs = np.array([[-0.4, 0.3], [0.6, -0.2], [-0.4, 0.3]])
    z = np.repeat(designs, 4, axis=0)
    half, middle = (
        0.5 * (knee.parameters.high - knee.parameters.low),
        knee.parameters.from_unit(np.full(2, 0.5)),
    )
    poses = np.concatenate(
        [poses_of_design(knee, middle + half * each, 4, seed=2) for each in designs]
    )
    return knee.by_name["medial"], z, poses


def test_each_row_is_that_of_its_own_design(rows):
    part, z, poses = rows
    over = OverDesigns(part, z)
    loads, jacobians, variables = over.evaluate_batch(poses)
    assert (loads[:, 1] > 0.0).any()
    for k, (pose, own) in enumerate(zip(poses, z, strict=True)):
        single = part.at(own)
        for found, wanted in zip(
            (loads, jacobians, variables), single.evaluate_batch(pose[None]), strict=True
        ):
            assert_array_equal(found[k], wanted[0])
        assert over.gaps(poses)[k] == single.gaps(pose[None])[0]
        assert_array_equal(over.standard_error(poses)[k], single.standard_error(pose[None])[0])
    assert over.learns_heights
    assert over.largest_load == part.space.load[1]


def test_domain_has_the_parameters_before_the_last_input(rows):
    part, z, poses = rows
    over = OverDesigns(part, z)
    variables = over.evaluate_batch(poses)[2]
    inputs = over.domain_inputs(variables)
    assert_array_equal(inputs[:, 5:7], z)
    assert_array_equal(np.delete(inputs, [5, 6], axis=1), variables[:, :6])
