"""Charts: plane coordinates, each of which has one line that leaves the body at its surface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.surfaces.triangle_mesh import TriangleMesh


class Chart(Protocol):
    """Plane coordinates of a bearing surface."""

    def coordinates(self, points: FloatArray) -> FloatArray:
        """Return the plane coordinates (N, 2) [m] of points (N, 3) [m]."""
        ...

    def lines(self, coordinates: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return starts (N, 3) [m] and directions (N, 3) [1] of the lines to coordinates (N, 2)."""
        ...

    def slopes(self, points: FloatArray) -> FloatArray:
        """Return the gradients (N, 2, 3) [1] of the plane coordinates at points (N, 3) [m]."""
        ...


@dataclass(frozen=True, eq=False)
class PlaneChart:
    """Orthogonal projection onto a plane (3, 3) [1]; lines run along its normal."""

    #: Point below the whole surface (3,) [m].
    origin: FloatArray
    #: Rows (3, 3): first and second coordinate, and the direction of the lines [1].
    axes: FloatArray

    def coordinates(self, points: FloatArray) -> FloatArray:
        """Return the plane coordinates (N, 2) [m] of points (N, 3) [m]."""
        return (points - self.origin) @ self.axes[:2].T

    def lines(self, coordinates: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return starts (N, 3) [m] and directions (N, 3) [1] of the lines to coordinates (N, 2)."""
        starts = self.origin + coordinates @ self.axes[:2]
        return starts, np.tile(self.axes[2], (len(starts), 1))

    def slopes(self, points: FloatArray) -> FloatArray:
        """Return the gradients (N, 2, 3) [1] of the plane coordinates at points (N, 3) [m]."""
        return np.tile(self.axes[:2], (len(points), 1, 1))


@dataclass(frozen=True, eq=False)
class CylinderChart:
    """Projection from an axis (3,) [m] onto a cylinder about it; lines run outwards."""

    #: Point on the axis (3,) [m].
    origin: FloatArray
    #: Rows (3, 3): direction at the angle 0, direction at a right angle, and the axis [1].
    axes: FloatArray
    #: Turns the angle into the first coordinate [m]; the second runs along the axis.
    radius: float

    def coordinates(self, points: FloatArray) -> FloatArray:
        """Return the plane coordinates (N, 2) [m] of points (N, 3) [m]."""
        local = (points - self.origin) @ self.axes.T
        angle = np.arctan2(local[:, 1], local[:, 0])
        return np.column_stack([self.radius * angle, local[:, 2]])

    def lines(self, coordinates: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return starts (N, 3) [m] and directions (N, 3) [1] of the lines to coordinates (N, 2)."""
        angle = coordinates[:, 0] / self.radius
        plane = np.column_stack([np.cos(angle), np.sin(angle)])
        starts = self.origin + coordinates[:, 1:] * self.axes[2]
        return starts, plane @ self.axes[:2]

    def slopes(self, points: FloatArray) -> FloatArray:
        """Return the gradients (N, 2, 3) [1] of the plane coordinates at points (N, 3) [m]."""
        local = (points - self.origin) @ self.axes.T
        away = (local[:, :2] ** 2).sum(axis=1, keepdims=True)
        turned = np.column_stack([-local[:, 1], local[:, 0]])
        around = self.radius * (turned / away) @ self.axes[:2]
        return np.stack([around, np.tile(self.axes[2], (len(points), 1))], axis=1)


def tibial_chart(
    surface: TriangleMesh,
    part: NDArray[np.bool_],
    *,
    upright: bool,
    axes: FloatArray | None = None,
) -> PlaneChart:
    """Return the chart of a plateau `part` (F,) [m]: along superior, or along its mean normal."""
    # The rows of `axes` (3, 3) are anterior, superior and lateral axis of the component.
    _, up, lateral = np.eye(3) if axes is None else axes
    if not upright:
        up = surface.area_vectors[part].sum(axis=0)
        up /= np.linalg.norm(up)
    lateral = lateral - (lateral @ up) * up
    lateral /= np.linalg.norm(lateral)
    middle = 0.5 * (surface.vertices.min(axis=0) + surface.vertices.max(axis=0))
    below = float(((surface.vertices - middle) @ up).min()) - 1e-3
    return PlaneChart(middle + below * up, np.stack([lateral, np.cross(up, lateral), up]))


def femoral_chart(surface: TriangleMesh, part: NDArray[np.bool_]) -> CylinderChart:
    """Return the chart of a condyle `part` (F,) about the mediolateral axis that fits it [m]."""
    points, weights = surface.centroids[part], surface.areas[part]
    plane = points[:, :2]
    # Kasa's fit of a circle: |x|^2 = 2 c . x + (r^2 - |c|^2), linear in its unknowns.
    columns = np.column_stack([2.0 * plane, np.ones(len(plane))]) * np.sqrt(weights)[:, None]
    centre = np.linalg.lstsq(columns, (plane**2).sum(axis=1) * np.sqrt(weights), rcond=None)[0][:2]
    away = plane - centre
    radius = float(np.average(np.linalg.norm(away, axis=1), weights=weights))
    # The angle is zero in the middle of the condyle, so that its jump lies opposite to it.
    middle = (away / np.linalg.norm(away, axis=1, keepdims=True) * weights[:, None]).sum(axis=0)
    middle /= np.linalg.norm(middle)
    axes = np.array([[*middle, 0.0], [-middle[1], middle[0], 0.0], [0.0, 0.0, 1.0]])
    return CylinderChart(np.array([*centre, 0.0]), axes, radius)
