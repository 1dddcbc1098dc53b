"""A mass on a spring and a damper that a muscle pulls: a plant with known equations."""

from __future__ import annotations

import numpy as np

from dynamics.musculoskeletal import (
    Contractions,
    CoordinateMotion,
    LigamentSet,
    MuscleSet,
    PlantContacts,
    PlantForces,
)

MASS, STIFFNESS, DAMPING, MAX_FORCE = 0.5, 800.0, 6.0, 120.0
#: The muscle is this long at zero, and pulls towards positive values by this arm.
LENGTH, ARM = 0.3, 0.8


class PulledMass:
    """The mass moves along `x` [m]; a driven coordinate `drive` [m] pulls at the spring's end."""

    free = secondary = ("x",)
    muscles = MuscleSet(
        ("pull",), np.array([MAX_FORCE]), np.array([0.1]), np.array([[0.01], [1.0]])
    )
    ligaments = LigamentSet((), *(np.zeros(0) for _ in range(4)))

    def __init__(self, time, drive):
        values = np.column_stack([np.asarray(drive, dtype=float), np.zeros(len(time))])
        rest = np.zeros_like(values)
        self.motion = CoordinateMotion(
            ("drive", "x"), (False, False), np.asarray(time, dtype=float), values, rest, rest
        )

    def forces(self, frame, values, speeds):
        stretch = values - self.motion.values[frame, :1]
        return PlantForces(STIFFNESS * stretch + DAMPING * speeds, np.array([[ARM]]))

    def columns(self, frame, values, speeds, tensions):
        return np.array([[-STIFFNESS]])

    def mass(self, frame, values):
        return np.array([[MASS]])

    def contractions(self, frame, values, speeds):
        length, rate = LENGTH - ARM * values, -ARM * speeds
        active = MAX_FORCE * (1.0 - 4.0 * (length - LENGTH) ** 2) / (1.0 - 2.0 * rate)
        return Contractions(active, 300.0 * np.maximum(length - 0.25, 0.0), 5.0 * rate)

    def outside(self, values):
        return np.zeros(values.shape, dtype=np.bool_)

    def ligament_tensions(self, frame, values, speeds):
        return np.zeros(0)


def pulled_mass(count=200, step=0.002, end=0.05):
    """Return the mass, without contact, while its spring moves steadily from zero to an end."""
    time = step * np.arange(count)
    return PlantContacts(PulledMass(time, end * time / time[-1]), ())
