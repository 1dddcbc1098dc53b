"""Grid of quadrilaterals on a bearing surface, with the rim of the surface as its border."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.spatial import KDTree

from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError
from foundation.surfaces.femur_patches import LineTracer
from foundation.surfaces.mesh_topology import half_edges
from foundation.surfaces.smooth_surface import SmoothSurface, shape_functions, smooth_surface
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


#: Points of the outline per edge of the surface.
_OUTLINE_POINTS = 8
#: Largest move of a node onto the outline, in edges of its cell: the diagonal of a cell.
_MOST_MOVED = 1.5
#: Least scaled jacobian of a quadrilateral, below which its moved nodes go half way back.
_LEAST_QUALITY = 0.25
_HALVINGS = 4
#: Product of the edges at a corner, over that before the move, below which the corner is no angle.
_LEAST_AREA = 0.01
#: Reach of the lines to the surface [m].
_REACH = 0.5
#: Most nodes of a grid: those of a square of 250 mm at a spacing of 0.1 mm.
_MOST_NODES = 6_255_001


@dataclass(frozen=True, eq=False)
class SurfaceGrid:
    """Quadrilaterals between nodes (C, 3) [m] on a bearing surface."""

    #: Positions of the nodes (C, 3) [m].
    points: FloatArray
    #: Unit outward normals (C, 3) [1].
    normals: FloatArray
    #: Directions of the chart's lines (C, 3) [1].
    lines: FloatArray
    #: Nodes of each quadrilateral (Q, 4), counter-clockwise seen from outside.
    quads: IntArray
    #: Triangle of the surface under each node (C,).
    facet: IntArray
    #: Barycentric coordinates on that triangle (C, 3) [1].
    weights: FloatArray
    #: Nodes on the border of the grid (C,).
    border: NDArray[np.bool_]
    #: Coordinates of the nodes in the chart (C, 2) [m].
    plane: FloatArray

    @property
    def neighbours(self) -> IntArray:
        """Neighbour of each node along and against both grid lines, -1 for none, (C, 2, 2)."""
        neighbours = np.full((len(self.points), 2, 2), -1, dtype=np.int64)
        for axis, pairs in enumerate((((0, 1), (3, 2)), ((0, 3), (1, 2)))):
            for first, second in pairs:
                neighbours[self.quads[:, first], axis, 0] = self.quads[:, second]
                neighbours[self.quads[:, second], axis, 1] = self.quads[:, first]
        return neighbours

    @property
    def areas(self) -> FloatArray:
        """Area of the surface that belongs to each node, (C,) [m²]."""
        corners = self.points[self.quads]
        # Half of the parallelogram at each corner: exact for a plane parallelogram.
        ahead, back = np.roll(corners, -1, axis=1) - corners, np.roll(corners, 1, axis=1) - corners
        at_corner = 0.25 * np.linalg.norm(np.cross(ahead, back), axis=2)
        areas = np.zeros(len(self.points))
        np.add.at(areas, self.quads, at_corner)
        return areas


def lay_grid(
    surface: TriangleMesh,
    part: NDArray[np.bool_],
    chart: Chart,
    spacing: float,
    *,
    fine: NDArray[np.bool_] | None = None,
    growth: float = 1.0,
) -> SurfaceGrid:
    """Lay square cells [m] over triangles `part` (F,); beyond `fine` (F,), they grow."""
    # Each line of the chart leaves the part once; the border is moved onto the rim.
    whole, chosen = smooth_surface(surface), np.flatnonzero(part)
    smooth = SmoothSurface(whole.corners[part], whole.middles[part], whole.normals[part])
    site = _Site(chosen, _outline(smooth, surface, chosen), smooth, chart)
    whole_range = _ranges(surface, part, chart)
    width, length = np.ptp(whole_range, axis=1)
    if not (width / spacing + 1.0) * (length / spacing + 1.0) <= _MOST_NODES:
        raise InputError(
            f"{surface.name}: the surface is {1e3 * width:.4g} mm by {1e3 * length:.4g} mm, "
            f"expected at most {_MOST_NODES:,} nodes there; increase {{name}}, or remove triangles "
            "far away",
            "spacing",
        )
    fine_range = whole_range if fine is None else _ranges(surface, fine, chart)
    axes = [_lines(*ends, spacing, growth) for ends in zip(whole_range, fine_range, strict=True)]
    mesh = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    inside = (site.hits(mesh.reshape(-1, 2)).facet >= 0).reshape(mesh.shape[:2])
    cells = _largest(inside[:-1, :-1] & inside[1:, :-1] & inside[1:, 1:] & inside[:-1, 1:])
    if not cells.any():
        raise InputError(
            f"{surface.name}: no cell of {1e3 * spacing:g} mm fits on the surface; decrease "
            "{name}",
            "spacing",
        )
    used, quads = _quads(cells)
    sizes = np.maximum(*np.meshgrid(*(_sizes(line) for line in axes), indexing="ij"))
    return _fitted(site, mesh.reshape(-1, 2)[used], quads, sizes.ravel()[used])


class _Site:
    """The part of a surface that a grid covers: triangles `chosen` (P,), rim, patches, chart."""

    def __init__(self, chosen: IntArray, rim: _Places, smooth: SmoothSurface, chart: Chart) -> None:
        self.chosen, self.rim, self.smooth, self.chart = chosen, rim, smooth, chart
        self._tracer = LineTracer(smooth, curved=True)

    def hits(self, coordinates: FloatArray) -> _Places:
        """Return where the lines to coordinates (N, 2) [m] leave the surface."""
        starts, directions = self.chart.lines(coordinates)
        distance, facet, weights = self._tracer.exits(starts, directions, _REACH)
        return _Places(starts + distance[:, None] * directions, facet, weights)


@dataclass(eq=False)
class _Places:
    """Points (N, 3) [m] on a surface, their triangles (N,) and barycentric coordinates (N, 3)."""

    points: FloatArray
    facet: IntArray
    weights: FloatArray


def _ranges(surface: TriangleMesh, part: NDArray[np.bool_], chart: Chart) -> FloatArray:
    """Return least and greatest value (2, 2) [m] of each coordinate of a part of a surface."""
    coordinates = chart.coordinates(surface.vertices[np.unique(surface.faces[part])])
    return np.stack([coordinates.min(axis=0), coordinates.max(axis=0)], axis=1)


def _lines(whole: FloatArray, fine: FloatArray, spacing: float, growth: float) -> FloatArray:
    """Return grid lines in the range `whole` (2,) [m], uniform in the range `fine` (2,) [m]."""
    steps = int(np.floor(np.ptp(fine) / spacing + 1e-9))
    uniform = fine.mean() + spacing * np.linspace(-0.5 * steps, 0.5 * steps, steps + 1)
    below, above = uniform[0] - whole[0], whole[1] - uniform[-1]
    return np.concatenate(
        [
            uniform[0] - _growing(below, spacing, growth)[::-1],
            uniform,
            uniform[-1] + _growing(above, spacing, growth),
        ]
    )


def _growing(room: float, spacing: float, growth: float) -> FloatArray:
    """Return distances of lines from the last uniform one that fit into a room [m]."""
    most = int(np.ceil(max(room, 0.0) / spacing))
    # Bounded: the powers of many lines overflow.
    edges = np.minimum(growth ** np.minimum(np.arange(1.0, most + 1.0), 100.0), 1e3)
    distances = spacing * np.cumsum(edges)
    return distances[distances <= room]


def _sizes(lines: FloatArray) -> FloatArray:
    """Return the larger of the two steps beside each line (N,) [m]."""
    steps = np.diff(lines, prepend=lines[0], append=lines[-1])
    return np.maximum(steps[:-1], steps[1:])


def _largest(cells: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the largest connected part of cells (X, Z), without strips of a single cell."""
    thick = ndimage.binary_opening(cells, np.ones((2, 2), dtype=np.bool_))
    labels, count = ndimage.label(thick)
    if count == 0:
        return np.zeros_like(cells)
    sizes = np.bincount(labels.ravel())[1:]
    return labels == 1 + int(sizes.argmax())


def _quads(cells: NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """Return the grid nodes in use and the quadrilaterals (Q, 4) over these nodes."""
    i, j = np.nonzero(cells)
    width = cells.shape[1] + 1
    first = i * width + j
    # The chart's coordinates and the outward direction are right-handed.
    corners = np.stack([first, first + width, first + width + 1, first + 1], axis=1)
    used, quads = np.unique(corners, return_inverse=True)
    return used, quads.reshape(-1, 4)


def _border(quads: IntArray, count: int) -> NDArray[np.bool_]:
    start, end = quads.ravel(), np.roll(quads, -1, axis=1).ravel()
    key = np.minimum(start, end) * count + np.maximum(start, end)
    _, inverse, number = np.unique(key, return_inverse=True, return_counts=True)
    single = number[inverse] == 1
    border = np.zeros(count, dtype=np.bool_)
    border[start[single]] = border[end[single]] = True
    return border


def _fitted(site: _Site, flat: FloatArray, quads: IntArray, sizes: FloatArray) -> SurfaceGrid:
    """Return the grid with nodes at (C, 2) and edges (C,) [m], the border moved onto the rim."""
    border = _border(quads, len(flat))
    rim = site.rim
    at_rim = site.chart.coordinates(rim.points)
    away, nearest = map(np.asarray, KDTree(at_rim).query(flat[border]))
    near = away < _MOST_MOVED * sizes[border]
    node, target = np.flatnonzero(border)[near], nearest[near]
    moved, fraction = flat.copy(), np.ones(len(node))
    for _ in range(_HALVINGS):
        moved[node] = flat[node] + fraction[:, None] * (at_rim[target] - flat[node])
        bad = np.zeros(len(flat), dtype=np.bool_)
        bad[quads[_plane_quality(moved, flat, quads) < _LEAST_QUALITY]] = True
        if not bad[node].any():
            break
        fraction[bad[node]] *= 0.5
    places = site.hits(moved)
    for name in ("points", "facet", "weights"):
        whole = fraction == 1.0
        getattr(places, name)[node[whole]] = getattr(rim, name)[target[whole]]
    missed = places.facet < 0
    if missed.any():
        unmoved = site.hits(flat[missed])
        for name in ("points", "facet", "weights"):
            getattr(places, name)[missed] = getattr(unmoved, name)
    normals = np.einsum("nk,nki->ni", places.weights, site.smooth.normals[places.facet])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    lines = site.chart.lines(moved)[1]
    return SurfaceGrid(
        places.points,
        normals,
        lines,
        quads,
        site.chosen[places.facet],
        places.weights,
        border,
        moved,
    )


def _outline(smooth: SmoothSurface, surface: TriangleMesh, chosen: IntArray) -> _Places:
    """Return points along the boundary edges of triangles (P,) of a surface, on their patches."""
    _, _, key = half_edges(surface.faces[chosen], len(surface.vertices))
    _, inverse, count = np.unique(key, return_inverse=True, return_counts=True)
    half = np.flatnonzero(count[inverse] == 1)
    facet, edge = np.repeat(half // 3, _OUTLINE_POINTS), np.repeat(half % 3, _OUTLINE_POINTS)
    along = np.tile(np.arange(_OUTLINE_POINTS) / _OUTLINE_POINTS, len(half))
    weights = np.zeros((len(facet), 3))
    rows = np.arange(len(facet))
    weights[rows, edge], weights[rows, (edge + 1) % 3] = 1.0 - along, along
    nodes = np.concatenate([smooth.corners, smooth.middles], axis=1)[facet]
    points = np.einsum("nk,nki->ni", shape_functions(weights[:, 1:])[0], nodes)
    return _Places(points, facet, weights)


def _plane_quality(moved: FloatArray, flat: FloatArray, quads: IntArray) -> FloatArray:
    """Return the least sine of the corners of moved quadrilaterals (Q, 4) of a grid, signed."""
    across, size = _corners(moved, quads)
    # Where the rim meets itself, two nodes may move to the same point: no angle tells.
    return (across / np.maximum(size, _LEAST_AREA * _corners(flat, quads)[1])).min(axis=1)


def _corners(plane: FloatArray, quads: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return cross product and product of lengths (Q, 4) of the edges at each corner [m²]."""
    corners = plane[quads]
    ahead, back = np.roll(corners, -1, axis=1) - corners, np.roll(corners, 1, axis=1) - corners
    across = ahead[..., 0] * back[..., 1] - ahead[..., 1] * back[..., 0]
    return across, np.linalg.norm(ahead, axis=2) * np.linalg.norm(back, axis=2)
