"""What Machado et al. (2010) state of their planar knee, and what is ours in it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from some_slow import first_of, first_rows

from dynamics.mechanics.planar_knee import (
    MACHADO_LAWS,
    LigamentLimitWarning,
    PlanarMotion,
    compare_machado_laws,
    machado_clearance_knee,
    machado_knee,
    machado_laws,
    machado_ligaments,
    machado_state,
    simulate_planar_knee,
)

REST = np.array([each.rest_length for each in machado_ligaments()])
LN, HERTZ = "lankarani-nikravesh", "hertz"
PROXIMAL, ANTERIOR = (np.cos(np.radians(35.21)), np.sin(np.radians(35.21))), (1.0, 0.0)
#: Instants up to 0.3 s of a motion of 0.5 s in steps of 0.5 ms.
EARLY = slice(0, 601)


@cache
def free(
    pull: float = 50.0, law: str = HERTZ, kind: str = "pchip", direction: tuple = PROXIMAL
) -> PlanarMotion:
    knee = machado_knee(pull, law, kind, direction=direction)
    return simulate_planar_knee(knee, machado_state(), 0.5)


@cache
def jointed(clearance: float = 0.2, ligaments: bool = True, pull: float = 50.0) -> PlanarMotion:
    knee = machado_clearance_knee(clearance, pull, ligaments=ligaments)
    return simulate_planar_knee(knee, machado_state(), 0.5)


def apart(one: PlanarMotion, other: PlanarMotion, rows: slice = slice(None)) -> tuple[float, float]:
    """Return the largest difference of flexion [deg] and of the centre of mass [mm]."""
    centre = np.hypot(*(one.centre_of_mass - other.centre_of_mass)[rows].T)
    turned = np.degrees(np.abs(one.flexion - other.flexion)[rows].max())
    return turned, 1e3 * centre.max()


@pytest.mark.slow
def test_defaults_are_hertz_shape_preserving_and_a_proximal_pull_for_half_a_second():
    default = simulate_planar_knee(machado_knee(), machado_state())
    assert default.time[-1] == 0.5
    assert_allclose(default.state, free().state, rtol=0.0, atol=0.0)
    for knee in (machado_knee(), machado_clearance_knee()):
        assert_allclose(knee.pull.direction, PROXIMAL, rtol=0.0, atol=1e-15)
        assert len(knee.ligaments) == 4
    # Along the shaft, which points from the centre of mass to the knee.
    angle = machado_state()[2]
    assert_allclose(machado_knee().pull.direction, [np.cos(angle), np.sin(angle)], rtol=1e-12)


def test_starts_free_of_load_but_for_its_weight():
    """Ligaments just taut, cartilages 0.06 mm apart: the printed state is no equilibrium."""
    motion = free()
    assert motion.ligament_force[0].max() < 0.01
    assert -1e-4 < motion.indentation[0] < 0.0


@pytest.mark.slow
def test_position_and_flexion_are_practically_the_same_for_50_and_150_newtons():
    """True of the proximal pull of section 6; an anterior pull turns the knee six times as far."""
    weak, strong = free(50.0), free(150.0)
    assert_allclose(apart(weak, strong, EARLY), [0.74, 3.8], rtol=0.0, atol=0.05)
    deepest = [1e3 * each.indentation[EARLY].max() for each in (weak, strong)]
    assert_allclose(deepest, [4.94, 5.11], rtol=0.0, atol=0.005)
    anterior = apart(free(50.0, direction=ANTERIOR), free(150.0, direction=ANTERIOR), EARLY)
    assert_allclose(anterior, [4.94, 19.6], rtol=0.0, atol=0.05)
    # Over the whole 0.5 s.
    assert apart(weak, strong)[0] < 0.03 * np.degrees(np.ptp(weak.flexion))


@pytest.mark.slow
@pytest.mark.parametrize("pull", [50.0, 150.0])
def test_hertz_conserves_energy(pull):
    motion = free(pull)
    assert np.abs(motion.energy_error).max() < 1e-6 * motion.kinetic.max()
    assert np.abs(motion.contact_loss).max() < 1e-12
    assert motion.contact_energy.max() > 0.1


@cache
def under_laws(pull: float) -> dict[str, PlanarMotion]:
    return compare_machado_laws(pull)


@pytest.mark.slow
@pytest.mark.parametrize("pull", first_of([50.0, 150.0]))
@pytest.mark.parametrize("law", MACHADO_LAWS[1:])
def test_dissipative_laws_only_lose(law, pull):
    motion = under_laws(pull)[law]
    assert (np.diff(motion.contact_loss) >= 0.0).all()
    assert motion.contact_loss[-1] > 0.1
    assert np.abs(motion.energy_error).max() < 1e-6 * motion.kinetic.max()
    # Once the pull is over, the mechanical energy never rises.
    late = motion.mechanical_energy[motion.time > 0.1]
    assert np.diff(late).max() < 1e-6


@pytest.mark.slow
def test_four_laws_of_lehtoranta_in_one_call():
    """More damping, a at c = 0.3: shallower contact and less motion."""
    motions = under_laws(50.0)
    assert tuple(motions) == ("hertz", "hunt-crossley", "lankarani-nikravesh", "flores")
    assert_allclose(motions[HERTZ].state, free().state, rtol=0.0, atol=0.0)
    factors = {n: law.hysteresis_factor for n, law in machado_laws().items() if n != HERTZ}
    assert_allclose(list(factors.values()), [1.05, 0.6825, 8 * 0.7 / 1.5], rtol=1e-12)
    order = [HERTZ, *sorted(factors, key=factors.get)]
    deepest = [motions[name].indentation.max() for name in order]
    assert (np.diff(deepest) < 0.0).all()
    moved = [np.ptp(motions[name].flexion) for name in order]
    assert (np.diff(moved) < 0.0).all()


def test_laws_of_the_user_in_one_call():
    softer = {name: replace(law, stiffness=4e5) for name, law in machado_laws().items()}
    motions = compare_machado_laws(20.0, 0.1, laws=softer, direction=(0.0, 1.0))
    knee = machado_knee(20.0, softer["flores"], direction=(0.0, 1.0))
    alone = simulate_planar_knee(knee, machado_state(), 0.1)
    assert_allclose(motions["flores"].state, alone.state, rtol=0.0, atol=0.0)
    assert machado_laws(restitution=0.8)[LN].restitution == 0.8


@pytest.mark.parametrize(
    ("kind", "angle", "place"), first_rows([("cubic", 0.05, 0.1), ("akima", 0.05, 0.1)])
)
def test_three_splines_agree_in_motion(kind, angle, place):
    flexion, centre = apart(free(kind=kind), free())
    assert 0.0 < flexion < angle
    assert 0.0 < centre < place


@pytest.mark.slow
def test_extends_under_gravity_and_pull():
    for motion in (free(50.0), free(150.0)):
        assert motion.flexion.min() < np.radians(6.0)
        assert (np.diff(motion.flexion[motion.time < 0.4]) < 1e-4).all()


@pytest.mark.slow
@pytest.mark.parametrize("pull", [50.0, 150.0])
def test_impacts_are_above_the_lower_limit_of_the_rate(pull):
    assert min(each.rate for each in under_laws(pull)[LN].impacts) > 0.02


@pytest.mark.parametrize(
    ("clearance", "moved"), first_rows([(0.2, 46.09), (1e-3, 10.63), (1e-2, 21.75)])
)
@pytest.mark.filterwarnings("ignore::dynamics.mechanics.planar_knee.LigamentLimitWarning")
def test_clearance_joint_with_its_ligaments_moves_less_than_the_free_knee(clearance, moved):
    motion = jointed(clearance)
    assert_allclose(np.degrees(np.ptp(motion.flexion)), moved, rtol=0.0, atol=0.05)
    # Nor is it as straight after half a second.
    assert motion.flexion[-1] > free().flexion[-1] + np.radians(5.0)
    assert_allclose(np.degrees(np.ptp(free().flexion)), 51.0, rtol=0.0, atol=0.05)
    assert motion.ligament_length.shape == (1001, 4)
    assert np.abs(motion.energy_error).max() < 1e-6 * motion.kinetic.max()


def test_clearance_joint_without_ligaments_hyperextends():
    motion = jointed(1e-3, ligaments=False)
    assert_allclose(np.degrees(motion.flexion.min()), -26.36, rtol=0.0, atol=0.05)
    assert motion.flexion.argmin() == len(motion.time) - 1
    assert motion.ligament_force.shape == (1001, 0)


@pytest.mark.slow
def test_anterior_cruciate_stops_the_turn_about_the_circle():
    motion = jointed(1e-3)
    assert motion.flexion.min() > np.radians(43.0)
    assert motion.ligament_force[:, 2].max() > 1.5 * free().ligament_force[:, 2].max()


@pytest.mark.slow
@pytest.mark.parametrize("pull", first_of([50.0, 150.0]))
@pytest.mark.filterwarnings("ignore::dynamics.mechanics.planar_knee.LigamentLimitWarning")
def test_clearance_joint_holds_the_eccentricity_and_free_contact_does_not(pull):
    socket = machado_clearance_knee(1e-3).geometry.socket_centre
    moved = []
    for motion in (jointed(1e-3, pull=pull), free(pull)):
        c, s = np.cos(motion.state[:, 2]), np.sin(motion.state[:, 2])
        x = motion.state[:, 0] + c * socket[0] - s * socket[1]
        y = motion.state[:, 1] + s * socket[0] + c * socket[1]
        moved.append(np.hypot(x, y).max())
    deepest = jointed(1e-3, pull=pull).indentation.max()
    assert_allclose(moved[0], 1e-3 + deepest, rtol=0.0, atol=1e-12)
    assert moved[0] < 4e-3
    assert moved[1] > 0.02


def test_a_ligament_beyond_its_limit_is_told():
    with pytest.warns(
        LigamentLimitWarning, match=r"ligament ACL: expected a force of at most 622 N, found 671 N"
    ):
        motion = simulate_planar_knee(machado_clearance_knee(0.01), machado_state(), 0.5)
    (passed,) = motion.limits_passed
    assert (passed.ligament, passed.quantity, passed.limit) == ("ACL", "force", 622.0)
    force = motion.ligament_force[:, 2]
    assert passed.largest == force.max()
    assert_allclose(passed.time, motion.time[np.flatnonzero(force > 622.0)[0]], rtol=0.0)


@pytest.mark.slow
def test_strain_and_force_have_limits_of_their_own():
    knee = machado_knee()
    pcl = replace(knee.ligaments[3], strain_limit=0.10)
    tight = replace(knee, ligaments=(*knee.ligaments[:3], pcl))
    with pytest.warns(LigamentLimitWarning, match=r"ligament PCL: expected a strain of at most"):
        motion = simulate_planar_knee(tight, machado_state())
    assert [(each.ligament, each.quantity) for each in motion.limits_passed] == [("PCL", "strain")]
    assert_allclose(motion.state, free().state, rtol=0.0, atol=0.0)


@pytest.mark.parametrize("pull", [50.0, 150.0])
def test_ligaments_of_the_published_pulls_stay_within_their_limits(pull):
    assert free(pull).limits_passed == ()


def test_linear_ligaments_meet_the_quadratic_ones_at_one_strain():
    for quadratic, linear in zip(machado_ligaments(), machado_ligaments("linear"), strict=True):
        length = 1.05 * quadratic.rest_length
        assert_allclose(linear.tension(length), quadratic.tension(length), rtol=1e-12)
        assert_allclose(linear.stiffness, quadratic.stiffness * 0.05 * linear.rest_length)
        half = 1.025 * quadratic.rest_length
        assert_allclose(linear.tension(half), 2.0 * quadratic.tension(half), rtol=1e-12)
        assert linear.force_limit == quadratic.force_limit
    other = machado_ligaments("linear", 0.1)[0]
    assert_allclose(other.stiffness, 2.0 * machado_ligaments("linear")[0].stiffness, rtol=1e-12)


@pytest.mark.slow
def test_linear_ligaments_conserve_energy_and_load_the_collaterals_more():
    """Below the strain of equal tension the linear law is the stiffer one."""
    motion = simulate_planar_knee(machado_knee(ligaments="linear"), machado_state())
    assert np.abs(motion.energy_error).max() < 1e-6 * motion.kinetic.max()
    assert motion.ligament_force[:, 0].max() > 2.0 * free().ligament_force[:, 0].max()
    assert 0.5 < np.degrees(np.ptp(motion.flexion)) / 51.0 < 1.5


def test_a_socket_through_the_plane_becomes_the_free_contact_as_it_widens():
    """With the foot of the journal s beside the bottom, the wall is s²/(2c) nearer, s/c steeper."""
    plane = machado_knee(kind="cubic").geometry
    for moved in ([0.0, 0.0, 0.0], [0.004, -0.001, 0.12], [-0.003, 0.004, -0.1]):
        place = tuple(machado_state()[:3] + moved)
        wanted = plane.contact(place)
        for clearance in (10.0, 1e3):
            joint = machado_clearance_knee(clearance).geometry
            found = joint.contact(place)
            beside = abs(wanted.on_tibia(place)[1] - joint.socket_centre[1])
            nearer = beside**2 / (2.0 * clearance)
            assert_allclose(wanted.gap - found.gap, nearer, rtol=0.01, atol=1e-9)
            steeper = np.hypot(*(found.normal - wanted.normal))
            assert_allclose(steeper, beside / clearance, rtol=0.01, atol=1e-6)
