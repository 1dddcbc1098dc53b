"""Structs as the memory of the library in WebAssembly, where pointers have 32 bits."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foundation.core.library import Struct, structs

#: Structs by name as WebAssembly lays them out.
STRUCTS_32 = structs(ctypes.c_uint32)
#: Address of the first byte of an image, behind the memory of the library itself.
BASE = 1 << 20
_LINE = 64


class Image:
    """Memory from `BASE` on, filled by structs and arrays with all that they refer to."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    @property
    def content(self) -> bytes:
        """The bytes of the image."""
        return bytes(self._bytes)

    def array(self, values: NDArray[Any]) -> int:
        """Add an array of any shape [any unit] in the library's type; return its address."""
        if values.dtype.kind == "f":
            return self._placed(np.ascontiguousarray(values, "<f8").tobytes())
        kind = np.uint8 if values.dtype.itemsize == 1 else "<i4"
        return self._placed(np.ascontiguousarray(values, kind).tobytes())

    def room(self, numbers: int) -> int:
        """Add memory for numbers of 8 bytes; return its address."""
        return self._placed(bytes(8 * numbers))

    def read(self, name: str, address: int) -> Any:
        """Return a copy of the struct of a name at an address."""
        return STRUCTS_32[name].from_buffer_copy(self._bytes, address - BASE)

    def struct(self, given: Struct) -> int:
        """Add a struct and all that its pointers refer to; return its address."""
        return self._placed(bytes(self._value(given)))

    def _placed(self, content: bytes) -> int:
        self._bytes += bytes(-len(self._bytes) % _LINE)
        place = BASE + len(self._bytes)
        self._bytes += content
        return place

    def _value(self, given: Struct) -> Any:
        value = STRUCTS_32[given.name]()
        for field, kind in value._fields_:
            content = given.fields.get(field)
            if content is not None:
                setattr(value, field, self._converted(content, kind))
        return value

    def _converted(self, content: Any, kind: Any) -> Any:
        several = hasattr(kind, "_length_")
        if isinstance(content, Struct):
            return self.struct(content) if kind is ctypes.c_uint32 else self._value(content)
        if isinstance(content, np.ndarray):
            return kind(*content.tolist()) if several else self.array(content)
        if isinstance(content, Sequence):
            if several:
                return kind(*[self.struct(item) for item in content])
            return self._placed(b"".join(bytes(self._value(item)) for item in content))
        return content
