"""glTF files (.glb, .gltf), read by trimesh; their lengths are metres."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError
from foundation.surfaces.readers.polygons import (
    SurfaceFile,
    UnsupportedContent,
    check_corners,
    left_out,
)

#: Modes of primitives that trimesh reads as triangles, and those that are no polygons.
_TRIANGLES, _STRIP = 4, 5
_OTHERS = {0: "set of points", 1: "set of lines", 2: "set of lines", 3: "set of lines"}
#: Type of positions that are floats.
_FLOAT = 5126
#: Extensions that compress geometry, and that trimesh reads as zeros without another library.
_COMPRESSED = ("KHR_draco_mesh_compression", "EXT_meshopt_compression")


def read_gltf(path: Path) -> SurfaceFile:
    """Read a glTF file; an InputError says why a file cannot be read."""
    content = path.read_bytes()
    header = _header(content, path.suffix.lower() == ".glb")
    try:
        _check_buffers(path, header)
        others = _check_primitives(header)
        points, faces = _parts(path)
    except InputError:
        raise
    except Exception as error:  # trimesh raises all kinds of errors, as does damaged JSON
        raise InputError(f"{type(error).__name__}: {error}") from error
    for own, at in zip(faces, points, strict=True):
        check_corners(own.reshape(-1), len(at))
    firsts = np.cumsum([0, *map(len, points)])
    return SurfaceFile(
        np.concatenate([np.zeros((0, 3)), *points]),
        np.concatenate(
            [np.zeros((0, 3), dtype=np.int64)]
            + [own + first for own, first in zip(faces, firsts, strict=False)]
        ),
        unit="m",
        remarks=left_out(others),
    )


def _header(content: bytes, is_binary: bool) -> dict[str, Any]:
    """Return the JSON of a file; the lengths that a binary file states are checked."""
    if is_binary:
        if content[:4] != b"glTF" or len(content) < 20:
            raise InputError("the file does not begin with 'glTF'")
        size = int.from_bytes(content[8:12], "little")
        if len(content) < size:
            raise InputError(f"{len(content)} bytes, expected {size} as in the header")
        content = content[20 : 20 + int.from_bytes(content[12:16], "little")]
    try:
        header = json.loads(content)
    except ValueError as error:
        raise InputError(f"the JSON is damaged: {error}") from error
    if not isinstance(header, dict):
        raise InputError("the JSON is no glTF")
    return header


def _parts(path: Path) -> tuple[list[FloatArray], list[IntArray]]:
    """Return the vertices (V, 3) [m] and triangles (F, 3) of each placed mesh of a scene."""
    # Imported here, so that trained surrogates do not need a mesh library.
    import trimesh

    # Materials are skipped: a missing texture does not matter.
    scene = trimesh.load(path, process=False, force="scene", skip_materials=True)
    parts = [p for p in scene.dump() if isinstance(p, trimesh.Trimesh)]  # type: ignore[attr-defined]
    return (
        [np.array(part.vertices, dtype=np.float64).reshape(-1, 3) for part in parts],
        [np.array(part.faces, dtype=np.int64).reshape(-1, 3) for part in parts],
    )


def _check_buffers(path: Path, header: dict[str, Any]) -> None:
    """Raise an InputError if a file that the header names is missing or too short."""
    for buffer in _objects(header, "buffers"):
        uri, size = buffer.get("uri"), buffer.get("byteLength", 0)
        if not isinstance(uri, str) or uri.startswith("data:"):
            continue
        file = path.parent / unquote(uri)
        if not file.is_file():
            raise InputError(f"the file {uri} with its data is missing")
        if file.stat().st_size < size:
            raise InputError(f"{uri} has {file.stat().st_size} bytes, expected {size}")


def _check_primitives(header: dict[str, Any]) -> Counter[str]:
    """Count the primitives that are no polygons; refuse what trimesh would not read truthfully."""
    for name in _COMPRESSED:
        if name in header.get("extensionsUsed", ()):
            raise UnsupportedContent(f"compressed by {name}: export without compression")
    others: Counter[str] = Counter()
    for mesh in _objects(header, "meshes"):
        for primitive in _objects(mesh, "primitives"):
            mode = primitive.get("mode", _TRIANGLES)
            if mode in _OTHERS:
                others[_OTHERS[mode]] += 1
            elif mode not in (_TRIANGLES, _STRIP):
                raise UnsupportedContent("triangle fans are not supported: export triangles")
            _check_positions(header, primitive)
    return others


def _check_positions(header: dict[str, Any], primitive: dict[str, Any]) -> None:
    """Refuse positions that trimesh would read as zeros or as whole numbers."""
    accessors = list(_objects(header, "accessors"))
    number = primitive.get("attributes", {}).get("POSITION")
    if not isinstance(number, int) or not 0 <= number < len(accessors):
        raise InputError("a primitive has no positions")
    accessor = accessors[number]
    if "sparse" in accessor or "bufferView" not in accessor:
        raise UnsupportedContent(
            "sparse accessors are not supported: export without sparse accessors"
        )
    if accessor.get("componentType") != _FLOAT:
        raise UnsupportedContent(
            "quantized positions are not supported: export positions as floats"
        )


def _objects(header: dict[str, Any], key: str) -> Iterator[dict[str, Any]]:
    found = header.get(key, [])
    return (own for own in (found if isinstance(found, list) else []) if isinstance(own, dict))
