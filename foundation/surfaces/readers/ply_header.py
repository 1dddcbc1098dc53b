"""Headers of PLY files."""

from __future__ import annotations

import re
from typing import NamedTuple

from foundation.base.errors import InputError

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
