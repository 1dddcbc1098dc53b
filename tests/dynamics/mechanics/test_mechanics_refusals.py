"""Rules between arguments of mechanical systems, and choices, with messages that name them."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dynamics.mechanics import ground, planar_knee, unilateral
from dynamics.mechanics.chain_parts import (
    Attachment,
    Chain,
    ChainSegment,
    FreeBase,
    Joint,
    PrescribedMotion,
    ViscoelasticLink,
)
from dynamics.mechanics.chains import Assembly, simulate_chains
from dynamics.mechanics.complementarity import ComplementarityError, solve_complementarity
from dynamics.simulator.equations import SimulationError
from foundation.contact_laws.normal import LinearHysteresisLaw
from tests.oracles.heel_strike import heel_strike, reversing_impact

REFUSED = (ValueError, SimulationError, ComplementarityError)
TIME = np.linspace(0.0, 1.0, 11)


def table(columns):
    return PrescribedMotion(TIME, np.zeros((11, columns)))


THIGH, SHANK = (ChainSegment(name, 0.4, 7.0, 0.1, [0.17, 0.0]) for name in ("thigh", "shank"))
LEG, ARM = Chain("leg", (THIGH, SHANK)), Chain("arm", (THIGH,))
MOVED = replace(LEG, angles=table(2))
segment = partial(ChainSegment, name="s", length=0.4, mass=1.0, inertia=0.01, centre=[0.2, 0.0])
chain = partial(Chain, name="leg", segments=(THIGH, SHANK))
link = partial(
    ViscoelasticLink, name="cuff", first=("leg", "thigh"), first_point=[0.1, 0.0],
    second=("arm", "thigh"), second_point=[0.1, 0.0], stiffness=1e3,
)  # fmt: skip
assembly = partial(Assembly, chains=(LEG, ARM))
run = partial(
    simulate_chains, Assembly((MOVED, ARM)), times=[0.0, 0.5], position=[0.0], velocity=[0.0]
)
motion = partial(PrescribedMotion, time=TIME, values=TIME[:, None])


def to(name):
    return Attachment(name, "thigh", [0.0, 0.0])


def swinging(**options):
    hung = Assembly((Chain("arm", (THIGH,), **options),))
    return simulate_chains(hung, [0.0, 1.5], [0.0], [0.0])


CHAINS = [
    (segment, {"inertia": 0.0, "centre": [0.0, 0.0]}, r"inertia: expected > 0 kg m² about"),
    (chain, {"segments": ()}, r"chain leg: segments: expected at least one, .* found none"),
    (chain, {"joints": (Joint(),)}, r"chain leg: joints: expected 2, found 1"),
    (chain, {"angles": table(3)}, r"angles: expected 2 columns, found 3"),
    (chain, {"base": FreeBase(), "joints": (Joint(axis=0.0), Joint())}, r"leg: base: .* slide"),
    (link, {"kind": "cable"}, r"link cuff: kind: expected one of .* found 'cable'"),
    (assembly, {"chains": (LEG, LEG)}, r"chains: expected .* unique names, found leg, leg"),
    (assembly, {"links": (link(), link())}, r"closures: expected unique names, found cuff, cuff"),
    (assembly, {"links": (link(first=("hip", "s")),)}, r"link cuff: segment: .* found 'hip.s'"),
    (assembly, {"chains": (Chain("c", (THIGH,), to("d")),)},
     r"chain c: base: segment: expected one of \['c.thigh'\], found 'd.thigh'"),
    (assembly, {"chains": tuple(Chain(a, (THIGH,), to(b)) for a, b in ("cd", "dc"))},
     r"chain c: base: expected a segment of an earlier chain"),
    (assembly, {"chains": (ARM, Chain("d", (THIGH,), to("arm"), angles=table(1)))},
     r"chain d: base: .* which is prescribed if d is"),
    (run, {"position": [0.0, 0.0]}, r"position: expected shape \(1\), found \(2,\)"),
    (run, {"times": [0.0, 1.0, 1.0]}, r"times: expected at least two increasing"),
    (run, {"times": [0.0, 1.2]}, r"time: expected >= .* s and <= 1 s, found 1"),
    (swinging, {"drive": lambda t, a, r: 1.0}, r"chain arm: drive: expected shape \(1\)"),
    (motion, {"time": TIME[::-1]}, r"motion: time: expected at least 6 increasing instants"),
    (motion, {"values": TIME}, r"motion: values: expected shape \(11, any\), found \(11,\)"),
]  # fmt: skip

ONE = unilateral.PinnedSegment("one", [0.0, 0.0])
TWO = unilateral.PinnedSegment("two", [0.0, 1.0], "three")
ROD = unilateral.Member("ground", [0.0, 0.0], "one", [1.0, 0.0], 1.0)
problem = partial(solve_complementarity, matrix=np.eye(2), constant=[1.0, 2.0])
structure = partial(unilateral.solve_structure, [[1.0, -1.0]], stiffness=[1.0, 2.0], load=[1.0])
planar = partial(unilateral.PlanarStructure, segments=[ONE], members=[])
member = partial(unilateral.Member, "ground", [0.0, 0.0], "one", end=[1.0, 0.0], stiffness=1.0)
UNILATERAL = [
    (problem, {"matrix": np.eye(3)}, r"matrix: expected shape \(2, 2\), found \(3, 3\)"),
    (problem, {"matrix": -np.eye(2), "constant": [-1.0, -1.0]}, "no solution"),
    (structure, {"stiffness": [1.0, 0.0]}, r"stiffness: the least: expected > 0 N/m, found 0"),
    (partial(unilateral.solve_structure, load=[1.0]),
     {"balance": np.empty((1, 0)), "stiffness": []}, r"stiffness: expected at least one member"),
    (structure, {"activation": 0.0}, r"load: .* can balance, found \[1.0\]; \[1.0\] remains"),
    (planar, {"segments": [TWO]}, r"segment two: parent: expected one of .* found 'three'"),
    (planar, {"segments": [ONE, ONE]}, r"bodies: expected unique names"),
    (planar, {"segments": [], "members": [ROD]}, r"member: body: .* found 'one'"),
    (member, {"end": [0.0, 0.0]}, r"member ground to one: length: expected > 0 m"),
    (partial(planar().generalised_force, point=[0, 0], force=[0, 0]), {"body": "two"},
     r"body: expected one of .* found 'two'"),
    (partial(planar().joint_reactions, []), {"loads": [("two", [0.0, 1.0])]},
     r"loads: body: expected one of"),
]  # fmt: skip

START, KANE = heel_strike(), reversing_impact()
HIT = {"assembly": KANE.leg, "position": KANE.position, "velocity": KANE.velocity,
       "restitution": 0.5, "friction": 0.5}  # fmt: skip
LED = replace(KANE.leg, chains=(replace(KANE.leg.chains[0], angles=table(2)),))
strike = partial(
    ground.simulate_strike, START.leg, points=START.points, ground=ground.penalty_ground(),
    position=START.position, velocity=START.velocity, duration=0.1,
)  # fmt: skip
newton = partial(ground.newton_impact, points=KANE.points, **HIT)
standing = partial(
    ground.standing_start, *ground.striking_legs(), ground.penalty_ground(),
    position=[0.0] * 6, velocity=[0.0] * 6,
)  # fmt: skip
point = partial(ground.ContactPoint, "heel", position=[0, 0])
STRIKES = [
    (ground.striking_legs, {"ankle": "free"}, r"ankle: expected one of .* found 'free'"),
    (ground.striking_legs, {"joint_stiffness": [1.0]}, r"joint_stiffness: .* shape \(2, 2\)"),
    (strike, {"points": []}, r"contact points: expected at least one, .* found none"),
    (strike, {"points": [point(segment=("leg", "hand"))]}, r"heel: segment: "),
    (strike, {"position": [0.0, 1.0]}, r"position: expected shape \(4\)"),
    (newton, {"assembly": LED}, r"assembly: expected free chains .* found .* prescribed"),
    (newton, {"restitution": 1.2}, r"restitution: expected >= 0 and <= 1"),
    (standing, {"standing": []}, r"standing: expected at least one point, found none"),
    (standing, {"standing": ["toe"]}, r"standing: expected one of .* found 'toe'"),
    (standing, {"standing": "stance ball"}, r"position: expected the points of `standing` alone"),
]

ANGLES = np.linspace(0.0, 1.0, 6)
ligament = partial(
    planar_knee.PlanarLigament, name="X", femoral=[0, 0], tibial=[0, 0], rest_length=0.1,
    stiffness=1.0,
)  # fmt: skip
knee = partial(replace, planar_knee.machado_knee(law="hertz"))
profile = partial(planar_knee.PolarProfile, angle=ANGLES, radius=np.ones(6))
simulated = partial(
    planar_knee.simulate_planar_knee, planar_knee.machado_knee(), duration=0.1,
    initial=planar_knee.machado_state(),
)  # fmt: skip
KNEES = [
    (planar_knee.machado_knee, {"law": "hooke"}, r"law: .*'hertz'.*, found 'hooke'"),
    (ligament, {"rest_length": 0.0}, r"ligament X: rest_length: expected > 0 m, found 0"),
    (knee, {"law": LinearHysteresisLaw(5e4, 0.5)}, r"law: .* continuous .* KelvinVoigtLaw"),
    (profile, {"kind": "spline"}, r"profile kind: .*'akima'.*found 'spline'"),
    (profile, {"angle": ANGLES[::-1]}, r"profile angle: expected .* strictly increasing"),
    (profile, {"angle": 7.0 * ANGLES}, r"over less than 2 pi"),
    (profile, {"radius": [9, 9, 9, 1e-3, 9, 9]}, r"also between samples: .* found -"),
    (simulated, {"initial": [0.0] * 5}, r"initial: expected shape \(6\), found \(5,\)"),
]


@pytest.mark.parametrize(
    ("call", "change", "words"), [*CHAINS, *UNILATERAL, *STRIKES, *KNEES], ids=lambda _: ""
)
def test_arguments_that_do_not_fit_are_named(call, change, words):
    with pytest.raises(REFUSED, match=words):
        call(**change)
