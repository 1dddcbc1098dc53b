"""The planar knee beside tests/literature: impact, energy, sliding, profiles, contact points."""

import math
from functools import cache

import numpy as np
import pytest
from differences import differences
from numpy.testing import assert_allclose
from some_slow import some_slow

from dynamics.mechanics.planar_knee import (
    MACHADO_LAWS,
    PlanarKnee,
    machado_clearance_knee,
    machado_knee,
    machado_state,
    simulate_planar_knee,
)
from dynamics.mechanics.profiles import PROFILE_KINDS, ClearanceJoint, PolarProfile, ProfileContact
from dynamics.simulator.equations import SimulationError
from foundation.contact_laws.normal import HertzLaw

MASS, INERTIA, STIFFNESS = 3.75, 0.165, 8e5
R, H = 0.04, 0.2255
#: Pushed into the femur and turned, LCL and PCL taut.
STATE = machado_state() + np.array([0.004, -0.001, 0.12, 0.3, -0.2, 1.5])


def plane_knee(law, gravity=0.0):
    """A tibia whose plane, 0.2 m above its centre of mass, can strike the femur."""
    contact = ProfileContact(PolarProfile.circle(R), PolarProfile.line(0.2, 0.3))
    return PlanarKnee(MASS, INERTIA, contact, law, gravity=gravity)


def before(gap, speed):
    return [-(0.24 + gap), 0.0, 0.0, speed, 0.0, 0.0]


def test_hertz_impact_in_closed_form():
    speed, gap = 0.3, 0.003
    knee = plane_knee(HertzLaw(STIFFNESS))
    motion = simulate_planar_knee(knee, before(gap, speed), 0.1, step=5e-5)
    (impact,) = motion.impacts
    assert_allclose([impact.time, impact.rate], [gap / speed, speed], rtol=1e-9)
    deepest = (1.25 * MASS * speed**2 / STIFFNESS) ** 0.4
    assert_allclose(motion.indentation.max(), deepest, rtol=1e-5)
    # Johnson 1985, sect. 11.4: the contact lasts 2.94 times deepest / speed.
    assert_allclose((motion.contact_force > 0.0).sum() * 5e-5, 2.943 * deepest / speed, rtol=3e-3)
    assert_allclose(motion.state[-1, 3:], [-speed, 0.0, 0.0], rtol=0.0, atol=1e-7)


def test_short_flight_is_not_missed():
    """Bounces shorter than a step of the integrator once let the journal through the wall."""
    knee = machado_clearance_knee(1e-3, 150.0, ligaments=False)
    motion = simulate_planar_knee(knee, machado_state(), 0.15)
    assert motion.indentation.max() < 2e-3
    assert abs(motion.energy_error).max() < 1e-6 * motion.kinetic.max()


@cache
def free(law):
    return simulate_planar_knee(machado_knee(law=law), machado_state(), 0.3)


@pytest.mark.parametrize("joint", [False, True])
def test_sliding_is_the_velocity_of_the_point_of_the_tibia(joint):
    """Of the point fixed to the tibia which touches now, along the femur's tangent."""
    knee = machado_clearance_knee() if joint else machado_knee()
    contact = knee.contact_state(STATE)
    fixed = (contact.point.on_tibia - complex(*STATE[:2])) * np.exp(-1j * STATE[2])

    def at(time):
        x, y, angle = STATE[:3] + time * STATE[3:]
        z = (x + 1j * y + np.exp(1j * angle) * fixed) / contact.point.normal
        return np.array([z.real, z.imag])

    velocity = np.array([differences(lambda t, k=k: at(t[0])[k], [0.0])[0] for k in (0, 1)])
    assert_allclose([-contact.rate, contact.sliding], velocity, rtol=1e-8, atol=1e-10)
    slope = differences(lambda t: knee.contact(STATE[:3] + t * STATE[3:]).gap, [0.0])
    assert_allclose(contact.rate, -slope[0], rtol=1e-7, atol=1e-9)
    assert abs(contact.sliding) > 0.01


@pytest.mark.parametrize("law", some_slow(MACHADO_LAWS, "hunt-crossley".__eq__))
def test_energy_balances_and_dissipative_laws_only_lose(law):
    motion = free(law)
    assert np.abs(motion.energy_error).max() < 1e-6 * motion.kinetic.max()
    if law == "hertz":
        assert np.abs(motion.loss).max() < 1e-12
    else:
        assert (np.diff(motion.loss) >= 0.0).all()
        assert motion.loss[-1] > 0.05
        # Once the pull is over, the mechanical energy never rises.
        assert np.diff(motion.energy[motion.time > 0.1]).max() < 1e-6


KINDS = pytest.mark.parametrize("kind", PROFILE_KINDS)


def turn(angle):
    return np.exp(1j * angle)


def place_for(gap, slide, angle):
    """Place and turn of a tibia whose plane has a gap to the circle, the foot point off."""
    return turn(angle) * complex(-(R + gap + H), -slide), turn(angle)


def oval(kind, samples=160):
    """A smooth femur far from a circle, convex, its pole not in its middle."""
    t = 2.0 * np.pi * np.arange(samples) / samples
    points = np.column_stack((0.006 + 0.05 * np.cos(t), 0.035 * np.sin(t) + 0.004 * np.cos(2 * t)))
    return PolarProfile.from_points(points, kind, closed=True)


@pytest.mark.parametrize("gap", [0.03, 1e-6, 0.0, -1e-6, -0.008])
@pytest.mark.parametrize("angle", [0.6, 1.5, -2.4])
def test_circle_on_a_line(gap, angle):
    slide = 0.0237
    contact = ProfileContact(PolarProfile.circle(R), PolarProfile.line(H, 0.35, 161))
    found = contact.contact(*place_for(gap, slide, angle))
    normal = -turn(angle)
    assert_allclose(found.gap, gap, rtol=0.0, atol=2e-10)
    assert_allclose(found.normal, normal, rtol=0.0, atol=1e-6)
    assert_allclose(found.point, R * normal, rtol=0.0, atol=1e-7)
    assert_allclose(found.angles[1], math.atan2(slide, H), rtol=0.0, atol=1e-6)


@KINDS
@pytest.mark.parametrize("gap", [0.05, 0.0, -0.02])
def test_circle_on_a_circle_never_on_the_far_side(kind, gap):
    femur, tibia = PolarProfile.circle(R, kind=kind), PolarProfile.circle(0.03, kind=kind)
    found = ProfileContact(femur, tibia).contact((R + 0.03 + gap) * turn(2.0), turn(0.7))
    assert_allclose(found.gap, gap, rtol=0.0, atol=1e-14)
    assert_allclose(found.normal, turn(2.0), rtol=0.0, atol=1e-12)


@KINDS
@pytest.mark.parametrize("offset", [0.004, 0.006])
def test_circle_in_a_socket(kind, offset):
    """A concave arc of radius 0.045: gap of the journal in a socket, on either side of zero."""
    centre, radius = 0.25, 0.045
    t = np.linspace(math.pi + 1.2, math.pi - 1.2, 401)
    points = np.column_stack((centre + radius * np.cos(t), radius * np.sin(t)))
    tibia = PolarProfile.from_points(points, kind)
    direction = -turn(0.3)
    place = -centre - offset * direction
    found = ProfileContact(PolarProfile.circle(R, kind=kind), tibia).contact(place, 1.0 + 0j)
    assert_allclose(found.gap, radius - R - offset, rtol=0.0, atol=3e-8)
    assert_allclose(found.normal, direction, rtol=0.0, atol=1e-3)
    joint = ClearanceJoint(R, radius - R, complex(centre)).contact(place, 1.0 + 0j)
    assert_allclose(joint.gap, radius - R - offset, rtol=0.0, atol=1e-15)
    assert_allclose(joint.normal, direction, rtol=0.0, atol=1e-13)
    assert_allclose(joint.point, R * direction, rtol=0.0, atol=1e-14)


@KINDS
@pytest.mark.parametrize("gap", [0.01, -0.004])
@pytest.mark.parametrize("angle", [0.2, 1.1, 2.3])
def test_oval_on_a_line_against_brute_force(kind, gap, angle):
    femur, tibia = oval(kind), PolarProfile.line(H, 0.4, 201, kind)
    dense = femur.at(np.linspace(0.0, 2.0 * np.pi, 20_001)).position
    heights = (dense * -turn(angle).conjugate()).real
    place = (-(heights.max() + gap + H) + 0.01j) * turn(angle)
    found = ProfileContact(femur, tibia).contact(place, turn(angle))
    assert_allclose(found.gap, gap, rtol=0.0, atol=2e-7 if kind == "pchip" else 2e-9)
    assert_allclose(found.point, dense[heights.argmax()], rtol=0.0, atol=2e-4)


@KINDS
@pytest.mark.parametrize("gap", [0.006, -0.003])
def test_gradient_of_the_gap_is_the_normal(kind, gap):
    contact = ProfileContact(oval(kind), PolarProfile.line(H, 0.4, 201, kind))
    place, turned = place_for(gap, 0.01, 0.8)
    at = contact.contact(place, turned)
    # The moment arm is that of any point of the common normal.
    moment = ((at.point - place).conjugate() * at.normal).imag
    wanted = [at.normal.real, at.normal.imag, moment]
    start = [place.real, place.imag, 0.8]
    slope = differences(lambda q: contact.contact(complex(*q[:2]), turn(q[2])).gap, start)
    assert_allclose(slope, wanted, rtol=0.0, atol=1e-8)


def test_no_common_normal_is_an_error():
    contact = ProfileContact(PolarProfile.circle(R), PolarProfile.line(H, 0.1))
    with pytest.raises(
        SimulationError, match="expected a common normal of the profiles, found none"
    ):
        contact.contact(*place_for(0.001, 0.05, 0.3))


def test_concentric_journal_has_the_clearance_for_a_gap():
    found = ClearanceJoint(R, 1e-3, 0.2 + 0.1j).contact(-0.2 - 0.1j, 1.0 + 0j)
    assert found.gap == 1e-3
    assert np.isfinite(found.normal).all()


# Half axes of the ellipse [m].
LONG, SHORT = 0.05, 0.035


def ellipse(samples, kind):
    t = 2.0 * np.pi * np.arange(samples) / samples
    points = np.column_stack((LONG * np.cos(t), SHORT * np.sin(t)))
    return PolarProfile.from_points(points, kind, closed=True)


@KINDS
def test_tangent_and_curvature_are_derivatives(kind):
    profile, step = ellipse(40, kind), 1e-6
    for angle in (0.21, 1.3, 2.9, 4.4):
        position, tangent, curvature, speed = profile.at(angle)
        ahead, behind = profile.at(angle + step), profile.at(angle - step)
        slope, bend = ((a - b) / (2.0 * step) for a, b in zip(ahead[:2], behind[:2], strict=True))
        assert_allclose(slope, tangent * speed, rtol=1e-7, atol=1e-10)
        # d t / ds = -kappa n with n = -i t.
        assert_allclose(bend, 1j * tangent * curvature * speed, rtol=1e-6, atol=1e-7)
        assert (position.conjugate() * tangent).imag > 0.0  # outward
