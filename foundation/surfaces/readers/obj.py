"""OBJ files: vertices and faces; trimesh would sort the triangles by material."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError
from foundation.surfaces.readers.polygons import SurfaceFile, left_out, plain_text, triangulated

#: Keywords whose values may be three or more numbers, and those with names, which may be any words.
_KEYS = frozenset(
    ("v", "vt", "vn", "vp", "f", "fo", "l", "p", "s", "parm", "curv", "curv2", "surf", "trim")
) | {"hole", "scrv", "sp", "con", "bmat", "step", "deg", "ctech", "stech"}
_NAMES = frozenset(("g", "o", "mg", "usemtl", "mtllib", "usemap", "maplib", "call", "csh"))
_KNOWN = _KEYS | _NAMES
#: Elements that are no polygons, by keyword.
_OTHERS = {"l": "line", "p": "point", "curv": "curve", "surf": "free-form surface"}
#: Largest vertex number in a file.
_MOST_VERTICES = 2**31


def read_obj(path: Path) -> SurfaceFile:
    """Read the v and f lines of an OBJ file; an InputError says why a file cannot be read."""
    text = plain_text(path.read_bytes()).decode("utf-8", errors="replace")
    points, sizes, corners = array("d"), array("q"), array("q")
    counts: Counter[str] = Counter()
    for number, line in _lines(text):
        key, *values = line.split("#")[0].split() or [""]
        key = key.lower()
        try:
            place = [float(value) for value in values[:3]] if key == "v" else []
            polygon = _polygon(values, len(points) // 3) if key in ("f", "fo") else []
        except ValueError as error:
            raise InputError(f"line {number}: {error}") from error
        points.extend(place)
        if key in ("f", "fo"):
            sizes.append(len(polygon))
            corners.extend(polygon)
        if key and key not in _KNOWN and _numbers(values):
            raise InputError(f"line {number}: unknown keyword {key!r}")
        if key == "v" and len(values) < 3:
            raise InputError(f"line {number}: expected three coordinates")
        if key in _OTHERS:
            counts[_OTHERS[key]] += 1
    vertices = np.array(points, dtype=np.float64).reshape(-1, 3)
    faces = triangulated(vertices, np.array(sizes), np.array(corners))
    _check_end(text, vertices, faces)
    return SurfaceFile(vertices, faces, remarks=left_out(counts))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers; a line of numbers that ends by a backslash continues."""
    begun = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if "\\" in line and _is_continued(begun + line):
            begun += f"{line.rstrip()[:-1]} "
            continue
        yield number, begun + line
        begun = ""
    if begun:
        yield number, begun


def _is_continued(line: str) -> bool:
    """Return whether a line continues, unlike comments and names, which may end alike."""
    key = line.split()[0].lower()
    return line.rstrip().endswith("\\") and "#" not in line and key in _KEYS


def _check_end(text: str, vertices: FloatArray, faces: IntArray) -> None:
    """Raise an InputError if the file ends within a line, and vertices are left over."""
    if not text.endswith("\n") and (free := len(vertices) - len(np.unique(faces))) > 0:
        raise InputError(
            f"the last line has no end, and {free} of {len(vertices)} vertices have no triangle"
        )


def _numbers(values: list[str]) -> bool:
    """Return whether words are three or more numbers, as of a vertex or a face."""
    return len(values) >= 3 and all(re.fullmatch(r"[-+.\deE/]+", value) for value in values)


def _polygon(corners: list[str], known: int) -> list[int]:
    """Return the corners of one f line ("v", "v/vt", "v//vn" or "v/vt/vn"), counted from 0."""
    index = [int(corner.split("/")[0]) for corner in corners]
    if len(index) < 3:
        raise InputError(f"expected a face of 3 or more corners, found {len(index)}")
    # Some programs write "1/" in all corners; in one corner, the number behind is cut off.
    cut = {corner.endswith("/") for corner in corners}
    if 0 in index or len(cut) == 2:
        raise InputError(f"expected vertex numbers from 1 as v, v/vt or v/vt/vn, found {corners}")
    if max(map(abs, index)) > _MOST_VERTICES:
        raise InputError(f"expected vertex numbers up to {_MOST_VERTICES}, found a larger one")
    # OBJ counts from 1; negative numbers count backwards from the latest vertex.
    return [i - 1 if i > 0 else known + i for i in index]
