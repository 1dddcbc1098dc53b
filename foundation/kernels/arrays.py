"""Arguments of the kernels: named tuples of arrays, and handles of the tuples.

Passing a named tuple of arrays to a compiled function is slow, so each tuple is wrapped once in a
*handle* (a numba structure) with the same names.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.experimental import structref
from numpy.typing import NDArray

from foundation.base.compiling import fused_kernel
from foundation.kernels.blocks import BLOCK_ROWS
from foundation.kernels.search import LANES, MEET_ROWS


class Femur(NamedTuple):
    """Femoral surface, see `foundation.surfaces.femur_patches`; lengths in the femoral frame [m].

    Parameters
    ----------
    curved : bool
        False for plane facets.
    patch : (F, 6, 3) float64
        Coefficients of 1, u, v, u², uv, v² of each facet's patch [m].
    neighbour : (F, 3) int32
        Facet across each edge, -1 at a boundary.
    low, high, next, first, count : (M, 3) float64, (M,) int64
        Box tree of the facets, see `foundation.surfaces.tree.BoxTree` [m].
    planes : (P, 7) float64
        Point, normal and largest height of the femur over each bounding plane [m, 1, m].
    plane_reach : float
        Radius within which the bounding planes are valid [m].
    grid_low, grid_cell : (3,) float64, float
        Origin and cell width of the grid [m].
    grid_facet, grid_distance, grid_plane : (X, Y, Z) int64, float64, int32
        A nearby facet, a lower bound of the distance [m] and the facet's plane, per cell.
    grid_brick : (X, Y, Z) int32
        Index in `bricks` of a cell near the surface, -1 for other cells.
    bricks : (B, K, K, K) int32
        A nearby facet for each part of the cells near the surface, K = `PARTS`.
    """

    curved: bool
    patch: NDArray[np.float64]
    neighbour: NDArray[np.int32]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    next: NDArray[np.int64]
    first: NDArray[np.int64]
    count: NDArray[np.int64]  # type: ignore[assignment]
    planes: NDArray[np.float64]
    plane_reach: float
    grid_low: NDArray[np.float64]
    grid_cell: float
    grid_facet: NDArray[np.int64]
    grid_distance: NDArray[np.float64]
    grid_plane: NDArray[np.int32]
    grid_brick: NDArray[np.int32]
    bricks: NDArray[np.int32]


class Bed(NamedTuple):
    """Spring bed of the tibia, see `foundation.elastic_foundation.spring_bed`; tibial frame [m].

    Parameters
    ----------
    points, normals : (N, 3) float64
        Positions [m] and unit normals [1] of the nodes.
    elements : (F, n) int32
        Nodes of each element, n = 1 (plane) or 6 (curved).
    centroid_first : int
        Node of the first element's centroid; nodes of centroids follow each other.
    sizes : (F,) float64
        Longest edge of each element [m].
    whole_shape, cut_shape : (6, Q) float64
        Shape functions at the quadrature points of whole and of cut elements [1].
    whole_weight, cut_weight : (Q,) float64
        Weights of the rules [1].
    area_vectors : (F, n, 3) float64
        dx/du x dx/dv at the nodes [m²].
    metric : (F, 3, 3) float64
        Metric of slopes from corner values [1/m²].
    cut_radius : (Q,) float64
        Reach of the edge smoothing at the points of the rule of cut elements, per edge length [1].
    compartments : (C + 1,) int64
        First group of each compartment, and the number of groups.
    centre, direction : (3, G) float64
        Centre [m] and normal [1] of the disc around each group of elements.
    radius, thickness : (G,) float64
        Radius and half thickness of the disc [m].
    bulge : (G,) float64
        Largest indentation of an element's interior beyond its nodes [m].
    first, count : (G,) int64
        Elements of each group.
    corners : (G, 3, 3, LANES) float64
        Corners of the elements of each group, side by side [m].
    """

    points: NDArray[np.float64]
    normals: NDArray[np.float64]
    elements: NDArray[np.int32]
    centroid_first: int
    sizes: NDArray[np.float64]
    whole_shape: NDArray[np.float64]
    whole_weight: NDArray[np.float64]
    cut_shape: NDArray[np.float64]
    area_vectors: NDArray[np.float64]
    metric: NDArray[np.float64]
    cut_weight: NDArray[np.float64]
    cut_radius: NDArray[np.float64]
    compartments: NDArray[np.int64]
    centre: NDArray[np.float64]
    radius: NDArray[np.float64]
    thickness: NDArray[np.float64]
    direction: NDArray[np.float64]
    bulge: NDArray[np.float64]
    first: NDArray[np.int64]
    count: NDArray[np.int64]  # type: ignore[assignment]
    corners: NDArray[np.float64]


class Law(NamedTuple):
    """Spring law with a column per element of the bed.

    Parameters
    ----------
    kinds, exponents, offsets : (L,) int64, float64, float64
        Kind, m and 1/f of each layer [1], see `foundation.kernels.layers`.
    coefficients, thicknesses : (L, F) float64
        c [Pa/m^m or Pa] and h [m] of each layer and element.
    lead, exponent : (F,) float64, float
        c and m of the leading term c d^m at a light indentation [Pa/m^m, 1].
    edge_table : (K, 6) float64
        Quintic pieces of `foundation.elastic_foundation.edge_smoothing` [1].
    """

    kinds: NDArray[np.int64]
    exponents: NDArray[np.float64]
    offsets: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    thicknesses: NDArray[np.float64]
    lead: NDArray[np.float64]
    exponent: float
    edge_table: NDArray[np.float64]


class Motion(NamedTuple):
    """Motion of the femur and the resistance to the motion.

    Parameters
    ----------
    moving : bool
        Whether damping or friction acts.
    twist : (6,) float64
        Velocity of the femoral point at the tibial origin and angular velocity [m/s, rad/s],
        tibial frame.
    damping, friction, transition_speed : float
        See `foundation.elastic_foundation.model.Dissipation` [s/m, 1, m/s].
    """

    moving: bool
    twist: NDArray[np.float64]
    damping: float
    friction: float
    transition_speed: float


class Work(NamedTuple):
    """Scratch memory of one evaluation: arrays (N,), (F,), (G,) over nodes, elements, groups [SI].

    `generation` increases with each evaluation; entries with another `stamp` are out of date.
    """

    generation: NDArray[np.int64]
    stamp: NDArray[np.int64]
    gradient_stamp: NDArray[np.int64]
    depth: NDArray[np.float64]
    met: NDArray[np.int64]
    place: NDArray[np.float64]
    gradient: NDArray[np.float64]
    force: NDArray[np.float64]
    candidates: NDArray[np.int64]
    todo: NDArray[np.int64]
    listed: NDArray[np.int64]
    starts: NDArray[np.int64]
    doubtful: NDArray[np.int64]
    active: NDArray[np.int64]
    kind: NDArray[np.int64]
    lowest: NDArray[np.float64]
    highest: NDArray[np.float64]
    chosen: NDArray[np.int64]
    groups: NDArray[np.int64]
    plane_near: NDArray[np.int64]
    clearance: NDArray[np.float64]
    rows: NDArray[np.float64]
    facets: NDArray[np.int64]
    block: NDArray[np.float64]
    block_of: NDArray[np.int64]
    slopes: NDArray[np.float64]
    side: NDArray[np.float64]
    bears: NDArray[np.float64]
    by_offset: NDArray[np.float64]
    shape: NDArray[np.float64]
    centre_gradient: NDArray[np.float64]


class _Type(types.StructRef):
    """Numba's type of a handle; the fields have the types of the values."""

    def preprocess_fields(self, fields: Any) -> Any:
        """Return the fields without literal types, so that all values have one type."""
        return tuple((name, types.unliteral(kind)) for name, kind in fields)


@structref.register
class _FemurType(_Type):
    pass


@structref.register
class _BedType(_Type):
    pass


@structref.register
class _LawType(_Type):
    pass


@structref.register
class _WorkType(_Type):
    pass


class _FemurHandle(structref.StructRefProxy):
    pass


class _BedHandle(structref.StructRefProxy):
    pass


class _LawHandle(structref.StructRefProxy):
    pass


class _WorkHandle(structref.StructRefProxy):
    pass


for _proxy, _type, _tuple in (
    (_FemurHandle, _FemurType, Femur),
    (_BedHandle, _BedType, Bed),
    (_LawHandle, _LawType, Law),
    (_WorkHandle, _WorkType, Work),
):
    structref.define_proxy(_proxy, _type, list(_tuple._fields))


# `structref` would compile these functions in every process; here they are cached.
@fused_kernel
def _femur_handle(values):
    return _FemurHandle(*values)


@fused_kernel
def _bed_handle(values):
    return _BedHandle(*values)


@fused_kernel
def _law_handle(values):
    return _LawHandle(*values)


@fused_kernel
def _work_handle(values):
    return _WorkHandle(*values)


_HANDLES: dict[type, Any] = {
    Femur: _femur_handle,
    Bed: _bed_handle,
    Law: _law_handle,
    Work: _work_handle,
}


def handle(values: Femur | Bed | Law | Work) -> Any:
    """Return the handle of a named tuple for the kernels; the handle shares the arrays.

    Read-only arrays are copied: for numba they have another type and need another compilation.
    """
    kind: Any = type(values)
    shared = (
        value.copy() if isinstance(value, np.ndarray) and not value.flags.writeable else value
        for value in values
    )
    return _HANDLES[kind](kind(*shared))


def new_work(bed: Bed) -> Work:
    """Return scratch memory for evaluations on a bed."""
    # One place more than needed: lists are written one place beyond their last entry.
    nodes, elements, groups = len(bed.points) + 1, len(bed.elements) + 1, len(bed.first)
    integers = {"generation": 1, "facets": LANES, "block_of": LANES}
    integers |= dict.fromkeys(("stamp", "gradient_stamp", "met"), nodes)
    integers |= dict.fromkeys(("todo", "listed", "starts", "doubtful"), nodes)
    integers |= dict.fromkeys(("candidates", "active", "kind", "chosen"), elements)
    integers |= dict.fromkeys(("groups", "plane_near"), groups)
    numbers: dict[str, int | tuple[int, int]] = {"place": (nodes, 2), "gradient": (nodes, 6)}
    numbers |= {"depth": nodes, "force": nodes, "lowest": elements, "highest": elements}
    numbers |= {"clearance": LANES, "rows": MEET_ROWS * LANES, "block": BLOCK_ROWS * LANES}
    numbers |= {"slopes": 3}
    numbers |= dict.fromkeys(("side", "bears", "by_offset", "shape", "centre_gradient"), 6)
    arrays: dict[str, Any] = {name: np.zeros(shape) for name, shape in numbers.items()}
    arrays |= {name: np.zeros(size, dtype=np.int64) for name, size in integers.items()}
    return Work(**arrays)


class Scratch:
    """Pool of scratch memory: one set for each evaluation on a `bed` that runs at the same time."""

    def __init__(self, bed: Bed) -> None:
        self._bed = bed
        self._free: list[Any] = []
        self._lock = threading.Lock()

    def __getstate__(self) -> Bed:
        return self._bed

    def __setstate__(self, bed: Bed) -> None:
        self.__init__(bed)  # type: ignore[misc]

    def _new(self) -> Any:
        return handle(new_work(self._bed))

    @contextmanager
    def borrowed(self) -> Iterator[Any]:
        """Lend a set that no other caller uses."""
        with self._lock:
            work = self._free.pop() if self._free else self._new()
        try:
            yield work
        finally:
            with self._lock:
                self._free.append(work)
