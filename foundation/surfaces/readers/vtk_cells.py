"""Cells of VTK files: the polygons among them, and the boundary of volume cells."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError
from foundation.base.wording import counted
from foundation.surfaces.readers.polygons import check_corners, of_strips, triangulated
from foundation.surfaces.readers.surface_file import SurfaceFile, UnsupportedContent, left_out

#: Numbers of the types of cells in VTK, and their names where the cells are no polygons.
_STRIP, _PIXEL, _VOXEL = 6, 8, 11
_NO_POLYGONS = {0: "empty cell", 1: "vertex", 2: "vertex", 3: "line", 4: "line", 21: "line"}
#: Corners of the triangles of quadratic triangles: three corners, then the middles of the edges.
_QUADRATIC = ((0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5))
#: Corners of the polygons of surface cells; other polygons have the corners of the cell.
_SURFACES = {_PIXEL: ((0, 1, 3, 2),), 22: _QUADRATIC}
_POLYGONS = (5, 7, 9, _PIXEL, 22)
#: Outward faces of volume cells (tetrahedron, voxel, hexahedron, wedge, pyramid, and the quadratic
#: tetrahedron, each face of which is a quadratic triangle).
_VOLUMES: dict[int, tuple[tuple[int, ...], ...]] = {
    10: ((0, 1, 3), (1, 2, 3), (2, 0, 3), (0, 2, 1)),
    _VOXEL: ((0, 4, 6, 2), (1, 3, 7, 5), (0, 1, 5, 4), (2, 6, 7, 3), (0, 2, 3, 1), (4, 5, 7, 6)),
    12: ((0, 4, 7, 3), (1, 2, 6, 5), (0, 1, 5, 4), (3, 7, 6, 2), (0, 3, 2, 1), (4, 5, 6, 7)),
    13: ((0, 1, 2), (3, 5, 4), (0, 3, 4, 1), (1, 4, 5, 2), (2, 5, 3, 0)),
    14: ((0, 3, 2, 1), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)),
    24: ((0, 1, 3, 4, 8, 7), (1, 2, 3, 5, 9, 8), (2, 0, 3, 6, 7, 9), (0, 2, 1, 6, 5, 4)),
}
#: Order of the corners of a face, by their number, that turns the face over.
_REVERSED = {3: (0, 2, 1), 4: (0, 3, 2, 1), 6: (0, 2, 1, 5, 4, 3)}
#: Number of points of cells with a fixed number.
_POINTS = {5: 3, 9: 4, 8: 4, 22: 6, 10: 4, 11: 8, 12: 8, 13: 6, 14: 5, 24: 10}


def surface_of_cells(
    points: FloatArray, types: NDArray[np.integer], sizes: IntArray, corners: IntArray
) -> SurfaceFile:
    """Return polygons and boundaries of cells of points (V, 3) [any unit] as triangles."""
    # `types` are numbered as in VTK; `corners` has one cell of `sizes` after the other.
    check_corners(corners, len(points))
    begins = np.cumsum(sizes) - sizes
    kinds = [kind for kind in np.unique(types).tolist() if kind not in _NO_POLYGONS]
    volumes: list[IntArray] = []
    for kind in kinds:
        cells = np.flatnonzero(types == kind)
        _check_sizes(kind, sizes[cells])
        if kind in _VOLUMES:
            volumes += _faces(points, kind, _rows(kind, cells, begins, corners))
    parts: list[tuple[IntArray, IntArray]] = []  # numbers of cells, and their triangles
    doubled = 0
    for kind in (kind for kind in kinds if kind not in _VOLUMES):
        cells = np.flatnonzero(types == kind)
        if volumes and kind in _POINTS:  # meshers also write the boundary
            is_face = _are_faces(_rows(kind, cells, begins, corners), volumes)
            doubled += int(is_face.sum())
            cells = cells[~is_face]
        parts.append(_polygons(points, kind, cells, begins, sizes, corners))
    faces, remarks = _in_order(parts), _others(types, sizes)
    if doubled:
        remarks = (f"{counted(doubled, 'polygon')} on faces of volume cells left out", *remarks)
    if volumes:
        solid = counted(int(np.isin(types, list(_VOLUMES)).sum()), "volume cell")
        faces = np.concatenate([faces, _boundary(points, volumes)])
        remarks = (f"the boundary of {solid} is read", *remarks)
    return SurfaceFile(*_without_others(points, faces, corners), remarks=remarks)


def _others(types: NDArray[np.integer], sizes: IntArray) -> tuple[str, ...]:
    """Return the remark on cells that are no polygons; of vertices, the points are counted."""
    counts: Counter[str] = Counter()
    for kind, name in _NO_POLYGONS.items():
        own = sizes[types == kind]
        counts[name] += int(own.sum()) if name == "vertex" else len(own)
    return left_out(counts)


def _rows(kind: int, cells: IntArray, begins: IntArray, corners: IntArray) -> IntArray:
    """Return the points of cells of a kind with a fixed number of points, a row for each cell."""
    return corners[begins[cells][:, None] + np.arange(_POINTS[kind])]


def _are_faces(polygons: IntArray, volumes: list[IntArray]) -> NDArray[np.bool_]:
    """Return which polygons (C, size) have the corners of a face of a volume cell."""
    alike = [faces for faces in volumes if faces.shape[1] == polygons.shape[1]]
    numbers = _numbered(np.concatenate([polygons, *alike]))
    return np.isin(numbers[: len(polygons)], numbers[len(polygons) :])


def _numbered(faces: IntArray) -> IntArray:
    """Return a number for each face (F, corners), equal for the same corners in any order."""
    corners = np.sort(faces, axis=1)
    order = np.lexsort(corners.T)  # several times faster than `np.unique` of rows
    ordered = corners[order]
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(
        np.concatenate([[False], (ordered[1:] != ordered[:-1]).any(axis=1)])[: len(order)]
    )
    return numbers


def _without_others(
    points: FloatArray, faces: IntArray, corners: IntArray
) -> tuple[FloatArray, IntArray]:
    """Return points and triangles without the points that only other cells have."""
    # Points that no cell has stay: triangles may be missing.
    kept = np.ones(len(points), dtype=np.bool_)
    kept[corners] = False
    kept[faces] = True
    return points[kept], (np.cumsum(kept) - 1)[faces]


def _check_sizes(kind: int, sizes: IntArray) -> None:
    if kind not in (*_POLYGONS, *_VOLUMES, _STRIP):
        raise UnsupportedContent(
            f"cells of VTK's type {kind} are not supported: expected vertices, lines, polygons, "
            "triangle strips, linear volume cells, quadratic triangles or quadratic tetrahedra; "
            "extract the surface, for example in ParaView"
        )
    least = _POINTS.get(kind, 3)
    wrong = sizes != least if kind in _POINTS else sizes < least
    if wrong.any():
        raise InputError(
            f"a cell of VTK's type {kind} has {sizes[wrong][0]} points, expected {least}"
        )


def _polygons(
    points: FloatArray,
    kind: int,
    cells: IntArray,
    begins: IntArray,
    sizes: IntArray,
    corners: IntArray,
) -> tuple[IntArray, IntArray]:
    """Return the numbers of the surface cells of one kind (F,) and their triangles (F, 3)."""
    if kind in _SURFACES:
        tables = np.array(_SURFACES[kind])
        faces = _rows(kind, cells, begins, corners)[:, tables].reshape(-1, tables.shape[1])
        found = triangulated(points, np.full(len(faces), tables.shape[1]), faces.reshape(-1))
        return np.repeat(cells, len(found) // max(1, len(cells))), found
    own_sizes = sizes[cells]
    chosen = np.repeat(begins[cells] - (np.cumsum(own_sizes) - own_sizes), own_sizes)
    own = corners[chosen + np.arange(len(chosen))]
    if kind == _STRIP:
        return np.repeat(cells, own_sizes - 2), of_strips(own_sizes, own)
    return np.repeat(cells, own_sizes - 2), triangulated(points, own_sizes, own)


def _in_order(parts: list[tuple[IntArray, IntArray]]) -> IntArray:
    """Return the triangles (F, 3) of several kinds of cells in the order of the cells."""
    if not parts:
        return np.zeros((0, 3), dtype=np.int64)
    order = np.argsort(np.concatenate([cells for cells, _ in parts]), kind="stable")
    return np.concatenate([faces for _, faces in parts])[order]


def _faces(points: FloatArray, kind: int, cells: IntArray) -> list[IntArray]:
    """Return the faces of volume cells (C, points of a cell), each face outward of its cell."""
    middle = points[cells].mean(axis=1)
    faces = []
    for table in _VOLUMES[kind]:
        own = cells[:, list(table)]
        a, b, c = (points[own[:, k]] for k in range(3))
        # Some programs number the points of a cell so that its volume is negative.
        inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), a - middle) < 0.0
        own[inward] = own[np.ix_(inward, _REVERSED[len(table)])]
        faces.append(own)
    return faces


def _boundary(points: FloatArray, faces: list[IntArray]) -> IntArray:
    """Return the triangles (F, 3) of the faces that belong to one volume cell only."""
    outer = []
    for size in sorted({own.shape[1] for own in faces}):
        alike = np.concatenate([own for own in faces if own.shape[1] == size])
        numbers = _numbered(alike)
        single = alike[np.bincount(numbers)[numbers] == 1]
        if size == 6:
            outer.append(single[:, np.array(_QUADRATIC)].reshape(-1, 3))
        else:
            outer.append(triangulated(points, np.full(len(single), size), single.reshape(-1)))
    return np.concatenate(outer)
