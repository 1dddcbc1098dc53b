"""The planar knee: loads, impacts in closed form, energy, outputs, laws, ligaments, clearance."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from differences import differences
from numpy.testing import assert_allclose
from scipy.integrate import quad
from some_slow import first_of

from dynamics.mechanics.contact import Mode
from dynamics.mechanics.planar_knee import (
    MACHADO_LAWS,
    ClearanceJoint,
    LigamentLimitWarning,
    PlanarKnee,
    PlanarLigament,
    PolarProfile,
    ProfileContact,
    Pull,
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
LIGAMENT = PlanarLigament("one", [-0.02, -0.01], [0.16, 0.01], 0.06, 15e6)


def plane_knee(law, gravity: float = 0.0) -> PlanarKnee:
    """A tibia whose plane, 0.2 m above its centre of mass, can strike the femur."""
    contact = ProfileContact(PolarProfile.circle(R), PolarProfile.line(0.2, 0.3))
    return PlanarKnee(MASS, INERTIA, contact, law, gravity=gravity)


def before(gap: float, speed: float) -> list[float]:
    return [-(0.24 + gap), 0.0, 0.0, speed, 0.0, 0.0]


def force(knee, state, *, time=0.0, approach=0.1) -> np.ndarray:
    """Force and moment (3,) on the moving tibia in contact, by its accelerations."""
    problem, order = knee.problem(), [2, 0, 1]
    problem.mode = Mode(np.array([True]), np.array([approach]))
    full = np.concatenate([state[:3][order], state[3:][order], np.zeros(5)])
    turn, x, y = problem.derivative(time, full)[3:6]
    return np.array([x, y, turn]) * [knee.mass, knee.mass, knee.inertia]


# ---- loads ----


def test_conservative_loads_are_minus_the_gradient_of_the_energy():
    still = replace(machado_knee(), pull=None)
    lengths = np.array([each.length(tuple(STATE[:3])) for each in still.ligaments])
    taut = lengths > [each.rest_length for each in still.ligaments]
    assert taut.tolist() == [False, True, False, True]

    def potential(state: np.ndarray) -> float:
        x, y, angle = state[:3]
        held = still.assembly.evaluate(0.0, [angle, x, y], np.zeros(3)).potential
        return held + float(still.law.energy(still.contact_state(state).indentation))

    assert still.contact_state(STATE).indentation > 5e-4
    slope = -differences(potential, STATE)[:3]
    assert_allclose(force(still, STATE), slope, rtol=1e-6, atol=1e-5)


def test_pull_adds_its_force_and_decays():
    still = replace(machado_knee(), pull=None)
    upward = replace(still, pull=Pull(50.0, direction=[0.0, 3.0]))
    size = 50.0 * math.exp(-4.73 * 0.27**2) * math.sin(0.27 * math.pi)
    gain = force(upward, STATE, time=0.0135) - force(still, STATE)
    assert_allclose(gain, [0.0, size, 0.0], rtol=0.0, atol=1e-10)
    times = np.linspace(-0.01, 0.2, 21001)
    sizes = np.array([Pull(150.0).magnitude(t) for t in times])
    assert (sizes[times <= 0.0] == 0.0).all()
    assert_allclose(sizes.max(), 0.5318 * 150.0, rtol=1e-4)
    assert_allclose(times[sizes.argmax()], 0.278 * 0.05, rtol=2e-3)
    assert np.abs(sizes[times >= 0.05]).max() < 0.0011 * 150.0


def test_ligament_tension_is_the_slope_of_its_energy():
    assert LIGAMENT.tension(0.06) == LIGAMENT.tension(0.05) == 0.0
    assert_allclose(LIGAMENT.tension(0.062), 15e6 * 0.002**2, rtol=1e-13)
    for each in (LIGAMENT, replace(LIGAMENT, stiffness=5e4, kind="linear")):
        knee = replace(machado_knee(), ligaments=(each,), gravity=0.0)
        for x, y in ((-0.21, -0.19), (-0.19, -0.01)):
            length = each.length((x, y, 0.7))
            stored = knee.assembly.evaluate(0.0, [0.7, x, y], np.zeros(3)).potential
            wanted = quad(each.tension, 0.06, max(length, 0.06))[0]
            assert_allclose(stored, wanted, rtol=1e-10, atol=1e-12)


# ---- motion in closed form ----


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


# ---- outputs ----


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


# ---- the knee of Machado et al. (2010), beside tests/literature ----


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


joint = partial(ClearanceJoint, journal_radius=R, clearance=1e-3, socket_centre=[0.0, 0.0])
knee = partial(replace, machado_knee(law="hertz"))
