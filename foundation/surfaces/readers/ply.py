"""PLY files, binary and text.

trimesh and VTK accept a file that ends early; trimesh refuses binary triangles mixed with quads,
and plyfile is under the GPL.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError
from foundation.surfaces.readers.ply_binary import Columns, Lists, read_binary
from foundation.surfaces.readers.ply_header import Element, Header, Property, read_header
from foundation.surfaces.readers.polygons import of_strips, triangulated
from foundation.surfaces.readers.surface_file import SurfaceFile, left_out
from foundation.surfaces.readers.text import plain_text


def read_ply(path: Path) -> SurfaceFile:
    """Read a PLY file; an InputError says why a file cannot be read."""
    content = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    if not content.startswith(b"ply"):  # a text in another encoding
        content = plain_text(content)
    header = read_header(content)
    if header.order:
        tables, remarks = read_binary(content, header)
    else:
        tables, remarks = _text(plain_text(content[header.size :]), header), ()
    points = _points(tables.get("vertex", {}))
    faces, few = _faces(points, tables.get("face", {}))
    if "tristrips" in tables:
        faces = np.concatenate([faces, _strips(points, tables["tristrips"])])
    edges = next((e.number for e in header.elements if e.name == "edge"), 0)
    return SurfaceFile(points, faces, remarks=(*left_out({"line": edges + few}), *remarks))


def _points(columns: Columns) -> FloatArray:
    axes = [columns.get(axis) for axis in "xyz"]
    if not all(isinstance(values, np.ndarray) for values in axes):
        raise InputError("expected an element vertex with the properties x, y and z")
    points: FloatArray = np.stack(axes, axis=1).astype(np.float64)  # type: ignore[arg-type]
    return points


def _corners(columns: Columns) -> Lists | None:
    """Return the lists of corners, which programs name vertex_indices or vertex_index."""
    lists = {name: found for name, found in columns.items() if isinstance(found, Lists)}
    named = [found for name, found in lists.items() if name.startswith("vert")]
    return next(iter(named or lists.values()), None)


def _faces(points: FloatArray, columns: Columns) -> tuple[IntArray, int]:
    """Return the triangles (F, 3), and the number of faces of one or two corners."""
    lists = _corners(columns)
    if lists is None:
        return np.zeros((0, 3), dtype=np.int64), 0
    sizes, corners = lists.sizes, lists.values
    if len(corners) and corners.dtype.kind == "f":
        raise InputError("expected integers as corners of faces, found decimal numbers")
    few = sizes < 3
    if few.any():
        corners = corners[np.repeat(~few, sizes)]
    return triangulated(points, sizes[~few], corners.astype(np.int64)), int(few.sum())


def _strips(points: FloatArray, columns: Columns) -> IntArray:
    """Return the triangles (F, 3) of strips; -1 ends a strip."""
    lists = _corners(columns)
    if lists is None:
        return np.zeros((0, 3), dtype=np.int64)
    corners = lists.values.astype(np.int64)
    ends = np.union1d(np.flatnonzero(corners == -1), np.cumsum(lists.sizes) - 1)
    sizes = np.diff(ends, prepend=-1) - (corners[ends] == -1)
    faces = of_strips(sizes, corners[corners != -1])
    return triangulated(points, np.full(len(faces), 3), faces.reshape(-1))


def _text(text: bytes, header: Header) -> dict[str, Columns]:
    rows = [words for words in map(bytes.split, text.split(b"\n")) if words]
    declared = sum(element.number for element in header.elements)
    tables: dict[str, Columns] = {}
    start = 0
    for element in header.elements:
        own = rows[start : start + element.number]
        if len(own) < element.number:
            raise InputError(
                f"{len(own)} of {element.number} lines of element {element.name} that the header "
                "counts"
            )
        tables[element.name] = _columns(own, element)
        start += element.number
    if len(rows) > declared:
        raise InputError(f"{len(rows)} lines of elements, expected {declared} as in the header")
    return tables


def _columns(rows: list[list[bytes]], element: Element) -> Columns:
    """Return the values of the lines of an element."""
    try:
        columns = _split(rows, element)
    except IndexError:  # told below
        columns = {}
    wrong = [k for k, row in enumerate(rows) if len(row) != _length(row, element)]
    if wrong:
        raise InputError(
            f"element {element.name} number {wrong[0] + 1} has a wrong number of values"
        )
    return columns


def _split(rows: list[list[bytes]], element: Element) -> Columns:
    """Return the values of the lines of an element; `IndexError` if a line is too short."""
    at: list[int] = [0] * len(rows)
    columns: Columns = {}
    for own in element.properties:
        if own.length:
            counts = [row[k] for row, k in zip(rows, at, strict=True)]
            sizes = _values(counts, Property(own.name, own.length)).tolist()
            if sizes and min(sizes) < 0:
                raise InputError(f"element {element.name} has a list of negative length")
            cells = [row[k + 1 : k + 1 + n] for row, k, n in zip(rows, at, sizes, strict=True)]
            if [len(found) for found in cells] != sizes:
                raise IndexError
            values = _values(list(chain.from_iterable(cells)), own)
            columns[own.name] = Lists(np.array(sizes, dtype=np.int64), values)
            at = [k + 1 + n for k, n in zip(at, sizes, strict=True)]
        else:
            columns[own.name] = _values([row[k] for row, k in zip(rows, at, strict=True)], own)
            at = [k + 1 for k in at]
    return columns


def _length(row: list[bytes], element: Element) -> int:
    """Return how many words of a line the properties take; -1 if the line is too short."""
    at = 0
    for own in element.properties:
        if at >= len(row):
            return -1
        at += 1
        if own.length:
            if not row[at - 1].isdigit():
                return -1
            at += int(row[at - 1])
    return at


def _values(words: Sequence[bytes], own: Property) -> NDArray[np.generic]:
    is_real = own.kind[0] == "f"
    plain = not any(b"_" in word for word in words)  # Python accepts 1_000, which no program writes
    try:
        if plain and is_real:
            return np.fromiter(map(float, words), np.float64, len(words))
        if plain:
            return np.fromiter(map(int, words), np.int64, len(words))
    except (ValueError, OverflowError):
        pass  # told below
    wanted = "numbers" if is_real else "integers"
    found = next((w for w in words if not _is_number(w, is_real)), max(words, key=len))
    raise InputError(f"expected {wanted}, found {found.decode('latin-1')[:40]!r}")


def _is_number(word: bytes, is_real: bool) -> bool:
    try:
        (float if is_real else int)(word)
    except ValueError:
        return False
    return b"_" not in word
