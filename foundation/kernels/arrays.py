"""What the kernels are given: named tuples of arrays, and handles on them.

A named tuple of arrays is costly to hand to a compiled function, so each is wrapped once in a
*handle* (a numba structure) under which the kernels see the same names.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.experimental import structref
from numpy.typing import NDArray

from foundation.compiling import fused_kernel
from foundation.kernels.search import LANES, MEET_ROWS

#: Rows of a block of elements, see `foundation.kernels.blocks`.
BLOCK_ROWS = 249


class Femur(NamedTuple):
    """Femoral surface for the kernels, see `foundation.surfaces.femur_patches`."""

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
    """Spring bed of the tibia for the kernels, see `foundation.elastic_foundation.spring_bed`."""

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
    """Spring law for the kernels, one column per element of the bed.

    - ``kinds`` (L,), ``exponents`` (L,), ``offsets`` (L,), ``coefficients`` (L, F),
      ``thicknesses`` (L, F): the layers, see `foundation.kernels.layers`;
    - ``lead`` (F,), ``exponent``: c and m of the leading term c d^m over a light indentation;
    - ``edge_table``: see `foundation.elastic_foundation.edge_smoothing`.
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
    """Twist of the femur (v, w) [m/s, rad/s] and what resists it."""

    moving: bool
    twist: NDArray[np.float64]
    damping: float
    friction: float
    transition_speed: float


class Work(NamedTuple):
    """Scratch memory of one evaluation at a time; a number that is new to it dates its entries."""

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
    """Numba's type of a handle; its fields have the types of the values."""

    def preprocess_fields(self, fields: Any) -> Any:
        """Forget that a field was a literal, so that there is one type for all values."""
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


# `structref` would compile a function for each of these in every process: these are cached.
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
    """Return the handle under which the kernels take a named tuple; it shares the arrays.

    Read-only ones are copied: to numba they are of another type, for which all would be compiled
    again.
    """
    kind: Any = type(values)
    shared = (
        value.copy() if isinstance(value, np.ndarray) and not value.flags.writeable else value
        for value in values
    )
    return _HANDLES[kind](kind(*shared))


def new_work(bed: Bed) -> Work:
    """Return scratch memory for evaluations on a bed."""
    # One place more than there are: lists are written one place beyond what they keep.
    nodes, elements = len(bed.points) + 1, len(bed.elements) + 1
    return Work(
        generation=np.zeros(1, dtype=np.int64),
        stamp=np.zeros(nodes, dtype=np.int64),
        gradient_stamp=np.zeros(nodes, dtype=np.int64),
        depth=np.zeros(nodes),
        met=np.zeros(nodes, dtype=np.int64),
        place=np.zeros((nodes, 2)),
        gradient=np.zeros((nodes, 6)),
        force=np.zeros(nodes),
        candidates=np.zeros(elements, dtype=np.int64),
        todo=np.zeros(nodes, dtype=np.int64),
        starts=np.zeros(nodes, dtype=np.int64),
        doubtful=np.zeros(nodes, dtype=np.int64),
        active=np.zeros(elements, dtype=np.int64),
        kind=np.zeros(elements, dtype=np.int64),
        lowest=np.zeros(elements),
        highest=np.zeros(elements),
        chosen=np.zeros(elements, dtype=np.int64),
        groups=np.zeros(len(bed.first), dtype=np.int64),
        plane_near=np.zeros(len(bed.first), dtype=np.int64),
        clearance=np.zeros(LANES),
        rows=np.zeros(MEET_ROWS * LANES),
        facets=np.zeros(LANES, dtype=np.int64),
        block=np.zeros(BLOCK_ROWS * LANES),
        block_of=np.zeros(LANES, dtype=np.int64),
        slopes=np.zeros(3),
        side=np.zeros(6),
        bears=np.zeros(6),
        by_offset=np.zeros(6),
        shape=np.zeros(6),
        centre_gradient=np.zeros(6),
    )
