"""Surfaces of VTK (.vtp, .vtu), read by VTK."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import IntArray
from foundation.base.errors import InputError
from foundation.surfaces.readers.polygons import (
    SurfaceFile,
    UnsupportedContent,
    check_corners,
    left_out,
    triangulated,
)
from foundation.surfaces.triangle_mesh import MeshError

#: Numbers of the cells of VTK that are polygons, and names of those that are left out.
_POLYGONS = (5, 7, 9)
_LEFT_OUT = {0: "empty cell", 1: "vertex", 2: "vertex", 3: "line", 4: "line", 21: "line"}
#: Numbers of the cells of polygonal data: a "poly vertex", lines, polygons, and strips.
_KINDS = {"Verts": 2, "Lines": 4, "Polys": 7, "Strips": 6}


def read_vtk(path: Path) -> SurfaceFile:
    """Read a VTK file; an InputError says why a file cannot be read."""
    try:
        from vtkmodules.util.numpy_support import vtk_to_numpy
        from vtkmodules.vtkIOXML import vtkXMLPolyDataReader, vtkXMLUnstructuredGridReader
    except ImportError as error:
        raise MeshError(
            f"{path}: {path.suffix[1:].upper()} files need VTK, which is not installed: pip "
            "install knee-contact[vtp]; or save the surface as PLY or STL"
        ) from error
    content, is_grid = path.read_bytes(), path.suffix.lower() == ".vtu"
    # VTK ends the process over some files that are cut off.
    if not content.rstrip().endswith(b"</VTKFile>"):
        raise InputError("the closing </VTKFile> is missing")
    reader: Any = vtkXMLUnstructuredGridReader() if is_grid else vtkXMLPolyDataReader()
    if reason := _run(reader, content):
        raise InputError(reason)
    output = reader.GetOutput()
    kinds, sizes, corners = _grid(output) if is_grid else _data(output)
    found = output.GetPoints()
    points = np.zeros((0, 3)) if found is None else vtk_to_numpy(found.GetData())
    return _surface(points.astype(np.float64), kinds, sizes, corners)


def _surface(
    points: NDArray[np.float64], kinds: IntArray, sizes: IntArray, corners: IntArray
) -> SurfaceFile:
    """Return the polygons among cells over points (V, 3) [any unit] as triangles."""
    check_corners(corners, len(points))
    other = np.setdiff1d(kinds, (*_POLYGONS, *_LEFT_OUT))
    if len(other):
        raise UnsupportedContent(
            f"cells of VTK's type {other[0]} are not supported: expected triangles and polygons; "
            "extract the surface and triangulate it, for example in ParaView"
        )
    kept = np.isin(kinds, _POLYGONS)
    faces = triangulated(points, sizes[kept], corners[np.repeat(kept, sizes)])
    counts: Counter[str] = Counter()
    for kind, size in zip(kinds[~kept].tolist(), sizes[~kept].tolist(), strict=True):
        counts[_LEFT_OUT[kind]] += size if _LEFT_OUT[kind] == "vertex" else 1
    return SurfaceFile(points, faces, remarks=left_out(counts))


def _cells(cells: Any) -> tuple[IntArray, IntArray]:
    """Return the numbers of points of cells, and the points of the cells."""
    from vtkmodules.util.numpy_support import vtk_to_numpy

    if cells is None or cells.GetNumberOfCells() == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    offsets = vtk_to_numpy(cells.GetOffsetsArray()).astype(np.int64)
    corners = vtk_to_numpy(cells.GetConnectivityArray()).astype(np.int64)
    return np.diff(offsets), corners


def _data(output: Any) -> tuple[IntArray, IntArray, IntArray]:
    """Return types, sizes and corners of the cells of polygonal data."""
    cells = [_cells(getattr(output, f"Get{name}")()) for name in _KINDS]
    kinds = np.repeat(list(_KINDS.values()), [len(sizes) for sizes, _ in cells])
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
