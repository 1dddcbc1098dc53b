"""Polygons of legacy VTK files (.vtk), as 3D Slicer writes; VTK crashes at damaged ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError
from foundation.surfaces.readers.polygons import (
    SurfaceFile,
    UnsupportedContent,
    check_corners,
    left_out,
    plain_text,
    triangulated,
)

_HEAD = re.compile(
    rb"# vtk DataFile Version (\d)\.\d[^\n]*\n[^\n]*\n(ASCII|BINARY)\s+DATASET\s+(\w+)\s+"
)
#: NumPy types of the types of VTK; binary files are big-endian.
_TYPES = {"float": ">f4", "double": ">f8", "int": ">i4", "vtktypeint64": ">i8"}
#: Cells beside the polygons, and what they are.
_OTHERS = {"VERTICES": "vertex", "LINES": "line"}


def read_legacy_vtk(path: Path) -> SurfaceFile:
    """Read a legacy VTK file; an InputError says why a file cannot be read."""
    content = path.read_bytes()
    if b"ASCII" in content[:512]:
        content = plain_text(content)
    head = _HEAD.match(content)
    if head is None:
        raise InputError("the file does not begin with '# vtk DataFile Version', ASCII or BINARY")
    if head[3] != b"POLYDATA":
        raise UnsupportedContent(
            f"expected the dataset POLYDATA, found {head[3].decode('latin-1')}; extract the "
            "surface, for example in ParaView"
        )
    return _Reader(content, head.end(), head[2] == b"ASCII", int(head[1]) >= 5).surface()


class _Reader:
    """Position in a file; values of points and cells follow the geometry and are not read."""

    def __init__(self, content: bytes, at: int, is_text: bool, has_offsets: bool) -> None:
        self._content, self._at, self._is_text = content, at, is_text
        # Since version 5.0, offsets and corners stand in arrays of their own.
        self._has_offsets = has_offsets

    def surface(self) -> SurfaceFile:
        """Return the polygons as triangles."""
        points: FloatArray | IntArray = np.zeros((0, 3))
        sizes, corners = None, np.zeros(0, np.int64)
        counts: dict[str, int] = {}
        while (line := self._line()) and line[0] not in ("POINT_DATA", "CELL_DATA"):
            if line[0] == "POINTS" and len(line) == 3:
                points = self._array(3 * _count(line[1]), line[2], "POINTS").reshape(-1, 3)
            elif line[0] in ("POLYGONS", *_OTHERS) and len(line) == 3:
                cells = self._cells(line[0], _count(line[1]), _count(line[2]))
                if line[0] == "POLYGONS":
                    sizes, corners = cells
                else:
                    counts[_OTHERS[line[0]]] = len(cells[0])
            elif line[0] == "METADATA":  # up to a blank line
                end = self._content.find(b"\n\n", self._at)
                self._at = len(self._content) if end < 0 else end
            elif self._at > len(self._content):
                raise InputError(f"the file ends in the line {' '.join(line)[:40]!r}")
            else:
                raise UnsupportedContent(
                    f"expected points and polygons, found {' '.join(line)[:40]!r}; triangulate the "
                    "surface, for example in ParaView"
                )
        if sizes is None:
            raise InputError("the file ends before its POLYGONS")
        check_corners(corners, len(points))
        faces = triangulated(points.astype(np.float64), sizes, corners)
        return SurfaceFile(points.astype(np.float64), faces, remarks=left_out(counts))

    def _line(self) -> list[str]:
        """Return the words of the next line that is not blank, [] at the end."""
        found = re.compile(rb"\s*([^\n]*)").match(self._content, self._at)
        assert found is not None  # the pattern matches anything
        self._at = found.end() + 1
        return found[1].decode("latin-1").split()

    def _cells(self, name: str, count: int, size: int) -> tuple[IntArray, IntArray]:
        """Return the numbers of points of cells, and the points of the cells."""
        if self._has_offsets:
            arrays = []
            for part, length in (("OFFSETS", count), ("CONNECTIVITY", size)):
                line = self._line()
                if line[:1] != [part] or len(line) != 2:
                    raise InputError(f"expected '{part} TYPE', found {' '.join(line)[:40]!r}")
                arrays.append(self._array(length, line[1], part).astype(np.int64))
            sizes, corners = np.diff(arrays[0]), arrays[1]
            if (sizes < 0).any() or sizes.sum() != len(corners) or arrays[0][:1].any():
                raise InputError(f"the OFFSETS of {name} do not fit their {len(corners)} corners")
            return sizes, corners
        numbers = self._array(size, "int", name).astype(np.int64)
        begins = np.zeros(count, dtype=np.int64)
        at = 0
        for k in range(count):
            begins[k] = at
            at += 1 + (max(int(numbers[at]), 0) if at < size else size)
        if at != size:
            raise InputError(f"the {size} numbers of {name} are not those of {count} cells")
        return numbers[begins], np.delete(numbers, begins)

    def _array(self, size: int, kind: str, name: str) -> FloatArray | IntArray:
        """Return the next `size` numbers."""
        if kind not in _TYPES:
            raise InputError(f"expected a type of {', '.join(_TYPES)}, found {kind[:20]!r}")
        return (self._text if self._is_text else self._binary)(size, np.dtype(_TYPES[kind]), name)

    def _text(self, size: int, dtype: np.dtype[Any], name: str) -> FloatArray | IntArray:
        # Numbers end where a line begins with a letter, the next keyword.
        key = re.compile(rb"^\s*[A-Z]", re.MULTILINE).search(self._content, self._at)
        end = len(self._content) if key is None else key.start()
        words = self._content[self._at : end].split()
        self._at = end
        if len(words) != size:
            raise InputError(f"{len(words)} numbers, expected {size} for the values of {name}")
        try:
            return np.array(words).astype("f8" if dtype.kind == "f" else "i8")
        except (ValueError, OverflowError) as error:
            raise InputError(f"{name}: {error}") from error

    def _binary(self, size: int, dtype: np.dtype[Any], name: str) -> FloatArray | IntArray:
        start, self._at = self._at, self._at + size * dtype.itemsize
        if self._at > len(self._content):
            raise InputError(
                f"{len(self._content)} bytes, expected at least {self._at} for the {size} values "
                f"of {name}"
            )
        return np.frombuffer(self._content, dtype, size, start)


def _count(word: str) -> int:
    if not (word.isascii() and word.isdecimal()):
        raise InputError(f"expected a number of elements, found {word[:20]!r}")
    return int(word)
