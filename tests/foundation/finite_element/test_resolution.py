"""The error of the node spacing, estimated from two spacings."""

import layers
import numpy as np
import pytest

from foundation.base.errors import InputError
from foundation.base.loads import AREA, AXIAL_FORCE, CENTRE, PEAK_PRESSURE
from foundation.base.pose import Pose
from foundation.finite_element.resolution import coarser, extrapolated, spacing_error

INSIDE = [Pose(superior=0.0452, lateral=20.5e-3, anterior=x) for x in (0.0, 0.3e-3)]
AT_RIM = Pose(superior=0.0452, lateral=20.5e-3, anterior=10e-3)


@pytest.mark.parametrize("ratio", [2.0, 1.5])
def test_what_falls_with_the_square_of_the_spacing_is_extrapolated_exactly(ratio):
    limit, slope = np.array([3.0, -2.0]), np.array([0.7, 5.0])
    found = extrapolated(limit + slope * ratio**2, limit + slope, ratio)
    np.testing.assert_allclose(found, limit, rtol=1e-14)


@pytest.mark.slow
def test_error_is_a_third_of_the_difference_over_the_largest_load():
    model = layers.plates()
    found = spacing_error(model, INSIDE)
    fine, coarse = (
        np.array([each.evaluate(pose).lateral.array for pose in INSIDE])
        for each in (model, layers.plate_contact(spacing=4e-3, growth=1.1**2))
    )
    for name, column in (("force", AXIAL_FORCE), ("peak_pressure", PEAK_PRESSURE), ("area", AREA)):
        difference = (fine - coarse)[:, column] / 3.0
        expected = np.sqrt(np.mean(difference**2)) / fine[:, column].max()
        assert getattr(found, name) == pytest.approx(expected, rel=1e-9)
    apart = np.linalg.norm((fine - coarse)[:, CENTRE], axis=1) / 3.0
    assert found.centre == pytest.approx(np.sqrt(np.mean(apart**2)), rel=1e-9)
    assert (found.poses, found.unresolved) == (2, 0)


@pytest.mark.slow
def test_estimate_is_of_the_size_of_the_error():
    """The model with nodes half as far apart stands for the truth."""
    model, poses = layers.plate_contact(spacing=1.5e-3), INSIDE[:1]
    truth = model.with_spacing(0.75e-3).evaluate(poses[0]).force[1]
    error = abs(model.evaluate(poses[0]).force[1] / truth - 1.0)
    found = spacing_error(model, poses).force
    assert error < 3.0 * found
    assert found < 0.01


def test_poses_at_a_rim_are_counted():
    assert spacing_error(layers.plates(), [INSIDE[0], AT_RIM, AT_RIM]).unresolved == 2


def test_poses_out_of_contact_and_layers_that_are_too_small_are_refused():
    with pytest.raises(
        InputError,
        match="poses: expected poses in contact for the error of the node spacing, found none",
    ):
        spacing_error(layers.plates(), [Pose(superior=0.1)])
    with pytest.raises(InputError, match="spacing"):
        coarser(layers.plate_contact(spacing=2.6e-3))
