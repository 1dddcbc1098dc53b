"""Chains: order of the integrator, energy, straps, drives, failures, prescribed motions."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.mechanics.chain_parts import (
    GROUND,
    Chain,
    ChainSegment,
    Joint,
    PrescribedMotion,
    ViscoelasticLink,
)
from dynamics.mechanics.chains import Assembly, simulate_chains
from dynamics.simulator.equations import SimulationError

G = 9.80665
TIMES = np.linspace(0.0, 2.0, 41)
ROD = ChainSegment("rod", 0.8, 1.5, 1.5 * 0.8**2 / 12.0, [0.4, 0.0])


def test_rk4_is_of_order_four():
    rods, joints = (ROD, replace(ROD, name="next")), (Joint(5.0, 0.5), Joint(3.0, 0.3))
    assembly = Assembly((Chain("pair", rods, joints=joints),))
    angles, rates = [-1.4, -1.2], [0.5, -0.7]
    times = [0.0, 0.3]
    exact = simulate_chains(assembly, times, angles, rates, rtol=1e-12, atol=1e-13).angles[-1]
    errors = []
    for step in (1e-2, 5e-3, 2.5e-3):
        found = simulate_chains(assembly, times, angles, rates, method="RK4", step=step).angles[-1]
        errors.append(np.abs(found - exact).max())
    assert_allclose(-np.diff(np.log2(errors)), 4.0, rtol=0.0, atol=0.15)


def test_steps_too_long_for_stability_are_an_error():
    stiff = ViscoelasticLink("stiff", GROUND, [0.5, 0.5], ("a", "rod"), [0.5, 0.0], 1e5, 2e4)
    assembly = Assembly((Chain("a", (ROD,)),), (stiff,))
    with pytest.raises(SimulationError, match=r"RK4 failed before .* beyond all limits"):
        simulate_chains(assembly, TIMES, [-1.4], [0.5], method="RK4", step=0.05)


def test_a_strap_pulls_and_does_not_push():
    rod = ChainSegment("rod", 0.5, 2.0, 0.04, [0.25, 0.0])
    strap = ViscoelasticLink(
        "strap", GROUND, [0.0, 1.0], ("arm", "rod"), [0.5, 0.0], 100.0, 10.0, rest_length=0.6,
        pull_only=True,
    )  # fmt: skip
    assembly = Assembly((Chain("arm", (rod,)),), (strap,))
    at = partial(assembly.evaluate, 0.0)
    up, down = np.pi / 2.0, -np.pi / 2.0
    assert_allclose(at([up], [3.0]).link_forces, 0.0, rtol=0.0, atol=0.0)  # length 0.5: slack
    assert_allclose(at([down], [0.0]).link_forces, [[0.0, 90.0]], rtol=1e-12, atol=1e-12)
    # Taut, but shortening so fast that the damper would push.
    level = at([0.0], [30.0])
    assert np.hypot(0.5, 1.0) > 0.6
    assert_allclose(level.link_forces, 0.0, rtol=0.0, atol=0.0)
    assert_allclose(level.potential, 50.0 * (np.hypot(0.5, 1.0) - 0.6) ** 2, rtol=1e-12)
    assert at([0.0], [-3.0]).link_forces[0, 1] > 50.0
    assert_allclose(at([up], [0.0]).potential, 2.0 * G * 0.25, rtol=1e-12)


def test_energy_of_a_moving_double_pendulum_by_hand():
    segments = tuple(
        ChainSegment(f"{m}", rod, m, 0.0, [rod, 0.0]) for rod, m in ((0.5, 2.0), (0.3, 1.0))
    )
    at = Assembly((Chain("p", segments, [0.2, 1.0]),)).evaluate(
        0.0, [0.0, np.pi / 2.0], [2.0, -1.0]
    )
    # Velocities: 0.5*2 upwards, then 0.3*1 to the right besides.
    assert_allclose(at.kinetic, 0.5 * (2.0 * 1.0 + 1.0 * (1.0 + 0.09)), rtol=1e-14)
    assert_allclose(at.potential, G * (2.0 * 1.0 + 1.0 * 1.3), rtol=1e-14)


def test_the_velocity_of_a_base_counts_in_dampers_and_kinetic_energy():
    time = np.linspace(0.0, 1.0, 6)
    rod = ChainSegment("rod", 0.5, 2.0, 0.1, [0.25, 0.0])
    still = Chain("still", (rod,))
    moving = Chain("moving", (rod,), base=PrescribedMotion(time, np.outer(time, [3.0, 4.0])))
    ends = ("still", "rod"), [0.1, 0.0], ("moving", "rod"), [0.1, 0.0]
    cuff = ViscoelasticLink("cuff", *ends, 0.0, 10.0, kind="bushing")
    at = Assembly((still, moving), (cuff,)).evaluate(0.5, [0.2, 0.2], [0.0, 0.0])
    assert_allclose(at.link_forces, [[-30.0, -40.0]], rtol=1e-9)
    assert_allclose(at.kinetic, 0.5 * 2.0 * 25.0, rtol=1e-9)


def test_a_drive_sees_its_own_chain_and_acts_on_its_joints():
    seen = []

    def drive(time, angles, rates):
        seen.append((time, *angles, *rates))
        return [3.0]

    rods = tuple(Chain(name, (ROD,)) for name in "ab")
    driven = Assembly((rods[0], replace(rods[1], drive=drive)))
    state = 0.5, [0.1, 0.2], [1.0, 2.0]
    gained = driven.accelerations(*state) - Assembly(rods).accelerations(*state)
    assert seen == [(0.5, 0.2, 2.0)]
    assert_allclose(gained, [0.0, 3.0 / (1.5 * 0.8**2 / 3.0)], rtol=1e-12, atol=1e-12)


def test_a_line_that_loses_its_direction_is_named():
    rods = tuple(Chain(name, (ROD,)) for name in "ab")
    line = ViscoelasticLink("cuff", ("a", "rod"), [0.3, 0.0], ("b", "rod"), [0.3, 0.0], 1e3)
    with pytest.raises(SimulationError, match=r"link cuff: the points of a line coincide"):
        Assembly(rods, (line,)).accelerations(0.2, [0.4, 0.4], [0.0, 0.0])


TIME = np.linspace(0.0, 1.0, 11)


def test_a_quintic_is_exact_with_its_derivatives():
    polynomials = [np.polynomial.Polynomial([1.0, -2.0, 0.5, 3.0, -1.0, 2.0]), None]
    polynomials[1] = np.polynomial.Polynomial([0.3, 1.0])
    motion = PrescribedMotion(TIME, np.column_stack([each(TIME) for each in polynomials]))
    for time in (0.0, 0.137, 0.5, 1.0):
        for order, found in enumerate(motion.at(time)):
            expected = [each.deriv(order)(time) for each in polynomials]
            assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_the_acceleration_converges_at_order_four():
    errors = []
    for rows in (41, 81):
        time = np.linspace(0.0, 1.0, rows)
        motion = PrescribedMotion(time, np.sin(6.0 * time)[:, None])
        instants = np.linspace(0.3, 0.7, 101)
        found = np.array([motion.at(each)[2][0] for each in instants])
        errors.append(np.abs(found + 36.0 * np.sin(6.0 * instants)).max())
    assert_allclose(np.log2(errors[0] / errors[1]), 4.0, rtol=0.0, atol=0.2)
    assert errors[1] < 1e-4
