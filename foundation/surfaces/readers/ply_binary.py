"""Data of binary PLY files."""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import IntArray
from foundation.base.errors import InputError
from foundation.surfaces.readers.ply_header import Element, Header
from foundation.surfaces.readers.surface_file import trailing

#: Codes of `struct` for the lengths of lists, by NumPy type.
_CODES = {"i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q"}


class Lists(NamedTuple):
    """Lists of a property, one for each element.

    Parameters
    ----------
    sizes : (N,) int64
        Number of values of each list [1].
    values : (sum of sizes,)
        Values of all lists, one list after the other, in the unit of the file.
    """

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
    """Return the properties of each element, and the remark on bytes after the data.

    Raises
    ------
    InputError
        If the file ends early, or contains more elements than the header counts.
    """
    at = header.size
    tables: dict[str, Columns] = {}
    for element in header.elements:
        # Each element takes a byte at least: a damaged count must not take memory.
        read = None
        if element.number <= len(content):
            read = _elements(content, at, element, header.order)
        if read is None:
            raise InputError(_too_few(content, at, element, header.order))
        tables[element.name], at = read
    rest = len(content) - at
    last = header.elements[-1] if header.elements else None
    if rest and last is not None and _continues(content, at, last, header.order, tables):
        raise InputError(
            f"{len(content)} bytes, expected {at} for the counts in the header: more of element "
            f"{last.name} follow"
        )
    return tables, trailing(rest)


def _too_few(content: bytes, at: int, element: Element, order: str) -> str:
    text = f"{len(content)} bytes, too few for the {element.number} of element {element.name}"
    first = _walked(content, at, element._replace(number=1), order)
    if first is None:
        return text
    like = " if all are as long as the first" if first.lengths else ""
    return f"{text}: expected {at + element.number * (first.end - at)}{like}"


def _continues(
    content: bytes, at: int, last: Element, order: str, tables: dict[str, Columns]
) -> bool:
    """Return whether another element follows those that the header counts."""
    more = _elements(content, at, last._replace(number=1), order)
    if more is None or not any(content[at : more[1]]):
        return False
    lists = (found for name, found in more[0].items() if name.startswith("vert"))
    found = next(lists, None)
    points = tables.get("vertex", {}).get("x")
    if last.name != "face" or not isinstance(found, Lists) or not isinstance(points, np.ndarray):
        return False
    corners = found.values
    return len(corners) >= 3 and corners.min() >= 0 and corners.max() < len(points)


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
