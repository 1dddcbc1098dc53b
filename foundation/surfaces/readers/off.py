"""OFF files: counts, then a line for each vertex and each face."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import TypeVar

import numpy as np

from foundation.base.errors import InputError
from foundation.surfaces.readers.polygons import (
    SurfaceFile,
    UnsupportedContent,
    left_out,
    plain_text,
    triangulated,
)

#: First words of files whose lines of vertices begin with x y z.
_KEYS = ("OFF", "COFF", "NOFF", "CNOFF", "STOFF", "STCOFF", "STNOFF", "STCNOFF")
_N = TypeVar("_N", int, float)


def read_off(path: Path) -> SurfaceFile:
    """Read an OFF file; an InputError says why a file cannot be read."""
    text = plain_text(path.read_bytes()).decode("latin-1")
    lines = (line.split("#")[0] for line in text.split("\n"))
    rows = [words for words in map(str.split, lines) if words]
    vertices, faces = _counts(rows)
    if len(rows) != vertices + faces:
        raise InputError(
            f"{len(rows)} lines, expected {vertices} vertices and {faces} triangles as in the "
            "header"
        )
    for number, words in enumerate(rows[:vertices], start=1):
        if len(words) < 3:
            raise InputError(f"vertex {number} has {len(words)} coordinates")
    places = _numbers(float, chain.from_iterable(words[:3] for words in rows[:vertices]))
    own = rows[vertices:]
    sizes = _numbers(int, (words[0] for words in own))
    for number, (words, size) in enumerate(zip(own, sizes, strict=True), start=1):
        if not 0 <= size < len(words):
            raise InputError(f"triangle {number} has too few corners")
    kept = [(words, size) for words, size in zip(own, sizes, strict=True) if size >= 3]
    corners = _numbers(int, chain.from_iterable(words[1 : 1 + size] for words, size in kept))
    points = np.array(places, dtype=np.float64).reshape(-1, 3)
    polygons = np.array([size for _, size in kept], dtype=np.int64)
    triangles = triangulated(points, polygons, np.array(corners, dtype=np.int64))
    return SurfaceFile(
        points, triangles, remarks=left_out({"line": sizes.count(2), "point": sizes.count(1)})
    )


def _counts(rows: list[list[str]]) -> tuple[int, int]:
    """Take the header from the lines; return the numbers of vertices and faces."""
    if rows and not rows[0][0].isdecimal():  # a key, perhaps with the counts in the same line
        key, *words = rows.pop(0)
        if key.upper() not in _KEYS:
            raise InputError(f"expected a text that begins with OFF, found {key[:20]!r}")
        if words[:1] == ["BINARY"]:
            raise UnsupportedContent("binary OFF is not supported: export OFF as text, PLY or STL")
        if words:
            rows.insert(0, words)
    counts = rows.pop(0)[:2] if rows else []
    if len(counts) < 2 or not all(word.isascii() and word.isdecimal() for word in counts):
        raise InputError("the header has no counts of vertices and faces")
    return int(counts[0]), int(counts[1])


def _numbers(kind: Callable[[str], _N], words: Iterable[str]) -> list[_N]:
    found: list[_N] = []
    for word in words:
        try:
            # Python accepts 1_000, which no program writes.
            found.append(kind("" if "_" in word else word))
        except ValueError:
            raise InputError(f"expected a number, found {word[:20]!r}") from None
    return found
