"""Chains in closed forms: motion, order, energy, straps, drives, prescribed chains, failures."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import simpson
from scipy.special import ellipj, ellipk

from dynamics.mechanics.chains import (
    GROUND,
    Assembly,
    Attachment,
    Chain,
    ChainSegment,
    Joint,
    PrescribedMotion,
    ViscoelasticLink,
    simulate_chains,
)
from dynamics.simulator.equations import SimulationError

G = 9.80665
TIMES = np.linspace(0.0, 2.0, 41)
ROD = ChainSegment("rod", 0.8, 1.5, 1.5 * 0.8**2 / 12.0, [0.4, 0.0])
DOWN = -np.pi / 2.0


def test_physical_pendulum_by_elliptic_functions():
    """A rod released at 120 degrees; sin(θ/2) = k sn(K - ω t, k²), k = sin(60°)."""
    start, frequency = 2.0 * np.pi / 3.0, np.sqrt(1.5 * G / 0.8)
    k = np.sin(start / 2.0)
    found = simulate_chains(
        Assembly((Chain("pendulum", (ROD,)),)), TIMES, [DOWN + start], [0.0], rtol=1e-11, atol=1e-12
    )
    sn = ellipj(ellipk(k**2) - frequency * TIMES, k**2)[0]
    assert_allclose(found.angles[:, 0] - DOWN, 2.0 * np.arcsin(k * sn), rtol=0.0, atol=1e-9)


def two_chains(total: int, damping: float = 1.0) -> tuple[Assembly, np.ndarray, np.ndarray]:
    """Return two chains that hang side by side, linked segment by segment, and a state.

    Links are by turns lines and bushings. The numbers are drawn from a generator seeded by the
    number of segments; the second chain has as many as the first, or one less.
    """
    rng = np.random.default_rng(total)
    counts = ((total + 1) // 2, total // 2)
    chains = []
    for name, count, base in zip("ab", counts, ([0.0, 0.0], [0.06, 0.02]), strict=True):
        segments = tuple(
            ChainSegment(
                f"s{i}",
                length=rng.uniform(0.25, 0.35),
                mass=rng.uniform(0.5, 3.0),
                inertia=rng.uniform(0.005, 0.02),
                centre=[rng.uniform(0.1, 0.2), rng.uniform(-0.02, 0.02)],
            )
            for i in range(count)
        )
        joints = tuple(
            Joint(rng.uniform(2.0, 10.0), damping * rng.uniform(0.1, 0.5), rng.uniform(-0.2, 0.2))
            for _ in range(count)
        )
        chains.append(Chain(name, segments, base, joints))
    links = []
    for i in range(counts[1]):
        line = i % 2 == 0
        links.append(
            ViscoelasticLink(
                f"l{i}",
                ("a", f"s{i}"),
                [rng.uniform(0.05, 0.2), 0.02],
                ("b", f"s{i}"),
                [rng.uniform(0.05, 0.2), -0.01],
                stiffness=rng.uniform(200.0, 1500.0),
                damping=damping * rng.uniform(2.0, 10.0),
                rest_length=rng.uniform(0.02, 0.06) if line else 0.0,
                kind="line" if line else "bushing",
            )
        )
    assembly = Assembly(tuple(chains), tuple(links))
    return assembly, rng.normal(-1.4, 0.1, total), rng.normal(0.0, 0.5, total)


def test_rk4_is_of_order_four():
    assembly, angles, rates = two_chains(4)
    times = [0.0, 0.3]
    exact = simulate_chains(assembly, times, angles, rates, rtol=1e-12, atol=1e-13).angles[-1]
    errors = []
    for step in (4e-3, 2e-3, 1e-3):
        found = simulate_chains(assembly, times, angles, rates, method="RK4", step=step).angles[-1]
        errors.append(np.abs(found - exact).max())
    assert_allclose(-np.diff(np.log2(errors)), 4.0, rtol=0.0, atol=0.15)


def test_energy_is_conserved_without_damping():
    assembly, angles, rates = two_chains(5, damping=0.0)
    found = simulate_chains(assembly, TIMES[:11], angles, rates, rtol=1e-10, atol=1e-11)
    assert np.ptp(found.kinetic) > 1.0
    assert_allclose(found.energy, found.energy[0], rtol=0.0, atol=1e-9 * np.ptp(found.kinetic))


def limb_and_orthosis() -> Assembly:
    """A leg that walks through a table of angles, with a two-bar orthosis in two cuffs."""
    time = np.linspace(0.0, 1.0, 101)
    angles = np.array([-1.5, -1.8]) + np.sin(np.add.outer(6.0 * time, [0.0, 0.5])) * [0.4, 0.6]
    thigh = ChainSegment("thigh", 0.42, 8.0, 0.12, [0.18, 0.01])
    shank = ChainSegment("shank", 0.43, 3.5, 0.06, [0.19, -0.01])
    bars = tuple(ChainSegment(name, 0.42, 0.7, 0.01, [0.2, 0.0]) for name in ("upper", "lower"))
    chains = (
        Chain("limb", (thigh, shank), angles=PrescribedMotion(time, angles)),
        Chain("orthosis", bars, joints=(Joint(), Joint(damping=0.2))),
    )
    cuffs = tuple(
        ViscoelasticLink(f"cuff {a}", ("limb", a), [0.3, 0.0], ("orthosis", b), [0.3, 0.0], 5e3,
                         50.0, kind="bushing")
        for a, b in (("thigh", "upper"), ("shank", "lower"))
    )  # fmt: skip
    return Assembly(chains, cuffs)


@pytest.mark.slow
def test_the_limb_follows_its_table_and_the_orthosis_the_limb():
    assembly = limb_and_orthosis()
    times = np.linspace(0.0, 1.0, 401)
    limb = assembly.chains[0].angles
    start, rates, _ = limb.at(0.0)
    found = simulate_chains(assembly, times, start, rates, rtol=1e-7, atol=1e-9)
    assert_allclose(found.angles[:, :2], [limb.at(each)[0] for each in times], rtol=1e-14)
    assert np.abs(found.angles[:, 2:] - found.angles[:, :2]).max() < 0.05
    assert_array_equal(found.torques[:, 2:], 0.0)
    # Work of the driving torques = change of energy + what the dampers take.
    power = np.sum(found.torques[:, :2] * np.diff(found.rates[:, :2], axis=1, prepend=0.0), axis=1)
    joint = found.rates[:, 3] - found.rates[:, 2]
    lost = 0.2 * joint**2 + cuff_power(found)
    balance = simpson(power - lost, found.time)
    assert_allclose(balance, found.energy[-1] - found.energy[0], rtol=0.0, atol=1e-4)
    assert simpson(lost, found.time) > 0.01


def cuff_power(found) -> np.ndarray:
    """Power that the dampers of the two cuffs take."""
    turning = 1j * np.exp(1j * found.angles) * found.rates
    upper = 0.3 * (turning[:, 2] - turning[:, 0])
    lower = 0.42 * (turning[:, 2] - turning[:, 0]) + 0.3 * (turning[:, 3] - turning[:, 1])
    return 50.0 * (np.abs(upper) ** 2 + np.abs(lower) ** 2)


def test_steps_too_long_for_stability_are_an_error():
    assembly, angles, rates = two_chains(2)
    stiff = replace(assembly.links[0], stiffness=1e5, damping=2e4)
    with pytest.raises(SimulationError, match=r"RK4 failed before .* beyond all limits"):
        simulate_chains(
            Assembly(assembly.chains, (stiff,)), TIMES, angles, rates, method="RK4", step=0.05
        )


def test_absolute_angles_that_no_torque_imposes_are_an_error():
    """A long arm, prescribed, on a light free lever: at cos Δ = -(J + m l²)/(m l c) none does."""
    lever = Chain("lever", (ChainSegment("lever", 0.2, 0.1, 0.001, [0.1, 0.0]),))
    arm = Chain(
        "arm", (ChainSegment("arm", 1.0, 5.0, 0.1, [0.5, 0.0]),),
        Attachment("lever", "lever", [0.2, 0.0]),
        angles=PrescribedMotion(TIMES, 0.0 * TIMES[:, None]),
    )  # fmt: skip
    assembly = Assembly((lever, arm))
    critical = np.arccos(-(0.002 + 5.0 * 0.2**2) / (5.0 * 0.2 * 0.5))
    assert assembly.reacts_on_free
    beside = [abs(assembly.accelerations(0.0, [critical + s], [0.0])[0]) for s in (1e-2, 1e-6)]
    assert beside[1] > 1e3 * beside[0]
    with pytest.raises(SimulationError, match=r"no torque at the joint imposes these angles: use"):
        simulate_chains(assembly, TIMES[:21], [critical - 0.1], [3.0])
    with pytest.raises(SimulationError, match=r"RK4 failed at .* no torque at the joint imposes"):
        simulate_chains(assembly, TIMES[:21], [critical - 0.1], [3.0], method="RK4", step=0.01)
    relative = replace(arm, base=replace(arm.base, relative=True))
    assert not Assembly((lever, relative)).reacts_on_free
    assert np.isfinite(
        simulate_chains(Assembly((lever, relative)), TIMES[:21], [2.0], [3.0]).energy[-1]
    )


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
