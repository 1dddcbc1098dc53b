"""COMAK with force, length and velocity of the fibres, on a mass with known equations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pulled_mass import ARM, MAX_FORCE, STIFFNESS, PulledMass

from dynamics.musculoskeletal import (
    Comak,
    ComakSettings,
    Contractions,
    MuscleSet,
    SecondaryCoordinate,
)

TIME = 0.01 * np.arange(20)


class DrivenMass(PulledMass):
    """The primary coordinate `drive` must be held against its spring, a second muscle pulls it."""

    free = ("drive", "x")
    muscles = MuscleSet(
        ("pull", "hold"),
        np.array([MAX_FORCE, 50.0]),
        np.array([0.1, 0.1]),
        np.array([[0.01, 0.01], [1.0, 1.0]]),
    )
    strength, passive = np.array([0.7, 0.9]), np.array([3.0, 5.0])

    def forces(self, frame, values, speeds):
        spring = STIFFNESS * (values[0] - self.motion.values[frame, 0])
        forces = super().forces(frame, values, speeds)
        arms = np.array([[0.0, 1.0], [ARM, 0.0]])
        return forces._replace(needed=np.array([20.0 - 0.01 * spring, spring]), arms=arms)

    def columns(self, frame, values, speeds, tensions):
        return STIFFNESS * np.array([[0.01], [-1.0]])

    def mass(self, frame, values):
        return np.eye(2)

    def contractions(self, frame, values, speeds):
        return Contractions(self.strength * self.muscles.max_force, self.passive, np.zeros(2))


def settings(**changes):
    return ComakSettings(("drive",), (SecondaryCoordinate("x", 0.0),), tolerance=1e-6, **changes)


def solved(plant, **changes):
    return Comak(plant, (), settings(**changes)).run(np.zeros(1))


def test_forces_are_active_times_activation_plus_passive():
    plant = DrivenMass(TIME, 0.02 * TIME)
    found = solved(plant, fibre_forces=True)
    assert not found.flags
    active, passive, _ = plant.contractions(0, None, None)
    assert_allclose(found.muscle_forces, found.activations * active + passive)
    needed = plant.forces(5, found.values[5], found.speeds[5])
    assert_allclose(
        needed.arms @ found.muscle_forces[5] + found.reserves[5], needed.needed, atol=1e-6
    )


def test_a_passive_muscle_that_holds_alone_needs_the_least_activation():
    plant = DrivenMass(TIME, 0.0 * TIME)
    plant.passive = np.array([0.0, 20.0 - 0.01 * 0.9 * 50.0])
    found = solved(plant, fibre_forces=True)
    assert_allclose(found.activations[:, 1], 0.01, atol=1e-4)
    assert solved(plant).activations[:, 1] == pytest.approx(0.4, rel=0.1)
