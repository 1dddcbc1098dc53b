"""Simulation of the planar knee against closed forms."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from dynamics.mechanics.planar_knee import (
    PlanarKnee,
    PolarProfile,
    ProfileContact,
    machado_clearance_knee,
    machado_knee,
    machado_state,
    simulate_planar_knee,
)
from dynamics.simulator.equations import SimulationError
from foundation.contact_laws import HertzLaw, LankaraniNikraveshLaw

MASS, INERTIA, STIFFNESS = 3.75, 0.165, 8e5


def plane_knee(law, gravity: float = 0.0) -> PlanarKnee:
    """A tibia whose plane, 0.2 m above its centre of mass, can strike the femur."""
    contact = ProfileContact(PolarProfile.circle(0.04), PolarProfile.line(0.2, 0.3))
    return PlanarKnee(MASS, INERTIA, contact, law, gravity=gravity)


def before(gap: float, speed: float) -> list[float]:
    return [-(0.24 + gap), 0.0, 0.0, speed, 0.0, 0.0]


START = [-0.35, 0.0, 0.0, -1.0, 0.2, 0.5]


def test_free_flight_is_a_parabola():
    motion = simulate_planar_knee(plane_knee(HertzLaw(STIFFNESS), 9.0), START, 0.1)
    t = motion.time
    wanted = np.column_stack((-0.35 - t, 0.2 * t - 4.5 * t**2, 0.5 * t))
    assert_allclose(motion.state[:, :3], wanted, rtol=0.0, atol=1e-13)
    assert motion.impacts == ()
    assert not motion.contact_force.any()
    assert motion.ligament_force.shape == (201, 0)


def test_hertz_impact_in_closed_form():
    speed, gap = 0.3, 0.003
    motion = simulate_planar_knee(
        plane_knee(HertzLaw(STIFFNESS)), before(gap, speed), 0.1, step=1e-5
    )
    (impact,) = motion.impacts
    assert_allclose([impact.time, impact.rate], [gap / speed, speed], rtol=1e-9, atol=0.0)
    deepest = (1.25 * MASS * speed**2 / STIFFNESS) ** 0.4
    assert_allclose(motion.indentation.max(), deepest, rtol=1e-6, atol=0.0)
    # Johnson 1985, sect. 11.4: the contact lasts 2.94 times deepest / speed.
    assert_allclose((motion.contact_force > 0.0).sum() * 1e-5, 2.943 * deepest / speed, rtol=1e-3)
    assert_allclose(motion.state[-1, 3:], [-speed, 0.0, 0.0], rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("restitution", [0.3, 0.8])
def test_lankarani_nikravesh_impact_returns_what_the_law_does(restitution):
    law = LankaraniNikraveshLaw(STIFFNESS, restitution)
    motion = simulate_planar_knee(plane_knee(law), before(0.001, 0.2), 0.12)
    a = 0.75 * (1.0 - restitution**2)
    truth = brentq(lambda e: a * (1.0 + e) - math.log((1.0 + a) / (1.0 - a * e)), 1e-6, 1.0)
    assert_allclose(-motion.state[-1, 3] / 0.2, truth, rtol=1e-6, atol=0.0)
    lost = 0.5 * MASS * 0.2**2 * (1.0 - truth**2)
    assert_allclose(motion.contact_loss[-1], lost, rtol=1e-6, atol=0.0)
    assert (np.diff(motion.contact_loss) >= 0.0).all()


def test_eccentric_impact_conserves_momentum_and_energy():
    """A blow beside the centre of mass: moment = arm times impulse, no loss."""
    start = np.array([-0.242, 0.03, 0.0, 0.2, 0.0, 0.0])
    motion = simulate_planar_knee(plane_knee(HertzLaw(STIFFNESS)), start, 0.1)
    end = motion.state[-1]
    impulse = MASS * (end[3] - 0.2)
    effective = 1.0 / (1.0 / MASS + 0.03**2 / INERTIA)
    assert_allclose(impulse, -2.0 * effective * 0.2, rtol=2e-2, atol=0.0)
    assert_allclose(INERTIA * end[5], 0.03 * impulse, rtol=2e-2, atol=0.0)
    assert abs(motion.energy_error).max() < 1e-6 * motion.kinetic.max()


def pendulum(time: np.ndarray) -> np.ndarray:
    """φ of a tibia that hangs at the origin by a frictionless hinge."""
    x, y, angle = machado_state()[:3]
    arm = math.hypot(x, y)
    lean = math.atan2(y, x) - angle
    inertia = 0.165 + 3.75 * arm**2

    def derivative(_: float, q: np.ndarray) -> list[float]:
        return [q[1], -3.75 * 9.80665 * arm * math.cos(q[0] + lean) / inertia]

    solved = solve_ivp(
        derivative, (0.0, time[-1]), [angle, 0.0], "DOP853", t_eval=time, rtol=1e-11, atol=1e-12
    )
    return solved.y[0]


def test_small_clearance_is_a_hinge():
    error = []
    for clearance in (1e-3, 1e-4):
        joint = machado_clearance_knee(clearance, law="lankarani-nikravesh", ligaments=False)
        knee = replace(joint, pull=None)
        motion = simulate_planar_knee(knee, machado_state(), 0.3, step=2e-3)
        error.append(np.abs(motion.state[:, 2] - pendulum(motion.time)).max())
    assert error[1] < 0.6 * error[0]
    assert error[1] < math.radians(0.15)


def test_short_flight_is_not_missed():
    """Bounces shorter than a step of the integrator once let the journal through the wall."""
    motion = simulate_planar_knee(
        machado_clearance_knee(1e-3, 150.0, ligaments=False), machado_state(), 0.3
    )
    assert motion.indentation.max() < 2e-3
    assert abs(motion.energy_error).max() < 1e-6 * motion.kinetic.max()


def test_tolerance_decides_the_error_and_step_does_not():
    # Profiles with a continuous curvature: a jump costs the integrator its order.
    knee, start = machado_knee(kind="cubic"), machado_state()
    fine = simulate_planar_knee(knee, start, 0.1, step=5e-3, tolerance=1e-11)
    error = [
        np.abs(
            simulate_planar_knee(knee, start, 0.1, step=5e-3, tolerance=t).state - fine.state
        ).max()
        for t in (1e-5, 1e-9)
    ]
    assert error[1] < 1e-7
    assert error[1] <= error[0]
    other = simulate_planar_knee(knee, start, 0.1, step=2.5e-3, tolerance=1e-11)
    assert_allclose(other.state[::2], fine.state, rtol=0.0, atol=1e-12)


def test_start_in_contact_and_uneven_end():
    knee = plane_knee(HertzLaw(STIFFNESS))
    motion = simulate_planar_knee(knee, before(-0.002, 0.0), 0.0123, step=1e-3)
    assert len(motion.time) == 14
    assert motion.time[-1] == 0.0123
    assert motion.impacts == ()
    stored = STIFFNESS * 0.002**2.5 / 2.5
    left = simulate_planar_knee(knee, before(-0.002, 0.0), 0.1)
    assert_allclose(0.5 * MASS * left.state[-1, 3] ** 2, stored, rtol=1e-7, atol=0.0)


def test_tibia_that_leaves_the_profile_is_an_error():
    start = [-0.242, 0.0, 0.0, 0.0, 2.0, 0.0]
    with pytest.raises(SimulationError, match="expected a common normal"):
        simulate_planar_knee(plane_knee(HertzLaw(STIFFNESS)), start, 0.2)
