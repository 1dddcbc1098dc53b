"""Simulation: closed forms, order, energy, prescribed chains and failures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import simpson
from scipy.special import ellipj, ellipk

from dynamics.mechanics.chains import (
    Assembly,
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


@pytest.mark.slow
def test_damped_joint_without_gravity_by_its_closed_form():
    joint = Joint(stiffness=4.0, damping=0.3, neutral=0.5)
    chain = Chain("door", (ROD,), joints=(joint,))
    inertia = 1.5 * 0.8**2 / 3.0
    decay, frequency = 0.3 / (2.0 * inertia), np.sqrt(4.0 / inertia)
    damped = np.sqrt(frequency**2 - decay**2)
    found = simulate_chains(
        Assembly((chain,), gravity=[0.0, 0.0]), TIMES, [0.8], [0.0], method="Radau"
    )
    wave = np.cos(damped * TIMES) + decay / damped * np.sin(damped * TIMES)
    expected = 0.5 + 0.3 * np.exp(-decay * TIMES) * wave
    assert_allclose(found.angles[:, 0], expected, rtol=0.0, atol=1e-7)


def order_of(errors: list[float]) -> np.ndarray:
    return np.log2(np.array(errors[:-1]) / np.array(errors[1:]))


def test_rk4_is_of_order_four(random_chains):
    assembly, angles, rates = random_chains(4)
    times = [0.0, 0.3]
    exact = simulate_chains(assembly, times, angles, rates, rtol=1e-12, atol=1e-13).angles[-1]
    errors = []
    for step in (4e-3, 2e-3, 1e-3):
        found = simulate_chains(assembly, times, angles, rates, method="RK4", step=step).angles[-1]
        errors.append(np.abs(found - exact).max())
    assert_allclose(order_of(errors), 4.0, rtol=0.0, atol=0.15)


def test_energy_is_conserved_without_damping(random_chains):
    assembly, angles, rates = random_chains(16, damping=0.0)
    found = simulate_chains(assembly, TIMES[:11], angles, rates, rtol=1e-10, atol=1e-11)
    assert np.ptp(found.kinetic) > 10.0
    assert_allclose(found.energy, found.energy[0], rtol=0.0, atol=1e-9 * np.ptp(found.kinetic))


def test_drift_of_energy_by_rk4_falls_at_least_at_order_four(random_chains):
    assembly, angles, rates = random_chains(4, damping=0.0)
    drift = []
    for step in (4e-3, 2e-3, 1e-3):
        found = simulate_chains(assembly, [0.0, 0.3], angles, rates, method="RK4", step=step)
        drift.append(abs(found.energy[-1] - found.energy[0]))
    assert order_of(drift).min() > 3.8
    assert drift[-1] < 1e-5


@pytest.mark.parametrize("total", [2, 16])
def test_energy_never_rises_with_damping(random_chains, total):
    assembly, angles, rates = random_chains(total)
    found = simulate_chains(assembly, np.linspace(0.0, 0.5, 101), angles, rates)
    assert np.diff(found.energy).max() < 0.0
    assert found.energy[-1] < found.energy[0] - 1.0


@pytest.mark.slow
def test_stiff_links_by_the_implicit_method(random_chains):
    assembly, angles, rates = random_chains(2)
    stiff = replace(assembly.links[0], stiffness=1e5, damping=2e3)
    assembly = Assembly(assembly.chains, (stiff,))
    implicit, explicit = (
        simulate_chains(assembly, [0.0, 0.02], angles, rates, method=each)
        for each in ("Radau", "DOP853")
    )
    assert_allclose(implicit.angles, explicit.angles, rtol=0.0, atol=1e-6)


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
    assert limb is not None
    start, rates, _ = limb.at(0.0)
    found = simulate_chains(assembly, times, start, rates, rtol=1e-7, atol=1e-9)
    assert_allclose(found.angles[:, :2], [limb.at(each)[0] for each in times], rtol=1e-14)
    assert np.abs(found.angles[:, 2:] - found.angles[:, :2]).max() < 0.05
    assert found.columns[2] == "orthosis.upper"
    assert found.link_names == ("cuff thigh", "cuff shank")
    assert found.link_forces.shape == (401, 2, 2)
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


@pytest.mark.slow
def test_a_limb_driven_by_the_torques_found_moves_as_prescribed():
    assembly = limb_and_orthosis()
    limb, orthosis = assembly.chains
    start, rates, _ = limb.angles.at(0.0)
    times = np.linspace(0.0, 0.3, 301)
    given = simulate_chains(assembly, times, start, rates)
    torques = PrescribedMotion(times, given.torques[:, :2])
    free = Assembly(
        (replace(limb, angles=None, drive=lambda t, a, r: torques.at(t)[0]), orthosis),
        assembly.links,
    )
    found = simulate_chains(free, times[::50], given.angles[0], given.rates[0])
    assert_allclose(found.angles, given.angles[::50], rtol=0.0, atol=1e-6)


def test_steps_too_long_for_stability_are_an_error(random_chains):
    assembly, angles, rates = random_chains(2)
    stiff = replace(assembly.links[0], stiffness=1e5, damping=2e4)
    with pytest.raises(SimulationError, match=r"RK4 failed before .* beyond all limits"):
        simulate_chains(
            Assembly(assembly.chains, (stiff,)), TIMES, angles, rates, method="RK4", step=0.05
        )
