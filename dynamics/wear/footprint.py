"""Pressure field of a compartment from its loads: force, area, peak and mean pressure.

The paraboloid p = p0 (1 - r²)^n over an ellipse of the contact area about the centre of pressure,
perpendicular to the force, with n = peak/mean - 1 (docs/theory.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray
from foundation.base.loads import AREA, CENTRE, FORCE, MEAN_PRESSURE, PEAK_PRESSURE

#: Quadrature points of the field: rings of equally spaced spokes.
_RINGS, _SPOKES = 3, 6
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(_RINGS)
#: Largest n; at the edge of contact the ratio of peak to mean is arbitrary.
_LARGEST_EXPONENT = 10.0


class Surface(Protocol):
    """Tibial mesh as wear uses it (`foundation.surfaces.mesh.TriangleMesh`)."""

    @property
    def centroids(self) -> FloatArray:
        """Centroids of the triangles, (F, 3) [m], tibial frame."""
        ...

    @property
    def normals(self) -> FloatArray:
        """Unit normals of the triangles, (F, 3) [1], tibial frame."""
        ...

    @property
    def areas(self) -> FloatArray:
        """Areas of the triangles, (F,) [m²]."""
        ...


def field_exponent(loads: FloatArray) -> FloatArray:
    """Return exponents n (N,) [1] of loads (N, 12); 0 where the peak is not above the mean."""
    peak, mean = loads[:, PEAK_PRESSURE], loads[:, MEAN_PRESSURE]
    ratio = np.divide(peak, mean, out=np.ones(len(loads)), where=mean > 0.0)
    return np.clip(ratio - 1.0, 0.0, _LARGEST_EXPONENT)


def semi_axes(loads: FloatArray, aspect: ArrayLike) -> FloatArray:
    """Return the AP and ML semi-axes (N, 2) [m] of ellipses of an AP over ML axis `aspect` [1].

    The aspect, here and in `field_arms`, is that of all or one for each of the N fields.
    """
    root = np.sqrt(aspect)
    radius = np.sqrt(np.maximum(loads[:, AREA], 0.0) / np.pi)
    return np.stack([radius * root, radius / root], axis=1)


def field_axes(loads: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return AP, ML and normal (force) directions, (N, 3) each [1], tibial frame."""
    normal = loads[:, FORCE] / np.linalg.norm(loads[:, FORCE], axis=1, keepdims=True)
    # The force of a knee is never close to anterior: it is inclined by the slope of the insert.
    along = np.array([1.0, 0.0, 0.0]) - normal[:, :1] * normal
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    return along, np.cross(along, normal), normal


def field_arms(loads: FloatArray, aspect: ArrayLike = 1.0) -> tuple[FloatArray, FloatArray]:
    """Return quadrature points (N, 2, Q) [m], AP and ML, of the field and their shares (Q,) [1]."""
    # Along `field_axes`, for an AP over ML axis `aspect`. The radii of the rings reproduce the
    # second moments of the field, on which the mean sliding speed primarily depends.
    exponent = field_exponent(loads)[:, None]
    shares = 0.5 * _WEIGHTS
    # The part of the load within radius r is 1 - (1 - r²)^(n + 1).
    squared = 1.0 - (0.5 - 0.5 * _NODES) ** (1.0 / (exponent + 1.0))
    squared /= (squared @ shares)[:, None] * (exponent + 2.0)
    angle = 2.0 * np.pi * (np.arange(_SPOKES) + 0.5) / _SPOKES
    spokes = np.stack([np.cos(angle), np.sin(angle)])
    rings = semi_axes(loads, aspect)[:, :, None] * np.sqrt(squared)[:, None, :]
    arms = rings[:, :, :, None] * spokes[:, None, :]
    return arms.reshape(len(loads), 2, _RINGS * _SPOKES), np.repeat(shares / _SPOKES, _SPOKES)


def field_speeds(loads: FloatArray, twists: FloatArray, arms: FloatArray) -> FloatArray:
    """Return sliding speeds (N, Q) [m/s] at `arms` (N, 2, Q) [m], of twists (N, 6) [m/s, rad/s]."""
    along, across, normal = field_axes(loads)
    velocity = twists[:, :3] + np.cross(twists[:, 3:], loads[:, CENTRE])
    # In the plane of the field only the rotation about its normal, across x along, contributes.
    spin = (twists[:, 3:] * normal).sum(axis=1)[:, None]
    forward = (velocity * along).sum(axis=1)[:, None] + spin * arms[:, 1]
    sideways = (velocity * across).sum(axis=1)[:, None] - spin * arms[:, 0]
    return np.sqrt(forward**2 + sideways**2)


def femoral_twists(poses: FloatArray, rates: FloatArray) -> FloatArray:
    """Return twists (N, 6) [m/s, rad/s] of the femur, `twist_jacobian(pose) @ rates`."""
    adduction, rotation, position = poses[:, 1], poses[:, 2], poses[:, 3:]
    ca, sa, cr, sr = np.cos(adduction), np.sin(adduction), np.cos(rotation), np.sin(rotation)
    # The axes of the angles as in `foundation.base.pose.rotation_axes`.
    flexed, adducted, rotated = rates[:, :3].T
    angular = np.stack(
        [
            -sr * ca * flexed - cr * adducted,
            sa * flexed - rotated,
            cr * ca * flexed - sr * adducted,
        ],
        axis=1,
    )
    return np.concatenate([rates[:, 3:] - np.cross(angular, position), angular], axis=1)


def load_pressures(
    loads: FloatArray, carried: FloatArray, aspect: float, tibia: Surface
) -> Iterator[tuple[NDArray[np.intp], FloatArray]]:
    """Yield pressed triangles (K,) and their pressures (K,) [Pa] under the fields of loads (N, 12).

    The fields carry `carried` (N,) [N].
    """
    # The area is along the surface, the ellipse across the force. As secants grow with the square
    # of the distance from the centre, their mean over the area exceeds 1 by (n + 2) / 2 times the
    # excess of their mean over the pressure, which is `carried` over the force.
    exponents, ratio = field_exponent(loads), carried / np.linalg.norm(loads[:, FORCE], axis=1)
    secant = 1.0 + (0.5 * exponents + 1.0) * np.maximum(ratio - 1.0, 0.0)
    # A patch between the middles of triangles has no triangle inside.
    axes = np.maximum(semi_axes(loads, aspect) / np.sqrt(secant)[:, None], 1e-12)
    scaled = np.stack(field_axes(loads)[:2], axis=1) / axes[:, :, None]
    near = _near(loads, axes.max(axis=1), tibia.centroids)
    centroids, areas = np.ascontiguousarray(tibia.centroids[near].T), tibia.areas[near]
    for load, frame, exponent, force in zip(loads, scaled, exponents, carried, strict=True):
        x, z = frame @ centroids - (frame @ load[CENTRE])[:, None]
        squared = x * x + z * z
        inside = np.flatnonzero(squared < 1.0)
        pressure = (1.0 - squared[inside]) ** exponent
        yield near[inside], pressure * (force / max(pressure @ areas[inside], 1e-300))


def _near(loads: FloatArray, reach: FloatArray, centroids: FloatArray) -> NDArray[np.intp]:
    """Return the triangles in the box of all cylinders of radius `reach` (N,) [m] along forces."""
    force, up = loads[:, FORCE], np.abs(loads[:, FORCE.start + 1])
    half = reach * np.linalg.norm(force, axis=1) / np.maximum(up, 1e-300)
    inside = np.full(len(centroids), True)
    for k in (0, 2):
        # Where the axes of the cylinders pass the lowest and the highest triangle.
        heights = np.array([[centroids[:, 1].min()], [centroids[:, 1].max()]])
        slope = force[:, k] / np.maximum(up, 1e-300) * np.sign(force[:, 1])
        crossings = loads[:, CENTRE][:, k] + slope * (heights - loads[:, CENTRE][:, 1])
        inside &= centroids[:, k] >= (crossings - half).min()
        inside &= centroids[:, k] <= (crossings + half).max()
    return np.flatnonzero(inside)
