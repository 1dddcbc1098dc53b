"""Legacy VTK files (.vtk), versions 1 to 5.1; VTK itself accepts files that end early."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError
from foundation.surfaces.readers.polygons import (
    SurfaceFile,
    UnsupportedContent,
    check_corners,
    left_out,
    of_strips,
    plain_text,
    triangulated,
)
from foundation.surfaces.triangle_mesh import MeshError

#: Numbers of the types of cells in VTK, and their names where the cells are no polygons.
_STRIP, _PIXEL = 6, 8
_NO_POLYGONS = {0: "empty cell", 1: "vertex", 2: "vertex", 3: "line", 4: "line", 21: "line"}
#: Numbers of points of surface cells; polygons and strips have 3 or more.
_POINTS = {5: 3, 9: 4, _PIXEL: 4, 7: None, _STRIP: None}


def surface_of_cells(
    points: FloatArray, types: NDArray[np.integer], sizes: IntArray, corners: IntArray
) -> SurfaceFile:
    """Return the polygons among cells of points (V, 3) [any unit] as triangles, in their order."""
    # `types` are numbered as in VTK; `corners` has one cell of `sizes` after the other.
    check_corners(corners, len(points))
    begins = np.cumsum(sizes) - sizes
    parts = [(np.zeros(0, dtype=np.int64), np.zeros((0, 3), dtype=np.int64))]
    for kind in (kind for kind in np.unique(types).tolist() if kind not in _NO_POLYGONS):
        cells = np.flatnonzero(types == kind)
        _check_sizes(kind, sizes[cells])
        own_sizes = sizes[cells]
        chosen = np.repeat(begins[cells] - (np.cumsum(own_sizes) - own_sizes), own_sizes)
        own = corners[chosen + np.arange(len(chosen))]
        if kind == _PIXEL:
            own = own.reshape(-1, 4)[:, [0, 1, 3, 2]].reshape(-1)
        split = (
            of_strips(own_sizes, own) if kind == _STRIP else triangulated(points, own_sizes, own)
        )
        parts.append((np.repeat(cells, own_sizes - 2), split))
    order = np.argsort(np.concatenate([cells for cells, _ in parts]), kind="stable")
    faces = np.concatenate([split for _, split in parts])[order]
    # Points of other cells alone leave; points that no cell has stay: triangles may be missing.
    kept = np.ones(len(points), dtype=np.bool_)
    kept[corners] = False
    kept[faces] = True
    return SurfaceFile(points[kept], (np.cumsum(kept) - 1)[faces], remarks=_others(types, sizes))


def _others(types: NDArray[np.integer], sizes: IntArray) -> tuple[str, ...]:
    """Return the remark on cells that are no polygons; of vertices, the points are counted."""
    counts: Counter[str] = Counter()
    for kind, name in _NO_POLYGONS.items():
        own = sizes[types == kind]
        counts[name] += int(own.sum()) if name == "vertex" else len(own)
    return left_out(counts)


def _check_sizes(kind: int, sizes: IntArray) -> None:
    if kind not in _POINTS:
        raise UnsupportedContent(
            f"cells of VTK's type {kind} are not supported: expected vertices, lines, polygons and "
            "triangle strips; extract the surface, for example in ParaView, and triangulate it"
        )
    least = _POINTS[kind]
    wrong = sizes < 3 if least is None else sizes != least
    if wrong.any():
        raise InputError(
            f"a cell of VTK's type {kind} has {sizes[wrong][0]} points, expected {least or 3}"
        )


#: NumPy types of the types of VTK; binary files are big-endian.
_TYPES = {
    **{"char": "i1", "signed_char": "i1", "unsigned_char": "u1", "short": "i2"},
    **{"unsigned_short": "u2", "int": "i4", "unsigned_int": "u4", "float": "f4", "double": "f8"},
    **{"long": "i8", "unsigned_long": "u8", "vtkidtype": "i4", "vtktypeint64": "i8"},
    **{"vtktypeuint64": "u8", "vtktypeint32": "i4", "vtktypeuint32": "u4", "long_long": "i8"},
}
#: Types of cells, numbered as in VTK, by keyword of polygonal data; a vertex is a "poly vertex".
_KEYWORDS = {"VERTICES": 2, "LINES": 4, "POLYGONS": 7, "TRIANGLE_STRIPS": 6}
_DATASETS = ("POLYDATA", "UNSTRUCTURED_GRID")
_NO_SURFACES = ("STRUCTURED_POINTS", "STRUCTURED_GRID", "RECTILINEAR_GRID", "FIELD")


class _Cells(NamedTuple):
    """Numbers of points of cells (C,), and points of the cells, one cell after the other."""

    sizes: IntArray
    corners: IntArray


def read_legacy_vtk(path: Path) -> SurfaceFile:
    """Read a legacy VTK file; an InputError says why a file cannot be read."""
    content = path.read_bytes()
    if not content.startswith(b"# vtk"):
        content = plain_text(content)
    return _Reader(content).surface()


class _Reader:
    """Position in a file; values of points and cells follow the geometry and are not read."""

    def __init__(self, content: bytes) -> None:
        head = re.match(
            rb"\s*# *vtk DataFile Version *(\d+\.?\d*)[^\n]*\n[^\n]*\n\s*", content, re.I
        )
        if head is None:
            raise InputError("the file does not begin with '# vtk DataFile Version'")
        self._content, self._at = content, head.end()
        # Since version 5.0, offsets and corners stand in arrays of their own.
        self._has_offsets = float(head[1]) >= 5.0
        coding = self._line()
        if coding[:1] not in (["ASCII"], ["BINARY"]):
            raise InputError(f"expected ASCII or BINARY in line 3, found {' '.join(coding)[:40]!r}")
        self._is_text = coding[0] == "ASCII"
        if self._is_text:
            self._content = plain_text(content[self._at :])
            self._at = 0

    def surface(self) -> SurfaceFile:
        """Return the triangles of the file."""
        line = self._line()
        while line[:1] == ["FIELD"]:
            self._skip_field(line)
            line = self._line()
        kind = line[1].upper() if line[:1] == ["DATASET"] and len(line) > 1 else ""
        if kind in _NO_SURFACES:
            raise UnsupportedContent(
                f"expected the dataset {' or '.join(_DATASETS)}, found {kind}, which is no "
                "surface; extract the surface, for example in ParaView"
            )
        if kind not in _DATASETS:
            raise InputError(f"expected a line DATASET, found {' '.join(line)[:40]!r}")
        points: FloatArray | None = None
        cells: list[_Cells] = []
        types: list[NDArray[np.integer]] = []
        while (line := self._line()) and line[0] not in ("POINT_DATA", "CELL_DATA"):
            key = line[0]
            if key == "POINTS" and len(line) == 3:
                count = self._count(line[1])
                points = self._array(3 * count, line[2], "POINTS").astype(np.float64)
                points = points.reshape(-1, 3)
            elif key in _KEYWORDS and kind == "POLYDATA":
                cells.append(self._cells(line))
                types.append(np.full(len(cells[-1].sizes), _KEYWORDS[key]))
            elif key == "CELLS" and kind == "UNSTRUCTURED_GRID":
                cells.append(self._cells(line))
            elif key == "CELL_TYPES" and kind == "UNSTRUCTURED_GRID" and len(line) > 1:
                types.append(self._array(self._count(line[1]), "int", key).astype(np.int64))
            elif key == "FIELD":
                self._skip_field(line)
            elif key == "METADATA":
                self._skip_metadata()
            else:
                raise InputError(f"unknown line {' '.join(line)[:40]!r}")
        if points is None:
            raise InputError("the file ends before its POINTS")
        return _surface(points, cells, types)

    def _line(self) -> list[str]:
        """Return the words of the next line that is not blank, [] at the end."""
        found = re.compile(rb"\s*([^\n]*)(?:\n|\Z)").match(self._content, self._at)
        assert found is not None  # the pattern matches anything
        self._at = found.end()
        words = found[1].decode("latin-1").split()
        return [words[0].upper(), *words[1:]] if words else []

    def _count(self, word: str) -> int:
        if not (word.isascii() and word.isdecimal()):
            raise InputError(f"expected a number of elements, found {word[:20]!r}")
        return int(word)

    def _cells(self, line: list[str]) -> _Cells:
        """Return the cells below a line "KEYWORD count size"."""
        if len(line) != 3:
            raise InputError(f"expected '{line[0]} COUNT SIZE', found {' '.join(line)[:40]!r}")
        count, size = map(self._count, line[1:])
        if self._has_offsets:
            if count == 0:
                self._skip_offsets(size)
                return _Cells(np.zeros(0, np.int64), np.zeros(0, np.int64))
            offsets = self._named_array("OFFSETS", count).astype(np.int64)
            corners = self._named_array("CONNECTIVITY", size).astype(np.int64)
            sizes = np.diff(offsets)
            if offsets[0] != 0 or (sizes < 0).any() or offsets[-1] != len(corners):
                raise InputError(
                    f"the OFFSETS of {line[0]} do not fit the {len(corners)} corners of their "
                    "CONNECTIVITY"
                )
            return _Cells(sizes, corners)
        return _counted_cells(self._array(size, "int", line[0]).astype(np.int64), count, line[0])

    def _named_array(self, name: str, size: int) -> NDArray[np.generic]:
        line = self._line()
        if line[:1] == ["METADATA"]:
            self._skip_metadata()
            line = self._line()
        if line[:1] != [name] or len(line) != 2:
            raise InputError(f"expected '{name} TYPE', found {' '.join(line)[:40]!r}")
        return self._array(size, line[1], name)

    def _skip_offsets(self, size: int) -> None:
        """Skip the arrays of no cells, which some writers leave out."""
        before = self._at
        for name in ("OFFSETS", "CONNECTIVITY"):
            line = self._line()
            if line[:1] != [name]:
                self._at = before
                return
            before = self._at

    def _array(self, size: int, kind: str, name: str) -> NDArray[np.generic]:
        """Return the next `size` numbers."""
        if kind.lower() not in _TYPES:
            raise InputError(f"unknown type {kind[:20]!r} of {name}")
        dtype = np.dtype(_TYPES[kind.lower()])
        return self._text(size, dtype, name) if self._is_text else self._binary(size, dtype, name)

    def _binary(self, size: int, dtype: np.dtype[np.generic], name: str) -> NDArray[np.generic]:
        end = self._at + size * dtype.itemsize
        if end > len(self._content):
            raise InputError(
                f"{len(self._content)} bytes, expected at least {end} for the {size} values of "
                f"{name}"
            )
        found = np.frombuffer(self._content, dtype.newbyteorder(">"), size, self._at)
        self._at = end
        return found

    def _text(self, size: int, dtype: np.dtype[np.generic], name: str) -> NDArray[np.generic]:
        # Numbers end where a line begins with a letter, the next keyword.
        ends = re.compile(rb"^[ \t]*(?!nan\b|inf\b)[A-Za-z]", re.MULTILINE | re.IGNORECASE)
        found = ends.search(self._content, self._at)
        end = len(self._content) if found is None else found.start()
        words = self._content[self._at : end].split()
        if len(words) != size:
            raise InputError(f"{len(words)} numbers, expected {size} for the values of {name}")
        self._at = end
        reads_as = float if dtype.kind == "f" else int
        try:
            return np.fromiter(map(reads_as, words), dtype="f8" if reads_as is float else "i8")
        except (ValueError, OverflowError) as error:
            raise InputError(f"{name}: {error}") from error

    def _skip_field(self, line: list[str]) -> None:
        """Skip a line "FIELD name count" and its arrays, which describe the dataset."""
        for _ in range(self._count(line[-1])):
            words = self._line()
            if words[:1] == ["METADATA"]:
                self._skip_metadata()
                words = self._line()
            if len(words) != 4:
                raise InputError(f"expected an array of a FIELD, found {' '.join(words)[:40]!r}")
            size = self._count(words[1]) * self._count(words[2])
            if words[3].lower() in _TYPES:
                self._array(size, words[3], words[0])
            elif self._is_text:
                for _ in range(self._count(words[2])):
                    self._line()
            else:
                raise InputError(f"unknown type {words[3][:20]!r} of {words[0]}")

    def _skip_metadata(self) -> None:
        """Skip notes on the components of an array, which a blank line ends."""
        end = self._content.find(b"\n\n", self._at)
        self._at = len(self._content) if end < 0 else end


def _counted_cells(numbers: IntArray, count: int, name: str) -> _Cells:
    """Return cells from numbers in which the number of corners precedes the corners."""
    if count and len(numbers) % count == 0:
        # Mostly all cells have the same number of corners.
        rows = numbers.reshape(count, -1)
        size = rows.shape[1] - 1
        if size >= 0 and (rows[:, 0] == size).all():
            return _Cells(np.full(count, size, dtype=np.int64), rows[:, 1:].reshape(-1))
    begins, at = [], 0
    for _ in range(count):
        if at >= len(numbers) or numbers[at] < 0:
            break
        begins.append(at)
        at += 1 + int(numbers[at])
    if len(begins) != count or at != len(numbers):
        raise InputError(f"the {len(numbers)} numbers of {name} are not those of {count} cells")
    first = np.array(begins, dtype=np.int64)
    kept = np.ones(len(numbers), dtype=np.bool_)
    kept[first] = False
    return _Cells(numbers[first], numbers[kept])


def _surface(
    points: FloatArray, cells: list[_Cells], types: list[NDArray[np.integer]]
) -> SurfaceFile:
    empty = np.zeros(0, dtype=np.int64)
    sizes = np.concatenate([empty, *(own.sizes for own in cells)])
    corners = np.concatenate([empty, *(own.corners for own in cells)])
    kinds = np.concatenate([empty, *types])
    if len(kinds) != len(sizes):
        raise InputError(f"{len(kinds)} CELL_TYPES, expected {len(sizes)}, one for each cell")
    return surface_of_cells(points, kinds, sizes, corners)


#: Number of cells of a piece that are polygons, or may be.
_COUNTS = rb'(NumberOf(?:Polys|Strips|Cells))\s*=\s*["\']([1-9]\d*)["\']'


def read_xml_vtk(path: Path) -> SurfaceFile:
    """Read a .vtp or .vtu file; an InputError says why a file cannot be read."""
    try:
        from vtkmodules.vtkIOXML import vtkXMLPolyDataReader, vtkXMLUnstructuredGridReader
    except ImportError as error:
        raise MeshError(
            f"{path}: {path.suffix[1:].upper()} files need VTK, which is not installed: pip "
            "install knee-contact[vtp]; or save the surface as PLY, STL or legacy .vtk"
        ) from error
    is_grid = path.suffix.lower() == ".vtu"
    make = vtkXMLUnstructuredGridReader if is_grid else vtkXMLPolyDataReader
    content, reader = path.read_bytes(), make()
    # VTK ends the process over some files that are cut off.
    if not content.rstrip().endswith(b"</VTKFile>"):
        raise InputError("the closing </VTKFile> is missing")
    if reason := _run(reader, content):
        raise InputError(reason)
    _check_counts(content, make)
    output = reader.GetOutput()
    kinds, sizes, corners = _grid(output) if is_grid else _polygons(output)
    if output.GetPoints() is None:
        return SurfaceFile(np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64))
    from vtkmodules.util.numpy_support import vtk_to_numpy

    points = vtk_to_numpy(output.GetPoints().GetData()).astype(np.float64)
    return surface_of_cells(points, kinds, sizes, corners)


def _check_counts(content: bytes, make: Any) -> None:
    """Raise an InputError if a file has more cells than it counts, which VTK leaves out."""
    # Each count is raised by one: VTK then reads the file if there is one cell more.
    for found in re.finditer(_COUNTS, content):
        raised = b'%s="%d"' % (found[1], int(found[2]) + 1)
        changed = content[: found.start()] + raised + content[found.end() :]
        if not _run(make(), changed):
            raise InputError(f"more polygons than the {int(found[2])} that the piece counts")


def _cells(cells: Any) -> tuple[IntArray, IntArray]:
    """Return the numbers of points of cells, and the points of the cells."""
    from vtkmodules.util.numpy_support import vtk_to_numpy

    if cells is None or cells.GetNumberOfCells() == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    offsets = vtk_to_numpy(cells.GetOffsetsArray()).astype(np.int64)
    corners = vtk_to_numpy(cells.GetConnectivityArray()).astype(np.int64)
    return np.diff(offsets), corners


def _polygons(output: Any) -> tuple[IntArray, IntArray, IntArray]:
    """Return types, sizes and corners of the cells of polygonal data."""
    arrays = (output.GetVerts(), output.GetLines(), output.GetPolys(), output.GetStrips())
    cells = [_cells(own) for own in arrays]
    kinds = np.repeat([2, 4, 7, 6], [len(sizes) for sizes, _ in cells])
    sizes, corners = (np.concatenate(own) for own in zip(*cells, strict=True))
    return kinds, sizes, corners


def _grid(output: Any) -> tuple[IntArray, IntArray, IntArray]:
    """Return types, sizes and corners of the cells of an unstructured grid."""
    sizes, corners = _cells(output.GetCells())
    kinds = np.array([output.GetCellType(k) for k in range(len(sizes))], dtype=np.int64)
    return kinds, sizes, corners


def _run(reader: Any, content: bytes) -> str:
    """Make a VTK reader read the content of a file; return why it failed, "" if it did not."""
    # VTK would write its error messages to stderr.
    from vtkmodules.vtkCommonCore import vtkLogger

    reader.ReadFromInputStringOn()
    reader.SetInputString(content)
    messages: list[str] = []

    def listen(_source: object, _event: str, message: str) -> None:
        # Without the place in the source of VTK, and the address of the reader.
        messages.append(re.sub(r"^ERROR: In .*?\(0x\w+\): ", "", " ".join(message.split())))

    # This attribute makes VTK pass the message.
    listen.CallDataType = "string0"  # type: ignore[attr-defined]
    reader.AddObserver("ErrorEvent", listen)
    verbosity = vtkLogger.GetCurrentVerbosityCutoff()
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)
    try:
        reader.Update()
    finally:
        vtkLogger.SetStderrVerbosity(verbosity)
    code = reader.GetErrorCode()
    return messages[0] if messages else f"VTK {code}" if code else ""
