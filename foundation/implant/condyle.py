"""A femoral condyle of the built-in implant: a J-curve swept by a circle, in closed form.

Tangent sagittal arcs (posterior, distal, anterior) and a coronal circle: every arc is a patch of a
torus; the curvature jumps, as on real implants. Origin on the axis of the posterior arc; `across`
is the distance from the condyle's own sagittal plane.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from foundation.base.checks import FloatArray, check_number
from foundation.base.errors import InputError


@dataclass(frozen=True)
class Condyle:
    """Shape of one femoral condyle: radii and widths [m], increasing sagittal angles [rad]."""

    # A sagittal angle is that of the outward normal, zero distally (-y), positive anteriorly; at a
    # flexion f the lowest point has the angle -f.

    posterior_radius: float = 22e-3
    distal_radius: float = 34e-3
    anterior_radius: float = 38e-3
    coronal_radius: float = 20e-3
    half_width: float = 14e-3
    posterior_end: float = np.deg2rad(-110.0)
    posterior_to_distal: float = np.deg2rad(-20.0)
    distal_to_anterior: float = np.deg2rad(15.0)
    anterior_end: float = np.deg2rad(35.0)

    def __post_init__(self) -> None:
        for name in ("posterior_radius", "distal_radius", "anterior_radius", "coronal_radius"):
            check_number(f"condyle {name}", getattr(self, name), above=0.0, at_most=0.2, unit="m")
        check_number(
            "condyle half_width", self.half_width, above=0.0, below=self.coronal_radius, unit="m"
        )
        if self.coronal_radius > self.radii.min():
            raise InputError(
                "{name}: expected at most the smallest sagittal radius, "
                f"{self.radii.min():g} m, found {self.coronal_radius:g} m; "
                "the swept surface would intersect itself",
                "condyle coronal_radius",
            )
        if not np.isfinite(self.limits).all() or np.diff(self.limits).min() <= 0.0:
            raise InputError(
                "condyle angles: expected posterior_end < posterior_to_distal < "
                f"distal_to_anterior < anterior_end, found {self.limits.tolist()} rad"
            )
        if self.limits[-1] - self.limits[0] > np.pi:
            raise InputError(
                f"condyle angles: expected at most pi rad from posterior_end to anterior_end, "
                f"found {self.limits[-1] - self.limits[0]:g} rad"
            )

    @property
    def radii(self) -> FloatArray:
        """Sagittal radius of each arc, posterior first, (3,) [m]."""
        return np.array([self.posterior_radius, self.distal_radius, self.anterior_radius])

    @property
    def limits(self) -> FloatArray:
        """Sagittal angles of the ends of the arcs, (4,) [rad]."""
        transitions = self.posterior_to_distal, self.distal_to_anterior
        return np.array([self.posterior_end, *transitions, self.anterior_end])

    @property
    def half_angle(self) -> float:
        """Coronal angle at the edge of the condyle [rad]."""
        return float(np.arcsin(self.half_width / self.coronal_radius))

    @cached_property
    def centres(self) -> FloatArray:
        """Centres of the arcs, (3, 2) [m]: C' = C + (R - R') n, where neighbours share normals."""
        centres = np.zeros((3, 2))
        for k in (1, 2):
            step = (self.radii[k - 1] - self.radii[k]) * sagittal_normal(self.limits[k])
            centres[k] = centres[k - 1] + step
        return centres

    def arc_of(self, angle: FloatArray) -> np.ndarray:
        """Return the arc (N,) at angles (N,) [rad]: 0 posterior, 1 distal, 2 anterior."""
        return np.searchsorted(self.limits[1:3], angle, side="right")

    def surface(self, u: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return points (x, y, across) [m] and outward normals [1], (N, 3), at u, v [rad]."""
        arc = self.arc_of(u)
        in_plane = sagittal_normal(u)
        spine = self.centres[arc] + (self.radii[arc] - self.coronal_radius)[:, None] * in_plane
        normals = np.concatenate([np.cos(v)[:, None] * in_plane, np.sin(v)[:, None]], axis=1)
        points = self.coronal_radius * normals
        points[:, :2] += spine
        return points, normals


def sagittal_normal(angle: FloatArray | float) -> FloatArray:
    """Return the unit vector (x, y), (..., 2) [1], at a sagittal angle [rad], 0 for distal."""
    return np.stack([np.sin(angle), -np.cos(angle)], axis=-1)


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
