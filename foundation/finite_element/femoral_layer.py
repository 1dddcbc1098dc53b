"""A femoral layer: its compliance at the points where tibial nodes touch."""

from __future__ import annotations

from functools import cached_property
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.ndimage import distance_transform_edt

from foundation.base.checks import FloatArray, IntArray, check_number
from foundation.base.errors import InputError
from foundation.base.pose import Pose
from foundation.core.library import CORE, Record, address, addresses, integers
from foundation.finite_element.condensed_layer import ComplianceStore, MeshedLayer, meshed_layer
from foundation.finite_element.layer import ElasticLayer
from foundation.finite_element.surface_grid import Chart, femoral_chart, tibial_chart
from foundation.layer_theory.flat_layer import PER_STEP, deficit_table, own_part, strength
from foundation.surfaces.triangle_mesh import TriangleMesh

#: Weights of a node, its neighbours and the neighbours beyond along a grid line. The filter leaves
#: cubics as they are and removes what changes its sign from node to node.
_WEIGHTS = (0.625, 0.25, -0.0625)
#: The same at the second line from the border.
_BESIDE_BORDER = (0.5, 0.25)


def own_parts(layer: MeshedLayer) -> FloatArray:
    """Return `own_part` of each candidate (C,) [1/m], the grid being the lattice."""
    grid = layer.mesh.grid
    beside, points = grid.neighbours[layer.candidates], grid.points
    edges = []
    for axis in range(2):
        ahead, back = beside[:, axis, 0], beside[:, axis, 1]
        one_sided = (ahead < 0) | (back < 0)
        ahead = np.where(ahead < 0, layer.candidates, ahead)
        back = np.where(back < 0, layer.candidates, back)
        edges.append((points[ahead] - points[back]) * np.where(one_sided, 1.0, 0.5)[:, None])
    return own_part(*edges)


def regular_part(layer: MeshedLayer, compliance: FloatArray) -> FloatArray:
    """Return the compliance (C, C) less that of a flat layer [m/N], smooth over the grid."""
    regular = np.array(compliance, dtype=np.float64)
    flat = flat_layer(layer.layer, layer.points, layer.thickness, own_parts(layer))
    CORE.subtract_flat(flat.address, address(regular))
    # Elements do not resolve the singular part between nodes next to each other.
    smoothing = _filter(layer, 0) @ _filter(layer, 1)
    half = smoothing @ regular
    return np.asarray(smoothing @ half.T)


def flat_layer(
    layer: ElasticLayer, points: FloatArray, thickness: FloatArray, own: FloatArray, **fields: Any
) -> Record:
    """Return the struct `between` of points (n, 3), thicknesses (n,) [m] and other fields."""
    table = deficit_table(layer.poissons_ratio)
    return Record(
        "between",
        pieces=len(table),
        table=table,
        per_step=PER_STEP,
        strength=strength(layer.youngs_modulus, layer.poissons_ratio),
        count=len(points),
        points=points,
        thickness=thickness,
        own=own,
        **fields,
    )


def _filter(layer: MeshedLayer, axis: int) -> sparse.csr_array:
    """Return the filter along grid lines of one direction, (C, C) [1]."""
    beside = layer.neighbours[:, axis].astype(np.int64)
    nodes = np.arange(len(beside))
    inner = (beside >= 0).all(axis=1)
    beyond = np.stack([beside[beside[:, 0], 0], beside[beside[:, 1], 1]], axis=1)
    deep = inner & (beyond >= 0).all(axis=1)
    middle = np.where(deep, _WEIGHTS[0], np.where(inner, _BESIDE_BORDER[0], 1.0))
    rows, columns, values = [nodes], [nodes], [middle]
    for k in range(2):
        rows += [nodes[inner], nodes[deep]]
        columns += [beside[inner, k], beyond[deep, k]]
        values += [
            np.where(deep, _WEIGHTS[1], _BESIDE_BORDER[1])[inner],
            np.full(int(deep.sum()), _WEIGHTS[2]),
        ]
    parts = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return sparse.csr_array(parts, shape=(len(nodes), len(nodes)))


#: Least distance of the nodes by default [m]: what is interpolated between the nodes is smooth.
LEAST_SPACING = 1e-3
#: Part of the femur beside the compartment, across, that may touch the compartment [m], and width
#: beyond that is meshed as well.
_ASIDE, _BEYOND = 6e-3, 6e-3
#: Least cosine of the angle between the femoral surface and the lines of the chart.
_STEEPEST = 0.25
#: Cosine of the angle to the mean normal that no normal of a flat part of the femur exceeds.
_FLAT = 0.8


class FemoralPoints(NamedTuple):
    """Points of contact (n, 3) [m] on the femur, femoral frame."""

    points: FloatArray
    #: Force along the femoral normal per force along the tibial normal (n,) [1].
    factors: FloatArray
    #: Nodes (n, 4) around each point.
    cells: IntArray
    #: Weights (n, 4) of the interpolation between these nodes [1].
    weights: FloatArray
    #: Thickness of the layer (n,) [m].
    thickness: FloatArray
    #: Whether a point lies beyond the nodes (n,).
    outside: NDArray[np.bool_]
    #: Place in the quadrilateral (n, 2), from 0 to 1 along both grid lines [1].
    place: FloatArray

    def chosen(self, active: IntArray) -> FemoralPoints:
        """Return some of the points, (A,)."""
        parts: Any = (array[active] for array in self)
        return FemoralPoints(*parts)


class FemoralLayer:
    """The femoral layer opposite to one compartment, in the femoral frame."""

    def __init__(self, layer: MeshedLayer, opposite: MeshedLayer, store: ComplianceStore) -> None:
        self.layer, self._store = layer, store
        self._own = own_parts(opposite)
        #: SHA-256 of everything that determines the regular part.
        self.digest = sha256(f"{layer.digest} regular part, filtered".encode()).hexdigest()

    def regular(self) -> FloatArray:
        """Return the regular part (C, C) [m/N] of the compliance."""
        return self._store.get(
            self.digest,
            len(self.layer.candidates),
            lambda: self.layer.body,
            lambda compliance: regular_part(self.layer, compliance),
        )

    @cached_property
    def grid(self) -> tuple[FloatArray, IntArray]:
        """Chart coordinates of row and column 0 (2,) [m], and row and column of candidates."""
        return grid_cells(self.layer)

    @cached_property
    def _corners(self) -> IntArray:
        """Nodes of cells, (X, Z, 4), -1 for none, in the order (0, 0), (1, 0), (1, 1), (0, 1)."""
        rows, quads = self.grid[1], self.layer.quads
        corners = np.full((*(rows.max(axis=0) + 1), 4), -1, dtype=np.int64)
        corners[tuple(rows[quads[:, 0]].T)] = quads
        return corners

    @cached_property
    def _nearest(self) -> IntArray:
        """Cell with a quadrilateral nearest to each cell of the grid, (2, X, Z)."""
        empty = self._corners[:, :, 0] < 0
        return np.asarray(
            distance_transform_edt(empty, return_distances=False, return_indices=True)
        )

    def touched(self, pose: Pose, points: FloatArray, across: FloatArray) -> FemoralPoints:
        """Return the points of contact at points (n, 3) [m] of the femur, in the tibial frame."""
        # `across` (n, 3) are the femoral normals over the cosines between both normals.
        local = (points - pose.translation) @ pose.rotation_matrix
        factors = np.linalg.norm(across, axis=1)
        chart = self.layer.chart
        place = (chart.coordinates(local) - self.grid[0]) / self.layer.spacing
        corners = self._corners
        most = np.array(corners.shape[:2]) - 1
        cell = np.clip(np.floor(place).astype(np.int64), 0, most)
        missing = corners[cell[:, 0], cell[:, 1], 0] < 0
        cell[missing] = self._nearest[:, cell[missing, 0], cell[missing, 1]].T
        u, v = (place - cell).T
        outside = (np.minimum(u, v) < 0.0) | (np.maximum(u, v) > 1.0)
        u, v = np.clip(u, 0.0, 1.0), np.clip(v, 0.0, 1.0)
        weights = np.stack([(1 - u) * (1 - v), u * (1 - v), u * v, (1 - u) * v], axis=1)
        cells = corners[cell[:, 0], cell[:, 1]]
        thickness = (weights * self.layer.thickness[cells]).sum(axis=1)
        inside = np.column_stack([u, v])
        return FemoralPoints(local, factors, cells, weights, thickness, outside, inside)

    def compliance(self, nodes: NDArray[Any], at: FemoralPoints) -> LazyCompliance:
        """Return the compliance [m/N] between points of contact of tibial candidates (n,)."""
        return LazyCompliance(self.layer, self.regular(), self._own[nodes], at)


class LazyCompliance:
    """Femoral compliance (n, n) [m/N] between points of contact, rows filled on demand."""

    # `regular` (C, C) [m/N] is the regular part; `own` (n,) [1/m] replaces 1/r at a point itself.

    def __init__(
        self, layer: MeshedLayer, regular: FloatArray, own: FloatArray, at: FemoralPoints
    ) -> None:
        self.at, self._layer, self._regular, self._own = at, layer, regular, own
        count = len(at.points)
        self._filled = np.zeros(count, dtype=np.bool_)
        self._scratch = np.zeros(len(regular))
        self._matrix = np.empty((count, count))
        self._between = self._points(at, own, np.unique(at.cells))

    def _points(self, at: FemoralPoints, own: FloatArray, used: IntArray) -> Record:
        """Return the struct `between` of points of contact; `own` and `used` as of its fields."""
        return flat_layer(
            self._layer.layer, at.points, at.thickness, own, factors=at.factors, cells=at.cells,
            weights=at.weights, count_used=len(used), used=used, side=len(self._regular),
            regular=address(self._regular),
        )  # fmt: skip

    def add_block(self, rows: IntArray, columns: IntArray, part: FloatArray) -> None:
        """Add rows (k,) and columns (l,) to (k, l) [m/N]; up to the diagonal if these agree."""
        wanted = integers(rows)
        CORE.femoral_rows(
            self._between.address, len(wanted),
            *addresses(wanted, self._filled, self._matrix, self._scratch),
        )  # fmt: skip
        add_block(self._matrix, rows, columns, part, lower=rows is columns)

    def slopes(
        self, active: IntArray, forces: FloatArray, motion: FloatArray, by_factors: FloatArray
    ) -> FloatArray:
        """Return d(displacements by given forces)/d(femoral twist), (A, 6) [1, m]."""
        # Through the `motion` of the points over the femur, (A, 3, 6), and logarithms of factors,
        # (A, 6).
        touching = self.at.chosen(active)
        by_distance, by_thickness = np.empty((2, len(active), len(active)))
        points = self._points(touching, self._own[active], active[:0])
        CORE.femoral_slopes(points.address, address(by_distance), address(by_thickness))
        slopes = _by_distance(by_distance, touching.points, forces, motion)
        by_weights = self._by_weights(touching, motion)
        deeper = np.einsum("nkt,nk->nt", by_weights, self._layer.thickness[touching.cells])
        for matrix, change in (
            (by_thickness, deeper),
            (self._matrix[np.ix_(active, active)], by_factors),
        ):
            slopes += (matrix @ forces)[:, None] * change + matrix @ (forces[:, None] * change)
        return slopes + self._by_interpolation(touching, forces, by_weights)

    def _by_weights(self, at: FemoralPoints, motion: FloatArray) -> FloatArray:
        """Return the derivatives of the weights of the interpolation, (A, 4, 6) [1/m, 1]."""
        layer, (u, v) = self._layer, at.place.T
        # A point beyond the nodes is held at their end.
        held = (at.place <= 0.0) | (at.place >= 1.0)
        along = np.einsum("nai,nit->nat", layer.chart.slopes(at.points), motion) / layer.spacing
        along[held] = 0.0
        by_u = np.stack([v - 1.0, 1.0 - v, v, -v], axis=1)
        by_v = np.stack([u - 1.0, -u, u, 1.0 - u], axis=1)
        return by_u[:, :, None] * along[:, None, 0] + by_v[:, :, None] * along[:, None, 1]

    def _by_interpolation(
        self, at: FemoralPoints, forces: FloatArray, by_weights: FloatArray
    ) -> FloatArray:
        """Return the part of `slopes` due to the weights, (A, 6) [1, m]."""
        used, place = np.unique(at.cells, return_inverse=True)
        place = place.reshape(-1, 4)
        load = (at.factors * forces)[:, None]
        nodal = np.zeros((len(used), 7))
        np.add.at(nodal[:, 0], place, load * at.weights)
        np.add.at(nodal[:, 1:], place, load[:, :, None] * by_weights)
        moved = self._regular[np.ix_(used, used)] @ nodal
        by_own = np.einsum("nkt,nk->nt", by_weights, moved[place, 0])
        by_others = np.einsum("nk,nkt->nt", at.weights, moved[place][:, :, 1:])
        return at.factors[:, None] * (by_own + by_others)


def add_block(
    matrix: FloatArray, rows: NDArray[Any], columns: NDArray[Any], part: FloatArray, *, lower: bool
) -> None:
    """Add rows (k,) and columns (l,) [any unit] to (k, l); up to the diagonal if `lower`."""
    across, down = integers(rows), integers(columns)
    CORE.add_block(
        address(matrix), len(matrix), len(across), address(across), len(down), address(down),
        lower, address(part),
    )  # fmt: skip


def _by_distance(
    slopes: FloatArray, points: FloatArray, forces: FloatArray, motion: FloatArray
) -> FloatArray:
    """Return the sum over j of slopes_ij f_j (x_i - x_j) . (x_i - x_j)', (A, 6)."""
    radial = np.einsum("ni,nit->nt", points, motion)
    terms = np.concatenate(
        [np.ones((len(points), 1)), points, radial, motion.reshape(-1, 18)], axis=1
    )
    total = slopes @ (forces[:, None] * terms)
    weight, place = total[:, :1], total[:, 1:4]
    from_others = np.einsum("ni,nit->nt", points, total[:, 10:].reshape(-1, 3, 6))
    return weight * radial - np.einsum("ni,nit->nt", place, motion) - from_others + total[:, 4:10]


def grid_cells(layer: MeshedLayer) -> tuple[FloatArray, IntArray]:
    """Return chart coordinates (2,) [m] of row and column 0, and those of candidates (C, 2)."""
    # Border nodes are moved off the spacing, but each quadrilateral has a node that is not.
    grid = layer.mesh.grid
    quads, held = grid.quads, ~grid.border[grid.quads]
    corner = held.argmax(axis=1)
    rows = np.arange(len(quads))
    origin = grid.plane[quads[0, corner[0]]]
    offset = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    step = np.rint((grid.plane[quads[rows, corner]] - origin) / layer.spacing).astype(np.int64)
    first = step - offset[corner]
    cells = np.zeros((len(grid.points), 2), dtype=np.int64)
    cells[quads] = first[:, None] + offset
    cells = cells[layer.candidates]
    low = cells.min(axis=0)
    return origin + layer.spacing * low, cells - low


def femoral_layers(
    femur: TriangleMesh,
    opposite: tuple[MeshedLayer, ...],
    layer: ElasticLayer | None,
    spacing: float,
    growth: float,
    store: ComplianceStore,
) -> tuple[FemoralLayer | None, ...]:
    """Return the femoral layers opposite to tibial layers, see `femoral_layer`; None if rigid."""
    if layer is None:
        return tuple(None for _ in opposite)
    return tuple(femoral_layer(femur, tibial, layer, spacing, growth, store) for tibial in opposite)


def femoral_layer(
    femur: TriangleMesh,
    opposite: MeshedLayer,
    layer: ElasticLayer,
    spacing: float,
    growth: float,
    store: ComplianceStore,
) -> FemoralLayer:
    """Mesh the femoral layer opposite to a compartment, in the femoral frame [m]."""
    # The femur may touch where its z is that of the compartment or up to 6 mm beside; the layer is
    # meshed 6 mm farther.
    check_number("femur_spacing", spacing, at_least=0.1e-3, at_most=5e-3, unit="m")
    across, place = femur.centroids[:, 2], opposite.points[:, 2]
    low, high = place.min() - _ASIDE, place.max() + _ASIDE
    inside = (across > low) & (across < high)
    around = (across > low - _BEYOND) & (across < high + _BEYOND)
    if not inside.any():
        raise InputError(
            f"{femur.name}: no triangle lies between z = {1e3 * low:.1f} and {1e3 * high:.1f} mm, "
            "opposite to the compartment; check the frames of femur and tibia"
        )
    chart = _chart(femur, around)
    directions = chart.lines(chart.coordinates(femur.centroids))[1]
    faces_out = (directions * femur.normals).sum(axis=1) > _STEEPEST
    if not (inside & faces_out).any():
        raise InputError(
            f"{femur.name}: no triangle opposite to the compartment faces away from the femur; "
            "flip its normals"
        )
    meshed = meshed_layer(
        femur, inside & faces_out, around & faces_out, chart, layer, spacing, growth
    )
    return FemoralLayer(meshed, opposite, store)


def _chart(femur: TriangleMesh, part: NDArray[np.bool_]) -> Chart:
    """Return the chart of a part of the femur: of a condyle, or along the mean normal if flat."""
    mean = femur.area_vectors[part].sum(axis=0)
    mean /= np.linalg.norm(mean)
    if (femur.normals[part] @ mean).min() > _FLAT:
        return tibial_chart(femur, part, upright=False)
    return femoral_chart(femur, part)
