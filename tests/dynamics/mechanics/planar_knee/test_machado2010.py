"""What Machado et al. (2010) state of their planar knee, and what is ours in it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.mechanics.planar_knee import (
    PlanarMotion,
    machado_clearance_knee,
    machado_data,
    machado_knee,
    machado_ligaments,
    machado_state,
    simulate_planar_knee,
)

DURATION = 0.3
REST = np.array([each.rest_length for each in machado_ligaments()])
LN, HERTZ = "lankarani-nikravesh", "hertz"


@cache
def free(pull: float = 50.0, law: str = LN, kind: str = "cubic") -> PlanarMotion:
    return simulate_planar_knee(machado_knee(pull, law, kind), machado_state(), DURATION)


@cache
def jointed(pull: float = 50.0, ligaments: bool = False) -> PlanarMotion:
    knee = machado_clearance_knee(1e-3, pull, ligaments=ligaments)
    return simulate_planar_knee(knee, machado_state(), DURATION)


def apart(one: PlanarMotion, other: PlanarMotion) -> tuple[float, float]:
    """Return the largest difference of flexion [rad] and of the centre of mass [m]."""
    centre = np.hypot(*(one.centre_of_mass - other.centre_of_mass).T)
    return np.abs(one.flexion - other.flexion).max(), centre.max()


def test_data():
    data = machado_data()
    assert (data["mass_kg"], data["inertia_kg_m2"]) == (3.75, 0.165)
    assert_allclose(machado_state()[:2], [-0.2016, -0.1749], rtol=0.0, atol=0.0)
    assert_allclose(free().flexion[0], np.radians(54.79), rtol=1e-12, atol=0.0)
    knee = machado_knee()
    # K = 4/3 E* sqrt(R), 1/E* = 2 (1 - 0.46²) / 5 MPa.
    stiffness = 4.0 / 3.0 * 5e6 / (2.0 * (1.0 - 0.46**2)) * np.sqrt(0.04)
    assert_allclose(knee.law.stiffness, stiffness, rtol=1e-12, atol=0.0)


def test_starts_free_of_load_but_for_its_weight():
    """Ligaments just taut, cartilages 0.06 mm apart: the printed state is no equilibrium."""
    motion = free()
    assert motion.ligament_force[0].max() < 0.01
    assert -1e-4 < motion.indentation[0] < 0.0


@pytest.mark.parametrize("pull", [50.0, 150.0])
def test_hertz_conserves_energy(pull):
    motion = free(pull, HERTZ)
    assert np.abs(motion.energy_error).max() < 1e-6 * motion.kinetic.max()
    assert np.abs(motion.contact_loss).max() < 1e-12
    assert motion.contact_energy.max() > 0.1


@pytest.mark.parametrize("pull", [50.0, 150.0])
def test_lankarani_nikravesh_only_loses(pull):
    motion = free(pull)
    assert (np.diff(motion.contact_loss) >= 0.0).all()
    assert motion.contact_loss[-1] > 0.1
    assert np.abs(motion.energy_error).max() < 1e-6 * motion.kinetic.max()
    # Once the pull is over, the mechanical energy never rises.
    late = motion.mechanical_energy[motion.time > 0.1]
    assert np.diff(late).max() < 1e-6


@pytest.mark.parametrize(("kind", "angle", "place"), [("akima", 1e-6, 1e-7), ("pchip", 5e-5, 5e-6)])
def test_three_splines_agree_in_motion(kind, angle, place):
    flexion, centre = apart(free(kind=kind), free())
    assert 0.0 < flexion < angle
    assert 0.0 < centre < place


def test_cruciates_strain_more_than_collaterals_at_50_newtons():
    strain = (free().ligament_length / REST - 1.0).max(axis=0)
    assert strain[2:].min() > 1.8 * strain[:2].max()
    assert_allclose(strain, [0.0155, 0.0313, 0.0580, 0.0946], rtol=0.0, atol=5e-4)


def test_motion_is_nearly_the_same_at_50_and_150_newtons():
    """Within 5.1° of 40° of extension and 21 mm of a path of 163 mm."""
    weak, strong = free(50.0), free(150.0)
    flexion, centre = apart(weak, strong)
    extension = np.ptp(weak.flexion)
    path = np.hypot(*np.diff(weak.centre_of_mass, axis=0).T).sum()
    assert 0.0 < flexion < 0.13 * extension
    assert 0.0 < centre < 0.13 * path


def test_ligament_and_contact_forces_grow_from_50_to_150_newtons():
    weak, strong = free(50.0), free(150.0)
    growth = strong.ligament_force.max(axis=0) / weak.ligament_force.max(axis=0)
    assert growth.min() > 1.25
    assert strong.contact_force.max() > 1.3 * weak.contact_force.max()


def test_machado2011_stronger_pull_indents_more_and_strikes_earlier():
    """As the abstract of their paper at IDETC/CIE 2011 (vol. 54815, p. 177) says of this model."""
    weak, strong = free(50.0), free(150.0)
    assert strong.indentation.max() > 1.1 * weak.indentation.max()
    assert strong.impacts[0].time < weak.impacts[0].time


def test_extends_under_gravity_and_pull():
    for motion in (free(50.0), free(150.0)):
        assert motion.flexion[-1] < np.radians(20.0)
        assert (np.diff(motion.flexion) < 1e-4).all()


def test_impacts_are_above_the_lower_limit_of_the_rate():
    for motion in (free(50.0), free(150.0)):
        assert min(each.rate for each in motion.impacts) > 0.02


@pytest.mark.parametrize(("pull", "angle", "place"), [(50.0, 2.0, 0.035), (150.0, 4.0, 0.045)])
def test_clearance_joint_flexes_alike_but_holds_its_centre(pull, angle, place):
    """Flexion agrees, the centre of mass not: the free contact moves 24 to 27 mm on the tibia."""
    flexion, centre = apart(jointed(pull), free(pull))
    assert flexion < np.radians(angle)
    assert 0.5 * place < centre < place


def test_clearance_joint_holds_the_eccentricity_and_free_contact_does_not():
    socket = machado_clearance_knee().geometry.socket_centre
    moved = []
    for motion in (jointed(), free()):
        c, s = np.cos(motion.state[:, 2]), np.sin(motion.state[:, 2])
        x = motion.state[:, 0] + c * socket[0] - s * socket[1]
        y = motion.state[:, 1] + s * socket[0] + c * socket[1]
        moved.append(np.hypot(x, y).max())
    assert_allclose(moved[0], 1e-3 + jointed().indentation.max(), rtol=0.0, atol=1e-12)
    assert moved[0] < 1.7e-3
    assert moved[1] > 0.02


def test_clearance_joint_is_nearly_always_in_contact_and_carries_less():
    assert (jointed().indentation > 0.0).mean() > 0.9
    assert (free().indentation > 0.0).mean() < 0.7
    assert jointed().contact_force.max() < 0.3 * free().contact_force.max()


def test_ligaments_do_not_let_the_knee_turn_about_the_circle():
    motion = jointed(ligaments=True)
    assert motion.flexion.min() > np.radians(43.0)
    assert motion.ligament_force[:, 2].max() > 2.0 * free().ligament_force[:, 2].max()
