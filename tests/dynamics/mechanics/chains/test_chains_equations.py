"""Equations of motion against textbook cases, naive sums and identities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from differences import differences
from numpy.testing import assert_allclose

from dynamics.mechanics.chains import (
    Assembly,
    Chain,
    ChainSegment,
    PrescribedMotion,
    ViscoelasticLink,
)

G = 9.80665


def point_masses(*pairs: tuple[float, float], **options) -> Chain:
    """A chain of masses at the ends of rods without mass, (length, mass)."""
    return Chain(
        "p",
        tuple(ChainSegment(f"s{i}", rod, m, 0.0, [rod, 0.0]) for i, (rod, m) in enumerate(pairs)),
        **options,
    )


def naive_double_pendulum(angles, rates, lengths, masses) -> np.ndarray:
    """Textbook double pendulum (angles from the downward vertical), solved by hand."""
    (t1, t2), (w1, w2), (l1, l2), (m1, m2) = angles, rates, lengths, masses
    d = t1 - t2
    common = 2.0 * m1 + m2 - m2 * np.cos(2.0 * d)
    first = (
        -G * (2.0 * m1 + m2) * np.sin(t1)
        - m2 * G * np.sin(t1 - 2.0 * t2)
        - 2.0 * np.sin(d) * m2 * (w2**2 * l2 + w1**2 * l1 * np.cos(d))
    ) / (l1 * common)
    second = (
        2.0
        * np.sin(d)
        * (w1**2 * l1 * (m1 + m2) + G * (m1 + m2) * np.cos(t1) + w2**2 * l2 * m2 * np.cos(d))
    ) / (l2 * common)
    return np.array([first, second])


def test_double_pendulum_of_the_textbooks():
    lengths, masses = (0.7, 1.1), (2.0, 0.8)
    assembly = Assembly((point_masses(*zip(lengths, masses, strict=True)),))
    rng = np.random.default_rng(1)
    for _ in range(20):
        angles, rates = rng.uniform(-3.0, 3.0, 2), rng.uniform(-5.0, 5.0, 2)
        expected = naive_double_pendulum(angles, rates, lengths, masses)
        found = assembly.accelerations(0.0, angles - np.pi / 2.0, rates)
        assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


def naive_centres(chain: Chain, angles: np.ndarray) -> list[np.ndarray]:
    """Centres of mass, one segment after the other."""
    at, found = np.array(chain.base), []
    for segment, angle in zip(chain.segments, angles, strict=True):
        c, s = np.cos(angle), np.sin(angle)
        found.append(at + np.array([[c, -s], [s, c]]) @ segment.centre)
        at = at + segment.length * np.array([c, s])
    return found


def dissipated(assembly: Assembly, angles, rates) -> float:
    """Power that the dampers of joints and links take, by differences of lengths over time."""
    power, states, start = 0.0, {}, 0
    for chain in assembly.chains:
        part = slice(start, start + len(chain.segments))
        start, states[chain.name] = part.stop, (chain, angles[part], rates[part])
        joint_rates = np.diff(rates[part], prepend=0.0)
        power += sum(j.damping * w**2 for j, w in zip(chain.joints, joint_rates, strict=True))
    step = 1e-6
    for link in assembly.links:
        vectors = []
        for time in (-step, step):
            ends = []
            for _, (name, segment), point in link.ends:
                chain, at, moving = states[name]
                k = chain.segment_names.index(segment)
                moved = list(chain.segments)
                moved[k] = replace(moved[k], centre=point)
                ends.append(
                    naive_centres(replace(chain, segments=tuple(moved)), at + time * moving)[k]
                )
            vectors.append(ends[1] - ends[0])
        if link.kind == "line":
            rate = (np.linalg.norm(vectors[1]) - np.linalg.norm(vectors[0])) / (2.0 * step)
        else:
            rate = np.linalg.norm(vectors[1] - vectors[0]) / (2.0 * step)
        power += link.damping * rate**2
    return power


@pytest.mark.parametrize("damping", [0.0, 1.0])
def test_energy_falls_by_what_the_dampers_take(random_chains, damping):
    assembly, angles, rates = random_chains(6, damping=damping)
    rates = 5.0 * rates
    accelerations = assembly.accelerations(0.0, angles, rates)

    def energy(time: np.ndarray) -> float:
        at = assembly.evaluate(0.0, angles + time * rates, rates + time * accelerations)
        return at.kinetic + at.potential

    power = differences(energy, [0.0], 1e-5)[0]
    if damping:
        assert power < -1.0
    assert_allclose(power, -dissipated(assembly, angles, rates), rtol=1e-6, atol=2e-6)


def test_energy_of_a_moving_double_pendulum_by_hand():
    chain = point_masses((0.5, 2.0), (0.3, 1.0), base=[0.2, 1.0])
    at = Assembly((chain,)).evaluate(0.0, [0.0, np.pi / 2.0], [2.0, -1.0])
    # Velocities: 0.5*2 upwards, then 0.3*1 to the right besides.
    assert_allclose(at.kinetic, 0.5 * (2.0 * 1.0 + 1.0 * (1.0 + 0.09)), rtol=1e-14)
    assert_allclose(at.potential, G * (2.0 * 1.0 + 1.0 * 1.3), rtol=1e-14)


def test_an_accelerated_base_is_a_change_of_gravity():
    time = np.linspace(0.0, 1.0, 6)
    acceleration = np.array([3.0, -2.0])
    path = 0.5 * np.outer(time**2, acceleration) + np.outer(time, [1.0, 4.0])
    moved = Assembly((point_masses((0.5, 2.0), (0.3, 1.0), base=PrescribedMotion(time, path)),))
    still = Assembly(
        (point_masses((0.5, 2.0), (0.3, 1.0)),), gravity=np.array([0.0, -G]) - acceleration
    )
    angles, rates = [0.3, -1.0], [2.0, -3.0]
    assert_allclose(
        moved.accelerations(0.4, angles, rates), still.accelerations(0.0, angles, rates), rtol=1e-9
    )


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


def test_turning_everything_turns_nothing_relative(random_chains):
    assembly, angles, rates = random_chains(5)
    turn = 0.7
    c, s = np.cos(turn), np.sin(turn)
    rotation = np.array([[c, -s], [s, c]])
    chains = []
    for chain in assembly.chains:
        first, *others = chain.joints
        joints = (replace(first, neutral=first.neutral + turn), *others)
        chains.append(replace(chain, base=rotation @ chain.base, joints=joints))
    turned = Assembly(tuple(chains), assembly.links, rotation @ assembly.gravity)
    before = assembly.evaluate(0.0, angles, rates)
    after = turned.evaluate(0.0, angles + turn, rates)
    assert_allclose(after.accelerations, before.accelerations, rtol=1e-9, atol=1e-9)
    assert_allclose(after.link_forces, before.link_forces @ rotation.T, rtol=1e-10, atol=1e-9)
    assert_allclose(after.potential, before.potential, rtol=1e-10)
