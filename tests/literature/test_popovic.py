"""Popović: chains of rigid bodies joined by pins and visco-elastic links, a limb in an orthosis.

No lengths, masses or stiffnesses are printed, and the figures are missing from the scan: values are
chosen here. A docstring opens with the place in the paper. Columns of positions q hold x of all
centres of mass, then y, then the angles; E X = S exp(i θ) + b joins the centres X, with the
distances d from a joint to the next centre and l from a centre to the next joint.
"""

import runpy
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.linalg import block_diag, expm

from dynamics.mechanics import chains
from dynamics.mechanics.chain_parts import GROUND, Chain, ChainSegment, FreeBase, Joint
from dynamics.mechanics.chain_parts import ViscoelasticLink as Link
from dynamics.mechanics.chains import Assembly

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "mechanics" / "three_chains.py"
CENTRE = np.zeros(2)
BEFORE, BEHIND = np.array([0.18, 0.2, 0.09]), np.array([0.24, 0.23, 0.11])  # d and l [m]
MASSES, INERTIAS = np.array([8.0, 3.5, 1.1]), np.array([0.12, 0.06, 0.005])
BASE = np.array([0.1, -0.05])
ANGLES, RATES = np.array([-1.4, -1.9, -0.3]), np.array([2.0, -3.0, 1.5])
ACCELERATIONS = np.array([5.0, 8.0, -20.0])
#: E, S and M (eq. 1) of three segments.
JOINING = np.eye(3) - np.eye(3, k=-1)
SPANS = np.diag(BEFORE) + np.diag(BEHIND[:-1], k=-1)
MASS = np.diag(np.concatenate([MASSES, MASSES, INERTIAS]))
ROD = ChainSegment("rod", 0.4, 2.0, 2.0 * 0.4**2 / 12.0, np.array([0.2, 0.0]))


def three(links=(), **options):
    """Return three segments on their base, with links and options of the chain."""
    parts = tuple(
        ChainSegment(f"segment {k}", before + behind, mass, inertia, np.array([before, 0.0]))
        for k, (before, behind, mass, inertia) in enumerate(
            zip(BEFORE, BEHIND, MASSES, INERTIAS, strict=True)
        )
    )
    gravity = {"gravity": options.pop("gravity")} if "gravity" in options else {}
    return Assembly((Chain("limb", parts, options.pop("base", BASE), **options),), links, **gravity)


def positions(angles):
    """Walk along the chain from joint to joint: x (3,), y (3,) and angles (3,)."""
    joint, found = np.array(BASE), []
    for d, behind, angle in zip(BEFORE, BEHIND, angles, strict=True):
        axis = np.array([np.cos(angle), np.sin(angle)])
        found.append(joint + d * axis)
        joint = joint + (d + behind) * axis
    return np.concatenate([*np.array(found).T, angles])


def stacked(turned):
    """Return E⁻¹ S times complex numbers of the angles, as x, y and angles (9, 3)."""
    arms = np.linalg.solve(JOINING, SPANS * turned)
    return np.vstack([arms.real, arms.imag, np.eye(3)])


def place_matrix(angles):
    """Return C₁ with the cosines and sines of the positions."""
    return stacked(np.exp(1j * angles))


def rate_matrix(angles):
    """Return C₁' = ∂q/∂θ."""
    return stacked(1j * np.exp(1j * angles))


def turning_rate(angles, rates):
    """Return the part of q'' with the squares of the rates (9,)."""
    pulled = stacked(-np.exp(1j * angles)) @ rates**2
    return np.concatenate([pulled[:6], np.zeros(3)])


def measured_rates(step=1e-4):
    """Return q' and q'' (9,) by central differences of the positions."""
    times = np.array([-step, 0.0, step])[:, None]
    moved = ANGLES + RATES * times + 0.5 * ACCELERATIONS * times**2
    before, at, after = map(positions, moved)
    return (after - before) / (2.0 * step), (after - 2.0 * at + before) / step**2


def floating(count, links=()):
    """Return loose members without gravity, whose frames start at the centres of mass."""
    data = [(2.0, 0.03), (3.0, 0.05), (5.0, 0.08)][:count]
    return Assembly(
        tuple(
            Chain(f"{k}", (ChainSegment("bar", 0.4, mass, inertia, CENTRE),), FreeBase())
            for k, (mass, inertia) in enumerate(data)
        ),
        links,
        gravity=(0.0, 0.0),
    )


def by_member(count):
    """Return the places of x, y and θ of the first member, of the second and so on."""
    return np.array([[count + 2 * k, count + 2 * k + 1, k] for k in range(count)]).ravel()


def test_loose_members():
    """Equations of a member, eq. 1: m q'' and J θ''; n members have blocks diag(m, m, J)."""
    holder = Link("pull", GROUND, np.array([1.0, 2.0]), ("1", "bar"), np.array([0.3, 0.0]),
                  stiffness=40.0, kind="bushing")  # fmt: skip
    system, state = floating(3, (holder,)), np.array([0.2, -0.4, 1.1, 0.0, 0.1, 0.5, 0.2, 1.0, 0.3])
    order = by_member(3)
    mass = system.terms(0.0, state, np.zeros(9))[0][np.ix_(order, order)]
    assert_allclose(mass, np.diag([2, 2, 0.03, 3, 3, 0.05, 5, 5, 0.08]), rtol=0.0, atol=1e-12)
    at = system.evaluate(0.0, state, np.zeros(9))
    arm = 0.3 * np.array([np.cos(-0.4), np.sin(-0.4)])
    force = 40.0 * (np.array([1.0, 2.0]) - np.array([0.5, 0.2]) - arm)
    assert_allclose(at.link_forces[0], force, rtol=1e-12)
    assert_allclose(3.0 * at.acceleration[order[3:5]], force, rtol=1e-9)
    couple = arm[0] * force[1] - arm[1] * force[0]
    assert_allclose(0.05 * at.acceleration[1], couple, rtol=1e-9)


def test_the_force_of_a_link_is_a_product_that_draws_back():
    """Fig. 2, force of a link: stiffness *plus* coordinates as force on i; -K Δq is right."""
    link = Link("cuff", ("0", "bar"), CENTRE, ("1", "bar"), CENTRE, 300.0, kind="bushing")

    def pulled(offset):
        state = np.array([0.0, 0.0, offset, 0.0, 0.0, 0.0])
        return -floating(2, (link,)).evaluate(0.0, state, np.zeros(6)).link_forces[0, 0]

    assert_allclose([pulled(x) for x in (0.0, 0.01, 0.02)], (0.0, -3.0, -6.0), atol=1e-12)
    assert pulled(0.0) != 300.0 + 0.0  # the printed sum pulls without elongation


def test_links_couple_their_members():
    """Eq. 2: K, -K on the diagonal, where [K, -K; -K, K] couples; the diagonal makes momentum."""
    link = Link("link", ("0", "bar"), CENTRE, ("1", "bar"), CENTRE, 300.0, kind="bushing",
                rotational_stiffness=20.0)  # fmt: skip
    system, order = floating(2, (link,)), by_member(2)
    columns = [-system.terms(0.0, unit, np.zeros(6))[2] for unit in np.eye(6)]
    one = np.diag([300.0, 300.0, 20.0])
    printed, right = block_diag(one, -one), np.block([[one, -one], [-one, one]])
    assert_allclose(np.array(columns).T[np.ix_(order, order)], right, rtol=0.0, atol=1e-9)
    assert np.abs(right - printed).max() == 600.0

    def momentum(stiffness, time=0.1):
        """Momentum along x from rest 1 and 1.1 m off the origin."""
        inverse = np.diag(1.0 / np.array([2.0, 2.0, 0.03, 3.0, 3.0, 0.05]))
        flow = np.block([[np.zeros((6, 6)), np.eye(6)], [-inverse @ stiffness, np.zeros((6, 6))]])
        rates = (expm(time * flow) @ [1.0, 0.0, 0.0, 1.1, *np.zeros(8)])[6:]
        return 2.0 * rates[0] + 3.0 * rates[3]

    # Apart, one member swings about the origin and the other runs away.
    swing, run = np.sqrt(300.0 / np.array([2.0, 3.0]))
    gained = 3.0 * 1.1 * run * np.sinh(0.1 * run) - 2.0 * swing * np.sin(0.1 * swing)
    assert momentum(printed) == pytest.approx(gained, rel=1e-9) == pytest.approx(15.7, abs=0.05)
    assert momentum(right) == pytest.approx(0.0, abs=1e-9)


def rods(count):
    """Return rods of 0.4 m and 2 kg."""
    return tuple(replace(ROD, name=f"rod {k}") for k in range(count))


def test_each_pin_takes_two_freedoms():
    """Before and after eq. 3: n members keep n to 3n freedoms, two less for each pin."""
    found = []
    for pins in range(6):
        joined = min(pins + 1, 5)
        row = Chain("row", rods(joined), (0.0, 0.0) if pins == 5 else FreeBase())
        loose = [Chain(f"loose {k}", (ROD,), FreeBase()) for k in range(5 - joined)]
        found.append(len(Assembly((row, *loose)).coordinate_names))
    assert found == [15, 13, 11, 9, 7, 5]


def test_vectors_of_neighbours_lead_backwards():
    """Eq. 3: centre i = centre j + l along i + d along j; the form in x and y is right."""
    x, y, _ = positions(ANGLES).reshape(3, 3)
    centre, turned = x + 1j * y, np.exp(1j * ANGLES)
    arms = BEHIND[0] * turned[0] + BEFORE[1] * turned[1]
    assert abs(centre[1] - centre[0] - arms) < 1e-12
    assert abs(centre[0] - centre[1] - arms) == pytest.approx(0.853, abs=1e-3)


def test_matrices_of_a_pin_have_one_sign():
    """Eq. 4: C_j = -C_i and θ_j in Δr leave 2 d and θ_j; C_j = C_i and 0 close the pin."""
    x, y, _ = positions(ANGLES).reshape(3, 3)
    axes = np.array([np.cos(ANGLES), np.sin(ANGLES)])
    apart, first = np.array([x[0] - x[1], y[0] - y[1]]), BEHIND[0] * axes[:, 0]
    second = BEFORE[1] * axes[:, 1]
    assert np.hypot(*(first - second + apart)) == pytest.approx(2.0 * BEFORE[1])
    assert_allclose(first + second + apart, 0.0, atol=1e-12)
    assert ANGLES[1] != 0.0  # which eq. 4 wants to be zero


def test_constraints_have_two_rows_a_pin():
    """Eq. 5: C is n × 3n; two rows a pin, 2n × 3n, leave the n freedoms of a chain."""
    places = np.kron(np.eye(2), JOINING)
    assert np.linalg.matrix_rank(places) == len(places) == 6
    assert 9 - len(places) == len(three().coordinate_names) == 3


def test_the_constant_of_the_positions_needs_the_inverse():
    """Eq. 6 and 7, constant of the positions: -C_xy Δr, where -C_xy⁻¹ Δr puts the chain."""
    constant = np.array([-complex(*BASE), 0.0, 0.0])
    x, y, _ = positions(ANGLES).reshape(3, 3)
    moving = np.linalg.solve(JOINING, SPANS @ np.exp(1j * ANGLES))
    off = np.abs(moving - JOINING @ constant - (x + 1j * y)).max()
    assert off == pytest.approx(2.0 * np.hypot(*BASE)) == pytest.approx(0.224, abs=1e-3)
    right = moving - np.linalg.solve(JOINING, constant)
    assert_allclose(right, x + 1j * y, rtol=0.0, atol=1e-12)


def test_blocks_of_the_positions():
    """Eq. 7, blocks: [-C_xy⁻¹, C_0; I, 0] has 9 columns for 3 angles; the product is one block."""
    inverse = np.linalg.inv(np.kron(np.eye(2), JOINING))
    turned = 1j * np.exp(1j * ANGLES)
    angular = -np.vstack([(SPANS * turned).real, (SPANS * turned).imag])
    printed = np.vstack([np.hstack([-inverse, angular]), np.eye(3, 9)])
    assert printed.shape[1] == 9 != 3
    right = np.vstack([-inverse @ angular, np.eye(3)])
    assert_allclose(right, rate_matrix(ANGLES), atol=1e-12)
    assert_allclose(right @ RATES, measured_rates()[0], rtol=0.0, atol=1e-6)


def test_rates_follow_the_rates_of_the_angles():
    """Eq. 8: q' = C₁' θ, q'' = C₁'' θ; C₁' θ' and C₁' θ'' + C₁'' (θ'²) are right."""
    speed, acceleration = measured_rates()
    first, pulled = rate_matrix(ANGLES), turning_rate(ANGLES, RATES)
    assert np.abs(first @ ANGLES - speed)[:6].max() == pytest.approx(1.2, abs=0.06)
    assert_allclose(first @ RATES, speed, rtol=0.0, atol=1e-6)
    second = -place_matrix(ANGLES)
    assert np.abs(second @ ANGLES - acceleration)[:6].max() == pytest.approx(6.0, abs=0.5)
    assert_allclose(first @ ACCELERATIONS + pulled, acceleration, rtol=0.0, atol=1e-4)


@cache
def forces():
    """Return the forces of the pins, weights and couples, and M q'' (9,) of a moving chain."""
    system = three(joints=(Joint(), Joint(30.0, 0.4, 0.1), Joint(12.0, 0.3)))
    at = system.evaluate(0.0, ANGLES, RATES)
    beyond = np.vstack([at.joint_forces[1:], np.zeros(2)])
    axes = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])

    def cross(arms, vectors):
        return arms[:, 0] * vectors[:, 1] - arms[:, 1] * vectors[:, 0]

    turning = cross(-BEFORE[:, None] * axes, at.joint_forces)
    turning -= cross(BEHIND[:, None] * axes, beyond)
    couples = at.joint_moments - np.append(at.joint_moments[1:], 0.0)
    weights = MASSES[:, None] * np.asarray(system.gravity)
    acceleration = rate_matrix(ANGLES) @ at.acceleration + turning_rate(ANGLES, RATES)
    joints = np.concatenate([*(at.joint_forces - beyond).T, turning])
    return joints, np.concatenate([*weights.T, couples]), MASS @ acceleration


def test_pins_do_no_work_in_a_closed_chain():
    """Eq. 9: G Δq = 0, G C₁' q' = 0 do not fit; Gᵀ C₁' θ' = 0, as long as the pins are closed."""
    joints, matrix = forces()[0], rate_matrix(ANGLES)
    assert matrix.shape[1] == 3 != len(joints) == 9
    largest = np.abs(joints * (matrix @ RATES)).max()
    assert largest == pytest.approx(107.0, abs=1.0)
    assert abs(joints @ matrix @ RATES) < 1e-9 * largest
    assert np.abs(joints[:6]).max() == pytest.approx(155.0, abs=1.0)  # of a member that moves alone


def test_forces_of_the_pins_drop_out():
    """After eq. 9, eq. 10: C₁'ᵀ G of the pins is zero; weights and couples remain."""
    joints, others, inertial = forces()
    matrix = rate_matrix(ANGLES)
    assert_allclose(joints + others, inertial, rtol=0.0, atol=1e-9)
    assert_allclose(others[3:6], -9.80665 * MASSES, rtol=1e-12)
    assert_allclose(matrix.T @ joints, 0.0, atol=1e-9)
    assert_allclose(matrix.T @ (inertial - others), 0.0, atol=1e-9)


def test_the_minus_of_the_state_equation():
    """Eq. 11: -[O, I; A, B] states θ' = -ω and grows; [O, I; -A, -B] follows the motion."""
    system = three(joints=(Joint(20.0, 0.5),) * 3, gravity=(0.0, 0.0), base=(0.0, 0.0))
    step = 1e-4  # near rest the accelerations are odd: errors of order step²
    columns = [system.accelerations(0.0, step * e[:3], step * e[3:]) for e in np.eye(6)]
    lower = np.array(columns).T / step
    zero, one = np.zeros((3, 3)), np.eye(3)
    right = np.block([[zero, one], [lower]])
    printed = np.block([[zero, -one], [lower]])
    growth, decay = (np.linalg.eigvals(each).real.max() for each in (printed, right))
    assert growth == pytest.approx(29.0, abs=0.5)
    assert decay == pytest.approx(-0.1, abs=0.05)
    # Stiffness 20 and damping 0.5 of each pin over the mass matrix of the straight chain.
    differences = np.eye(3) - np.eye(3, k=-1)
    wanted = -np.linalg.solve(mass_matrix(np.zeros(3)), 20.0 * differences.T @ differences)
    assert_allclose(lower, np.hstack([wanted, wanted / 40.0]), atol=1e-4 * np.abs(wanted).max())
    start = np.array([1e-4, -2e-4, 1e-4])
    end = chains.simulate_chains(system, [0.0, 0.3], start, np.zeros(3)).position[-1]
    state = np.concatenate([start, np.zeros(3)])
    assert np.abs((expm(0.3 * printed) @ state)[:3] - end).max() > 0.5
    assert_allclose((expm(0.3 * right) @ state)[:3], end, rtol=0.0, atol=1e-8)


def mass_matrix(angles, step=1e-6):
    """Sum m ∂c/∂θ · ∂c/∂θ and J, by central differences of the centres (3, 3)."""
    ends = [[positions(angles + sign * step * e) for e in np.eye(3)] for sign in (1.0, -1.0)]
    slopes = np.subtract(*ends) / (2.0 * step)
    return slopes @ MASS @ slopes.T


def test_mass_and_damping_need_the_rates_on_both_sides():
    """A and B: C₁'ᵀ M C₁ and C₁'ᵀ R C₁; C₁' belongs in the place of C₁."""
    point = np.array([BEFORE[2], 0.0])
    link = Link("dashpot", GROUND, np.zeros(2), ("limb", "segment 2"), point, 0.0, 50.0,
                kind="bushing", rotational_damping=0.7)  # fmt: skip
    system = three((link,))
    mass, _, still = system.terms(0.0, ANGLES, np.zeros(3))
    columns = [system.terms(0.0, ANGLES, unit)[2] - still for unit in np.eye(3)]
    viscous = np.diag([0.0, 0.0, 50.0, 0.0, 0.0, 50.0, 0.0, 0.0, 0.7])
    places, rates = place_matrix(ANGLES), rate_matrix(ANGLES)
    for inner, ours, off in ((MASS, mass, 1.07), (viscous, -np.array(columns).T, 12.3)):
        assert_allclose(rates.T @ inner @ rates, ours, rtol=0.0, atol=1e-12)
        assert np.abs(rates.T @ inner @ places - ours).max() == pytest.approx(off, rel=0.01)
    assert_allclose(mass, mass_matrix(ANGLES), rtol=0.0, atol=1e-8)


def gained_energy(system, accelerations):
    """Return the energy that two linked, undamped chains gain in half a second [J]."""
    start = np.array([-1.4, -1.9, -1.2, -1.8, 2.0, -3.0, 1.0, 2.0])

    def rate(time, state):
        return np.concatenate([state[4:], accelerations(state[:4], state[4:])])

    end = solve_ivp(rate, (0.0, 0.5), start, "DOP853", rtol=1e-8, atol=1e-9).y[:, -1]
    first, last = (system.evaluate(0.0, each[:4], each[4:]) for each in (start, end))
    return last.kinetic + last.potential - first.kinetic - first.potential


def two_chains(gap):
    """Return two chains of two rods, with bases a gap apart [m], linked at the second rods."""
    both = (Chain("limb", rods(2)), Chain("orthosis", rods(2), np.array([gap, 0.0])))
    point = np.array([0.2, 0.0])
    link = Link("cuff", ("limb", "rod 1"), point, ("orthosis", "rod 1"), point,
                stiffness=300.0, kind="bushing")  # fmt: skip
    return Assembly(both, (link,))


def test_the_constants_of_the_positions_belong_in_h():
    """H: 2n × 1 without C₂; the formula has n rows, and G - K C₂ keeps the energy."""
    assert (rate_matrix(ANGLES).T @ forces()[1]).shape == (3,)
    system, shifted = two_chains(0.1), two_chains(0.0)
    kept = gained_energy(system, lambda q, v: system.accelerations(0.0, q, v))
    gained = gained_energy(system, lambda q, v: shifted.accelerations(0.0, q, v))
    assert kept == pytest.approx(0.0, abs=1e-6)
    assert gained == pytest.approx(-2.96, abs=0.02)


def test_squares_of_the_rates_belong_in_the_state_equation():
    """Eq. 11, A, B and H together: without centripetal accelerations the energy changes."""
    system = two_chains(0.1)

    def lacking(angles, rates):
        mass, _, force = system.terms(0.0, angles, rates)
        return np.linalg.solve(mass, force)

    assert gained_energy(system, lacking) == pytest.approx(0.44, abs=0.01)


def in_parts(count, parts, closed=False):
    """Return a row of rods in parts, the first on the ground; closed, pins join the parts."""
    cuts = np.array_split(np.arange(count), parts)
    made = tuple(
        Chain(f"part {k}", tuple(rods(count)[i] for i in cut), (0.0, 0.0) if k == 0 else FreeBase())
        for k, cut in enumerate(cuts)
    )
    end, start = np.array([ROD.length, 0.0]), np.zeros(2)
    pins = tuple(
        chains.PinClosure(f"pin {k}", (f"part {k}", f"rod {left[-1]}"), end,
                          (f"part {k + 1}", f"rod {right[0]}"), start)
        for k, (left, right) in enumerate(pairwise(cuts))
    )  # fmt: skip
    return Assembly(made, closures=pins if closed else ())


def test_interrupted_chains():
    """After eq. 11: the same algorithm, with 2(N - n) more entries of the state."""
    sizes = [len(in_parts(6, parts).coordinate_names) for parts in range(1, 7)]
    assert sizes == [6, 8, 10, 12, 14, 16]  # position and velocity: 4 entries for each part
    angles, rates = np.array([-1.2, -1.7, -0.9, -1.4]), np.array([1.0, -2.0, 0.5, 1.5])
    spin = ROD.length * np.exp(1j * angles[:2])
    place, speed = spin.sum(), (1j * spin * rates[:2]).sum()
    state = [*angles, place.real, place.imag], [*rates, speed.real, speed.imag]
    whole = in_parts(4, 1).accelerations(0.0, angles, rates)
    assert_allclose(in_parts(4, 2, closed=True).accelerations(0.0, *map(np.array, state))[:4],
                    whole, rtol=0.0, atol=1e-9)  # fmt: skip
    loose = in_parts(4, 2).accelerations(0.0, *map(np.array, state))[:4]
    assert np.abs(loose - whole).max() > 1.0


def test_translational_pairs():
    """Introduction, translational pairs of class 5: they too leave one freedom each."""
    system = Assembly((Chain("slide", rods(2), joints=(Joint(axis=-0.5), Joint())),))
    assert len(system.coordinate_names) == 2
    alone = Assembly((Chain("slide", rods(1), joints=(Joint(axis=-0.5),)),))
    down = alone.accelerations(0.0, np.zeros(1), np.zeros(1))
    assert_allclose(down, 9.80665 * np.sin(0.5), rtol=1e-12)


def test_open_and_closed_structures():
    """Introduction, open and closed structures: a four-bar linkage keeps its loop closed."""
    closure = chains.PinClosure("pin", ("bars", "rod 2"), np.array([ROD.length, 0.0]), GROUND,
                                np.array([0.8, 0.0]))  # fmt: skip
    angles = np.radians([60.0, 0.0, -60.0])
    system = Assembly((Chain("bars", rods(3)),), closures=(closure,))

    def tip(q):
        return 0.4 * np.array([np.cos(q).sum(), np.sin(q).sum()])

    assert_allclose(tip(angles), (0.8, 0.0), atol=1e-12)
    rates = np.array([1.0, 0.0, 0.0])
    slope = np.array([-0.4 * np.sin(angles), 0.4 * np.cos(angles)])
    rates[1:] = np.linalg.solve(slope[:, 1:], -slope[:, 0])  # one freedom is left
    found, step = system.accelerations(0.0, angles, rates), 1e-4
    moved = [tip(angles + rates * t + 0.5 * found * t**2) for t in (-step, step)]
    assert_allclose((moved[0] + moved[1] - 2.0 * tip(angles)) / step**2, 0.0, atol=1e-5)


@cache
def example():
    """Return the names of `examples/mechanics/three_chains.py`, and its motion."""
    names = runpy.run_path(str(EXAMPLE))
    return names, names["simulate"]()


@pytest.mark.slow
def test_three_chains_of_16_segments():
    """Fig. 4, example: a body on the ground by a table of angles, two orthoses linked to it."""
    names, found = example()
    system = names["assembly"]()
    trees = [c for c in system.chains if not isinstance(c.base, chains.Attachment)]
    assert (len(trees), len(system.columns), names["TABLE"].shape[1]) == (3, 16, 8)
    assert [(link.first[1], link.second[1]) for link in system.links] == [
        (name, name)
        for name in ("foot", "shank", "thigh", "pelvis", "trunk", "thigh", "shank", "foot")
    ]
    assert_allclose(np.diff(names["TIMES"]), names["TIMES"][1], rtol=1e-9)
    load = found.joint_forces[:, [0, 8, 12], 1]  # of the ground, and of nothing
    assert (load[:, 0].min(), load[:, 0].max()) == pytest.approx((682.0, 909.0), rel=0.02)
    assert_allclose(load[:, 1:], 0.0, atol=1e-8)


@pytest.mark.slow
def test_results_of_the_orthosis():
    """Fig. 5 and 6, results: cannot be judged, as they are missing; torques and loads of ours."""
    names, found = example()
    peaks = np.abs(found.torques).max(axis=0)
    torques = [peaks[k] for k in names["JOINTS"].values()]
    assert_allclose(torques, (143.0, 68.0, 69.0, 47.0, 26.0, 2.0), atol=1.0)
    later, legs = names["TIMES"] >= names["TAKEN"], [1, 2, 3, 5, 6, 7]
    alone = np.abs(names["alone"]().torques[later][:, legs]).max()
    left = np.abs(found.torques[later][:, legs]).max()
    assert (alone, left) == pytest.approx((143.0, 32.0), abs=1.0)
    turned = found.position[:, 8:16] - found.position[:, :8]
    assert np.degrees(np.abs(turned - turned[0]).max()) == pytest.approx(7.4, abs=0.1)
    forces = np.linalg.norm(found.joint_forces, axis=-1).max(axis=0)
    link = np.linalg.norm(found.link_forces, axis=-1).max()
    loads = forces[:8].max(), forces[8:].max(), link
    assert loads == pytest.approx((909.0, 207.0, 215.0), rel=0.01)
