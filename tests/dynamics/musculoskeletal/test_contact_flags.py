"""Flags of contacts in the result of a walk: a spring under a load that changes."""

import numpy as np

from dynamics.musculoskeletal import (
    Comak,
    ComakSettings,
    CoordinateMotion,
    JointContact,
    KinematicChain,
    LigamentSet,
    MuscleSet,
    RecordedPlant,
    SecondaryCoordinate,
)
from dynamics.musculoskeletal.recorded_plant import RecordedFrames
from foundation.base.flags import Flag, FlagKind
from foundation.base.loads import ContactLoads

STIFFNESS, HEIGHT = 1e5, 0.02
LOADS = np.array([100.0, 900.0, 50.0])
FLAG = Flag(FlagKind.OUTSIDE_LATERAL, "joint", (3.0,))


class Pad:
    """A linear spring that was not trained for depths beyond 5 mm."""

    def loads(self, pose):
        return self.loads_and_jacobian(pose)[0]

    def loads_and_jacobian(self, pose):
        depth = HEIGHT - pose.superior
        loads, jacobian = np.zeros(12), np.zeros((6, 6))
        loads[1], jacobian[1, 4] = STIFFNESS * depth, -STIFFNESS
        flags = (FLAG,) if depth > 5e-3 else ()
        return ContactLoads.from_compartments({"joint": loads}, flags=flags), jacobian


def walk():
    """Return a body of 1 kg on the pad, pressed down by the loads, beside a free angle."""
    axes = [[0, 0, 1], [1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    slopes = np.zeros((6, 1))
    slopes[4] = 1.0
    joint = KinematicChain.of_joint(("height",), np.array(axes, dtype=float), slopes, np.zeros(6))
    count, still = len(LOADS), np.zeros((len(LOADS), 2))
    names = ("angle", "height")
    motion = CoordinateMotion(names, (True, False), 0.1 * np.arange(3.0), still, still, still)
    frames = RecordedFrames(
        values=np.full((count, 1), HEIGHT),
        speeds=np.zeros((count, 1)),
        needed=np.column_stack([np.zeros(count), LOADS]),
        columns=np.zeros((count, 2, 1)),
        speed_columns=np.zeros((count, 2, 1)),
        mass=np.tile(np.eye(2), (count, 1, 1)),
        arms=np.zeros((count, 2, 1)),
        arm_columns=np.zeros((count, 2, 1, 1), np.float32),
        lengths=np.ones((count, 0)),
        rates=np.zeros((count, 0)),
        ligament_arms=np.zeros((count, 2, 0)),
        ligament_arm_columns=np.zeros((count, 2, 0, 1), np.float32),
        fibres=np.zeros((count, 3, 2, 1)),
    )
    one = np.ones(1)
    muscles = MuscleSet(("m",), one, one, np.array([[0.0], [1.0]]))
    none = np.zeros(0)
    ligaments = LigamentSet((), none, none, none, none)
    settings = ComakSettings(primary=("angle",), secondary=(SecondaryCoordinate("height", 0.0),))
    start = np.array([HEIGHT])
    plant = RecordedPlant(motion, names, ("height",), muscles, ligaments, frames, start, settings)
    pad = JointContact("knee_contact", Pad(), joint)
    return Comak(plant, [pad], settings)


def test_a_final_pose_outside_the_domain_has_a_flag():
    """With the instant and the contact; poses that an iteration passed have none."""
    comak = walk()
    found = comak.run(np.array([HEIGHT - 8e-3]))
    depths = HEIGHT - found.values[:, 0]
    np.testing.assert_allclose(depths, LOADS / STIFFNESS, rtol=0.0, atol=2e-5)
    assert found.contact_flags == ((1, 0.1, "knee_contact", FLAG),)
    np.testing.assert_allclose([loads[0].force[1] for loads in found.loads], LOADS, rtol=0.02)
