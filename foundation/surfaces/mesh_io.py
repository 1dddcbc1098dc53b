"""Reading triangles by extension, in unit, axes and order of the file; equal vertices merge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError
from foundation.surfaces.readers.gltf import read_gltf
from foundation.surfaces.readers.legacy_vtk import read_legacy_vtk
from foundation.surfaces.readers.obj import read_obj
from foundation.surfaces.readers.off import read_off
from foundation.surfaces.readers.ply import read_ply
from foundation.surfaces.readers.polygons import SurfaceFile, UnsupportedContent, plain_text
from foundation.surfaces.readers.step import read_step
from foundation.surfaces.readers.stl import read_stl
from foundation.surfaces.readers.threemf import read_3mf
from foundation.surfaces.readers.xml_vtk import read_xml_vtk
from foundation.surfaces.triangle_mesh import MeshError, stacked

_READERS: dict[str, Callable[[Path], SurfaceFile]] = {
    ".stl": read_stl,
    ".obj": read_obj,
    ".ply": read_ply,
    ".off": read_off,
    ".vtk": read_legacy_vtk,
    ".vtp": read_xml_vtk,
    ".vtu": read_xml_vtk,
    ".3mf": read_3mf,
    ".glb": read_gltf,
    ".gltf": read_gltf,
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
    b"pk\x03\x04": ".3mf or .zip",
    b"gltf": ".glb",
    b"iso-10303-21": ".step",
    b"off\n": ".off",
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
        motion = "a C3D file has markers and forces, and no mesh"
        told = motion if extension == ".c3d" else "convert the file"
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
