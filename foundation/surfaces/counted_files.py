"""Counts in the headers of PLY and OFF files, compared with what follows.

trimesh accepts a file that ends early, and ignores what follows the counted elements.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from foundation.base.errors import InputError

#: NumPy types of the scalars of PLY.
_TYPES = {
    **{"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"},
    **{"int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4"},
    **{"float": "f4", "double": "f8", "float32": "f4", "float64": "f8"},
}


class _Element(NamedTuple):
    """An element of a PLY file: name, count, and the types of each property.

    A property has the type of its value, or of the length and of the values of its list.
    """

    name: str
    number: int
    properties: list[tuple[str, ...]]


def check_ply(content: bytes) -> None:
    """Raise an InputError unless the elements of a PLY file are as many as its header counts."""
    end = re.search(rb"^end_header[ \t]*(\r\n|\n|\r)", content, re.MULTILINE)
    if end is None:
        raise InputError("the header has no end_header")
    header = content[: end.start()].decode("latin-1")
    kind = re.search(r"^format[ \t]+(\S+)", header, re.MULTILINE)
    elements = _elements(header)
    if kind is not None and kind.group(1) == "ascii":
        _check_lines(content[end.end() :].decode("latin-1"), elements)
    else:
        order = ">" if kind is not None and "big" in kind.group(1) else "<"
        _check_bytes(content, end.end(), elements, order)


def _elements(header: str) -> list[_Element]:
    elements: list[_Element] = []
    for words in map(str.split, header.splitlines()):
        if words[:1] == ["element"] and len(words) == 3 and words[2].isdecimal():
            elements.append(_Element(words[1], int(words[2]), []))
        elif words[:1] == ["property"] and elements and len(words) > 2:
            types = tuple(words[2:4] if words[1] == "list" else words[1:2])
            if not set(types) <= _TYPES.keys():
                raise InputError(f"unknown type in the header: {' '.join(words)}")
            elements[-1].properties.append(tuple(_TYPES[name] for name in types))
    return elements


def _check_lines(text: str, elements: list[_Element]) -> None:
    rows = [words for words in map(str.split, text.splitlines()) if words]
    declared = sum(element.number for element in elements)
    start = 0
    for name, count, properties in elements:
        found = len(rows[start : start + count])
        if found < count:
            raise InputError(f"{found} of {count} lines of element {name} that the header counts")
        for number, words in enumerate(rows[start : start + count], start=1):
            if _length_of_line(words, properties) != len(words):
                raise InputError(f"element {name} number {number} has a wrong number of values")
        start += count
    if len(rows) > declared:
        raise InputError(f"{len(rows)} lines of elements, expected {declared} as in the header")


def _length_of_line(words: list[str], properties: list[tuple[str, ...]]) -> int:
    """Return how many words of a line its properties take; -1 if a list is cut off."""
    at = 0
    for types in properties:
        is_list = len(types) == 2
        if is_list:
            if at >= len(words) or not words[at].isdecimal():
                return -1
            begin, at = at + 1, at + int(words[at])
            _check_values(words[begin : at + 1], types[1])
        at += 1
    return at


def _check_values(words: list[str], kind: str) -> None:
    """Raise an InputError if a value in a list of integers, such as a corner, is not an integer.

    trimesh cuts the fraction of such a value off.
    """
    wrong = [word for word in words if not word.lstrip("+-").isdecimal()]
    if wrong and kind[0] in "iu":
        raise InputError(f"expected integers in a list, found {wrong[0]}")


def _check_bytes(content: bytes, at: int, elements: list[_Element], order: str) -> None:
    for name, count, properties in elements:
        at = _end(content, at, count, properties, order)
        if at > len(content):
            raise InputError(f"{len(content)} bytes, too few for the {count} of element {name}")
    if at != len(content):
        raise InputError(f"{len(content)} bytes, expected {at} for the counts in the header")


def _end(content: bytes, at: int, count: int, properties: list[tuple[str, ...]], order: str) -> int:
    """Return where elements end [bytes], a number beyond the content if they are cut off."""
    sizes = [np.dtype(types[-1]).itemsize for types in properties]
    lists = [k for k, types in enumerate(properties) if len(types) == 2]
    if not lists:
        return at + count * sum(sizes)
    # Mostly all lists of an element have the same length.
    fields: list[Any] = []
    offset = at
    for k, types in enumerate(properties):
        if k not in lists:
            fields.append((str(k), types[0]))
            offset += sizes[k]
            continue
        length = _length(content, offset, order + types[0])
        fields += [(f"{k}n", order + types[0]), (str(k), types[1], (length,))]
        offset += np.dtype(types[0]).itemsize + length * sizes[k]
    row = np.dtype(fields)
    if at + count * row.itemsize <= len(content):
        rows = np.frombuffer(content, row, count, at)
        if all((rows[f"{k}n"] == row[str(k)].shape[0]).all() for k in lists):
            return at + count * row.itemsize
    for _ in range(count):
        for size, types in zip(sizes, properties, strict=True):
            if len(types) == 2:
                at, size = (
                    at + np.dtype(types[0]).itemsize,
                    size * _length(content, at, order + types[0]),
                )
            at += size
        if at > len(content):
            break
    return at


def _length(content: bytes, at: int, kind: str) -> int:
    """Return the length of a list; 0 where the content has ended."""
    if at + np.dtype(kind).itemsize > len(content):
        return 0
    return max(0, int(np.frombuffer(content, kind, 1, at)[0]))


def check_off(content: bytes) -> None:
    """Raise an InputError unless vertices and faces of an OFF file are as many as it counts."""
    lines = (line.split("#")[0] for line in content.decode("latin-1").splitlines())
    rows = [words for words in map(str.split, lines) if words]
    if rows and not rows[0][0][0].isdigit():  # OFF, perhaps with the counts in the same line
        rows[:1] = [rows[0][1:]] if rows[0][1:] else []
    counts = rows[0][:2] if rows else []
    if len(counts) < 2 or not all(word.isdecimal() for word in counts):
        raise InputError("the header has no counts of vertices and faces")
    vertices, faces = map(int, counts)
    if len(rows) - 1 != vertices + faces:
        raise InputError(
            f"{len(rows) - 1} lines, expected {vertices} vertices and {faces} triangles as in the "
            "header"
        )
    for number, words in enumerate(rows[1 : 1 + vertices], start=1):
        if len(words) < 3:
            raise InputError(f"vertex {number} has {len(words)} coordinates")
    for number, words in enumerate(rows[1 + vertices :], start=1):
        if not words[0].isdecimal() or len(words) <= int(words[0]):
            raise InputError(f"triangle {number} has too few corners")
