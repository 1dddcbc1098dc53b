"""Revolute joint with clearance: the planar knee as a journal in a socket.

The journal, a circle fixed to the femur, lies in a larger circular socket of the tibia. With the
eccentricity e = socket's centre - journal's centre and the clearance c, the difference of the
radii, the gap is c - |e|, and the journal touches the wall on the side of -e (Flores & Ambrósio
2004, Comput Struct 82:1359-1369). At e = 0 the direction is undefined and the gap is c. As the
clearance grows, a socket through a fixed point becomes a plane.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dynamics.mechanics.planar_knee.contact_point import Angles, ContactLocation, Place
from foundation.base.checks import FloatArray, check_fields, check_numbers


@dataclass(frozen=True, eq=False)
class ClearanceJoint:
    """Journal of the femur in a socket of the tibia.

    Parameters
    ----------
    journal_radius : float
        Radius of the journal [m], > 0.
    clearance : float
        Radius of the socket minus that of the journal [m], > 0.
    socket_centre : (2,) float64
        Centre of the socket in the frame of the tibia's centre of mass [m].
    journal_centre : (2,) float64
        Centre of the journal in the frame of the femur [m].
    """

    journal_radius: float
    clearance: float
    socket_centre: FloatArray
    journal_centre: FloatArray = (0.0, 0.0)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        check_numbers(self, above=0.0, journal_radius="m", clearance="m")
        check_fields(self, socket_centre=(2,), journal_centre=(2,))

    def contact(self, place: Place, start: Angles | None = None) -> ContactLocation:
        """Return the contact point for the tibia at (x, y, φ) [m, m, rad]; `start` is ignored."""
        c, s = math.cos(place[2]), math.sin(place[2])
        x, y = self.socket_centre.tolist()
        e_x = place[0] + c * x - s * y - self.journal_centre[0]
        e_y = place[1] + s * x + c * y - self.journal_centre[1]
        offset = math.hypot(e_x, e_y)
        normal = np.array([-e_x, -e_y]) / offset if offset > 0.0 else np.array([1.0, 0.0])
        point = self.journal_centre + self.journal_radius * normal
        return ContactLocation(self.clearance - offset, point, normal)
