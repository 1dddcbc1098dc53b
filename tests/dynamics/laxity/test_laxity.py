"""Laxity tests on two spheres in dishes: equilibria, derivatives, and ligaments found again."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, DotProduct

from dynamics import AppliedLoads, EquilibriumError, Ligament, settle
from dynamics.laxity.parameters import Answer, LaxityModel, Spreads, UncertainKnee, groups_of
from dynamics.laxity.posterior import Measured, draw, fit, linear_covariance, predict
from dynamics.laxity.states import LaxityKnee, LaxityTest
from dynamics.ligaments.bundles import ligament_potential
from dynamics.ligaments.derivatives import FEMORAL, REST, STIFFNESS, TIBIAL, force_derivatives
from foundation.base.errors import InputError
from foundation.base.pose import ANTERIOR, Pose

BUNDLES = (
    Ligament("ACL1", [-0.008, 0.004, 0.003], [0.016, -0.02, -0.001], 0.030, 4e3, "toe"),
    Ligament("PCL1", [0.004, 0.002, -0.003], [-0.018, -0.024, 0.001], 0.032, 5e3, "toe"),
    Ligament("MCL1", [0.002, 0.008, -0.035], [0.004, -0.05, -0.03], 0.0575, 6e4, "linear"),
    Ligament("LCL1", [0.0, 0.006, 0.035], [-0.006, -0.045, 0.034], 0.0505, 3e7, "quadratic"),
)
TESTS = (
    LaxityTest("anterior", 0.1, [-100.0, 100.0], 40.0, "drawer"),
    LaxityTest("internal", [0.1, 0.12], [-4.0, 4.0], 40.0, "rotation"),
    LaxityTest("varus", 0.1, [-4.0, 0.0, 4.0], [40.0, 30.0, 40.0], "varus"),
)


@pytest.fixture
def laxity(knee):
    """Return the model of the tests by the parameters of four groups."""
    held = LaxityKnee(knee(stiffness=3e8), BUNDLES, menisci=8e3)
    groups = groups_of(BUNDLES)
    spreads = dict.fromkeys(groups, Spreads(0.03, 0.2, 2e-3))
    return LaxityModel(UncertainKnee(held, groups, spreads), TESTS, Pose())


def test_states_balance_contact_ligaments_menisci_and_loads(laxity):
    held = laxity.uncertain.knee
    for test, states in zip(TESTS, laxity.base.states, strict=True):
        for k, (row, applied) in enumerate(zip(states.poses, test.applied, strict=True)):
            pose = Pose.from_array(row)
            loads = AppliedLoads(*applied)
            force = held.simulator.force(pose, held.contact.loads(pose).wrench, loads)[1:]
            spring = held.menisci * (row[ANTERIOR] - states.poses[0, ANTERIOR]) * (k > 0)
            force[ANTERIOR - 1] -= spring
            assert_allclose(force, 0.0, rtol=0.0, atol=2e-5)
        assert_allclose(states.poses[1:, 0], test.flexion, rtol=0.0, atol=0.0)
        assert states.displacement[0] == 0.0
        assert np.all(np.diff(states.displacement) > 0.0)


def test_states_without_menisci_are_those_that_settle(laxity):
    held = replace(laxity.uncertain.knee, menisci=0.0)
    states = held.states(TESTS[0], Pose())
    found = settle(
        held.contact, held.simulator, flexion=0.1, axial_force=40.0, ap_force=100.0,
        start=Pose.from_array(states.poses[0]),
    )  # fmt: skip
    assert_allclose(states.poses[-1], found.array, rtol=0.0, atol=1e-7)


def test_ligaments_alone_press_the_knee_without_an_axial_force(laxity):
    tight = tuple(replace(each, rest_length=0.97 * each.rest_length) for each in BUNDLES)
    held = replace(laxity.uncertain.knee, ligaments=tight)
    states = held.states(replace(TESTS[0], axial_force=0.0), Pose())
    assert held.contact.loads(Pose.from_array(states.poses[0])).force[1] > 1.0


def test_tangent_stiffness_is_the_slope_of_load_over_displacement(laxity):
    held, states = laxity.uncertain.knee, laxity.base.states[0]
    around = LaxityTest("anterior", 0.1, [-100.0, 99.9, 100.0, 100.1], 40.0)
    moved = held.states(around, Pose()).displacement
    assert_allclose(held.stiffness(states, -1), 0.2 / (moved[3] - moved[1]), rtol=1e-5)
    fine = held.refined(states, 3)
    assert len(fine.test.loads) == 5
    assert_allclose(fine.laxity, states.laxity, rtol=1e-8)


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda each: each.name)
def test_force_derivatives_are_those_of_differences(bundle):
    pose = Pose(0.2, 0.03, 0.1, 0.002, 0.004, 0.001)
    exact = force_derivatives([bundle], pose.array)[0]
    assert np.abs(exact).max() > 0.0

    def force(**changes):
        return ligament_potential([replace(bundle, **changes)], pose)[1]

    for column, name, step in ((REST, "rest_length", 1e-7), (STIFFNESS, "stiffness", 1e-1)):
        value = getattr(bundle, name)
        slope = (force(**{name: value + step}) - force(**{name: value - step})) / (2 * step)
        assert_allclose(exact[column], slope, rtol=1e-5, atol=1e-6 * np.abs(slope).max())
    for columns, name in ((FEMORAL, "femoral"), (TIBIAL, "tibial")):
        for axis in range(3):
            away = 1e-7 * np.eye(3)[axis]
            value = getattr(bundle, name)
            slope = (force(**{name: value + away}) - force(**{name: value - away})) / 2e-7
            assert_allclose(exact[columns][axis], slope, rtol=1e-4, atol=1e-5 * np.abs(slope).max())


def test_slack_bundles_have_no_derivatives():
    slack = [replace(each, rest_length=0.2) for each in BUNDLES]
    assert not force_derivatives(slack, Pose().array).any()


def test_laxity_by_parameters_is_that_of_differences(laxity):
    rng = np.random.default_rng(1)
    at = laxity(0.2 * rng.standard_normal(len(laxity.uncertain.names)))
    for _ in range(3):
        way = rng.standard_normal(len(at.z))
        ends = [laxity(at.z + side * 1e-5 * way, at).values for side in (-1.0, 1.0)]
        slope = (ends[1] - ends[0]) / 2e-5
        assert_allclose(at.jacobian @ way, slope, rtol=1e-5, atol=1e-5 * np.abs(slope).max())


def test_answers_do_not_depend_on_where_the_search_begins(laxity):
    z = 0.4 * np.random.default_rng(2).standard_normal(len(laxity.uncertain.names))
    there = laxity(z)
    back = laxity(z, laxity(-z))
    assert_allclose(back.values, there.values, rtol=0.0, atol=1e-5)
    with pytest.raises(EquilibriumError, match="test drawer: the states end"):
        laxity(np.full(len(z), 40.0))


def measured_of(laxity, values, error=0.05):
    kinds = np.repeat([0, 1, 2], [1, 1, 2])
    places = np.array([[0.1, 1.0], [0.1, 1.0], [0.1, 0.0], [0.1, 1.0]])
    scales = np.array([0.05, 0.1, 0.1])
    return Measured(values, np.full(len(values), error), kinds, scales, places)


def apart(count):
    """Return places of displacements whose errors of the model have nothing in common."""
    return 100.0 * np.arange(2.0 * count).reshape(-1, 2)


def test_a_fit_reproduces_the_laxity_of_other_ligaments(laxity):
    z = np.random.default_rng(3).standard_normal(len(laxity.uncertain.names))
    truth = laxity(0.5 * z).values
    measured = measured_of(laxity, truth)
    spread = np.sqrt(np.diag(measured.covariance(measured.scales)))
    before = np.abs(laxity.base.values - truth) / spread
    found = fit(laxity, measured)
    after = np.abs(found.answer.values - truth) / spread
    assert before.max() > 3.0
    assert after.max() < 1.0
    assert np.linalg.norm(found.answer.z) < 1.1 * np.linalg.norm(0.5 * z)
    assert found.covariance.diagonal().max() <= 1.0 + 1e-12


class Line:
    """A laxity model that is linear in two parameters."""

    jacobian = np.array([[3.0, 1.0], [0.5, 2.0]])

    @property
    def base(self):
        return self(np.zeros(2))

    def __call__(self, z, near=None):
        return Answer(z.copy(), self.jacobian @ z, self.jacobian, (), ())


def test_draws_of_a_linear_model_are_those_of_its_posterior():
    """With a known error of the model: mean and covariance of a normal distribution."""
    measured = Measured(
        np.array([4.0, -1.0]), np.array([0.8, 0.8]), np.array([0, 0]), np.full(1, 1e-3), apart(2)
    )
    found = fit(Line(), measured)
    covariance = np.linalg.inv(Line.jacobian.T @ Line.jacobian / 0.64 + np.eye(2))
    assert_allclose(linear_covariance(Line.jacobian, 0.64 * np.eye(2)), covariance, rtol=1e-12)
    mean = covariance @ Line.jacobian.T @ measured.values / 0.64
    assert_allclose(found.answer.z, mean, rtol=0.0, atol=1e-3)
    draws = draw(Line(), measured, found, 600, np.random.default_rng(0))
    z = np.array([each.z for each in draws.answers])
    assert draws.failed == 0
    assert_allclose(z.mean(axis=0), mean, rtol=0.0, atol=5.0 * np.sqrt(covariance.max() / 600))
    assert_allclose(np.cov(z.T), covariance, rtol=0.0, atol=0.25 * covariance.max())


def test_the_error_of_the_model_is_learnt():
    """Four measurements of two parameters that contradict each other by 3 deviations of error."""
    jacobian = np.repeat(Line.jacobian, 8, axis=0)
    line = Line()
    line.jacobian = jacobian
    off = 1.5 * np.tile([1.0, -1.0], 8)
    known = np.full(16, 0.1), np.zeros(16, dtype=np.int64), np.full(1, 2.0), apart(16)
    learnt = [fit(line, Measured(size * off, *known)).model_errors[0] for size in (0.0, 1.0)]
    assert learnt[0] < 0.2
    assert 1.0 < learnt[1] < 2.2


def test_predictions_are_those_of_a_gaussian_process():
    """Of scikit-learn, about zero; of a linear model, whose derivatives add a linear kernel."""
    flexion = np.array([0.0, 1.0, 1.4, 3.0, 9.0])
    known = np.array([True, True, False, True, False])
    values = np.where(known, np.sin(flexion), np.nan)
    measured = Measured(
        values, np.full(5, 0.1), np.zeros(5, np.int64), np.ones(1), np.column_stack([flexion] * 2)
    )
    slope = np.column_stack([flexion, np.ones(5)])
    for derivatives in (None, slope):
        mean, sd = predict(measured, known, np.full((3, 1), 0.7), np.zeros(5), derivatives)
        kernel = 0.49 * RBF(1.0 / np.sqrt(2.0))
        if derivatives is not None:
            kernel += DotProduct(1.0)
        process = GaussianProcessRegressor(kernel, alpha=0.01, optimizer=None)
        process.fit(flexion[known, None], values[known])
        expected, deviation = process.predict(flexion[:, None], return_std=True)
        assert_allclose(mean, expected, rtol=0.0, atol=1e-10)
        assert_allclose(sd, np.hypot(deviation, 0.1), rtol=1e-8)
    assert sd[2] < 0.4 < 0.7 < sd[4]


def test_other_directions_and_draws_widen_a_prediction():
    kinds, places = np.array([0, 1]), np.zeros((2, 2))
    measured = Measured(np.array([1.0, np.nan]), np.full(2, 0.1), kinds, np.ones(2), places)
    known = np.array([True, False])
    mean, sd = predict(measured, known, np.full((2, 2), 0.7), np.array([[0.0, 3.0], [0.0, 5.0]]))
    assert_allclose(mean[1], 4.0, rtol=1e-12)
    assert_allclose(sd[1], np.sqrt(0.49 + 0.01 + 1.0), rtol=1e-12)


def test_groups_are_the_beginnings_of_names():
    assert {name: list(rows) for name, rows in groups_of(BUNDLES).items()} == {
        "ACL": [0], "PCL": [1], "MCL": [2], "LCL": [3],
    }  # fmt: skip
    named = groups_of(BUNDLES, ("ACL", "P", "MCL", "L"))
    assert named["P"].tolist() == [1]
    assert groups_of(BUNDLES, ("P", "MCL")).keys() == {"P", "MCL", "ACL", "LCL"}
    with pytest.raises(InputError, match="found POL"):
        groups_of(BUNDLES, ("ACL", "PCL", "MCL", "LCL", "POL"))


def test_refusals(laxity):
    with pytest.raises(InputError, match="two or more increasing loads"):
        LaxityTest("anterior", 0.1, [100.0, -100.0], 40.0)
    with pytest.raises(InputError, match="expected bundles that hold the knee"):
        LaxityKnee(laxity.uncertain.knee.contact, ())
    with pytest.raises(EquilibriumError, match="no equilibrium follows"):
        laxity.uncertain.knee.states(LaxityTest("internal", 0.1, [0.0, 400.0], 40.0), Pose())


def test_a_fit_turns_back_where_the_knee_has_no_state():
    """The optimum (1.2, -0.7) of a line lies beyond where its states end."""

    class Cliff(Line):
        def __call__(self, z, near=None):
            if z[0] > 0.9:
                raise EquilibriumError("no state")
            return super().__call__(z)

    values = Line.jacobian @ [1.2, -0.7]
    known = np.full(2, 0.05), np.array([0, 0]), np.full(1, 1e-3), apart(2)
    measured = Measured(values, *known)
    assert fit(Line(), measured).answer.z[0] > 1.1
    found = fit(Cliff(), measured).answer
    assert 0.3 < found.z[0] <= 0.9
    assert np.linalg.norm(found.values - values) < 0.75 * np.linalg.norm(values)


def test_other_rests_differ_by_more_than_a_tenth(laxity, monkeypatch):
    held, states = laxity.uncertain.knee, laxity.base.states[0]
    assert len(held.other_rests(states)) == 0
    for away, count in ((0.5e-4, 0), (2e-4, 2)):
        rest = states.poses[0] + away * np.eye(6)[ANTERIOR]
        monkeypatch.setattr(LaxityKnee, "rest", lambda *_, rest=rest: rest)
        assert len(held.other_rests(states)) == count
