"""Sagittal motion of tibia and patella over knee flexion.

The tibia slides on the femur, and the patella rides in the groove of the femur (Yamaguchi & Zajac
1989, J Biomech 22:1-10; Delp et al. 1990, IEEE Trans Biomed Eng 37:757-767). Both motions are
prescribed functions of the flexion angle.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from scipy.interpolate import PPoly

from foundation.base.checks import FloatArray

#: Rotation of a plane vector by a right angle: the derivative of a rotation by the angle.
QUARTER = np.array([[0.0, -1.0], [1.0, 0.0]])
#: Range of flexion that the published motion covers [rad].
FLEXION_RANGE = (np.radians(-10.0), np.radians(120.0))


def rotated(angle: FloatArray, points: FloatArray) -> FloatArray:
    """Return plane vectors (..., 2) [m] rotated about z by angles (...) [rad]."""
    cosine, sine = np.cos(angle), np.sin(angle)
    x, y = points[..., 0], points[..., 1]
    return np.stack([cosine * x - sine * y, sine * x + cosine * y], axis=-1)


@dataclass(frozen=True, eq=False)
class KneeMechanism:
    """Positions of the tibial and patellar frames as functions of knee flexion [rad].

    Parameters
    ----------
    tibia_x, tibia_y : scipy.interpolate.PPoly
        Origin of the tibial frame in the femoral frame [m]; the tibia rotates by minus the flexion.
    patella_x, patella_y : scipy.interpolate.PPoly
        Distal pole of the patella in the tibial frame [m].
    patella_angle : scipy.interpolate.PPoly
        Angle of the patella in the tibial frame [rad], positive for a posterior tilt of its apex.
    """

    tibia_x: PPoly
    tibia_y: PPoly
    patella_x: PPoly
    patella_y: PPoly
    patella_angle: PPoly

    def scaled(self, factor: float) -> Self:
        """Return the mechanism with all lengths multiplied by a factor [1]."""
        lengths = {
            each.name: PPoly(factor * getattr(self, each.name).c, getattr(self, each.name).x)
            for each in fields(self)
            if each.name != "patella_angle"
        }
        return type(self)(**lengths, patella_angle=self.patella_angle)

    def pole(self, flexion: FloatArray) -> FloatArray:
        """Return the distal pole of the patella, (N, 2) [m], tibial frame, at flexions [rad]."""
        return np.stack([self.patella_x(flexion), self.patella_y(flexion)], axis=-1)

    def in_femur(self, flexion: FloatArray, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return a point of the patella in the femoral frame and its derivative by flexion.

        (N, 2) each [m, m/rad], at knee flexions (N,) [rad]; the point (2,) [m] is in the patellar
        frame.
        """
        angle = self.patella_angle(flexion)
        arm = rotated(angle, np.broadcast_to(point, (*flexion.shape, 2)))
        tibial = self.pole(flexion) + arm
        pole_rate = np.stack([self.patella_x(flexion, 1), self.patella_y(flexion, 1)], axis=-1)
        tibial_rate = pole_rate + self.patella_angle(flexion, 1)[:, None] * (arm @ QUARTER.T)
        origin = np.stack([self.tibia_x(flexion), self.tibia_y(flexion)], axis=-1)
        origin_rate = np.stack([self.tibia_x(flexion, 1), self.tibia_y(flexion, 1)], axis=-1)
        position = origin + rotated(-flexion, tibial)
        rate = origin_rate + rotated(-flexion, tibial_rate - tibial @ QUARTER.T)
        return position, rate
