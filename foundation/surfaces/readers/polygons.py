"""Triangles of polygons, and what all readers share."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError
from foundation.base.wording import counted

#: A triangle of a fan is turned over, or flat, below this fraction of the area of its polygon.
_FLAT = 1e-9


def check_corners(corners: IntArray, points: int) -> None:
    """Raise an InputError if a corner (N,) is not one of a number of points, counted from 0."""
    if len(corners) and not 0 <= corners.min() <= corners.max() < points:
        wrong = corners.min() if corners.min() < 0 else corners.max()
        raise InputError(f"a triangle has vertex {wrong + 1} of {points}")


def triangulated(points: FloatArray, sizes: IntArray, corners: IntArray) -> IntArray:
    """Return triangles (F, 3) of polygons of `sizes` (P,) of points (V, 3) [any unit], in order."""
    # `corners` has one polygon after the other, each split into a fan about its first corner; a
    # quad in which this would turn a triangle over by its other diagonal.
    corners = np.asarray(corners, dtype=np.int64)
    check_corners(corners, len(points))
    sizes = np.asarray(sizes, dtype=np.int64)
    if len(sizes) and sizes.min() < 3:
        raise InputError(f"expected polygons of 3 or more corners, found {sizes.min()}")
    if len(corners) == 3 * len(sizes):
        return corners.reshape(-1, 3)
    begins = np.cumsum(sizes) - sizes
    counts = sizes - 2
    polygon = np.repeat(np.arange(len(sizes)), counts)
    firsts = np.cumsum(counts) - counts
    # Triangle k of a polygon has the corners 0, k + 1 and k + 2.
    along = begins[polygon] + np.arange(len(polygon)) - firsts[polygon] + 1
    faces = corners[np.stack([begins[polygon], along, along + 1], axis=1)]
    folded = _folded(points, faces, polygon, sizes)
    quads = firsts[folded[sizes[folded] == 4]]
    faces[quads], faces[quads + 1] = _by_better_diagonal(points, faces[quads], faces[quads + 1])
    if len(hollow := folded[sizes[folded] > 4]):
        raise UnsupportedContent(
            f"polygon {hollow[0] + 1} of {sizes[hollow[0]]} corners is not convex: triangulate the "
            "mesh in a mesh editor"
        )
    return faces


def _folded(
    points: FloatArray, faces: IntArray, polygon: NDArray[np.int64], sizes: IntArray
) -> NDArray[np.int64]:
    """Return the polygons whose fan has a triangle that is turned over or flat."""
    more = np.flatnonzero(sizes[polygon] > 3)
    a, b, c = points[faces[more]].swapaxes(0, 1)
    with np.errstate(over="ignore", invalid="ignore"):  # checked by the reader of the mesh
        areas = np.cross(b - a, c - a)
        total = np.zeros((len(sizes), 3))
        np.add.at(total, polygon[more], areas)
        whole = total[polygon[more]]
        share = np.einsum("ij,ij->i", areas, whole)
        folded = share <= _FLAT * np.einsum("ij,ij->i", whole, whole)
    return np.unique(polygon[more][folded])


def _by_better_diagonal(
    points: FloatArray, first: IntArray, second: IntArray
) -> tuple[IntArray, IntArray]:
    """Return triangles (Q, 3) of quads, split by the diagonal whose least triangle is larger."""
    # The quads are given as the triangles (0, 1, 2) and (0, 2, 3) of their corners.
    corners = np.column_stack([first, second[:, 2]])
    splits = [corners[:, [[0, 1, 2], [0, 2, 3]]], corners[:, [[1, 2, 3], [1, 3, 0]]]]
    least = []
    for triangles in splits:
        a, b, c = (points[triangles[:, :, k]] for k in range(3))
        areas = np.cross(b - a, c - a)
        least.append(np.einsum("qij,qj->qi", areas, areas.sum(axis=1)).min(axis=1))
    better = np.where((least[1] > least[0])[:, None, None], splits[1], splits[0])
    return better[:, 0], better[:, 1]


#: Metres per unit of a file.
UNITS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "inch": 0.0254}


class UnsupportedContent(InputError):
    """A file is valid, but has no surface that a reader takes; the message says what to do."""


class SurfaceFile(NamedTuple):
    """Triangles of a file."""

    #: Positions in the unit of the file [any unit], along the axes of the file (V, 3).
    points: FloatArray
    #: Triangles in the order of the file (F, 3); larger polygons are split into triangles.
    faces: IntArray
    #: Unit that a CAD file states, one of `UNITS`, so that no other unit applies; else None.
    unit: str | None = None
    #: Clauses on what the file contains besides triangles.
    remarks: tuple[str, ...] = ()


def left_out(counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the remark on elements that are no polygons, by name in the singular; () without."""
    found = [
        counted(number, name, "vertices" if name == "vertex" else f"{name}s")
        for name, number in counts.items()
        if number
    ]
    verb = "is" if sum(counts.values()) == 1 else "are"
    return (f"{' and '.join(found)} {verb} left out: only polygons are read",) if found else ()


def trailing(size: int) -> tuple[str, ...]:
    """Return the remark on bytes after the data; () without."""
    if size == 0:
        return ()
    verb = "is" if size == 1 else "are"
    return (f"{counted(size, 'byte')} after the data {verb} ignored",)


#: Byte-order marks and their encodings; that of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
#: Number of bytes by which UTF-16 without a mark is recognized.
_START = 40


def plain_text(content: bytes) -> bytes:
    r"""Return a text in UTF-8 without byte-order mark and padding, its lines ended by \n."""
    mark, encoding = next(
        (m for m in _MARKS if content.startswith(m[0])), (b"", _unmarked(content))
    )
    content = content[len(mark) :]
    if encoding != "utf-8":
        try:
            content = content.decode(encoding).encode()
        except UnicodeDecodeError as error:
            raise InputError(f"the text in {encoding.upper()} is cut off or damaged") from error
    # DOS ended texts by Ctrl-Z; zeros are padding.
    return content.replace(b"\r\n", b"\n").replace(b"\r", b"\n").rstrip(b"\x1a\0")


def _unmarked(content: bytes) -> str:
    """Return the encoding of a text without byte-order mark: each Latin letter has a zero byte."""
    first, second = content[0:_START:2], content[1:_START:2]
    if not second:
        return "utf-8"
    if not any(second) and all(first):
        return "utf-16-le"
    return "utf-16-be" if not any(first) and all(second) else "utf-8"
