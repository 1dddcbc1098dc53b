"""Surrogates over pose and design: parameters, fits, single designs, derivatives, domains."""

import designed_condyles as made
import numpy as np
import pytest
from differences import differences
from made_designs import designs_of, fourth_order, knee_over_designs, off, poses_of_design
from numpy.testing import assert_array_equal
from surrogate_arrays import arrays

from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import Pose
from surrogates.families.smooth_array import SmoothArray
from surrogates.families.training import basis_matrix, polynomial_exponents
from surrogates.formulations.design_fit import OverDesigns
from surrogates.sampling.parameters import Parameters

PARAMETERS = Parameters(("radius_mm", "slope_deg"), np.array([20.0, -3.0]), np.array([30.0, 9.0]))


def test_a_design_by_name_is_scaled_to_its_ranges():
    np.testing.assert_allclose(PARAMETERS.scaled({"slope_deg": 9.0, "radius_mm": 20.0}), [-1, 1])
    np.testing.assert_allclose(PARAMETERS.scaled([25.0, 0.0]), [0.0, -0.5])
    np.testing.assert_allclose(PARAMETERS.from_unit(np.array([[0.5, 0.25]])), [[25.0, 0.0]])
    assert PARAMETERS.named(np.array([21.0, 1.0])) == {"radius_mm": 21.0, "slope_deg": 1.0}


@pytest.mark.parametrize(
    ("design", "message"),
    [
        ({"radius_mm": 25.0}, "expected values of radius_mm, slope_deg, found radius_mm"),
        ({"radius_mm": 25.0, "slope_deg": 1.0, "varus_deg": 0.0}, "found .*varus_deg"),
        ({"radius_mm": 31.0, "slope_deg": 1.0}, "radius_mm: expected 20 to 30, found 31"),
        ([25.0], r"expected shape \(2\), found \(1,\)"),
        ([25.0, np.nan], "expected finite numbers"),
    ],
)
def test_other_designs_are_refused(design, message):
    with pytest.raises(InputError, match=message):
        PARAMETERS.values(design)


def test_the_header_gives_the_parameters_back():
    found = Parameters.from_header(PARAMETERS.to_header())
    assert found.names == PARAMETERS.names
    np.testing.assert_array_equal(found.low, PARAMETERS.low)
    with pytest.raises(InputError, match="expected name, low and high"):
        Parameters.from_header([{"name": "a"}])


def test_a_quadratic_array_is_found_exactly():
    rng = np.random.default_rng(1)
    exponents = polynomial_exponents(3, 2)
    coefficients = rng.normal(size=(len(exponents), 2, 4))
    z = rng.uniform(-1.0, 1.0, (20, 3))
    arrays = np.tensordot(basis_matrix(z, exponents), coefficients, axes=1)
    found = SmoothArray.fit(z, arrays)
    np.testing.assert_allclose(found.coefficients, coefficients, atol=1e-12)
    np.testing.assert_allclose(found.at(z[3]), arrays[3], atol=1e-12)


DESIGN = np.array([17.0, 5e-3, 9.5])
SIDES = dict(zip(COMPARTMENTS, (-made.ARM, made.ARM), strict=True))


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
    found = made.knee().at(DESIGN).compartment(name).loads(poses).array
    used = [0, 1, 2, 3, 5, 6, 7, 8]  # there is no moment about the vertical axis
    misses = np.sqrt(((found - truth)[:, used] ** 2).mean(axis=0))
    assert (misses / np.abs(truth[:, used]).max(axis=0)).max() < 0.03
    assert np.abs(found - truth)[:, 9:].max() < 1e-4


@pytest.mark.parametrize("formulation", ["inverted", "direct"])
@pytest.mark.parametrize("reach", [1.0, 1.4])
def test_slopes_by_the_parameters_are_those_of_the_loads(formulation, reach):
    knee = made.knee(formulation)
    poses = poses_in_contact(reach=reach)

    def loads(values):
        return knee.at(values).loads(poses).values

    found, slopes = knee.loads_and_slopes(poses, DESIGN)
    sizes = np.maximum(np.nanmax(np.abs(found), axis=(0, 1)), 1e-12)
    np.testing.assert_allclose(found / sizes, loads(DESIGN) / sizes, rtol=0.0, atol=1e-11)
    touching = (found[..., 1] > 1.0) & (found[..., 1] < made.LOAD[1])
    assert touching.mean() > 0.3
    step = 1e-5 * (made.PARAMETERS.high - made.PARAMETERS.low)
    expected = differences(loads, DESIGN, step)
    sizes = np.abs(expected[touching]).max(axis=0)
    assert (np.abs(slopes - expected)[touching] / np.maximum(sizes, 1e-12)).max() < 1e-6
    if formulation == "inverted":
        assert not knee.loads_and_slopes(poses + 5e-3 * np.eye(6)[4], DESIGN)[1].any()


@pytest.mark.parametrize(
    ("formulation", "family"),
    [("inverted", "network"), ("direct", "polynomial"), ("inverted", "spline")],
)
def test_smoothed_slopes_are_differences_also_beyond_the_samples(formulation, family):
    knee = knee_over_designs(formulation, family, width=0.05)
    design = designs_of(knee, 1)[0]
    poses = poses_of_design(knee, design, 40)
    assert (knee.at(design).loads(poses).variables[..., 5] > 1.0).sum() > 5
    loads, slopes = knee.loads_and_slopes(poses, design)
    assert off(loads, knee.at(design).loads(poses).values) < 1e-12
    steps = 2e-5 * np.ptp([knee.parameters.low, knee.parameters.high], axis=0)
    expected = fourth_order(lambda d: knee.at(d).loads(poses).values, design, steps)
    touching = loads[..., 1, None, None] > 0.0
    assert off(slopes, np.where(touching, expected, 0.0)) < 1e-7


def test_loads_over_designs_need_a_design():
    part, poses = made.knee().by_name["medial"], poses_in_contact(1)
    with pytest.raises(InputError, match="over designs with 3 parameters; call `at` first"):
        part.loads(poses)
    for given in (poses, Pose.from_array(poses[0])):
        with pytest.raises(InputError, match="call `at` with the values of stiffness_GN"):
            made.knee().loads(given)
    with pytest.raises(InputError, match="expected values of no parameters, found radius_mm"):
        made.knee().at(DESIGN).at({"radius_mm": 3.0})
    single = part.at(np.zeros(3))
    assert (single.parameters, single.at(np.zeros(0))) == (0, single)


def test_the_path_is_that_of_the_design():
    knee = made.knee()
    flexion = np.linspace(0.0, 1.0, 5)
    expected = made.path_of(DESIGN).poses(flexion)
    np.testing.assert_allclose(knee.path_of(DESIGN).poses(flexion), expected, atol=1e-9)
    np.testing.assert_array_equal(
        knee.at(DESIGN).spaces[0].path.poses(flexion), knee.path_of(DESIGN).poses(flexion)
    )
    with pytest.raises(InputError, match="thickness_mm: expected 6 to 12, found 13"):
        knee.path_of([17.0, 5e-3, 13.0])
    with pytest.raises(InputError, match="expected the surrogate of one design, found one over"):
        knee.reference_pose(20.0)


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
    loads, jacobians, variables = arrays(over, poses)
    assert (loads[:, 1] > 0.0).any()
    for k, (pose, own) in enumerate(zip(poses, z, strict=True)):
        single = part.at(own)
        for found, wanted in zip(
            (loads, jacobians, variables), arrays(single, pose[None]), strict=True
        ):
            assert_array_equal(found[k], wanted[0])
        assert over.gaps(poses)[k] == single.gaps(pose[None])[0]
        assert_array_equal(over.standard_error(poses)[k], single.standard_error(pose[None])[0])
    assert over.learns_heights
    assert over.largest_load == part.space.load[1]


def test_domain_has_the_parameters_before_the_last_input(rows):
    part, z, poses = rows
    over = OverDesigns(part, z)
    variables = over.loads(poses).variables
    inputs = over.domain_inputs(variables)
    assert_array_equal(inputs[:, 5:7], z)
    assert_array_equal(np.delete(inputs, [5, 6], axis=1), variables[:, :6])
