"""One condyle of the built-in implant on its dish, and quadrature over their contact patch.

The patch is where points of the dish lie inside the condyle. Its edge is the zero line of the
condyle's signed distance, found along spokes from a point inside; so that it is met exactly,
Gauss-Legendre nodes along each spoke and the trapezoidal rule round the spokes converge fast, and
no load suffers from cells cut by the edge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.pose import Pose
from foundation.implant.condyle import Condyle
from foundation.implant.dish import Dish

_REACH = 20e-3
_SCAN = 0.5e-3  # m, finer than any patch that carries some newtons
_RUNGS = 40
_HALVINGS = 32


class PatchError(ValueError):
    """A contact patch that reaches a rim, or that some spoke leaves more than once."""


@dataclass(frozen=True, eq=False)
class CondyleOnDish:
    """One condyle on its dish at a pose; parameters (N, 2) are arc lengths from the bottom [m]."""

    condyle: Condyle
    dish: Dish
    sign: float
    half_spacing: float
    bottom: float
    pose: Pose

    @property
    def limits(self) -> FloatArray:
        """Lowest and highest parameters, (2, 2) [m]."""
        along = self.dish.sagittal_radius * self.dish.limits
        across = self.dish.coronal_radius * self.dish.half_angle
        return np.array([[along[0], -across], [along[1], across]])

    def points(self, at: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return points [m] and upward normals of the dish, tibial frame, (N, 3) each."""
        u, v = at[:, 0] / self.dish.sagittal_radius, at[:, 1] / self.dish.coronal_radius
        points, normals = self.dish.surface(u, v, self.bottom)
        points[:, 2] += self.half_spacing
        return points * (1.0, 1.0, self.sign), normals * (1.0, 1.0, self.sign)

    def stretch(self, at: FloatArray) -> FloatArray:
        """Return the area of the dish per area of its parameters, (N,)."""
        outer, inner = self.dish.sagittal_radius, self.dish.coronal_radius
        return (outer - inner + inner * np.cos(at[:, 1] / inner)) / outer

    def spread(self, at: FloatArray, depth: FloatArray) -> FloatArray:
        """Return the area of the surface parallel to the dish at a depth, per area of it, (N,)."""
        inner = self.dish.coronal_radius
        other = (self.dish.sagittal_radius - inner) / np.cos(at[:, 1] / inner) + inner
        return (1.0 + depth / inner) * (1.0 + depth / other)

    def distance(self, at: FloatArray) -> FloatArray:
        """Return the signed distance of dish points to the condyle, (N,) [m], negative inside."""
        return self.condyle.locate(self._to_condyle(self.points(at)[0]))[0]

    def depth(self, at: FloatArray) -> FloatArray:
        """Return the indentation along minus the dish's normal, (N,) [m]."""
        points, normals = self.points(at)
        along = -(normals @ self.pose.rotation_matrix) * (1.0, 1.0, self.sign)
        return self.condyle.depth(self._to_condyle(points), along, _REACH)

    def femoral_normal(self, points: FloatArray) -> FloatArray:
        """Return the condyle's outward normal at points on it, tibial frame, (N, 3)."""
        normals = self.condyle.locate(self._to_condyle(points))[1] * (1.0, 1.0, self.sign)
        return normals @ self.pose.rotation_matrix.T

    def _to_condyle(self, points: FloatArray) -> FloatArray:
        """Return tibial points as (x, y, across) of the condyle."""
        femoral = (points - self.pose.translation) @ self.pose.rotation_matrix
        return femoral * (1.0, 1.0, self.sign) - (0.0, 0.0, self.half_spacing)


def deepest_point(side: CondyleOnDish) -> FloatArray | None:
    """Return the parameters of the point of the dish deepest in the condyle, or None."""
    low, high = side.limits
    scan = _grid(low, high, np.ceil((high - low) / _SCAN).astype(int) + 1)
    start = scan[np.argmin(side.distance(scan))]
    deepest, value = largest(lambda at: -side.distance(at), start, side.limits, zooms=6)
    return deepest if value > 0.0 else None


def largest(
    function: Callable[[FloatArray], FloatArray],
    start: FloatArray,
    limits: FloatArray,
    zooms: int = 12,
) -> tuple[FloatArray, float]:
    """Return place and value of the maximum next to `start`, by ever finer grids round the best."""
    best, half = start, 2.0 * _SCAN
    value = -np.inf
    for _ in range(zooms):
        low, high = np.clip([best - half, best + half], *limits)
        at = _grid(low, high, np.array([9, 9]))
        values = function(at)
        best, value = at[np.argmax(values)], float(values.max())
        half *= 0.4
    return best, value


def _grid(low: FloatArray, high: FloatArray, counts: np.ndarray) -> FloatArray:
    axes = [np.linspace(a, b, n) for a, b, n in zip(low, high, counts, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)


def patch_rule(
    side: CondyleOnDish, spokes: int, nodes: int, *, clip: bool = False
) -> tuple[FloatArray, FloatArray] | None:
    """Return quadrature over the patch, or None out of contact.

    Parameters
    ----------
    side : CondyleOnDish
        The condyle and its dish.
    spokes, nodes : int
        Spokes and nodes on each.
    clip : bool
        Whether the patch ends at the rim of the dish instead of being refused there.

    Returns
    -------
    at : (spokes * nodes, 2) float64
        Parameters of the nodes [m].
    weights : (spokes * nodes,) float64
        Areas of the parameter plane [m²].

    Raises
    ------
    PatchError
        If the patch reaches the rim, or a spoke leaves it more than once.
    """
    centre = deepest_point(side)
    if centre is None:
        return None
    angle = 2.0 * np.pi * np.arange(spokes) / spokes
    directions = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    low, high = side.limits
    with np.errstate(divide="ignore"):
        ahead = np.where(directions > 0.0, high - centre, low - centre) / directions
    rim = np.min(np.where(directions == 0.0, np.inf, ahead), axis=1)
    edge = _edge(side, centre, directions, rim, clip)
    abscissa, gauss = np.polynomial.legendre.leggauss(nodes)
    along = 0.5 * (abscissa + 1.0)
    radius = edge[:, None] * along
    at = centre + radius[:, :, None] * directions[:, None, :]
    weights = (2.0 * np.pi / spokes) * 0.5 * gauss * edge[:, None] * radius
    return at.reshape(-1, 2), weights.reshape(-1)


def _edge(
    side: CondyleOnDish, centre: FloatArray, directions: FloatArray, rim: FloatArray, clip: bool
) -> FloatArray:
    """Return how far the patch reaches along each spoke, (N,) [m]."""
    steps = np.arange(1, _RUNGS + 1) / _RUNGS
    lengths = rim[:, None] * steps
    ladder = centre + lengths[:, :, None] * directions[:, None, :]
    inside = side.distance(ladder.reshape(-1, 2)).reshape(lengths.shape) < 0.0
    if not clip and inside[:, -1].any():
        raise PatchError("exact loads: the patch is cut by the rim of the dish")
    if not clip and (inside[:, 1:] & ~inside[:, :-1]).any():
        raise PatchError("exact loads: a spoke leaves the patch more than once")
    rung = inside.sum(axis=1)
    near, far = rim * rung / _RUNGS, rim * np.minimum((rung + 1) / _RUNGS, 1.0)
    for _ in range(_HALVINGS):
        middle = 0.5 * (near + far)
        within = side.distance(centre + middle[:, None] * directions) < 0.0
        near, far = np.where(within, middle, near), np.where(within, far, middle)
    return 0.5 * (near + far)
