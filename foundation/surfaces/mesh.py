"""Loading of articular surfaces into the frames of the project."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from foundation.base.checks import FloatArray, IntArray, check_array, check_in
from foundation.base.errors import InputError
from foundation.base.wording import counted
from foundation.surfaces.mesh_checks import check_mesh, report_findings, unreferenced_text
from foundation.surfaces.readers.legacy_vtk import read_legacy_vtk
from foundation.surfaces.readers.obj import read_obj
from foundation.surfaces.readers.ply import read_ply
from foundation.surfaces.readers.polygons import UNITS, SurfaceFile, UnsupportedContent, plain_text
from foundation.surfaces.readers.step import read_step
from foundation.surfaces.readers.stl import read_stl
from foundation.surfaces.readers.vtk import read_vtk
from foundation.surfaces.triangle_mesh import (
    MeshError,
    MeshWarning,
    TriangleMesh,
    checked_triangles,
    compacted,
    degenerate_triangles,
    stacked,
)

_READERS: dict[str, Callable[[Path], SurfaceFile]] = {
    ".stl": read_stl,
    ".obj": read_obj,
    ".ply": read_ply,
    ".vtk": read_legacy_vtk,
    ".vtp": read_vtk,
    ".vtu": read_vtk,
    ".step": read_step,
    ".stp": read_step,
}
#: Supported file extensions.
EXTENSIONS = tuple(_READERS)
#: First bytes of files, in lower case, by which a wrong extension is recognized.
_STARTS = {
    b"ply\n": ".ply",
    b"solid": ".stl",
    b"# vtk datafile": ".vtk",
    b"<?xml": ".vtp or .vtu",
    b"<vtkfile": ".vtp or .vtu",
    b"pk\x03\x04": ".zip",
    b"iso-10303-21": ".step",
    b"\x1f\x8b": ".gz",
    b"<!doctype": ".html",
    b"<html": ".html",
    b"version https://git-lfs": "pointer of Git LFS",
}


def read_surface(path: Path) -> SurfaceFile:
    """Read the triangles of a file with one of `EXTENSIONS`, or raise `MeshError`."""
    # Polygons are split; remarks count what is left out.
    extension = path.suffix.lower()
    if path.is_dir():
        raise MeshError(f"{path}: is a folder, expected the file of a mesh")
    if extension not in EXTENSIONS:
        told = "convert the file to STL, PLY or OBJ, for example with trimesh, MeshLab or ParaView"
        if extension == ".c3d":
            told = "a C3D file has markers and forces, and no mesh"
        raise MeshError(
            f"{path}: unsupported extension {path.suffix!r}, expected one of "
            f"{', '.join(EXTENSIONS)}; {told}"
        )
    if not path.is_file():
        raise MeshError(f"{path}: no such file; check the path of the mesh")
    if path.stat().st_size == 0:
        raise MeshError(f"{path}: the file is empty; export the mesh again")
    try:
        found = _READERS[extension](path)
    except MeshError:
        raise
    except UnsupportedContent as error:
        raise MeshError(f"{path}: {error}") from error
    except InputError as error:
        raise _unreadable(path, error) from error
    except MemoryError as error:
        raise MeshError(f"{path}: not enough memory to read the file; decimate the mesh") from error
    if len(found.faces) == 0:
        besides = "".join(f" ({remark})" for remark in found.remarks)
        raise MeshError(
            f"{path}: no triangles{besides}; expected a triangulated surface: export a triangle "
            "mesh"
        )
    points, faces = weld(found.points, found.faces)
    return found._replace(points=points, faces=faces)


def read_surfaces(paths: Sequence[Path]) -> tuple[str, SurfaceFile]:
    """Return name and triangles of files of one unit, in their order, or raise `MeshError`."""
    found = [read_surface(path) for path in paths]
    first = found[0]
    if len(found) == 1:
        return str(paths[0]), first
    for place, (path, other) in enumerate(zip(paths, found, strict=True)):
        if path.resolve() in [earlier.resolve() for earlier in paths[:place]]:
            raise MeshError(f"{path}: the file is named twice; name each file of the body once")
        if other.unit != first.unit:
            raise MeshError(
                f"{path}: the file states the unit {other.unit or 'none'}, {paths[0]} "
                f"{first.unit or 'none'}; expected files of one unit: export both alike"
            )
    points, faces = weld(*stacked([each.points for each in found], [each.faces for each in found]))
    remarks = tuple(
        f"{path.name}: {remark}"
        for path, each in zip(paths, found, strict=True)
        for remark in each.remarks
    )
    name = ", ".join([str(paths[0]), *(path.name for path in paths[1:])])
    return name, first._replace(points=points, faces=faces, remarks=remarks)


def weld(vertices: FloatArray, faces: IntArray) -> tuple[FloatArray, IntArray]:
    """Return vertices (W, 3) [any unit], merged in order of appearance, and triangles (F, 3)."""
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
    name = path.suffix[1:].upper()
    if other := _other_format(path):
        return MeshError(
            f"{path}: the content is that of another format ({other}), not of a valid {name} file; "
            "rename or convert the file"
        )
    return MeshError(
        f"{path}: truncated, damaged or not a valid {name} file ({reason}); export or copy the "
        "file again"
    )


def _other_format(path: Path) -> str:
    """Return the extension or the name of the format that a file begins like; "" if unknown."""
    with path.open("rb") as file:
        head = file.read(200)
    try:
        start = plain_text(head[:100]).lstrip().lower()
    except InputError:
        return ""
    found = next((name for key, name in _STARTS.items() if start.startswith(key)), "")
    return "" if path.suffix.lower() in found else found


__all__ = ["SIDES", "UNITS", "MeshError", "MeshWarning", "TriangleMesh", "load_mesh"]

SIDES = ("right", "left")
#: Largest deviation of a rotation matrix from orthogonality, for digits in a file.
_ORTHOGONAL = 1e-3


#: A file, or several files that are read as one.
Files = str | Path | Sequence[str | Path]


def load_mesh(
    path: Files,
    *,
    unit: str | None = None,
    axes: Sequence[str] | ArrayLike = ("x", "y", "z"),
    rotation: ArrayLike = (0.0, 0.0, 0.0),
    origin: ArrayLike = (0.0, 0.0, 0.0),
    side: str = "right",
    check: bool = True,
) -> TriangleMesh:
    """Load a triangulated articular surface as a right knee in metres.

    Triangles keep the order of the file; larger polygons are split into triangles. Triangles
    without area, which have no normal and carry no load, are dropped with a warning, as are lines,
    points and bytes after the data. Vertices at exactly the same position are merged and vertices
    without a triangle are dropped with a warning, as they may have lost their triangles; no vertex
    moves against the others. A point p of the file becomes ``R A (p - origin)`` with the rows A of
    `axes` and the rotation R.

    Parameters
    ----------
    path : str, Path, or sequence of these
        STL, OBJ, PLY, legacy VTK, VTP or VTU (need VTK), or STEP (needs cascadio); several files
        of one unit are read as one mesh.
    unit : {"m", "cm", "mm", "um", "inch"}, optional
        Length unit of the file (default: m). The lengths of a STEP file always have the unit that
        the file states.
    axes : sequence of 3 str, or (3, 3) array
        Signed file axes that point anterior, superior, and to the right of the body, for example
        ("-x", "y", "-z") for a file with x posterior and z to the left; or these directions as rows
        of a rotation matrix. The axes must form a right-handed frame; right is lateral in a right
        knee and medial in a left knee.
    rotation : (3,) array
        Angles [rad] by which the mesh is turned about the fixed anterior, superior and right axis,
        in this order, after `axes`.
    origin : (3,) array
        Point of the file that becomes the origin [m], along the axes of the file.
    side : {"right", "left"}
        A left knee is mirrored (z changes sign, the winding is reversed), so that z is lateral.
    check : bool
        Whether to run `foundation.surfaces.mesh_checks.check_mesh` without the check of the
        orientation, which is a separate call (`check_orientation`).

    Returns
    -------
    TriangleMesh
        Surface, named after the files.

    Raises
    ------
    MeshError
        If the file cannot be read or a check fails; the message names file, finding and remedy.
    InputError
        If `unit`, `axes`, `rotation`, `origin` or `side` is invalid.

    Warns
    -----
    MeshWarning
        If the mesh is doubtful.
    """
    if unit is not None:
        check_in("unit", unit, UNITS)
    check_in("side", side, SIDES)
    place = placement(axes, rotation, origin)
    name, found = read_surfaces(_paths(path))
    used = found.unit or unit or "m"
    remarks = found.remarks
    if unit not in (None, used):
        stated = f"lengths are in {used}, as the file states; unit={unit!r} has no effect"
        remarks = (stated, *remarks)
    for remark in remarks:
        warnings.warn(f"{name}: {remark}", MeshWarning, stacklevel=2)
    mesh, stray = _whole(name, found, lambda points: place(UNITS[used] * points))
    if side == "left":
        mesh = mesh.mirrored()
    if check:
        report_findings(check_mesh(mesh))
    elif stray:
        warnings.warn(f"{name}: {unreferenced_text(stray)}", MeshWarning, stacklevel=2)
    return _without_unreferenced(mesh)


class RawMesh(NamedTuple):
    """A mesh as in its file."""

    #: Surface in the unit and along the axes of the file.
    mesh: TriangleMesh
    #: Unit that a STEP file states, so that no other unit applies; else None.
    unit: str | None
    #: Clauses on what the file contains besides triangles.
    remarks: tuple[str, ...]


def _paths(files: Files) -> list[Path]:
    return [Path(files)] if isinstance(files, str | Path) else [Path(file) for file in files]


def load_raw_mesh(path: Files) -> RawMesh:
    """Load a surface as `load_mesh`, without conversions and checks; `MeshError` if unreadable."""
    name, found = read_surfaces(_paths(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        mesh, _ = _whole(name, found, lambda points: points)
    return RawMesh(_without_unreferenced(mesh), found.unit, found.remarks)


def _whole(
    name: str, found: SurfaceFile, place: Callable[[FloatArray], FloatArray]
) -> tuple[TriangleMesh, int]:
    """Return the mesh of a file without degenerate triangles, and the number of stray vertices."""
    points, faces = checked_triangles(name, found.points, found.faces)
    stray = len(points) - len(compacted(faces, len(points))[0])
    return TriangleMesh(place(points), _without_degenerate(name, points, faces), name), stray


def placement(
    axes: Sequence[str] | ArrayLike, rotation: ArrayLike, origin: ArrayLike
) -> Callable[[FloatArray], FloatArray]:
    """Return the function of points (N, 3) [m] from the file to the body (`load_mesh`)."""
    turn = rotation_of(axes, rotation)
    moved = check_array("origin", origin, (3,))

    def place(points: FloatArray) -> FloatArray:
        # A product with zeros and ones changes no bit of a coordinate, the difference to 0 neither.
        placed: FloatArray = (points - moved) @ turn.T
        return placed

    return place


def rotation_of(axes: Sequence[str] | ArrayLike, rotation: ArrayLike) -> FloatArray:
    """Return the rotation (3, 3) [1] from the axes of a file to those of the body (`load_mesh`)."""
    turn = _rotation_from_axes(axes)
    angles = check_array("rotation", rotation, (3,))
    if angles.any():
        turn = Rotation.from_euler("xyz", angles).as_matrix() @ turn
    return turn


def _rotation_from_axes(axes: Sequence[str] | ArrayLike) -> FloatArray:
    """Return the rotation from file axes to ours, (3, 3)."""
    names = axes if isinstance(axes, str) else list(np.asarray(axes, dtype=object))
    if len(names) == 3 and not any(isinstance(axis, str) for axis in names):
        return _checked_rotation(axes)
    rotation = np.zeros((3, 3))
    if isinstance(names, str) or len(names) != 3:
        raise InputError(
            f"axes: expected three file axes such as ('-x', 'y', '-z'), found {axes!r}"
        )
    for row, axis in enumerate(names):
        if not isinstance(axis, str) or axis.lstrip("+-") not in tuple("xyz") or len(axis) > 2:
            raise InputError(f"axes: expected x, y or z with an optional sign, found {axis!r}")
        rotation[row, "xyz".index(axis[-1])] = -1.0 if axis[0] == "-" else 1.0
    if np.abs(rotation).sum(axis=0).min() < 1.0:
        raise InputError(f"axes: expected x, y and z once each, found {tuple(names)}")
    if np.linalg.det(rotation) < 0.0:
        raise InputError(
            f"axes: {tuple(names)} is a mirror image, expected a right-handed frame (anterior, "
            "superior, right of the body); change one sign, and set side='left' for a left knee"
        )
    return rotation


def _checked_rotation(axes: ArrayLike) -> FloatArray:
    """Return a rotation matrix (3, 3), freed from the rounding of its digits."""
    matrix = check_array("axes", axes, (3, 3))
    error = float(np.abs(matrix @ matrix.T - np.eye(3)).max())
    if error > _ORTHOGONAL or np.linalg.det(matrix) < 0.0:
        raise InputError(
            "axes: expected the rows of a rotation matrix (unit vectors, perpendicular to each "
            f"other, right-handed), found {matrix.tolist()}"
        )
    return Rotation.from_matrix(matrix).as_matrix()


def _without_degenerate(name: str, points: FloatArray, faces: IntArray) -> IntArray:
    flat = degenerate_triangles(points, faces)
    if flat.all():
        raise MeshError(f"{name}: all {len(faces)} triangles have no area; export the file again")
    if flat.any():
        dropped = counted(
            int(flat.sum()),
            "degenerate triangle (no area) was",
            "degenerate triangles (no area) were",
        )
        text = (
            f"{name}: {dropped} dropped, the first is number {np.flatnonzero(flat)[0]}; later "
            "triangle numbers have changed: clean the file if triangle numbers matter"
        )
        warnings.warn(text, MeshWarning, stacklevel=4)
    return faces[~flat]


def _without_unreferenced(mesh: TriangleMesh) -> TriangleMesh:
    used, faces = compacted(mesh.faces, len(mesh.vertices))
    if len(used) == len(mesh.vertices):
        return mesh
    return TriangleMesh(mesh.vertices[used], faces, mesh.name)
