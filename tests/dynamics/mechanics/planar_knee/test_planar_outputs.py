"""Contact points and velocities that a motion reports, against geometry and integrals."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from differences import differences
from numpy.testing import assert_allclose
from scipy.integrate import cumulative_simpson

from dynamics.mechanics.planar_knee import (
    PlanarMotion,
    machado_clearance_knee,
    machado_knee,
    machado_state,
    simulate_planar_knee,
)

R, H = 0.04, 0.2255


@cache
def motion() -> PlanarMotion:
    return simulate_planar_knee(machado_knee(), machado_state(), 0.3)


def turned(motion: PlanarMotion, points: np.ndarray) -> np.ndarray:
    """Return points of the tibia in the global frame, by complex numbers."""
    x, y, angle = motion.state[:, :3].T
    z = x + 1j * y + np.exp(1j * angle) * (points[:, 0] + 1j * points[:, 1])
    return np.column_stack((z.real, z.imag))


def test_contact_points_lie_on_both_bodies():
    found = motion()
    assert_allclose(np.hypot(*found.femoral_contact.T), R, rtol=0.0, atol=1e-12)
    # Between its samples the shape-preserving spline of a line is not straight.
    assert_allclose(found.tibial_contact[:, 0], H, rtol=0.0, atol=1e-6)
    # The knee rolls and slides from the back of the tibia to its middle.
    assert 0.025 < found.tibial_contact[:, 1].max() < 0.03
    assert abs(found.tibial_contact[-1, 1]) < 0.01


def test_contact_points_are_the_indentation_apart():
    found = motion()
    apart = turned(found, found.tibial_contact) - found.femoral_contact
    assert_allclose(np.hypot(*apart.T), np.abs(found.indentation), rtol=0.0, atol=1e-14)
    outward = (apart * found.femoral_contact).sum(axis=1) / R
    assert_allclose(outward, -found.indentation, rtol=0.0, atol=1e-14)


def test_rate_of_indentation_integrates_to_the_indentation():
    found = motion()
    integral = cumulative_simpson(found.indentation_rate, x=found.time, initial=0.0)
    gained = found.indentation - found.indentation[0]
    assert_allclose(integral, gained, rtol=0.0, atol=1e-6)
    assert np.abs(gained).max() > 4e-3


@pytest.mark.parametrize("joint", [False, True])
def test_sliding_is_the_velocity_of_the_point_of_the_tibia(joint):
    """Of the point fixed to the tibia which touches now, along the femur's tangent."""
    knee = machado_clearance_knee() if joint else machado_knee()
    state = machado_state() + np.array([0.004, -0.001, 0.12, 0.3, -0.2, 1.5])
    contact = knee.contact_state(state)
    place = tuple(state[:3])
    fixed = complex(*contact.point.on_tibia(place))

    def at(time: float) -> np.ndarray:
        x, y, angle = state[:3] + time * state[3:]
        z = x + 1j * y + np.exp(1j * angle) * fixed
        return np.array([z.real, z.imag])

    velocity = np.array([differences(lambda t, k=k: at(t[0])[k], [0.0])[0] for k in (0, 1)])
    n_x, n_y = contact.point.normal
    assert_allclose(contact.sliding, velocity @ [-n_y, n_x], rtol=1e-8, atol=1e-10)
    assert_allclose(contact.rate, -velocity @ [n_x, n_y], rtol=1e-8, atol=1e-10)
    assert abs(contact.sliding) > 0.01


def test_a_tibia_that_rolls_does_not_slide():
    """A plane that turns about its point on the circle: no velocity there."""
    angle, spin = 0.7, 2.0
    normal = -np.array([math.cos(angle), math.sin(angle)])
    centre = (R + H) * normal
    arm = centre - R * normal
    state = np.array([*centre, angle, -spin * arm[1], spin * arm[0], spin])
    contact = machado_knee().contact_state(state)
    assert_allclose([contact.sliding, contact.rate], 0.0, rtol=0.0, atol=2e-5)
    # The whole tibia moves counterclockwise about the femur.
    state[3:] = 0.1 * -normal[1], 0.1 * normal[0], 0.0
    assert_allclose(machado_knee().contact_state(state).sliding, 0.1, rtol=1e-9, atol=0.0)
