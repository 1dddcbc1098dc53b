"""Reading triangles from files: PLY, OFF and STEP through trimesh, STL, OBJ, VTP through VTK.

Triangles keep the unit, axes and order of the file; only vertices at exactly the same position are
merged, since an STL file repeats the vertices of every triangle.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError
from foundation.surfaces.counted_files import check_off, check_ply
from foundation.surfaces.triangle_mesh import MeshError

#: Triangle of a binary STL file, after a header of 80 bytes and the number of triangles.
_STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("extra", "<u2")])
_STL_HEADER = 84
#: Words of a facet of a text STL file; those between are numbers.
_FACET = (
    *(b"facet", b"normal", b"", b"", b"", b"outer", b"loop"),
    *3 * (b"vertex", b"", b"", b""),
    *(b"endloop", b"endfacet"),
)
#: Lines that begin and end a solid of a text STL file, which may be followed by any name.
_SOLIDS = rb"^[ \t]*solid\b", rb"^[ \t]*endsolid\b"
#: Number of polygons of a piece of a VTP file.
_POLYGONS = rb'NumberOfPolys\s*=\s*["\']([1-9]\d*)["\']'
#: Byte-order mark of UTF-8.
_MARK = b"\xef\xbb\xbf"
#: Keywords of OBJ whose values may be three or more numbers.
_OBJ_KEYS = frozenset(
    ("v", "vt", "vn", "vp", "f", "l", "p", "s", "g", "o", "parm", "curv", "curv2", "surf", "trim")
) | {"hole", "scrv", "sp", "con"}
#: Largest vertex number in a file.
_MOST_VERTICES = 2**31
#: Largest distance of the triangles of a STEP file from its surfaces [mm].
_STEP_DEVIATION = 2e-3


def read_triangles(path: Path) -> tuple[FloatArray, IntArray]:
    """Read the triangles of a file with one of `EXTENSIONS`.

    Returns
    -------
    vertices : (V, 3) float64
        Positions in the file's unit [any unit] along its axes, exact duplicates merged.
    faces : (F, 3) int64
        Triangles in the file's order; larger polygons are split into triangles.

    Raises
    ------
    MeshError
        If the file is missing, empty, of another format, or damaged.
    """
    extension = path.suffix.lower()
    if extension not in EXTENSIONS:
        raise MeshError(
            f"{path}: unsupported extension {path.suffix!r}, expected one of "
            f"{', '.join(EXTENSIONS)}; convert the file"
        )
    if not path.is_file():
        raise MeshError(f"{path}: no such file; check the path of the mesh")
    if path.stat().st_size == 0:
        raise MeshError(f"{path}: the file is empty; export the mesh again")
    vertices, faces = _READERS[extension](path)
    if len(faces) == 0:
        raise MeshError(
            f"{path}: no triangles; expected a triangulated surface: export a triangle mesh"
        )
    if faces.min() < 0 or faces.max() >= len(vertices):
        wrong = faces.min() if faces.min() < 0 else faces.max()
        raise _unreadable(path, f"a triangle has vertex {wrong + 1} of {len(vertices)}")
    return weld(vertices, faces)


def weld(vertices: FloatArray, faces: IntArray) -> tuple[FloatArray, IntArray]:
    """Return vertices (W, 3) [any unit] and triangles (F, 3), vertices at equal positions merged.

    Merged vertices keep the order of their first appearance.
    """
    # Adding 0 turns -0.0 into 0.0: the same position, other bits.
    positions = vertices + 0.0
    # Several times faster than `np.unique` of rows; stable, so that the first vertex comes first.
    order = np.lexsort(positions.T[::-1])
    ordered = positions[order]
    begins = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    first = order[begins]
    inverse = np.empty(len(order), dtype=np.int64)
    inverse[order] = np.cumsum(begins) - 1
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return vertices[np.sort(first)], rank[inverse][faces]


def _unreadable(path: Path, reason: object) -> MeshError:
    return MeshError(
        f"{path}: truncated, damaged or not a {path.suffix[1:].upper()} file ({reason}); export or "
        "copy the file again"
    )


def _read_trimesh(path: Path) -> tuple[FloatArray, IntArray]:
    # Imported here, so that trained surrogates do not need a mesh library.
    import trimesh

    try:
        loaded = trimesh.load(path, process=False, force="mesh")
        vertices = np.array(loaded.vertices, dtype=np.float64).reshape(-1, 3)  # type: ignore[attr-defined]
        faces = np.array(loaded.faces, dtype=np.int64).reshape(-1, 3)  # type: ignore[attr-defined]
    except Exception as error:  # the readers of trimesh raise all kinds of errors
        raise _unreadable(path, f"{type(error).__name__}: {error}") from error
    return vertices, faces


def _read_stl(path: Path) -> tuple[FloatArray, IntArray]:
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(1000)
    # A binary file may start with "solid" too, but does not continue with "facet" in plain text.
    text = head.lower()
    if text.removeprefix(_MARK).lstrip().startswith(b"solid") and b"facet" in text:
        return _read_text_stl(path)
    declared = int.from_bytes(head[80:_STL_HEADER], "little")
    expected = _STL_HEADER + _STL_TRIANGLE.itemsize * declared
    if size != max(expected, _STL_HEADER):
        told = f"{size} bytes, expected {expected} for the {declared} triangles of the header"
        raise _unreadable(path, told)
    # Several times faster than trimesh, in a fifth of the memory.
    triangles = np.fromfile(path, _STL_TRIANGLE, declared, offset=_STL_HEADER)
    corners = triangles["corners"].reshape(-1, 3).astype(np.float64)
    return corners, np.arange(len(corners), dtype=np.int64).reshape(-1, 3)


def _read_text_stl(path: Path) -> tuple[FloatArray, IntArray]:
    """Read a text STL file, each word of which is at its place."""
    text = path.read_bytes().removeprefix(_MARK).lower()
    begun, ended = (len(re.findall(key, text, re.MULTILINE)) for key in _SOLIDS)
    if begun != ended:
        raise _unreadable(path, f"{begun} times 'solid' and {ended} times the closing 'endsolid'")
    for key in _SOLIDS:
        text = re.sub(key + rb"[^\r\n]*", b"", text, flags=re.MULTILINE)
    words = text.split()
    if len(words) % len(_FACET):
        raise _unreadable(path, "a facet has too few or too many words")
    rows = np.array(words, dtype=bytes).reshape(-1, len(_FACET))
    fixed = [k for k, word in enumerate(_FACET) if word]
    if wrong := (rows[:, fixed] != np.array(_FACET)[fixed]).any(axis=1).sum():
        raise _unreadable(path, f"{wrong} facets are not written as 'facet normal x y z outer ...'")
    places = [k for k, word in enumerate(_FACET) if not word][3:]
    try:
        corners = rows[:, places].astype(np.float64).reshape(-1, 3)
    except ValueError as error:
        raise _unreadable(path, error) from error
    return corners, np.arange(len(corners), dtype=np.int64).reshape(-1, 3)


def _read_counted(path: Path) -> tuple[FloatArray, IntArray]:
    """Read PLY or OFF; trimesh accepts a file that ends early, so the counts are compared."""
    check = check_ply if path.suffix.lower() == ".ply" else check_off
    try:
        check(path.read_bytes())
    except InputError as error:
        raise _unreadable(path, error) from error
    return _read_trimesh(path)


def _read_obj(path: Path) -> tuple[FloatArray, IntArray]:
    """Read the v and f lines of an OBJ file; trimesh would sort the triangles by material."""
    points, triangles = array("d"), array("q")
    line = "\n"
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            key, *values = line.split("#")[0].split() or [""]
            try:
                if key == "v":
                    points.extend([float(v) for v in values[:3]])
                elif key == "f":
                    triangles.extend(_obj_fan(values, len(points) // 3))
            except ValueError as error:
                raise _unreadable(path, f"line {number}: {error}") from error
            if key and key not in _OBJ_KEYS and _numbers(values):
                raise _unreadable(path, f"line {number}: unknown keyword {key!r}")
            if key == "v" and len(values) < 3:
                raise _unreadable(path, f"line {number}: expected three coordinates")
    vertices, faces = np.array(points).reshape(-1, 3), np.array(triangles).reshape(-1, 3)
    if not line.endswith("\n") and (free := len(vertices) - len(np.unique(faces))) > 0:
        told = f"the last line has no end, and {free} of {len(vertices)} vertices have no triangle"
        raise _unreadable(path, told)
    return vertices, faces


def _numbers(values: list[str]) -> bool:
    """Return whether words are three or more numbers, as of a vertex or a face."""
    return len(values) >= 3 and all(re.fullmatch(r"[-+.\deE/]+", value) for value in values)


def _obj_fan(corners: list[str], known: int) -> list[int]:
    """Return the corners of the triangles of one f line ("v", "v/vt", "v//vn" or "v/vt/vn")."""
    index = [int(corner.split("/")[0]) for corner in corners]
    # OBJ counts from 1; negative numbers count backwards from the latest vertex.
    vertex = [i - 1 if i > 0 else known + i for i in index]
    if len(vertex) < 3:
        raise InputError(f"expected a face of 3 or more corners, found {len(vertex)}")
    if 0 in index or any(corner.endswith("/") for corner in corners):
        raise InputError(f"expected vertex numbers from 1 as v, v/vt or v/vt/vn, found {corners}")
    if max(map(abs, index)) > _MOST_VERTICES:
        raise InputError(f"expected vertex numbers up to {_MOST_VERTICES}, found a larger one")
    fan = ((vertex[0], vertex[k], vertex[k + 1]) for k in range(1, len(vertex) - 1))
    return [corner for triangle in fan for corner in triangle]


def _read_vtp(path: Path) -> tuple[FloatArray, IntArray]:
    try:
        from vtkmodules.util.numpy_support import vtk_to_numpy
        from vtkmodules.vtkFiltersCore import vtkTriangleFilter
        from vtkmodules.vtkIOXML import vtkXMLPolyDataReader
    except ImportError as error:
        raise MeshError(
            f"{path}: VTP files need VTK, which is not installed: pip install knee-contact[vtp]"
        ) from error
    content, reader = path.read_bytes(), vtkXMLPolyDataReader()
    if reason := _run_vtk(reader, content):
        raise _unreadable(path, reason)
    _check_vtp_counts(path, content)
    triangles = vtkTriangleFilter()
    triangles.PassLinesOff()
    triangles.PassVertsOff()
    triangles.SetInputData(reader.GetOutput())
    triangles.Update()
    output = triangles.GetOutput()
    if output.GetNumberOfPolys() == 0:
        return np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64)
    cells: NDArray[np.int64] = vtk_to_numpy(output.GetPolys().GetConnectivityArray())
    points = vtk_to_numpy(output.GetPoints().GetData())
    return points.astype(np.float64), cells.astype(np.int64).reshape(-1, 3)


def _check_vtp_counts(path: Path, content: bytes) -> None:
    """Raise a MeshError if a VTP file has more polygons than it counts, which VTK leaves out.

    Each count is raised by one: VTK then reads the file if there is one polygon more.
    """
    from vtkmodules.vtkIOXML import vtkXMLPolyDataReader

    for found in re.finditer(_POLYGONS, content):
        raised = b'NumberOfPolys="%d"' % (int(found[1]) + 1)
        changed = content[: found.start()] + raised + content[found.end() :]
        if not _run_vtk(vtkXMLPolyDataReader(), changed):
            raise _unreadable(path, f"more polygons than the {int(found[1])} that the piece counts")


def _read_step(path: Path) -> tuple[FloatArray, IntArray]:
    """Read a STEP file, triangulated; trimesh returns metres for any unit of the file."""
    try:
        import cascadio  # noqa: F401
    except ImportError as error:
        raise MeshError(
            f"{path}: STEP files need cascadio, which is not installed: pip install "
            "knee-contact[step]; or convert the file to STL in a CAD program, with edges of 1 mm"
        ) from error
    import trimesh

    if not path.read_bytes().rstrip().endswith(b"END-ISO-10303-21;"):
        raise _unreadable(path, "the closing END-ISO-10303-21 is missing")
    try:
        loaded = trimesh.load(path, process=False, force="mesh", tol_linear=_STEP_DEVIATION)
        vertices = np.array(loaded.vertices, dtype=np.float64).reshape(-1, 3)  # type: ignore[attr-defined]
        faces = np.array(loaded.faces, dtype=np.int64).reshape(-1, 3)  # type: ignore[attr-defined]
    except Exception as error:  # the readers of trimesh raise all kinds of errors
        raise _unreadable(path, "Open CASCADE finds no shape") from error
    return vertices, faces


def _run_vtk(reader: Any, content: bytes) -> str:
    """Make a VTK reader read the content of a file; return why it failed, "" if it did not.

    VTK would write its error messages to stderr.
    """
    from vtkmodules.vtkCommonCore import vtkLogger

    reader.ReadFromInputStringOn()
    reader.SetInputString(content)
    messages: list[str] = []

    def listen(_source: object, _event: str, message: str) -> None:
        messages.append(" ".join(message.split()))

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


_READERS: dict[str, Callable[[Path], tuple[FloatArray, IntArray]]] = {
    ".stl": _read_stl,
    ".obj": _read_obj,
    ".ply": _read_counted,
    ".off": _read_counted,
    ".vtp": _read_vtp,
    ".step": _read_step,
    ".stp": _read_step,
}
#: Supported file extensions.
EXTENSIONS = tuple(_READERS)
