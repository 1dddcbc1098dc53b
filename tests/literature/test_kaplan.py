"""Kaplan, Hovey & Heegaard: energy-conserving impact at heel strike (2 pages, eq. 1 to 4).

The figures are missing from the scan, and no lengths, masses, postures or parameters of the ground
are printed: they are chosen here. A docstring opens with the place in the paper.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from literature_rows import shared
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from dynamics.mechanics.ground import (
    CompliantGround,
    newton_impact,
    penalty_ground,
    simulate_strike,
    standing_start,
    striking_legs,
)
from dynamics.motion.motion_tables import read_motion_table
from foundation.contact_laws.normal import CompliantFriction, ContactLaw
from tests.oracles.heel_strike import (
    FRICTION,
    heel_strike,
    kinetic,
    places,
    reversing_impact,
    rigid,
    rows,
)

#: ε [m/N], β [N s/m] and μ of the default ground.
COMPLIANCE, DAMPING, MU = 1e-5, 500.0, 0.8
WEIGHT = 75.0 * 9.81
OURS = penalty_ground()


@dataclass(frozen=True)
class PrintedGround(CompliantGround):
    """Ground by eq. 3 and 4 with one ε and one β, which may pull and pass Coulomb's limit.

    `direction` of friction: ḋ_t/‖d_t‖ ("printed", in seconds), ḋ_t/‖ḋ_t‖ ("rate") or d_t/‖d_t‖
    ("distance"); ḋ_t/√(ḋ_t² + v₀²) in place of the second, which is open at ḋ_t = 0.
    """

    normal: ContactLaw = OURS.normal
    friction: CompliantFriction = OURS.friction
    compliance: float = COMPLIANCE
    damping: float = DAMPING
    direction: str = "rate"
    reversal_speed: float = 1e-3

    def tangential_force(self, gap, distance, slip):
        """Return F_t [N] at heights, tangential distances [m] and velocities [m/s]."""
        limit = self.friction.coefficient * np.maximum(-gap, 0.0)
        bound = np.minimum(limit, np.abs(distance)) / self.compliance
        way = distance if self.direction == "distance" else slip
        size = np.maximum(np.abs(distance), 1e-12)
        if self.direction == "rate":
            size = np.hypot(slip, self.reversal_speed)
        return -way / size * bound - self.damping * slip

    def contact_forces(self, gap, rate, deflection, closed, approach=1.0):
        """Return forces (P, 2) [N] and rates of d_t [m/s]; off the ground d_t is forgotten."""
        normal = -gap / self.compliance - self.damping * rate[:, 1]
        tangential = self.tangential_force(gap, deflection, rate[:, 0])
        forces = np.where(closed[:, None], np.column_stack((tangential, normal)), 0.0)
        return forces, np.where(closed, rate[:, 0], -deflection / 1e-3)

    def stored_energy(self, gap, deflection):
        """Return the energy of the normal springs [J]; the tangential force only brakes."""
        return 0.5 * (np.minimum(gap, 0.0) ** 2).sum(axis=-1) / self.compliance

    def dissipation(self, gap, rate, forces, deflection_rate):
        """Return the power lost [W]."""
        normal = -(forces[:, 1] + np.minimum(gap, 0.0) / self.compliance) * rate[:, 1]
        return float((normal - forces[:, 0] * rate[:, 0]).sum())


def ground(law, friction=0.8):
    """Return ground by eq. 3 and 4 with a direction of friction, or "ours"."""
    tangential = CompliantFriction(1e5, 200.0, friction)
    if law == "ours":
        return penalty_ground(friction=tangential)
    return PrintedGround(friction=tangential, direction=law)


def both_legs(alike=False):
    """Return two legs on one hip, and their contact points; alike, their springs are the same."""
    rest = ((-8.0, -14.0, 22.6), (25.0, -5.0, 0.0))
    return striking_legs(
        ankle="hinged",
        joint_stiffness=(60.0, 400.0, 400.0),
        joint_damping=(2.0, 15.0, 10.0),
        joint_rest=np.radians(rest[1:] * 2 if alike else rest),
    )


@shared
def two_legs(law="rate"):
    """Return 0.2 s of two legs, the stance foot on the ground at the start."""
    legs, points = both_legs()
    wanted = [*np.radians([-8.0, -22.0, 0.6, 25.0, 20.0, 20.0]), 0.0, 0.9]
    rates = (-1.5, -1.5, 0.0, -0.5, -0.5, -0.5, 0.8, -0.1)
    feet = ("stance heel", "stance ball")
    start = standing_start(legs, points, penalty_ground(), wanted, rates, feet)
    return simulate_strike(legs, points, ground(law), *start, 0.2, samples=801)


@shared
def one_leg(name, law="rate"):
    """Return one leg: "locked" or "hinged" ankle, or "reversing", the pinned double pendulum."""
    reversing = name == "reversing"
    start = reversing_impact() if reversing else heel_strike(name)
    soil = ground(law, FRICTION if reversing else 0.8)
    duration, state = (0.1 if reversing else 0.2), (start.position, start.velocity)
    return simulate_strike(start.leg, start.points, soil, *state, duration, samples=401)


def strike_of(result):
    """Return when the swing heel strikes [s]."""
    return next(each.time for each in result.changes if each.point == "swing heel")


def test_rigid_impact_has_an_impulse_but_no_force():
    """Introduction, after eq. 2: no duration, finite jumps of velocity, impulse but no force."""
    found = [rigid("locked", 0.0, 0.02, steps) for steps in (100, 200)]
    peaks = np.array([each.reaction[:, 1].max() for each in found])
    jumps = [np.abs(np.diff(each.velocity, axis=0)).max() for each in found]
    assert_allclose(peaks[1:] / peaks[:-1], 2.0, atol=0.2)
    assert_allclose(jumps, 3.18, atol=0.02)
    soft = one_leg("locked").reaction[:, 1].max()
    assert (peaks[0], soft) == pytest.approx((117e3, 1.57e3), rel=0.02)


def normal_cone(lower, upper, at):
    """Return the least and the greatest element of ∂ψ of an interval (Moreau 1974)."""
    return (-np.inf if at == lower else 0.0), (np.inf if at == upper else 0.0)


def outside(value, cone):
    """Return how far a value is outside of a cone."""
    return max(cone[0] - value, value - cone[1], 0.0)


def test_eq_1_has_the_other_sign():
    """Eq. 1: F_n in ∂ψ of R⁺ at d_n; with the signs of eq. 3, -F_n is (a convention, at least)."""
    cone = normal_cone(0.0, np.inf, 0.0)
    for compliance in (1e-5, 1e-9):  # ever harder ground
        gap = np.array([-WEIGHT * compliance])
        force = penalty_ground(compliance, 0.0).normal_force(gap, np.zeros(1))[0]
        assert force == pytest.approx(WEIGHT)
        assert outside(force, cone) == pytest.approx(WEIGHT)
        assert outside(-force, cone) == 0.0
        assert -np.inf < 0.0 < force  # so that R⁻ does not hold F_n, and ∂ψ there is empty


def test_eq_2_needs_the_negative_velocity():
    """Eq. 2: v_s in ∂ψ of C at F_t; neither magnitude nor velocity of the slip, but -v_s is."""
    law = penalty_ground().friction
    speeds = (1.0, -1.0)
    forces = [law.evaluate([0.0], [v], np.array(100.0))[0][0] for v in speeds]
    assert_allclose(forces, (-80.0, 80.0))
    cones = [normal_cone(-80.0, 80.0, force) for force in forces]
    assert [outside(abs(v), c) for v, c in zip(speeds, cones, strict=True)] == [1.0, 0.0]
    assert [outside(v, c) for v, c in zip(speeds, cones, strict=True)] == [1.0, 1.0]
    assert [outside(-v, c) for v, c in zip(speeds, cones, strict=True)] == [0.0, 0.0]


def test_contacts_are_handled_alike():
    """Penalty formulation: simultaneous impacts, lasting contact, and unchanged dimension."""
    legs, points = both_legs(alike=True)
    q = np.array([*np.radians([25.0, 20.0, 20.0] * 2), 0.0, 0.0])
    q[-1] = 1e-3 - places(legs, points, q)[[0, 2], 1].min()
    v = np.array([*[-0.5] * 6, 0.8, -0.3])
    landing = simulate_strike(legs, points, ground("rate"), q, v, 0.04, samples=161)
    met = {each.point: each.time for each in landing.changes if each.closed}
    assert met["stance heel"] == pytest.approx(met["swing heel"], abs=1e-6)

    result, (legs, points) = two_legs(), both_legs()
    assert strike_of(result) == pytest.approx(0.038, abs=1e-3)
    assert (result.gap[result.time < strike_of(result)][:, :2] < 0.0).all()
    loaded = result.gap < 0.0
    instants = np.flatnonzero(loaded.sum(axis=1) == 3)
    rates = result.velocity[instants] / np.abs(result.velocity[instants]).max(axis=0)
    freedoms = len(legs.coordinate_names)
    assert np.linalg.matrix_rank(rates, tol=1e-6) == freedoms == 8
    held = rows(legs, points, result.position[instants[0]])[loaded[instants[0]]].reshape(-1, 8)
    assert freedoms - np.linalg.matrix_rank(held, tol=1e-8) == 3  # if points were at rest


def test_the_configuration_changes_during_the_impact():
    """Penalty formulation, time of contact: finite, so that the configuration changes."""
    result = one_leg("locked")
    first, most = np.argmax((result.gap < 0.0).any(axis=1)), result.reaction[:, 1].argmax()
    assert result.time[most] - result.time[first] == pytest.approx(0.0355, abs=2e-3)
    turned = np.degrees(result.position[most] - result.position[first])[1]
    assert turned == pytest.approx(-4.4, abs=0.3)  # of the lower link


def test_external_forces_count_in_lasting_contact():
    """Penalty formulation, external forces: included, as they count in prolonged contact."""
    result = two_legs()
    impulse = np.trapezoid(result.reaction[:, 1], result.time) / result.weight
    assert result.time[-1] / impulse == pytest.approx(0.89, abs=0.02)  # weight over ground
    peak = result.reaction[:, 1].max() / result.weight
    assert 1.0 / peak == pytest.approx(0.56, abs=0.02)  # even at the largest force


def rebound_of(mass, damping=DAMPING):
    """Return the speed after over that before an impact of a mass [kg], without weight."""
    law = penalty_ground(damping=damping)

    def rate(time, state):
        force = law.normal_force(state[:1], state[1:])[0] if state[0] <= 0.0 else 0.0
        return [state[1], force / mass]

    length = 10.0 * np.sqrt(mass * COMPLIANCE)
    found = solve_ivp(rate, (0.0, length), [0.0, -0.2], rtol=1e-9, atol=1e-12,
                      max_step=length / 200.0)  # fmt: skip
    return float(found.y[1, -1] / 0.2)


def test_no_coefficient_of_restitution():
    """Penalty formulation, parameters: ε and β take its place; the ratio depends on the mass."""
    found = [rebound_of(mass) for mass in (5.0, 20.0, 75.0)]
    assert_allclose(found, (0.40, 0.61, 0.76), atol=6e-3)
    assert rebound_of(5.0, damping=0.0) == pytest.approx(1.0, abs=1e-4)
    # At half a period of the damped oscillator a mass would be slower: the ground does not pull.
    ratio = 0.5 * DAMPING * np.sqrt(COMPLIANCE / 5.0)
    assert np.exp(-np.pi * ratio / np.sqrt(1.0 - ratio**2)) < found[0]


def forces_of(law, gap, rate, distance):
    """Return tangential and normal force of one point in contact [N]."""
    state = np.array([gap]), np.array([rate]), np.array([distance]), np.array([True])
    return law.contact_forces(*state)[0][0]


def test_forces_depend_on_the_rates_too():
    """Penalty formulation, forces: not on the configuration alone, by β of eq. 3 and 4."""
    rates = (-0.2, 0.0, 0.2)
    found = [forces_of(PrintedGround(), -1e-3, (1.0, each), 5e-3)[1] for each in rates]
    kept = [forces_of(PrintedGround(damping=0.0), -1e-3, (1.0, v), 5e-3)[1] for v in rates]
    assert_allclose(found, (200.0, 100.0, 0.0), atol=1e-9)
    assert_allclose(kept, 100.0, rtol=1e-12)


def test_eq_3_leaves_out_that_the_ground_does_not_pull():
    """Eq. 3: F_n = -d_n/ε - β ḋ_n; an omission, as such a spring and damper pull at separation."""
    assert forces_of(PrintedGround(), -1e-3, (0.0, 0.5), 0.0)[1] == pytest.approx(-150.0)
    assert forces_of(penalty_ground(), -1e-3, (0.0, 0.5), 0.0)[1] == 0.0
    assert two_legs().forces[..., 1].min() == pytest.approx(-49.0, abs=3.0)


@pytest.mark.slow
def test_with_the_limit_the_ground_never_pulls():
    """The same motion of both legs by max(0, -d_n/ε - β ḋ_n)."""
    assert two_legs("ours").forces[..., 1].min() >= 0.0


def held_on_a_slope(direction):
    """Return distance [m] and speed [m/s] of 75 kg after 4 s on a slope, 0.3 of its weight down."""
    law, gap = PrintedGround(direction=direction), np.array([-WEIGHT * COMPLIANCE])

    def rate(time, state):
        force = law.tangential_force(gap, state[:1], state[1:])[0]
        return [state[1], (0.3 * WEIGHT + force) / 75.0]

    return solve_ivp(rate, (0.0, 4.0), [0.0, 0.0], "LSODA", rtol=1e-8, atol=1e-12).y[:, -1]


def test_eq_4_has_the_wrong_direction():
    """Eq. 4: F_t = -(ḋ_t/‖d_t‖) min(-μ d_n/ε, ‖d_t/ε‖) - β ḋ_t depends on the unit of time.

    ḋ_t/‖ḋ_t‖ and d_t/‖d_t‖ do not; the latter alone has the tangential compliance that the text
    claims, and holds a block on a slope. The bound is that of the elastic force alone.
    """
    state = np.array([-1e-3]), np.array([5e-3])

    def force(direction, slip):
        law = PrintedGround(damping=0.0, reversal_speed=0.0, direction=direction)
        return law.tangential_force(*state, np.array([slip]))[0]

    # The rate stated per ms is a thousandth; a force in newtons must stay.
    for direction, ratio in (("printed", 1e-3), ("rate", 1.0), ("distance", 1.0)):
        assert force(direction, 1e-3) / force(direction, 1.0) == pytest.approx(ratio, rel=1e-9)
    # Damping beside the bound of 80 N: 580 N, where Coulomb admits 0.8 of 200 N.
    whole = forces_of(PrintedGround(reversal_speed=0.0), -1e-3, (1.0, -0.2), 5e-3)
    assert_allclose(whole, (-580.0, 200.0), rtol=1e-12)
    assert_allclose(forces_of(penalty_ground(), -1e-3, (1.0, -0.2), 5e-3), (-160.0, 200.0))
    # Sticking at rest, 0.2 mm: the stiffness 1/ε, or nothing.
    still = np.array([-1e-3]), np.array([2e-4]), np.zeros(1)
    assert PrintedGround(direction="distance").tangential_force(*still)[0] == pytest.approx(-20.0)
    assert PrintedGround(direction="rate").tangential_force(*still)[0] == 0.0
    distance, speed = held_on_a_slope("distance")
    assert distance == pytest.approx(0.3 * WEIGHT * COMPLIANCE, rel=1e-3)
    assert abs(speed) < 1e-5
    assert held_on_a_slope("rate")[1] > 3e-4  # creeps


def test_newton_s_law_gains_energy():
    """Fig. 2, Newton's law: a double pendulum with friction gains energy, also with e below one."""
    start = reversing_impact()
    state = start.position, start.velocity
    before = kinetic(start.leg, *state)
    for e, gain in ((0.3, -0.19), (0.5, 0.31), (0.7, 0.96), (0.9, 1.74)):
        impact = newton_impact(start.leg, start.points, *state, restitution=e, friction=FRICTION)
        assert impact.energy_change / before == pytest.approx(gain, abs=6e-3)


@pytest.mark.parametrize(
    ("case", "law", "lost"),
    [
        ("locked", "rate", 14.7),
        *(
            pytest.param(*row, marks=pytest.mark.slow)
            for row in [
                ("reversing", "rate", 5.7),
                ("hinged", "rate", 21.1),
                ("two legs", "rate", 11.6),
                ("locked", "printed", 14.1),
                ("reversing", "ours", 3.9),
                ("locked", "ours", 14.3),
                ("hinged", "ours", 20.6),
                ("two legs", "ours", 11.0),
            ]
        ),
    ],
)
def test_penalty_contact_is_consistent_in_energy(case, law, lost):
    """Fig. 2, penalty contact: the energy never rises, and losses balance it."""
    result = two_legs(law) if case == "two legs" else one_leg(case, law)
    if law != "ours":  # whose friction stores energy, and gives it back
        assert np.diff(result.energy).max() < 1e-7
    assert_allclose(result.energy + result.loss, result.energy[0], rtol=0.0, atol=1e-5)
    assert result.energy[0] - result.energy[-1] == pytest.approx(lost, abs=0.15)


def marks_of(time, front, back):
    """Return peak, its time, the least value after, both feet together, and when one leaves."""
    top = front.argmax()
    leaves = time[np.flatnonzero(back > 0.03)[-1]]
    return front[top], time[top], front[top:].min(), (front + back).max(), leaves, back[0]


def test_profile_of_two_legs():
    """Fig. 3, second model: the profile resembles experiments in kind (the same events).

    The front foot passes body weight and falls below it, the back foot is loaded and then leaves.
    """
    result = two_legs()
    rows = result.time >= strike_of(result)
    force = result.forces[rows, :, 1] / result.weight
    time = result.time[rows] - strike_of(result)
    found = marks_of(time, force[:, 2:].sum(axis=1), force[:, :2].sum(axis=1))
    assert_allclose(found, (1.48, 0.042, 0.87, 1.78, 0.080, 0.49), atol=0.02)


def test_profile_of_a_walk(knee_data):
    """The events of fig. 3 in a walk of OpenSim's subject01, 4.3 times as slow."""
    table = read_motion_table(knee_data / "opensim_core_gait" / "subject01_walk_grf.mot")
    names = ("ground_force_vy", "1_ground_force_vy")
    right, left = (table.values[:, table.names.index(name)] for name in names)
    first = int(np.argmax(right > 20.0))
    second = first + int(np.argmax((left[first:-1] <= 20.0) & (left[first + 1 :] > 20.0)))
    weight = (right + left)[first:second].mean()  # from strike to strike
    rows = (table.time >= table.time[second]) & (table.time <= table.time[second] + 0.3)
    time = table.time[rows] - table.time[second]
    found = marks_of(time, left[rows] / weight, right[rows] / weight)
    assert_allclose(found, (1.08, 0.182, 0.81, 1.25, 0.162, 1.08), atol=0.01)


@pytest.mark.parametrize(
    ("name", "peak"),
    [("locked", 2.13), pytest.param("hinged", 2.54, marks=pytest.mark.slow), ("both", 1.78)],
)
def test_the_reaction_exceeds_body_weight(name, peak):
    """Introduction, discussion: the ground reaction at heel strike exceeds body weight."""
    result = two_legs() if name == "both" else one_leg(name)
    assert result.peak_reaction == pytest.approx(peak, abs=0.02)
