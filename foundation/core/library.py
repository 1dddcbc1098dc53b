"""The library, loaded: its functions, structs and constants, as the headers state them."""

from __future__ import annotations

import ctypes
import os
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.core import building

#: Headers that declare structs and functions, each after the headers that it needs.
_DECLARING = (
    *("foundation/core/contact.h", "surrogates/core/knee.h", "surrogates/core/fields.h"),
    "dynamics/core/motion.h",
)
_HEADERS = "".join(
    (building.FOLDER.parents[1] / name).read_text(encoding="ascii") for name in _DECLARING
)
_PLAIN = re.sub(r"/\*.*?\*/", "", _HEADERS, flags=re.DOTALL)
_NUMBERS = {"int": ctypes.c_int, "double": ctypes.c_double}
_NUMBERS |= dict.fromkeys(re.findall(r"typedef int \(\*(\w+)\)", _PLAIN), ctypes.c_void_p)
_FIELD = re.compile(r"(?:const )?(\w+) (?:(\*)(?:const \*)?)?(\w+)(?:\[(\d+)\])?$")
_FUNCTION = re.compile(r"KNEE_API (\w+) (\w+)\(([^)]*)\);")
_RESULTS = {"void": None, "ptrdiff_t": ctypes.c_ssize_t, **_NUMBERS}

#: Constants of the headers, by name.
CONSTANTS = {
    name: float(value) for name, value in re.findall(r"#define (\w+) ([-+.\de]+)\s", _PLAIN)
}
REACH, FOLLOWED, FARTHEST = (CONSTANTS[name] for name in ("REACH", "FOLLOWED", "FARTHEST"))
#: Places of a group and of a block of a bed.
GROUP, BLOCK = (int(CONSTANTS[name]) for name in ("GROUP_PLACES", "BLOCK_PLACES"))
#: Elements that are handled side by side, and numbers of the sums of a contact.
LANES, CONTACT_SUMS = (int(CONSTANTS[name]) for name in ("LANES", "CONTACT_SUMS"))
#: Kinds of layers of springs.
POWER, LOGARITHMIC = (int(CONSTANTS[name]) for name in ("POWER", "LOGARITHMIC"))
MOST_LOAD, LEAST_FALL, TOLERANCE = (
    CONSTANTS[name] for name in ("MOST_LOAD", "LEAST_FALL", "TOLERANCE")
)


def structs(pointer_type: Any) -> dict[str, Any]:
    """Return the structs of the headers by name, with addresses of a type for pointers."""
    types: dict[str, Any] = dict(_NUMBERS)
    for body, name in re.findall(r"typedef struct \{(.*?)\} (\w+);", _PLAIN, flags=re.DOTALL):
        fields = []
        for line in filter(None, map(str.strip, body.split(";"))):
            kind, pointer, field, count = _parts(line)
            field_type = pointer_type if pointer or types[kind] is ctypes.c_void_p else types[kind]
            fields.append((field, field_type * int(count) if count else field_type))
        types[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
    return types


def _parts(line: str) -> tuple[str, str, str, str]:
    matched = _FIELD.match(line.replace("unsigned char", "char"))
    assert matched is not None, f"header: cannot read {line!r}"
    kind, pointer, field, count = matched.groups()
    return kind, pointer, field, count


STRUCTS = structs(ctypes.c_void_p)


def open_library(build: str | None = None) -> Any:
    """Return a build of the library, by default `KNEE_BUILD` or the fastest for this processor."""
    plain = building.library("plain")
    if not plain.exists():
        raise InputError(
            f"library: expected {plain.name} among the packages, found none; run `make install`, "
            "or `python foundation/core/building.py`"
        )
    library: Any = ctypes.CDLL(str(plain))
    able = building.builds()[: library.knee_level() + 1]
    build = build or os.environ.get("KNEE_BUILD") or able[-1]
    if build not in able:
        raise InputError(f"KNEE_BUILD: expected one of {able} for this processor, found {build!r}")
    if build != "plain":
        library = ctypes.CDLL(str(building.library(build)))
    for result, name, arguments in _FUNCTION.findall(_PLAIN):
        function = getattr(library, name)
        function.restype = _RESULTS[result]
        kinds = (argument.split() for argument in arguments.split(","))
        function.argtypes = [
            ctypes.c_void_p if "*" in "".join(kind) else _RESULTS[kind[0]] for kind in kinds
        ]
    return library


CORE = open_library()


def address(array: NDArray[Any]) -> int:
    """Return the address of a C-contiguous array, of any shape [any unit]."""
    return int(array.__array_interface__["data"][0])


def addresses(*arrays: NDArray[Any]) -> list[int]:
    """Return the addresses of C-contiguous arrays, (..., N) [any unit]."""
    return [address(array) for array in arrays]


def aligned(size: int) -> FloatArray:
    """Return memory (size,) [any unit] that begins at a cache line."""
    memory = np.zeros(size + 8)
    first = (-memory.ctypes.data // memory.itemsize) % 8
    return memory[first : first + size]


class _Scratch(threading.local):
    """Scratch memory of a thread, which grows with the largest demand."""

    def __init__(self) -> None:
        self._size, self._address, self._memory = 0, 0, np.empty(0)

    def of(self, size: int) -> int:
        """Return the address of `size` numbers or more."""
        if size > self._size:
            self._memory = aligned(size)
            self._size, self._address = size, address(self._memory)
        return self._address


SCRATCH = _Scratch()


class Struct:
    """A struct of a header, by its name, and all that its pointers refer to."""

    # A field is a number, a struct, None, or an array or structs: elements, or what a pointer
    # points to.

    #: Whether fields that are not given are 0.
    _defaults = False

    def __init__(self, name: str, fields: Mapping[str, Any]) -> None:
        self.name, self.fields = name, fields
        self.value = STRUCTS[name]()
        self._kept: list[Any] = []
        for field, kind in self.value._fields_:
            if not self._defaults or field in fields:
                setattr(self.value, field, self._converted(fields[field], kind))
        self.address = ctypes.addressof(self.value)

    def _converted(self, value: Any, kind: Any) -> Any:
        several = hasattr(kind, "_length_")
        if isinstance(value, Struct):
            self._kept.append(value)
            return value.address if kind is ctypes.c_void_p else value.value
        if isinstance(value, np.ndarray):
            return kind(*value.tolist()) if several else address(self._held(value))
        if isinstance(value, Sequence):
            self._kept.append(value)
            if several:
                return kind(*[item.address for item in value])
            row = (type(value[0].value) * len(value))(*[item.value for item in value])
            self._kept.append(row)
            return ctypes.addressof(row)
        return value

    def _held(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return a copy of an array in the library's type."""
        if array.dtype.kind == "f":
            held: NDArray[Any] = aligned(array.size)
        else:
            held = np.empty(array.size, np.uint8 if array.dtype.kind == "b" else np.intc)
        held[:] = array.ravel()
        self._kept.append(held)
        return held


class Record(Struct):
    """A struct that shares its arrays, attributes of the same names; other fields are 0."""

    # Copies, also those in other processes, are as good as new. Arrays are converted to float64 and
    # int32.

    _defaults = True

    def __init__(self, record: str, **fields: Any) -> None:
        super().__init__(record, {field: _whole(value) for field, value in fields.items()})

    def __getattr__(self, field: str) -> Any:
        fields = self.__dict__.get("fields", {})
        if field not in fields:
            raise AttributeError(field)
        return fields[field]

    def __reduce__(self) -> tuple[Any, ...]:
        return _record, (self.name, dict(self.fields))

    def _held(self, array: NDArray[Any]) -> NDArray[Any]:
        return array


def _record(name: str, fields: Mapping[str, Any]) -> Record:
    return Record(name, **fields)


def _whole(value: Any) -> Any:
    """Return an array as the library reads arrays, and any other value as it is."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiu":
        return value
    number = np.intc if value.dtype.kind != "f" else np.float64
    return np.ascontiguousarray(value, number)


#: Integers as the library reads them.
Integers = NDArray[np.intc]


def integers(values: NDArray[Any]) -> Integers:
    """Return integers (..., N) [1] as the library reads them."""
    return np.ascontiguousarray(values, np.intc)
