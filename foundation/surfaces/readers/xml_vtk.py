"""XML files of VTK: polygonal data (.vtp) and unstructured grids (.vtu), read by VTK."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from foundation.base.checks import IntArray
from foundation.base.errors import InputError
from foundation.surfaces.readers.legacy_vtk import surface_of_cells
from foundation.surfaces.readers.polygons import SurfaceFile
from foundation.surfaces.triangle_mesh import MeshError

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
