"""Triangles of polygons: fans, or by ear clipping (Meisters 1975, Am Math Mon 82(6):648-651)."""

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
    # `corners` has one polygon after the other. A fan about the first corner becomes the triangles
    # of ear clipping where it would turn a triangle over.
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
    for number in folded[sizes[folded] > 4]:
        own = corners[begins[number] : begins[number] + sizes[number]]
        ears = _clipped(points[own])
        faces[firsts[number] : firsts[number] + counts[number]] = own[ears]
    return faces


def of_strips(sizes: IntArray, corners: IntArray) -> IntArray:
    """Return the triangles (F, 3) of triangle strips: every second triangle is turned over."""
    sizes = np.asarray(sizes, dtype=np.int64)
    counts = np.maximum(sizes - 2, 0)
    strip = np.repeat(np.arange(len(sizes)), counts)
    number = np.arange(len(strip)) - (np.cumsum(counts) - counts)[strip]
    at = (np.cumsum(sizes) - sizes)[strip] + number
    odd = number % 2
    order = np.stack([at, at + 1 + odd, at + 2 - odd], axis=1)
    return np.asarray(corners, dtype=np.int64)[order].reshape(-1, 3)


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


def _clipped(places: FloatArray) -> list[list[int]]:
    """Return triangles of a polygon (N, 3) by ear clipping, N - 2 of them."""
    flat = _projected(places)
    left = list(range(len(flat)))
    triangles = []
    while len(left) > 3:
        # The best ear; of a polygon that crosses itself, any corner.
        at = max(range(len(left)), key=lambda k: _ear(flat, left, k))
        triangles.append([left[at - 1], left[at], left[(at + 1) % len(left)]])
        del left[at]
    return [*triangles, left]


def _projected(places: FloatArray) -> FloatArray:
    """Return a polygon (N, 3) in its mean plane, counter-clockwise, (N, 2)."""
    spread = places - places.mean(axis=0)
    normal = np.cross(spread, np.roll(spread, -1, axis=0)).sum(axis=0)
    drop = int(np.argmax(np.abs(normal)))
    first, second = (drop + 1) % 3, (drop + 2) % 3
    return spread[:, [first, second] if normal[drop] >= 0.0 else [second, first]]


def _ear(flat: FloatArray, left: list[int], at: int) -> float:
    """Return the quality of an ear: area over edges squared; negative for a corner that is none."""
    before, here, after = left[at - 1], left[at], left[(at + 1) % len(left)]
    a, b, c = flat[before], flat[here], flat[after]
    area = _cross(b - a, c - a)
    edges = float(((b - a) ** 2).sum() + ((c - b) ** 2).sum() + ((a - c) ** 2).sum())
    if area <= 0.0 or edges == 0.0:
        return -1.0
    others = flat[[k for k in left if k not in (before, here, after)]]
    inside = np.ones(len(others), dtype=np.bool_)
    for p, q in ((a, b), (b, c), (c, a)):
        inside &= _cross(q - p, others - p) >= 0.0
    return -0.5 if inside.any() else float(area) / edges


def _cross(first: FloatArray, second: FloatArray) -> FloatArray:
    cross: FloatArray = first[..., 0] * second[..., 1] - first[..., 1] * second[..., 0]
    return cross


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
    #: Unit that the file states, one of `UNITS`; None for a format without units.
    unit: str | None = None
    #: Whether the unit belongs to the geometry, as in a CAD file, so that no other unit applies.
    unit_is_sure: bool = False
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
