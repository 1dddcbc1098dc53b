"""Surrogates over pose and design: fits, single designs, derivatives by the parameters."""

from __future__ import annotations

from copy import deepcopy

import designed_condyles as made
import numpy as np
import pytest
from differences import differences

from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import Pose
from surrogates.families.network import NetworkSettings, fit_network
from surrogates.formulations.compartment_fit import Fitter
from surrogates.parametric.fit import DesignSamples, fit_parametric
from surrogates.parametric.parameters import Parameters
from surrogates.parametric.surrogate import ParametricSurrogate

DESIGN = np.array([17.0, 5e-3, 9.5])
SIDES = dict(zip(COMPARTMENTS, (-made.ARM, made.ARM), strict=True))


def network_fitter():
    settings = NetworkSettings(8, 1, terms=0, steps=400)
    return Fitter(lambda x, y, w: fit_network(x, y, settings, weights=w), joint=True)


def poses_in_contact(count=40, seed=5, side=-made.ARM, reach=1.0):
    """Poses of `DESIGN` at which a condyle is pressed; up to `reach` times the box."""
    rng = np.random.default_rng(seed)
    space = made.space_of(DESIGN)
    poses, load = space.draw(rng.random((count, 6)), 2.0)
    poses[:, [1, 2, 3, 5]] += (reach - 1.0) * made.OFFSETS * rng.choice([-1.0, 1.0], (count, 4))
    return made.answered(DESIGN, poses, np.clip(load, 50.0, 2500.0), side)[0]


@pytest.mark.parametrize("name", COMPARTMENTS)
def test_a_design_that_was_not_learnt_has_the_loads_of_the_truth(name):
    poses = poses_in_contact(side=SIDES[name])
    truth = made.truth(DESIGN, poses, SIDES[name])
    found = made.knee().at(DESIGN).compartment(name).evaluate_batch(poses)[0]
    used = [0, 1, 2, 3, 5, 6, 7, 8]  # there is no moment about the vertical axis
    misses = np.sqrt(((found - truth)[:, used] ** 2).mean(axis=0))
    assert (misses / np.abs(truth[:, used]).max(axis=0)).max() < 0.03
    assert np.abs(found - truth)[:, 9:].max() < 1e-4


def test_a_surrogate_without_the_parameters_misses_the_design():
    """The same fit to the designs in the middle alone: what the parameters explain is missed."""
    middle = made.knee().at(made.PARAMETERS.from_unit(np.full((1, 3), 0.5))[0])
    poses = poses_in_contact()
    truth = made.truth(DESIGN, poses, -made.ARM)[:, 1]
    found = middle.compartment("medial").evaluate_batch(poses)[0][:, 1]
    assert np.abs(found - truth).max() > 0.2 * truth.max()


@pytest.mark.parametrize("formulation", ["inverted", "direct"])
@pytest.mark.parametrize("reach", [1.0, 1.4])
def test_slopes_by_the_parameters_are_those_of_the_loads(formulation, reach):
    knee = made.knee(formulation)
    poses = poses_in_contact(reach=reach)

    def loads(values):
        return knee.at(values).evaluate_batch(poses)[0]

    found, slopes = knee.loads_and_slopes(poses, DESIGN)
    np.testing.assert_array_equal(found, loads(DESIGN))
    touching = (found[..., 1] > 1.0) & (found[..., 1] < made.LOAD[1])
    assert touching.mean() > 0.3
    step = 1e-5 * (made.PARAMETERS.high - made.PARAMETERS.low)
    expected = differences(loads, DESIGN, step)
    sizes = np.abs(expected[touching]).max(axis=0)
    assert (np.abs(slopes - expected)[touching] / np.maximum(sizes, 1e-12)).max() < 1e-6


def test_slopes_of_a_network_are_those_of_the_loads():
    knee = made.knee("inverted", network_fitter())
    poses = poses_in_contact()

    def loads(values):
        return knee.at(values).evaluate_batch(poses)[0]

    step = 1e-5 * (made.PARAMETERS.high - made.PARAMETERS.low)
    expected, slopes = differences(loads, DESIGN, step), knee.loads_and_slopes(poses, DESIGN)[1]
    axial = loads(DESIGN)[..., 1]
    touching = (axial > 1.0) & (axial < made.LOAD[1])
    assert touching.any()
    sizes = np.abs(expected[touching]).max(axis=0)
    assert (np.abs(slopes - expected)[touching] / sizes).max() < 1e-6


def test_slope_by_the_thickness_is_that_of_the_truth():
    """A thicker insert presses the condyle: dF/dt = 2 K depth, 1 mm of thickness 1e-3 m."""
    poses = poses_in_contact()
    force = made.truth(DESIGN, poses, -made.ARM)[:, 1]
    expected = 2e-3 * np.sqrt(1e9 * DESIGN[0] * force)
    slopes = made.knee().loads_and_slopes(poses, DESIGN)[1]
    misses = slopes[:, 0, 1, 2] - expected
    assert np.sqrt((misses**2).mean()) < 0.03 * expected.max()


def test_slopes_of_the_total_wrench_are_sums():
    pose = poses_in_contact(1)[0]
    knee = made.knee()
    parts = knee.loads_and_slopes(pose[None], DESIGN)[1][0]
    total = knee.slopes(Pose.from_array(pose), DESIGN)
    np.testing.assert_array_equal(total, parts[0, :6] + parts[1, :6])


def test_out_of_contact_the_slopes_are_zero():
    pose = poses_in_contact(1)[0] + [0.0, 0.0, 0.0, 0.0, 5e-3, 0.0]
    loads, slopes = made.knee().loads_and_slopes(pose[None], DESIGN)
    assert not loads[..., :9].any()
    assert not slopes.any()


def test_the_path_is_that_of_the_design():
    knee = made.knee()
    flexion = np.linspace(0.0, 1.0, 5)
    expected = made.path_of(DESIGN).poses(flexion)
    np.testing.assert_allclose(knee.path(DESIGN).poses(flexion), expected, atol=1e-9)
    np.testing.assert_array_equal(
        knee.at(DESIGN).spaces[0].path.poses(flexion), knee.path(DESIGN).poses(flexion)
    )


def test_the_header_of_a_design_states_its_values():
    header = made.knee().at(DESIGN).header
    assert header["design"] == made.PARAMETERS.named(DESIGN)
    assert header["name"] == "designed condyles"


def test_a_copy_gives_the_same_loads():
    knee = made.knee()
    copy = deepcopy(knee)
    poses = poses_in_contact(5)
    np.testing.assert_array_equal(
        copy.at(DESIGN).evaluate_batch(poses)[0], knee.at(DESIGN).evaluate_batch(poses)[0]
    )
    assert "stiffness_GN_per_m2" in repr(copy)


def test_designs_outside_the_ranges_are_refused():
    for method in (made.knee().at, made.knee().path):
        with pytest.raises(InputError, match="thickness_mm: expected 6 to 12, found 13"):
            method([17.0, 5e-3, 13.0])


def test_other_fits_are_refused():
    space = made.parametric_space(made.designs(8))
    with pytest.raises(InputError, match="at least one design"):
        fit_parametric("inverted", space, [], made.polynomial_fitter())
    row = DesignSamples(np.zeros(3), made.samples_of(DESIGN, made.ARM))
    with pytest.raises(InputError, match="load_degree"):
        fit_parametric("inverted", space, [row], made.polynomial_fitter(), 0.5)


def test_compartments_of_other_parameters_are_refused():
    knee = made.knee()
    with pytest.raises(InputError, match="expected 1 parameters, found 3"):
        ParametricSurrogate(Parameters(("a",), np.zeros(1), np.ones(1)), knee.by_name)
