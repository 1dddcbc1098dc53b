"""A femoral condyle of the built-in implant: a J-curve swept by a circle, in closed form.

Tangent sagittal arcs (posterior, distal, anterior) and a coronal circle: every arc is a patch of a
torus; the curvature jumps, as on real implants. The signed distance is that to the *spine*, the
J-curve offset inwards by the coronal radius, minus this radius. Origin on the axis of the posterior
arc; `across` is the distance from the condyle's own sagittal plane.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from foundation.base.checks import FloatArray, check_number
from foundation.base.errors import InputError

_NEWTON_STEPS = 60
_NEWTON_TOLERANCE = 1e-14  # m, below the rounding of any coordinate of a knee
_TANGENT = 0.02  # slope of a ray within about one degree of the surface


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

    def locate(self, points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return distance (N,) and gradient (N, 3), angles u, v (N,) of points (N, 3) [m]."""
        # Negative inside; beyond its edges the surface continues around the coronal circle and the
        # ends.
        nearest = np.full(len(points), np.inf)
        foot = np.zeros((len(points), 2))
        angle = np.zeros(len(points))
        for k, centre in enumerate(self.centres):
            candidate, u = self._foot_on_arc(k, centre, points[:, :2])
            squared = ((points[:, :2] - candidate) ** 2).sum(axis=1)
            closer = squared < nearest
            nearest = np.where(closer, squared, nearest)
            foot = np.where(closer[:, None], candidate, foot)
            angle = np.where(closer, u, angle)
        from_spine = points.copy()
        from_spine[:, :2] -= foot
        length = np.linalg.norm(from_spine, axis=1)
        gradient = from_spine / np.where(length > 0.0, length, 1.0)[:, None]
        outward = (from_spine[:, :2] * sagittal_normal(angle)).sum(axis=1)
        return length - self.coronal_radius, gradient, angle, np.arctan2(points[:, 2], outward)

    def _foot_on_arc(
        self, arc: int, centre: FloatArray, points: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the nearest points (N, 2) [m] of the spine's arc and their angles (N,) [rad]."""
        first, last = self.limits[arc], self.limits[arc + 1]
        middle = 0.5 * (first + last)
        away = points - centre
        angle = np.arctan2(away[:, 0], -away[:, 1])
        # Within half a turn of the arc's middle, so that clipping finds the nearer end.
        angle = middle + np.remainder(angle - middle + np.pi, 2.0 * np.pi) - np.pi
        angle = np.clip(angle, first, last)
        return centre + (self.radii[arc] - self.coronal_radius) * sagittal_normal(angle), angle

    def depth(self, points: FloatArray, directions: FloatArray, reach: float) -> FloatArray:
        """Return depths (N,) [m] of points (N, 3) along directions, 0 if outside or too deep."""
        # Newton's method on the signed distance; a nearly tangent ray without exit raises
        # InputError.
        travelled = np.zeros(len(points))
        inside = np.flatnonzero(self.locate(points)[0] < 0.0)
        active = inside
        for _ in range(_NEWTON_STEPS):
            if len(active) == 0:
                break
            at = points[active] + travelled[active, None] * directions[active]
            distance, gradient, _, _ = self.locate(at)
            slope = (gradient * directions[active]).sum(axis=1)
            # Inside, |distance| is the longest step that cannot pass the surface; Newton's step
            # applies where the ray already runs outwards.
            newton = -distance / np.maximum(slope, _TANGENT)
            step = np.where(slope > _TANGENT, np.minimum(newton, reach), -distance)
            travelled[active] += step
            active = active[np.abs(step) > _NEWTON_TOLERANCE]
        if len(active):
            raise InputError(
                f"condyle: expected rays that leave the condyle, found {len(active)} tangent rays, "
                f"the first from {points[active[0]].tolist()} m"
            )
        return self._within(points, directions, travelled, inside, reach)

    def _within(
        self,
        points: FloatArray,
        directions: FloatArray,
        travelled: FloatArray,
        inside: np.ndarray,
        reach: float,
    ) -> FloatArray:
        """Return the depths of rays that leave through the condyle's own surface, else 0."""
        depth = np.zeros(len(points))
        at = points[inside] + travelled[inside, None] * directions[inside]
        _, _, u, v = self.locate(at)
        own = (u > self.limits[0]) & (u < self.limits[-1]) & (np.abs(v) <= self.half_angle)
        own &= travelled[inside] <= reach
        depth[inside[own]] = travelled[inside[own]]
        return depth


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
