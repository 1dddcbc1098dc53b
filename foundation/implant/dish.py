"""A plateau of the built-in insert: a concave patch of a torus in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foundation.base.checks import FloatArray, check_number
from foundation.implant.condyle import sagittal_normal


@dataclass(frozen=True)
class Dish:
    """Shape of one tibial plateau [m]: a coronal circle revolved about a mediolateral axis."""

    sagittal_radius: float = 45e-3
    coronal_radius: float = 23e-3
    half_length: float = 22e-3
    half_width: float = 13e-3
    #: x of the lowest point [m], at the height of the least thickness of the insert.
    bottom_anterior: float = 0.0

    def __post_init__(self) -> None:
        for name in ("sagittal_radius", "coronal_radius"):
            check_number(f"dish {name}", getattr(self, name), above=0.0, at_most=1.0, unit="m")
        check_number(
            "dish half_width", self.half_width, above=0.0, below=self.coronal_radius, unit="m"
        )
        check_number("dish half_length", self.half_length, above=0.0, unit="m")
        check_number(
            "dish |bottom_anterior|", abs(self.bottom_anterior), below=self.half_length, unit="m"
        )
        drop = self.coronal_radius * (1.0 - np.cos(self.half_angle))
        check_number(
            "dish half_length + |bottom_anterior|",
            self.half_length + abs(self.bottom_anterior),
            below=float(self.sagittal_radius - drop),
            unit="m",
        )

    @property
    def limits(self) -> FloatArray:
        """Sagittal angles of the posterior and anterior edges, (2,) [rad]."""
        ends = np.array([-self.half_length, self.half_length]) - self.bottom_anterior
        return np.arcsin(ends / self.sagittal_radius)

    @property
    def radii(self) -> FloatArray:
        """Sagittal radius of the arc, (1,) [m]."""
        return np.array([self.sagittal_radius])

    @property
    def half_angle(self) -> float:
        """Coronal angle at the edge of the plateau [rad]."""
        return float(np.arcsin(self.half_width / self.coronal_radius))

    def surface(self, u: FloatArray, v: FloatArray, bottom: float) -> tuple[FloatArray, FloatArray]:
        """Return points (x, y, across) [m] and upward normals [1], (N, 3), at u, v [rad]."""
        in_plane = sagittal_normal(u)
        outward = np.concatenate([np.cos(v)[:, None] * in_plane, np.sin(v)[:, None]], axis=1)
        points = self.coronal_radius * outward
        points[:, :2] += (self.sagittal_radius - self.coronal_radius) * in_plane
        points += (self.bottom_anterior, bottom + self.sagittal_radius, 0.0)
        return points, -outward
