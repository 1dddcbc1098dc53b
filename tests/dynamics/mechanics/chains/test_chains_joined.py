"""Attachments, free bases, sliding joints and links: closed forms, balances and refusals."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.mechanics.chains import (
    GROUND,
    Assembly,
    Attachment,
    Chain,
    ChainSegment,
    FreeBase,
    Joint,
    PrescribedMotion,
    SlidingJoint,
    ViscoelasticLink,
    simulate_chains,
)
from dynamics.simulator.equations import SimulationError
from foundation.base.errors import InputError

G = 9.80665
TIMES = np.linspace(0.0, 1.0, 21)
TABLE = np.linspace(-0.1, 1.1, 121)
ROD = ChainSegment("rod", 0.5, 2.0, 0.04, [0.25, 0.0])
THIGH = ChainSegment("thigh", 0.42, 8.0, 0.12, [0.18, 0.01])
SHANK = ChainSegment("shank", 0.43, 3.5, 0.06, [0.19, -0.01])
PELVIS = ChainSegment("pelvis", 0.12, 12.0, 0.1, [0.08, 0.01])
ARM = Chain("arm", (ROD,))


def waves(*offsets: float) -> np.ndarray:
    return np.array(offsets) + 0.3 * np.sin(np.add.outer(4.0 * TABLE, np.arange(len(offsets))))


def stance_and_swing(base) -> Assembly:
    """A prescribed stance leg, ankle up to the pelvis, and a prescribed swing leg."""
    stance = Chain(
        "stance", (SHANK, THIGH, PELVIS), angles=PrescribedMotion(TABLE, waves(1.6, 1.5, 1.5))
    )
    swing = Chain("swing", (THIGH, SHANK), base, angles=PrescribedMotion(TABLE, waves(-1.4, -1.9)))
    return Assembly((stance, swing))


@cache
def hip_path(point) -> PrescribedMotion:
    """The path of a point of the pelvis, from the table of the stance leg."""
    angles = np.array([stance_and_swing([0.0, 0.0]).chains[0].angles.at(t)[0] for t in TABLE])
    unit = np.exp(1j * angles)
    z = unit @ [0.43, 0.42, 0.0] + complex(*point) * unit[:, 2]
    return PrescribedMotion(TABLE, np.column_stack([z.real, z.imag]))


def test_the_torques_of_the_stance_leg_carry_the_swing_leg():
    """Torque at a joint = rate of angular momentum of all beyond it less that of gravity."""
    assembly = stance_and_swing(Attachment("stance", "pelvis", [0.05, 0.02]))
    h = 1e-4
    for time in (0.2, 0.6):
        behind, at, ahead = (assembly.evaluate(time + s * h, [], []) for s in (-1, 0, 1))
        rate = (ahead.angular_momentum - behind.angular_momentum) / (2.0 * h)
        push = (ahead.momentum - behind.momentum) / (2.0 * h) + [0.0, 35.0 * G]
        centre = sum_of_moments(assembly, at)
        assert_allclose(at.torques[0], rate + centre * G, rtol=1e-6)  # about the ankle, the origin
        assert_allclose(at.base_forces[0], push, rtol=1e-6)
        assert_allclose(at.base_forces[1], at.joint_forces[3], rtol=0.0, atol=0.0)
    alone = Assembly(assembly.chains[:1]).evaluate(0.2, [], []).torques
    assert np.abs(assembly.evaluate(0.2, [], []).torques[:3] - alone).max() > 10.0


def sum_of_moments(assembly: Assembly, at) -> float:
    """Sum of mass times x of the centres of mass."""
    segments = [each for chain in assembly.chains for each in chain.segments]
    turned = np.exp(1j * at.angles)
    centres = at.joints[:, 0] + [
        (complex(*each.centre) * turn).real for each, turn in zip(segments, turned, strict=True)
    ]
    return float(np.dot([each.mass for each in segments], centres))


@pytest.mark.parametrize("point", [(0.12, 0.0), (0.05, 0.02)])
def test_a_swing_leg_on_a_path_of_its_own_is_refused(point):
    with pytest.raises(InputError, match=r"chain swing: base: .* an Attachment, .*pelvis"):
        simulate_chains(stance_and_swing(hip_path(point)), TIMES)
    attached = stance_and_swing(Attachment("stance", "pelvis", point))
    assert_allclose(
        simulate_chains(attached, TIMES).bases[:, 1],
        [hip_path(point).at(time)[0] for time in TIMES],
        rtol=0.0,
        atol=1e-7,
    )


def test_a_relative_table_turns_with_the_segment_that_carries_it():
    """A prescribed foot on a free shank: the torque reacts on the shank, as in one rigid body."""
    foot = Chain(
        "foot", (ROD,), Attachment("leg", "shank", [0.43, 0.0], relative=True),
        angles=PrescribedMotion(TABLE, np.full((121, 1), 0.7)),
    )  # fmt: skip
    found = simulate_chains(Assembly((Chain("leg", (SHANK,)), foot)), TIMES, [-1.0], [2.0])
    assert_allclose(found.angles[:, 1], found.angles[:, 0] + 0.7, rtol=0.0, atol=1e-12)
    centre = (3.5 * (0.19 - 0.01j) + 2.0 * (0.43 + 0.25 * np.exp(0.7j))) / 5.5
    inertia = 0.06 + 3.5 * abs(0.19 - 0.01j - centre) ** 2
    inertia += 0.04 + 2.0 * abs(0.43 + 0.25 * np.exp(0.7j) - centre) ** 2
    one = ChainSegment("one", 0.43, 5.5, inertia, [centre.real, centre.imag])
    rigid = simulate_chains(Assembly((Chain("one", (one,)),)), TIMES, [-1.0], [2.0])
    assert_allclose(found.angles[:, 0], rigid.angles[:, 0], rtol=0.0, atol=1e-9)
    assert_allclose(found.joint_forces[:, 0], rigid.joint_forces[:, 0], rtol=0.0, atol=1e-6)
    assert_allclose(found.joint_moments[:, 1], found.torques[:, 1], rtol=0.0, atol=1e-9)


def test_absolute_angles_that_no_torque_imposes_are_an_error():
    """A long arm, prescribed, on a light free lever: at cos Δ = -(J + m l²)/(m l c) none does."""
    lever = Chain("lever", (ChainSegment("lever", 0.2, 0.1, 0.001, [0.1, 0.0]),))
    arm = Chain(
        "arm", (ChainSegment("arm", 1.0, 5.0, 0.1, [0.5, 0.0]),),
        Attachment("lever", "lever", [0.2, 0.0]),
        angles=PrescribedMotion(TABLE, 0.0 * TABLE[:, None]),
    )  # fmt: skip
    assembly = Assembly((lever, arm))
    critical = np.arccos(-(0.002 + 5.0 * 0.2**2) / (5.0 * 0.2 * 0.5))
    assert assembly.reacts_on_free
    beside = [abs(assembly.accelerations(0.0, [critical + s], [0.0])[0]) for s in (1e-2, 1e-6)]
    assert beside[1] > 1e3 * beside[0]
    with pytest.raises(SimulationError, match=r"no torque at the joint imposes these angles: use"):
        simulate_chains(assembly, TIMES, [critical - 0.1], [3.0])
    with pytest.raises(SimulationError, match=r"RK4 failed at .* no torque at the joint imposes"):
        simulate_chains(assembly, TIMES, [critical - 0.1], [3.0], method="RK4", step=0.01)
    relative = replace(arm, base=replace(arm.base, relative=True))
    assert not Assembly((lever, relative)).reacts_on_free
    assert np.isfinite(simulate_chains(Assembly((lever, relative)), TIMES, [2.0], [3.0]).energy[-1])


def test_a_bead_on_a_turning_rod_by_its_closed_form():
    """s'' = ω² s without gravity; the rod needs the torque 2 m s s' ω of the Coriolis force."""
    turning = PrescribedMotion(TABLE, 0.3 + 3.0 * TABLE[:, None])
    rod = Chain("rod", (ROD,), angles=turning)
    bead = ChainSegment("bead", 0.1, 1.5, 0.0, [0.01, 0.0])
    slide = SlidingJoint()
    carried = Chain("bead", (bead,), Attachment("rod", "rod", [0.0, 0.0]), (slide,))
    found = simulate_chains(
        Assembly((rod, carried), gravity=[0.0, 0.0]), TIMES, slides=[0.19], slide_rates=[0.0]
    )
    s = 0.2 * np.cosh(3.0 * TIMES)
    speed = 0.6 * np.sinh(3.0 * TIMES)
    assert found.slide_names == ("bead.bead",)
    assert_allclose(found.slides[:, 0] + 0.01, s, rtol=0.0, atol=1e-8)
    assert_allclose(found.slide_accelerations[:, 0], 9.0 * s, rtol=1e-8)
    assert_allclose(found.torques[:, 0], 2.0 * 1.5 * s * speed * 3.0, rtol=1e-7, atol=1e-8)
    side = found.joint_forces[:, 1] @ [1.0, 1j] * np.exp(-1j * found.angles[:, 0])
    assert_allclose(side, 1j * 2.0 * 1.5 * speed * 3.0, rtol=1e-7, atol=1e-8)


def test_a_sliding_joint_is_a_damped_oscillator():
    joint = SlidingJoint(axis=0.6, angle=0.2, stiffness=50.0, damping=3.0, neutral=0.1)
    found = simulate_chains(
        Assembly((Chain("cart", (ROD,), [1.0, 2.0], (joint,)),)), TIMES, slides=[0.3],
        slide_rates=[0.0],
    )  # fmt: skip
    rest = 0.1 - 2.0 * G * np.sin(0.6) / 50.0
    decay = 3.0 / 4.0
    w = np.sqrt(25.0 - decay**2)
    wave = np.exp(-decay * TIMES) * (np.cos(w * TIMES) + decay / w * np.sin(w * TIMES))
    assert_allclose(found.slides[:, 0], rest + (0.3 - rest) * wave, rtol=0.0, atol=1e-9)
    assert_allclose(found.angles, 0.2, rtol=0.0, atol=0.0)
    places = [1.0, 2.0] + found.slides * [np.cos(0.6), np.sin(0.6)]
    assert_allclose(found.joints[:, 0], places, rtol=0.0, atol=1e-14)
    assert_allclose(found.energy[0], found.potential[0], rtol=0.0, atol=0.0)


def test_a_prescribed_sliding_joint_needs_its_force():
    path = PrescribedMotion(TABLE, 0.1 + 0.5 * 3.0 * TABLE[:, None] ** 2)
    lift = Chain("lift", (ROD,), (0.0, 0.0), (SlidingJoint(axis=np.pi / 2.0),), angles=path)
    found = simulate_chains(Assembly((lift,)), TIMES)
    assert_allclose(found.slides[:, 0], 0.1 + 1.5 * TIMES**2, rtol=0.0, atol=1e-12)
    assert_allclose(found.torques[:, 0], 2.0 * (G + 3.0), rtol=1e-9)
    assert_allclose(found.joint_moments[:, 0], 2.0 * 0.25 * (G + 3.0), rtol=1e-9)


def test_a_slide_on_an_accelerated_base_feels_the_acceleration():
    """s'' = (g - a) · axis, and the base pushes with m (a + s'' axis - g)."""
    a, axis = np.array([2.0, -1.0]), np.array([np.cos(0.4), np.sin(0.4)])
    path = PrescribedMotion(TABLE, 0.5 * TABLE[:, None] ** 2 * a)
    cart = Chain("cart", (ROD,), path, (SlidingJoint(axis=0.4),))
    found = simulate_chains(Assembly((cart,)), TIMES, slides=[0.0], slide_rates=[0.0])
    gravity = np.array([0.0, -G])
    along = (gravity - a) @ axis
    assert_allclose(found.slides[:, 0], 0.5 * along * TIMES**2, rtol=0.0, atol=1e-9)
    force = np.broadcast_to(2.0 * (a + along * axis - gravity), (21, 2))
    assert_allclose(found.base_forces[:, 0], force, rtol=1e-8)
    assert_allclose(found.joint_forces[:, 0] @ axis, 0.0, rtol=0.0, atol=1e-8)


def test_a_free_body_falls_on_a_parabola():
    chain = Chain("thrown", (ROD,), FreeBase())
    found = simulate_chains(
        Assembly((chain,)), TIMES, [0.4], [5.0], bases=[[1.0, 2.0]], base_rates=[[3.0, 4.0]]
    )
    arm = 0.25 * np.exp(0.4j)
    centre = 3.0 + 2j - 2.0 + arm + (3.0 + 4j + 5j * arm) * TIMES - 0.5j * G * TIMES**2
    moved = found.bases[:, 0] @ [1.0, 1j] + 0.25 * np.exp(1j * found.angles[:, 0])
    assert_allclose(moved, centre, rtol=0.0, atol=1e-8)
    assert_allclose(found.angles[:, 0], 0.4 + 5.0 * TIMES, rtol=0.0, atol=1e-9)
    assert_allclose(found.base_forces, 0.0, rtol=0.0, atol=1e-12)
    assert found.chain_names == ("thrown",)


def link(**options) -> ViscoelasticLink:
    stated = {"name": "link", "first": GROUND, "first_point": [0.0, 0.0], "second": ("arm", "rod"),
              "second_point": [0.0, 0.0], "stiffness": 0.0, "kind": "bushing"}  # fmt: skip
    return ViscoelasticLink(**(stated | options))


def test_the_turning_of_a_link_to_the_ground_is_that_of_a_joint():
    law = {"rotational_stiffness": 4.0, "rotational_damping": 0.3, "rest_angle": 0.5}
    start = ([0.8], [1.0])
    bare = Chain("arm", (ROD,))
    linked = simulate_chains(Assembly((bare,), (link(**law),)), TIMES, *start)
    jointed = simulate_chains(
        Assembly((replace(bare, joints=(Joint(4.0, 0.3, 0.5),)),)), TIMES, *start
    )
    assert_allclose(linked.angles, jointed.angles, rtol=0.0, atol=1e-12)
    assert_allclose(linked.energy, jointed.energy, rtol=0.0, atol=1e-12)
    expected = -4.0 * (linked.angles - 0.5) - 0.3 * linked.rates
    assert_allclose(linked.link_torques, expected, rtol=1e-13)
    assert_allclose(jointed.joint_moments, expected, rtol=0.0, atol=1e-8)
    assert_allclose(linked.joint_moments, 0.0, rtol=0.0, atol=1e-9)


def test_a_turning_link_acts_on_both_segments():
    chains = (Chain("arm", (ROD,)), Chain("other", (replace(ROD, name="bar"),)))
    pair = link(first=("other", "bar"), rotational_stiffness=2.0, rest_angle=0.1)
    found = Assembly(chains, (pair,), (0.0, 0.0)).evaluate(0.0, [0.7, 0.2], [0.0, 0.0])
    inertia = 0.04 + 2.0 * 0.25**2
    assert_allclose(found.accelerations, np.array([-0.8, 0.8]) / inertia, rtol=1e-13)
    assert_allclose(found.potential, 0.5 * 2.0 * 0.4**2, rtol=1e-13)


def test_a_strap_pulls_and_does_not_push():
    strap = link(
        first_point=[0.0, 1.0], second_point=[0.5, 0.0], stiffness=100.0, damping=10.0,
        rest_length=0.6, kind="line", pull_only=True,
    )  # fmt: skip
    assembly = Assembly((Chain("arm", (ROD,)),), (strap,))
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


def test_a_mass_falls_into_a_strap():
    """Free fall while slack, then a harmonic motion: energy holds through both."""
    fall = Chain("arm", (ROD,), (0.0, 0.0), (SlidingJoint(axis=-np.pi / 2.0, angle=-np.pi / 2.0),))
    strap = link(stiffness=400.0, rest_length=0.3, kind="line", pull_only=True)
    found = simulate_chains(
        Assembly((fall,), (strap,)), TIMES, slides=[0.1], slide_rates=[0.0], rtol=1e-12, atol=1e-13
    )
    assert found.link_forces[0, 0, 1] == 0.0
    assert_allclose(found.energy, found.energy[0], rtol=0.0, atol=1e-8)
    hit = np.sqrt(2.0 * 0.2 / G)
    w = np.sqrt(400.0 / 2.0)
    after = (hit < TIMES) & (hit + np.pi / w > TIMES)
    phase = w * (TIMES[after] - hit)
    sag = G / w**2
    expected = 0.3 + sag - sag * np.cos(phase) + G * hit / w * np.sin(phase)
    assert_allclose(found.slides[after, 0], expected, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Chain("c", (ROD,), FreeBase(), (SlidingJoint(),)), r"c: joints: expected a pin"),
        (
            lambda: Chain("c", (replace(ROD, inertia=0.0),), FreeBase()),
            r"c: segments: expected a first segment of inertia > 0",
        ),
        (
            lambda: Chain("c", (ROD,), Attachment("d", "rod", [0, 0], relative=True)),
            r"c: base: expected prescribed angles with a relative attachment",
        ),
        (lambda: Attachment("d", "rod", [0.0]), r"attachment to d.rod: point: expected shape"),
        (lambda: SlidingJoint(stiffness=-1.0), r"sliding joint: stiffness: expected >= 0 N/m"),
        (lambda: link(rotational_damping=-1.0), r"link: rotational_damping: expected >= 0"),
        (lambda: link(pull_only=True), r"link: pull_only: expected the kind 'line'"),
        (lambda: link(second=GROUND), r"link: second: expected a segment other than"),
        (
            lambda: Assembly((Chain("c", (ROD,), Attachment("d", "rod", [0, 0])),)),
            r"chain c: base: chain: expected one of \['c'\], found 'd'",
        ),
        (
            lambda: Assembly((ARM, Chain("d", (ROD,), Attachment("arm", "x", [0, 0])))),
            r"chain d: base: segment of arm: expected one of \['rod'\], found 'x'",
        ),
        (
            lambda: Assembly(
                tuple(Chain(a, (ROD,), Attachment(b, "rod", [0, 0])) for a, b in ("cd", "dc"))
            ),
            r"chains c, d: expected bases .* found a ring of attachments",
        ),
        (
            lambda: simulate_chains(Assembly((Chain("c", (ROD,), FreeBase()),)), TIMES, [0], [0]),
            r"bases: expected shape \(1, 2\)",
        ),
        (
            lambda: simulate_chains(
                Assembly((Chain("c", (ROD,), FreeBase()),)), TIMES, [0], [0], bases=[[0, 0]],
                base_rates=[0.0],
            ),
            r"base_rates: expected shape \(1, 2\)",
        ),
        (
            lambda: simulate_chains(
                Assembly((Chain("c", (ROD,), joints=(SlidingJoint(),)),)), TIMES, slides=[0.0]
            ),
            r"slide_rates: expected shape \(1\)",
        ),
        (
            lambda: simulate_chains(Assembly((Chain("c", (ROD,)),)), TIMES, [0], [0], slides=[0]),
            r"slides: expected shape \(0\)",
        ),
    ],
)  # fmt: skip
def test_bad_arguments_are_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
