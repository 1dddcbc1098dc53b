"""Static equilibrium: exact answers of spheres in dishes, and what cannot rest."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics import EquilibriumError, KneeSimulator, height_at_load, settle
from foundation.base.errors import InputError
from foundation.base.loads import ContactLoads
from foundation.base.pose import Pose

pytestmark = pytest.mark.delicate

PLANE = {"along": np.inf, "across": np.inf}
#: Springs for what a plane leaves free.
HELD = KneeSimulator(
    medial_offset=0.0, lateral_stiffness=1e4, anterior_stiffness=2e4, rotation_stiffness=30.0
)


@pytest.mark.parametrize("height", [8e-3, 1e-4, -1e-4, -3e-3, -8e-3])
@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.0])
def test_height_at_load_is_the_hertz_depth(knee, height, exponent):
    stiffness = 1300.0 / 1e-4**exponent
    dishes = knee(stiffness=stiffness, exponent=exponent, **PLANE)
    found = height_at_load(dishes, Pose(superior=height), 2000.0)
    expected = -((1000.0 / stiffness) ** (1.0 / exponent))
    assert_allclose(found, expected, rtol=0.0, atol=1e-11)
    assert len(dishes.calls) < 80


def test_height_at_load_says_when_contact_is_out_of_reach(knee):
    with pytest.raises(EquilibriumError, match=r"still carries less.*nearer to contact"):
        height_at_load(knee(), Pose(superior=0.041), 500.0)
    with pytest.raises(EquilibriumError, match="still carries more"):
        height_at_load(knee(), Pose(superior=-0.041), 500.0)
    with pytest.warns(UserWarning, match="superior"), pytest.raises(InputError, match="<= 1000 m"):
        height_at_load(knee(), Pose(superior=1e15), 500.0)


at_rest = partial(settle, flexion=0.0, axial_force=500.0, start=Pose())
STARTS = [
    Pose(),
    Pose(superior=6e-3),
    Pose(superior=-6e-3),
    Pose(0.0, 0.04, -0.15, 5e-3, 4e-3, -2e-3),
    Pose(0.0, -0.04, 0.15, -5e-3, -4e-3, 2e-3),
]


@pytest.mark.parametrize("start", STARTS)
def test_settle_in_dishes_is_exact(knee, start):
    """Without tilt: F x/along + k x = -AP, and the depth of half the axial force each."""
    dishes = knee()
    simulator = KneeSimulator(medial_offset=0.0)
    pose = settle(dishes, simulator, flexion=0.4, axial_force=2000.0, ap_force=-200.0, start=start)
    x = 200.0 / (2000.0 / dishes.along + 30e3)
    y = 0.5 * x * x / dishes.along - (1000.0 / 1.3e9) ** (2 / 3)
    assert_allclose(pose.array, [0.4, 0.0, 0.0, x, y, 0.0], rtol=0.0, atol=1e-8)
    assert len(dishes.calls) < 150


def test_settle_from_near_the_equilibrium_searches_no_height(knee):
    dishes, simulator = knee(), KneeSimulator(medial_offset=0.0)
    rest = at_rest(dishes, simulator)
    dishes.calls.clear()
    start = replace(rest, anterior=rest.anterior + 1e-4, superior=rest.superior + 1e-6)
    assert_allclose(at_rest(dishes, simulator, start=start).array, rest.array, rtol=0.0, atol=1e-9)
    assert len(dishes.calls) < 8


def test_settle_on_a_plane_balances_every_load(knee):
    dishes = knee(exponent=1.0, stiffness=1e7, **PLANE)
    simulator = replace(HELD, medial_offset=4e-3)
    pose = at_rest(dishes, simulator, flexion=0.2, axial_force=1500.0, ap_force=80.0)
    assert_allclose(pose.anterior, -80.0 / 2e4, rtol=1e-6)
    loads = dishes.loads(pose)
    assert_allclose(loads.force[1], 1500.0, rtol=1e-6)
    # Parallel forces: lever rule about the two points of contact. (With rotation the flexion
    # drive would hold part of the moment.)
    medial, lateral = (s * 22e-3 * np.cos(pose.adduction) for s in (-1, 1))
    share = (lateral + pose.lateral + 4e-3) / (lateral - medial)
    assert_allclose(loads.medial.force[1] / 1500.0, share, rtol=1e-6)
    assert pose.adduction > 1e-4


def test_random_knees_settle_from_far_starts(knee):
    rng = np.random.default_rng(7)
    for _ in range(20):
        along, across = rng.uniform(0.04, 0.3), rng.uniform(0.03, 0.2)
        dishes = knee(offset=(4e-3, 3e-3), along=along, across=across)
        low = np.array([0.0, -0.05, -0.2, -6e-3, -8e-3, -3e-3])
        pose = settle(
            dishes,
            KneeSimulator(),
            flexion=rng.uniform(0.0, 1.0),
            axial_force=rng.uniform(100.0, 3000.0),
            ap_force=rng.uniform(-265.0, 110.0),
            internal_torque=rng.uniform(-1.0, 6.0),
            start=Pose.from_array(low * rng.uniform(-1.0, 1.0, 6)),
        )
        assert dishes.loads(pose).medial.force[1] > 0.0


def test_nothing_holds_a_loaded_coordinate(knee):
    simulator = replace(HELD, anterior_stiffness=0.0)
    with pytest.raises(EquilibriumError, match="no restoring force on anterior"):
        at_rest(knee(**PLANE), simulator, ap_force=50.0)


def test_line_of_action_outside_the_condyles_tips_the_knee(knee):
    simulator = replace(HELD, medial_offset=0.03)
    with pytest.raises(EquilibriumError, match=r"residual .* on adduction"):
        at_rest(knee(**PLANE), simulator)


def test_equilibrium_on_a_ridge_is_unstable(knee):
    """On convex condyles the femur slides off, unless a spring stiffer than F/|across| holds."""
    ridge = knee(along=-0.05, across=np.inf)
    held = replace(HELD, anterior_stiffness=1.1 * 1000.0 / 0.05)
    assert_allclose(at_rest(ridge, held, axial_force=1e3).anterior, 0.0, rtol=0.0, atol=1e-9)
    loose = replace(HELD, anterior_stiffness=0.9 * 1000.0 / 0.05)
    with pytest.raises(EquilibriumError):
        at_rest(ridge, loose, axial_force=1e3)


@pytest.mark.parametrize("iterations", [13, 300])
def test_the_femur_rests_at_a_small_jump_of_the_force(knee, iterations):
    """An AP force that changes its sign at an edge leaves no pose without a residual."""

    rest = partial(at_rest, simulator=KneeSimulator(medial_offset=0.0), ap_force=-50.0)
    edge = rest(knee()).anterior
    rest = partial(rest, iterations=iterations)

    class Edged(knee):
        jump = 2e-3

        def loads(self, pose, order=0):
            loads = super().loads(pose, 1)
            pull = -self.jump * np.sign(pose.anterior - edge)
            wrench = loads.wrench + np.array([pull, 0.0, 0.0, 0.0, 0.0, 0.0])
            return ContactLoads.from_wrench(wrench, loads.total_jacobian)

    assert_allclose(rest(Edged()).anterior, edge, rtol=0.0, atol=1e-6)
    Edged.jump = 0.2
    assert_allclose(rest(Edged()).anterior, edge, rtol=0.0, atol=5e-5)
    Edged.jump = 1.0
    with pytest.raises(EquilibriumError, match=r"residual .* on anterior"):
        rest(Edged())


@pytest.mark.parametrize("before", [5.0, 200.0, 450.0])
@pytest.mark.parametrize("start", STARTS)
def test_the_femur_rests_where_the_force_of_a_condyle_jumps(knee, before, start):
    """The jump carries what is between the forces before and after it."""
    deep = [(force / 1.3e9) ** (2 / 3) for force in (500.0, before)]
    dishes = knee(leap=(600.0, deep[1]))
    found = at_rest(dishes, HELD, axial_force=1000.0, ap_force=30.0, start=start)
    depths = [dishes._depth(centre) for centre, _ in dishes._centres(found)]
    assert_allclose(depths, deep, rtol=0.0, atol=2e-6)
    # A dish of 80 mm resists by F / R beside the spring.
    assert_allclose(found.anterior, -30.0 / (2e4 + 1000.0 / 0.08), rtol=0.0, atol=2e-5)


def test_failure_of_the_model_is_chained_with_the_pose(knee):
    class Broken(knee):
        def loads(self, pose, order=0):
            raise ArithmeticError("no such surface")

    with pytest.raises(EquilibriumError, match=r"no such surface") as caught:
        at_rest(Broken(), KneeSimulator(), flexion=0.5)
    assert isinstance(caught.value.__cause__, ArithmeticError)
    assert "flexion 28.65 deg" in str(caught.value)


def test_slopes_that_are_not_finite_are_no_equilibrium(knee):
    class Broken(knee):
        def loads(self, pose, order=0):
            return SimpleNamespace(wrench=np.zeros(6), total_jacobian=np.full((6, 6), np.nan))

    with pytest.raises(EquilibriumError, match=r"failed at flexion .* slopes are not finite"):
        at_rest(Broken(), KneeSimulator(), flexion=0.5)
