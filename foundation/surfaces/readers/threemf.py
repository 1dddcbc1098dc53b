"""3MF files by hand: trimesh needs two more libraries, and leaves out objects that are missing."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np

from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError
from foundation.surfaces.readers.polygons import SurfaceFile, check_corners, left_out

#: Units of 3MF: one of `UNITS`, and how many of them a unit of 3MF has.
_UNITS = {
    **{"micron": ("um", 1.0), "millimeter": ("mm", 1.0), "centimeter": ("cm", 1.0)},
    **{"inch": ("inch", 1.0), "foot": ("inch", 12.0), "meter": ("m", 1.0)},
}
_MODEL = "3D/3dmodel.model"
#: Types of objects that are supports of a printer.
_SUPPORTS = ("support", "solidsupport")
#: Errors of `zipfile` about damaged and encrypted archives.
_DAMAGED = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError)
#: Depth of components within components beyond which a file is damaged.
_DEEPEST = 50


class _Part(NamedTuple):
    """An object, (part of the archive, identifier), and its transform (4, 3) of row vectors."""

    key: tuple[str, str]
    transform: FloatArray


class _Object(NamedTuple):
    """An object: points (V, 3) and triangles (F, 3), or parts."""

    points: FloatArray
    faces: IntArray
    parts: list[_Part]
    kind: str


_Objects = dict[tuple[str, str], _Object]


def read_3mf(path: Path) -> SurfaceFile:
    """Read a 3MF file; an InputError says why a file cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.lower().endswith(".model")]
            main = next((name for name in names if name.lower() == _MODEL.lower()), None)
            main = main or next(iter(names), None)
            if main is None:
                raise InputError(f"the archive contains no {_MODEL}")
            objects: _Objects = {}
            for name in names:
                root = _root(archive, name)
                objects |= _objects(root, name)
                if name == main:
                    unit = root.get("unit", "millimeter")
                    items = [_part(item, main) for item in root.iterfind("{*}build/{*}item")]
    except _DAMAGED as error:
        raise InputError(f"the ZIP archive is damaged: {error}") from error
    if unit not in _UNITS:
        raise InputError(f"expected one of the units {', '.join(_UNITS)}, found {unit!r}")
    if not items:  # some programs write objects without a build
        used = {part.key for own in objects.values() for part in own.parts}
        items = [_Part(key, np.eye(4)[:, :3]) for key in objects if key not in used]
    name, factor = _UNITS[unit]
    placed = [found for item in items for found in _placed(objects, item, np.eye(4), 0)]
    others = sum(own.kind in _SUPPORTS for own in objects.values())
    counts = [len(points) for points, _ in placed]
    firsts = np.cumsum([0, *counts])[:-1]
    return SurfaceFile(
        factor * np.concatenate([np.zeros((0, 3)), *(points for points, _ in placed)]),
        np.concatenate(
            [np.zeros((0, 3), dtype=np.int64)]
            + [faces + first for (_, faces), first in zip(placed, firsts, strict=True)]
        ),
        unit=name,
        remarks=left_out({"support": others}),
    )


def _root(archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(archive.read(name))
    except ElementTree.ParseError as error:
        raise InputError(f"{name}: {error}") from error


def _objects(root: ElementTree.Element, name: str) -> _Objects:
    """Return the objects of a part of the archive."""
    found = {}
    for own in root.iterfind("{*}resources/{*}object"):
        identifier = own.get("id", "")
        points, faces = np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64)
        mesh = own.find("{*}mesh")
        if mesh is not None:
            points = _numbers(mesh.iterfind("{*}vertices/{*}vertex"), ("x", "y", "z"))
            corners = _numbers(mesh.iterfind("{*}triangles/{*}triangle"), ("v1", "v2", "v3"))
            faces = corners.astype(np.int64)
            if (faces != corners).any():
                raise InputError(f"{name}: a triangle of object {identifier} has no whole corners")
            check_corners(faces.reshape(-1), len(points))
        parts = [_part(part, name) for part in own.iterfind("{*}components/{*}component")]
        found[(name, identifier)] = _Object(points, faces, parts, own.get("type", ""))
    return found


def _numbers(elements: Iterator[ElementTree.Element], keys: tuple[str, ...]) -> FloatArray:
    """Return the attributes of elements as numbers (N, len(keys))."""
    try:
        numbers = [float(own.attrib[key]) for own in elements for key in keys]
    except (KeyError, ValueError) as error:
        raise InputError(f"expected the numbers {', '.join(keys)}, found {error}") from error
    return np.array(numbers, dtype=np.float64).reshape(-1, len(keys))


def _part(element: ElementTree.Element, name: str) -> _Part:
    """Return an item of the build or a component; the part of the archive may be another one."""
    paths = [value for key, value in element.attrib.items() if key.endswith("}path")]
    file = str(PurePosixPath(paths[0].lstrip("/"))) if paths else name
    text = element.get("transform", "1 0 0 0 1 0 0 0 1 0 0 0").split()
    try:
        transform = np.array([float(number) for number in text]).reshape(4, 3)
    except ValueError as error:
        raise InputError(f"expected a transform of 12 numbers, found {len(text)} words") from error
    return _Part((file, element.get("objectid", "")), transform)


def _placed(
    objects: _Objects, part: _Part, outer: FloatArray, depth: int
) -> Iterator[tuple[FloatArray, IntArray]]:
    """Yield points and triangles of an object and of its parts, placed by the matrix (4, 4)."""
    if part.key not in objects:
        raise InputError(f"the object {part.key[1]} of {part.key[0]} is missing")
    if depth > _DEEPEST:
        raise InputError("an object is a component of itself")
    own = objects[part.key]
    if own.kind in _SUPPORTS:
        return
    # A row vector is multiplied from the right, unlike elsewhere.
    matrix = np.column_stack([part.transform, [0.0, 0.0, 0.0, 1.0]]) @ outer
    points = own.points @ matrix[:3, :3] + matrix[3, :3]
    flipped = np.linalg.det(matrix[:3, :3]) < 0.0
    if len(own.faces):
        yield points, own.faces[:, ::-1] if flipped else own.faces
    for inner in own.parts:
        yield from _placed(objects, inner, matrix, depth + 1)
