"""Growing stiffness and tangential compliance of links: closed forms, fine integration, energy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad, solve_ivp
from some_slow import first_of

from dynamics.mechanics.unilateral import UnilateralLink, simulate_links

MASS, STIFFNESS, DEPTH = 0.5, 2e4, 1e-3


def deepest(speed: float) -> float:
    """k (U²/2 + U³/(3 Um)) = m v²/2."""
    roots = np.roots([STIFFNESS / (3.0 * DEPTH), STIFFNESS / 2.0, 0.0, -MASS * speed**2 / 2.0])
    return float(roots[np.isreal(roots) & (roots.real > 0.0)].real[0])


def duration(speed: float) -> float:
    """Twice the time to the deepest point, from the energy, with U = Umax sin s."""
    most = deepest(speed)

    def integrand(s):
        u = most * np.sin(s)
        energy = STIFFNESS * (u**2 / 2.0 + u**3 / (3.0 * DEPTH))
        rate = np.sqrt(speed**2 - 2.0 * energy / MASS)
        return most * np.cos(s) / rate if rate > 0.0 else 0.0

    return 2.0 * quad(integrand, 0.0, np.pi / 2.0 - 1e-6)[0]


@pytest.mark.slow
@pytest.mark.parametrize("times", [1.0, 0.1, 5.0])
def test_impact_with_growing_stiffness_in_closed_form(times):
    # The speed for which the deepest point is at so many doubling depths.
    u = times * DEPTH
    speed = np.sqrt(2.0 / MASS * STIFFNESS * (u**2 / 2.0 + u**3 / (3.0 * DEPTH)))
    assert_allclose(deepest(speed), u, rtol=1e-9)
    contact = duration(speed)
    link = UnilateralLink([1.0], STIFFNESS, doubling_depth=DEPTH)
    errors = []
    for n_steps in (1000, 2000):
        step = 1.2 * contact / n_steps
        motion = simulate_links([[MASS]], [link], [0.0], [-speed], step=step, n_steps=n_steps)
        errors.append(
            [
                abs(-motion.position.min() - u) / u,
                abs(np.count_nonzero(motion.normal) * step - contact) / contact,
            ]
        )
        peak = STIFFNESS * u * (1.0 + times)
        assert_allclose(motion.normal.max(), peak, rtol=2e-2)
    assert np.max(errors[1]) < 6e-3
    assert_allclose(errors[1][0] / errors[0][0], 0.5, rtol=0.1)


@pytest.mark.parametrize("ratio", first_of([0.25, 1.0 / 6.0, 1.0]))
def test_rebound_of_a_point_mass_that_sticks_in_closed_form(ratio):
    # Half a normal oscillation; meanwhile the tangential one turns by pi (kt / k)^½.
    normal_speed, along = 1.0, 0.8
    link = UnilateralLink(
        [0.0, 1.0], STIFFNESS, friction=100.0, tangent=[1.0, 0.0],
        tangential_stiffness=ratio * STIFFNESS,
    )  # fmt: skip
    step = np.pi * np.sqrt(MASS / STIFFNESS) / 2000
    motion = simulate_links(
        MASS * np.eye(2), [link], [0.0, 0.0], [along, -normal_speed], step=step, n_steps=2200
    )
    assert motion.normal[-1, 0] == 0.0
    expected = along * np.cos(np.pi * np.sqrt(ratio))
    assert_allclose(motion.velocity[-1, 0], expected, rtol=0.0, atol=8e-3)
    assert_allclose(motion.velocity[-1, 1], normal_speed, rtol=6e-3)


def by_fine_integration(ratio, friction, along, down):
    """Spring, slider and normal spring, with the tip's velocity cut off at the limit."""
    kt, rate = ratio * STIFFNESS, 1e7

    def slope(_, state):
        x, y, vx, vy, tip = state
        pressed = max(-y, 0.0)
        normal = STIFFNESS * pressed * (1.0 + pressed / DEPTH)
        # The tip creeps fast where the spring exceeds the limit.
        pull = kt * (x - tip)
        excess = pull - np.clip(pull, -friction * normal, friction * normal)
        force = pull - excess
        return [vx, vy, -force / MASS, normal / MASS, rate * excess / kt]

    end = lambda _, state: state[1]  # noqa: E731
    end.terminal, end.direction = True, 1.0
    found = solve_ivp(
        slope, (0.0, 0.1), [0.0, 0.0, along, -down, 0.0], "LSODA", events=end, rtol=1e-9,
        atol=1e-12, max_step=1e-5,
    )  # fmt: skip
    return found.y[2:4, -1]


@pytest.mark.slow
@pytest.mark.parametrize(("friction", "along"), [(0.3, 0.4), (0.8, 1.0), (0.3, 1.5)])
def test_oblique_impact_that_sticks_and_slips_against_fine_integration(friction, along):
    ratio, down = 2.0 / 3.0, 1.0
    link = UnilateralLink(
        [0.0, 1.0], STIFFNESS, friction=friction, tangent=[1.0, 0.0], doubling_depth=DEPTH,
        tangential_stiffness=ratio * STIFFNESS,
    )  # fmt: skip
    motion = simulate_links(
        MASS * np.eye(2), [link], [0.0, 0.0], [along, -down], step=5e-6, n_steps=2800
    )
    assert motion.normal[-1, 0] == 0.0
    assert_allclose(
        motion.velocity[-1], by_fine_integration(ratio, friction, along, down), atol=4e-3
    )


@pytest.mark.slow
def test_energy_never_rises_with_growth_and_tangential_springs():
    rng = np.random.default_rng(1)
    for _ in range(4):
        root = rng.normal(size=(3, 3))
        mass = root @ root.T + np.eye(3)
        links = [
            UnilateralLink(
                rng.normal(size=3), 1e4, damping, 0.005, 0.4, rng.normal(size=3),
                doubling_depth=0.01, tangential_stiffness=5e3,
            )
            for damping in (0.0, 15.0)
        ]  # fmt: skip
        springs = np.diag([100.0, 150.0, 80.0])
        motion = simulate_links(
            mass, links, np.zeros(3), rng.normal(size=3), step=1e-3, n_steps=300,
            stiffness=springs,
        )  # fmt: skip
        total = 0.5 * np.einsum("ti,ij,tj->t", motion.velocity, mass, motion.velocity)
        total += 0.5 * np.einsum("ti,ij,tj->t", motion.position, springs, motion.position)
        for column, link in enumerate(links):
            tip = [0.0]
            for n in motion.normal[:, column]:
                # k ξ (1 + ξ / Um) + c (ξ - ξ') / h = N.
                c = link.damping / 1e-3
                tip.append(max(np.roots([1e6, 1e4 + c, -n - c * tip[-1]]).real))
            tip = np.array(tip)
            total += 1e4 * (tip**2 / 2.0 + tip**3 / 0.03)
            total[1:] += motion.friction[:, column] ** 2 / 1e4
        assert np.diff(total).max() < 1e-9 * total[0]
        assert total[-1] < 0.99 * total[0]
        assert (motion.normal.max(axis=0) > 0.0).any()
        limits = 0.4 * motion.normal
        assert (np.abs(motion.friction) <= limits * (1.0 + 1e-9) + 1e-9).all()


# ---- two bodies in a row and a wall (multiple impact) ----


def two_bodies(masses, stiffness, gaps, speeds, step, n_steps):
    """Wall at the right: body 1, then body 2 next to the wall."""
    links = [
        UnilateralLink([-1.0, 1.0], stiffness[0], gap=gaps[0]),
        UnilateralLink([0.0, -1.0], stiffness[1], gap=gaps[1]),
    ]
    return simulate_links(np.diag(masses), links, [0.0, 0.0], speeds, step=step, n_steps=n_steps)


def two_bodies_fine(masses, stiffness, speeds):
    def slope(_, s):
        first, second = stiffness[0] * max(s[0] - s[1], 0.0), stiffness[1] * max(s[1], 0.0)
        return [s[2], s[3], -first / masses[0], (first - second) / masses[1]]

    period = 2.0 * np.pi * np.sqrt(max(masses) / min(stiffness))
    found = solve_ivp(
        slope, (0.0, 6.0 * period), [0.0, 0.0, *speeds], rtol=1e-10, atol=1e-13,
        max_step=period / 2000,
    )  # fmt: skip
    return found.y[2:, -1]


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [1.0, 0.02, 0.3, 4.0, 50.0])
def test_two_bodies_at_a_wall_against_fine_integration(ratio):
    masses, stiffness, speeds = (1.0, 1.0), (1e4, 1e4 * ratio), (1.0, 1.0)
    period = 2.0 * np.pi * np.sqrt(1.0 / min(stiffness))
    fine = two_bodies_fine(masses, stiffness, speeds)
    ends = []
    for n_steps in (1200, 2400) if ratio < 10.0 else (4000, 8000):
        step = 3.0 * period / n_steps
        motion = two_bodies(masses, stiffness, (0.0, 0.0), speeds, step, n_steps)
        assert_array_equal(motion.normal[-1], 0.0)
        ends.append(motion.velocity[-1])
    # The error is proportional to the step.
    end = 2.0 * ends[1] - ends[0]
    assert_allclose(end, fine, rtol=0.0, atol=0.03)
    # They leave the wall, apart from each other, with all their energy.
    assert end[0] <= end[1] + 0.02
    assert_allclose((end**2).sum(), 2.0, rtol=0.03)


@pytest.mark.slow
def test_bodies_that_meet_one_after_the_other_exchange_velocities():
    # Far apart, each impact is one of two equal bodies: velocities are exchanged.
    motion = two_bodies((1.0, 1.0), (1e6, 1e6), (0.02, 0.02), (2.0, 0.0), 1e-5, 5000)
    assert_allclose(motion.velocity[-1], [-2.0, 0.0], rtol=0.0, atol=0.1)
