"""The planar knee beside tests/literature/test_machado.py: impact, energy, sliding, limits."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from differences import differences
from numpy.testing import assert_allclose
from some_slow import first_of

from dynamics.mechanics.planar_knee import (
    MACHADO_LAWS,
    LigamentLimitWarning,
    PlanarKnee,
    PolarProfile,
    ProfileContact,
    machado_clearance_knee,
    machado_knee,
    machado_state,
    simulate_planar_knee,
)
from foundation.contact_laws import HertzLaw

MASS, INERTIA, STIFFNESS = 3.75, 0.165, 8e5
R, H = 0.04, 0.2255
#: Pushed into the femur and turned, LCL and PCL taut.
STATE = machado_state() + np.array([0.004, -0.001, 0.12, 0.3, -0.2, 1.5])


def plane_knee(law, gravity: float = 0.0) -> PlanarKnee:
    """A tibia whose plane, 0.2 m above its centre of mass, can strike the femur."""
    contact = ProfileContact(PolarProfile.circle(R), PolarProfile.line(0.2, 0.3))
    return PlanarKnee(MASS, INERTIA, contact, law, gravity=gravity)


def before(gap: float, speed: float) -> list[float]:
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
def free(law: str):
    return simulate_planar_knee(machado_knee(law=law), machado_state(), 0.3)


@pytest.mark.parametrize("joint", [False, True])
def test_sliding_is_the_velocity_of_the_point_of_the_tibia(joint):
    """Of the point fixed to the tibia which touches now, along the femur's tangent."""
    knee = machado_clearance_knee() if joint else machado_knee()
    contact = knee.contact_state(STATE)
    fixed = complex(*contact.point.on_tibia(tuple(STATE[:3])))

    def at(time: float) -> np.ndarray:
        x, y, angle = STATE[:3] + time * STATE[3:]
        z = x + 1j * y + np.exp(1j * angle) * fixed
        return np.array([z.real, z.imag])

    velocity = np.array([differences(lambda t, k=k: at(t[0])[k], [0.0])[0] for k in (0, 1)])
    n_x, n_y = contact.point.normal
    assert_allclose(contact.sliding, velocity @ [-n_y, n_x], rtol=1e-8, atol=1e-10)
    assert_allclose(contact.rate, -velocity @ [n_x, n_y], rtol=1e-8, atol=1e-10)
    move = np.concatenate((STATE[3:], np.zeros(3)))
    slope = differences(lambda t: knee.contact_state(STATE + t * move).indentation, [0.0])
    assert_allclose(contact.rate, slope[0], rtol=1e-7, atol=1e-9)
    assert abs(contact.sliding) > 0.01


@pytest.mark.parametrize("law", first_of(MACHADO_LAWS, 2))
def test_energy_balances_and_dissipative_laws_only_lose(law):
    motion = free(law)
    assert np.abs(motion.energy_error).max() < 1e-6 * motion.kinetic.max()
    if law == "hertz":
        assert np.abs(motion.contact_loss).max() < 1e-12
        assert motion.limits_passed == ()
    else:
        assert (np.diff(motion.contact_loss) >= 0.0).all()
        assert motion.contact_loss[-1] > 0.05
        # Once the pull is over, the mechanical energy never rises.
        assert np.diff(motion.mechanical_energy[motion.time > 0.1]).max() < 1e-6


@pytest.mark.slow
def test_a_ligament_beyond_its_limit_is_told():
    with pytest.warns(
        LigamentLimitWarning, match=r"ligament ACL: expected a force of at most 622 N, found 671 N"
    ):
        motion = simulate_planar_knee(machado_clearance_knee(0.01), machado_state(), 0.5)
    (passed,) = motion.limits_passed
    assert (passed.ligament, passed.quantity, passed.limit) == ("ACL", "force", 622.0)
    pulls = motion.ligament_force[:, 2]
    assert passed.largest == pulls.max()
    assert_allclose(passed.time, motion.time[np.flatnonzero(pulls > 622.0)[0]], rtol=0.0)
