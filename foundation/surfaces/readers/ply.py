"""PLY files: trimesh and VTK accept files that end early; plyfile is under the GPL."""

from __future__ import annotations

import codecs
import re
import struct
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError
from foundation.surfaces.readers.polygons import (
    SurfaceFile,
    left_out,
    plain_text,
    trailing,
    triangulated,
)

#: NumPy types of the scalars of PLY.
TYPES = {
    **{"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"},
    **{"int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4"},
    **{"float": "f4", "double": "f8", "float32": "f4", "float64": "f8"},
    **{"int64": "i8", "uint64": "u8"},
}
_ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}


class Property(NamedTuple):
    """A property: name, NumPy type of its values, and of its length if the property is a list."""

    name: str
    kind: str
    length: str = ""


class Element(NamedTuple):
    """Elements of one name: their number and properties."""

    name: str
    number: int
    properties: tuple[Property, ...]


class Header(NamedTuple):
    """A header: order of bytes ("" for text), elements, and where the data begin [bytes]."""

    order: str
    elements: tuple[Element, ...]
    size: int


def read_header(content: bytes) -> Header:
    """Return the header of a PLY file; an InputError says what is wrong."""
    if not content.startswith(b"ply"):
        raise InputError("the file does not begin with 'ply'")
    # Only a header whose own lines end by CR ends by a CR alone: LF may be the first byte of data.
    ends = rb"\r(?!\n)" if re.match(rb"ply[ \t]*\r(?!\n)", content) else rb"\r?\n"
    end = re.search(rb"(?:\r|\n)end_header[ \t]*" + ends, content)
    if end is None:
        raise InputError("the header has no end_header")
    lines = content[: end.start()].decode("latin-1").splitlines()
    order = None
    elements: list[Element] = []
    for words in map(str.split, lines):
        if words[:1] == ["format"]:
            order = _ORDERS.get(" ".join(words[1:2]))
            if order is None:
                known = ", ".join(_ORDERS)
                raise InputError(f"expected one of the formats {known}, found {' '.join(words)!r}")
        elif words[:1] == ["element"]:
            if len(words) != 3 or not (words[2].isascii() and words[2].isdecimal()):
                raise InputError(f"expected 'element NAME COUNT', found {' '.join(words)!r}")
            elements.append(Element(words[1], int(words[2]), ()))
        elif words[:1] == ["property"]:
            if not elements:
                raise InputError(f"no element for {' '.join(words)!r}")
            own = (*elements[-1].properties, _property(words))
            elements[-1] = elements[-1]._replace(properties=own)
    if order is None:
        raise InputError("the header states no format")
    return Header(order, tuple(elements), end.end())


def _property(words: list[str]) -> Property:
    is_list = words[1:2] == ["list"]
    types = words[2:4] if is_list else words[1:2]
    if not set(types) <= TYPES.keys() or len(words) != 2 + len(types) + is_list:
        raise InputError(f"unknown type in the header: {' '.join(words)!r}")
    kinds = [TYPES[name] for name in types]
    if is_list and kinds[0][0] == "f":
        raise InputError(f"expected an integer length of a list, found {' '.join(words)!r}")
    return Property(words[-1], kinds[-1], kinds[0] if is_list else "")


#: Codes of `struct` for the lengths of lists, by NumPy type.
_CODES = {"i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q"}


class Lists(NamedTuple):
    """Lists of a property, one for each element: sizes (N,) [1] and all values in a row."""

    sizes: IntArray
    values: NDArray[np.generic]


#: Values of the properties of one kind of element, by name.
Columns = dict[str, NDArray[np.generic] | Lists]


class _Places(NamedTuple):
    """Where elements stand [bytes]: begin of each property, lengths of its lists, and the end."""

    begins: list[IntArray]
    lengths: dict[int, IntArray]
    end: int


def read_binary(content: bytes, header: Header) -> tuple[dict[str, Columns], tuple[str, ...]]:
    """Return the properties of each element, and the remark on bytes after the data."""
    at = header.size
    tables: dict[str, Columns] = {}
    for element in header.elements:
        # Each element takes a byte at least: a damaged count must not take memory.
        read = None
        if element.number <= len(content):
            read = _elements(content, at, element, header.order)
        if read is None:
            raise InputError(
                f"{len(content)} bytes, too few for the {element.number} of element {element.name}"
            )
        tables[element.name], at = read
    return tables, trailing(len(content) - at)


def _elements(content: bytes, at: int, element: Element, order: str) -> tuple[Columns, int] | None:
    """Return the values of elements and where the elements end [bytes]; None if cut off."""
    columns: Columns = {}
    if not element.number or not element.properties:
        empty: NDArray[np.generic] = np.zeros(0)
        for own in element.properties:
            columns[own.name] = Lists(np.zeros(0, np.int64), empty) if own.length else empty
        return columns, at
    found = _alike(content, at, element, order) or _walked(content, at, element, order)
    if found is None:
        return None
    raw = np.frombuffer(content, np.uint8)
    for k, own in enumerate(element.properties):
        kind = np.dtype(order + own.kind)
        if not own.length:
            columns[own.name] = _gathered(raw, found.begins[k], kind, 1)
            continue
        lengths = found.lengths[k]
        firsts = found.begins[k] + np.dtype(own.length).itemsize
        values = np.zeros(int(lengths.sum()), kind)
        starts = np.cumsum(lengths) - lengths
        for length in np.unique(lengths[lengths > 0]):
            same = np.flatnonzero(lengths == length)
            places = starts[same][:, None] + np.arange(length)
            values[places.reshape(-1)] = _gathered(raw, firsts[same], kind, int(length))
        columns[own.name] = Lists(lengths, values)
    return columns, found.end


def _gathered(
    raw: NDArray[np.uint8], begins: IntArray, kind: np.dtype[np.generic], length: int
) -> NDArray[np.generic]:
    """Return `length` values after each of the places `begins` [bytes]."""
    size = length * kind.itemsize
    steps = np.diff(begins[:2])
    if len(begins) > 1 and (np.diff(begins) == steps[0]).all():
        rows = np.lib.stride_tricks.as_strided(
            raw[begins[0] :], (len(begins), size), (int(steps[0]), 1), writeable=False
        )
    else:
        rows = raw[begins[:, None] + np.arange(size)]
    return np.ascontiguousarray(rows).view(kind).reshape(-1)


def _alike(content: bytes, at: int, element: Element, order: str) -> _Places | None:
    """Return the places where all lists are as long as those of the first element, else None."""
    first = _walked(content, at, element._replace(number=1), order)
    if first is None or at + element.number * (first.end - at) > len(content):
        return None
    size = first.end - at
    rows = size * np.arange(element.number, dtype=np.int64)
    begins = [rows + own[0] for own in first.begins]
    lengths = {}
    raw = np.frombuffer(content, np.uint8)
    for k, length in first.lengths.items():
        kind = np.dtype(order + element.properties[k].length)
        lengths[k] = _gathered(raw, begins[k], kind, 1).astype(np.int64)
        if (lengths[k] != length[0]).any():
            return None
    return _Places(begins, lengths, at + element.number * size)


def _walked(content: bytes, at: int, element: Element, order: str) -> _Places | None:
    """Return the places of properties, from element to element; None if cut off."""
    sizes = [np.dtype(own.kind).itemsize for own in element.properties]
    counters = [
        struct.Struct(order + _CODES[own.length]) if own.length else None
        for own in element.properties
    ]
    begins: list[list[int]] = [[] for _ in sizes]
    lengths: dict[int, list[int]] = {
        k: [] for k, own in enumerate(element.properties) if own.length
    }
    steps = list(zip(range(len(sizes)), sizes, counters, strict=True))
    for _ in range(element.number):
        for k, size, counter in steps:
            begins[k].append(at)
            if counter is None:
                at += size
                continue
            if at + counter.size > len(content):
                return None
            length = counter.unpack_from(content, at)[0]
            if length < 0:
                raise InputError(f"element {element.name} has a list of negative length")
            lengths[k].append(length)
            at += counter.size + size * length
        if at > len(content):
            return None
    return _Places(
        [np.array(own, dtype=np.int64) for own in begins],
        {k: np.array(own, dtype=np.int64) for k, own in lengths.items()},
        at,
    )


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
    number = {element.name: element.number for element in header.elements}
    others = {"line": number.get("edge", 0) + few, "triangle strip": number.get("tristrips", 0)}
    return SurfaceFile(points, faces, remarks=(*left_out(others), *remarks))


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
        tables[element.name] = _split(own, element)
        start += element.number
    if len(rows) > declared:
        raise InputError(f"{len(rows)} lines of elements, expected {declared} as in the header")
    return tables


def _split(rows: list[list[bytes]], element: Element) -> Columns:
    """Return the values of the lines of an element."""
    at: list[int] = [0] * len(rows)
    columns: Columns = {}
    for own in element.properties:
        if not own.length:
            cells = [row[k : k + 1] for row, k in zip(rows, at, strict=True)]
            columns[own.name] = _values(cells, own.kind, [1] * len(rows), element)
            at = [k + 1 for k in at]
            continue
        counts = [row[k : k + 1] for row, k in zip(rows, at, strict=True)]
        sizes = _values(counts, own.length, [1] * len(rows), element).astype(np.int64)
        cells = [row[k + 1 : k + 1 + max(n, 0)] for row, k, n in zip(rows, at, sizes, strict=True)]
        columns[own.name] = Lists(sizes, _values(cells, own.kind, sizes.tolist(), element))
        at = [k + 1 + n for k, n in zip(at, sizes.tolist(), strict=True)]
    if at != [len(row) for row in rows]:
        raise InputError(f"element {element.name}: a line has too many values")
    return columns


def _values(
    cells: list[list[bytes]], kind: str, sizes: list[int], element: Element
) -> NDArray[np.generic]:
    """Return the values in some cells of each line of an element, `sizes` of them."""
    if [len(own) for own in cells] != sizes:
        raise InputError(f"element {element.name}: a line has too few values")
    words = list(chain.from_iterable(cells))
    if any(b"_" in word for word in words):  # Python accepts 1_000, which no program writes
        raise InputError(f"element {element.name}: expected numbers, found an underscore")
    reads_as = float if kind[0] == "f" else int
    try:
        return np.fromiter(map(reads_as, words), reads_as, len(words))
    except (ValueError, OverflowError) as error:
        raise InputError(f"element {element.name}: {error}") from error
