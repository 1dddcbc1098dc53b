"""A small plant with random numbers, linear about values, and a stiff spring in its joint."""

from dataclasses import dataclass

import numpy as np

from dynamics.musculoskeletal import ComakSettings
from dynamics.musculoskeletal.comak_settings import SecondaryCoordinate
from dynamics.musculoskeletal.joint_contact import JointContact
from dynamics.musculoskeletal.osim_joints import KinematicChain
from dynamics.musculoskeletal.plant import Contractions, CoordinateMotion, MuscleSet, PlantForces
from foundation.base.loads import ContactLoads

FREE = ("hip", "turn", "height")
SECONDARY = ("turn", "height")
NAMES = ("pelvis", *FREE)
FRAMES, MUSCLES = 4, 6


@dataclass
class LinearPlant:
    """Needed forces, arms and fibres that are linear about values and speeds of each frame."""

    motion: CoordinateMotion
    muscles: MuscleSet
    values: np.ndarray
    speeds: np.ndarray
    needed: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray
    masses: np.ndarray
    arms: np.ndarray
    arm_columns: np.ndarray
    fibres: np.ndarray
    free = FREE
    secondary = SECONDARY

    def forces(self, frame, values, speeds):
        steps, rates = values - self.values[frame], speeds - self.speeds[frame]
        needed = self.needed[frame] + self.stiffness[frame] @ steps + self.damping[frame] @ rates
        return PlantForces(needed, self.arms[frame] + self.arm_columns[frame] @ steps)

    def columns(self, frame, values, speeds, tensions):
        pulling = np.einsum("fks,k->fs", self.arm_columns[frame], tensions)
        return pulling - self.stiffness[frame]

    def mass(self, frame, values):
        return self.masses[frame]

    def contractions(self, frame, values, speeds):
        arms = self.arms[frame][1:]  # A muscle shortens by its arm per unit of a coordinate.
        longer, faster = (values - self.values[frame]) @ arms, (speeds - self.speeds[frame]) @ arms
        forces, by_length, by_rate = self.fibres[frame]
        active, passive = forces - by_length * longer - by_rate * faster
        return Contractions(np.maximum(active, 0.0), passive, np.zeros_like(passive))


def plant(seed=3):
    """Return a plant with random forces, arms and derivatives."""
    rng = np.random.default_rng(seed)
    n, f, s, m = FRAMES, len(FREE), len(SECONDARY), MUSCLES
    values = 0.01 * rng.normal(size=(n, s)) * [1.0, 0.02]
    zeros = np.zeros((n, len(NAMES)))
    motion_values = zeros.copy()
    motion_values[:, 2:] = values
    mass = 0.3 * rng.normal(size=(n, f, f))
    fibres = np.array([[[500.0], [20.0]], [[900.0], [400.0]], [[-300.0], [0.0]]])
    time = 0.01 * np.arange(float(n))
    return LinearPlant(
        CoordinateMotion(NAMES, (True, True, True, False), time, motion_values, zeros, zeros),
        MuscleSet(
            tuple(f"muscle{i}" for i in range(m)),
            rng.uniform(300.0, 900.0, m),
            rng.uniform(0.05, 0.1, m),
            np.array([np.full(m, 0.01), np.ones(m)]),
        ),
        values,
        0.01 * rng.normal(size=(n, s)) * [1.0, 0.1],
        np.array([15.0, 1.0, 60.0]) + rng.normal(size=(n, f)),
        rng.normal(scale=0.3, size=(n, f, s)) + np.array([[0, 0], [40, 0], [0, 4e3]]),
        rng.normal(scale=0.02, size=(n, f, s)) + np.array([[0, 0], [2, 0], [0, 100]]),
        mass @ mass.transpose(0, 2, 1) + np.eye(f),
        rng.normal(scale=0.05, size=(n, f, m)),
        rng.normal(scale=0.02, size=(n, f, m, s)),
        fibres * rng.uniform(0.5, 1.5, size=(n, 3, 2, m)),
    )


def settings(**changes):
    """Return settings of the coordinates of the plant."""
    secondary = (SecondaryCoordinate("turn", 2.0), SecondaryCoordinate("height", 100.0))
    fields = {"primary": ("hip",), "secondary": secondary, "tolerance": 1e-3} | changes
    return ComakSettings(**fields)


class Spring:
    """A contact whose superior force grows exponentially as the bodies approach."""

    stiffness, depth = 2e5, 2e-4

    def loads(self, pose, order=0):
        force = self.stiffness * self.depth * np.exp(-pose.superior / self.depth)
        part = np.zeros(12)
        part[1] = 0.5 * force
        jacobian = np.zeros((6, 6))
        jacobian[1, 4] = -0.5 * force / self.depth
        return ContactLoads([part, part], derivatives=([jacobian, jacobian],))


def contact(model=None):
    """Return the contact in a joint that turns about z and moves along y."""
    slopes = np.zeros((6, 2))
    slopes[0, 0] = slopes[4, 1] = 1.0
    axes = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
    joint = KinematicChain.of_joint(SECONDARY, axes, slopes, np.zeros(6))
    return JointContact("touch", model or Spring(), joint)
