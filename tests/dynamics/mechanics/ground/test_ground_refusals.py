"""Arguments that legs, ground and impacts reject, with messages that name the argument."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from dynamics.mechanics.ground import (
    ContactPoint,
    Leg,
    PenaltyGround,
    newton_impact,
    path_impact,
    simulate_rigid_strike,
    simulate_strike,
    standing_start,
    striking_leg,
    striking_legs,
)
from dynamics.mechanics.ground.contact import contact_arms
from dynamics.mechanics.ground.impact import contact_impulse
from dynamics.mechanics.segments import Segment
from dynamics.simulator.equations import SimulationError
from tests.oracles.heel_strike import heel_strike, reversing_impact, soft

NAN = np.nan
START, KANE = heel_strike(), reversing_impact()
LAWS = {"restitution": 0.5, "friction": 0.5}
STATE = {"leg": START.leg, "position": START.position, "velocity": START.velocity}
standing = partial(
    standing_start, *striking_legs(), PenaltyGround(), position=[0.0] * 6, velocity=[0.0] * 6
)
HIT = {"leg": KANE.leg, "position": KANE.position, "velocity": KANE.velocity, **LAWS}

strike = partial(
    simulate_strike, points=START.points, ground=PenaltyGround(), duration=0.1, **STATE
)
rigid = partial(simulate_rigid_strike, points=START.points, duration=0.1, **STATE, **LAWS)
newton = partial(newton_impact, points=KANE.points, **HIT)
path = partial(path_impact, point=KANE.points[0], **HIT)
segment = partial(Segment, mass=1.0, end=[0.0, -0.1], centre_of_mass=[0.0, 0.0], inertia=0.1)
arms = partial(contact_arms, START.leg)


def weightless_peak():
    leg = Leg({"foot": segment()}, gravity=0.0)
    points = [ContactPoint("sole", "foot", [0.0, -0.05])]
    return simulate_strike(leg, points, PenaltyGround(), [0, 1, 0], [0, 0, 0], 0.01).peak_reaction


@pytest.mark.parametrize(
    ("call", "change", "message"),
    [
        (PenaltyGround, {"compliance": 0.0}, r"compliance: expected > 0 m/N"),
        (PenaltyGround, {"damping": -1.0}, r"damping: expected >= 0 N s/m"),
        (PenaltyGround, {"friction": 0.5}, r"friction: expected a CompliantFriction, found 0.5"),
        (striking_leg, {"body_mass": -1.0}, r"mass: expected > 0 kg, found -1"),
        (striking_leg, {"height": NAN}, r"height: expected > 0 m, found nan"),
        (striking_leg, {"ankle": "free"}, r"ankle: expected one of .* found 'free'"),
        (striking_leg, {"hip_mass": -2.0}, r"hip_mass: expected >= 0 kg"),
        (striking_leg, {"anchor": [0.0]}, r"anchor: expected shape \(2\)"),
        (striking_leg, {"joint_stiffness": [1.0]}, r"joint_stiffness: expected shape \(2\)"),
        (striking_leg, {"joint_damping": [1.0, -1.0]}, r"joint_damping: expected >= 0, found -1"),
        (striking_leg, {"joint_rest": [np.inf, 0.0]}, r"joint_rest: expected finite"),
        (Leg, {"segments": {}}, r"segments: expected at least one segment, found none"),
        (segment, {"mass": -1.0}, r"segment mass: expected > 0 kg"),
        (
            partial(ContactPoint, "heel", "shank"),
            {"position": [0.0, NAN]},
            r"contact point heel: position: expected finite",
        ),
        (
            arms,
            {"points": []},
            r"contact points: expected at least one, with unique names, found none",
        ),
        (arms, {"points": [ContactPoint("heel", "hand", [0, 0])]}, r"segment: .* found 'hand'"),
        (strike, {"position": [0.0, 1.0]}, r"position: expected shape \(4\)"),
        (strike, {"velocity": [0.0, NAN, 0.0, 0.0]}, r"velocity: expected finite"),
        (strike, {"duration": 0.0}, r"duration: expected > 0 s"),
        (strike, {"samples": 1}, r"samples: expected >= 2"),
        (strike, {"rtol": -1.0}, r"rtol: expected > 0"),
        (strike, {"method": "Euler"}, r"method: expected one of .* found 'Euler'"),
        (strike, {"ground": 1e5}, r"ground: expected a PenaltyGround"),
        (weightless_peak, {}, r"weight: expected > 0 N, found 0"),
        (soft("locked").loaded, {"point": "toe"}, r"point: expected one of .* found 'toe'"),
        (rigid, {"duration": -1.0}, r"duration: expected > 0 s"),
        (rigid, {"restitution": 2.0}, r"restitution: expected >= 0 and <= 1"),
        (rigid, {"friction": NAN}, r"friction: expected >= 0"),
        (rigid, {"steps": 0}, r"steps: expected >= 1"),
        (rigid, {"position": [1.0]}, r"position: expected shape \(4\)"),
        (newton, {"restitution": 1.2}, r"restitution: expected >= 0 and <= 1"),
        (newton, {"friction": -0.1}, r"friction: expected >= 0"),
        (newton, {"velocity": [0.0]}, r"velocity: expected shape \(2\)"),
        (path, {"restitution": 1.2}, r"restitution: expected >= 0 and <= 1"),
        (path, {"friction": -0.1}, r"friction: expected >= 0"),
        (path, {"position": [0.0, NAN]}, r"position: expected finite"),
        (path, {"velocity": -KANE.velocity}, r"normal velocity of the point: expected < 0 m/s"),
        (standing, {"standing": []}, r"standing: expected at least one point, found none"),
        (standing, {"standing": ["toe"]}, r"standing: expected one of .* found 'toe'"),
        (path, {"law": "newton"}, r"law: expected one of .* found 'newton'"),
    ],
)
def test_bad_arguments_are_named(call, change, message):
    with pytest.raises(ValueError, match=message):
        call(**change)


def test_impulses_without_solution():
    with pytest.raises(ValueError, match=r"points in contact: expected at most 5, found 6"):
        contact_impulse(np.eye(12), np.zeros(12), np.zeros(6), 0.5, 0.5)
    with pytest.raises(SimulationError, match=r"no combination of sticking, sliding and opening"):
        contact_impulse(np.diag([1.0, -1.0]), np.array([0.0, -1.0]), np.array([-1.0]), 0.5, 0.5)
