"""A small recorded plant with random numbers, and a contact of one stiff spring in its joint."""

import numpy as np

from dynamics.musculoskeletal import ComakSettings, RecordedPlant
from dynamics.musculoskeletal.comak_settings import SecondaryCoordinate
from dynamics.musculoskeletal.joint_contact import JointContact
from dynamics.musculoskeletal.osim_joints import KinematicChain
from dynamics.musculoskeletal.plant import CoordinateMotion, LigamentSet, MuscleSet
from dynamics.musculoskeletal.recorded_plant import RecordedFrames
from foundation.base.loads import ContactLoads

FREE = ("hip", "turn", "height")
SECONDARY = ("turn", "height")
NAMES = ("pelvis", *FREE)
FRAMES, MUSCLES, LIGAMENTS = 4, 6, 3


def record(seed=1):
    """Return a record with random forces, arms and derivatives."""
    rng = np.random.default_rng(seed)
    n, f, s, m, k = FRAMES, len(FREE), len(SECONDARY), MUSCLES, LIGAMENTS
    values = 0.01 * rng.normal(size=(n, s)) * [1.0, 0.02]
    symmetric = 0.05 * rng.normal(size=(n, k, s, s))
    arm_columns = np.zeros((n, f, k, s))
    # Arms of a ligament are minus the gradient of its length: their derivatives are symmetric.
    arm_columns[:, 1:] = np.moveaxis(symmetric + symmetric.transpose(0, 1, 3, 2), 1, 2)
    mass = 0.3 * rng.normal(size=(n, f, f))
    springs = np.array([[0.0, 0.0], [40.0, 0.0], [0.0, 4e3]])
    dampers = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 100.0]])
    fibres = np.array([[[500.0], [20.0]], [[900.0], [400.0]], [[-300.0], [0.0]]])
    fibres = fibres * np.random.default_rng(seed).uniform(0.5, 1.5, size=(n, 3, 2, m))
    frames = RecordedFrames(
        values=values,
        speeds=0.01 * rng.normal(size=(n, s)) * [1.0, 0.1],
        needed=np.array([15.0, 1.0, 60.0]) + rng.normal(size=(n, f)),
        columns=rng.normal(scale=0.3, size=(n, f, s)) + springs,
        speed_columns=rng.normal(scale=0.02, size=(n, f, s)) + dampers,
        mass=mass @ mass.transpose(0, 2, 1) + np.eye(f),
        arms=rng.normal(scale=0.05, size=(n, f, m)),
        arm_columns=rng.normal(scale=0.02, size=(n, f, m, s)).astype(np.float32),
        lengths=rng.uniform(0.0295, 0.032, size=(n, k)),
        rates=0.01 * rng.normal(size=(n, k)),
        ligament_arms=rng.normal(scale=0.02, size=(n, f, k)),
        ligament_arm_columns=arm_columns.astype(np.float32),
        fibres=fibres,
    )
    time = 0.01 * np.arange(float(n))
    zeros = np.zeros((n, len(NAMES)))
    motion_values = zeros.copy()
    motion_values[:, 2:] = values
    return RecordedPlant(
        CoordinateMotion(NAMES, (True, True, True, False), time, motion_values, zeros, zeros),
        FREE,
        SECONDARY,
        MuscleSet(
            tuple(f"muscle{i}" for i in range(m)),
            rng.uniform(300.0, 900.0, m),
            rng.uniform(0.05, 0.1, m),
            np.array([np.full(m, 0.01), np.ones(m)]),
        ),
        LigamentSet(
            tuple(f"band{i}" for i in range(k)),
            np.full(k, 2000.0),
            np.full(k, 0.03),
            np.full(k, 0.06),
            np.full(k, 0.5),
        ),
        frames,
        values[0],
        settings(),
        "digest",
    )


def settings(**changes):
    """Return settings of the coordinates of the record."""
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
